"""Each golden extension → its inputs, how it is launched, and the numbers it must give, by NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Pointers are inputs and outputs in the order of the kernel's arguments; `kernarg` packs them."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    """What they hold before the launch."""
    expected: tuple[Array, ...]
    grid: int = 1
    block: int = 64
    shared_bytes: int = 0
    kernarg: Callable[[tuple[int, ...]], bytes] = lambda pointers: struct.pack(f"<{len(pointers)}Q", *pointers)
    only_shim: bool = False
    """Renaming leaves a finding: only hipcompat's headers have what it needs."""
    only_rename: bool = False
    """hipcompat's headers leave a finding: they take masks of 32 bits for warps of 32."""
    shim_defines: tuple[str, ...] = ()
    """What hipcompat's headers must be told: which lanes calls without a mask mean."""
    syncs_by_atomics: bool = False
    """The emulator's race check knows s_barrier only; it is off, and several orders of wavefronts stand in for it."""

    only_compiled: tuple[str, ...] = ()
    """GPUs whose code for it has instructions that the emulator lacks, for want of a description by AMD."""

    @property
    def orders(self) -> tuple[str | int, ...]:
        """Of workgroups and wavefronts."""
        return ("forward", "reverse", 1, 2, 3) if self.syncs_by_atomics else ("forward",)


RNG = np.random.default_rng(7)
F32 = RNG.integers(-8, 9, 256).astype(np.float32)
I32 = RNG.integers(-50, 50, 256).astype(np.int32)
U32 = RNG.integers(0, 2**32, 64, dtype=np.uint32)
RAMP = np.arange(64, dtype=np.float32)
ZERO_I = np.zeros(256, np.int32)
ZERO_F = np.zeros(256, np.float32)


def _warps(x: Array) -> Array:
    return x.reshape(-1, 32)


def make_saxpy() -> Case:
    """200 of 256 elements."""
    y = np.ones(256, np.float32)
    want = np.where(np.arange(256) < 200, 2.5 * F32 + y, y).astype(np.float32)

    def pack(at: tuple[int, ...]) -> bytes:
        return struct.pack("<f4xQQi", 2.5, *at, 200)

    return Case(inputs=(F32,), outputs=(y,), expected=(want,), grid=4, kernarg=pack)


def make_grid_stride() -> Case:
    """Two blocks of 64 over 256."""
    return Case(inputs=(I32,), outputs=(ZERO_I,), expected=(I32 * 3 + 1,), grid=2,
                kernarg=lambda at: struct.pack("<QQi", *at, 256))  # fmt: skip


def make_shuffle_sum() -> Case:
    """Eight warps of 32 in two blocks."""
    return Case(inputs=(F32,), outputs=(ZERO_F[:8],), expected=(_warps(F32).sum(1),), grid=2, block=128)


def make_shuffle_rotate() -> Case:
    """Three shuffles of 64 threads."""
    x = I32[:64]
    lane = np.arange(64)
    shifted = np.where(lane % 32 >= 3, x[np.maximum(lane - 3, 0)], x)
    want = (np.roll(_warps(x), -1, 1).ravel(), shifted, x[lane ^ 5])
    return Case(inputs=(x,), outputs=(ZERO_I[:64],) * 3, expected=want)


def make_ballot() -> Case:
    """Votes and ranks of eight warps."""
    wants = _warps(I32 > 0)
    votes = (wants * (1 << np.arange(32, dtype=np.uint64))).sum(1).astype(np.uint32)
    ranks = np.where(wants, np.cumsum(wants, 1) - 1, -1).ravel().astype(np.int32)
    return Case(inputs=(I32,), outputs=(np.zeros(8, np.uint32), ZERO_I), expected=(votes, ranks), grid=2, block=128)


def make_vote() -> Case:
    """A warp of nobody, one of everybody, the rest mixed."""
    x = I32.copy()
    x[:32], x[32:64] = -1, 1
    wants = _warps(x > 0)
    want = tuple(np.repeat(votes, 32).astype(np.int32) for votes in (wants.any(1), wants.all(1)))
    return Case(inputs=(x,), outputs=(ZERO_I, ZERO_I), expected=want, block=256)


