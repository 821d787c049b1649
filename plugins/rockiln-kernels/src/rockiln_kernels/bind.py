"""Manifest + an accepted call → Bound: the variant, its launches with numbers, and what was passed over."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rockiln_kernels.call import Accepted, Rejected
from rockiln_kernels.expressions import Value, evaluate_expression
from rockiln_kernels.pack.manifest import ArgumentEntry, KernelEntry, Manifest, VariantEntry

Alignments = Mapping[str, int]
"""Array name → a power of two that divides its address. Outputs and workspaces are fresh and count as 256."""
GRID_LIMIT = (2**31 - 1, 65535, 65535)
"""Workgroups along x, y, z that every device takes (maxGridSize of HIP's and CUDA's device properties)."""
THREAD_LIMIT = 2**32 - 1
"""Threads along x: a field of 32 bits in AMD's dispatch packet (HSA Platform System Architecture 1.2, grid_size_x)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A variant that cannot take the call."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundLaunch:
    """One launch with its numbers; `scalars` by argument name, pointers are filled in when there are addresses."""

    key: str
    """Of the kernel in the manifest."""
    kernel: KernelEntry
    grid: tuple[int, int, int]
    scalars: Mapping[str, Value]

    @property
    def is_empty(self) -> bool:
        """No workgroup: nothing is to be launched."""
        return 0 in self.grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A call that a pack can run: launches in order, workspaces by name with their dtype and size in elements."""

    variant: VariantEntry
    launches: tuple[BoundLaunch, ...]
    workspaces: Mapping[str, tuple[str, int]]
    passed_over: tuple[PassedOver, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """A variant that can take a call, its rank there, and its place in the manifest."""

    rank: Value
    place: int
    bound: Bound


def judge_variants(
    manifest: Manifest, op: str, accepted: Accepted, alignments: Alignments, barred: Mapping[str, str]
) -> tuple[tuple[Fitting, ...], tuple[PassedOver, ...]]:
    """Every variant of the call's cell: those that can take it, and the others with why not.

    `barred`: key of a variant that may not be taken → why.
    """
    fitting: list[Fitting] = []
    passed: list[PassedOver] = []
    for place, variant in enumerate(manifest.variants):
        if (variant.op, variant.cell) != (op, accepted.cell):
            continue
        bound = bind_variant(manifest, variant, accepted.names, alignments)
        if isinstance(bound, Rejected):
            passed.append(PassedOver(key=variant.key, reason=bound.reason))
        elif variant.key in barred:
            passed.append(PassedOver(key=variant.key, reason=barred[variant.key]))
        else:
            fitting.append(Fitting(rank=evaluate_expression(variant.rank, accepted.names), place=place, bound=bound))
    return tuple(fitting), tuple(passed)


def bind_call(
    manifest: Manifest, op: str, accepted: Accepted, alignments: Alignments, *, preferred: str = ""
) -> Bound | Rejected:
    """The best variant for a call: among those that can take it `preferred`, else the smallest rank, then the first."""
    fitting, passed = judge_variants(manifest, op, accepted, alignments, {})
    if not fitting:
        reasons = "; ".join(f"{item.key}: {item.reason}" for item in passed)
        return Rejected(reason=reasons or f"the pack for {manifest.arch} has no {op} for {accepted.cell}")
    return pick_best(fitting, passed, preferred=preferred)


def pick_best(fitting: Sequence[Fitting], passed: Sequence[PassedOver], *, preferred: str = "") -> Bound:
    """The variant named `preferred`, else that of the smallest rank, then the first; `fitting` may not be empty.

    What else could take the call is passed over as well, its rank being the reason.
    """
    ordered = sorted(fitting, key=lambda item: (item.bound.variant.name != preferred, item.rank, item.place))
    best = ordered[0]
    others = [PassedOver(key=item.bound.variant.key, reason=_compare(item, best)) for item in ordered[1:]]
    return replace(best.bound, passed_over=(*passed, *others))


def _compare(item: Fitting, best: Fitting) -> str:
    name = best.bound.variant.name
    if item.rank > best.rank:
        return f"its rank is {item.rank}, that of {name} is {best.rank}"
    is_behind = item.rank == best.rank and item.place > best.place
    return f"{name} comes first" if is_behind else f"the tuning table prefers {name}"


def bind_variant(
    manifest: Manifest, variant: VariantEntry, names: Mapping[str, Value], alignments: Alignments
) -> Bound | Rejected:
    """One variant bound to a call, or why it cannot take it: a requirement, a divisibility its code relies on, a grid
    that no device takes.
    """
    for rule in variant.requires:
        if not evaluate_expression(rule.formula, names):
            return Rejected(reason=rule.reason)
    launches = []
    for launch in variant.launches:
        kernel = manifest.kernels[launch.kernel]
        scalars = {arg.name: _evaluate_argument(arg, names, kernel) for arg in kernel.args if _is_scalar(arg)}
        for arg in kernel.args:
            if reason := _find_misalignment(arg, scalars, alignments) or _find_far_rows(arg, scalars, kernel):
                return Rejected(reason=reason)
        every = {**names, **{key: value for key, value in kernel.constants.items() if not isinstance(value, str)}}
        grid = tuple(int(evaluate_expression(formula, every)) for formula in launch.grid)
        if reason := _find_excess(grid, kernel.threads):
            return Rejected(reason=reason)
        shape = (grid[0], grid[1], grid[2])
        launches.append(BoundLaunch(key=launch.kernel, kernel=kernel, grid=shape, scalars=scalars))
    spaces = {space.name: (space.dtype, int(evaluate_expression(space.size, names))) for space in variant.workspaces}
    return Bound(variant=variant, launches=tuple(launches), workspaces=spaces, passed_over=())


_FORMATS = {"pointer": "<Q", "null": "<Q", "i32": "<i", "i64": "<q", "f32": "<f"}


def pack_kernarg(launch: BoundLaunch, addresses: Mapping[str, int]) -> bytes:
    """The kernarg segment; `addresses` by array or workspace name.

    Raises KeyError for an address that is missing, and struct.error for a number that its argument cannot hold.
    """
    segment = bytearray(launch.kernel.kernarg_bytes)
    for arg in launch.kernel.args:
        values: dict[str, Value] = {"null": 0}
        if arg.kind == "pointer":
            values["pointer"] = addresses[arg.value]
        value = values[arg.kind] if arg.kind in values else launch.scalars[arg.name]
        struct.pack_into(_FORMATS[arg.kind], segment, arg.offset, value)
    return bytes(segment)


def _is_scalar(arg: ArgumentEntry) -> bool:
    return arg.kind not in {"pointer", "null"}


def _find_excess(grid: Sequence[int], threads: int) -> str:
    for axis, count, limit in zip("xyz", grid, GRID_LIMIT, strict=True):
        if count > limit:
            return f"{count} workgroups along {axis}, a device takes {limit}"
    if grid[0] * threads > THREAD_LIMIT:
        return f"{grid[0]} workgroups of {threads} threads are more than 2^32 threads"
    return ""


def _find_far_rows(arg: ArgumentEntry, scalars: Mapping[str, Value], kernel: KernelEntry) -> str:
    """A kernel of tiles counts elements within a tile in 32 bits (ops/tile.py)."""
    rows = max(int(kernel.constants.get(name, 0)) for name in ("BLOCK_M", "BLOCK_N"))
    if not rows or arg.kind != "i32" or not arg.name.endswith("_stride") or scalars[arg.name] * rows < 2**31:
        return ""
    return f"{arg.value} = {scalars[arg.name]}: {rows} rows of a tile are 2^31 elements apart, or more"


def _evaluate_argument(arg: ArgumentEntry, names: Mapping[str, Value], kernel: KernelEntry) -> Value:
    every = {**names, **{key: value for key, value in kernel.constants.items() if not isinstance(value, str)}}
    value = evaluate_expression(arg.value, every)
    return float(value) if arg.kind == "f32" else int(value)


def _find_misalignment(arg: ArgumentEntry, scalars: Mapping[str, Value], alignments: Alignments) -> str:
    if arg.kind in {"null", "f32"}:
        return ""
    is_pointer = arg.kind == "pointer"
    what = f"the address of {arg.value}" if is_pointer else arg.value
    value: Value = alignments.get(arg.value, 256) if is_pointer else scalars[arg.name]
    bits = 32 if arg.kind == "i32" else 64
    if not is_pointer and not -(1 << bits - 1) <= value < 1 << bits - 1:
        return f"{what} = {value} does not fit into {bits} bits"
    return f"{what} is no multiple of {arg.divisible_by}" if value % arg.divisible_by else ""
