"""results/*.json of compare_cpu → docs/torch-cpu.md. `python -m bench.page`, from tests/."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WANTED = 0.97
RESULTS = Path(__file__).with_name("results")
PAGE = Path(__file__).parents[4] / "docs" / "torch-cpu.md"
HEAD = """# Ops on a CPU

On a CPU, as on a GPU, f32 inside and one rounding: what passes the golden files. Who runs a call, `explain` and
`profile` say: `cpu.OP.LEVEL` is a kernel of rockiln's, `framework.OP` a composition of torch's own ops.

- Kernels in C++, in f32, f16 and bf16: rms_norm, add_rms_norm, silu_and_mul, gelu_and_mul, gelu_tanh_and_mul,
  swiglu_and_mul, rope, quant_fp8_token, _group, _tensor and _static, topk_softmax, topk_sigmoid.
- gemm with all its epilogues, stream_k_gemm: a product by torch's stable ABI, oneDNN's or its BLAS's, with our own
  epilogue in f32. In bf16 our own product: by AMX for all; by AVX512_BF16 for gemm_swiglu, and for all up to 64 rows.
- All else, f64, and calls that are none of the op: compositions (`rockiln_torch.framework`).

The kernels are compiled for plain x86-64 (or whatever the platform's plain instructions are), AVX2 and AVX512, from one
source, and chosen when first called, as are those for AVX512_BF16 and AMX; the wheel is made without `-march`. They are
called by torch's dispatcher, without Python, and work in torch's threads. Rows that are not contiguous are copied
first, so that a layout changes no bit.
Products ask oneDNN whatever `torch.backends.mkldnn.enabled` says; AVX512_BF16 and AMX take subnormal bf16 for 0, for
oneDNN, too; gates below f32's normal numbers are 0, since Intel's CPUs take a hundred cycles for each subnormal one.
What they guard: NaN, infinities and signs of zeros as the compositions have them, and gates that keep their relative
error where 1 + erf and 1 + tanh have nothing left.

Compositions, in short:

- Products in bf16 and f16: oneDNN's where it multiplies that type on this CPU, as torch itself asks; else in f32, a
  block of weights at a time, since torch's other path is some fifty times slower.
- Products in f32: oneDNN's, which on the AMD CPU below takes half the time of MKL, which torch's linear calls. On
  Intel's CPUs MKL's up to 4 rows, from 256 rows on, and of matrices of less than 2 million numbers, where it is faster.
- Attention: torch's flash attention in f32. In bf16 with AMX a kernel of ours, since the log-sum-exp of torch's own in
  bf16 is 6e-5 off, twice what the golden files allow; without AMX that is no faster than f32. A sink and rows that see
  nothing are made right from the log-sum-exp. Heads of two widths, NaN, one query, and other devices: two products, for
  a block of queries at a time.
- fused_moe: some experts at a time, by the ops above; added up in f32, as the op says, eager code in the type of x.
- Rows in bf16 and f16 are computed in f32 a block at a time, which stays in the cache.

## Measured

`ratio` is eager / op, above 1 where `torch.ops.rockiln` is the faster one, dispatch included: the median of pairs of
neighbours in one process, in CPU time of one thread, by `python -m bench.compare_cpu` in plugins/rockiln-torch/tests.
"Eager" is what people write today (`bench/eager.py`), which rounds every step to bf16. The aim is 0.97; what misses it
is marked *. What misses it in the first pairs is measured again, with ten times as many, which count. The machines
were shared by other work.

{summary}
{notes}"""
NOTES = """
The AMD table is from before gates kept clear of subnormal numbers, fused_moe gathered the tokens of some experts at
once, and missed calls were measured again; that CPU was not at hand since. On the Intel CPU, whose two cores had a load
of 15 to 25, runs of 15 pairs missed 1 to 3 calls, other ones each time, where the op is no slower by more pairs.
Attention of 8 heads in f32 is the nearest to the aim: what the op adds to torch's flash attention, which takes 6 ms, is
0.2 ms of Python, lengths and a look for NaN.

With `--threads 2` on the AMD CPU (by the clock, on two cores that others kept busy: a hint only) gates, norms and
quantisation stay above 1, and products of 16 rows and more from 1.0 to 2.4. Below, and open: f32 products of one row,
0.5 to 0.9, where oneDNN's do not gain from a second thread as MKL's do; attention of 16 heads, 0.8 to 0.9, which is
torch's own call. On the Intel CPU two threads were not measured with these kernels. `--least` compares the shortest
calls instead, which is of use where threads wait for a core.
"""
TABLE = """
### {cpu}

torch {torch}, {rounds} pairs. {count} of {all} are at 0.97 or better.

| op | shape | f32 eager ms | op ms | ratio | bf16 eager ms | op ms | ratio |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def write_page(results: list[Mapping[str, Any]]) -> str:
    """The whole page: a table for each CPU."""
    lines = [f"- {own['cpu']}: {_count(own)} of {len(own['rows'])}" for own in results]
    return HEAD.format(summary="\n".join(lines), notes=NOTES) + "".join(_write_table(own) for own in results)


def _count(result: Mapping[str, Any]) -> int:
    return sum(row["ratio"] >= WANTED for row in result["rows"])


def _write_table(result: Mapping[str, Any]) -> str:
    rows = result["rows"]
    text = TABLE.format(**result, count=_count(result), all=len(rows))
    other = {(row["op"], row["shape"]): row for row in rows if row["dtype"] == "bf16"}
    for row in rows:
        if row["dtype"] == "f32":
            cells = _write_cells(row), _write_cells(other[row["op"], row["shape"]])
            text += f"| {row['op']} | {row['shape']} | {' | '.join(cells)} |\n"
    return text


def _write_cells(row: Mapping[str, Any]) -> str:
    return f"{row['eager_ms']:.3f} | {row['op_ms']:.3f} | {row['ratio']:.2f}{'' if row['ratio'] >= WANTED else ' *'}"


def main() -> None:
    """Write the page."""
    PAGE.write_text(write_page([json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]))


if __name__ == "__main__":
    main()
