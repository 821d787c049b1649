"""A variant, or a kernel and what was compiled of it → its entry in the manifest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.code_object import CodeFacts
from rockiln_kernels.pack.compile_kernel import Compiled
from rockiln_kernels.pack.lint import count_waves
from rockiln_kernels.pack.manifest import (
    ArgumentEntry,
    KernelEntry,
    LaunchEntry,
    RequirementEntry,
    VariantEntry,
    WorkspaceEntry,
)
from rockiln_kernels.variant import Argument, Kernel, Variant

_SIZES = {"i32": 4, "i64": 8, "f32": 4}


def describe_variant(variant: Variant, kernel_keys: Sequence[str]) -> VariantEntry:
    """The entry of a variant whose launches use `kernel_keys`."""
    pairs = zip(kernel_keys, variant.launches, strict=True)
    return VariantEntry(
        op=variant.op,
        cell=variant.cell,
        name=variant.name,
        launches=tuple(LaunchEntry(kernel=key, grid=launch.grid) for key, launch in pairs),
        workspaces=tuple(
            WorkspaceEntry(name=space.name, dtype=space.dtype, size=space.size) for space in variant.workspaces
        ),
        requires=tuple(RequirementEntry(formula=rule.formula, reason=rule.reason) for rule in variant.requires),
        decoded=variant.decoded,
        rank=variant.rank,
    )


def describe_kernel(key: str, kernel: Kernel, compiled: Compiled, arch: Arch) -> KernelEntry:
    """The entry of a compiled kernel. Raises ValueError if the code object's kernarg layout is not the one planned."""
    facts = compiled.facts
    return KernelEntry(
        source=kernel.source,
        symbol=facts.symbol,
        file=f"{key}.{'cubin' if arch.backend == 'cuda' else 'hsaco'}",
        sha256=hashlib.sha256(compiled.code).hexdigest(),
        size_bytes=len(compiled.code),
        threads=kernel.warps * arch.wave_lanes,
        shared_bytes=compiled.shared_bytes,
        kernarg_bytes=facts.kernarg_bytes,
        args=_describe_arguments(kernel, facts),
        constants=dict(kernel.constants),
        warps=kernel.warps,
        stages=kernel.stages,
        vgprs=facts.vgprs,
        agprs=facts.agprs,
        sgprs=facts.sgprs,
        vgpr_spills=facts.vgpr_spills,
        sgpr_spills=facts.sgpr_spills,
        scratch_bytes=facts.scratch_bytes,
        occupancy=count_waves(kernel, facts, arch, compiled.shared_bytes),
        matrix_instructions=facts.matrix_instructions,
    )


def _describe_arguments(kernel: Kernel, facts: CodeFacts) -> tuple[ArgumentEntry, ...]:
    entries = []
    for number, slot in enumerate(facts.slots):
        arg = kernel.args[number] if number < len(kernel.args) else _RESERVED
        expected = _SIZES.get(arg.type, 8)
        if slot.size_bytes != expected or (arg is _RESERVED and slot.value_kind != "global_buffer"):
            raise ValueError(f"{kernel.function}: argument {number} is {slot}, expected {arg.type} of {expected} bytes")
        kind = "null" if arg is _RESERVED else "pointer" if arg.type[0] == "*" else arg.type
        entries.append(
            ArgumentEntry(
                name=arg.name,
                kind=kind,
                dtype=arg.type.removeprefix("*"),
                value=arg.value,
                offset=slot.offset,
                size_bytes=slot.size_bytes,
                divisible_by=arg.divisible_by,
            )
        )
    if len(facts.slots) < len(kernel.args):
        raise ValueError(f"{kernel.function}: {len(facts.slots)} arguments in the code, {len(kernel.args)} planned")
    return tuple(entries)


_RESERVED = Argument(name="reserved", type="*u8", value="0")
"""Triton 3.4 ends a kernel's arguments with the address of a scratch area that these kernels do not use."""
