"""An arch → the manifest of a pack in which every planned kernel compiled: enough to choose by, nothing to run."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.cache import make_kernel_key
from rockiln_kernels.pack.code_object import CodeFacts, KernargSlot
from rockiln_kernels.pack.compile_kernel import Compiled
from rockiln_kernels.pack.describe import describe_kernel, describe_variant
from rockiln_kernels.pack.manifest import FILE_NAME, SCHEMA, Manifest, dump_manifest
from rockiln_kernels.pack.parts import PARTS_NAME, dump_parts
from rockiln_kernels.table import make_arch_variants, make_family_variants
from rockiln_kernels.variant import Kernel

_SIZES = {"i32": 4, "i64": 8, "f32": 4}


@lru_cache(maxsize=128)
def plan_manifest(arch_name: str, family: str = "") -> Manifest:
    """Every variant of every op, or of those of one family."""
    arch = ARCHS[arch_name]
    variants = make_family_variants(family, arch) if family else make_arch_variants(arch)
    kernels = {make_kernel_key(item.kernel): item.kernel for variant in variants for item in variant.launches}
    return Manifest(
        schema=SCHEMA,
        arch=arch.name,
        wave_lanes=arch.wave_lanes,
        triton="planned",
        lld="planned",
        kernels={key: describe_kernel(key, kernel, _invent(kernel), arch) for key, kernel in kernels.items()},
        variants=tuple(
            describe_variant(variant, [make_kernel_key(item.kernel) for item in variant.launches])
            for variant in variants
        ),
        absent=(),
    )


def write_planned(folder: Path, arch_name: str) -> None:
    """The pack of all ops as a selection reads it: manifest and parts, without code."""
    manifest = plan_manifest(arch_name)
    (folder / FILE_NAME).write_text(dump_manifest(manifest), encoding="utf-8")
    (folder / PARTS_NAME).write_text(dump_parts(manifest), encoding="utf-8")


def _invent(kernel: Kernel) -> Compiled:
    """No code, and arguments that lie as the compiler lays them."""
    slots, offset = [], 0
    for arg in kernel.args:
        size = _SIZES.get(arg.type, 8)
        offset = -(-offset // size) * size
        slots.append(KernargSlot(offset=offset, size_bytes=size, value_kind="by_value"))
        offset += size
    facts = CodeFacts(
        symbol=kernel.function, kernarg_bytes=offset, slots=tuple(slots), vgprs=1, agprs=0, sgprs=1, vgpr_spills=0,
        sgpr_spills=0, scratch_bytes=0, occupancy=8, matrix_instructions={},
    )  # fmt: skip
    return Compiled(code=b"", facts=facts, shared_bytes=0)
