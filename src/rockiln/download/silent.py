"""Answers of places → the places that nobody need ask again: one file's patience is enough for all files of a run."""

from __future__ import annotations

import threading

from rockiln.places import Place


class Silent:
    """What a run has learnt about its places. Shared by all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered: set[str] = set()
        self._reasons: dict[str, str] = {}

    def note_answer(self, place: Place) -> None:
        """It is there: what fails later is about one file, or passes."""
        with self._lock:
            self._answered.add(place.base_url)

    def note_exhausted(self, place: Place, reason: str) -> None:
        """All attempts for one file ended without an answer."""
        with self._lock:
            if place.base_url not in self._answered:
                self._reasons[place.base_url] = reason

    def find_reason(self, place: Place) -> str:
        """Why nobody should ask it again; "" if somebody should."""
        with self._lock:
            return self._reasons.get(place.base_url, "")
