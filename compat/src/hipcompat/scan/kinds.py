"""A path → the language that scan reads it in, and the words of which every finding in it needs one."""

from __future__ import annotations

import re
from pathlib import PurePath

CXX_SUFFIXES = frozenset((
    ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tpp",
    ".hip", ".cuinc",
))  # fmt: skip
_OTHER_SUFFIXES = {
    ".py": "python", ".pyi": "python", ".pyx": "python", ".cmake": "cmake", ".sh": "shell", ".bash": "shell",
    ".mk": "shell", ".dockerfile": "docker", ".ps1": "", ".so": "binary",
}  # fmt: skip
_NAMES = (
    ("cmake", re.compile(r"CMakeLists\.txt$")),
    ("setup", re.compile(r"(?:setup|build|build_ext)\.py$")),
    ("pyproject", re.compile(r"(?:pyproject\.toml|setup\.cfg|Pipfile)$")),
    ("requirements", re.compile(r"(?:.*requirements?.*|constraints?.*)\.(?:txt|in)$|environment.*\.ya?ml$")),
    ("docker", re.compile(r"(?:Dockerfile|Containerfile)(?:[.-].*)?$", re.IGNORECASE)),
    ("shell", re.compile(r"(?:GNU)?[mM]akefile(?:\..*)?$")),
    ("binary", re.compile(r".*\.so(?:\.\d+)+$")),
)  # fmt: skip

CXX_WORDS = (
    b"cuda", b"cu_", b"cub", b"cudnn", b"curand", b"cufft", b"cusolver", b"cusparse", b"nccl", b"nvtx", b"nvrtc",
    b"nvml", b"npp", b"nvjpeg", b"warp", b"__shfl", b"__ballot", b"_sync(", b"__global__", b"__device__", b"wavefront",
    b"__gfx", b"hip_", b"asm", b"<<<", b"__nv_", b"cooperative_groups", b"mma.h", b"cutlass", b"cumem", b"culaunch",
    b"cumodule", b"cuctx", b"cudevice", b"custream", b"cuinit", b"cuevent", b"cufunc", b"cugraph", b"culink", b"cuget",
    b"cucomplex", b"optix", b"cutensor", b"cute/", b"nvsci", b"__half2", b"cufile", b"float4", b"texture", b"culibrary",
    b"cukernel", b"cuarray", b"cutex", b"cusurf",
)  # fmt: skip
"""In small letters; a file without any of them is not read further."""
PYTHON_WORDS = (
    b"cuda", b"nvcc", b"nvidia", b"nvml", b"hip", b"rocr", b"float8", b"capability", b"amdsmi", b"tensorrt", b"cudf",
    b"cutlass", b"transformer_engine", b"__global__", b"nvtx", b"nvrtc", b"nccl", b"gpustat", b"nvitop",
    b"dali", b"cuml",
    b"cugraph", b"cuquantum", b"nvmath", b"torch2trt",
)  # fmt: skip


def find_language(path: PurePath) -> str:
    """cuda (also C and C++), python, setup, cmake, requirements, pyproject, docker, shell, binary; else nothing."""
    for language, pattern in _NAMES:
        if pattern.match(path.name):
            return language
    suffix = path.suffix.lower()
    return "cuda" if suffix in CXX_SUFFIXES else _OTHER_SUFFIXES.get(suffix, "")


def may_have_hits(content: bytes, language: str) -> bool:
    """False only where no rule of the language can find anything."""
    if (
        language not in {"cuda", "python", "setup"}
        or content[:2] in {b"\xff\xfe", b"\xfe\xff"}
        or content[:2] == b"\0\0"
    ):
        return True
    small = content.lower()
    return any(word in small for word in (CXX_WORDS if language == "cuda" else PYTHON_WORDS))
