"""The op table, its references and the tests' cases → golden/OP.safetensors, the same bytes on any machine.

`python -m harness.golden` (from tests/) writes all of them; docs/golden.md is the format.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Case
from harness.compare import find_element_format
from harness.judge import compute_reference, make_cases
from harness.tolerance import allow_error
from rockiln_kernels.golden import FLOATS
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table

FOLDER = Path(__file__).parents[2] / "golden"
SMALL_BYTES = 600
"""Cases whose inputs are not larger are there in every cell."""
BUDGET_BYTES = 11_000
"""Of inputs of an op, small cases not counted; but its three smallest kinds of cases are always there."""
HUGE_BYTES = 55_000
SAFETENSORS = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "U16", "uint8": "U8"}
"""NumPy's dtype → safetensors' word; bf16 and fp8 are stored as U16 and U8, the index says which they are."""
WHOLE = ("attention_prefill", "fused_moe", "paged_decode")
"""Ops whose large cases say what small ones do not: five kinds."""


def choose_cases(spec: OpSpec) -> tuple[tuple[str, Case], ...]:
    """(cell, case): the smallest case of each kind in one cell in turn; small ones in all."""
    with np.errstate(all="ignore"):
        by_cell = {cell: _find_smallest(make_cases(spec.name, cell)) for cell in spec.cells}
    kinds = sorted({kind for cases in by_cell.values() for kind in cases})
    sizes = {kind: max(_count_bytes(cases[kind]) for cases in by_cell.values()) for kind in kinds}
    kinds = sorted((kind for kind in kinds if sizes[kind] < HUGE_BYTES), key=lambda kind: (sizes[kind], kind))
    chosen, spent = [], 0
    for place, kind in enumerate(kinds):
        everywhere = sizes[kind] <= SMALL_BYTES
        spent += 0 if everywhere else sizes[kind]
        if place >= (5 if spec.name in WHOLE else 3) and spent > BUDGET_BYTES:
            break
        cells = spec.cells if everywhere else (spec.cells[place % len(spec.cells)],)
        chosen += [(cell, by_cell[cell][kind]) for cell in cells]
    missing = [cell for cell in spec.cells if cell not in {cell for cell, _ in chosen}]
    chosen += [(cell, by_cell[cell][kinds[0]]) for cell in missing]
    return tuple(sorted(chosen, key=lambda pair: (spec.cells.index(pair[0]), pair[1].name)))


def _find_smallest(cases: list[Case]) -> Mapping[str, Case]:
    """Kind (the name without its size) → its smallest case."""
    found: dict[str, Case] = {}
    for case in sorted(cases, key=_count_bytes):
        found.setdefault(re.sub(r"(-d)?\d+", "", case.name), case)
    return found


def _count_bytes(case: Case) -> int:
    return sum(array.nbytes for array in case.arrays.values())


def write_golden(spec: OpSpec) -> bytes:
    """The file of one op."""
    arrays: dict[str, Array] = {}
    entries = [_describe_case(spec, cell, case, arrays) for cell, case in choose_cases(spec)]
    index = json.dumps({"op": spec.name, "cases": entries}, sort_keys=True, separators=(",", ":"))
    return _write_safetensors(index, arrays)


def _describe_case(spec: OpSpec, cell: str, case: Case, arrays: dict[str, Array]) -> dict[str, Any]:
    prefix = f"{cell}/{case.name}"
    dtypes = spec.cell_dtypes(cell)
    own = {array.name: dtypes.get(array.dtype, array.dtype) for array in spec.arrays}
    for name, array in sorted(case.arrays.items()):
        arrays[f"{prefix}/in/{name}"] = _as_bits(array)
    want = compute_reference(spec, cell, case)
    outputs = {}
    for output in spec.outputs:
        value = np.asarray(want[output.name])
        outputs[output.name] = {"dtype": own[output.name], **_describe_codes(spec, output.name, dtypes, own, case)}
        if own[output.name] in FLOATS:
            values, allowed = _round_expected(value, own[output.name], case, output.name)
            arrays[f"{prefix}/out/{output.name}"], arrays[f"{prefix}/tol/{output.name}"] = values, allowed
        else:
            arrays[f"{prefix}/out/{output.name}"] = _as_bits(value)
    return {
        "cell": cell,
        "name": case.name,
        "scalars": dict(case.scalars),
        "dtypes": dtypes,
        "inputs": {name: own[name] for name in sorted(case.arrays)},
        "outputs": outputs,
    }


def _describe_codes(
    spec: OpSpec, name: str, dtypes: Mapping[str, str], own: Mapping[str, str], case: Case
) -> dict[str, Any]:
    if own[name] in FLOATS or name.endswith("scale") or case.match != "codes":
        return {}
    form = find_element_format(spec, dtypes, own[name])
    return {"codes-may-differ": True, **({"packed": form} if form == "e2m1" else {})} if form else {}


def _round_expected(value: Array, dtype: str, case: Case, name: str) -> tuple[Array, Array]:
    """Values in f32, and the tolerance rule's error for them with f32's rounding, rounded up to bf16.

    f64 bits differ by a last step between processors; f32 ones do not.
    """
    exact = case.match == "bytes" and name == "q_scale"
    terms, magnitude = (0, np.zeros(1)) if exact else (case.terms, case.magnitudes.get(name))
    with np.errstate(all="ignore"):
        values = value.astype(np.float32)
        allowed = np.broadcast_to(allow_error(value, dtype, terms, magnitude), value.shape)
        allowed = np.abs(values.astype(np.float64) - value) + allowed
        values = np.where(np.isinf(values) & np.isfinite(value), np.copysign(np.finfo(np.float32).max, value), values)
    allowed = np.where(np.isfinite(value), np.nan_to_num(allowed, nan=0.0, posinf=np.inf), 0.0)
    narrow = (allowed * (1.0 + 2.0**-7)).astype(np.float32).view(np.uint32) >> 16
    return np.where(np.isnan(values), np.float32(np.nan), values).astype(np.float32), narrow.astype(np.uint16)


def _as_bits(array: Array) -> Array:
    """Contiguous; dtypes that NumPy lacks as unsigned numbers of their width."""
    flat = np.ascontiguousarray(array)
    return flat if flat.dtype.kind in "fiu" and flat.dtype.isbuiltin == 1 else flat.view(f"u{flat.itemsize}")


def _write_safetensors(index: str, arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a .safetensors file, which depend on the arrays alone; wide elements first, so that all are aligned.

    https://github.com/huggingface/safetensors, README, "Format".
    """
    header: dict[str, Any] = {"__metadata__": {"index": index}}
    blobs: list[bytes] = []
    start = 0
    for name, array in sorted(arrays.items(), key=lambda pair: (-pair[1].itemsize, pair[0])):
        blobs.append(array.tobytes())
        dtype = SAFETENSORS[array.dtype.name]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": (start, start := start + array.nbytes)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(blobs)


def write_all(folder: Path) -> Iterator[tuple[str, int]]:
    """Writes every op's file; yields its name and size in bytes."""
    for name, spec in read_table().items():
        content = write_golden(spec)
        (folder / f"{name}.safetensors").write_bytes(content)
        yield name, len(content)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    sizes = dict(write_all(target))
    sys.stderr.write(f"{len(sizes)} files, {sum(sizes.values()) / 1e6:.2f} MB in {target}\n")
