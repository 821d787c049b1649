"""Texts of an image → Installed: each deb and each Python distribution in it, as dpkg and pip would list them."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import BytesParser

from packaging.utils import canonicalize_name

from rockiln.assemble.control import read_fields
from rockiln.errors import ImageError
from rockiln.sbom.layer_texts import LayerTexts, lay_over

_METADATA = re.compile(r"(?P<site>.*/(?:site|dist)-packages)/(?P<folder>[^/]+\.dist-info)/METADATA")
_SYSTEM_SITE = re.compile(r"usr/lib/python3[^/]*/dist-packages")
"""Where Debian's own Python packages lie: their debs stand for them."""
_LICENCE_FILE = re.compile(r".*/(?:copyright|(?:LICEN[CS]E|EULA|COPYING)[^/]*)")
_RECORD = "etc/rockiln/version.json"
_MAX_LINKS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package of an image."""

    kind: str
    """"deb" or "wheel"."""
    name: str
    version: str
    architecture: str = ""
    sha256: str = ""
    """Of the deb or wheel it came in; "" where the image does not say."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """dpkg's, or the headers of METADATA: first value of each, names in lower case."""
    classifiers: tuple[str, ...] = ()
    licence_files: Mapping[str, bytes] = field(default_factory=dict)
    """Path in the image → what it says."""
    pack: Mapping[str, str] = field(default_factory=dict)
    """Of a kernel pack, docs/packs.md: its arch, how many kernels, and the tools that made them."""

    @property
    def owner(self) -> str:
        """As locks and recipes name it."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An image's packages, sorted; and what else names it."""

    packages: tuple[Package, ...]
    os_id: str
    """ID of os-release: "debian", "ubuntu"; "" where there is none."""
    os_version: str
    record: Mapping[str, object]
    """/etc/rockiln/version.json; empty in an image of others."""


def find_installed(layers: Iterable[LayerTexts], name: str) -> Installed:
    """Everything, from the layers in their order. Raises ImageError for a damaged record."""
    texts, links = lay_over(layers)
    looked = _Looked(texts, links)
    record = _read_record(looked.read(_RECORD), name)
    hashes = _find_hashes(record)
    found = [*_find_debs(looked, hashes), *_find_distributions(looked, hashes)]
    release = _read_release(looked.read("etc/os-release") or looked.read("usr/lib/os-release"))
    return Installed(
        packages=tuple(sorted(found, key=lambda one: (one.kind, one.name, one.version, one.architecture))),
        os_id=release.get("ID", ""), os_version=release.get("VERSION_ID", ""), record=record,
    )  # fmt: skip


class _Looked:
    """Texts with the links that lead to them."""

    def __init__(self, texts: Mapping[str, bytes], links: Mapping[str, str]) -> None:
        self.texts, self._links = texts, links

    def read(self, path: str) -> bytes:
        """"" where nothing was kept."""
        return self.texts.get(self.resolve(path), b"")

    def resolve(self, path: str) -> str:
        """The path with its links followed, as far as they are known."""
        for _ in range(_MAX_LINKS):
            for end in [*(place.start() for place in re.finditer("/", path)), len(path)]:
                if target := self._links.get(path[:end]):
                    base = "" if target.startswith("/") else posixpath.dirname(path[:end])
                    path = posixpath.normpath(f"{base}/{target}/{path[end:].lstrip('/')}").strip("/")
                    break
            else:
                return path
        return ""


def _read_record(content: bytes, name: str) -> Mapping[str, object]:
    try:
        value = json.loads(content or b"{}")
    except (ValueError, RecursionError) as fault:
        raise ImageError(f"{name}: /{_RECORD} is damaged: {fault}", hint="build the image anew") from fault
    if not isinstance(value, dict):
        raise ImageError(f"{name}: /{_RECORD} is no object", hint="build the image anew")
    return value


