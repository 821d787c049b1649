"""Rows of compare_cpu → docs/torch-cpu.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

WANTED = 0.97
HEAD = """# Compositions on a CPU

Where no kernel serves a device, each op is a composition of torch's own ops (`rockiln_torch.framework`), which passes
the golden files: f32 inside, one rounding. This page compares them with what people write today ("eager").

- Products in bf16 and f16: torch's own where oneDNN multiplies that type on this CPU, as torch itself asks; else in
  f32, a block of weights at a time, since torch's other path is some fifty times slower. An epilogue is oneDNN's, in
  f32 before the one rounding, by torch.compile's own CPU operator.
- Attention: torch's flash attention in f32, of bf16 too (its log-sum-exp of bf16 is 6e-5 off, and it is no faster); a
  sink and rows that see nothing are made right from the log-sum-exp. Heads of two widths, NaN, one query, and other
  devices: two products, for a block of queries at a time.
- Rows in bf16 and f16 are computed in f32 a block at a time, which stays in the cache.

## Measured

{where}
`ratio` is eager / composed, above 1 where the composition is the faster one: the median of {rounds} pairs of neighbours
in one process, in CPU time of one thread, by `python -m bench.compare_cpu` in plugins/rockiln-torch/tests. The machine
was shared by other work, and asks much for fresh pages: rms_norm of 512 rows in f32 is the same call of torch in both
columns, and differs by 10 % at times.

{count} of {all} are at 0.97 or better; the aim is all. The others are marked *:

- Gates and gemm_swiglu in bf16 are computed in f32 and rounded once. Eager code rounds each step to bf16, which is
  cheaper, and misses the tolerance of the golden files.
- Choices (topk_softmax, topk_sigmoid) come in a fixed order of equals, which torch's topk does not promise.
- 16 rows: some 5 to 20 us of Python and of asking what may be done in place, against one or two calls of torch.
- gemm_gelu in bf16 is looked through for the NaN that oneDNN's gelu makes of infinity.
- fused_moe adds its experts up in f32, as the op says; eager code in the type of x.

| op | shape | f32 eager ms | composed ms | ratio | bf16 eager ms | composed ms | ratio |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


class Row(Protocol):
    """What compare_cpu measures."""

    @property
    def op(self) -> str: ...
    @property
    def shape(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def eager_ms(self) -> float: ...
    @property
    def composed_ms(self) -> float: ...
    @property
    def ratio(self) -> float: ...


def write_page(rows: Sequence[Row], where: str, rounds: int) -> str:
    """The whole page."""
    count = sum(row.ratio >= WANTED for row in rows)
    text = HEAD.format(where=where, rounds=rounds, count=count, all=len(rows))
    other = {(row.op, row.shape): row for row in rows if row.dtype == "bf16"}
    for row in rows:
        if row.dtype == "f32":
            text += f"| {row.op} | {row.shape} | {_write_cells(row)} | {_write_cells(other[row.op, row.shape])} |\n"
    return text


def _write_cells(row: Row) -> str:
    return f"{row.eager_ms:.3f} | {row.composed_ms:.3f} | {row.ratio:.2f}{'' if row.ratio >= WANTED else ' *'}"
