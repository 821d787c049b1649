"""Artifact + Places → the artifact in the store, or ArtifactFault: asks in turn, waits, and knows when to stop."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from rockiln.artifact import Artifact
from rockiln.console import Progress
from rockiln.download.faults import ArtifactFault, PlaceFault
from rockiln.download.partial import Partial, open_partial
from rockiln.download.patience import PROGRESS_BYTES, Patience
from rockiln.download.transfer import Downloader, PlaceError, StoppedError
from rockiln.places import Place
from rockiln.store import Store

GLANCE_S = 0.5
"""How often a wait looks whether the run was stopped."""


class Silent:
    """Places that never gave anything: one file's patience with them is enough for all files of a run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._useful: set[str] = set()
        self._silent: dict[str, PlaceError] = {}

    def note_useful(self, place: Place) -> None:
        """It answered; what fails later is about one file."""
        with self._lock:
            self._useful.add(place.base_url)

    def note_exhausted(self, place: Place, fault: PlaceError) -> None:
        """All attempts for one file failed."""
        with self._lock:
            if place.base_url not in self._useful:
                self._silent[place.base_url] = fault

    def find(self, place: Place) -> PlaceError | None:
        """Why nobody should ask it again."""
        with self._lock:
            return self._silent.get(place.base_url)


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
    patience: Patience
    silent: Silent
    stop: threading.Event

    def bring(self, artifact: Artifact, places: Sequence[Place]) -> ArtifactFault | None:
        """Fetch one artifact; None when it is in the store. Whatever part came stays for the next run."""
        with open_partial(artifact, self.store, self.pause) as partial:
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
            fault = self.silent.find(standing.place)
            if fault:
                standing.close(fault)
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
        size_bytes = partial.size_bytes
        try:
            self.downloader.attempt(standing.place, partial)
        except PlaceError as fault:
            if fault.kind in {"gone", "refused", "damaged"} or partial.size_bytes > size_bytes:
                self.silent.note_useful(standing.place)
            return fault
        self.silent.note_useful(standing.place)
        return None

    def _judge(self, standing: _Standing, fault: PlaceError) -> None:
        """Ask again later, or not."""
        standing.failures += 1
        if fault.kind in {"gone", "refused"} or (fault.kind == "damaged" and standing.failures > 1):
            standing.close(fault)
            return
        wait_s = self.patience.wait_s(standing.failures, fault.retry_after, connecting=fault.kind == "unconnected")
        if wait_s is None:
            standing.close(fault)
            self.silent.note_exhausted(standing.place, fault)
        else:
            standing.fault, standing.ready_s = fault, self.patience.monotonic() + wait_s


def _make_fault(standing: _Standing) -> PlaceFault:
    fault = standing.fault or PlaceError("interrupted", "was not asked")
    return PlaceFault(place=standing.place, kind=fault.kind, reason=fault.reason, tries=standing.tries)
