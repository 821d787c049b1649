"""hip-python-interop's .pxd and torch.utils.hipify's maps → CUDA name → HIP name. Read as data, never imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

_INTEROP = re.compile(r"^from hip\.\w+ cimport (\w+) as (\w+)\s*$", re.MULTILINE)
_HIPIFY_MAPS = ("CUDA_TYPE_NAME_MAP", "CUDA_INCLUDE_MAP", "CUDA_IDENTIFIER_MAP", "CUDA_SPECIAL_MAP")


def read_interop(text: str) -> dict[str, str]:
    """`from hip.chip cimport hipFoo as cudaFoo` → {"cudaFoo": "hipFoo"}."""
    return {cuda: hip for hip, cuda in _INTEROP.findall(text)}


def read_hipify(text: str) -> dict[str, str]:
    """The four maps of CUDA's own names, by their literals → {"cudaFoo": "hipFoo"}; not those of torch's classes."""
    found: dict[str, str] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in _HIPIFY_MAPS and isinstance(statement.value, ast.Call):
                for cuda, hip in _read_pairs(statement.value.args[0]):
                    found.setdefault(cuda, hip)
    return found


def _read_pairs(node: ast.expr) -> Iterator[tuple[str, str]]:
    """("cudaFoo", ("hipFoo", CONV, API, HIP_UNSUPPORTED?)), ..."""
    for entry in getattr(node, "elts", ()):
        if isinstance(entry, ast.Tuple) and len(entry.elts) == 2 and isinstance(entry.elts[1], ast.Tuple):
            cuda, hip = entry.elts[0], entry.elts[1].elts[0]
            if isinstance(cuda, ast.Constant) and isinstance(hip, ast.Constant):
                yield str(cuda.value), str(hip.value)


RENAMES: tuple[tuple[str, str], ...] = (
    ("cublasLt", "hipblasLt"), ("CUBLASLT_", "HIPBLASLT_"), ("cublas", "hipblas"), ("CUBLAS_", "HIPBLAS_"),
    ("cusparse", "hipsparse"), ("CUSPARSE_", "HIPSPARSE_"), ("cusolver", "hipsolver"), ("CUSOLVER_", "HIPSOLVER_"),
    ("cufft", "hipfft"), ("CUFFT_", "HIPFFT_"), ("curand", "hiprand"), ("CURAND_", "HIPRAND_"),
    ("nvrtc", "hiprtc"), ("NVRTC_", "HIPRTC_"), ("cudaLaunch", "hipLaunch"), ("cuda", "hip"), ("CUDART_", "HIP_"),
    ("CUDA_", "HIP_"),
    ("make_cu", "make_hip"), ("CU_", "HIP_"), ("CU_", "hip"), ("cu", "hip"), ("CU", "hip"),
    ("__nv_", "__hip_"), ("nv_", "__hip_"), ("__NV_", "__HIP_"),
)  # fmt: skip
"""Prefixes under which HIP keeps the rest of a name; used only where HIP's headers hold the result."""


def rename_by_prefix(name: str, known: Mapping[str, object] | frozenset[str]) -> str:
    """cusparseSpMV → hipsparseSpMV where `known` holds it, else nothing."""
    for cuda, hip in RENAMES:
        if name.startswith(cuda):
            stem = hip + name[len(cuda) :]
            # cublasSgemm is a macro for cublasSgemm_v2; elsewhere _v2 has other parameters.
            plain = stem.removesuffix("_v2") if cuda == "cublas" else stem
            for candidate in (stem, f"{stem}_t", plain):
                if candidate in known:
                    return candidate
    return ""
