"""quant_fp8's family + arch → variants."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln_kernels.archs import Arch
from rockiln_kernels.fp8 import fp8_constants, fp8_output_dtype
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table
from rockiln_kernels.tile_table import read_tiles
from rockiln_kernels.variant import Kernel, Launch, Variant, Workspace, integer, pointer
from rockiln_kernels.variants.rows import RowShape, block_shapes, row_shapes
from rockiln_kernels.wanted_table import fits_arch

_PROGRAMS = 256
"""Partial results of quant_fp8_tensor at most; a power of two, as the second kernel reads them at once."""


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    makers = {
        "quant_fp8_token": _make_token,
        "quant_fp8_tensor": _make_tensor,
        "quant_fp8_group": _make_blocks,
        "quant_fp8_static": _make_blocks,
        "quant_fp8_block": _make_square,
    }
    specs = [(read_table()[op], make) for op, make in makers.items()]
    cells = [(spec, cell, make) for spec, make in specs for cell in spec.cells if fits_arch(spec, cell, arch)]
    return tuple(variant for spec, cell, make in cells for variant in make(spec, cell, arch))


def _make_token(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    dtypes = spec.cell_dtypes(cell)
    for shape in row_shapes("quant_fp8", arch):
        kernel = shape.kernel(
            source="quant_fp8",
            function=f"quant_fp8_token_{shape.pass_name}",
            args=(
                shape.pointer("x", dtypes["T"]),
                shape.pointer("q", fp8_output_dtype(dtypes["Q"], arch)),
                shape.pointer("q_scale", "f32"),
                shape.integer("x_stride"),
                shape.integer("N"),
            ),
            constants=fp8_constants(dtypes["Q"], arch),
        )
        launch = Launch(kernel=kernel, grid=("M", "1", "1"))
        yield Variant(op=spec.name, cell=cell, name=shape.name, launches=(launch,), requires=shape.requires)


def _make_tensor(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    dtypes = spec.cell_dtypes(cell)
    programs = f"min(M, {_PROGRAMS})"
    for shape in block_shapes("quant_fp8", arch):
        x, stride, length = shape.pointer("x", dtypes["T"]), shape.integer("x_stride"), shape.integer("N")
        partial, count = pointer("partial", "f32"), integer("P", programs)
        largest = shape.kernel(
            source="quant_fp8", function="find_largest", args=(x, partial, stride, integer("M"), length, count)
        )
        outputs = (shape.pointer("q", fp8_output_dtype(dtypes["Q"], arch)), shape.pointer("q_scale", "f32"))
        quant = shape.kernel(
            source="quant_fp8",
            function="quant_fp8_tensor",
            args=(x, partial, *outputs, stride, length, count),
            constants=(*fp8_constants(dtypes["Q"], arch), ("PROGRAMS", _PROGRAMS)),
            kernel_class="pointwise",
        )
        yield Variant(
            op=spec.name,
            cell=cell,
            name=shape.name,
            launches=(
                Launch(kernel=largest, grid=(programs, "1", "1")),
                Launch(kernel=quant, grid=("M", "cdiv(N, BLOCK)", "1")),
            ),
            workspaces=(Workspace(name="partial", dtype="f32", size=programs),),
        )


def _make_blocks(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    for shape in block_shapes("quant_fp8", arch):
        launch = Launch(kernel=_make_block_kernel(spec, cell, arch, shape), grid=("M", "cdiv(N, BLOCK)", "1"))
        yield Variant(op=spec.name, cell=cell, name=shape.name, launches=(launch,))


def _make_block_kernel(spec: OpSpec, cell: str, arch: Arch, shape: RowShape) -> Kernel:
    dtypes = spec.cell_dtypes(cell)
    q = shape.pointer("q", fp8_output_dtype(dtypes["Q"], arch))
    scale = "scale" if spec.name == "quant_fp8_static" else "q_scale"
    arrays = {array.name: shape.pointer(array.name, dtypes.get(array.dtype, array.dtype)) for array in spec.arrays}
    ordered = (arrays["x"], arrays[scale], q) if scale == "scale" else (arrays["x"], q, arrays[scale])
    return shape.kernel(
        source="quant_fp8",
        function=spec.name,
        args=(*ordered, shape.integer("x_stride"), shape.integer("N")),
        constants=fp8_constants(dtypes["Q"], arch),
        kernel_class="pointwise",
    )


def _make_square(spec: OpSpec, cell: str, arch: Arch) -> Iterator[Variant]:
    dtypes = spec.cell_dtypes(cell)
    tiles = [(tile, use) for use in ("aligned", "any") for tile in read_tiles("quant_fp8", arch, use=f"square-{use}")]
    for tile, use in tiles:
        shape = RowShape(tile=tile, is_aligned=use == "aligned", is_loop=True)
        kernel = shape.kernel(
            source="quant_fp8",
            function="quant_fp8_block",
            args=(
                shape.pointer("x", dtypes["T"]),
                shape.pointer("q", fp8_output_dtype(dtypes["Q"], arch)),
                shape.pointer("q_scale", "f32"),
                shape.integer("x_stride"),
                integer("M"),
                shape.integer("N"),
            ),
            constants=fp8_constants(dtypes["Q"], arch),
        )
        launch = Launch(kernel=kernel, grid=("cdiv(M, 128)", "cdiv(N, 128)", "1"))
        yield Variant(op=spec.name, cell=cell, name=shape.name, launches=(launch,))
