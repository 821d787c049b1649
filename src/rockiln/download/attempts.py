"""Artifact + Places → the artifact in the store, or ArtifactFault: asks in turn, waits, and knows when to stop."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rockiln.artifact import Artifact
from rockiln.console import Console, Progress
from rockiln.download.faults import ArtifactFault, PlaceFault
from rockiln.download.partial import Partial, open_partial
from rockiln.download.patience import PROGRESS_BYTES, Patience
from rockiln.download.silent import Silent
from rockiln.download.transfer import Downloader, PlaceError, StoppedError
from rockiln.places import Place
from rockiln.store import Store

GLANCES_UNTIL_SAID = 10
GLANCE_S = 0.5
"""How often a wait looks whether the run was stopped."""


@dataclass(slots=True, kw_only=True)
class _Standing:
    """How a place has done so far with one artifact."""

    place: Place
    tries: int = 0
    failures: int = 0
    ready_s: float = 0.0
    fault: PlaceError | None = None
    is_open: bool = True

    def close(self, fault: PlaceError) -> None:
        self.fault, self.is_open = fault, False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """What all threads of a run share."""

    store: Store
    downloader: Downloader
    progress: Progress
    console: Console
    patience: Patience
    silent: Silent
    stop: threading.Event

    def bring(self, artifact: Artifact, places: Sequence[Place]) -> ArtifactFault | None:
        """Fetch one artifact; None when it is in the store. Whatever part came stays for the next run."""
        with open_partial(artifact, self.store, self._make_wait(artifact)) as partial:
            if partial is None:
                self.progress.advance(artifact.size_bytes)
                return None
            self.progress.advance(partial.size_bytes)
            if partial.is_whole and self._try_seal(partial):
                return None
            return self._ask_in_turn(partial, [_Standing(place=place) for place in places])

    def pause(self, wait_s: float) -> None:
        """Sleep, unless the run is stopped."""
        while not self.stop.is_set():
            if wait_s <= 0:
                return
            self.patience.sleep(min(GLANCE_S, wait_s))
            wait_s -= GLANCE_S
        raise StoppedError

    def _make_wait(self, artifact: Artifact) -> Callable[[float], None]:
        """A pause that soon says whom it waits for."""
        glances = itertools.count()

        def wait(wait_s: float) -> None:
            if next(glances) == GLANCES_UNTIL_SAID:
                self.console.say(f"waiting for another process that fetches {artifact.file}")
            self.pause(wait_s)

        return wait

    def _try_seal(self, partial: Partial) -> bool:
        try:
            self.downloader.seal(None, partial)
        except PlaceError:
            return False
        return True

    def _ask_in_turn(self, partial: Partial, standings: list[_Standing]) -> ArtifactFault | None:
        """The place that is ready first is asked next; of those that are ready, the best."""
        most_bytes = partial.size_bytes
        while candidates := [standing for standing in standings if standing.is_open]:
            standing = min(candidates, key=lambda standing: standing.ready_s)
            self.pause(standing.ready_s - self.patience.monotonic())
            if reason := self.silent.find_reason(standing.place):
                standing.close(PlaceError("unanswered", reason))
                continue
            fault = self._ask(standing, partial)
            if fault is None:
                return None
            if partial.size_bytes >= most_bytes + PROGRESS_BYTES:
                most_bytes, standing.failures = partial.size_bytes, 0
            self._judge(standing, fault)
        return ArtifactFault(artifact=partial.artifact, places=tuple(map(_make_fault, standings)))

    def _ask(self, standing: _Standing, partial: Partial) -> PlaceError | None:
        standing.tries += 1
        try:
            self.downloader.attempt(standing.place, partial)
        except PlaceError as fault:
            return fault
        return None

    def _judge(self, standing: _Standing, fault: PlaceError) -> None:
        """Ask again later, or not."""
        standing.failures += 1
        if fault.kind in {"gone", "refused"} or (fault.kind == "damaged" and standing.failures > 1):
            standing.close(fault)
            return
        is_unanswered = fault.kind == "unanswered"
        wait_s = self.patience.wait_s(standing.failures, fault.retry_after, is_unanswered=is_unanswered)
        if wait_s is not None:
            standing.fault, standing.ready_s = fault, self.patience.monotonic() + wait_s
            return
        standing.close(fault)
        if is_unanswered:
            self.silent.note_exhausted(standing.place, fault.reason)


def _make_fault(standing: _Standing) -> PlaceFault:
    fault = standing.fault or PlaceError("interrupted", "was not asked")
    return PlaceFault(place=standing.place, kind=fault.kind, reason=fault.reason, tries=standing.tries)
