"""Code objects per arch → the data trees that ROCm's libraries keep beside themselves, named as theirs are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

CodeObjects = Mapping[str, bytes]
"""Arch → a bare code object."""

MIOPEN_COMPUTE_UNITS = {"gfx90a": (104, 110), "gfx942": (80, 304), "gfx950": (256,), "gfx1100": (), "gfx1201": ()}
"""MIOpen glues arch and compute units, the latter in hexadecimal: gfx90a6e, gfx942130."""


def fill_rocblas(prefix_path: Path, code_objects: CodeObjects) -> None:
    """Lazily loaded Tensile libraries: an index per arch, code and fallback code per data type."""
    folder = prefix_path / "lib/rocblas/library"
    for data_type in ("Type_HH", "Type_BB_HPA", "Type_SS"):
        stem = f"TensileLibrary_{data_type}_Contraction_l_Ailk_Bjlk_Cijk_Dijk"
        for arch, code in code_objects.items():
            _put(folder / f"{stem}_{arch}.co", code)
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
            _put(folder / f"{stem}_{arch}.co", code)
            _put(folder / f"{stem}_{arch}.dat", _pack_index(arch, stem))
    for arch, code in code_objects.items():
        _put(folder / f"TensileLibrary_lazy_{arch}.dat", _pack_index(arch, "lazy"))
        _put(folder / f"extop_{arch}.co", code)
        _put(folder / f"hipblasltTransform_{arch}.hsaco", code)
    _put(folder / "hipblasltExtOpLibrary.dat", _pack_index("all", "extop"))


def fill_hipsparselt(prefix_path: Path, code_objects: CodeObjects) -> None:
    """hipSPARSELt keeps one library per arch; it serves CDNA only."""
    folder = prefix_path / "lib/hipsparselt/library"
    for arch in _present(("gfx942", "gfx950"), code_objects):
        _put(folder / f"TensileLibrary_gfx{arch[3:]}.dat", _pack_index(arch, "sparse"))
        _put(folder / f"Kernels.so-000-{arch}.hsaco", code_objects[arch])
        _put(folder / f"TensileLibrary_{arch}.co", code_objects[arch])


def fill_miopen(prefix_path: Path, code_objects: CodeObjects) -> None:
    """Find and performance databases per arch and number of compute units; models per arch."""
    folder = prefix_path / "share/miopen/db"
    for arch in code_objects:
        for units in MIOPEN_COMPUTE_UNITS[arch]:
            problem = b"1-1-1-64-1x1-64-56x56"
            _put(folder / f"{arch}{units:x}.HIP.fdb.txt", problem + b"=1,0.05,0,miopenConvolutionFwdAlgoGEMM\n")
            _put(folder / f"{arch}{units:x}.db.txt", problem + b"=ConvAsm1x1U:1,8,2,64,2,4,1,8\n")
        _put(folder / f"{arch}.tn.model", _pack_index(arch, "model"))
    _put(folder / "miopen.db", b"")
    _make_database(folder / "miopen.db", "perf_db", code_objects)


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


TREES: Mapping[str, Callable[[Path, CodeObjects], None]] = {
    "rocblas": fill_rocblas,
    "hipblaslt": fill_hipblaslt,
    "hipsparselt": fill_hipsparselt,
    "miopen": fill_miopen,
    "rocfft": fill_rocfft,
}


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _present(archs: Iterable[str], code_objects: CodeObjects) -> list[str]:
    return [arch for arch in archs if arch in code_objects]


def _pack_index(arch: str, library: str) -> bytes:
    """A MessagePack map of two short strings, as Tensile's .dat files are MessagePack."""
    words = ("arch", arch, "library", library)
    return b"\x82" + b"".join(b"\xd9" + bytes([len(word)]) + word.encode() for word in words)


def _make_database(path: Path, table: str, archs: Iterable[str]) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} (arch TEXT, kernel TEXT, code BLOB)")
        rows = [(arch, f"kernel_{number}", bytes(64)) for arch in archs for number in range(4)]
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608 - our own table name
    connection.close()
