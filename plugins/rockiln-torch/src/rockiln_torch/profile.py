"""A block of code → Profile: each rockiln op that it called, by whom it was run, and why, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from rockiln_torch.compose import LOG
from rockiln_torch.cpu import observe_cpu
from rockiln_torch.observe import ObservedCall, observers
from rockiln_torch.ranges import name_ranges

HEAD = ("calls", "op", "provider", "kernel", "reason", "arguments")


@dataclass(slots=True)
class Profile:
    """What was called, in order; it grows while the block runs."""

    calls: list[ObservedCall] = field(default_factory=list)
    has_ranges: bool = False
    """Whether roctx ranges were written, too."""

    def note(self, call: ObservedCall) -> None:
        """Add one."""
        self.calls.append(call)
        LOG.debug("rockiln::%s %s %s (%s): %s", call.op, call.provider, call.kernel, call.reason, call.call)

    def table(self, *, width: int = 60) -> str:
        """Equal calls in one line, the most frequent first. Words longer than `width` are cut."""
        rows = [HEAD]
        for call, count in Counter(self.calls).most_common():
            rows.append((str(count), call.op, call.provider, call.kernel, call.reason, call.call))
        cut = [tuple(word if len(word) <= width else f"{word[: width - 1]}…" for word in row) for row in rows]
        widths = [max(len(row[column]) for row in cut) for column in range(len(HEAD))]
        lines = ("  ".join(word.ljust(size) for word, size in zip(row, widths, strict=True)).rstrip() for row in cut)
        return "\n".join(lines)

    def __str__(self) -> str:
        """The table."""
        return self.table()


@contextmanager
def profile() -> Iterator[Profile]:
    """Record every rockiln op that is called within the block, in any thread, eager or compiled.

    Nothing waits for a GPU, and no time is measured: torch.profiler and rocprof do that, and see the same names.
    """
    result = Profile()
    with ExitStack() as stack:
        result.has_ranges = stack.enter_context(name_ranges())
        observers.append(result.note)
        stack.callback(observers.remove, result.note)
        _observe_plans(stack)
        yield result


def _observe_plans(stack: ExitStack) -> None:
    """Calls that kernels run do not enter Python: native code says which."""
    if len(observers) > 1:
        return  # an outer block listens already, and tells all
    stack.enter_context(observe_cpu())
    try:
        from rockiln_kernels.dispatch import install

        stack.enter_context(install().observe(_pass_on))
    except Exception as error:  # noqa: BLE001  # without a launcher there are no such calls
        LOG.debug("plans are not observed: %s", error)


def _pass_on(facts: Any) -> None:
    if facts.provider == "pack":
        seen = ObservedCall(
            op=facts.op, provider="pack", kernel=facts.kernel, reason=facts.reason, call=facts.call
        )
        for observer in tuple(observers):
            observer(seen)
