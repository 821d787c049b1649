"""Code objects per arch → the data trees that ROCm's libraries keep beside themselves, named as theirs are.

Names and kinds of files are those of Debian's packages of ROCm 7.2.4: .co files are compressed bundles of one arch,
.hsaco files bare code objects, and hipblasltTransform.hsaco is a raw bundle of all archs.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import zstandard

CodeObjects = Mapping[str, bytes]
"""Arch → a bare code object."""

_PAGE = 4096

MIOPEN_COMPUTE_UNITS = {"gfx90a": (104, 110), "gfx942": (80, 304), "gfx950": (256,), "gfx1100": (), "gfx1201": ()}
"""MIOpen glues arch and compute units, the latter in hexadecimal: gfx90a6e, gfx942130."""


def fill_rocblas(prefix_path: Path, code_objects: CodeObjects) -> None:
    """Lazily loaded Tensile libraries: an index per arch, code and fallback code per data type."""
    folder = prefix_path / "lib/rocblas/library"
    for data_type in ("Type_HH", "Type_BB_HPA", "Type_SS"):
        stem = f"TensileLibrary_{data_type}_Contraction_l_Ailk_Bjlk_Cijk_Dijk"
        for arch, code in code_objects.items():
            _put(folder / f"{stem}_{arch}.co", _compress(_bundle({arch: code})))
            _put(folder / f"{stem}_{arch}.dat", _pack_index(arch, stem))
            _put(folder / f"{stem}_fallback_{arch}.hsaco", code)
        _put(folder / f"{stem}_fallback.dat", _pack_index("fallback", stem))
    for arch, code in code_objects.items():
        _put(folder / f"TensileLibrary_lazy_{arch}.dat", _pack_index(arch, "lazy"))
        _put(folder / f"Kernels.so-000-{arch}.hsaco", code)
    for arch in {"gfx90a", "gfx942"} & set(code_objects):
        for feature in ("xnack+", "xnack-"):
            _put(folder / f"Kernels.so-000-{arch}-{feature}.hsaco", code_objects[arch])


def fill_hipblaslt(prefix_path: Path, code_objects: CodeObjects) -> None:
    """As rocBLAS, plus files that serve every arch or hold all of them."""
    folder = prefix_path / "lib/hipblaslt/library"
    for data_type in ("Type_HH_HPA", "Type_F8B8_HPA"):
        stem = f"TensileLibrary_{data_type}_Contraction_l_Alik_Bljk_Cijk_Dijk"
        for arch, code in code_objects.items():
            _put(folder / f"{stem}_{arch}.co", _compress(_bundle({arch: code})))
            _put(folder / f"{stem}_{arch}.dat", _pack_index(arch, stem))
    _fill_shared(folder, code_objects)


def _fill_shared(folder: Path, code_objects: CodeObjects) -> None:
    for arch, code in code_objects.items():
        _put(folder / f"TensileLibrary_lazy_{arch}.dat", _pack_index(arch, "lazy"))
        _put(folder / f"extop_{arch}.co", code)
        _put(folder / f"Kernels.so-000-{arch}.hsaco", code)
    _put(folder / "hipblasltTransform.hsaco", _bundle(code_objects))
    _put(folder / "hipblasltExtOpLibrary.dat", _pack_index("all", "extop"))
    _put(folder / "TensileLiteLibrary_lazy_Mapping.dat", _pack_index("all", "mapping"))


def fill_hipsparselt(prefix_path: Path, code_objects: CodeObjects) -> None:
    """hipSPARSELt keeps one library per arch; it serves CDNA only."""
    folder = prefix_path / "lib/hipsparselt/library"
    served = {arch: code_objects[arch] for arch in _present(("gfx942", "gfx950"), code_objects)}
    stem = "TensileLibrary_HH_HH_A_Bias_SAV_SPA_Type_HH_HPA_Contraction_l_Alik_Bljk_Cijk_Dijk"
    for arch, code in served.items():
        _put(folder / f"{stem}_{arch}.dat", _pack_index(arch, "sparse"))
        _put(folder / f"{stem}_{arch}.co", _compress(_bundle({arch: code})))
    _fill_shared(folder, served)


def fill_miopen(prefix_path: Path, code_objects: CodeObjects) -> None:
    """Find and performance databases per arch and number of compute units; models per arch."""
    folder = prefix_path / "share/miopen/db"
    for arch in code_objects:
        for units in MIOPEN_COMPUTE_UNITS[arch]:
            problem = b"1-1-1-64-1x1-64-56x56"
            _put(folder / f"{arch}{units:x}.HIP.fdb.txt", problem + b"=1,0.05,0,miopenConvolutionFwdAlgoGEMM\n")
            _put(folder / f"{arch}{units:x}.db.txt", problem + b"=ConvAsm1x1U:1,8,2,64,2,4,1,8\n")
        _put(folder / f"{arch}.tn.model", _pack_index(arch, "model"))
        _put(folder / f"{arch}_ConvHipIgemmGroupFwdXdlops_encoder.ktn.model", _pack_index(arch, "encoder"))
    _put(folder / "gfx908.tn.model", _pack_index("gfx908", "model"))


def fill_miopen_kdb(prefix_path: Path, code_objects: CodeObjects, arch: str) -> None:
    """A database of prebuilt kernels of one arch."""
    folder = prefix_path / "share/miopen/db"
    folder.mkdir(parents=True, exist_ok=True)
    _make_database(folder / f"{arch}.kdb", "kern_db", _present((arch,), code_objects))


def fill_rocfft(prefix_path: Path, code_objects: CodeObjects) -> None:
    """rocFFT's ahead-of-time cache: one SQLite file with rows per arch."""
    folder = prefix_path / "lib/rocfft"
    folder.mkdir(parents=True, exist_ok=True)
    _make_database(folder / "rocfft_kernel_cache.db", "cache_v1", code_objects)


