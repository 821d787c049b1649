"""Names that HIP lacks and hipcompat's headers have: renamed source includes the header, once, and scan knows them."""

from __future__ import annotations

import argparse
from pathlib import Path, PurePath

from hipcompat.scan import Target, scan
from hipcompat.translate import SHIM_PATH, rename, translate_tree
from hipcompat.verbs.translate import answer

STREAMING = b"__global__ void k(float *y) { __stcs(y, 1.0f); if (*y > 2.0f) __trap(); }\n"
INCLUDE = b"#include <hipcompat/cache_hints.h>\n"


def test_renamed_source_includes_what_it_uses_of_ours_once() -> None:
    became = rename(STREAMING, PurePath("k.cu")).content
    assert became == b"#include <hip/hip_runtime.h>\n" + INCLUDE + STREAMING
    assert rename(became, PurePath("k.hip")).content == became


def test_a_runtime_that_is_included_already_is_not_included_twice() -> None:
    source = b"#include <cuda_runtime.h>\n" + STREAMING
    assert rename(source, PurePath("k.cu")).content == INCLUDE + b"#include <hip/hip_runtime.h>\n" + STREAMING


def test_names_in_comments_strings_and_dead_code_bring_no_header() -> None:
    source = b'#include <hip/hip_runtime.h>\n// __stcs\nconst char *s = "__trap";\n#if 0\n__stwt(p, 1);\n#endif\n'
    assert rename(source, PurePath("k.cu")).content == source


def test_a_projects_header_includes_it_too_and_not_the_runtime() -> None:
    source = b"#pragma once\n__device__ inline void f(float *y) { __stcs(y, 1.0f); }\n"
    assert rename(source, PurePath("k.cuh")).content == INCLUDE + source


def test_source_that_needs_hipcompats_headers_says_which_and_where(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_bytes(b"#include <cooperative_groups/reduce.h>\n#include <cuda_fp16.h>\n" + STREAMING)
    (file,) = translate_tree([tmp_path], Target())
    assert file.find_headers() == ("hipcompat/cache_hints.h", "cooperative_groups/reduce.h")
    arguments = argparse.Namespace(
        paths=[tmp_path], mode="rename", output=None, in_place=False, check=True, diff=None, arch=[], nvrtc=False,
        guards=False, rocm_path=None,
    )  # fmt: skip
    text = answer(arguments).text
    assert "HIP has no cooperative_groups/reduce.h, hipcompat/cache_hints.h; hipcompat has" in text
    assert f"-I {SHIM_PATH}" in text


def test_names_of_the_runtime_that_hip_lacks_bring_their_header() -> None:
    source = b"void f(unsigned *p) { cudaCtxResetPersistingL2Cache(); }\n"
    became = b"#include <hipcompat/overloads.h>\n" + source
    assert rename(source, PurePath("k.cu")).content == became
    assert rename(became, PurePath("k.hip")).content == became
    assert rename(source, PurePath("k.c")).content == source


def test_a_sum_with_a_named_rounding_brings_its_header_and_a_quotient_is_an_error(tmp_path: Path) -> None:
    source = b"__global__ void k(float *x, double *d) { *x = __fadd_rz(*x, 1.0f); *d = __fma_ru(*d, *d, 1.0); }\n"
    became = b"#include <hip/hip_runtime.h>\n#include <hipcompat/rounding.h>\n" + source
    assert rename(source, PurePath("k.cu")).content == became
    (tmp_path / "k.cu").write_bytes(source)
    assert scan([tmp_path], Target()).verdict == "translate"
    (tmp_path / "k.cu").write_bytes(source.replace(b"__fadd_rz", b"__fdiv_rz"))
    assert [found.detail for found in scan([tmp_path], Target()).findings] == ["__fdiv_rz"]


def test_a_files_own_function_brings_no_header() -> None:
    source = b"template <class T> T umin(T a, T b) { return a; }\nint f() { return umin(1, 2); }\n"
    assert rename(source, PurePath("k.cu")).content == source


def test_what_nvcc_brings_by_itself_is_included_where_it_is_called() -> None:
    source = b"void f(float *y) { memset(y, 0, 4); x.assert(1); std::isnan(*y); }\n"
    became = b"#include <string.h>\n" + source
    assert rename(source, PurePath("k.cu")).content == became
    assert rename(became, PurePath("k.hip")).content == became
    assert rename(source, PurePath("k.cuh")).content == source
    for known in (b"#include <cstring>\n", b"#include <string.h>\n"):
        assert rename(known + source, PurePath("k.cu")).content == known + source
    source = b"__global__ void k(float *y) { assert(isfinite(*y)); *y = umin(1u, 2u); }\n"
    headers = (b"hip/hip_runtime.h", b"assert.h", b"math.h", b"hipcompat/integer_extremes.h")
    assert rename(source, PurePath("k.cu")).content == b"".join(b"#include <%s>\n" % name for name in headers) + source


def test_names_that_hip_has_under_another_name_bring_none() -> None:
    source = b"auto e = make_cudaExtent(1, 2, 3); int s = CUBLAS_STATUS_LICENSE_ERROR;\n"
    became = b"auto e = make_hipExtent(1, 2, 3); int s = static_cast<hipblasStatus_t>(15);\n"
    assert rename(source, PurePath("k.cuh")).content == became


def test_memory_for_tiles_brings_its_header() -> None:
    source = b"__global__ void k() { __shared__ cooperative_groups::block_tile_memory<256> room; }\n"
    assert b"#include <hipcompat/block_tiles.h>\n" in rename(source, PurePath("k.cu")).content


def test_fp8_brings_the_header_that_has_its_types_on_every_gpu(tmp_path: Path) -> None:
    source = b"#include <cuda_fp8.h>\n__global__ void k(__nv_fp8_e4m3 *o, float *x) { *o = __nv_fp8_e4m3(*x); }\n"
    became = rename(source, PurePath("k.cu")).content
    assert became.startswith(b"#include <hip/hip_runtime.h>\n#include <hipcompat/fp8.h>\n#include <hip/hip_fp8.h>\n")
    assert rename(became, PurePath("k.hip")).content == became
    (tmp_path / "k.cu").write_bytes(source)
    (file,) = translate_tree([tmp_path], Target())
    assert file.find_headers() == ("hipcompat/fp8.h",)
    (tmp_path / "k.cu").write_bytes(became)
    assert not [found for found in scan([tmp_path], Target()).findings if found.rule != "fp8-flavour"]


def test_an_extreme_that_keeps_nan_brings_its_header() -> None:
    source = b"__global__ void k(__nv_bfloat16 *x) { *x = __hmin_nan(x[1], x[2]); }\n"
    became = b"#include <hip/hip_runtime.h>\n#include <hipcompat/nan_extremes.h>\n"
    assert rename(source, PurePath("k.cu")).content == became + source.replace(b"__nv_bfloat16", b"__hip_bfloat16")
