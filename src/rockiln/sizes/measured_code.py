"""Files in Contents → device code of those that hold some. Each content is looked at once, and remembered.

What was measured goes into the image's manifest. So a content is hashed before it is believed: one that was damaged on
the disk would else change the digest, even where the layer that holds it comes from the cache and is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.sealed import read_sealed, write_sealed
from rockiln.sizes.device_code import MIN_BYTES, measure_device_code
from rockiln.sizes.inventory import FileSize
from rockiln.sizes.kinds import Kind, find_named_arch
from rockiln.slim_archs import hash_code
from rockiln.source_tree import hash_tree

Code = dict[str, int]
CODELESS: frozenset[Kind] = frozenset({"python", "byte code", "header", "static library", "docs", "metadata"})
"""Kinds of files that are not looked into."""


def measure_files(
    files: Iterable[FileSize], contents: Contents, cache_path: Path, console: Console
) -> dict[str, Code]:
    """Path → target → bytes. Raises IntegrityError for a content that is not what its name says."""
    named, unnamed = {}, {}
    for file in files:
        if arch := find_named_arch(file.path) if file.kind == "kernel data" else "":
            named[file.path] = {arch: file.size_bytes} if file.size_bytes else {}
        elif file.size_bytes >= MIN_BYTES and file.kind not in CODELESS:
            unnamed[file.path] = file
    measured = _measure_contents(unnamed.values(), contents, cache_path, console)
    found = {**named, **{path: measured[file.sha256] for path, file in unnamed.items()}}
    return {path: code for path, code in sorted(found.items()) if code}


def _measure_contents(
    files: Iterable[FileSize], contents: Contents, cache_path: Path, console: Console
) -> dict[str, Code]:
    """By sha256. The record of all contents that this version of the code has measured is one file of the cache."""
    record_path = cache_path / "measured" / f"{_hash_code()}.json"
    record = read_sealed(record_path)
    known: dict[str, Code] = json.loads(record) if record else {}
    wanted = {file.sha256: file.size_bytes for file in files}
    unknown = {sha256: size_bytes for sha256, size_bytes in wanted.items() if sha256 not in known}
    if unknown:
        with console.progress("measuring", sum(unknown.values()), "bytes") as progress:
            for sha256, size_bytes in sorted(unknown.items()):
                contents.check(sha256)
                with contents.open(sha256) as file:
                    known[sha256] = measure_device_code(file)
                progress.advance(size_bytes)
        write_sealed(record_path, json.dumps(known, sort_keys=True).encode())
    return {sha256: known[sha256] for sha256 in wanted}


def _hash_code() -> str:
    """Of what decides about the result: a changed reader reads anew."""
    return f"{hash_code()[:16]}-{hash_tree(Path(__file__).parent)[:16]}"
