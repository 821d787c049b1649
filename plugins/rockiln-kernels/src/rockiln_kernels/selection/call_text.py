"""Words of a command line → Call, and back: "x=bf16[4096,8192]", "eps=1e-5", "Q=e4m3"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from rockiln_kernels.call import ArrayValue, Call
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value

_ARRAY = re.compile(r"(\w+)=(\w+)\[([\d,]*)\](?::([\d,]+))?(?:@(\d+))?")


def parse_call(op: str, arrays: Iterable[str], scalars: Iterable[str], dtypes: Iterable[str]) -> Call:
    """The call. Raises ValueError, with the form that is wanted, for a word that is none."""
    return Call(
        op=op,
        arrays=_collect(map(parse_array, arrays)),
        scalars=_collect(map(_parse_scalar, scalars)),
        dtypes=_collect(map(_split, dtypes)),
    )


_Item = TypeVar("_Item")


def _collect(items: Iterable[tuple[str, _Item]]) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for name, value in items:
        if name in found:
            raise ValueError(f"{name} is given twice")
        found[name] = value
    return found


def parse_array(text: str) -> tuple[str, ArrayValue]:
    """NAME=DTYPE[DIMS], then perhaps :STRIDES in elements, then perhaps @ALIGNMENT of the address in bytes."""
    found = _ARRAY.fullmatch(text)
    if not found:
        form = "x=bf16[4,8], with strides x=bf16[4,8]:16,1, on an address x=bf16[4,8]@2"
        raise ValueError(f"{text!r} is no array: {form}")
    name, dtype, dims, steps, alignment = found.groups()
    if dtype not in DTYPES:
        raise ValueError(f"{text!r}: {dtype} is not one of {', '.join(DTYPES)}")
    shape = _parse_integers(dims)
    strides = _parse_integers(steps) if steps else count_strides(shape)
    if len(strides) != len(shape):
        raise ValueError(f"{text!r} has {len(shape)} dims and {len(strides)} strides")
    if alignment and not int(alignment):
        raise ValueError(f"{text!r}: an address is aligned to 1 byte at least")
    return name, ArrayValue(shape=shape, strides=strides, dtype=dtype, alignment=int(alignment or 256))


def format_call(call: Call) -> str:
    """The words that `parse_call` reads, in one line."""
    words = [format_array(name, array) for name, array in call.arrays.items()]
    words += [f"{name}={_format_number(value)}" for name, value in call.scalars.items()]
    return " ".join([*words, *(f"{axis}={dtype}" for axis, dtype in call.dtypes.items())])


def format_array(name: str, array: ArrayValue) -> str:
    """The word that `parse_array` reads."""
    steps = "" if array.strides == count_strides(array.shape) else f":{','.join(map(str, array.strides))}"
    alignment = "" if array.alignment >= 256 else f"@{array.alignment}"
    return f"{name}={array.dtype}[{','.join(map(str, array.shape))}]{steps}{alignment}"


def count_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Those of a contiguous array, in elements."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * max(size, 1))
    return tuple(reversed(steps[: len(shape)]))


def _parse_integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(",") if word)


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not value:
        raise ValueError(f"{text!r} is not NAME=VALUE")
    return name, value


def _parse_scalar(text: str) -> tuple[str, Value]:
    name, word = _split(text)
    if word in {"true", "false"}:
        return name, word == "true"
    try:
        return name, float(word) if any(mark in word for mark in ".einfEN") else int(word)
    except ValueError as error:
        raise ValueError(f"{text!r}: {word} is no number: eps=1e-5, top=4, causal=true") from error


def _format_number(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.7g}" if isinstance(value, float) else str(value)
