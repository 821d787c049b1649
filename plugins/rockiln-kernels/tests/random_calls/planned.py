"""An arch → the manifest of a pack in which every planned kernel compiled: enough to choose by, nothing to run."""

from __future__ import annotations

from functools import lru_cache

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.cache import make_kernel_key
from rockiln_kernels.pack.describe import describe_variant
from rockiln_kernels.pack.manifest import SCHEMA, ArgumentEntry, KernelEntry, Manifest
from rockiln_kernels.table import make_arch_variants
from rockiln_kernels.variant import Kernel

_SIZES = {"i32": 4, "i64": 8, "f32": 4}


@lru_cache(maxsize=8)
def plan_manifest(arch_name: str) -> Manifest:
    """Every variant of every op."""
    arch = ARCHS[arch_name]
    variants = make_arch_variants(arch)
    kernels = {make_kernel_key(item.kernel): item.kernel for variant in variants for item in variant.launches}
    return Manifest(
        schema=SCHEMA,
        arch=arch.name,
        wave_lanes=arch.wave_lanes,
        triton="planned",
        lld="planned",
        kernels={key: _plan_kernel(key, kernel, arch.wave_lanes) for key, kernel in kernels.items()},
        variants=tuple(
            describe_variant(variant, [make_kernel_key(item.kernel) for item in variant.launches])
            for variant in variants
        ),
        absent=(),
    )


def _plan_kernel(key: str, kernel: Kernel, lanes: int) -> KernelEntry:
    args, offset = [], 0
    for arg in kernel.args:
        size = _SIZES.get(arg.type, 8)
        offset = -(-offset // size) * size
        kind, dtype = ("pointer", arg.type[1:]) if arg.type[0] == "*" else (arg.type, arg.type)
        args.append(
            ArgumentEntry(
                name=arg.name,
                kind=kind,
                dtype=dtype,
                value=arg.value,
                offset=offset,
                size_bytes=size,
                divisible_by=arg.divisible_by,
            )
        )
        offset += size
    return KernelEntry(
        source=kernel.source,
        symbol=kernel.function,
        file=f"{key}.hsaco",
        sha256="0" * 64,
        size_bytes=1,
        threads=kernel.warps * lanes,
        shared_bytes=0,
        kernarg_bytes=offset,
        args=tuple(args),
        constants=dict(kernel.constants),
        warps=kernel.warps,
        stages=kernel.stages,
        vgprs=0,
        agprs=0,
        sgprs=0,
        vgpr_spills=0,
        sgpr_spills=0,
        scratch_bytes=0,
        occupancy=1,
        matrix_instructions={},
    )
