"""An MX element format → the specs of quant_NAME and dequant_NAME."""

from __future__ import annotations

from rockiln_kernels.shared_spec import BLOCKS_OF_32, FLOATS, MX_SOURCE
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec

_X = ArraySpec(name="x", dims=("M", "N"), dtype="T", layout="rows", folds_leading=True)
_Y = ArraySpec(name="y", dims=("M", "G * 32"), dtype="T", folds_leading=True)
_NOT_EMPTY = Constraint(formula="G >= 1", reason="q_scale has no columns")


def make_mx_specs(name: str, formats: tuple[str, ...], bytes_of_block: int, packing: str) -> tuple[OpSpec, ...]:
    """quant_NAME and dequant_NAME; `bytes_of_block` is what 32 elements take. One format makes no dtype axis."""
    axes = (FLOATS, ("E", formats)) if len(formats) > 1 else (FLOATS,)
    dtype = "E" if bytes_of_block == 32 else "u8"
    width = f"N * {bytes_of_block} // 32"
    q_out = ArraySpec(name="q", dims=("M", width), dtype=dtype, folds_leading=True)
    scale_out = ArraySpec(name="q_scale", dims=("M", "N // 32"), dtype="u8", folds_leading=True)
    q_in = ArraySpec(name="q", dims=("M", f"G * {bytes_of_block}"), dtype=dtype, folds_leading=True)
    scale_in = ArraySpec(name="q_scale", dims=("M", "G"), dtype="u8", folds_leading=True)
    what = f"{' or '.join(formats)}, {packing}, with one E8M0 scale for 32 values of a row"
    return (
        OpSpec(
            name=f"quant_{name}",
            summary=f"x in {what}; q to nearest even, saturated. A block with NaN or infinity has the scale NaN.",
            dtype_axes=axes,
            inputs=(_X,),
            outputs=(q_out, scale_out),
            constraints=(BLOCKS_OF_32,),
            is_mx=True,
            source=MX_SOURCE,
        ),
        OpSpec(
            name=f"dequant_{name}",
            summary=f"y = q * 2^(q_scale - 127) of q in {what}.",
            dtype_axes=axes,
            inputs=(q_in, scale_in),
            outputs=(_Y,),
            constraints=(_NOT_EMPTY,),
            is_mx=True,
            source=MX_SOURCE,
        ),
    )
