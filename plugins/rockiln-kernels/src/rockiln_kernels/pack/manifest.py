"""manifest.json of a pack → Manifest, and back. docs/packs.md documents the format, and this module owns it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

SCHEMA = 1
FILE_NAME = "manifest.json"


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
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a pack manifest of schema {SCHEMA}: {error}") from error


def parse_manifest(tree: Mapping[str, Any]) -> Manifest:
    """JSON's tree → Manifest. Raises KeyError, TypeError or ValueError where it is none."""
    if tree["schema"] != SCHEMA:
        raise ValueError(f"schema {tree['schema']}")
    return Manifest(
        **{
            **tree,
            "kernels": {key: _parse_kernel(value) for key, value in tree["kernels"].items()},
            "variants": tuple(_parse_variant(value) for value in tree["variants"]),
            "absent": tuple(AbsentEntry(**value) for value in tree["absent"]),
        }
    )


def _parse_kernel(tree: Mapping[str, Any]) -> KernelEntry:
    return KernelEntry(**{**tree, "args": tuple(ArgumentEntry(**arg) for arg in tree["args"])})


def _parse_variant(tree: Mapping[str, Any]) -> VariantEntry:
    launches = tuple(LaunchEntry(kernel=item["kernel"], grid=tuple(item["grid"])) for item in tree["launches"])
    workspaces = tuple(WorkspaceEntry(**item) for item in tree["workspaces"])
    requires = tuple(RequirementEntry(**item) for item in tree["requires"])
    return VariantEntry(**{**tree, "launches": launches, "workspaces": workspaces, "requires": requires})
