"""Sources, ROCm's headers → a folder, and clang's argument that lays it over them: the files themselves stay.

Two things that no header of ours can do. HIP's vector types have `+=` and its like as members, and `a += b` is
ambiguous where a file defines its own; as templates the members step back. And where a guard asks for NVIDIA's
compiler only to bring `__host__ __device__`, it asks for HIP's as well (opt-in: it changes what the source says).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from hipcompat.paths import AnyPath, AnyPaths, list_paths, make_path

VECTOR_TYPES = "hip/amd_detail/amd_hip_vector_types.h"
_MEMBER = re.compile(
    rb"^([ \t]*)(__HOST_DEVICE__\s+HIP_vector_type\s*&\s*operator[-+*/]=\s*\(\s*const\s+HIP_vector_type\s*&)",
    re.MULTILINE,
)
_QUALIFIERS = rb"__(?:host|device|global|forceinline|noinline)__"
_GUARD = re.compile(
    rb"^([ \t]*#[ \t]*)if(?:def[ \t]+(\w+)|[ \t]+defined[ \t]*(?:\([ \t]*)?(\w+)[ \t]*\)?)(?=[ \t]*(?://[^\n]*)?\r?\n"
    rb"(?:\s|//[^\n]*\n|" + _QUALIFIERS + rb"|\binline\b"
    rb"|#[ \t]*define[ \t]+\w+(?:[ \t]+(?:" + _QUALIFIERS + rb"|inline))+)*"
    rb"#[ \t]*(?:else|endif))",
    re.MULTILINE,
)
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*([\"<])([^\">\n]+)[\">]", re.MULTILINE)
_MOST_FILES = 5000
"""Included files that are looked at, so that no cycle or system header makes this long."""


def relax_members(header: bytes) -> bytes:
    """HIP's vector header with `+=`, `-=`, `*=`, `/=` as member templates; one that has none comes back as it is."""
    return _MEMBER.sub(rb"\1template <typename = void>\n\1\2", header)


def widen_guards(source: bytes) -> bytes:
    """`#ifdef __CUDACC__` before nothing but qualifiers (or macros of them) → the same or `__HIPCC__`. Lines stay."""

    def widen(match: re.Match[bytes]) -> bytes:
        name = match[2] or match[3]
        if name not in (b"__CUDACC__", b"__NVCC__"):
            return match[0]
        return match[1] + b"if defined(" + name + b") || defined(__HIPCC__)"

    return _GUARD.sub(widen, source)


def write_overlay(
    folder_path: AnyPath,
    *,
    rocm_path: AnyPath | None,
    sources: AnyPaths = (),
    include_paths: AnyPaths = (),
) -> tuple[str, ...]:
    """Clang's arguments; none where no file needs to be laid over.

    `sources`: files whose guards, and those of what they include, are widened. `folder_path` must outlive the compiler.
    """
    folder_path = make_path(folder_path)
    changed = {}
    if rocm_path is not None:
        header_path = make_path(rocm_path) / "include" / VECTOR_TYPES
        changed[header_path] = _change(header_path, relax_members)
    for path in find_included(list_paths(sources), list_paths(include_paths)):
        changed[path] = _change(path, widen_guards)
    files = {path.resolve(): text for path, text in changed.items() if text is not None}
    if not files:
        return ()
    folder_path.mkdir(parents=True, exist_ok=True)
    roots = []
    for number, (path, text) in enumerate(sorted(files.items())):
        copy_path = folder_path.resolve() / f"{number}-{path.name}"
        copy_path.write_bytes(text)
        roots.append({"type": "file", "name": str(path), "external-contents": str(copy_path)})
    overlay_path = folder_path.resolve() / "overlay.json"
    overlay_path.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": roots}, indent=1) + "\n")
    return ("-ivfsoverlay", str(overlay_path))


def find_included(sources: Iterable[Path], include_paths: Sequence[Path]) -> Iterator[Path]:
    """The sources, and the files that they include by name, beside the including file or in `include_paths`."""
    waiting, seen = list(sources), set[Path]()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop()
        if path.resolve() in seen or not path.is_file():
            continue
        seen.add(path.resolve())
        yield path
        for match in _INCLUDE.finditer(path.read_bytes()):
            name = match[2].decode(errors="replace")
            beside = (path.parent,) if match[1] == b'"' else ()
            waiting += [folder / name for folder in (*beside, *include_paths)]


def _change(path: Path, change: Callable[[bytes], bytes]) -> bytes | None:
    """None where nothing changes, or the file cannot be read."""
    try:
        before = path.read_bytes()
    except OSError:
        return None
    after = change(before)
    return after if after != before else None
