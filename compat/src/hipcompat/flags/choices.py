"""The value of an nvcc option → what becomes of it, for options whose value decides."""

from __future__ import annotations

from hipcompat.console import quote
from hipcompat.flags.option import Choice

LIBRARIES = {
    "cudart": "amdhip64", "cudart_static": "amdhip64", "cuda": "amdhip64", "nvrtc": "hiprtc", "cublas": "hipblas",
    "cublasLt": "hipblaslt", "cusparse": "hipsparse", "cusolver": "hipsolver", "cufft": "hipfft", "cufftw": "hipfftw",
    "curand": "hiprand", "nccl": "rccl", "cusparseLt": "hipsparselt",
}  # fmt: skip
"""Library names without lib: CUDA's → ROCm's (the -dev packages' .so names)."""

ROCTX = ("nvToolsExt", "nvtx3interop")
OTHER_INTERFACES = {
    "cudnn": "MIOpen", "cupti": "rocprofiler-sdk", "nvidia-ml": "amdsmi", "nvinfer": "MIGraphX",
    "cutensor": "hipTensor", "nvjpeg": "rocJPEG", "nvcuvid": "rocDecode", "nvgraph": "hipGRAPH", "npp": "rpp",
    "nvshmem": "rocSHMEM",
}  # fmt: skip
"""Beginnings of library names → ROCm's library of that purpose, whose calls are others."""
ONLY_NVIDIAS = (
    "cufile", "nvJitLink", "nvblas", "nvptxcompiler", "nvrtc-builtins", "nvfatbin", "nvperf", "cuinj64", "nvencode",
    "nvidia-encode", "accinj64", "cufilt", "cusolverMg", "nvvm", "cudla",
)  # fmt: skip
"""Beginnings of names of libraries that ROCm has nothing for."""
NOT_NEEDED = {
    "cudadevrt": "the device runtime is what dynamic parallelism needs, which HIP has not",
    "culibos": "NVIDIA's static libraries need it, and nothing of ROCm's",
    "metis_static": "NVIDIA's static libraries need it, and nothing of ROCm's",
    "lapack_static": "NVIDIA's static libraries need it, and nothing of ROCm's",
}

DEFINES = {
    "__CUDA_NO_HALF_OPERATORS__": "__HIP_NO_HALF_OPERATORS__=1",
    "__CUDA_NO_HALF_CONVERSIONS__": "__HIP_NO_HALF_CONVERSIONS__=1",
    "CUDA_API_PER_THREAD_DEFAULT_STREAM": "HIP_API_PER_THREAD_DEFAULT_STREAM",
}
"""As torch.utils.cpp_extension defines them, and as hip/hip_runtime_api.h reads them."""

FAITHLESS_DEFINES = ("__CUDA_ARCH__", "__CUDACC__", "CUDA_VERSION", "CUDART_VERSION", "__CUDACC_VER_MAJOR__")
"""A definition that claims NVIDIA's compiler; code then takes branches that do not compile, or compute wrongly."""

FAST_MATH = (
    "-fgpu-flush-denormals-to-zero",
    "-fgpu-approx-transcendentals",
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-ffp-contract=fast",
)
"""nvcc: --ftz=true --prec-div=false --prec-sqrt=false --fmad=true and the fast intrinsics; device code only."""

NVCC_WARNINGS = frozenset((
    "cross-execution-space-call", "default-stream-launch", "deprecated-declarations", "ext-lambda-captures-this",
    "missing-launch-bounds",
))  # fmt: skip
WARNING_KINDS = NVCC_WARNINGS | {"all-warnings", "reorder"}
"""What nvcc documents for --Werror; without one of them -Werror is the host compiler's."""
LEVELS = frozenset("0123")
"""What nvcc documents for --optimize."""


def choose_library(name: str) -> Choice:
    """-lNAME: ROCm's library of the same purpose, where hipcompat's headers or translation lead calls there."""
    found = LIBRARIES.get(name) or LIBRARIES.get(name.removesuffix("_static").removesuffix("_static_nocallback"))
    if found:
        return "replaced", (f"-l{found}",), f"lib{found} has what lib{name} has, under HIP's names"
    if name in ROCTX:
        return (
            "replaced",
            ("-lrocprofiler-sdk-roctx",),
            "hipcompat's header calls it with -DHIPCOMPAT_ROCTX, else nothing",
        )
    if name in NOT_NEEDED:
        return "dropped", (), NOT_NEEDED[name]
    if other := next((OTHER_INTERFACES[start] for start in OTHER_INTERFACES if name.startswith(start)), ""):
        return "refused", (), f"lib{name} has no twin of the same calls; {other} is ROCm's library to write for"
    if name.startswith(ONLY_NVIDIAS):
        return "refused", (), f"ROCm has no lib{name}"
    return "kept", (f"-l{name}",), ""