def make_active_mask() -> Case:
    """Four warps; any of more than 40 is in some of them only."""
    x, lane = I32[:128].copy(), np.arange(128)
    x[:32] = np.minimum(x[:32], 40)
    warps = _warps(x)
    first = np.repeat(warps[:, 0], 32)
    some = np.repeat((warps > 40).any(1), 32).astype(np.int32)
    votes = np.repeat((warps > 0).sum(1), 32).astype(np.int32)
    count = np.repeat(32 + warps[:, 1], 32)
    leader = np.repeat(warps[np.arange(4), (warps > 0).argmax(1)], 32)
    part = np.where(x > 0, leader, x) + np.where(lane % 32 < 16, x[lane ^ 3], 0)
    outputs = (ZERO_I[:128],) * 5
    return Case(inputs=(x,), outputs=outputs, expected=(first, some, votes, count, part), block=128)


def make_legacy_warp() -> Case:
    """Four warps, in which calls without a mask mean 32 lanes."""
    x, lane = I32[:128].copy(), np.arange(128)
    x[:32] = np.clip(x[:32], -39, 40)
    warps = _warps(x)
    first = np.repeat(warps[:, 0], 32) + x[lane ^ 1]
    count = np.repeat((warps > 0).sum(1), 32).astype(np.int32)
    both = np.repeat(2 * (warps > 40).any(1) + (warps > -40).all(1), 32).astype(np.int32)
    return Case(inputs=(x,), outputs=(ZERO_I[:128],) * 3, expected=(first, count, both), block=128,
                shim_defines=("-DHIPCOMPAT_WIDTH=32",))  # fmt: skip


def make_divergent_mask() -> Case:
    """The lower half of each warp swaps neighbours."""
    x, lane = I32[:128], np.arange(128)
    want = np.where(lane % 32 < 16, x[lane ^ 1] + 100, x)
    return Case(inputs=(x,), outputs=(ZERO_I[:128],), expected=(want,), block=128)


def make_block_scan() -> Case:
    """Two blocks."""
    want = np.cumsum(I32.reshape(2, 128), 1).ravel().astype(np.int32)
    return Case(inputs=(I32,), outputs=(ZERO_I,), expected=(want,), grid=2, block=128)


def make_dynamic_shared() -> Case:
    """256 bytes by the launch."""
    return Case(inputs=(F32[:64],), outputs=(ZERO_F[:64],), expected=(F32[:64][::-1],), shared_bytes=256,
                kernarg=lambda at: struct.pack("<QQi", *at, 64))  # fmt: skip


def make_atomics() -> Case:
    """Total, largest, who was first, histogram."""
    outputs = (np.zeros(1, np.int32), np.full(1, -1000, np.int32), np.full(1, -1, np.int32), np.zeros(8, np.int32))
    bins = np.bincount(I32 & 7, minlength=8).astype(np.int32)
    want = (I32.sum(keepdims=True), I32.max(keepdims=True), np.full(1, 7, np.int32), bins)
    return Case(inputs=(I32,), outputs=outputs, expected=want, grid=4)


def make_bits() -> Case:
    """Six words a number."""
    x = U32.copy()
    x[0], x[1] = 0, 0x80000000

    def describe(v: int) -> list[int]:
        text = f"{v:032b}"
        bytes_ = v.to_bytes(4, "little") + (0x01234567).to_bytes(4, "little")
        permuted = int.from_bytes(bytes([bytes_[0], bytes_[1], bytes_[4], bytes_[5]]), "little")
        counts = [text.count("1"), 32 - v.bit_length(), (v & -v).bit_length()]
        return [*counts, int(text[::-1], 2), v * 0x10001 >> 32, permuted]

    want = np.array([describe(int(v)) for v in x], np.uint32).ravel()
    return Case(inputs=(x,), outputs=(np.zeros(384, np.uint32),), expected=(want,))


