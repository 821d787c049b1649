"""A corpus of .cu files, an architecture → which compile and assemble under hipcompat's headers, and why others do not.

    python bench/compile_corpus.py ROOT --arch gfx942 --rocm-path DIR [-I DIR]... [--output OUTCOMES.json]

For cuda-samples: -I ROOT/Common, and folders with OpenMP's and OpenGL's headers. Each file sees its own folder and the
folders inc beside and below it. OUTCOMES.json is what compare_verdicts.py takes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hipcompat.check import Options, Outcome, Toolchain, check_files, find_toolchain

CLASSES = (
    ("no texture unit on this GPU", r"image/texture API not supported"),
    ("dynamic parallelism", r"device-side kernel call|no matching function for call to 'hip(?:Malloc|Stream\w+)'"),
    ("PTX", r"invalid instruction|(?:input|output) constraint '.*' in asm"),
    ("tensor core fragments (mma.h)", r"'mma\.h' file not found"),
    ("libcu++ and cooperative groups' asynchronous copies", r"'cuda/|memcpy_async"),
    ("headers of other NVIDIA libraries",
     r"'(?:(?:cudaEGL|cudla|nv\w+|npp\w*|cuda_egl\w*|cudnn\w*)\.h\w*|cut(?:e|lass)/.*)' file not found"),
    ("headers that are not CUDA's", r"file not found"),
    ("CUresult and cudaError_t are one type", r"redefinition of '_cudaGetErrorEnum'"),
    ("calls without a mask", r"is unavailable: without a mask"),
    ("a name or signature that HIP lacks", r"undeclared|unknown type|no matching|no member|cannot be referenced"),
)


def compile_corpus(files: list[Path], arch: str, toolchain: Toolchain, args: argparse.Namespace) -> dict[Path, Outcome]:
    """Outcome by path."""

    def compile_one(path: Path) -> Outcome:
        folder = path.parent
        places = (folder, folder / "../inc", folder / "inc", *args.include)
        before = tuple(word for header in args.before for word in ("-include", header))
        options = Options(
            include_paths=places, defines=tuple(args.define), extra=("-std=c++17", *before), guards=args.guards,
            timeout_s=args.timeout,
        )  # fmt: skip
        return check_files([path], [arch], toolchain, options)[0]

    with ThreadPoolExecutor(max_workers=args.jobs) as pool:
        found = {}
        for path, outcome in zip(files, pool.map(compile_one, files), strict=True):
            found[path] = outcome
            if len(found) % 25 == 0:
                sys.stderr.write(f"{len(found)} of {len(files)}\n")
    return found


def describe(outcome: Outcome) -> str:
    """The first errors in one line."""
    return " | ".join(f"{error.message} {error.instruction}".strip() for error in outcome.errors[:3])


def classify(outcome: Outcome) -> str:
    """The first class that any of the first errors belongs to."""
    text = describe(outcome)
    return next((name for name, pattern in CLASSES if re.search(pattern, text)), "other")


def _count_cpu_s() -> float:
    """Of all compilers so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Compile all, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--rocm-path", type=Path)
    parser.add_argument("-I", "--include", action="append", default=[], type=Path)
    parser.add_argument("-D", "--define", action="append", default=[], help="a macro; USE_ROCM for extensions of torch")
    parser.add_argument("--before", action="append", default=[], help="a header that goes before each file")
    parser.add_argument("--guards", action="store_true", help="widen guards that ask for NVIDIA's compiler")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300, help="seconds a file")
    parser.add_argument("--only", default="", help="a regular expression over paths")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--summary", type=Path)
    args = parser.parse_args()
    toolchain = find_toolchain(os.environ, rocm_path=args.rocm_path)
    files = sorted(path for path in args.root.rglob("*.cu") if re.search(args.only, str(path)))
    started_s = time.monotonic()
    found = compile_corpus(files, args.arch, toolchain, args)
    names = {path: path.relative_to(args.root).as_posix() for path in files}
    listed = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {names[path]}\n" for path in files)
    outcomes = {names[path]: {"ok": item.is_ok, "error": describe(item)} for path, item in found.items()}
    summary = {
        "corpus sha256": hashlib.sha256(listed.encode()).hexdigest(), "arch": args.arch, "files": len(files),
        "compile and assemble": sum(item.is_ok for item in found.values()), "HIP": toolchain.hip_version,
        "seconds": round(time.monotonic() - started_s), "CPU seconds": round(_count_cpu_s(), 1),
        "first errors": dict(Counter(classify(item) for item in found.values() if not item.is_ok).most_common()),
    }  # fmt: skip
    sys.stderr.write(f"{time.monotonic() - started_s:.0f} s\n")
    if args.output:
        args.output.write_text(json.dumps(outcomes, indent=1) + "\n")
    if args.summary:
        args.summary.write_text(json.dumps(summary, indent=1) + "\n")
    for path, item in found.items():
        if not item.is_ok:
            print(f"{classify(item)}: {names[path]}: {describe(item)[:200]}")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
