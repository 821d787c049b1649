"""hipcompat translate: CUDA source → HIP source (rename), or the arguments that leave it as it is (shim)."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from hipcompat.answer import Answer
from hipcompat.archs import ARCH_HELP, read_archs
from hipcompat.check import find_rocm
from hipcompat.console import printable, printable_lines, say_count
from hipcompat.errors import FileError, FindingsError, ToolchainError, UsageError
from hipcompat.paths import make_path
from hipcompat.scan import RULES, Finding, Target, scan
from hipcompat.scan.finding import Skipped
from hipcompat.scan.tree import find_files
from hipcompat.translate import SHIM_PATH, Translated, shim_arguments, translate_tree, write_overlay
from hipcompat.translate.tree import write_files
from hipcompat.whole_file import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PATH..., --mode, --output, --guards, --rocm-path, --in-place, --check, --diff, --nvrtc, --arch, --json."""
    parser.add_argument("paths", nargs="+", type=make_path, metavar="PATH", help="files and folders")
    parser.add_argument("--mode", choices=("rename", "shim"), default="rename", help="default: rename")
    parser.add_argument("-o", "--output", type=make_path, metavar="DIR", help="where the result goes; .cu becomes .hip")
    guards = "shim, with -o: guards that ask for __CUDACC__ only to bring __device__ ask for __HIPCC__, too"
    parser.add_argument("--guards", action="store_true", help=guards)
    where = "shim, with -o: whose vector header is laid over; default: ROCM_PATH, /opt/rocm, /usr"
    parser.add_argument("--rocm-path", type=make_path, metavar="DIR", help=where)
    parser.add_argument("--in-place", action="store_true", help="write over the files")
    check = "write nothing; exit 3 where a file would change or an error is left, else 0"
    parser.add_argument("--check", action="store_true", help=check)
    diff = "write the unified diff there, byte by byte, and print what remains"
    parser.add_argument("--diff", type=make_path, metavar="FILE", help=diff)
    parser.add_argument("--nvrtc", action="store_true", help="translate device code in string literals, too")
    parser.add_argument("--arch", action="append", default=[], metavar="GFX", help=ARCH_HELP)
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace) -> Answer:
    """Without -o and --in-place, nothing is written and the diff is the answer."""
    if sum((args.output is not None, args.in_place, args.check, args.diff is not None)) > 1:
        raise UsageError("--output, --in-place, --check and --diff exclude each other", hint="choose one")
    target = Target(archs=read_archs(args.arch))
    _refuse_unused(args)
    return _answer_shim(args, target) if args.mode == "shim" else _answer_rename(args, target)


def _refuse_unused(args: argparse.Namespace) -> None:
    """Raises UsageError for what the mode does not read."""
    if args.mode == "rename" and (args.guards or args.rocm_path):
        name = "--guards" if args.guards else "--rocm-path"
        raise UsageError(f"{name} is for headers over the source, and rename has none", hint="--mode shim -o DIR")
    if args.mode == "rename":
        return
    if args.in_place or args.diff:
        raise UsageError("shim mode leaves the source as it is", hint="--mode rename, or without --in-place and --diff")
    if args.nvrtc:
        raise UsageError("--nvrtc changes the source, which shim mode leaves as it is", hint="--mode rename")
    if args.guards and not args.output:
        raise UsageError("--guards writes copies of files", hint="-o DIR says where")
    if args.rocm_path and not args.output:
        raise UsageError("--rocm-path writes a copy of its vector header", hint="-o DIR says where")


def _answer_rename(args: argparse.Namespace, target: Target) -> Answer:
    left: list[Skipped] = []
    tree = translate_tree(args.paths, target, output_path=args.output, strings=args.nvrtc, on_left=left.append)
    files = tuple(tree)
    if left and not files:
        raise FileError("\n".join(_describe_left(left)), hint="scan does not read it either")
    if not files:
        named = ", ".join(map(str, args.paths))
        raise FileError(f"nothing to translate: no C, C++ or CUDA file in {named}", hint="scan reads the other kinds")
    changed = [file for file in files if file.is_changed]
    if args.output or args.in_place:
        write_files(files if args.output else changed)
    findings = tuple(finding for file in files for finding in file.findings)
    diff = b"" if args.output or args.in_place else b"".join(file.diff() for file in changed)
    if args.diff:
        write_whole(args.diff, diff)
        diff = b""
    places = say_count(sum(file.count for file in changed), "place")
    verb = "changes" if len(changed) == 1 else "change"
    summary = f"{len(changed)} of {say_count(len(files), 'file')} {verb}, at {places}"
    value = {"files": tuple(_value(file) for file in files), "findings": findings, "left": tuple(left)}
    needs = (*_describe_headers(files), *_describe_left(left))
    text = "\n".join((_show_diff(diff) + _describe_findings(findings), *needs, summary)).lstrip("\n")
    return Answer(text=text, value=value, fault=_find_fault(findings, changed if args.check else [], len(left)))


