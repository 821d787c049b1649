"""Outputs of a kernel + the reference's → every way in which they differ, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from harness.case import Array, Case
from harness.tolerance import allow_error
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.references.narrow import FORMATS, decode
from rockiln_kernels.spec import OpSpec

CODES_SHARE = 0.01
"""Rounded outputs of a fused op: as much of them may be one step off, since its f32 result is a hair off a middle."""


def find_differences(
    spec: OpSpec, cell: str, case: Case, got: Mapping[str, Array], want: Mapping[str, Array]
) -> list[str]:
    """Empty when `got` is right."""
    dtypes = spec.cell_dtypes(cell)
    differences: list[str] = []
    for array in spec.outputs:
        dtype = dtypes.get(array.dtype, array.dtype)
        pair = got[array.name], np.asarray(want[array.name])
        if pair[0].shape != pair[1].shape:
            differences.append(f"{array.name} has shape {pair[0].shape}, expected {pair[1].shape}")
        elif not pair[0].size:
            continue
        elif dtype in {"f32", "f16", "bf16"}:
            exact = case.match == "bytes" and array.name == "q_scale"
            terms, magnitude = (0, np.zeros(1)) if exact else (case.terms, case.magnitudes.get(array.name))
            differences += _compare_numbers(array.name, *pair, dtype, terms, magnitude)
        else:
            form = "" if array.name.endswith("scale") else find_element_format(spec, dtypes, dtype)
            share = CODES_SHARE if case.match == "codes" and form else 0.0
            differences += _compare_codes(array.name, *pair, form, share)
    return differences


def find_element_format(spec: OpSpec, dtypes: Mapping[str, str], dtype: str) -> str:
    """The format of a q array; packed MXFP4 is e2m1, MXFP6 is the cell's axis E."""
    if dtype in FORMATS:
        return dtype
    return dtypes.get("E", "e2m1" if spec.name.endswith("mxfp4") else "")


def _compare_numbers(
    name: str, got: Array, want: Array, dtype: str, terms: int, magnitude: Array | None
) -> Iterator[str]:
    values, limit = got.astype(np.float64), DTYPES[dtype].maximum
    allowed = allow_error(want, dtype, terms, magnitude)
    with np.errstate(invalid="ignore"):
        is_close = np.abs(values - want) <= allowed
        overflows = (np.abs(want) + allowed >= limit) & np.isfinite(want)
        is_right = (values == want) | is_close | (np.isnan(values) & np.isnan(want))
        is_right |= overflows & np.isinf(values) & (np.sign(values) == np.sign(want))
    if not is_right.all():
        worst = tuple(int(index) for index in np.argwhere(~is_right)[0])
        yield (
            f"{name}: {np.count_nonzero(~is_right)} of {values.size} wrong, first at {worst}: "
            f"{values[worst]!r}, expected {want[worst]!r} within {np.broadcast_to(allowed, want.shape)[worst]:.3g}"
        )


def _compare_codes(name: str, got: Array, want: Array, form: str, share: float) -> Iterator[str]:
    mine, other = got.view(np.uint8), want.view(np.uint8)
    differ = mine != other
    if form in {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"}:
        differ &= ~(np.isnan(decode(mine, form)) & np.isnan(decode(other, form)))
    if not differ.any():
        return
    places = np.argwhere(differ)
    first = tuple(int(index) for index in places[0])
    text = f"{name}: {len(places)} of {mine.size} bytes differ"
    text += f", first at {first}: {mine[first]}, expected {other[first]}"
    if len(places) > max(2, share * mine.size) or not share:
        yield text
    elif not _are_neighbours(mine[differ], other[differ], form):
        yield f"{text}, more than one step off"


def _are_neighbours(mine: Array, other: Array, form: str) -> bool:
    """Codes one apart, in each nibble of a packed byte; the two zeros count as one."""
    if form == "e2m1":
        pairs = ((mine & 15, other & 15), (mine >> 4, other >> 4))
        return all(_step_apart(a, b, 8) for a, b in pairs)
    return _step_apart(mine, other, 128)


def _step_apart(a: Array, b: Array, sign: int) -> bool:
    ordered = [np.where(code & sign, -(code.astype(int) & (sign - 1)), code.astype(int)) for code in (a, b)]
    return bool((np.abs(ordered[0] - ordered[1]) <= 1).all())
