"""Headers of NVIDIA's that no ROCm has: an error where they are included, not a note that nobody knows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.scan import Target, scan

MISSING = (
    "NvInfer.h", "NvInferRuntime.h", "NvOnnxParser.h", "cupti.h", "cupti_activity.h", "nvperf_host.h", "cudss.h",
    "nvfatbin.h", "cudaProfiler.h", "nvcuvid.h", "cuviddec.h", "nvEncodeAPI.h", "nvcomp.h", "nvcomp/lz4.h",
    "custatevec.h", "cutensornet.h", "cublasMp.h", "cusolverMp.h", "cusolverMg.h", "cublasdx.hpp", "cufftdx.hpp",
    "cusolverdx.hpp", "curanddx.hpp",
)  # fmt: skip
CALLS = ("cuptiActivityEnable(k)", "cudssCreate(&h)", "nvFatbinCreate(&h, o, 1)", "custatevecCreate(&h)")


@pytest.mark.parametrize("quotes", ["<>", '""'])
@pytest.mark.parametrize("header", MISSING)
def test_a_missing_header_is_an_error(header: str, quotes: str, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(f"#include {quotes[0]}{header}{quotes[1]}\nint main() {{}}\n")
    report = scan([tmp_path], Target())
    assert [(finding.rule, finding.severity, finding.detail) for finding in report.findings] == [
        ("library-missing", "error", header)
    ]
    assert report.verdict == "blocked"


@pytest.mark.parametrize("call", CALLS)
def test_its_functions_are_missing_as_well(call: str, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(f"void f() {{ {call}; }}\n")
    assert [finding.rule for finding in scan([tmp_path], Target()).findings] == ["library-missing"]


@pytest.mark.parametrize("header", ["cuda_profiler_api.h", "cuda_runtime.h", "cufftXt.h", "NvStrings.h", "nvcompute.h"])
def test_other_headers_are_not(header: str, tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(f"#include <{header}>\nvoid f() {{ cudaFree(0); }}\n")
    assert "library-missing" not in [finding.rule for finding in scan([tmp_path], Target()).findings]
