"""Python: values that are None or mean something else on ROCm, under whatever name; flags, PTX and packages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from scanned import find_in


def _find(text: str, language: str = "python") -> list[tuple[str, str]]:
    """Rules and details, in the order of the text."""
    return [(finding.rule, finding.detail) for finding in find_in(text, language)]


RAISES = {
    "import torch\nx = torch.version.cuda.split('.')": ".split",
    "import torch\nx = torch.version.cuda.replace('.', '')": ".replace",
    "import torch as th\nx = th.version.cuda[:2]": "[...]",
    "from torch.version import cuda\nx = int(cuda)": "int()",
    "from torch import version as v\nx = v.cuda >= '11'": "a comparison",
    "import torch\nx = '12' in torch.version.cuda": "a comparison",
    "import torch\nx = 'cu' + torch.version.cuda": "an operator",
    "import torch\nx = f'{torch.version.cuda:>5}'": "a format",
    "import torch\nfrom packaging.version import Version\nx = Version(torch.version.cuda)": "Version()",
    "import torch\nx = getattr(torch.version, 'cuda', None).split('.')": ".split",
    "import torch\nif not torch.version.cuda.startswith('11'):\n    pass": ".startswith",
    "import torch\ndef f():\n    if torch.version.hip:\n        pass\n    torch.version.cuda.split('.')": ".split",
}
ASKS = (
    "import torch\nx = torch.version.cuda",
    "import torch\nx = f'cu{torch.version.cuda}'",
    "import torch\nx = 'cu%s' % torch.version.cuda",
    "import torch\nx = torch.version.cuda and torch.version.cuda.split('.')[0] == '12'",
    "import torch\nx = torch.version.cuda.split('.') if torch.version.cuda else []",
    "import torch\nif torch.version.cuda is not None:\n    x = torch.version.cuda.split('.')",
    "import torch\ndef f():\n    if f(torch.version.hip):\n        return 1\n    return torch.version.cuda.split('.')",
    "import torch\nassert torch.version.hip is None\nx = torch.version.cuda.split('.')",
    "import torch\ntry:\n    x = torch.version.cuda.split('.')\nexcept AttributeError:\n    x = []",
    "import torch\nv = torch.version.cuda\nif v is None:\n    raise SystemExit\nv.split('.')",
    "import torch\nv = torch.version.cuda\nv = v or '12.1'\nv.split('.')",
    "import torch\nv = torch.version.cuda\ndef f(v):\n    return v.split('.')",
)


@pytest.mark.parametrize("text", RAISES)
def test_what_raises_for_none_is_an_error(text: str) -> None:
    assert ("torch-version-none", RAISES[text]) in _find(text)


@pytest.mark.parametrize("text", ASKS)
def test_what_asks_first_raises_nothing(text: str) -> None:
    assert {rule for rule, _ in _find(text)} == {"torch-version-cuda"}


def test_what_follows_a_return_where_hip_is_set_has_no_finding() -> None:
    text = "import torch\ndef f():\n    if torch.version.hip:\n        return 1\n    return torch.version.cuda[0]"
    assert _find(text) == []


def test_a_version_in_a_variable_raises_where_it_is_used() -> None:
    text = "import torch\nv = torch.version.cuda\nmajor = v.split('.')[0]\n"
    assert _find(text) == [("torch-version-cuda", "torch.version.cuda"), ("torch-version-none", ".split")]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("major, minor = torch.cuda.get_device_capability()\nif major >= 8: pass", "major >= 8"),
        ("cap = torch.cuda.get_device_capability()\nx = cap >= (8, 0)", "cap >= (8, 0)"),
        ("a, b = torch.cuda.get_device_capability()\nsm = a * 10 + b\nx = sm == 90", "sm == 90"),
        ("a, b = torch.cuda.get_device_capability()\nx = (a, b) >= (8, 6)", "(a, b) >= (8, 6)"),
        ("def cc():\n    return torch.cuda.get_device_capability()[0]\nx = cc() > 8", "cc() > 8"),
    ],
)
def test_a_capability_is_followed_to_its_comparison(text: str, detail: str) -> None:
    assert _find(f"import torch\n{text}") == [("python-capability", detail)]


def test_what_a_function_makes_of_a_capability_is_no_capability() -> None:
    text = (
        "import torch\ndef f(n):\n    cap = torch.cuda.get_device_capability()\n    n = choose(cap)\n"
        "    key = (n, cap)\n    return n == 4 or key in cache\n"
        "def g(cap):\n    return cap > 3\n"
    )
    assert _find(text) == []


def test_a_capability_that_is_printed_is_no_decision() -> None:
    assert _find("import torch\nmajor, minor = torch.cuda.get_device_capability()\nprint(major, 3 > 2)") == []


LOAD = "from torch.utils.cpp_extension import load_inline\nload_inline('k', '', extra_cuda_cflags={flags})\n"


def test_flags_outside_of_setup_are_read_word_by_word() -> None:
    flags = "['-O3 --expt-relaxed-constexpr --use_fast_math', '-gencode=arch=compute_80,code=sm_80', '-arch=sm_80']"
    assert _find(LOAD.format(flags=flags)) == [
        ("nvcc-flag", "--expt-relaxed-constexpr"), ("nvcc-flag", "--use_fast_math"),
        ("nvcc-flag", "-gencode=arch=compute_80,code=sm_80"), ("nvrtc-option", "-arch=sm_80"),
    ]  # fmt: skip
    assert _find(LOAD.format(flags="['-O3']")) == []


REFUSED = "-fmad=false -t=4 -keep -Xcompiler=-Wall -G -Xlinker=-s -arch=native -arch=all -optf=x -odir=d"
TAKEN = "-dw -dlink -lto -dlto -dopt=on -Wno-deprecated-gpu-targets -O3 -Xcompiler -fPIC -std=c++17 -lineinfo"


def test_a_flag_is_found_where_clang_refuses_it() -> None:
    flags = [*REFUSED.split(), *TAKEN.split()]
    assert _find(LOAD.format(flags=flags)) == [("nvcc-flag", flag) for flag in REFUSED.split()]
    command = "subprocess.run(['cmake', '-G', 'Ninja', '-t', '-arch'])"
    assert _find(f"{LOAD.format(flags=['-O3'])}{command}\n") == []


@pytest.mark.parametrize("module", ["setuptools_extension", "torch_extension"])
def test_flags_that_hipcompats_helper_translates_block_nothing(module: str) -> None:
    flags = ["--expt-relaxed-constexpr", "-arch=sm_80", "-gencode=arch=compute_80,code=sm_80", "-G"]
    build = "from hipcompat.{} import CUDAExtension\nCUDAExtension('k', [], extra_compile_args={{'nvcc': {}}})\n"
    assert _find(build.format(module, flags), "setup") == []
    assert _find(build.format(module, [*flags, "-optix-ir", "-lnpp"]), "setup") == [
        ("nvcc-flag", "-optix-ir"), ("nvcc-flag", "-lnpp"),
    ]  # fmt: skip
    assert len(_find(build.format("x", flags), "setup")) == len(flags)


@pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 is not installed")
@pytest.mark.parametrize("flag", [*REFUSED.split(), *(flag for flag in TAKEN.split() if flag[:2] != "-f")])
def test_clang_refuses_what_is_found(flag: str, tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text("int main() {}\n")
    clang = ["clang-22", "-###", "-c", "-nogpulib", "-nogpuinc", "--offload-arch=gfx942", "k.hip"]
    result = subprocess.run([*clang, "-o", "k.o", *flag.split()], cwd=tmp_path, capture_output=True, check=False)
    writes_elsewhere = flag.startswith("-o")
    assert (result.returncode != 0 or writes_elsewhere) == (flag in REFUSED.split())


def test_options_of_nvrtc_that_name_a_gpu() -> None:
    text = "a = ('-O3', '--gpu-architecture=compute_80', '-arch=sm_90a')\nb = [f'-arch=sm_{cc}', '--fmad=true']\n"
    assert [detail for rule, detail in _find(text) if rule == "nvrtc-option"] == [
        "--gpu-architecture=compute_80", "-arch=sm_90a", "-arch=sm_",
    ]  # fmt: skip


TRITON = "import triton.language as tl\ndef k(x):\n    return tl.inline_asm_elementwise({asm}, '=r,r', [x])\n"


def test_ptx_in_triton_is_found_and_amds_assembly_is_none() -> None:
    ptx = "'''\\n{\\n  .reg .b32 t;\\n  mov.b32 t, $1;\\n  cvt.rn.f16x2.f32 $0, t;\\n}'''"
    assert _find(TRITON.format(asm=ptx)) == [("inline-ptx", "mov.b32, cvt.rn.f16x2.f32")]
    assert _find(TRITON.format(asm="'v_add_f32 $0, $1, $1'")) == []
    assert _find("A = 'mov.b32 $0, $1;'\n" + TRITON.format(asm="A")) == [("inline-ptx", "mov.b32")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from numba import cuda\n@cuda.jit\ndef f(): pass\n@cuda.jit\ndef g(): pass",
         [("nvidia-package", "numba.cuda")]),
        ("import numba\nnumba.cuda.jit()\nnumba.njit()", [("nvidia-package", "numba.cuda.jit")]),
        ("import nvshmem.core", [("nvidia-package", "nvshmem.core")]),
        ("import cupy as cp\ncp.zeros(3)", [("cupy-import", "cupy")]),
        ("import numba\nnumba.njit()", []),
    ],
)  # fmt: skip
def test_packages_of_cuda(text: str, found: list[tuple[str, str]]) -> None:
    assert _find(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.environ['JAX_PLATFORMS'] = '{}'\nimport jax",
        "import os, jax\nos.environ.setdefault('JAX_PLATFORMS', '{}')",
        "import jax\njax.config.update('jax_platforms', '{}')",
        "import jax\njax.config.update('jax_platform_name', '{}')",
    ],
)
def test_a_platform_of_jax_that_is_named_cuda(text: str) -> None:
    assert _find(text.format("cuda")) == [("backend-name", "cuda")]
    assert _find(text.format("cuda,cpu")) == [("backend-name", "cuda,cpu")]
    assert _find(text.format("rocm,cpu")) == []


def test_triton_for_nvidias_gpus() -> None:
    assert _find("from triton.language.extra.cuda import libdevice\n") == [
        ("triton-cuda", "triton.language.extra.cuda.libdevice")
    ]
    assert _find("from triton.language.extra import libdevice\n") == []
    launch = "import triton\nc = triton.Config({{}}, num_ctas={}, num_warps={})\n{}"
    assert _find(launch.format(2, 32, "")) == [("triton-launch", "num_ctas=2"), ("triton-launch", "num_warps=32")]
    assert _find(launch.format(2, 16, "print 'python 2'\n")) == [("triton-launch", "num_ctas=2")]
    assert _find(launch.format(1, 16, "")) == []
    assert find_in(launch.format(1, 32, ""), "python", "gfx1100") == ()


def test_a_file_of_ptx_that_is_loaded() -> None:
    assert _find("import cupy\nm = cupy.RawModule(path='k.ptx')\nn = 'k.ptx'\n")[1:] == [("ptx-load", "k.ptx")]
    assert _find("m = cuda.module_from_file('k.cubin')\n") == [("ptx-load", "k.cubin")]
