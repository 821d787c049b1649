"""A layer's bytes, as a stream → LayerTexts: the small files in which packages name themselves and their licences."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from rockiln.audit.layer_stream import visit_members
from rockiln.layer_paths import Whiteouts, clean_path, forget_covered
from rockiln.readers import Readable

_MAX_BYTES = 8 << 20
"""Of one file; a larger one is not what its name says."""
_WANTED = re.compile(
    r"""
    var/lib/dpkg/(?: status | status\.d/[^/]+ | info/[^/]+\.list )
    | usr/share/doc/[^/]+/(?:copyright | EULA[^/]*)
    | opt/rocm[^/]*/share/doc/[^/]+/(?:copyright | (?:LICEN[CS]E | EULA | COPYING)[^/]*)
    | .*/(?:site|dist)-packages/[^/]+\.dist-info/(?:METADATA | (?:licenses/)?(?:LICEN[CS]E | EULA | COPYING)[^/]*)
    | .*/(?:site|dist)-packages/rockiln_kernels_[a-z0-9_]+/pack/manifest\.json
    | etc/(?:os-release | rockiln/version\.json)
    | usr/lib/os-release
    """,
    re.VERBOSE,
)
_LINKED = re.compile(r"usr/share/doc/[^/]+(?:/copyright)?|etc/os-release|opt/rocm[^/]*|bin|lib|lib64|sbin|lib32|libx32")
"""Links that lead to such files: packages of one source share a folder in usr/share/doc."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTexts:
    """One layer."""

    diff_id: str
    """sha256:… of the tar stream."""
    texts: Mapping[str, bytes]
    links: Mapping[str, str]
    """Symlinks as written; hard links begin with a slash."""
    replaced: frozenset[str]
    """Paths that the layer brings as something else than a folder, or takes away."""
    emptied: tuple[str, ...]


def read_layer_texts(stream: Readable, name: str) -> LayerTexts:
    """Read the layer once, to its last byte. Raises ImageError where it is damaged."""
    reader = _Reader()
    digest = visit_members(stream, name, reader.add)
    return LayerTexts(
        diff_id=digest, texts=reader.texts, links=reader.links,
        replaced=frozenset((*reader.replaced, *reader.whiteouts.removed)), emptied=tuple(reader.whiteouts.emptied),
    )  # fmt: skip


def lay_over(layers: Iterable[LayerTexts]) -> tuple[dict[str, bytes], dict[str, str]]:
    """(Texts, links) as a container sees them."""
    texts: dict[str, bytes] = {}
    links: dict[str, str] = {}
    for layer in layers:
        forget_covered((texts, links), layer.replaced, layer.emptied)
        texts |= layer.texts
        links |= layer.links
    return texts, links


class _Reader:
    """What was met so far."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.replaced: list[str] = []
        self.whiteouts = Whiteouts()

    def add(self, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        path = clean_path(member.name)
        if not self.whiteouts.take(path) and not member.isdir():
            self.replaced.append(path)
            self._keep(path, member, archive)

    def _keep(self, path: str, member: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        if member.issym() and _LINKED.fullmatch(path):
            self.links[path] = member.linkname
        elif member.islnk() and _WANTED.fullmatch(path):
            self.links[path] = f"/{clean_path(member.linkname)}"
        elif member.isreg() and member.size <= _MAX_BYTES and _WANTED.fullmatch(path):
            source = archive.extractfile(member)
            self.texts[path] = cast("Readable", source).read(member.size)
