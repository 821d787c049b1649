"""URL of a file whose hash nobody knows yet → the file, resumed where a broken connection left it."""

from __future__ import annotations

import fcntl
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import Console, Progress
from rockiln.disk import disk_faults_named, require_room
from rockiln.errors import ResolveError
from rockiln.resolve.hosts import hide_password
from rockiln.resolve.probe import ask_headers, cause_of

if TYPE_CHECKING:
    import httpx

TRIES = 4
FIRST_WAIT_S = 1.0


def ask_size(url: str, client: httpx.Client) -> int:
    """Size of a file that is not downloaded; ResolveError when the server does not say."""
    import httpx

    try:
        response = ask_headers(url, client)
        response.raise_for_status()
        return int(response.headers["Content-Length"])
    except httpx.HTTPError as error:
        raise ResolveError(f"{hide_password(url)}: {cause_of(error)}") from error
    except (KeyError, ValueError) as error:
        raise ResolveError(f"{hide_password(url)}: the server does not say how long the file is") from error


@contextmanager
def download(url: str, size_bytes: int, folder_path: Path, client: httpx.Client, console: Console) -> Iterator[Path]:
    """The whole file, in `folder_path` for as long as the context lasts. A part is kept when this fails."""
    part_path = folder_path / f"{hashlib.sha256(url.encode()).hexdigest()}.part"
    title = hide_password(url).rpartition("/")[2]
    with disk_faults_named(folder_path, size_bytes):
        folder_path.mkdir(parents=True, exist_ok=True)
        require_room(folder_path, size_bytes)
    with _alone(part_path):
        with disk_faults_named(part_path, size_bytes), console.progress(title, size_bytes, "bytes") as progress:
            _bring(url, size_bytes, part_path, client, progress)
        yield part_path
        part_path.unlink()
        _tag_path(part_path).unlink(missing_ok=True)


@contextmanager
def _alone(part_path: Path) -> Iterator[None]:
    """One process a file: two that wrote at once would leave bytes that no hash could disown."""
    with part_path.with_suffix(".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _bring(url: str, size_bytes: int, part_path: Path, client: httpx.Client, progress: Progress) -> None:
    import httpx

    why = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(FIRST_WAIT_S * 2 ** (attempt - 1))
        try:
            why = _attempt(url, part_path, client, progress)
        except httpx.TransportError as error:
            why = cause_of(error)
        if not why and part_path.stat().st_size == size_bytes:
            return
        why = why or f"it sent {part_path.stat().st_size} of {size_bytes} bytes"
    raise ResolveError(f"{hide_password(url)}: {why}; tried {TRIES} times", hint="run the command again: it resumes")


def _attempt(url: str, part_path: Path, client: httpx.Client, progress: Progress) -> str:
    """One request; "" when it ended well."""
    held_bytes, tag = _held(part_path)
    headers = {"Range": f"bytes={held_bytes}-", "If-Range": tag} if tag and held_bytes else {}
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code not in {200, 206}:
            return f"HTTP {response.status_code}"
        resumed = response.status_code == 206
        progress.advance(held_bytes if resumed else 0)
        _tag_path(part_path).write_text(_strong_tag(response), encoding="utf-8")
        with part_path.open("ab" if resumed else "wb") as file:
            for chunk in response.iter_raw():
                file.write(chunk)
                progress.advance(len(chunk))
    return ""


def _held(part_path: Path) -> tuple[int, str]:
    try:
        return part_path.stat().st_size, _tag_path(part_path).read_text(encoding="utf-8")
    except OSError:
        return 0, ""


def _tag_path(part_path: Path) -> Path:
    return part_path.with_suffix(".etag")


def _strong_tag(response: httpx.Response) -> str:
    tag: str = response.headers.get("ETag", "")
    return tag if tag.startswith('"') and tag.isascii() else ""
