"""Shapes and values that every op over rows [M, N] is run on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.case import Array, draw, fill_special_rows, make_generator, stride_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCase:
    """A shape, and what is odd about its values or addresses."""

    name: str
    rows: int
    columns: int
    gap: int = 0
    is_special: bool = False
    is_misaligned: bool = False


def list_row_cases(*, step: int = 1, long: tuple[int, ...] = (1104,)) -> tuple[RowCase, ...]:
    """Aligned, ragged, tiny, strided and special rows, and rows of each length in `long`; multiples of `step`.

    Long rows fill the blocks of the variants but for a few lanes, so that nearly every lane has work. There are several
    of each length: the largest number of a row is now here, now there.
    """
    ragged = 333 // step * step or step
    unit = max(step, 16)
    return (
        RowCase(name="aligned", rows=3, columns=512),
        RowCase(name="ragged", rows=3, columns=ragged, gap=5, is_misaligned=True),
        RowCase(name="tiny", rows=1, columns=step, is_misaligned=step == 1),
        RowCase(name="strided", rows=2, columns=320, gap=16),
        RowCase(name="special", rows=6, columns=128, is_special=True),
        RowCase(name="special-ragged", rows=6, columns=ragged, is_special=True, is_misaligned=True),
        *(RowCase(name=f"long{length}", rows=12, columns=length // unit * unit) for length in long),
    )


def draw_rows(case: RowCase, name: str, dtype: str, *words: str) -> Array:
    """The case's array `name`; special values only in x."""
    array = draw(make_generator(case.name, name, dtype, *words), (case.rows, case.columns), dtype)
    if case.is_special and name in {"x", "residual"}:
        array = fill_special_rows(array) if name == "x" else array
    gap = case.gap if name == "x" else 2 * case.gap  # strides that differ, or one would do for the other
    return stride_rows(array, gap) if gap else array


def each_order() -> Iterator[bool]:
    """Both orders of what may be interleaved."""
    yield False
    yield True
