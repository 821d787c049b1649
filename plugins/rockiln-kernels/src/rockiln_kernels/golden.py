"""golden/OP.safetensors → GoldenCase: inputs, outputs and allowed errors that every framework's op is held against.

The format is docs/golden.md. Reading needs NumPy and ml_dtypes, and no framework.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rockiln_kernels.dtypes import DTYPES

Array = np.ndarray[Any, Any]
FLOATS = ("f32", "f16", "bf16")
FP8_NAN = {"e4m3": (0x7F, 0x7F), "e5m2": (0x7F, 0x7D), "e4m3fnuz": (0xFF, 0x80), "e5m2fnuz": (0xFF, 0x80)}
"""fp8 dtype → the bits that count (no sign of NaN in OCP's), and the least code of NaN among them."""
SAFETENSORS = {"F32": "<f4", "F16": "<f2", "I32": "<i4", "U16": "<u2", "U8": "u1"}
CODES_SHARE = 0.01
"""Of rounded outputs whose f32 value may lie a hair beside a middle: as much of them may be one step off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One output: its dtype, and either values in f32 with the largest |got - value| allowed, or exact codes.

    `codes_may_differ`: a hundredth of the codes (at least 2) may be one step off; else they are equal but for NaNs.
    """

    name: str
    dtype: str
    values: Array
    allowed: Array | None = None
    codes_may_differ: bool = False
    packed: str = ""
    """"e2m1" where a byte holds two codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCase:
    """One call of one op. `inputs` hold NumPy's or ml_dtypes' dtypes; scalars are those that differ from defaults."""

    op: str
    cell: str
    name: str
    inputs: Mapping[str, Array]
    scalars: Mapping[str, Any]
    dtypes: Mapping[str, str]
    """Dtype axis → dtype, all axes."""
    outputs: tuple[Expected, ...]

    def find_faults(self, got: Mapping[str, Array]) -> list[str]:
        """What is wrong with outputs by name, in words; empty if they are right.

        Outputs of 2-byte and fp8 dtypes may come in ml_dtypes' dtypes or as unsigned bits of the same width.
        """
        return [fault for output in self.outputs for fault in _find_output_faults(output, got)]


def find_golden_path(op: str, folder: Path | None = None) -> Path:
    """The file of an op; without `folder`, of this checkout. Raises FileNotFoundError with what to do."""
    path = (folder or Path(__file__).parents[2] / "golden") / f"{op}.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no golden file; hint: they lie in a checkout, plugins/rockiln-kernels/golden")
    return path


def read_golden(op: str, folder: Path | None = None) -> tuple[GoldenCase, ...]:
    """Every case of an op, in the file's order. Raises FileNotFoundError, as find_golden_path does."""
    arrays, index = _read_safetensors(find_golden_path(op, folder).read_bytes())
    return tuple(_read_case(index["op"], entry, arrays) for entry in index["cases"])


def _read_safetensors(content: bytes) -> tuple[Mapping[str, Array], dict[str, Any]]:
    """Arrays by name, and the index; https://github.com/huggingface/safetensors, README, "Format"."""
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    index = json.loads(header.pop("__metadata__")["index"])
    return {name: _read_array(content, 8 + size, entry) for name, entry in header.items()}, index


def _read_array(content: bytes, base: int, entry: Mapping[str, Any]) -> Array:
    dtype, count = np.dtype(SAFETENSORS[entry["dtype"]]), math.prod(entry["shape"])
    start, _ = entry["data_offsets"]
    return np.frombuffer(content, dtype, count, base + start).reshape(entry["shape"]).copy()


def _read_case(op: str, entry: Mapping[str, Any], arrays: Mapping[str, Array]) -> GoldenCase:
    prefix = f"{entry['cell']}/{entry['name']}"
    inputs = {name: _view(arrays[f"{prefix}/in/{name}"], dtype) for name, dtype in entry["inputs"].items()}
    outputs = tuple(
        Expected(
            name=name,
            dtype=output["dtype"],
            values=arrays[f"{prefix}/out/{name}"],
            allowed=_view(arrays[f"{prefix}/tol/{name}"], "bf16") if output["dtype"] in FLOATS else None,
            codes_may_differ=output.get("codes-may-differ", False),
            packed=output.get("packed", ""),
        )
        for name, output in entry["outputs"].items()
    )
    return GoldenCase(
        op=op,
        cell=entry["cell"],
        name=entry["name"],
        inputs=inputs,
        scalars=entry["scalars"],
        dtypes=entry["dtypes"],
        outputs=outputs,
    )


def _view(array: Array, dtype: str) -> Array:
    """Raw bits as their dtype; bf16 and fp8 are ml_dtypes', so that it is imported only for them."""
    own = DTYPES[dtype].numpy
    if hasattr(np, own):
        return array
    import ml_dtypes

    return array.view(np.dtype(getattr(ml_dtypes, own)))


def _find_output_faults(output: Expected, got: Mapping[str, Array]) -> list[str]:
    if output.name not in got:
        return [f"{output.name} is missing"]
    value = got[output.name]
    if value.shape != output.values.shape:
        return [f"{output.name} has shape {value.shape}, expected {output.values.shape}"]
    if not value.size:
        return []
    allowed = output.allowed
    return _compare_codes(output, value) if allowed is None else _compare_numbers(output, value, allowed)


def _compare_numbers(output: Expected, value: Array, bound: Array) -> list[str]:
    got = (_view(value, output.dtype) if value.dtype.kind == "u" else value).astype(np.float64)
    want, allowed = output.values.astype(np.float64), bound.astype(np.float64)
    with np.errstate(invalid="ignore"):
        right = (got == want) | (np.abs(got - want) <= allowed) | (np.isnan(got) & np.isnan(want))
        overflows = np.isfinite(want) & (np.abs(want) + allowed >= DTYPES[output.dtype].maximum)
        right |= overflows & np.isinf(got) & (np.sign(got) == np.sign(want))
    if right.all():
        return []
    place = tuple(int(index) for index in np.argwhere(~right)[0])
    wrong = f"{np.count_nonzero(~right)} of {got.size} wrong, first at {place}"
    return [f"{output.name}: {wrong}: {got[place]!r}, expected {want[place]!r} within {allowed[place]:.3g}"]


def _compare_codes(output: Expected, value: Array) -> list[str]:
    bits = output.values.dtype
    mine, other = np.ascontiguousarray(value).view(bits), output.values
    differ = mine != other
    if output.dtype in FP8_NAN:
        mask, least = FP8_NAN[output.dtype]
        differ &= ~(((mine & mask) >= least) & ((other & mask) >= least) & (mask == 0x7F))
    count = np.count_nonzero(differ)
    if not count:
        return []
    place = tuple(int(index) for index in np.argwhere(differ)[0])
    fault = f"{output.name}: {count} of {mine.size} codes differ, first at {place}: {mine[place]}, not {other[place]}"
    if not output.codes_may_differ or count > max(2, CODES_SHARE * mine.size):
        return [fault]
    return [] if _are_neighbours(mine[differ], other[differ], output.packed) else [f"{fault}, more than one step off"]


def _are_neighbours(mine: Array, other: Array, packed: str) -> bool:
    if packed:
        return _are_neighbours_of(mine & 15, other & 15, 8) and _are_neighbours_of(mine >> 4, other >> 4, 8)
    return _are_neighbours_of(mine, other, 128)


def _are_neighbours_of(mine: Array, other: Array, sign: int) -> bool:
    """Codes at most one step apart; the two zeros count as one."""
    order = [np.where(code & sign, -(code.astype(int) & (sign - 1)), code.astype(int)) for code in (mine, other)]
    return bool((np.abs(order[0] - order[1]) <= 1).all())
