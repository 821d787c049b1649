"""dpkg's lists and wheels' RECORD files of a tree → who owns each path, and which version is installed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from packaging.utils import canonicalize_name

from rockiln.record_rows import read_rows

UNOWNED = "unowned"
"""Stands for the owner of what no list names."""

_DPKG = "var/lib/dpkg/"
_FIELD = re.compile(r"^(Package|Version|Status): (.+)$", re.MULTILINE)
_INFO = re.compile(rf"{_DPKG}info/([a-z0-9][a-z0-9+.-]*?)(?::[a-z0-9]+)?\.[a-z0-9]+")
_BYTE_CODE = re.compile(r"(?P<folder>.*/)?__pycache__/(?P<module>[^/.]+)\.[^/]*\.pyc")


def find_owners(
    paths: Iterable[str], texts: Mapping[str, bytes], symlinks: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """(Path → owner, owner → version). `texts` are the lists by path; a wheel's claim goes before a deb's."""
    listed: dict[str, str] = {}
    versions: dict[str, str] = {}
    for path, text in sorted(texts.items()):
        decoded = text.decode("utf-8", "surrogateescape")
        if path == f"{_DPKG}status":
            versions |= dict(_read_status(decoded))
        elif path.startswith(_DPKG):
            name = path.rpartition("/")[2].removesuffix(".list").partition(":")[0]
            listed |= dict.fromkeys((_follow(line, symlinks) for line in decoded.splitlines()), f"deb:{name}")
        else:
            owner, version = _read_wheel(path)
            versions[owner] = version
            listed |= dict.fromkeys(_read_record(path, decoded), owner)
    owners = {
        path: listed.get(path) or _find_by_place(path) or listed.get(_find_source(path), UNOWNED) for path in paths
    }
    return owners, versions


def _read_status(text: str) -> Iterator[tuple[str, str]]:
    for paragraph in text.split("\n\n"):
        fields = dict(_FIELD.findall(paragraph))
        if "Package" in fields:
            yield f"deb:{fields['Package']}", fields.get("Version", "")


def _follow(line: str, symlinks: Mapping[str, str]) -> str:
    """Lists may say /bin/ls where /bin is a link to usr/bin."""
    first, _, rest = line.strip("/").partition("/")
    target = symlinks.get(first, first).strip("/")
    return f"{target}/{rest}" if rest else first


def _read_wheel(record_path: str) -> tuple[str, str]:
    name, _, version = posixpath.basename(posixpath.dirname(record_path)).removesuffix(".dist-info").partition("-")
    return f"wheel:{canonicalize_name(name)}", version


def _read_record(record_path: str, text: str) -> Iterator[str]:
    site = posixpath.dirname(posixpath.dirname(record_path))
    for row, _ in read_rows(text):
        if row:
            yield posixpath.normpath(posixpath.join("/", site, row[0])).strip("/")


def _find_by_place(path: str) -> str:
    """dpkg's own files about a package count for the package."""
    found = _INFO.fullmatch(path)
    return f"deb:{found[1]}" if found else ""


def _find_source(path: str) -> str:
    """Byte code belongs to whom its source belongs to."""
    found = _BYTE_CODE.fullmatch(path)
    return f"{found['folder'] or ''}{found['module']}.py" if found else ""
