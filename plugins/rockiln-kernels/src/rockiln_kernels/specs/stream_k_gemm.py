"""stream_k_gemm → SPECS."""

from __future__ import annotations

from rockiln_kernels.shared_spec import FLOATS
from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

SPECS = (
    OpSpec(
        name="stream_k_gemm",
        summary="out = a b^T by a fixed number of programs that share all steps of all tiles evenly; tiles that "
        "several programs made are added up by a second kernel, in their order. Sums in f32; deterministic for a "
        "given number of programs. gfx90a takes f16 subnormals as 0.",
        dtype_axes=(FLOATS,),
        inputs=(
            ArraySpec(name="a", dims=("M", "K"), dtype="T", layout="rows", folds_leading=True),
            ArraySpec(name="b", dims=("N", "K"), dtype="T", layout="rows"),
        ),
        outputs=(ArraySpec(name="out", dims=("M", "N"), dtype="T", folds_leading=True),),
        scalars=(ScalarSpec(name="programs", kind="i32", default=304),),
        constraints=(
            Constraint(formula="K >= 1", reason="K is 0: there is nothing to multiply"),
            Constraint(formula="programs >= 1", reason="programs is not positive"),
        ),
        source="Osama et al., Stream-K, https://arxiv.org/abs/2301.03598",
    ),
)
