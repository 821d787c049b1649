"""Packages of CUDA's public headers → the names of its interfaces: which interface, and what kind of name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hipcompat.facts.generate.c_names import Kind, find_names
from hipcompat.facts.generate.hip_side import find_cub_names

Names = dict[str, tuple[str, str]]
"""name → (interface, kind)."""

_PREFIXES: tuple[tuple[str, str], ...] = (
    ("blaslt", r"cublasLt|CUBLASLT_"), ("blas", r"cublas[A-Z]|CUBLAS(?:XT)?_|cublasXt"),
    ("sparse", r"cusparse[A-Z]|CUSPARSE_"),
    ("solver", r"cusolver|CUSOLVER|CUDALIBMG_"), ("fft", r"cufft|CUFFT|NVFFT_|LIB_(?:XT|FORMAT)_"),
    ("rand", r"curand|CURAND|skipahead|Philox4"),
    ("dnn", r"cudnn[A-Z]|CUDNN_"), ("nccl", r"nccl[A-Z]|NCCL_"), ("nvrtc", r"nvrtc[A-Z]|NVRTC_"),
    ("nvtx", r"nvtx[A-Z](?!\w*_v3$)"), ("nvjpeg", r"nvjpeg[A-Z]"),
    ("complex", r"cu(?:C[a-z]+f?$|Complex|DoubleComplex|FloatComplex)|make_cu"),
    ("runtime", r"cuda[A-Z_]\w|CUDART_"), ("driver", r"cu[A-Z][a-z]|CU_|CUDA_|CU[a-z]{3}|NVCL_|CIG_"),
)  # fmt: skip
_COMPILED = tuple((api, re.compile(pattern)) for api, pattern in _PREFIXES)
_DEVICE_FILES = re.compile(
    r"/(?:crt/(?!mma|host|sm_[789]0_rt)|sm_\w+|device_\w+|math_\w+|vector_\w+|texture_\w+|surface_\w+"
    r"|cuda_(?:fp16|bf16|fp8|fp6|fp4|pipeline_primitives|awbarrier_primitives))[\w.]*\.h$"
)
_DEVICE_NAME = re.compile(r"(?!__nv_[a-z]+[df]?$)(?:__(?!internal|cuda|NV|CUDA|NVIDIA)[a-z]\w*|[a-z]\w+|nv_\w+)$")
_OWN_PREFIX = re.compile(r"^(?:__nv_(?:bfloat|fp[468]|half)|nv_bfloat|half2?$)")
_NOT_A_NAME = frozenset((
    "defined", "sizeof", "alignof", "decltype", "static_assert", "asm", "volatile", "operator", "return", "while",
    "for", "switch", "namespace", "struct", "union", "enum", "class", "typename", "template", "const", "noexcept",
    "throw", "alignas", "explicit", "inline", "static", "using", "bool", "float", "double", "int", "char", "short",
    "long", "unsigned", "signed", "void", "if", "else", "func", "main", "max_align", "std",
))  # fmt: skip
_PUBLIC_CUB = re.compile(r"/include/cub/(?:(?:device|block|warp|thread|iterator|grid)/[\w.]+|util_[\w.]+)\.cuh$")
_CUB_MEMBER = re.compile(r"\bstatic\s+(?:inline\s+)?cudaError_t\s+(\w+)\s*\(")
_CUB_INNER = re.compile(r"T$|::(?:F|It|CCCL_\w+)$|NoNVTX$|Device\w+::[a-z]|Policy|Agent|CacheTag$|Simd|Dispatch")
"""Template parameters and CUB's own machinery: no code outside CUB names them."""
_PUBLIC_HEADER = re.compile(
    r"/include/((?:thrust|cub|cuda)/(?:std/)?(?!_)[\w.]+|cub/(?:device|block|warp|iterator)/[\w.]+)$"
)
_NVML = re.compile(r"^def (nvml[A-Z]\w*)", re.MULTILINE)


def read_c_headers(members: Iterable[tuple[str, str]]) -> Names:
    """Names of the C interfaces, of device functions and vector types, and the headers themselves."""
    names: Names = {}
    for path, text in members:
        names[path.rpartition("/include/")[2]] = ("include", "include")
        is_device = bool(_DEVICE_FILES.search(path))
        for name, kind in find_names(text).items():
            if api := _choose_api(name, kind, is_device=is_device):
                names.setdefault(name, (api, kind))
    return names


def _choose_api(name: str, kind: Kind, *, is_device: bool) -> str:
    if name in _NOT_A_NAME or (kind == "macro" and name.endswith(("_H", "_H_", "_H__"))):
        return ""
    for api, pattern in _COMPILED:
        if pattern.match(name):
            return api
    if is_device and kind == "enum" and name.startswith("__NV_"):
        return "device"
    if is_device and kind != "macro" and (_OWN_PREFIX.match(name) or _DEVICE_NAME.match(name)):
        return "device"
    return ""


def read_cccl(members: Iterable[tuple[str, str]]) -> Names:
    """CUB's public classes and their members; the headers of CUB, Thrust and libcu++."""
    names: Names = {}
    for path, text in members:
        if match := _PUBLIC_HEADER.search(path):
            names[match[1]] = ({"cuda": "libcu++"}.get(top := match[1].partition("/")[0], top), "include")
        if _PUBLIC_CUB.search(path):
            found = {name for name in find_cub_names(text, "cub", _CUB_MEMBER) if not _CUB_INNER.search(name)}
            names |= {name: ("cub", "function" if name.count("::") == 2 else "type") for name in found}
    return names


def read_nvml(members: Iterable[tuple[str, str]]) -> Names:
    """Functions of NVML, by its Python binding."""
    return {name: ("nvml", "function") for _, text in members for name in _NVML.findall(text)}


def read_mapped_names(*mappings: Mapping[str, str]) -> Names:
    """Names that a mapping knows and CUDA 12.9 has no more: texture references, calls of CUDA 8."""
    names: Names = {}
    for name in (name for mapping in mappings for name in mapping if re.fullmatch(r"[A-Za-z][\w/.]{5,}", name)):
        if name.endswith((".h", ".hpp", ".cuh")):
            names[name] = ("include", "include")
        elif api := _choose_api(name, "function", is_device=False):
            names[name] = (api, "enum" if name.isupper() else "type" if name.endswith("_t") else "function")
    return names
