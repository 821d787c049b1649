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
from rockiln.errors import ImageError, UnavailableError, UsageError

DOCKER = "docker:"


def is_target(word: str) -> bool:
    """Neither docker:IMAGE nor a path, which holds a slash or is the name of something in the working directory."""
    return not word.startswith(DOCKER) and "/" not in word and word not in {".", ".."} and not Path(word).exists()


def scan_docker(name: str, engine: DockerEngine, wanted: Wanted, console: Console) -> Scan:
    """An image of the Docker Engine, streamed: nothing is written to the disk but one file at a time."""
    if not name:
        raise UsageError(f"{DOCKER} names no image", hint=f"{DOCKER}NAME:TAG, as `docker image ls` has it")
    if obstacle := engine.obstacle():
        raise UnavailableError(f"docker: {obstacle}")
    return scan_archive(_Pieces(engine.export(name)), f"{DOCKER}{name}", wanted, console)


def scan_path(path: Path, wanted: Wanted, jobs: int, console: Console) -> Scan:
    """A root file system, an OCI layout, or an archive of one (`docker save`)."""
    if path.is_dir():
        if _is_layout(path):
            return scan_layout(path, str(path), wanted, jobs, console)
        _require_root(path)
        return scan_folder(path, wanted, jobs, console)
    if path.is_file():
        with path.open("rb") as file:
            return scan_archive(file, str(path), wanted, console, path.stat().st_size)
    raise UsageError(f"there is no {path}", hint="give a target, a path, or docker:IMAGE")


def _is_layout(path: Path) -> bool:
    """Any trace of a layout in a folder that is no root file system. Raises ImageError where it is not whole."""
    has_index, has_blobs = (path / INDEX_NAME).is_file(), (path / "blobs").is_dir()
    if has_index and has_blobs:
        return True
    is_layout = (path / "oci-layout").is_file() or ((has_index or has_blobs) and not _has_root(path))
    if is_layout:
        lacking = f"without {'blobs' if has_index else INDEX_NAME}"
        raise ImageError(f"{path}: an OCI layout {lacking}", hint="was it copied whole? `skopeo copy` writes one anew")
    return False


def _has_root(path: Path) -> bool:
    return any((path / name).is_dir() for name in ("etc", "usr"))


def _require_root(path: Path) -> None:
    """A tree whose system is elsewhere would be told to lack all of it; an empty one would pass."""
    if any((path / name).exists() for name in ("pyvenv.cfg", "conda-meta")):
        what = "this is a Python environment"
    elif any(path.glob("*.dist-info")):
        what = "this is a site-packages, or an unpacked wheel"
    elif _has_root(path):
        return
    else:
        what = "no root file system here: no etc, usr"
    hint = "the audit needs the system around it: give the root of the image, an OCI layout or an archive of one"
    raise UsageError(f"{path}: {what}", hint=hint)


class _Pieces:
    """Pieces of bytes as a stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, b""

    def read(self, size_bytes: int, /) -> bytes:
        if not self._held:
            self._held = next(self._pieces, b"")
        piece, self._held = self._held[:size_bytes], self._held[size_bytes:]
        return piece
