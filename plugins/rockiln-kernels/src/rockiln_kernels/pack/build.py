"""Arch + toolchain → Pack(manifest, code): compiled in parallel, read back, linted. Same inputs, same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.cache import CompileCache, make_cache_key, make_kernel_key
from rockiln_kernels.pack.compile_apart import Outcome, compile_apart
from rockiln_kernels.pack.compile_kernel import Compiled, NotCompiled
from rockiln_kernels.pack.describe import describe_kernel, describe_variant
from rockiln_kernels.pack.index import dump_index
from rockiln_kernels.pack.intact import INDEX_NAME, find_code_fault, hash_file
from rockiln_kernels.pack.lint import lint_kernel
from rockiln_kernels.pack.manifest import (
    FILE_NAME,
    SCHEMA,
    AbsentEntry,
    Manifest,
    VariantEntry,
    dump_manifest,
    read_manifest,
)
from rockiln_kernels.pack.output import fill_folder
from rockiln_kernels.pack.parts import PARTS_NAME, dump_parts
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel, Variant

Advance = Callable[[int, int], None]
"""Told how many kernels are done, of how many."""


def say_nothing(_done: int, _total: int) -> None:
    """An Advance for who does not watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A manifest, and file name → code object for every kernel in it."""

    manifest: Manifest
    code: Mapping[str, bytes]


def build_pack(
    arch: Arch,
    variants: Sequence[Variant],
    toolchain: Toolchain,
    cache: CompileCache,
    *,
    jobs: int = 0,
    advance: Advance = say_nothing,
) -> Pack:
    """Compile and lint `variants`. One that fails is in `absent` with the reason, as is its every launch."""
    kernels = {make_kernel_key(kernel): kernel for kernel in _list_kernels(variants)}
    outcomes = _compile_all(kernels, arch, toolchain, cache, jobs or os.cpu_count() or 1, advance)
    objections = {key: _find_objections(kernels[key], outcomes[key], arch) for key in kernels}
    kept: list[VariantEntry] = []
    absent: list[AbsentEntry] = []
    for variant in variants:
        keys = [make_kernel_key(launch.kernel) for launch in variant.launches]
        if reasons := [reason for key in keys for reason in objections[key]]:
            absent.append(AbsentEntry(key=variant.key, reason="; ".join(dict.fromkeys(reasons))))
        else:
            kept.append(describe_variant(variant, keys))
    used = sorted({launch.kernel for entry in kept for launch in entry.launches})
    built = {key: outcome for key in used if isinstance(outcome := outcomes[key], Compiled)}
    manifest = Manifest(
        schema=SCHEMA,
        arch=arch.name,
        wave_lanes=arch.wave_lanes,
        triton=toolchain.triton,
        lld=toolchain.lld,
        kernels={key: describe_kernel(key, kernels[key], built[key], arch) for key in built},
        variants=tuple(kept),
        absent=tuple(absent),
    )
    return Pack(manifest=manifest, code={manifest.kernels[key].file: built[key].code for key in built})


def write_pack(pack: Pack, folder: Path) -> None:
    """Write manifest.json, what is made of it, and the code objects; `folder` is replaced as a whole, or left alone.

    Raises OutputError where `folder` is neither absent, nor empty, nor a pack.
    """
    with fill_folder(folder, find_foreign) as new:
        for name, code in pack.code.items():
            (new / name).write_bytes(code)
        (new / FILE_NAME).write_text(dump_manifest(pack.manifest), encoding="utf-8")
        (new / PARTS_NAME).write_text(dump_parts(pack.manifest), encoding="utf-8")
        (new / INDEX_NAME).write_bytes(dump_index(pack.manifest))


def find_foreign(folder: Path) -> str:
    """What makes `folder` no pack, or a pack with more in it than its manifest names; "" if nothing does."""
    try:
        manifest = read_manifest(folder)
    except (OSError, ValueError):
        return f"it is no pack (no {FILE_NAME} of one is in it)"
    known = {FILE_NAME, PARTS_NAME, INDEX_NAME, *(entry.file for entry in manifest.kernels.values())}
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in known or not path.is_file())
    return f"{foreign[0]} is no file of the pack that it is" if foreign else ""


def hash_pack(folder: Path) -> str:
    """sha256 of a pack: over its manifest, which holds the hash of every code object."""
    return hash_file(folder / FILE_NAME)


def find_damage(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """Files of the pack that are missing, or whose bytes are not those that the manifest names; its own, too."""
    damage = []
    if (folder / FILE_NAME).read_bytes() != dump_manifest(manifest).encode():
        damage.append(f"{FILE_NAME} is not as it was written")
    entries = manifest.kernels.values()
    damage += [fault for entry in entries if (fault := find_code_fault(folder, entry.file, entry.sha256))]
    for name, content in ((INDEX_NAME, dump_index(manifest)), (PARTS_NAME, dump_parts(manifest).encode())):
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            damage.append(f"{name} is missing or of another manifest")
    return tuple(damage)


def _list_kernels(variants: Iterable[Variant]) -> list[Kernel]:
    return [launch.kernel for variant in variants for launch in variant.launches]


def _find_objections(kernel: Kernel, outcome: Outcome, arch: Arch) -> tuple[str, ...]:
    if isinstance(outcome, NotCompiled):
        return (outcome.reason,)
    return lint_kernel(kernel, outcome.facts, arch, outcome.shared_bytes)


def _compile_all(
    kernels: Mapping[str, Kernel], arch: Arch, toolchain: Toolchain, cache: CompileCache, jobs: int, advance: Advance
) -> dict[str, Outcome]:
    cache_keys = {key: make_cache_key(kernel, arch, toolchain) for key, kernel in kernels.items()}
    found = {key: outcome for key in kernels if (outcome := cache.load(cache_keys[key])) is not None}
    missing = [key for key in kernels if key not in found]
    advance(len(found), len(kernels))
    if not missing:
        return found
    for key, outcome in compile_apart({key: kernels[key] for key in missing}, arch, toolchain, jobs):
        found[key] = outcome
        cache.store(cache_keys[key], outcome)
        advance(len(found), len(kernels))
    return found
