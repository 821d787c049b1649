"""A word from the command line → Scan: a built target, a folder, a layout, an archive, or a Docker image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan import Scan
from rockiln.audit.scan_folder import scan_folder
from rockiln.audit.scan_image import INDEX_NAME, scan_archive, scan_layout
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.errors import UnavailableError, UsageError

DOCKER = "docker:"


def is_target(word: str) -> bool:
    """Neither docker:IMAGE nor a path, which holds a slash or is the name of something in the working directory."""
    return not word.startswith(DOCKER) and "/" not in word and word not in {".", ".."} and not Path(word).exists()


def scan_docker(name: str, engine: DockerEngine, wanted: Wanted, console: Console) -> Scan:
    """An image of the Docker Engine, streamed: nothing is written to the disk but one file at a time."""
    if obstacle := engine.obstacle():
        raise UnavailableError(f"docker: {obstacle}")
    return scan_archive(_Pieces(engine.export(name)), f"{DOCKER}{name}", wanted, console)


def scan_path(path: Path, wanted: Wanted, jobs: int, console: Console) -> Scan:
    """A root file system, an OCI layout, or an archive of one (`docker save`)."""
    if path.is_dir():
        if (path / INDEX_NAME).is_file() and (path / "blobs").is_dir():
            return scan_layout(path, str(path), wanted, jobs, console)
        return scan_folder(path, wanted, jobs, console)
    if path.is_file():
        with path.open("rb") as file:
            return scan_archive(file, str(path), wanted, console, path.stat().st_size)
    raise UsageError(f"there is no {path}", hint="give a target, a path, or docker:IMAGE")


class _Pieces:
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, b""

    def read(self, size_bytes: int, /) -> bytes:
        if not self._held:
            self._held = next(self._pieces, b"")
        piece, self._held = self._held[:size_bytes], self._held[size_bytes:]
        return piece
