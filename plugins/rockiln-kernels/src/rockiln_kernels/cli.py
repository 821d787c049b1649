"""Command line → packs built, inspected and listed. The only module that prints, and that sets the exit code."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import os
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rockiln_kernels import __version__
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.launcher import Launcher, LaunchError
from rockiln_kernels.pack.build import build_pack, find_damage, find_foreign, hash_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest, VariantEntry, read_manifest
from rockiln_kernels.pack.output import OutputError, check_apart, check_output
from rockiln_kernels.pack.project import WheelTooLargeError, write_project
from rockiln_kernels.pack.project import find_foreign as find_foreign_in_project
from rockiln_kernels.pack.toolchain import ToolchainError, find_toolchain
from rockiln_kernels.selection import explain, read_host
from rockiln_kernels.selection.call_text import parse_call
from rockiln_kernels.selection.host import SWITCHES, find_pack, read_switch
from rockiln_kernels.selection.records import HardwareRecord, find_former, find_user_folder, write_record
from rockiln_kernels.selection.values import describe_selection, dump_selection
from rockiln_kernels.table import make_arch_variants, read_table
from rockiln_kernels.variant import Variant
from rockiln_kernels.wanted_table import read_wishes

EXIT_OK, EXIT_DAMAGED, EXIT_USAGE, EXIT_TOOLCHAIN, EXIT_NOT_SELECTED, EXIT_UNAVAILABLE, EXIT_WRONG = range(7)
EXIT_TOO_LARGE = 7
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells count."""
_COUNT_LIMIT = 1 << 31
_QUIET_S, _LINE_S = 2.0, 10.0


def make_parser() -> argparse.ArgumentParser:
    """The command line; docs/packs.md documents each flag, and a test compares them."""
    parser = argparse.ArgumentParser(prog="rockiln-kernels", description="Build and look into packs of GPU kernels.")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    build = verbs.add_parser("build-pack", help="compile every op for one arch")
    build.add_argument("--arch", required=True, choices=sorted(ARCHS), help="LLVM's name of the target")
    build.add_argument("--output", required=True, type=Path, help="the pack's folder; a pack there is replaced")
    build.add_argument("--project", type=Path, help="write a distribution's folder around the pack here, for a wheel")
    build.add_argument("--only", default="*", help='keys of variants: "rms_norm/bf16/*"')
    build.add_argument("--jobs", type=_parse_count, default=0, help="compilers at once; all cores if not given")
    inspect = verbs.add_parser("inspect", help="what is in a pack, and whether its files are whole")
    inspect.add_argument("pack", type=Path, help="a pack's folder")
    listing = verbs.add_parser("list", help="ops, or what a pack for an arch must hold")
    listing.add_argument("--arch", choices=sorted(ARCHS), help="list wanted cells and gaps of this arch")
    _add_validate(verbs.add_parser("validate", help="run a pack on this machine's GPU and record what was right"))
    _add_explain(verbs.add_parser("explain", help="who would run a call on an arch, and why nobody else"))
    return parser


def _parse_count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:20]) < _COUNT_LIMIT:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {_COUNT_LIMIT - 1}")
    return int(text)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", help="an op's name")
    parser.add_argument("--arch", required=True, choices=sorted(ARCHS), help="of the GPU; none has to be here")
    parser.add_argument("--array", action="append", default=[], help="x=bf16[4,8192], then :STRIDES, then @ALIGNMENT")
    parser.add_argument("--scalar", action="append", default=[], help="eps=1e-5")
    parser.add_argument("--dtype", action="append", default=[], help="a dtype that no array decides: Q=e4m3")
    parser.add_argument("--pack", type=Path, help="a pack's folder; the installed one of the arch if not given")
    parser.add_argument("--emulated-ok", action="store_true", help="as ROCKILN_EMULATED_OK=1")
    parser.add_argument("--strict", action="store_true", help="exit code 4 unless the pack runs it")
    parser.add_argument("--json", action="store_true", help="the selection as JSON")


