"""Function + values → results as they come, from threads that an interrupt or an error need not wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

GLANCE_S = 0.5
LAST_WAIT_S = 1.0
"""How long to wait for threads that have work in hand when the others are told to end."""


def map_threads(
    make: Callable[[Given], Made], values: Sequence[Given], threads: int, ended: threading.Event | None = None
) -> Iterator[Made]:
    """`make` of each value, in the order in which they get ready; the first exception ends it.

    `ended` is set when no more results are wanted, so that `make` can look at it and stop half-way. Daemon threads,
    unlike those of concurrent.futures: one that hangs in a read does not hold up Ctrl-C.
    """
    waiting: SimpleQueue[Given] = SimpleQueue()
    ready: SimpleQueue[tuple[Made | None, BaseException | None]] = SimpleQueue()
    ended = ended or threading.Event()
    for value in values:
        waiting.put(value)

    def work() -> None:
        while not ended.is_set():
            try:
                value = waiting.get_nowait()
            except Empty:
                return
            try:
                ready.put((make(value), None))
            except BaseException as fault:  # noqa: BLE001 (raised again, in the thread that asked)
                ready.put((None, fault))

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(values)))]
    for worker in workers:
        worker.start()
    try:
        for _ in values:
            made, fault = _get(ready)
            if fault is not None:
                raise fault
            yield made  # type: ignore[misc]  # only a fault comes without a result
    finally:
        ended.set()
        for worker in workers:
            worker.join(LAST_WAIT_S / len(workers))


def _get(queue: SimpleQueue[Made]) -> Made:
    """Wait, and look up now and then: a signal may have been delivered to another thread."""
    while True:
        try:
            return queue.get(timeout=GLANCE_S)
        except Empty:
            continue
