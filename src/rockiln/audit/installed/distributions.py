"""Tree → Distributions: what is installed in each site-packages, by its own metadata."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import BytesHeaderParser

from rockiln.audit.installed.tree import Tree
from rockiln.installed.record import normalize_name, read_record

_SITE = re.compile(r"(?P<site>.*/(?:site|dist)-packages)/(?P<name>[^/]+)")
_METADATA = re.compile(
    r"(?P<site>.*/(?:site|dist)-packages)/(?P<folder>[^/]+\.(?:dist|egg)-info)/(?:METADATA|PKG-INFO)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRow:
    """A file that a distribution claims."""

    path: str
    """In the tree."""
    sha256: str
    """Hexadecimal; "" where RECORD has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One .dist-info or .egg-info folder."""

    name: str
    version: str
    site: str
    """The site-packages that it is in."""
    folder: str
    direct_url: dict[str, object]
    """https://packaging.python.org/en/latest/specifications/direct-url/; empty where it came from an index."""
    rows: tuple[RecordRow, ...]

    @property
    def key(self) -> str:
        """The name as indexes compare it."""
        return normalize_name(self.name)


def list_distributions(tree: Tree) -> tuple[Distribution, ...]:
    """All of them, by path."""
    found = (_METADATA.fullmatch(path) for path in sorted(tree.texts))
    return tuple(_read_distribution(tree, one) for one in found if one)


def list_site_files(tree: Tree, ending: str) -> Iterator[tuple[str, str, bytes]]:
    """(site-packages, path, content) of files directly in a site-packages, as Python's site module reads .pth files."""
    for path, content in sorted(tree.texts.items()):
        matched = _SITE.fullmatch(path)
        if matched and path.endswith(ending):
            yield matched["site"], path, content


def _read_distribution(tree: Tree, found: re.Match[str]) -> Distribution:
    folder = f"{found['site']}/{found['folder']}"
    header = BytesHeaderParser().parsebytes(tree.texts[found[0]])
    fallback = found["folder"].rpartition(".")[0].split("-")
    return Distribution(
        name=str(header["Name"] or fallback[0]), version=str(header["Version"] or "".join(fallback[1:2])),
        site=found["site"], folder=folder, direct_url=_read_direct_url(tree, folder),
        rows=tuple(_read_rows(tree.read(f"{folder}/RECORD") or b"", found["site"])),
    )  # fmt: skip


def _read_direct_url(tree: Tree, folder: str) -> dict[str, object]:
    try:
        value = json.loads(tree.read(f"{folder}/direct_url.json") or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_rows(content: bytes, site: str) -> Iterator[RecordRow]:
    for path, digest in read_record(content.decode("utf-8", "surrogateescape"), f"/{site}"):
        yield RecordRow(path=path.lstrip("/"), sha256=_decode_hash(digest))


def _decode_hash(text: str) -> str:
    algorithm, _, value = text.partition("=")
    if algorithm != "sha256":
        return ""
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return ""
