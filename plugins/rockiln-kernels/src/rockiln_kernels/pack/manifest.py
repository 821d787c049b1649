"""manifest.json of a pack → Manifest, and back. docs/packs.md documents the format, and this module owns it."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from rockiln_kernels.dtypes import DTYPES

SCHEMA = 1
FILE_NAME = "manifest.json"
_SHA256 = re.compile("[0-9a-f]{64}")
KINDS = {"null": 0, "pointer": 1, "i32": 2, "i64": 3, "f32": 4}
"""Kinds of arguments, with the numbers of rockiln_kind in launcher/rockiln.h; 0: what the library fills in itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentEntry:
    """One kernel argument at its place in the kernarg segment.

    `kind` is pointer, i32, i64 or f32, or `null` for an address that the compiler reserves and that is passed as 0.
    """

    name: str
    kind: str
    dtype: str
    value: str
    offset: int
    size_bytes: int
    divisible_by: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEntry:
    """One code object with one kernel: how to launch it, and what the compiler made of it."""

    source: str
    symbol: str
    file: str
    sha256: str
    size_bytes: int
    threads: int
    shared_bytes: int
    """Dynamic LDS (shared memory) to pass at launch."""
    kernarg_bytes: int
    args: tuple[ArgumentEntry, ...]
    constants: Mapping[str, int | float | bool | str]
    warps: int
    stages: int
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch_bytes: int
    occupancy: int
    """Waves per SIMD that registers and LDS allow, as LLVM states it."""
    matrix_instructions: Mapping[str, int]
    """Name → how often it stands in the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchEntry:
    """A kernel's key and three grid formulas."""

    kernel: str
    grid: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceEntry:
    """Scratch memory of one call; `size` is a formula in elements."""

    name: str
    dtype: str
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementEntry:
    """A formula that a call must satisfy, and what to say when it does not."""

    formula: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantEntry:
    """One way to run one cell of an op."""

    op: str
    cell: str
    name: str
    launches: tuple[LaunchEntry, ...]
    workspaces: tuple[WorkspaceEntry, ...]
    requires: tuple[RequirementEntry, ...]
    decoded: bool
    rank: str

    @property
    def key(self) -> str:
        """Unique in a pack."""
        return f"{self.op}/{self.cell}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentEntry:
    """A variant that was planned and is not in the pack, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All that a launcher needs to know of a pack."""

    schema: int
    arch: str
    wave_lanes: int
    triton: str
    lld: str
    kernels: Mapping[str, KernelEntry]
    variants: tuple[VariantEntry, ...]
    absent: tuple[AbsentEntry, ...]

    def find_part(self, op: str) -> Manifest:
        """With the variants and absences of `op` only, in their order."""
        variants = tuple(item for item in self.variants if item.op == op)
        return replace(
            self, variants=variants, absent=tuple(item for item in self.absent if item.key.startswith(f"{op}/"))
        )


def dump_manifest(manifest: Manifest) -> str:
    """The JSON text: sorted, so that equal manifests are equal bytes."""
    return json.dumps(asdict(manifest), indent=1, sort_keys=True) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the pack in `folder`.

    Raises ValueError, naming the file, for another schema or for JSON that is no manifest; OSError if unreadable.
    """
    path = folder / FILE_NAME
    try:
        return parse_manifest(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a pack manifest of schema {SCHEMA}: {explain_misfit(error)}") from error


def explain_misfit(error: Exception) -> str:
    """What is wrong with JSON that is no manifest, or no record, in words that do not name Python's types."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def parse_manifest(tree: Mapping[str, Any]) -> Manifest:
    """JSON's tree → Manifest. Raises KeyError, TypeError or ValueError where it is none.

    Numbers are in range, and names lead to what is there: who uses it need not ask again. Formulas are not read.
    """
    if not isinstance(tree, dict):
        raise ValueError("no object")  # noqa: TRY004  # a damaged file
    if tree["schema"] != SCHEMA:
        raise ValueError(f"schema {tree['schema']}")
    manifest = _check(
        "the manifest",
        Manifest(
            **{
                **tree,
                "kernels": {key: _parse_kernel(key, value) for key, value in _take(tree, "kernels", dict).items()},
                "variants": tuple(_parse_variant(value) for value in _take(tree, "variants", list)),
                "absent": tuple(_check("absent", AbsentEntry(**value)) for value in _take(tree, "absent", list)),
            }
        ),
    )
    used = {launch.kernel for variant in manifest.variants for launch in variant.launches}
    if lacking := sorted(used - manifest.kernels.keys()):
        raise ValueError(f"a variant launches {lacking[0]}, which is not among the kernels")
    return manifest


