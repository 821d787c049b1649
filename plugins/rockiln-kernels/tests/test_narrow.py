"""The references' table encoder against ml_dtypes: every code, every middle between two codes, and random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from harness.case import Array, numpy_dtype
from rockiln_kernels.references.narrow import (
    FORMATS,
    decode,
    dequantise_mx,
    encode,
    list_magnitudes,
    pack_codes,
    quantise_mx,
    scale_mx,
    unpack_codes,
)

NAMES = tuple(FORMATS)


def _all_codes(name: str) -> Array:
    return np.arange(1 << (FORMATS[name].sign_shift + 1), dtype=np.uint8)


@pytest.mark.parametrize("name", NAMES)
def test_decoding_agrees_with_ml_dtypes(name: str) -> None:
    codes = _all_codes(name)
    theirs = codes.view(numpy_dtype(name)).astype(np.float64)
    assert np.array_equal(decode(codes, name), theirs, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_encoding_agrees_with_ml_dtypes(name: str) -> None:
    table = list_magnitudes(name)
    generator = np.random.default_rng(1)
    values = np.concatenate([table, (table[1:] + table[:-1]) / 2, generator.uniform(0, table[-1], 4000)])
    values = np.concatenate([values, np.nextafter(values, 0), -values]).astype(np.float32).astype(np.float64)
    theirs = values.astype(np.float32).astype(numpy_dtype(name)).view(np.uint8)
    assert np.array_equal(encode(values, name), theirs)


@pytest.mark.parametrize("name", NAMES)
def test_encoding_saturates(name: str) -> None:
    largest = list_magnitudes(name)[-1]
    codes = encode(np.array([2 * largest, -2 * largest, np.inf]), name)
    assert decode(codes, name).tolist() == [largest, -largest, largest]


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"])
def test_nan_stays_nan(name: str) -> None:
    assert np.isnan(decode(encode(np.array([np.nan]), name), name)).all()


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2", "e4m3"])
def test_packing_is_undone(name: str) -> None:
    codes = np.resize(_all_codes(name), (3, 64))
    assert np.array_equal(unpack_codes(pack_codes(codes, name), name), codes)


def test_mxfp6_packs_the_first_element_lowest() -> None:
    packed = pack_codes(np.array([[0b000001, 0b000010, 0b000100, 0b001000]], np.uint8), "e2m3")
    word = packed[0, 0] | packed[0, 1].astype(int) << 8 | packed[0, 2].astype(int) << 16
    assert word == 0b001000_000100_000010_000001


@pytest.mark.parametrize(
    ("largest", "code"),
    [(6.0, 127), (6.99, 127), (7.0, 128), (8.0, 128), (4.0, 127), (3.5, 127), (3.49, 126), (0.0, 0), (np.inf, 255)],
)
def test_mxfp4_scale_rounds_the_largest_magnitude_half_up(largest: float, code: int) -> None:
    block = np.zeros((1, 32))
    block[0, 3] = -largest
    assert scale_mx(block, "e2m1").tolist() == [code]


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2", "e4m3", "e5m2"])
def test_quantising_what_was_dequantised_changes_no_value(name: str) -> None:
    x = np.random.default_rng(2).standard_normal((4, 64))
    once = quantise_mx(x, name)
    y = dequantise_mx(once["q"], once["q_scale"], name)
    twice = quantise_mx(y, name)
    assert np.array_equal(dequantise_mx(twice["q"], twice["q_scale"], name), y)


def test_a_block_with_nan_is_nan_and_its_neighbour_is_not() -> None:
    x = np.ones((1, 64))
    x[0, 5] = np.nan
    packed = quantise_mx(x, "e2m1")
    y = dequantise_mx(packed["q"], packed["q_scale"], "e2m1")
    assert np.isnan(y[0, :32]).all()
    assert (y[0, 32:] == 1.0).all()
