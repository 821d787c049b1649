"""Every rule finds its own example, through the front door, and nothing where the example does not apply."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hipcompat.scan import RULES, Report, Rule, Target, scan
from hipcompat.scan.report.text import format_rules

NAMES = {
    "cuda": "k.cu", "python": "module.py", "setup": "setup.py", "cmake": "CMakeLists.txt",
    "requirements": "requirements.txt", "docker": "Dockerfile", "shell": "run.sh", "binary": "lib.so",
    "yaml": "compose.yaml", "cython": "m.pyx", "ptx": "k.ptx",
}  # fmt: skip
PAGE = Path(__file__).parents[4] / "docs" / "compat-rules.md"


def _scan(text: str, folder: Path, name: str = "k.cu", **target: object) -> Report:
    (folder / name).write_bytes(text.encode("latin-1"))
    return scan([folder], Target(**target))  # type: ignore[arg-type]  # archs and rocm


def _rules(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings}


def _arch_of(rule: Rule) -> str:
    prefix = rule.archs[0] if rule.archs else "gfx942"
    return {"gfx9": "gfx942", "gfx94": "gfx942", "gfx90": "gfx90a"}.get(prefix, prefix)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_finds_its_example(rule: Rule, tmp_path: Path) -> None:
    report = _scan(rule.example, tmp_path, NAMES[rule.language], archs=(_arch_of(rule),))
    found = [finding for finding in report.findings if finding.rule == rule.id]
    assert found, _rules(report)
    assert found[0].severity == rule.severity
    assert found[0].column >= 1


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.archs], ids=lambda rule: rule.id)
def test_another_gpu_has_not_the_problem(rule: Rule, tmp_path: Path) -> None:
    free = next(arch for arch in ("gfx942", "gfx950", "gfx1100", "gfx90a") if not arch.startswith(rule.archs))
    assert rule.id not in _rules(_scan(rule.example, tmp_path, NAMES[rule.language], archs=(free,)))


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.fixed_in], ids=lambda rule: rule.id)
def test_a_later_rocm_has_not_the_problem(rule: Rule, tmp_path: Path) -> None:
    assert rule.id not in _rules(_scan(rule.example, tmp_path, NAMES[rule.language], rocm=rule.fixed_in))


def test_every_rule_names_a_public_page_and_what_to_do() -> None:
    for rule in RULES.values():
        assert re.match(r"https://[\w.-]+/", rule.evidence), rule.id
        assert rule.advice
        assert not rule.advice.endswith(".")
        assert not rule.title.endswith(".")


def test_the_page_of_rules_is_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition("\n## ")[2] == format_rules().partition("## ")[2], "run python -m hipcompat.scan.report"


CLEAN = {
    "comment": "// cudaGraphConditionalHandleCreate(); asm(\"mov.u32 %0;\")\n/* tex2D( */",
    "string": 'const char *a = "asm(mov.u32) nvmlInit() __shfl_sync(0xffffffff"; char b = \'"\';',
    "raw string": 'const char *a = R"x(" nvmlInit(); )" )x";',
    "if 0": "#if 0\n#include <npp.h>\nvoid f() { nvmlInit(); }\n#endif",
    "cuda arch branch": "#if defined(__HIPCC__)\n#else\nvoid f() { nvmlInit(); }\n#endif",
    "windows": "#ifdef _WIN32\nvoid f() { nvmlInit(); }\n#endif",
    "own function": "int __nanosleep(int x) { return x; }\nint g() { return __nanosleep(1); }",
    "member": "void f() { q.nvmlInit(); q->nvmlInit(); }",
    "host asm": 'void f() { asm volatile("" ::: "memory"); asm("pause"); }',
    "amd asm": '__device__ void f() { asm volatile("s_waitcnt vmcnt(0)"); asm("v_mov_b32 %0, %1" : "=v"(a)); }',
    "other namespace": "at::cuda::barrier b; namespace cuda { }",
    "a part of cuda::std that is there": "auto f = cuda::std::identity(); using T = cuda::std :: array<int, 2>;",
    "memory of a tile": "void f() { cooperative_groups::block_tile_memory<256> &room = *r; }",
    "plain 32": "int f(int bytes) { return bytes / 32; }",
    "full 64-bit mask": "__global__ void k(int v) { __shfl_sync(0xffffffffffffffffULL, v, 0); __syncwarp(); }",
    "active mask": "__global__ void k(int v) { __shfl_sync(__activemask(), v, 0, 32); }",
    "warpSize as value": "__global__ void k() { int l = threadIdx.x % warpSize; x[l / warpSize] = 1; }",
    "texture outside kernels": "void f(int tex2D) { tex2D(1); }",
    "host launch": "__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }",
    "asked error": "void f() { if (cudaGetLastError() != cudaSuccess) return; }",
    "small tile": "void f() { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024); }",
}


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_no_breakage_is_not_found(name: str, tmp_path: Path) -> None:
    report = _scan(CLEAN[name], tmp_path)
    assert not [finding for finding in report.findings if finding.rule != "cudacc-guard"], report.findings


@pytest.mark.parametrize(
    ("text", "rule", "line", "column"),
    [
        ("int a;\n  nvmlIn\\\nit();\n", "nvml", 2, 3),
        ("/* \xc3\xa9\xc3\xa9 */ nvmlInit();\n", "nvml", 1, 10),
        ("\t\\\n\\\n nvmlInit();", "nvml", 3, 2),
        ("#define X \\\r\n  nvmlInit()\r\n", "nvml", 2, 3),
        ("\xef\xbb\xbfnvmlInit();", "nvml", 1, 1),
    ],
)
def test_places_are_those_of_the_file(text: str, rule: str, line: int, column: int, tmp_path: Path) -> None:
    finding = next(found for found in _scan(text, tmp_path).findings if found.rule == rule)
    assert (finding.line, finding.column) == (line, column)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1"])
def test_any_encoding_is_read(encoding: str, tmp_path: Path) -> None:
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}
    (tmp_path / "k.cu").write_bytes(marks.get(encoding, b"") + "// é\nvoid f() { nvmlInit(); }".encode(encoding))
    assert _rules(scan([tmp_path], Target())) == {"nvml"}


def test_a_name_under_an_unknown_macro_is_no_error(tmp_path: Path) -> None:
    report = _scan("#ifdef WITH_NVML\nvoid f() { nvmlInit(); }\n#endif\n", tmp_path)
    assert [(finding.severity, finding.is_certain) for finding in report.findings] == [("warning", False)]


def test_ptx_names_its_opcodes(tmp_path: Path) -> None:
    asm = '"{ .reg .u64 t; cvta.to.shared.u64 t, %1; }\\n\\tcp.async.cg [%0], 16;"'
    text = f"__device__ void f() {{ asm volatile({asm}); }}"
    finding = _scan(text, tmp_path).findings[0]
    assert finding.detail == "cvta.to.shared.u64, cp.async.cg"


def test_newer_api_is_fine_for_newer_rocm(tmp_path: Path) -> None:
    assert not _scan("void f() { cudaStreamGetId(s, &i); }", tmp_path, rocm=(7, 2, 4)).findings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("void f() { cudaMemPrefetchAsync(p, 4, 0, s); }", set()),
        ("void f() { cudaMemPrefetchAsync(p, 4, place, 0, s); }", {"api-too-new"}),
        ("void f(cudaMemLocation at) { cudaMemAdvise(p, 4, a, at); }", {"api-too-new"}),
        ("void f() { cudaStreamGetCaptureInfo(s, &st, &id, &g, &d, &e, &n); }", {"api-signature"}),
        ("void f() { cudaGraphAddDependencies(g, &a, &b, 1); }", set()),
        ("void f() { cudaGetDriverEntryPoint(name, &p, cudaEnableDefault); }", {"api-signature"}),
    ],
)
def test_arguments_tell_a_newer_signature(text: str, found: set[str], tmp_path: Path) -> None:
    assert _rules(_scan(text, tmp_path)) == found
    assert _rules(_scan(text, tmp_path, rocm=(7, 2, 4))) == found - {"api-too-new"}


def test_nvshmem_is_a_library_that_is_missing(tmp_path: Path) -> None:
    text = "#include <nvshmem.h>\nvoid f() { nvshmem_init(); nvshmemx_barrier_all_on_stream(s); }"
    found = [(finding.rule, finding.detail) for finding in _scan(text, tmp_path).findings]
    names = ("nvshmem.h", "nvshmem_init", "nvshmemx_barrier_all_on_stream")
    assert found == [("library-missing", name) for name in names]


@pytest.mark.parametrize(
    "text",
    ["auto p = thrust::cuda::par.on(s);", "thrust::system::cuda::vector<int> v;", "using namespace thrust :: cuda;",
     "#include <thrust/system/cuda/execution_policy.h>", "auto p = thrust::cuda::par_nosync;"],
)  # fmt: skip
def test_thrusts_cuda_is_an_error_and_its_device_is_none(text: str, tmp_path: Path) -> None:
    assert _rules(_scan(text, tmp_path)) == {"thrust-cuda"}
    assert not _rules(_scan(text.replace("cuda", "hip"), tmp_path))


BF16 = "#include <cuda_runtime.h>\n#if {}\n#include <cuda_bf16.h>\n#endif\n{}__device__ __nv_bfloat16 x;\n"


@pytest.mark.parametrize(
    ("condition", "more", "told"),
    [
        ("CUDART_VERSION >= 11000", "", ("error", 3)), ("__CUDACC_VER_MAJOR__ >= 11", "", ("error", 3)),
        ("CUDA_VERSION >= 11000", "", ("warning", 3)), ("CUDA_VERSION < 11000\n#else", "", ("warning", 4)),
        ("defined(CUDA_VERSION) && CUDA_VERSION >= 11000", "", ("warning", 3)), ("CUDA_VERSION < 11000", "", None),
        ("CUDA_VERSION >= 11000", '#include "own.h"\n', None), ("WITH_BF16", "", None),
        ("CUDART_VERSION >= 11000", "#include <ATen/ATen.h>\n", None),
        ("CUDART_VERSION >= 11000", "#include <cuda_bf16.h>\n", None),
    ],
)
def test_a_header_that_cudas_version_leaves_out_is_missed_where_its_names_are_used(
    condition: str, more: str, told: tuple[str, int] | None, tmp_path: Path
) -> None:
    found = [item for item in _scan(BF16.format(condition, more), tmp_path).findings if item.rule == "cuda-version"]
    assert [(item.severity, item.line) for item in found] == ([told] if told else [])
    unused = BF16.format(condition, more).replace("__nv_bfloat16", "float")
    assert "cuda-version" not in _rules(_scan(unused, tmp_path))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('void *f() { return dlopen("libcuda.so.1", 1); }', [("cuda-library-name", "libcuda.so.1")]),
        ('void *f() { return dlopen("libnvidia-ml.so.1", 1); }', [("cuda-library-name", "libnvidia-ml.so.1")]),
        ('void *f() { return dlopen("libamdhip64.so", 1); } // "libcuda.so"', []),
        ('void f() { cuModuleLoad(&m, "a/kernel.ptx"); }', [("ptx-load", "a/kernel.ptx")]),
        ('void f() { cuModuleLoad(&m, "a/kernel.co"); }', []), ('const char *cuda = "kernel.ptx";', []),
    ],
)  # fmt: skip
def test_files_that_code_opens_by_name(text: str, found: list[tuple[str, str]], tmp_path: Path) -> None:
    assert [(item.rule, item.detail) for item in _scan(text, tmp_path).findings] == found


@pytest.mark.parametrize("text", ["p.warpSize != 32", "32 == p->warpSize", "warpSize == 32u"])
def test_a_size_of_the_warp_that_is_compared_with_32(text: str, tmp_path: Path) -> None:
    assert _rules(_scan(f"bool f(cudaDeviceProp p) {{ return {text}; }}", tmp_path)) == {"warp-32"}
    assert not _rules(_scan(f"bool f(cudaDeviceProp p) {{ return {text.replace('32', '64')}; }}", tmp_path))


def test_cuda_source_in_a_python_string_is_scanned(tmp_path: Path) -> None:
    text = 'K = r"""\nextern "C" __global__ void k() {\n  __nanosleep(1);\n}\n"""\n'
    finding = next(item for item in _scan(text, tmp_path, "m.py").findings if item.rule == "device-function")
    assert (finding.line, finding.column) == (3, 3)


def test_the_prefilter_hides_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rule in RULES.values():
        _scan(rule.example, tmp_path, f"{rule.id}.{NAMES[rule.language].rpartition('.')[2]}")
    filtered = scan([tmp_path], Target()).findings
    monkeypatch.setattr("hipcompat.scan.scanner.may_have_hits", lambda _content, _language: True)
    assert scan([tmp_path], Target()).findings == filtered
