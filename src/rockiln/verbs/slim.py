"""rockiln slim: a file or folder anywhere → the same without code for other GPUs, in place or as a copy."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.archs import LLVM_TARGETS
from rockiln.console import printable
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.kernel_data.grammars import find_root
from rockiln.kernel_data.settle import COMPLETE
from rockiln.tables import suggest
from rockiln.verbs.answer import Answer, format_bytes, tabulate
from rockiln.verbs.arguments import add_jobs, add_json

if TYPE_CHECKING:
    from rockiln.fatbin.slim_file import FileResult
    from rockiln.fatbin.slim_tree import SlimReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PATH, --archs, --output, --dry-run, --jobs, --json."""
    parser.add_argument("path", type=Path, metavar="PATH", help="a library, a site-packages, a rootfs, /opt/rocm, ...")
    parser.add_argument("--archs", required=True, metavar="ARCH,...", help="GPUs to keep code for, as gfx942,gfx950")
    parser.add_argument("--output", type=Path, metavar="PATH", help="write a copy there (default: change PATH itself)")
    parser.add_argument("--dry-run", action="store_true", help="change nothing, say what would change")
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Slim everything at the path."""
    from rockiln.fatbin.slim_tree import SlimOptions, slim_copy, slim_in_place

    options = SlimOptions(archs=parse_archs(args.archs), jobs=invocation.jobs, is_dry_run=args.dry_run)
    if args.output is None:
        report = slim_in_place(args.path, options, invocation.console)
    else:
        report = slim_copy(args.path, args.output, options, invocation.console)
    return Answer(text=describe(report), value=report)


def parse_archs(text: str) -> frozenset[str]:
    """Turn "gfx942,gfx950" into the set. Raises UsageError for a name that LLVM does not know."""
    archs = frozenset(filter(None, (name.strip() for name in text.split(","))))
    if not archs:
        raise UsageError("--archs names no GPU", hint="for example --archs gfx942,gfx950")
    for arch in sorted(archs - LLVM_TARGETS):
        if ":" in arch:
            hint = f"name {arch.partition(':')[0]}: code for each of its features is kept"
            raise UsageError(f"--archs: {arch!r} has a feature suffix, and is no arch", hint=hint)
        hint = "rocminfo prints the name of a GPU that is here"
        raise UsageError(f"--archs: {arch!r} is no arch{suggest(arch.lower(), LLVM_TARGETS)}", hint=hint)
    return archs


def describe(report: SlimReport) -> str:
    """A row a fat file, a row a folder of kernel data, then the sum."""
    if not report.files:
        return f"{printable(str(report.path))}: {_describe_nothing(report)}; nothing was changed"
    rows: list[tuple[str, ...]] = [("file", "before", "after", "result")]
    groups = _group_files(report)
    rows += [_describe_row(files[0], report) for files in groups.values() if len(files) == 1]
    rows += [_describe_group(root, files, report) for root, files in groups.items() if len(files) > 1]
    return "\n".join((tabulate(rows), "", *_describe_sum(report)))


def _describe_nothing(report: SlimReport) -> str:
    count = len(report.archives)
    elf = f"none of {report.elf_files} ELF files holds device code" if report.elf_files else "there is no ELF file"
    packed = f"; not looked into, unpack first: {count} archive{'s' * (count > 1)}" if count else ""
    return f"{elf}, and there is no other kernel data{packed}"


def _group_files(report: SlimReport) -> dict[Path, list[FileResult]]:
    """Kernel data by folder, since there are thousands of files and nobody asks for each; what is cut, one by one."""
    groups: dict[Path, list[FileResult]] = {}
    for one in report.files:
        is_cut = one.rule == "fat-binary" or one.outcome == "slimmed"
        root = one.path if is_cut else one.path.parent if one.rule == "code-object" else find_root(one.path)
        groups.setdefault(root, []).append(one)
    return groups


def _describe_group(root: Path, files: list[FileResult], report: SlimReport) -> tuple[str, ...]:
    before, after = sum(one.before_bytes for one in files), sum(one.after_bytes for one in files)
    kept = sorted({arch for one in files for arch in one.kept})
    gone = sum(one.outcome == "dropped" for one in files)
    verb = "would go" if report.is_dry_run else "went"
    result = f"keeps {', '.join(kept) or 'what all archs share'}; {gone} of {len(files)} files {verb}"
    missing = sorted(set(report.archs) - set(kept)) if files[0].rule in COMPLETE else []
    result += f"; it never held {', '.join(missing)}" if missing else ""
    doubts = sorted({one.reason for one in files if one.outcome == "refused"})
    if doubts:
        result += f"; left alone: {doubts[0]}" + (f", and {len(doubts) - 1} more reasons" if doubts[1:] else "")
    return _name(root, report), format_bytes(before), format_bytes(after), result


def _name(path: Path, report: SlimReport) -> str:
    base = report.output_path if path.is_relative_to(report.output_path) else report.path
    return path.name if path == base or not path.is_relative_to(base) else str(path.relative_to(base))


def _describe_row(one: FileResult, report: SlimReport) -> tuple[str, ...]:
    return _name(one.path, report), format_bytes(one.before_bytes), format_bytes(one.after_bytes), _describe_result(one)


def _describe_result(one: FileResult) -> str:
    if one.outcome == "refused":
        return f"left alone: {one.reason}"
    if one.outcome == "dropped":
        return f"goes: holds {', '.join(one.dropped)} only"
    kept = f"keeps {', '.join(one.kept) or 'no code'}"
    missing = f"; it never held {', '.join(one.missing)}" if one.missing else ""
    reason = f" ({one.reason})" if one.reason and not one.reason.startswith("serves ") else ""
    return f"{'unchanged, ' if one.outcome == 'unchanged' else ''}{kept}{reason}{missing}"


def _describe_sum(report: SlimReport) -> Iterable[str]:
    before = sum(one.before_bytes for one in report.files)
    after = sum(one.after_bytes for one in report.files)
    changed = [one for one in report.files if one.outcome in {"slimmed", "dropped"}]
    verb = "would go" if report.is_dry_run else "went"
    if all(one.outcome == "refused" for one in report.files):
        yield "no file was changed"
    else:
        yield (
            f"{len(changed)} of {len(report.files)} files with device code: {format_bytes(before)} →"
            f" {format_bytes(after)}, {format_bytes(before - after)} {verb}"
        )
    if report.corrected:
        yield printable(f"lists corrected: {', '.join(map(str, report.corrected))}")