def _parse_kernel(key: str, tree: Mapping[str, Any]) -> KernelEntry:
    args = tuple(_check(f"{key}, an argument", ArgumentEntry(**arg)) for arg in _take(tree, "args", list))
    entry = _check(key, KernelEntry(**{**tree, "args": args}))
    if entry.threads == 0 or not entry.file or "/" in entry.file or "\0" in entry.file or entry.file[0] == ".":
        raise ValueError(f"{key}: threads is {entry.threads}, file is {entry.file!r}")
    if not _SHA256.fullmatch(entry.sha256):
        raise ValueError(f"{key}: sha256 is {entry.sha256[:80]!r}")
    for arg in args:
        if arg.divisible_by == 0 or arg.kind not in KINDS:
            raise ValueError(f"{key}, {arg.name}: divisible_by is {arg.divisible_by}, kind is {arg.kind!r}")
    return entry


def _parse_variant(tree: Mapping[str, Any]) -> VariantEntry:
    launches = tuple(_parse_launch(item) for item in _take(tree, "launches", list))
    workspaces = tuple(_check("a workspace", WorkspaceEntry(**item)) for item in _take(tree, "workspaces", list))
    requires = tuple(_check("a requirement", RequirementEntry(**item)) for item in _take(tree, "requires", list))
    entry = VariantEntry(**{**tree, "launches": launches, "workspaces": workspaces, "requires": requires})
    if odd := [space.dtype for space in workspaces if space.dtype not in DTYPES]:
        raise ValueError(f"{entry.key}: a workspace of {odd[0]}, which is no dtype")
    return _check("a variant", entry)


def _parse_launch(tree: Mapping[str, Any]) -> LaunchEntry:
    grid = tuple(_take(tree, "grid", list))
    if len(grid) != 3 or not all(isinstance(formula, str) for formula in grid):
        raise ValueError(f"a launch: grid is {grid}, not three formulas")
    return _check("a launch", LaunchEntry(**{**tree, "grid": grid}))


def _take(tree: Mapping[str, Any], name: str, kind: type) -> Any:
    value = tree[name]
    if not isinstance(value, kind):
        raise ValueError(f"{name} is no {'object' if kind is dict else 'list'}")  # noqa: TRY004  # a damaged file
    return value


_Entry = TypeVar("_Entry")
_KINDS_OF_FIELDS: Mapping[str, type] = {"str": str, "int": int, "bool": bool, "tup": tuple, "Map": dict}
_WORDS = {str: "a text", int: "a natural number below 2^32", bool: "true or false", tuple: "a list", dict: "an object"}


@lru_cache(maxsize=16)
def _list_fields(entry: Hashable) -> tuple[tuple[str, type], ...]:
    """Names of an entry's fields, and the types that JSON has for them."""
    own = ((item.name, str(item.type)) for item in fields(entry))  # type: ignore[arg-type]  # a dataclass
    return tuple((name, _KINDS_OF_FIELDS[kind if kind == "bool" else kind[:3]]) for name, kind in own)


def _check(what: str, entry: _Entry) -> _Entry:
    """The entry, if each field is of its type, and each number one of 32 bits without a sign. Raises ValueError."""
    for name, kind in _list_fields(cast("Hashable", type(entry))):
        value = getattr(entry, name)
        if type(value) is not kind or (isinstance(value, int) and not 0 <= value < 1 << 32):
            raise ValueError(f"{what}: {name} is {str(value)[:80]!r}, not {_WORDS[kind]}")
    return entry
