"""Command line → packs built, inspected and listed. The only module that prints, and that sets the exit code."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rockiln_kernels import __version__
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.launcher import Launcher, LaunchError
from rockiln_kernels.pack.build import build_pack, find_damage, hash_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest, read_manifest
from rockiln_kernels.pack.project import write_project
from rockiln_kernels.pack.toolchain import ToolchainError, find_toolchain
from rockiln_kernels.selection import explain, read_host
from rockiln_kernels.selection.call_text import parse_call
from rockiln_kernels.selection.host import find_pack
from rockiln_kernels.selection.records import find_user_folder, write_record
from rockiln_kernels.selection.values import describe_selection, dump_selection
from rockiln_kernels.table import make_arch_variants, read_table
from rockiln_kernels.wanted_table import read_wishes

EXIT_OK, EXIT_DAMAGED, EXIT_USAGE, EXIT_TOOLCHAIN, EXIT_NOT_SELECTED, EXIT_UNAVAILABLE, EXIT_WRONG = range(7)
_QUIET_S, _LINE_S = 2.0, 10.0


def make_parser() -> argparse.ArgumentParser:
    """The command line; docs/packs.md documents each flag, and a test compares them."""
    parser = argparse.ArgumentParser(prog="rockiln-kernels", description="Build and look into packs of GPU kernels.")
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    build = verbs.add_parser("build-pack", help="compile every op for one arch")
    build.add_argument("--arch", required=True, choices=sorted(ARCHS), help="LLVM's name of the target")
    build.add_argument("--output", required=True, type=Path, help="the pack's folder; replaced as a whole")
    build.add_argument("--project", type=Path, help="write a distribution's folder around the pack here, for a wheel")
    build.add_argument("--only", default="*", help='keys of variants: "rms_norm/bf16/*"')
    build.add_argument("--jobs", type=int, default=0, help="compilers at once; all cores if not given")
    inspect = verbs.add_parser("inspect", help="what is in a pack, and whether its files are whole")
    inspect.add_argument("pack", type=Path, help="a pack's folder")
    listing = verbs.add_parser("list", help="ops, or what a pack for an arch must hold")
    listing.add_argument("--arch", choices=sorted(ARCHS), help="list wanted cells and gaps of this arch")
    _add_validate(verbs.add_parser("validate", help="run a pack on this machine's GPU and record what was right"))
    _add_explain(verbs.add_parser("explain", help="who would run a call on an arch, and why nobody else"))
    return parser


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
    parser.add_argument("--elements", type=int, default=1 << 22, help="most elements of one array")
    parser.add_argument("--output", type=Path, help="the folder of records; the user's if not given")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code. docs/packs.md and docs/selection.md say which is which."""
    options = make_parser().parse_args(arguments)
    try:
        if options.verb == "build-pack":
            return _build(options)
        if options.verb in {"explain", "validate"}:
            return _explain(options) if options.verb == "explain" else _validate(options)
        return _inspect(options.pack) if options.verb == "inspect" else _list(options.arch)
    except ToolchainError as error:
        return _fail(error.message, error.hint, EXIT_TOOLCHAIN)
    except (OSError, ValueError) as error:
        return _fail(str(error), "", EXIT_DAMAGED)


def _fail(message: str, hint: str, code: int) -> int:
    print(f"rockiln-kernels: {message}", file=sys.stderr)
    if hint:
        print(f"  {hint}", file=sys.stderr)
    return code


class _Lines:
    """Progress on stderr: silent for two seconds, then a line every ten."""

    def __init__(self, title: str, what: str = "kernels") -> None:
        self._title, self._what = title, what
        self._next_s = time.monotonic() + _QUIET_S

    def __call__(self, done: int, total: int) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _LINE_S
            print(f"{self._title}: {done} of {total} {self._what}", file=sys.stderr, flush=True)


