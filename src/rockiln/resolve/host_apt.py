"""The host's apt configuration → URLs of an archive by the name its URIs end in, and how apt reaches the network."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

TRANSPORTS = ("Acquire::http::", "Acquire::https::", "Acquire::socks::")
"""Proxies, private CAs and client certificates of the host are kept; nothing else of its configuration is."""

_OURS = ("::Timeout", "::ConnectionAttemptDelayMsec", "::Dl-Limit")


def find_archives(distribution: str, apt_path: Path) -> tuple[str, ...]:
    """URLs, in the host's order, whose last part is `distribution` ("debian", "debian-security", "ubuntu")."""
    lists = [apt_path / "sources.list", *sorted((apt_path / "sources.list.d").glob("*.list"))]
    found = [uri for path in sorted((apt_path / "sources.list.d").glob("*.sources")) for uri in _read_deb822(path)]
    found += [uri for path in lists for uri in _read_one_line(path)]
    expanded = (url for uri in found for url in _expand_mirror_list(uri))
    named = (url.rstrip("/") for url in expanded if _last_part(url) == distribution)
    return tuple(dict.fromkeys(named))


def _last_part(url: str) -> str:
    return urlsplit(url).path.rstrip("/").rpartition("/")[2]


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_deb822(path: Path) -> Iterator[str]:
    from debian.deb822 import Deb822

    for paragraph in Deb822.iter_paragraphs(_read_text(path), use_apt_pkg=False):
        enabled = paragraph.get("Enabled", "yes").strip().lower() not in {"no", "false", "0"}
        if enabled and "deb" in paragraph.get("Types", "").split():
            yield from paragraph.get("URIs", "").split()


def _read_one_line(path: Path) -> Iterator[str]:
    """`deb [option=value ...] URI suite component...`."""
    for line in _read_text(path).splitlines():
        kind, *rest = line.partition("#")[0].split(maxsplit=1)[:2] or [""]
        words = "".join(rest).rpartition("]")[2].split()
        if kind == "deb" and words:
            yield words[0]


def _expand_mirror_list(uri: str) -> Iterator[str]:
    """Cloud images write `mirror+file:/etc/apt/mirrors/debian.list`: a file with a URL a line."""
    if not uri.startswith("mirror+file:"):
        yield uri
        return
    for line in _read_text(Path(urlsplit(uri.removeprefix("mirror+")).path)).splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.split()[0]


def host_transport(environ: Mapping[str, str]) -> str:
    """The host's own lines on how to reach the network, in apt.conf syntax."""
    program = shutil.which("apt-config", path=environ.get("PATH"))
    if program is None:
        return ""
    finished = subprocess.run([program, "dump"], env=dict(environ), capture_output=True, text=True, check=False)
    lines = [line for line in finished.stdout.splitlines() if line.startswith(TRANSPORTS)]
    return "".join(f"{line}\n" for line in lines if not line.split()[0].endswith(_OURS))
