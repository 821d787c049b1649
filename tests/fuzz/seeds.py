"""A folder → the corpora of the fuzzers: small fat files compiled here, their parts, and pieces of real libraries."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from elftools.elf.elffile import ELFFile

from fat_files import HOST_ID, FatLibrary, bundle_for, compile_kernels, compress_bundle, entry_id, make_bundle

PARSER_BYTES = 16 << 10
MAIN = ".globl main\n.text\nmain: movl $3,%eax\nret"
TARGETS = ("gfx942", "gfx1100", "gfx90a:xnack+")
TINY = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"a" * 300), (entry_id("gfx1100"), b"b" * 5000)])
SMALL_RAW = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"a" * 90), (entry_id("gfx1100"), b"b" * 90)])
NOISE = Random(1).randbytes(4500)  # noqa: S311 - the same in every run
SMALL = make_bundle([(HOST_ID, b""), (entry_id("gfx942"), b"a" * 300), (entry_id("gfx1100"), NOISE)])
"""Compressed, the smallest file from which a page can be cut."""
FLAGS = ("-Wl,--strip-all", "-Wl,--build-id", "-Wl,-z,noseparate-code")
IDS = (
    HOST_ID, "hip-amdgcn-amd-amdhsa--gfx1100", "hipv4-amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-",
    "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "hip-spirv64-amd-amdhsa--amdgcnspirv", "gfx",
)  # fmt: skip


def write_corpora(folder: Path, real_files: Sequence[Path] = ()) -> str:
    """Fill a folder for each part; the hash of all seeds."""
    digest = hashlib.sha256()
    libraries, pieces = tuple(_fat_libraries()), tuple(_parser_seeds(real_files))
    small = tuple(one for one in libraries if len(one) <= PARSER_BYTES)
    whole = (*libraries, *_bundles(), *_databases())
    for part, seeds in (("parsers", (*small, *pieces)), ("verifier", small), ("rewrites", whole)):
        (folder / part).mkdir(parents=True)
        for seed in sorted(set(seeds)):
            name = hashlib.sha256(seed).hexdigest()
            digest.update(name.encode())
            (folder / part / name[:20]).write_bytes(seed)
    return digest.hexdigest()


def _fat_libraries() -> Iterator[bytes]:
    real = bundle_for(TARGETS)
    bundles = {"raw": [SMALL_RAW], "small": [compress_bundle(SMALL, 3)], "tiny": [TINY], "two": [TINY, TINY]}
    bundles |= {"real": [real], "ccob": [compress_bundle(real, 3), TINY]}
    bundles |= {f"v{version}": [compress_bundle(TINY, version, "zlib"), TINY] for version in (1, 2)}
    with TemporaryDirectory() as folder:
        for name, content in bundles.items():
            fat = FatLibrary(bundles=content, linker="lld", link_flags=FLAGS)
            relr = fat.replaced(linker="bfd", link_flags=(*FLAGS, "-Wl,-z,pack-relative-relocs"), section_flags="aw")
            program = fat.replaced(is_program=True, link_flags=(*FLAGS, "-no-pie"), extra_assembly=MAIN)
            for kind, one in (("lld", fat), ("relr", relr), ("program", program)):
                yield one.build(Path(folder, f"{name}-{kind}")).read_bytes()


def _bundles() -> Iterator[bytes]:
    for raw in (TINY, SMALL, bundle_for(TARGETS[:2])):
        yield raw
        yield from (compress_bundle(raw, version, way) for version in (1, 2, 3) for way in ("zstd", "zlib"))


def _databases() -> Iterator[bytes]:
    """rocFFT's cache, with pages of 512 bytes."""
    for rows in (2, 9):
        with TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder, "cache.db"))) as connection:
            connection.execute("PRAGMA page_size = 512")
            connection.execute(
                "CREATE TABLE cache_v1 (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, hip_version INTEGER NOT NULL, "
                "generator_sum BLOB NOT NULL, code BLOB NOT NULL, timestamp INTEGER NOT NULL, "
                "PRIMARY KEY (kernel_name, arch, hip_version, generator_sum))"
            )
            values = [(f"fft_{n}", arch, 7, b"s", bytes([n]) * 300, n) for arch in TARGETS for n in range(rows)]
            connection.executemany("INSERT INTO cache_v1 VALUES (?, ?, ?, ?, ?, ?)", values)
            connection.commit()
            yield Path(folder, "cache.db").read_bytes()


def _parser_seeds(real_files: Sequence[Path]) -> Iterator[bytes]:
    yield from (one[:PARSER_BYTES] for one in _bundles())
    yield compile_kernels("gfx942")[:PARSER_BYTES]
    yield from (name.encode() for name in IDS)
    for path in real_files:
        yield from _pieces(path)


def _pieces(path: Path) -> Iterator[bytes]:
    """The head of a real library, and the heads of its bundles."""
    with path.open("rb") as file:
        yield file.read(PARSER_BYTES)
        section = ELFFile(file).get_section_by_name(".hip_fatbin")
        file.seek(section["sh_offset"])
        content = file.read(min(section["sh_size"], 64 << 20))
    for magic in (b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"):
        place = content.find(magic)
        if place >= 0:
            yield content[place : place + PARSER_BYTES]