def _build(options: argparse.Namespace) -> int:
    arch = ARCHS[options.arch]
    variants = [item for item in make_arch_variants(arch) if fnmatch.fnmatch(item.key, options.only)]
    if not variants:
        return _fail(f"no variant is called {options.only}", "rockiln-kernels list names the ops", EXIT_USAGE)
    toolchain = find_toolchain()
    cache = CompileCache(folder=find_cache_folder())
    pack = build_pack(arch, variants, toolchain, cache, jobs=options.jobs, advance=_Lines(f"compiling for {arch.name}"))
    write_pack(pack, options.output)
    if options.project:
        write_project(pack.manifest, options.output, options.project)
    print(_summarise(pack.manifest, options.output))
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
    print(_summarise(manifest, folder))
    print(f"triton {manifest.triton}, lld {manifest.lld}")
    for variant in manifest.variants:
        kernels = [manifest.kernels[launch.kernel] for launch in variant.launches]
        facts = ", ".join(f"{item.symbol} {item.threads} threads {item.vgprs} registers" for item in kernels)
        print(f"  {variant.key}: {facts}{' (decode)' if variant.decoded else ''}")
    for absent in manifest.absent:
        print(f"  absent {absent.key}: {absent.reason}")
    damage = find_damage(folder, manifest)
    for line in damage:
        print(f"rockiln-kernels: {folder}: {line}", file=sys.stderr)
    return EXIT_DAMAGED if damage else EXIT_OK


def _list(arch: str | None) -> int:
    if arch is None:
        for spec in read_table().values():
            print(f"{spec.name}: {spec.summary}")
        return EXIT_OK
    for wish in read_wishes():
        if wish.arch == arch:
            print(f"{wish.op}/{wish.cell}{': absent, ' + wish.gap if wish.gap else ''}")
    return EXIT_OK


def _explain(options: argparse.Namespace) -> int:
    try:
        call = parse_call(options.op, options.array, options.scalar, options.dtype)
    except ValueError as error:
        return _fail(str(error), "", EXIT_USAGE)
    if call.op not in read_table():
        return _fail(f"there is no op called {call.op!r}", "rockiln-kernels list names the ops", EXIT_USAGE)
    host = read_host(options.arch, os.environ, options.pack)
    host = replace(host, emulated_ok=host.emulated_ok or options.emulated_ok)
    selection = explain(call, host, strict=False)
    print(dump_selection(selection) if options.json else describe_selection(selection))
    is_refused = selection.provider != "pack" and (options.strict or host.is_strict)
    return EXIT_NOT_SELECTED if is_refused else EXIT_OK


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
        device = launcher.read_device()
        memory = DeviceMemory()
    except LaunchError as error:
        return _fail(f"Unavailable: {error}", "validate needs a GPU, and its runtime", EXIT_UNAVAILABLE)
    folder = options.pack or find_pack(device.arch)
    if folder is None:
        return _fail(f"Unavailable: no pack for {device.arch} is installed", "name one with --pack", EXIT_UNAVAILABLE)
    pack, manifest = launcher.open_pack(folder), read_manifest(folder)
    if pack.arch != device.arch:
        return _fail(f"the pack is for {pack.arch}, the GPU is {device.arch}", "", EXIT_USAGE)
    variants = [item for item in manifest.variants if fnmatch.fnmatch(item.key, options.only)]
    record = validate_pack(
        pack,
        manifest,
        memory,
        variants,
        elements=options.elements,
        device=f"{device.arch}, HIP {memory.version}",
        advance=_Lines(f"validating on {device.arch}", "variants"),
    )
    path = write_record(record, options.output or find_user_folder(os.environ))
    for key, fault in record.failed.items():
        print(f"wrong: {key}: {fault}")
    print(f"{path}: {len(record.passed)} right, {len(record.failed)} wrong, {len(record.not_run)} not run")
    return EXIT_WRONG if record.failed else EXIT_OK