def make_vectors() -> Case:
    """Four floats a thread, a struct by value."""
    x = F32.reshape(64, 4)
    want = np.stack((x[:, 0] * 1.5, x[:, 1] + 1, x[:, 2] - x[:, 3], x[:, 3] ** 2), 1).astype(np.float32)
    return Case(inputs=(x,), outputs=(np.zeros((64, 4), np.float32),), expected=(np.roll(want, 3, 0),),
                kernarg=lambda at: struct.pack("<QQfi", *at, 1.5, 3))  # fmt: skip


def make_constants() -> Case:
    """Four taps, doubled."""
    weights = np.array([0.5, 1.5, 2.5, 3.5], np.float32)
    want = 2 * np.array([weights @ F32[i : i + 4] for i in range(64)], np.float32)
    return Case(inputs=(F32[:67],), outputs=(ZERO_F[:64],), expected=(want,))


def make_device_pass() -> Case:
    """max and min of the device."""
    x = I32[:64]
    want = np.clip(np.maximum(x, -5), -3, 40) + np.minimum(x, 2)
    return Case(inputs=(x,), outputs=(ZERO_I[:64],), expected=(want,), only_shim=True)


def make_half_math() -> Case:
    """Small numbers, exact in fp16."""
    x, pairs = F32[:64].astype(np.float16), F32[:128].astype(np.float16)
    y = (x * np.float16(2) + np.float16(0.5)).astype(np.float16)
    sums = (pairs.reshape(64, 2) + x[:, None]).astype(np.float32).sum(1)
    return Case(inputs=(x, pairs), outputs=(np.zeros(64, np.float16), ZERO_F[:64]), expected=(y, sums))


def make_bf16_math() -> Case:
    """Small integers, exact in bf16; kept as the upper half of an f32."""
    x = F32[:64]

    def narrow(v: Array) -> Array:
        return (v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)

    outputs = (np.zeros(64, np.uint16), ZERO_F[:64])
    return Case(inputs=(narrow(x),), outputs=outputs, expected=(narrow(x + 1), x * 3))


FP8 = np.concatenate((
    F32[:16] * 37, F32[:16] / 1000, (0.0, -0.0, 1.0625, 1.1875, 2.25, -2.75, 17.0, 19.0, 240.0, 250.0, 448.0, -464.0),
    (480.0, -1e6, 57344.0, 61440.0, 2.0**-9, 2.0**-10, 3 * 2.0**-10, -(2.0**-16), 2.0**-17, 3 * 2.0**-17, 7e-3, 1e-9),
    (0.875, 1.125, 208.0, 232.0, 6.5, 7.5, 13.0, 15.0),
)).astype(np.float32)  # fmt: skip
"""64 numbers: ties, those below the normal, the largest of each kind, and beyond."""
FP6 = np.concatenate((np.arange(32) / 16, -np.arange(16) / 2, (28.0, 30.0, -31.0, 1e9, 7.5, 7.25, -7.75, 6.0),
                      (2.0**-4, 2.0**-5, -(2.0**-6), 1.1875, 1.3125, -2.625, 26.0, 22.0)),
                     dtype=np.float32)  # fmt: skip
"""64 numbers for fp4 and fp6, likewise."""


def make_fp8_convert() -> Case:
    """Nearest, ties to even, and no infinity: e4m3 to 448, where fnuz ends at 240, and e5m2 to 57344."""
    codes, values = zip(_to_narrow(FP8, mantissa=3, bias=7, last=0x7E), _to_narrow(FP8, mantissa=2, bias=15, last=0x7B),
                        strict=True)  # fmt: skip
    zeros = (np.zeros(64, np.uint8),) * 2
    return Case(inputs=(FP8,), outputs=(*zeros, ZERO_F[:64], ZERO_F[:64], *zeros, zeros[0]),
                expected=(*codes, *values, *codes, codes[0]))  # fmt: skip


def make_fp4_fp6() -> Case:
    """Nearest, ties to even, and neither infinity nor NaN: e2m1 to 6, e2m3 to 7.5, e3m2 to 28."""
    codes, values = zip(
        _to_narrow(FP6, mantissa=1, bias=1, last=7), _to_narrow(FP6, mantissa=3, bias=1, last=0x1F),
        _to_narrow(FP6, mantissa=2, bias=3, last=0x1F), strict=True,
    )  # fmt: skip
    outputs = (*(np.zeros(64, np.uint8),) * 3, *(ZERO_F[:64],) * 3)
    # gfx950 packs fp6 by v_cvt_scalef32_2xpk16_fp6_f32
    return Case(inputs=(FP6,), outputs=outputs, expected=(*codes, *values), only_compiled=("gfx950",))