def _show_diff(diff: bytes) -> str:
    """For a terminal. Where that changes it, it is said, since a patch must not be changed."""
    text = diff.decode("utf-8", "surrogateescape")
    shown = printable_lines(text)
    return shown if shown == text else f"{shown}# bytes are escaped in this diff: --diff FILE writes it as it is\n"


def _value(file: Translated) -> dict[str, object]:
    return {
        "path": str(file.path), "output": str(file.output_path), "changed": file.is_changed, "places": file.count,
        "hipcompat_headers": file.find_headers(),
    }  # fmt: skip


def _describe_headers(files: Sequence[Translated]) -> tuple[str, ...]:
    """One line, where the result includes what HIP lacks and hipcompat's headers have."""
    names = sorted({name for file in files for name in file.find_headers()})
    if not names:
        return ()
    return (f"HIP has no {', '.join(names)}; hipcompat has: compile with {shlex.join(('-I', str(SHIM_PATH)))}",)


def _describe_left(left: Sequence[Skipped]) -> tuple[str, ...]:
    return tuple(f"{printable(item.path)} is left as it is: {item.reason}" for item in left)


def _answer_shim(args: argparse.Namespace, target: Target) -> Answer:
    rocm_path = _find_headers(args) if args.output else None  # before anything is written
    report = scan(args.paths, target, left_out=args.output)
    arguments = shim_arguments()
    if args.output:
        shutil.copytree(SHIM_PATH, args.output, dirs_exist_ok=True)
        arguments = (*shim_arguments(args.output), *_write_overlay(args, rocm_path))
    value = {"arguments": arguments, "findings": report.findings}
    aside = _describe_findings(report.findings)  # stdout is for clang: $(hipcompat translate --mode shim k.cu)
    return Answer(text=shlex.join(arguments), value=value, aside=aside, fault=_find_fault(report.findings, []))


def _find_headers(args: argparse.Namespace) -> Path | None:
    """Raises ToolchainError where --rocm-path has none."""
    try:
        return find_rocm(os.environ, args.rocm_path)
    except ToolchainError:
        if args.rocm_path:
            raise
        return None


def _write_overlay(args: argparse.Namespace, rocm_path: Path | None) -> tuple[str, ...]:
    """HIP's vector header where there is a ROCm; with --guards, the files of PATH."""
    files = find_files(args.paths, left_out=args.output) if args.guards else ()
    sources = [Path(file.path) for file in files if file.language == "cuda"]
    return write_overlay(args.output / "overlay", rocm_path=rocm_path, sources=sources)


def _describe_findings(findings: Sequence[Finding]) -> str:
    return "\n".join(
        f"{printable(item.place)}: {item.severity} {item.rule}: {RULES[item.rule].title}"
        for item in findings
        if item.severity != "note"
    )


def _find_fault(findings: Sequence[Finding], unwritten: Sequence[Translated], left: int = 0) -> FindingsError | None:
    """Work is left: errors that no translation removes, files it cannot read, or, for --check, that would change."""
    errors = sum(finding.severity == "error" for finding in findings)
    if unwritten:
        files = "1 file is" if len(unwritten) == 1 else f"{len(unwritten)} files are"
        return FindingsError(f"{files} not translated", hint="hipcompat translate --in-place")
    if errors:
        places = "1 place needs" if errors == 1 else f"{errors} places need"
        return FindingsError(f"{places} work by hand", hint="hipcompat scan says what to do at each")
    if left:
        return FindingsError(f"{say_count(left, 'file')} could not be translated", hint="the reasons are above")
    return None
