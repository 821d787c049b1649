"""The facts → hipcompat's generated headers: CUDA's names as macros, one file an interface, and CUDA's header names.

    python -m hipcompat.translate.headers

writes them below hipcompat/include; the same facts give the same bytes.

Own headers (hipcompat/warp.h and the like) lie in the same folder and are written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hipcompat.facts import Fact, read_facts
from hipcompat.translate.names import VERSIONS
from hipcompat.translate.shim import SHIM_PATH
from hipcompat.whole_file import write_whole

_MARK = "// Made from facts.tsv by `python -m hipcompat.translate.headers`; do not edit.\n"
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*$")
NAMED = (
    "runtime", "driver", "device", "complex", "blas", "blaslt", "fft", "rand", "sparse", "solver", "nccl", "nvrtc",
)  # fmt: skip
"""Interfaces whose names become macros. cub becomes a namespace, nvtx has its own header, thrust keeps its names."""
_ALWAYS = frozenset(("runtime", "driver", "device"))
_BY_TARGET = (
    ("hipblaslt/", ("blas", "blaslt")), ("hipblas/", ("complex", "blas")), ("hipfft/", ("complex", "fft")),
    ("hiprand/", ("rand",)), ("rocrand/", ("rand",)), ("hipsparse/", ("complex", "sparse")),
    ("hipsolver/", ("complex", "blas", "sparse", "solver")), ("rccl/", ("nccl",)), ("hip/hiprtc.h", ("nvrtc",)),
    ("hip/hip_complex.h", ("complex",)),
)  # fmt: skip
_GUARDS: Mapping[str, tuple[str, ...]] = {
    "cuda_runtime.h": ("__CUDA_RUNTIME_H__", "__DRIVER_TYPES_H__"),
    "cuda_runtime_api.h": ("__CUDA_RUNTIME_API_H__", "__DRIVER_TYPES_H__"),
    "driver_types.h": ("__DRIVER_TYPES_H__",), "vector_types.h": ("__VECTOR_TYPES_H__",),
    "cuda.h": ("__cuda_cuda_h__", "CUDA_H"), "cublas_v2.h": ("CUBLAS_API_H_",), "cublas.h": ("CUBLAS_API_H_",),
    "cublas_api.h": ("CUBLAS_API_H_",), "cufft.h": ("_CUFFT_H_",), "cufftXt.h": ("_CUFFT_H_",),
    "curand.h": ("CURAND_H_",), "curand_kernel.h": ("CURAND_KERNEL_H_",), "cusparse.h": ("CUSPARSEAPI",),
    "cusolverDn.h": ("CUSOLVER_COMMON_H_",),
}  # fmt: skip
"""Include guards of NVIDIA's headers by which code asks whether they are there."""
_OWN = {
    "cufft.h": "hipcompat/fft.h", "cufftXt.h": "hipcompat/fft.h", "cublas_v2.h": "hipcompat/blas.h",
    "cublas.h": "hipcompat/blas.h", "cublas_api.h": "hipcompat/blas.h", "cuda_bf16.h": "hipcompat/bf16.h",
    "cuda_fp16.h": "hipcompat/fp16.h", "cooperative_groups.h": "hipcompat/block_tiles.h",
}  # fmt: skip
_BEFORE = {
    **dict.fromkeys(("hip/hip_fp8.h", "hip/hip_fp6.h", "hipblaslt/hipblaslt.h"), "hipcompat/fp8.h"),
    "hip/hip_fp4.h": "hipcompat/fp4.h",
}
"""What HIP's headers of narrow types come in by, and the own header that must come before."""


def make_headers() -> Mapping[str, str]:
    """Path below the folder of headers → text."""
    facts = read_facts()
    made = {f"hipcompat/names/{api}.h": _format_names(facts, api) for api in NAMED}
    made["hipcompat/names/cub.h"] = f"{_MARK}#pragma once\n\nnamespace hipcub {{}}\nnamespace cub = hipcub;\n"
    for fact in facts.values():
        if fact.kind == "include" and fact.in_7_2 and fact.hip != fact.name:
            made[fact.name] = _format_header(fact)
    return dict(sorted(made.items()))


def write_headers(folder_path: Path) -> None:
    """Each file appears whole or not at all; generated files that are no longer made go away."""
    made = make_headers()
    for path in sorted(folder_path.rglob("*.*")):
        if path.is_file() and path.relative_to(folder_path).as_posix() not in made and _is_generated(path):
            path.unlink()
    for name, text in made.items():
        path = folder_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


def _is_generated(path: Path) -> bool:
    return path.read_text(encoding="utf-8").startswith(_MARK)


def _format_names(facts: Mapping[str, Fact], api: str) -> str:
    lines = [f"#define {name} {hip}\n" for name, hip in sorted(find_renamed(facts, api))]
    return f"{_MARK}#pragma once\n\n{''.join(lines)}"


def find_renamed(facts: Mapping[str, Fact], api: str) -> Iterator[tuple[str, str]]:
    """CUDA's and HIP's name, of those names of one interface that differ and that ROCm 7.2 has."""
    for fact in facts.values():
        is_renamed = fact.api == api and fact.kind != "include" and fact.in_7_2 and fact.hip != fact.name
        if is_renamed and fact.name not in VERSIONS and _IDENTIFIER.match(fact.name) and _IDENTIFIER.match(fact.hip):
            yield fact.name, fact.hip


def _format_header(fact: Fact) -> str:
    before = [f"#include <{_BEFORE[fact.hip]}>\n"] if fact.hip in _BEFORE else []
    lines = ["#include <hipcompat/runtime.h>\n", *before, f"#include <{fact.hip}>\n"]
    if fact.api == "cub":
        lines.append("#include <hipcompat/names/cub.h>\n")
    apis = next((apis for prefix, apis in _BY_TARGET if fact.hip.startswith(prefix)), ())
    lines += [f"#include <hipcompat/names/{api}.h>\n" for api in apis if api not in _ALWAYS]
    if own := _OWN.get(fact.name):
        lines.append(f"#include <{own}>\n")
    guards = "".join(f"#ifndef {guard}\n#define {guard}\n#endif\n" for guard in _GUARDS.get(fact.name, ()))
    return f"{_MARK}#pragma once\n\n{''.join(dict.fromkeys(lines))}{guards and chr(10) + guards}"


if __name__ == "__main__":
    write_headers(SHIM_PATH)