def _to_narrow(x: Array, mantissa: int, bias: int, last: int) -> tuple[Array, Array]:
    """Codes and the numbers that they mean, by OCP's specifications of 8 bits and MX; `last` is the largest's code."""
    code = np.arange(last + 1)
    exponent, rest = code >> mantissa, (code & (1 << mantissa) - 1) / (1 << mantissa)
    numbers = np.where(exponent > 0, 1 + rest, rest) * 2.0 ** (np.maximum(exponent, 1) - bias)
    distances = np.abs(np.abs(x.astype(np.float64))[:, None] - numbers)
    is_nearest = distances == distances.min(1, keepdims=True)
    chosen = (is_nearest * (2 - code % 2)).argmax(1)  # of two that are as near, the even code
    sign = 1 << last.bit_length()
    return (chosen + sign * np.signbit(x)).astype(np.uint8), np.copysign(numbers[chosen], x).astype(np.float32)


def make_nan_extremes() -> Case:
    """Every pair of 8 numbers, as bits: -inf, -1, -0, 0, the least below the normal, 1, inf, and a NaN with a sign."""
    brain, half = ([0xFF80, 0xBF80, 0x8000, 0, 1, 0x3F80, 0x7F80, 0xFFC1],
                   [0xFC00, 0xBC00, 0x8000, 0, 1, 0x3C00, 0x7C00, 0xFE01])  # fmt: skip
    inputs, expected = [], []
    for bits in (brain, half):
        numbers = np.array([*bits[:7], 0x7FFF], np.uint16)  # in order; the canonical NaN last
        left, right = np.divmod(np.arange(64), 8)
        has_nan = (left == 7) | (right == 7)
        least, most = np.where(has_nan, 7, np.minimum(left, right)), np.maximum(left, right)
        inputs += [np.array(bits, np.uint16)[places] for places in (left, right)]
        expected += [numbers[least], numbers[most]]
    brains = (*expected[:2], *expected[:2])
    outputs = (np.zeros(64, np.uint16),) * 6
    return Case(inputs=tuple(inputs), outputs=outputs, expected=(*brains, *expected[2:]))


def make_group_tile() -> Case:
    """Tiles of 16."""
    return Case(inputs=(I32[:128],), outputs=(ZERO_I[:8],), expected=(I32[:128].reshape(8, 16).sum(1),), block=128)


def make_group_reduce() -> Case:
    """Tiles of 32."""
    x = I32[:64]
    sums, largest = (np.repeat(values, 32) for values in (_warps(x).sum(1), _warps(x).max(1)))
    want = (sums, largest, np.cumsum(_warps(x), 1).ravel())
    return Case(inputs=(x,), outputs=(ZERO_I[:64],) * 3, expected=want, only_shim=True)


def make_block_tiles() -> Case:
    """Two tiles of 128."""
    tiles, narrow = I32.reshape(2, 128), I32.reshape(16, 16)
    moved = np.repeat(tiles[:, 77], 128) - np.repeat(narrow[:, 3], 16)
    per_tile = (tiles.sum(1) + np.array([0, 1000]), np.ptp(tiles, axis=1) + 2)
    want = (*(np.repeat(values, 128) for values in per_tile), moved, np.repeat([3, 5], 128))
    outputs = (ZERO_I,) * 4
    return Case(inputs=(I32,), outputs=outputs, expected=want, block=256, syncs_by_atomics=True)


def make_barrier_phases() -> Case:
    """Four rounds of three wavefronts."""
    x = I32[:192].copy()
    want = x
    for _ in range(4):
        want = 2 * want + np.roll(want, -64)
    outputs = (ZERO_I[:192],)
    return Case(inputs=(x,), outputs=outputs, expected=(want,), block=192, only_shim=True, syncs_by_atomics=True)


