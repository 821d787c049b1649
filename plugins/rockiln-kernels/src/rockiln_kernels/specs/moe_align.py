"""moe_align → SPECS: slots of tokens sorted by expert, for grouped products."""

from __future__ import annotations

from rockiln_kernels.spec import ArraySpec, Constraint, OpSpec, ScalarSpec

CAPACITY = "cdiv(M * top + min(experts, M * top) * (block_size - 1), block_size)"
"""Formula: blocks that any choice of experts fits into."""

SPECS = (
    OpSpec(
        name="moe_align",
        summary="A slot is token * top + choice. sorted_slots = the slots by expert, in their own order within one, "
        "each expert padded to whole blocks with M * top; block_experts = the expert of each block, -1 behind the "
        "last; total = slots with padding. An id that is no expert's is left out. Deterministic.",
        dtype_axes=(("I", ("i32",)),),
        inputs=(ArraySpec(name="ids", dims=("M", "top"), dtype="I", folds_leading=True),),
        outputs=(
            ArraySpec(name="sorted_slots", dims=(f"{CAPACITY} * block_size",), dtype="I"),
            ArraySpec(name="block_experts", dims=(CAPACITY,), dtype="I"),
            ArraySpec(name="total", dims=("1",), dtype="I"),
        ),
        scalars=(ScalarSpec(name="experts", kind="i32"), ScalarSpec(name="block_size", kind="i32")),
        constraints=(
            Constraint(formula="experts >= 1 and experts <= 1024", reason="experts is not within 1 and 1024"),
            Constraint(formula="block_size >= 1", reason="block_size is not positive"),
            Constraint(formula="M * top < 2147483648", reason="there are more than 2^31 slots"),
        ),
    ),
)
