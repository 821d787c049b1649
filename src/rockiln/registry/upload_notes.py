"""A folder of the cache → UploadNotes: where cut uploads go on in the next run."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rockiln.disk import write_whole

LIFETIME_S = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesFolder:
    """One small file an upload. A note that is wrong costs one request: the registry says what it has."""

    path: Path

    def recall(self, repository: str, digest: str) -> str:
        with suppress(OSError, UnicodeDecodeError):
            return self._place(repository, digest).read_text("utf-8")
        return ""

    def remember(self, repository: str, digest: str, location: str) -> None:
        if location:
            write_whole(self._place(repository, digest), location.encode(), mode=0o600)
            self._remove_old(self._place(repository, digest))
        else:
            self._place(repository, digest).unlink(missing_ok=True)

    def _remove_old(self, newest: Path) -> None:
        """Uploads that nobody goes on with: registries drop them after a week, too."""
        with suppress(OSError):  # another process does the same
            eldest_s = newest.stat().st_mtime - LIFETIME_S
            for path in self.path.iterdir():
                if path.stat().st_mtime < eldest_s:
                    path.unlink(missing_ok=True)

    def _place(self, repository: str, digest: str) -> Path:
        return self.path / hashlib.sha256(f"{repository} {digest}".encode()).hexdigest()


class NoNotes:
    """For those who have no cache: a cut upload starts anew in the next run."""

    def recall(self, repository: str, digest: str) -> str:  # noqa: ARG002  # as the Protocol has it
        return ""

    def remember(self, repository: str, digest: str, location: str) -> None:
        """Nothing is kept."""