def make_async_pipeline() -> Case:
    """Copies by a thread, a block with a barrier, a block alone, and a wavefront of producers."""
    staged = np.zeros(64, np.float32)
    for step in range(4):
        staged += F32[64 * step : 64 * step + 64][::-1]
    want = (F32[:128], F32[128:256][::-1], F32[:128][::-1], staged)
    outputs = (*(ZERO_F[:128],) * 3, ZERO_F[:64])
    return Case(inputs=(F32,), outputs=outputs, expected=want, block=128, only_shim=True, syncs_by_atomics=True)


def make_cache_hints() -> Case:
    """Five loads of x, a vector, a pack, and x as an int."""
    x, v = F32[:64], F32.reshape(64, 4)
    w, packs = v + np.array([1, 0, 0, 0], np.float32), v.copy()
    packs[:, 3] = 7
    outputs = (ZERO_F[:64], np.zeros((64, 4), np.float32), np.zeros((64, 4), np.float32), ZERO_I[:64])
    return Case(inputs=(x, v), outputs=outputs, expected=(5 * x, w, packs, x.astype(np.int32)))


def make_group_structure() -> Case:
    """Two warps of 32."""
    want = np.repeat(np.ptp(_warps(F32[:64] * RAMP), axis=1), 32)
    return Case(inputs=(F32[:64] * RAMP,), outputs=(ZERO_F[:64],), expected=(want,), only_shim=True)


def make_half_atomics() -> Case:
    """Sums of small integers are exact in both 16-bit floats."""
    x = F32[:64]
    positive = int((x > 0).sum())
    halves = np.array([x[::2].sum(), x[1::2].sum()], np.float16)
    brain, brains = (_brain(values) for values in ((0, positive), (64, positive)))
    outputs = (np.zeros(2, np.float16), np.zeros(2, np.float16), np.zeros(2, np.uint16), np.zeros(2, np.uint16))
    want = (halves, np.array([x.sum(), 64], np.float16), brain, brains)
    return Case(inputs=(x,), outputs=outputs, expected=want, only_shim=True)


def _brain(values: tuple[int, ...]) -> Array:
    """Numbers that bfloat16 holds exactly, as its bits."""
    return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def make_cub_block() -> Case:
    """Two blocks of 128."""
    return Case(inputs=(I32,), outputs=(ZERO_I[:2],), expected=(I32.reshape(2, 128).sum(1),), grid=2, block=128)


def make_complex_product() -> Case:
    """x * x + conj(x)."""
    x = (F32[:64] + 1j * F32[64:128]).astype(np.complex64)
    return Case(inputs=(x,), outputs=(np.zeros(64, np.complex64),), expected=((x * x + x.conj()).astype(np.complex64),))


def make_shuffle_vectors() -> Case:
    """64 rows of four floats."""
    x = F32.reshape(64, 4)
    outputs = (np.zeros((64, 4), np.float32),)
    return Case(inputs=(x,), outputs=outputs, expected=(x[np.arange(64) ^ 3],), only_shim=True)


def make_warp_reduce() -> Case:
    """Four values among 64 threads."""
    x = (U32 % 4).astype(np.uint32)
    warps = _warps(x)
    equal = [sum(1 << lane for lane in range(32) if row[lane] == v) for row in warps for v in row]
    sums, largest = (np.repeat(values, 32).astype(np.uint32) for values in (warps.sum(1), warps.max(1)))
    zeros = np.zeros(64, np.uint32)
    return Case(inputs=(x,), outputs=(zeros,) * 3, expected=(sums, largest, np.array(equal, np.uint32)))


def make_wave_helper() -> Case:
    """Sums and counts of two blocks, whatever the GPU's warps are."""
    blocks = I32.reshape(2, 128)
    zeros = np.zeros(2, np.int32)
    expected = tuple(values.astype(np.int32) for values in (blocks.sum(1), (blocks > 0).sum(1)))
    return Case(inputs=(I32,), outputs=(zeros, zeros), expected=expected, grid=2, block=128, only_rename=True)


CASES: Mapping[str, Callable[[], Case]] = {
    name.removeprefix("make_"): make for name, make in sorted(globals().items()) if name.startswith("make_")
}