def _add_validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pack", type=Path, help="a pack's folder; the installed one of the GPU's arch if not given")
    parser.add_argument("--only", default="*", help='keys of variants: "rms_norm/bf16/*"')
    parser.add_argument("--elements", type=_parse_count, default=1 << 22, help="most elements of one array")
    parser.add_argument("--output", type=Path, help="the folder of records; the user's if not given")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. docs/packs.md and docs/selection.md say which is which."""
    options = make_parser().parse_args(arguments)
    if arguments is None:
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _answer(options)
    except KeyboardInterrupt:
        return _fail("interrupted", "", EXIT_INTERRUPTED)
    except RefusalError as error:
        return _fail(*error.words)
    except ToolchainError as error:
        return _fail(error.message, error.hint, EXIT_TOOLCHAIN)
    except (OutputError, WheelTooLargeError, OSError, ValueError) as error:
        codes = {OutputError: EXIT_USAGE, WheelTooLargeError: EXIT_TOO_LARGE}
        return _fail(str(error), "", codes.get(type(error), EXIT_DAMAGED))


def _answer(options: argparse.Namespace) -> int:
    if options.verb == "build-pack":
        return _build(options)
    if options.verb in {"explain", "validate"}:
        return _explain(options) if options.verb == "explain" else _validate(options)
    return _inspect(options.pack) if options.verb == "inspect" else _list(options.arch)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _fail(message: str, hint: str, code: int) -> int:
    _tell(f"rockiln-kernels: {message}")
    if hint:
        _tell(f"  {hint}")
    return code


def _tell(line: str) -> None:
    """A line of narration, which nobody has to read."""
    with contextlib.suppress(BrokenPipeError):
        print(line, file=sys.stderr, flush=True)


def _print_result(text: str) -> None:
    """To stdout. A reader that closes its end early, such as head, changes nothing: the exit code is the verdict's."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python still holds of it is let go
        if not isinstance(error, BrokenPipeError):
            raise OSError(f"the result could not be written to standard output: {error.strerror}") from error


class _Lines:
    """Progress on stderr: silent for two seconds, then a line every ten."""

    def __init__(self, title: str, what: str = "kernels") -> None:
        self._title, self._what = title, what
        self._next_s = time.monotonic() + _QUIET_S

    def __call__(self, done: int, total: int) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_S
            _tell(f"{self._title}: {done} of {total} {self._what}")


def _build(options: argparse.Namespace) -> int:
    arch = ARCHS[options.arch]
    variants = _choose_variants(make_arch_variants(arch), options.only)
    check_output(options.output, find_foreign)
    if options.project:
        check_apart({"--output": options.output, "--project": options.project})
        check_output(options.project, find_foreign_in_project)
    toolchain = find_toolchain()
    cache = CompileCache(folder=find_cache_folder())
    pack = build_pack(arch, variants, toolchain, cache, jobs=options.jobs, advance=_Lines(f"compiling for {arch.name}"))
    write_pack(pack, options.output)
    if options.project:
        write_project(pack.manifest, options.output, options.project)
    _print_result(_summarise(pack.manifest, options.output))
    return EXIT_OK


def _summarise(manifest: Manifest, folder: Path) -> str:
    size = sum(entry.size_bytes for entry in manifest.kernels.values()) + (folder / FILE_NAME).stat().st_size
    ops = len({variant.op for variant in manifest.variants})
    return (
        f"{manifest.arch}: {ops} ops, {len(manifest.variants)} variants, {len(manifest.kernels)} kernels, "
        f"{len(manifest.absent)} absent, {size / 1e6:.1f} MB, sha256 {hash_pack(folder)}"
    )


def _inspect(folder: Path) -> int:
    manifest = read_manifest(folder)
    damage = find_damage(folder, manifest)
    lines = [_summarise(manifest, folder), f"triton {manifest.triton}, lld {manifest.lld}"]
    for variant in manifest.variants:
        kernels = [manifest.kernels[launch.kernel] for launch in variant.launches]
        facts = ", ".join(f"{item.symbol} {item.threads} threads {item.vgprs} registers" for item in kernels)
        lines.append(f"  {variant.key}: {facts}{' (decode)' if variant.decoded else ''}")
    lines += [f"  absent {absent.key}: {absent.reason}" for absent in manifest.absent]
    _print_result("\n".join(lines))
    return _tell_damage(folder, damage)


def _tell_damage(folder: Path, damage: Sequence[str]) -> int:
    for line in damage:
        _tell(f"rockiln-kernels: {folder}: {line}")
    return EXIT_DAMAGED if damage else EXIT_OK


def _list(arch: str | None) -> int:
    if arch is None:
        lines = [f"{spec.name}: {spec.summary}" for spec in read_table().values()]
    else:
        wishes = [wish for wish in read_wishes() if wish.arch == arch]
        lines = [f"{wish.op}/{wish.cell}{': absent, ' + wish.gap if wish.gap else ''}" for wish in wishes]
    _print_result("\n".join(lines))
    return EXIT_OK


