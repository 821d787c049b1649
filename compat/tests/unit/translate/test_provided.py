"""Names that HIP lacks and hipcompat's headers have: renamed source includes the header, once, and scan knows them."""

from __future__ import annotations

from pathlib import PurePath

from hipcompat.translate import rename

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
