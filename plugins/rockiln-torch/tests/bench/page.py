"""Rows of compare_cpu → docs/torch-cpu.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

WANTED = 0.97
HEAD = """# Ops on a CPU

On a CPU, as on a GPU, f32 inside and one rounding: what passes the golden files. Who runs a call, `explain` and
`profile` say: `cpu.OP.LEVEL` is a kernel of rockiln's, `framework.OP` a composition of torch's own ops.

- Kernels in C++, in f32, f16 and bf16: rms_norm, add_rms_norm, silu_and_mul, gelu_and_mul, gelu_tanh_and_mul,
  swiglu_and_mul, rope, quant_fp8_token, _group, _tensor and _static, topk_softmax, topk_sigmoid.
- gemm with all its epilogues, stream_k_gemm: oneDNN's product by torch's stable ABI, with our own epilogue in f32. In
  bf16 our own product for gemm_swiglu, and for all up to 64 rows, where the CPU has AVX512_BF16 and no AMX.
- All else, f64, and calls that are none of the op: compositions (`rockiln_torch.framework`).

The kernels are compiled for plain x86-64 (or whatever the platform's plain instructions are), AVX2 and AVX512, from one
source, and chosen when first called; the wheel is made without `-march`. They are called by torch's dispatcher, without
Python, and work in torch's threads. Rows that are not contiguous are copied first, so that a layout changes no bit.
Products ask oneDNN whatever `torch.backends.mkldnn.enabled` says; AVX512_BF16 takes subnormal bf16 for 0, for oneDNN,
too.
What they guard: NaN, infinities and signs of zeros as the compositions have them, and gates that keep their relative
error where 1 + erf and 1 + tanh have nothing left.

Compositions, in short:

- Products in bf16 and f16: oneDNN's where it multiplies that type on this CPU, as torch itself asks; else in f32, a
  block of weights at a time, since torch's other path is some fifty times slower. f32 by oneDNN, too: on the AMD CPU
  below it takes half the time of MKL, which torch's linear calls.
- Attention: torch's flash attention in f32, of bf16 too (its log-sum-exp of bf16 is 6e-5 off, and it is no faster); a
  sink and rows that see nothing are made right from the log-sum-exp. Heads of two widths, NaN, one query, and other
  devices: two products, for a block of queries at a time.
- fused_moe: an expert at a time, by the ops above; added up in f32, as the op says, eager code in the type of x.
- Rows in bf16 and f16 are computed in f32 a block at a time, which stays in the cache.

## Measured

{where}
`ratio` is eager / op, above 1 where `torch.ops.rockiln` is the faster one, dispatch included: the median of {rounds}
pairs of neighbours in one process, in CPU time of one thread, by `python -m bench.compare_cpu --rounds {rounds}` in
plugins/rockiln-torch/tests. "Eager" is what people write today (`bench/eager.py`), which rounds every step to bf16. The
machine, an AMD EPYC with AVX512_BF16, was shared by other work. Without that instruction, or with AMX, gemm_swiglu in
bf16 takes two of oneDNN's products, which here ran at half of eager's speed.

{count} of {all} are at 0.97 or better; the aim is all. The others are marked *.

**On an Intel Xeon with AMX the aim is missed**: 87 of the 112 (7 rounds, under a load of 20 on two cores). Open are f32
products, where oneDNN has 0.88 to 0.96 of the speed of MKL, which it beats on the AMD CPU (gemm_gelu of 512 rows 0.75;
those of 16 rows are faster); some bf16 products, gemm_gelu 0.77 and gemm_swiglu 0.47 to 0.55 the slowest; attention in
bf16, 0.40, since torch's own then multiplies by AMX and ours in f32; fused_moe, 0.64 and 0.94 in f32, 0.71 and 0.75 in
bf16. All norms, gates, rope, quantisation, decoding and routing are above 1 there, too.

With `--threads 2` on the AMD CPU (by the clock, on two cores that others kept busy: a hint only) gates, norms and
quantisation stay above 1, and products of 16 rows and more from 1.0 to 2.4. Below, and open: f32 products of one row,
0.5 to 0.9, where oneDNN's do not gain from a second thread as MKL's do; attention of 16 heads, 0.8 to 0.9, which is
torch's own call. On the Intel CPU 97 of 112 (medians of 15 pairs under that load, a hint, too): gemm_swiglu in bf16 0.3
to 0.7, attention in bf16 0.1 to 0.5, fused_moe 0.3 to 0.9, f32 products of one row and bf16 ones of 512 0.5 to 0.9.
`--least` compares the shortest calls instead, which is of use where threads wait for a core.

| op | shape | f32 eager ms | op ms | ratio | bf16 eager ms | op ms | ratio |
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
    def op_ms(self) -> float: ...
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
    return f"{row.eager_ms:.3f} | {row.op_ms:.3f} | {row.ratio:.2f}{'' if row.ratio >= WANTED else ' *'}"
