"""What variants of split-KV attention share: kernel, merging launch, the cache's type → launches and workspaces."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.expressions import next_power_of_two
from rockiln_kernels.fp8 import fp8_pointer_dtype, is_software
from rockiln_kernels.tile_table import Tile
from rockiln_kernels.variant import Argument, Constant, Kernel, Launch, Workspace, integer, pointer


def make_attention_kernel(
    source: str, args: tuple[Argument, ...], tile: Tile, constants: tuple[tuple[str, Constant], ...]
) -> Kernel:
    """ops/SOURCE.py's function of the same name."""
    return Kernel(
        source=source,
        function=source,
        args=args,
        constants=(*constants, *tile.sizes.items()),
        warps=tile.warps,
        stages=tile.stages,
        waves_per_eu=tile.waves_per_eu,
        matrix_instr_nonkdim=tile.matrix_instr_nonkdim,
        kernel_class="attention",
        matrix="matrix",
    )


def make_merge(dtype: str, rows: str, heads: str, width: int, *, has_sinks: bool) -> Launch:
    """Add the splits up: one program a row. Without sinks their pointer is another array's, which nobody reads."""
    kernel = Kernel(
        source="split_kv",
        function="merge_splits",
        args=(
            pointer("parts", "f32"),
            pointer("logs", "f32"),
            pointer("sinks", "f32", "sinks" if has_sinks else "logs", divisible_by=4),
            pointer("out", dtype),
            pointer("lse", "f32"),
            integer("splits"),
            integer("heads", heads),
            integer("has_sinks", "has_sinks" if has_sinks else "0"),
        ),
        constants=(("WIDTH", width), ("BLOCK", next_power_of_two(width))),
        warps=2,
        kernel_class="reduction",
    )
    return Launch(kernel=kernel, grid=(rows, "1", "1"))


def make_workspaces(rows: str, width: int) -> tuple[Workspace, ...]:
    """Each split's output and log-sum-exp."""
    return (
        Workspace(name="parts", dtype="f32", size=f"{rows} * splits * {width}"),
        Workspace(name="logs", dtype="f32", size=f"{rows} * splits"),
    )


def describe_cache(dtypes: dict[str, str], arch: Arch) -> tuple[str, str]:
    """(dtype of pointers to the cache, FORMAT as ops/widen.py takes it)."""
    if "Q" not in dtypes:
        return dtypes["T"], ""
    return fp8_pointer_dtype(dtypes["Q"], arch), "e4m3" if is_software(dtypes["Q"], arch) else ""
