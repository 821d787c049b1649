"""matrix.toml → Matrix: which images there are, and where artifacts come from. Written by people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast, get_args

from packaging.requirements import Requirement
from packaging.version import Version

from rockiln.archs import LLVM_TARGETS
from rockiln.publish_policy import PublishPolicy, read_policy
from rockiln.tables import Table, list_words, parse_toml, quote, read_toml, suggest

SourceKind = Literal["wheel-index", "wheel-directory", "debian-archive"]
Evidence = Literal["proven", "named", "conjectured"]
Named = TypeVar("Named")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """[sources.NAME]: a place that serves artifacts. "" for `url` means: the host's own tools know it."""

    name: str
    kind: SourceKind
    url: str = ""
    suites: tuple[str, ...] = ()
    """debian-archive only, with the next five."""
    components: tuple[str, ...] = ()
    keyring: str = ""
    """File name, looked up in /usr/share/keyrings, /etc/apt/keyrings and the project folder."""
    distribution: str = ""
    """What the host's apt calls this archive when `url` is empty: the last part of its URI ("debian")."""
    snapshot: str = ""
    """URL of a snapshot of the same archive, asked when a file has left the pool."""
    check_valid_until: bool = True
    pinned_packages: tuple[str, ...] = ()
    """Only these (globs) may come from here; empty: any. For experimental beside sid."""
    packages: tuple[str, ...] = ()
    """wheel sources only: only these wheels (names, globs) come from here; empty: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way to fill a cell: exact wheels, how sure we are that they exist and work, and where that is written."""

    version: Version
    """Framework version that the wheels really are; ids and tags use it."""
    wheels: tuple[Requirement, ...]
    evidence: Evidence
    evidence_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One [[target]] row: one image. `id` names it everywhere; built here only, never parsed back."""

    framework: str
    version: Version
    rocm: Version | None
    """None: a CPU image."""
    rocm_origin: str
    """"amd", "debian" or "" (CPU): who built the ROCm libraries."""
    python: Version
    os: str
    archs: tuple[str, ...]
    flavour: str
    """"" is the runtime image."""
    recipe: str
    """images/RECIPE/image.toml"""
    sources: tuple[str, ...]
    """Keys of [sources.*], in order of preference."""
    candidates: tuple[Candidate, ...]
    """At least one, best first; plan takes the first that its table allows."""
    plugins: tuple[str, ...]
    """Own distributions from plugins/ and compat/ to install; empty until they exist."""
    absent: tuple[str, ...]
    """Sonames that this row declares it does not hold, as "soname: why"."""

    @property
    def id(self) -> str:
        """framework-version-rocmX|cpu-pyX.Y-os[-archs][-flavour]; dots stay."""
        platform = f"rocm{self.rocm}" if self.rocm else "cpu"
        parts = [self.framework, str(self.version), platform, f"py{self.python}", self.os]
        parts += ["+".join(self.archs)] if self.archs else []
        parts += [self.flavour] if self.flavour else []
        return "-".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole file."""

    path: Path
    targets: tuple[Target, ...]
    sources: Mapping[str, Source]
    mirrors: Mapping[str, tuple[str, ...]]
    """Source name → URLs tried before the source's own."""
    publish: PublishPolicy = field(default_factory=PublishPolicy)


SCHEMA = 1
WORD = re.compile(r"[a-z0-9]+")
OS_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+(\.[a-z0-9]+)*)?")
ORIGINS = ("amd", "debian")
FLAVOURS = ("runtime", "devel")
"""As matrix.toml and recipes write them; Target.flavour is "" for "runtime", since ids leave it out."""
WHEEL_KINDS = ("wheel-index", "wheel-directory")


def read_matrix(path: Path) -> Matrix:
    """Read matrix.toml; every fault of the file is in the one FileFaultsError."""
    return _read_top(read_toml(path, path.name), path)


def parse_matrix(text: str, path: Path) -> Matrix:
    """As read_matrix, from a text that is not at `path` yet."""
    return _read_top(parse_toml(text, path.name), path)


def _read_top(top: Table, path: Path) -> Matrix:
    if top.number("schema") != SCHEMA and "schema" in top:
        top.fault("schema", f"this rockiln reads schema {SCHEMA} only")
    sources = {name: _read_source(name, table) for name, table in top.named_tables("sources").items()}
    candidates = {name: _read_candidate(table) for name, table in top.named_tables("candidates").items()}
    rows = top.tables("target")
    targets = tuple(_read_target(row, sources, candidates) for row in rows)
    _refuse_double_ids(rows, targets)
    mirrors = _read_mirrors(top, sources)
    publish = read_policy(
        top.table("publish"), [target.id for target in targets], {target.framework for target in targets}
    )  # fmt: skip
    top.refuse_others()
    top.faults.raise_any()
    return Matrix(path=path, targets=targets, sources=sources, mirrors=mirrors, publish=publish)


def _read_source(name: str, table: Table) -> Source:
    kind = table.text("kind", one_of=get_args(SourceKind))
    if kind == "debian-archive":
        return _read_archive(name, table)
    url = table.text("url", None if kind == "wheel-directory" else "")
    packages = table.texts("packages", ())
    if kind in WHEEL_KINDS:
        table.refuse_others()
    _check_url(table, "url", url)
    return Source(name=name, kind=cast("SourceKind", kind), url=url, packages=packages)


