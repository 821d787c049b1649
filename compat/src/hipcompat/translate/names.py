"""Unit → edits of CUDA's names, headers, and the namespace cub, by the facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from hipcompat.facts import read_facts
from hipcompat.scan.detect.names import find_meaning
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_directive
from hipcompat.translate.edit import Edit
from hipcompat.translate.torch import TORCH_HEADERS, TORCH_NAMES

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}", re.ASCII)
_CUB = re.compile(r"(?<![\w.:])(::\s*)?cub(?=\s*::)|(?<=namespace)(\s+)cub(?=\s*;)|(?<==)(\s*)cub(?=\s*;)")
_OWN_NAMES = {
    "cudaGraphicsResource": "_hipGraphicsResource", "CUBLAS_STATUS_LICENSE_ERROR": "static_cast<hipblasStatus_t>(15)",
    "make_cudaExtent": "make_hipExtent", "make_cudaPos": "make_hipPos", "make_cudaPitchedPtr": "make_hipPitchedPtr",
}  # fmt: skip
"""Where the facts' name is a typedef that C++ does not accept after `struct`, or where they have none."""
VERSIONS = frozenset(("CUDA_VERSION", "CUDART_VERSION", "CURAND_VERSION"))
"""Never HIP's: code compares them with numbers of CUDA's."""


def find_name_edits(unit: Unit, *, renames_sources: bool) -> Iterator[Edit]:
    """Offsets are those of unit.text; strings and comments are left alone, and so is what is dead code for HIP."""
    includes = {(include.start, include.end) for include in unit.includes}
    yield from _find_include_edits(unit, renames_sources=renames_sources)
    for match in _IDENTIFIER.finditer(unit.text):
        hip = find_hip_name(match.group())
        if hip and not any(start <= match.start() < end for start, end in includes):
            yield Edit(start=match.start(), end=match.end(), text=hip)
    yield from find_pasted_edits(unit)
    yield from find_guard_edits(unit)
    for match in _CUB.finditer(unit.text):
        before = match[1] or match[2] or match[3] or ""
        yield Edit(start=match.start(), end=match.end(), text=f"{before}hipcub")


_PASTED = re.compile(
    r"\b(?:cuda|cu(?:blas|fft|rand|sparse|solverDn)|CU(?:BLAS|FFT|RAND|SPARSE|SOLVER)_)(?=\w*\s*##)|(?<=##)cuda(?=[A-Z])"
)
_PREFIXES = {
    "cuda": "hip", "cublas": "hipblas", "cufft": "hipfft", "curand": "hiprand", "cusparse": "hipsparse",
    "cusolverDn": "hipsolverDn", "CUBLAS_": "HIPBLAS_", "CUFFT_": "HIPFFT_", "CURAND_": "HIPRAND_",
    "CUSPARSE_": "HIPSPARSE_", "CUSOLVER_": "HIPSOLVER_",
}  # fmt: skip


_HIP_GUARDS = {
    "__CUDA_RUNTIME_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_H", "__DRIVER_TYPES_H__": "HIP_INCLUDE_HIP_DRIVER_TYPES_H",
    "__CUDA_RUNTIME_API_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
    "__cuda_cuda_h__": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
    "__VECTOR_TYPES_H__": "HIP_INCLUDE_HIP_HIP_VECTOR_TYPES_H",
    "CUBLAS_API_H_": "HIPBLAS_H", "CUBLAS_V2_H_": "HIPBLAS_H",
    "_CUFFT_H_": "HIPFFT_H_", "CURAND_H_": "HIPRAND_H_", "CURAND_KERNEL_H_": "HIPRAND_KERNEL_H_",
    "CUSPARSEAPI": "HIPSPARSE_H", "CUSPARSE_H_": "HIPSPARSE_H", "CUSOLVER_COMMON_H_": "HIPSOLVER_H",
}  # fmt: skip
"""Include guards of CUDA's headers, by which code asks whether they are there, and of HIP's in their place."""
_GUARD = re.compile(rf"\b(?:{'|'.join(_HIP_GUARDS)})\b")
_ASKS = re.compile(r"[ \t]*#[ \t]*(?:el)?if")


def find_guard_edits(unit: Unit) -> Iterator[Edit]:
    """In #if and its like; a file that defines the guard itself keeps it."""
    for match in _GUARD.finditer(unit.text):
        line = unit.text.rfind("\n", 0, match.start()) + 1
        if _ASKS.match(unit.text, line) and match.group() not in unit.macros:
            yield Edit(start=match.start(), end=match.end(), text=_HIP_GUARDS[match.group()])


def find_pasted_edits(unit: Unit) -> Iterator[Edit]:
    """cuda##f → hip##f: the beginning of a name, which by itself is none."""
    if "##" not in unit.text:
        return
    for match in _PASTED.finditer(unit.text):
        whole = _IDENTIFIER.match(unit.text, match.start())
        if is_directive(unit.text, match.start()) and not (whole and find_hip_name(whole.group())):
            yield Edit(start=match.start(), end=match.end(), text=_PREFIXES[match.group()])


def find_hip_name(name: str) -> str:
    """HIP's name where there is another; else nothing."""
    if name in TORCH_NAMES:
        return TORCH_NAMES[name]
    if name in VERSIONS:
        return ""
    if name in _OWN_NAMES:
        return _OWN_NAMES[name]
    meaning = find_meaning(name)
    if meaning is None or meaning.fact is None or meaning.hip == name:
        return ""
    return meaning.hip


def _find_include_edits(unit: Unit, *, renames_sources: bool) -> Iterator[Edit]:
    facts = read_facts()
    for include in unit.includes:
        fact = facts.get(include.name)
        if include.name in TORCH_HEADERS:
            yield Edit(start=include.start, end=include.end, text=TORCH_HEADERS[include.name])
        elif fact and fact.kind == "include" and fact.is_mapped and fact.hip != include.name:
            yield Edit(start=include.start, end=include.end, text=fact.hip)
        elif renames_sources and include.is_quoted and include.name.endswith(".cu"):
            yield Edit(start=include.start, end=include.end, text=str(PurePosixPath(include.name).with_suffix(".hip")))
