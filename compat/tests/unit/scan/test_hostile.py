"""Any bytes under any name: scan gives findings inside the file, and never an exception."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hipcompat.scan import RULES, Target
from hipcompat.scan.finding import Skipped
from hipcompat.scan.scanner import scan_bytes
from hipcompat.scan.tree import Candidate

LANGUAGES = (
    "cuda", "python", "setup", "cython", "notebook", "cmake", "meson", "requirements", "pyproject", "conda", "docker",
    "yaml", "shell", "ptx", "binary",
)  # fmt: skip
WORDS = (
    "#if ", "#ifdef __CUDACC__\n", "#else\n", "#endif\n", "#define M ",
    "#include <cuda/barrier>\n", "defined(", "\\\n", "/*",
    "*/", "//", '"', "'", 'R"x(', ')x"', "asm(", "%%laneid", "mov.u32 ", "__shfl_sync(",
    "0xffffffff", ",", "(", ")", "{", "}",
    "__global__ void k() {", "<<<", ">>>", "cub::DeviceReduce::Sum(", "nvmlInit()", "warpSize",
    "[", "]", "tex2D<float>(",
    "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, ", "9" * 50, "* 1024)",
    "&& ", "<< ", "/ 0", "\n",
    "import pynvml\n", "torch.version.cuda", '"""', "hipcompat: ignore[", "FROM nvidia/cuda\n",
    "pip install torch\n", "\0",
    "threadIdx.x & 31", "::max({", ".major >= 9", "é", "#[[", "]]", "-gencode", "std::", "cuda::", "R\"(", "u8\"",
)  # fmt: skip


def _join(parts: list[str]) -> bytes:
    return "".join(parts).encode("utf-8", "surrogatepass")


_contents = st.one_of(
    st.binary(max_size=400),
    st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=60).map(_join),
    st.lists(st.sampled_from(WORDS), max_size=30).map(lambda parts: "".join(parts).encode("utf-16")),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=_contents, language=st.sampled_from(LANGUAGES))
def test_no_content_stops_a_scan(content: bytes, language: str) -> None:
    result = scan_bytes(content, Candidate(path="file", language=language, size_bytes=len(content)), Target())
    if isinstance(result, Skipped):
        return
    lines = content.count(b"\n") + 1
    for finding in result.report.findings:
        assert finding.rule in RULES
        assert 1 <= finding.line <= lines
        assert finding.column >= 1


REPEATED = (
    "(", '"', "'", "/", "/*", 'R"(', 'R"x(a)y"', "#if 1\n", "#if", "#ifdef __CUDACC__\n", "#ifdef CUBLAS_API_H_\n",
    "__global__ ", "__global__ void k() { ", "asm(", "__shfl_sync(", "threadIdx.x & 31 ", "warpsize", "nvmlInit(",
    "int nvmlInit(", "cub::X<", "unsigned v = ", "compute_capability", "// hipcompat: ignore[nvml] nvmlInit()", "\\\n",
    "{", "cuda::std::", "cg::reduce", ".major ", "#define M(", "{{{{nvmlInit();", "{}", "#include <a.h>\n",
)  # fmt: skip
REPEATED_SINCE = (
    "__global__ void k() { __shared__ float a[n * n]; }\n",
    "template <int N> __global__ void k() { __shared__ int a[N]; } k<4>(",
    "k<<<1, 2, n>>>(p);",
    "k<<<1, ",
    "constexpr int a = b;\n",
    "const const ",
    "const int n = n + n;\n",
    "enum { a = b, ",
    "__shfl_sync(m, v, 0); unsigned m = m; ",
    "asm(A);\n#define A A A\n",
    '#define F(x) asm(x)\nF("mov.u32 %0;");\n',
    "ASM(",
    "#define A(x) A(x) B\n#define B A(B) A(B)\n__device__ void f() { asm(A(B)); }\n",
    "#define C(f) cuda##f\n",
    "cuda##",
    "CUdeviceptr p; p + 1; ",
    "CUdeviceptr ",
    "cudaDeviceGetAttribute(&v, ComputeCapability); v > 1; ",
    "cudaRuntimeGetVersion(&v);",
    "__device__ int f(int n) { return f(warpSize); } ",
    "f(warpSize, ",
    "__ballot_sync(m, warpSize); ",
    '"-arch=sm_80" ',
    '"-arch", ',
    '"__global__" ',
    'R"(__global__ asm)" ',
    '"__global__ \\n" x ',
    "cudaFuncSetAttribute(k<a, b>, ",
    "cudaMemLocation l; ",
)
REPEATED_IN_PYTHON = (
    "torch.version.cuda.split()\n",
    "v = torch.version.cuda\nv.split()\n",
    "if torch.version.cuda: v.split()\n",
    "if torch.version.cuda is None:\n  raise v\n",
    "def f(): return torch.version.cuda and torch.version.hip\n",
    "x = torch.cuda.get_device_capability()\nx > 1\n",
    "def f():\n  return f()[0]\nf() > torch.cuda.get_device_capability()\n",
    "a = b\nb = a\nb > get_device_capability()\n",
    "from torch import version as v\nv.cuda[1]\n",
    "try:\n  x\nexcept: y\n",
    "f(extra_cuda_cflags=['-O3 --use_fast_math -arch=sm_80'])\n",
    "inline_asm_elementwise('mov.b32 $0, $1;')\n",
    "(",
    "x = [",
    "x = (torch.version.cuda,\n",
    "lambda: ",
    "not ",
    "-",
)
REPEATED_IN_BUILD_FILES = (
    "pip install ", "#[[", "find_package(", "-gencode ", "project(", "nvidia-smi ", "FROM nvidia/", '\\"', "'''",
    "ARG A=$A$A$A\nFROM $A\n", "ARG A=x$A", "$A", "image: nvidia/", "- pytorch-cuda=", "-lcudart", "--from=",
    "conda install ",
)  # fmt: skip


@pytest.mark.parametrize("language", ["cuda", "python", "cmake", "docker", "yaml", "conda"])
@pytest.mark.parametrize("part", [*REPEATED, *REPEATED_SINCE, *REPEATED_IN_BUILD_FILES])
def test_time_grows_with_size_and_no_faster(part: str, language: str) -> None:
    content = ("cuda nvcc " + part * (100_000 // len(part))).encode()
    started_s = time.process_time()
    scan_bytes(content, Candidate(path="file", language=language, size_bytes=len(content)), Target())
    assert time.process_time() - started_s < 6


@pytest.mark.parametrize("language", ["python", "notebook"])
@pytest.mark.parametrize("part", REPEATED_IN_PYTHON)
def test_time_grows_no_faster_in_python(part: str, language: str) -> None:
    source = "import torch\n" + part * (100_000 // len(part))
    cell = json.dumps({"cells": [{"cell_type": "code", "source": source.splitlines(keepends=True)}]})
    content = (cell if language == "notebook" else source).encode()
    started_s = time.process_time()
    scan_bytes(content, Candidate(path="file", language=language, size_bytes=len(content)), Target())
    assert time.process_time() - started_s < 6


@pytest.mark.parametrize(
    "part", ['"', '"\\', "[", "{", '{"cells": ', '{"cells": [{"cell_type": "code", "source": "', "\\u0041"]
)
def test_a_damaged_notebook_takes_no_longer(part: str) -> None:
    content = ('{"cells": [{"cell_type": "code", "source": ["cuda' + part * (100_000 // len(part))).encode()
    started_s = time.process_time()
    scan_bytes(content, Candidate(path="file", language="notebook", size_bytes=len(content)), Target())
    assert time.process_time() - started_s < 6