def _read_archive(name: str, table: Table) -> Source:
    source = Source(
        name=name,
        kind="debian-archive",
        url=table.text("url", ""),
        distribution=table.text("distribution", ""),
        suites=table.texts("suites"),
        components=table.texts("components", ("main",)),
        keyring=table.text("keyring"),
        snapshot=table.text("snapshot", ""),
        check_valid_until=table.flag("check-valid-until", default=True),
        pinned_packages=table.texts("pinned-packages", ()),
    )
    table.refuse_others()
    if not source.url and not source.distribution:
        table.fault("distribution", "missing, and so is url: nothing says which archive this is")
    _check_url(table, "url", source.url)
    _check_url(table, "snapshot", source.snapshot)
    return source


def _check_url(table: Table, key: str, url: str, index: int | None = None) -> None:
    if url and not url.startswith(("https://", "http://", "file://")):
        table.fault(key, f"{quote(url)} is not an https, http or file URL", index)


def _read_mirrors(top: Table, sources: Mapping[str, Source]) -> Mapping[str, tuple[str, ...]]:
    table = top.table("mirrors")
    mirrors = top.texts_map("mirrors")
    for name, urls in mirrors.items():
        if name not in sources:
            table.fault(name, f"no [sources.{name}] in this file{suggest(name, sources)}")
        for index, url in enumerate(urls):
            _check_url(table, name, url, index)
    return mirrors


def _read_candidate(table: Table) -> Candidate:
    candidate = Candidate(
        version=table.version("version"),
        wheels=table.requirements("wheels"),
        evidence=cast("Evidence", table.text("evidence", one_of=get_args(Evidence))),
        evidence_source=table.text("evidence-source"),
    )
    table.refuse_others()
    return candidate


def _read_target(row: Table, sources: Mapping[str, Source], candidates: Mapping[str, Candidate]) -> Target:
    framework = _word(row, "framework", WORD)
    rocm = row.version("rocm") if "rocm" in row else None
    row.text("rocm", "")  # a CPU row leaves it out
    origin = row.text("rocm-origin", "amd" if rocm else "", one_of=ORIGINS if rocm or "rocm-origin" in row else ())
    if origin and not rocm:
        row.fault("rocm-origin", f"{quote(origin)} says who built ROCm, but this row has no rocm")
    chosen = _named(row, "candidates", candidates)
    flavour = row.text("flavour", "runtime", one_of=FLAVOURS)
    target = Target(
        framework=framework,
        version=chosen[0].version if chosen else Version("0"),
        rocm=rocm,
        rocm_origin=origin,
        python=row.version("python"),
        os=_word(row, "os", OS_NAME),
        archs=_read_archs(row, rocm),
        flavour="" if flavour == "runtime" else flavour,
        recipe=row.text("recipe", framework),
        sources=tuple(source.name for source in _named(row, "sources", sources)),
        candidates=chosen,
        plugins=row.texts("plugins", ()),
        absent=_read_absent(row),
    )
    row.refuse_others()
    return target


def _word(row: Table, key: str, pattern: re.Pattern[str]) -> str:
    word = row.text(key)
    if word and not pattern.fullmatch(word):
        row.fault(key, f"{quote(word)} cannot be part of an id: small letters and digits only")
    return word


def _named(row: Table, key: str, known: Mapping[str, Named]) -> tuple[Named, ...]:
    """The values of `known` that an array names, in its order."""
    names = row.texts(key)
    if row.is_empty(key):
        row.fault(key, "an empty array; at least one is needed")
    for index, name in enumerate(names):
        if name not in known:
            row.fault(key, f"no [{key}.{name}] in this file{suggest(name, known)}", index)
    return tuple(known[name] for name in names if name in known)


def _read_archs(row: Table, rocm: Version | None) -> tuple[str, ...]:
    archs = row.texts("archs", None if rocm else ())
    for index, arch in enumerate(archs):
        if arch not in LLVM_TARGETS:
            message = f"{quote(arch)} is not an LLVM target this table knows{suggest(arch, LLVM_TARGETS)}"
            row.fault("archs", message, index)
    if archs and not rocm:
        row.fault("archs", f"{list_words(archs)} without rocm: a CPU row has no GPU targets")
    if rocm and row.is_empty("archs"):
        row.fault("archs", "an empty array; an image without GPU code is a CPU row")
    return archs


def _read_absent(row: Table) -> tuple[str, ...]:
    absent = row.texts("absent", ())
    for index, line in enumerate(absent):
        if not all(part.strip() for part in line.partition(": ")):
            row.fault("absent", f'{quote(line)} is not "SONAME: why"', index)
    return absent


def _refuse_double_ids(rows: tuple[Table, ...], targets: tuple[Target, ...]) -> None:
    first: dict[str, int] = {}
    for index, (row, target) in enumerate(zip(rows, targets, strict=True)):
        earlier = first.setdefault(target.id, index)
        if earlier != index:
            row.faults.add(row.key, f"the same id as target[{earlier}]: {target.id}")
