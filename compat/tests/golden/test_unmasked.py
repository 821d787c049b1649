"""Calls whose meaning the compiler asks for: without a mask, and with one whose type the file does not tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.check import Options, Outcome, Toolchain, check_files
from hipcompat.translate import rename

UNMASKED = """\
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <typename T> __global__ void k(T *x) {
    x[0] = __shfl(x[1], 0);
    x[1] = __shfl_up(x[0], 1);
    x[2] = __shfl_down(x[0], 1);
    x[3] = __shfl_xor(x[0], 1);
}
TYPES
__global__ void votes(unsigned *x) {
    x[0] = __any(x[0] > 1) + __all(x[1] > 1);
    x[1] = __ballot(x[2] > 1);
    x[2] = __shfl(x[3], 0, 16);
}
"""
TYPES = (
    "int", "unsigned", "long", "unsigned long", "long long", "unsigned long long", "float", "double", "__half",
    "__half2", "__nv_bfloat16",
)  # fmt: skip
KERNELS = "\n".join(f"template __global__ void k<{name}>({name} *);" for name in TYPES)
UNTOLD = """\
struct Lanes {{ {} mask; }};
template <typename Mask> __device__ int first(Mask mask, int v) {{ return __shfl_sync(mask, v, 0); }}
__global__ void k(int *x, Lanes lanes) {{ x[0] = first(lanes.mask, x[1]) + __any_sync(lanes.mask, x[2]); }}
"""


def _check(text: str, arch: str, rocm: Toolchain, folder: Path, *defines: str, name: str = "k.cu") -> Outcome:
    (folder / name).write_text(text)
    (outcome,) = check_files(folder / name, arch, rocm, Options(defines=defines))
    return outcome


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_without_a_mask_the_headers_ask_what_is_meant(arch: str, rocm: Toolchain, tmp_path: Path) -> None:
    text = UNMASKED.replace("TYPES", "template __global__ void k<float>(float *);")
    errors = _check(text, arch, rocm, tmp_path).errors
    assert {error.line for error in errors} == {4, 5, 6, 7, 11, 12}  # line 13 has its own width
    assert all("say which by -DHIPCOMPAT_WIDTH=32 or -DHIPCOMPAT_WIDTH=warpSize" in one.message for one in errors)


@pytest.mark.parametrize("width", ["HIPCOMPAT_WIDTH=32", "HIPCOMPAT_WIDTH=warpSize"])
def test_once_it_is_said_every_type_compiles(width: str, rocm: Toolchain, tmp_path: Path) -> None:
    assert _check(UNMASKED.replace("TYPES", KERNELS), "gfx942", rocm, tmp_path, width).errors == ()


def test_every_type_is_asked_about(rocm: Toolchain, tmp_path: Path) -> None:
    lines = ("#include <cuda_fp16.h>", "#include <cuda_bf16.h>", *(
        f"__global__ void k{at}({name} *x) {{ x[0] = __shfl_xor(x[1], 1); }}" for at, name in enumerate(TYPES)
    ))  # fmt: skip
    errors = _check("\n".join(lines), "gfx942", rocm, tmp_path).errors
    assert [error.line for error in errors] == list(range(3, len(lines) + 1))


def test_where_waves_have_32_lanes_there_is_nothing_to_ask(rocm: Toolchain, tmp_path: Path) -> None:
    assert _check(UNMASKED.replace("TYPES", KERNELS), "gfx1100", rocm, tmp_path).errors == ()


def test_headers_that_are_written_for_hip_are_not_asked(rocm: Toolchain, tmp_path: Path) -> None:
    (tmp_path / "include" / "c10").mkdir(parents=True)
    (tmp_path / "include" / "c10" / "x.h").write_text("__device__ inline auto wide(int p) { return __ballot(p); }\n")
    kernel = "__global__ void k(int *x) { static_assert(sizeof(wide(1)) == 8); x[0] = wide(2); }\n"
    text = f'#include "include/c10/x.h"\n{kernel}'
    assert _check(text, "gfx942", rocm, tmp_path).errors == ()
    assert _check(text, "gfx942", rocm, tmp_path, "HIPCOMPAT_WIDTH=32").errors == ()


@pytest.mark.parametrize(("kind", "is_refused"), [("unsigned", True), ("int", True), ("unsigned long long", False)])
def test_a_mask_of_untold_type_is_refused_by_hip_if_it_has_32_bits_and_right_under_the_headers(
    kind: str, is_refused: bool, rocm: Toolchain, tmp_path: Path
) -> None:
    text = UNTOLD.format(kind)
    renamed = rename(text.encode(), "k.cu").content.decode()
    assert "__shfl_sync(mask, v, 0)" in renamed
    assert "__any_sync(lanes.mask, x[2])" in renamed
    errors = _check(renamed, "gfx942", rocm, tmp_path, name="k.hip").errors
    assert all("64-bit" in error.message for error in errors)
    assert bool(errors) == is_refused
    assert _check(text, "gfx942", rocm, tmp_path).errors == ()