def fill_rccl(prefix_path: Path, _: CodeObjects) -> None:
    """Algorithms for every arch."""
    _put(prefix_path / "share/rccl/msccl-algorithms/allreduce-allpairs-8n-ll-32tb.xml", b"<algo/>\n")


def make_aotriton_images(code_objects: CodeObjects) -> dict[str, bytes]:
    """AOTriton's images in torch/lib: a folder an arch, or a family of archs."""
    families = {"gfx1100": "gfx11xx", "gfx1201": "gfx120x"}
    return {
        f"torch/lib/aotriton.images/amd-{(name := families.get(arch, arch))}/flash/attn_fwd/FONLY__16_64___{name}.aks2":
        b"AKS2" + zstandard.compress(code)
        for arch, code in code_objects.items()
    }  # fmt: skip


TREES: Mapping[str, Callable[[Path, CodeObjects], None]] = {
    "rocblas": fill_rocblas,
    "hipblaslt": fill_hipblaslt,
    "hipsparselt": fill_hipsparselt,
    "miopen": fill_miopen,
    "rccl": fill_rccl,
    "rocfft": fill_rocfft,
}


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _bundle(code_objects: CodeObjects) -> bytes:
    """https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout"""
    entries = [("host-x86_64-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{arch}", code) for arch, code in code_objects.items()]
    rows, body = b"", b""
    for name, code in entries:
        rows += struct.pack("<QQQ", _PAGE + len(body), len(code), len(name)) + name.encode()
        body += code + bytes(-len(code) % _PAGE)
    return (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + rows).ljust(_PAGE, b"\0") + body


def _compress(raw: bytes) -> bytes:
    """A compressed bundle of version 3."""
    packed = zstandard.compress(raw)
    digest = int.from_bytes(hashlib.md5(raw, usedforsecurity=False).digest()[:8], "little")
    return struct.pack("<4sHHQQQ", b"CCOB", 3, 1, 32 + len(packed), len(raw), digest) + packed


def _present(archs: Iterable[str], code_objects: CodeObjects) -> list[str]:
    return [arch for arch in archs if arch in code_objects]


def _pack_index(arch: str, library: str) -> bytes:
    """A MessagePack map of two short strings, as Tensile's .dat files are MessagePack."""
    words = ("arch", arch, "library", library)
    return b"\x82" + b"".join(b"\xd9" + bytes([len(word)]) + word.encode() for word in words)


def _make_database(path: Path, table: str, archs: Iterable[str]) -> None:
    path.unlink(missing_ok=True)
    key = "kernel_name, arch, hip_version, generator_sum"
    with sqlite3.connect(path) as connection:
        connection.execute(
            f"CREATE TABLE {table} (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, hip_version INTEGER NOT NULL, "
            f"generator_sum BLOB NOT NULL, code BLOB NOT NULL, timestamp INTEGER NOT NULL, PRIMARY KEY ({key}))"
        )
        rows = [(f"kernel_{number}", arch, 70051831, b"sum", bytes(2048), 0) for arch in archs for number in range(4)]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 - our own table name
    connection.close()