def choose_define(text: str) -> Choice:
    """-DNAME: macros that HIP reads under another name; those that claim NVIDIA's compiler go."""
    name = text.partition("=")[0]
    if name in DEFINES:
        return "replaced", (f"-D{DEFINES[name]}",), "HIP's headers read this name"
    if name in FAITHLESS_DEFINES:
        return "refused", (), f"{name} must not be claimed: code that asks for it would take NVIDIA's branches"
    return "kept", (f"-D{text}",), ""


def choose_undefine(name: str) -> Choice:
    """-UNAME."""
    if name in DEFINES:
        return "replaced", (f"-U{DEFINES[name].partition('=')[0]}",), "HIP's headers read this name"
    return "kept", (f"-U{name}",), ""


def choose_include(path: str) -> Choice:
    """-I: CUDA's own headers must not be found before HIP's."""
    if _is_toolkit(path):
        return "dropped", (), "NVIDIA's headers clash with HIP's"
    return "kept", ("-I", path), ""


def choose_library_path(path: str) -> Choice:
    """-L."""
    if _is_toolkit(path):
        return "dropped", (), "nothing from the CUDA toolkit is linked"
    return "kept", ("-L", path), ""


def _is_toolkit(path: str) -> bool:
    return any(part == "cuda" or part.startswith("cuda-") for part in path.split("/")) and "/local/" in f"/{path}"


def choose_language(name: str) -> Choice:
    """-x."""
    return ("replaced", ("-x", "hip"), "HIP is the language") if name == "cu" else ("kept", ("-x", name), "")


def choose_optimization(level: str) -> Choice:
    """-O, whose level clang also reads as one word."""
    return "kept", (f"-O{level}",), ""


def choose_machine(bits: str) -> Choice:
    """-m64 is all there is."""
    return ("kept", ("-m64",), "") if bits == "64" else ("refused", (), "ROCm is 64-bit only")


def _refuse_value(value: str, *known: str) -> Choice:
    return "refused", (), f"nvcc documents {' and '.join(known)} for it, and {quote(value)} is neither"


def _choose_switch(value: str, on: Choice, off: Choice) -> Choice:
    if value not in {"true", "false"}:
        return _refuse_value(value, "true", "false")
    return on if value == "true" else off


def choose_rdc(value: str) -> Choice:
    """-rdc=true."""
    return _choose_switch(value, ("replaced", ("-fgpu-rdc",), ""), ("dropped", (), "it is clang's default"))


def choose_ftz(value: str) -> Choice:
    """--ftz."""
    on, off = "-fgpu-flush-denormals-to-zero", "-fno-gpu-flush-denormals-to-zero"
    return _choose_switch(value, ("replaced", (on,), ""), ("replaced", (off,), ""))


def choose_precision(value: str) -> Choice:
    """--prec-div, --prec-sqrt: clang has one switch for both."""
    on, off = "-fhip-fp32-correctly-rounded-divide-sqrt", "-fno-hip-fp32-correctly-rounded-divide-sqrt"
    reason = "one switch for division and square root"
    return _choose_switch(value, ("replaced", (on,), reason), ("replaced", (off,), reason))


def choose_contraction(value: str) -> Choice:
    """--fmad."""
    on, off = "-ffp-contract=fast", "-ffp-contract=off"
    return _choose_switch(value, ("replaced", (on,), ""), ("replaced", (off,), ""))


def choose_stream(value: str) -> Choice:
    """--default-stream; null is nvcc's other word for legacy."""
    if value not in {"legacy", "null", "per-thread"}:
        return _refuse_value(value, "legacy", "per-thread")
    return "replaced", (f"-fgpu-default-stream={'per-thread' if value == 'per-thread' else 'legacy'}",), ""


def choose_werror(value: str) -> Choice:
    """--Werror: most kinds are nvcc's own. Alone it is the host compiler's, which is clang."""
    if value in {"all-warnings", ""}:
        return "replaced", ("-Werror",), ""
    if value == "reorder":
        return "replaced", ("-Werror=reorder",), ""
    if value in NVCC_WARNINGS:
        return "dropped", (), f"clang has no warning {quote(value)} of nvcc's"
    return "kept", (f"-Werror={value}",), ""


def choose_ptxas(value: str) -> Choice:
    """-Xptxas: only -v says something that clang can say too."""
    if value in {"-v", "--verbose", "-warn-spills", "--warn-on-spills"}:
        return "replaced", ("-Rpass-analysis=kernel-resource-usage",), "clang's report of registers, spills and LDS"
    return "dropped", (), "there is no ptxas; the AMDGPU backend takes no such option"


def choose_linker_option(value: str) -> Choice:
    """-Xlinker."""
    return "kept", ("-Xlinker", value), ""