def _find_hashes(record: Mapping[str, object]) -> dict[tuple[str, str, str], str]:
    """Kind, name and version → sha256, as the image's record has them."""
    rows = record.get("packages")
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    keys = ("kind", "name", "version", "sha256")
    texts = [tuple(str(row.get(key, "")) for key in keys) for row in found]
    return {(kind, name, version): sha256 for kind, name, version, sha256 in texts}


def _find_debs(looked: _Looked, hashes: Mapping[tuple[str, str, str], str]) -> Iterator[Package]:
    files = [path for path in looked.texts if re.fullmatch(r"var/lib/dpkg/status(\.d/[^/]+)?", path)]
    texts = (looked.texts[path].decode("utf-8", "replace") for path in sorted(files))
    for paragraph in (part for text in texts for part in text.split("\n\n")):
        fields = read_fields(paragraph.strip("\n")) if ":" in paragraph else {}
        if "Package" in fields and fields.get("Status", "install ok installed").endswith(" installed"):
            name, version = fields["Package"], fields.get("Version", "")
            yield Package(
                kind="deb", name=name, version=version, architecture=fields.get("Architecture", ""),
                sha256=hashes.get(("deb", name, version), ""),
                fields={key.lower(): value for key, value in fields.items()},
                licence_files=_find_licence_files(looked, name, fields.get("Architecture", "")),
            )  # fmt: skip


def _find_licence_files(looked: _Looked, name: str, architecture: str) -> dict[str, bytes]:
    """usr/share/doc/NAME/copyright, and what else the package's list calls so."""
    lists = (looked.read(f"var/lib/dpkg/info/{name}{suffix}.list") for suffix in ("", f":{architecture}"))
    listed = [line.strip("/") for text in lists for line in text.decode("utf-8", "replace").splitlines()]
    paths = {f"usr/share/doc/{name}/copyright", *(path for path in listed if _LICENCE_FILE.fullmatch(path))}
    return {path: content for path in sorted(paths) if (content := looked.read(path))}


def _find_distributions(looked: _Looked, hashes: Mapping[tuple[str, str, str], str]) -> Iterator[Package]:
    paths = sorted(looked.texts)
    for path in paths:
        matched = _METADATA.fullmatch(path)
        if matched is None or _SYSTEM_SITE.fullmatch(matched["site"]):
            continue
        message = BytesParser().parsebytes(looked.texts[path])
        fallback = matched["folder"].removesuffix(".dist-info").split("-")
        name, version = str(message["Name"] or fallback[0]), str(message["Version"] or "".join(fallback[1:2]))
        folder = posixpath.dirname(path)
        licences = {
            one: looked.texts[one]
            for one in paths
            if one.startswith(f"{folder}/") and _LICENCE_FILE.fullmatch(one)
        }
        yield Package(
            kind="wheel", name=canonicalize_name(name), version=version,
            sha256=hashes.get(("wheel", canonicalize_name(name), version), ""),
            fields={key.lower(): str(message[key]) for key in reversed(message.keys())},
            classifiers=tuple(map(str, message.get_all("Classifier", []))), licence_files=licences,
            pack=_read_pack(looked.read(f"{matched['site']}/{name.replace('-', '_').lower()}/pack/manifest.json")),
        )  # fmt: skip


def _read_pack(content: bytes) -> dict[str, str]:
    """Empty for what is no pack; the audit looks closer."""
    try:
        value = json.loads(content or b"{}")
        if "kernels" not in value:
            return {}
        facts = {"arch": value["arch"], "kernels": len(value["kernels"]), "variants": len(value["variants"])}
        return {key: str(one) for key, one in {**facts, "triton": value["triton"], "lld": value["lld"]}.items()}
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _read_release(content: bytes) -> dict[str, str]:
    """https://www.freedesktop.org/software/systemd/man/latest/os-release.html"""
    pairs = (line.partition("=") for line in content.decode("utf-8", "replace").splitlines() if "=" in line)
    return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs}