def _explain(options: argparse.Namespace) -> int:
    try:
        call = parse_call(options.op, options.array, options.scalar, options.dtype)
        for name in SWITCHES:
            read_switch(os.environ, name)
    except ValueError as error:
        return _fail(str(error), "", EXIT_USAGE)
    if call.op not in read_table():
        return _fail(f"there is no op called {call.op!r}", "rockiln-kernels list names the ops", EXIT_USAGE)
    host = read_host(options.arch, os.environ, options.pack)
    host = replace(host, emulated_ok=host.emulated_ok or options.emulated_ok)
    selection = explain(call, host, strict=False)
    _print_result(dump_selection(selection) if options.json else describe_selection(selection))
    is_refused = selection.provider != "pack" and (options.strict or host.is_strict)
    return EXIT_NOT_SELECTED if is_refused else EXIT_OK


class RefusalError(Exception):
    """A message, what to do, and the exit code."""

    def __init__(self, message: str, hint: str, code: int) -> None:
        super().__init__(message)
        self.words = (message, hint, code)


def _validate(options: argparse.Namespace) -> int:
    """Exit code 5 says Unavailable: nothing was run, so nothing is known."""
    try:
        from rockiln_kernels.validation.device import DeviceMemory
        from rockiln_kernels.validation.validate import validate_pack
    except ModuleNotFoundError as error:
        return _fail(f"Unavailable: {error}", "pip install rockiln-kernels[validate]", EXIT_UNAVAILABLE)
    try:
        launcher = Launcher()
        launcher.count_devices()
        arch = launcher.read_device().arch
        memory = DeviceMemory()
    except LaunchError as error:
        return _fail(f"Unavailable: {error}", "validate needs a GPU, and its runtime", EXIT_UNAVAILABLE)
    folder = options.pack or find_pack(arch)
    if folder is None:
        return _fail(f"Unavailable: no pack for {arch} is installed", "name one with --pack", EXIT_UNAVAILABLE)
    manifest = _read_whole_pack(folder, arch)
    variants = _choose_variants(manifest.variants, options.only)
    records = options.output or find_user_folder(os.environ)
    _check_records(records, arch, hash_pack(folder))
    record = validate_pack(
        launcher.open_pack(folder),
        manifest,
        memory,
        variants,
        elements=options.elements,
        device=f"{arch}, HIP {memory.version}",
        advance=_Lines(f"validating on {arch}", "variants"),
    )
    return _keep_record(record, records)


def _read_whole_pack(folder: Path, arch: str) -> Manifest:
    """Of a pack for the GPU at hand, of which nothing is damaged: what is recorded is recorded of its hash."""
    manifest = read_manifest(folder)
    if manifest.arch != arch:
        raise RefusalError(f"the pack is for {manifest.arch}, the GPU is {arch}", "", EXIT_USAGE)
    if damage := find_damage(folder, manifest):
        hint = "install or build it anew; rockiln-kernels inspect names all"
        raise RefusalError(f"{folder} is damaged, nothing was run: {damage[0]}", hint, EXIT_DAMAGED)
    return manifest


_Keyed = TypeVar("_Keyed", Variant, VariantEntry)


def _choose_variants(variants: Iterable[_Keyed], pattern: str) -> list[_Keyed]:
    chosen = [item for item in variants if fnmatch.fnmatch(item.key, pattern)]
    if not chosen:
        hint = "rockiln-kernels list names the ops, rockiln-kernels inspect a pack's variants"
        raise RefusalError(f"no variant is called {pattern}", hint, EXIT_USAGE)
    return chosen


def _check_records(folder: Path, arch: str, pack_sha256: str) -> None:
    try:
        find_former(folder, arch, pack_sha256)
    except ValueError as error:
        hint = "name another folder with --output, or move that away"
        raise RefusalError(f"no record can be written: {error}", hint, EXIT_USAGE) from error


def _keep_record(record: HardwareRecord, folder: Path) -> int:
    """Write what was found, and say it. Where nothing was run, there is nothing to write."""
    if not record.passed and not record.failed:
        key, reason = next(iter(record.not_run.items()))
        return _fail(f"Unavailable: nothing was run; {key}: {reason}", "", EXIT_UNAVAILABLE)
    path = write_record(record, folder)
    wrong = [f"wrong: {key}: {fault}" for key, fault in record.failed.items()]
    counts = f"{len(record.passed)} right, {len(record.failed)} wrong, {len(record.not_run)} not run"
    _print_result("\n".join([*wrong, f"{path}: {counts}"]))
    return EXIT_WRONG if record.failed else EXIT_OK
