"""hipcompat check: sources and architectures → which compile, and each error at its line; exit 3 for errors."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence

from hipcompat.answer import Answer
from hipcompat.archs import ARCH_HELP, read_archs
from hipcompat.check import Diagnostic, Options, Outcome, check_files, find_toolchain
from hipcompat.console import printable, quote, say_count
from hipcompat.errors import FindingsError, UsageError
from hipcompat.flags import translate_flags
from hipcompat.paths import make_path

_NO_KERNEL = (
    "no kernel: it is host code alone, or its device code is templates that nobody instantiates, or stands under a "
    "guard that is false for HIP (#ifdef __CUDACC__; --guards widens some)"
)
_QUIET_S = 2.0
_EVERY_S = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE..., --arch, --include, --define, --mode, --guards, --rocm-path, --clang, --nvcc-flags, --jobs, --json."""
    parser.add_argument("files", nargs="+", type=make_path, metavar="FILE", help="CUDA or HIP source files")
    parser.add_argument("--arch", action="append", default=[], metavar="GFX", help=ARCH_HELP)
    headers = "has headers"
    parser.add_argument("-I", "--include", action="append", default=[], type=make_path, metavar="DIR", help=headers)
    parser.add_argument("-D", "--define", action="append", default=[], metavar="NAME[=TEXT]", help="a macro")
    modes = "hipcompat's headers over the source: for .cu and .cuh (auto, the default), always, never"
    parser.add_argument("--mode", choices=("auto", "shim", "plain"), default="auto", help=modes)
    guards = "guards that ask for __CUDACC__ only to bring __device__ ask for __HIPCC__, too"
    parser.add_argument("--guards", action="store_true", help=guards)
    parser.add_argument("--rocm-path", type=make_path, metavar="DIR", help="default: ROCM_PATH, /opt/rocm, /usr")
    parser.add_argument("--clang", type=make_path, metavar="PATH", help="default: ROCm's, clang-22, clang-21, ...")
    parser.add_argument("--nvcc-flags", default="", metavar="TEXT", help="nvcc's, translated first; one alone after =")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="compilers at a time; default: 1")
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace) -> Answer:
    """Compile each file for each architecture."""
    archs = read_archs(args.arch)
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs} compiles nothing", hint="1 or more")
    extra = _translate(args.nvcc_flags)
    toolchain = find_toolchain(os.environ, clang_path=args.clang, rocm_path=args.rocm_path)
    options = Options(
        include_paths=tuple(args.include),
        defines=tuple(args.define),
        shim={"auto": None, "shim": True, "plain": False}[args.mode],
        guards=args.guards,
        extra=extra,
        jobs=args.jobs,
    )
    outcomes = check_files(args.files, archs, toolchain, options, progress=_Progress(len(args.files) * len(archs)))
    failed = [outcome for outcome in outcomes if not outcome.is_ok]
    fault = None
    if failed:
        verb = "does" if len(failed) == 1 else "do"
        message = f"{len(failed)} of {len(outcomes)} {verb} not compile"
        fault = FindingsError(message, hint="hipcompat scan says what to do")
    value = {"hip": toolchain.hip_version, "clang": toolchain.clang_path, "outcomes": outcomes}
    return Answer(text=_describe(outcomes), value=value, fault=fault)


def _translate(text: str) -> tuple[str, ...]:
    """Raises FindingsError where ROCm has not what one asks for: what compiles without it is something else."""
    translation = translate_flags(_split(text))
    if refused := translation.explain_refused():
        raise FindingsError(refused, hint="leave it out of --nvcc-flags: without it ROCm compiles something else")
    return translation.arguments


def _split(text: str) -> list[str]:
    """As a shell would. Raises UsageError for a quote that does not close."""
    try:
        return shlex.split(text)
    except ValueError as error:
        message = f"--nvcc-flags {quote(text)} cannot be split into arguments: {error}"
        raise UsageError(message, hint="close every quote, and let no backslash stand last") from error


def _describe(outcomes: Sequence[Outcome]) -> str:
    lines = []
    for outcome in outcomes:
        lines.append(f"{printable(outcome.path)}: {outcome.arch}: {_describe_outcome(outcome)}")
        lines += [f"  {_describe_error(error)}" for error in outcome.errors]
    if any(outcome.is_ok and not outcome.kernels for outcome in outcomes):
        lines.append(_NO_KERNEL)
    return "\n".join(lines)


def _describe_outcome(outcome: Outcome) -> str:
    if not outcome.is_ok:
        return "does not compile"
    count = len(outcome.kernels)
    return f"compiles, {say_count(count, 'kernel')}" if count else "compiles, but there is no kernel in it"


def _describe_error(error: Diagnostic) -> str:
    column = f":{error.column}" if error.column else ""
    place = f"{printable(error.path)}:{error.line}{column}: " if error.path else ""
    instruction = f" ({printable(error.instruction)})" if error.instruction else ""
    through = f" [from {printable(error.included_from[-1])}]" if error.included_from else ""
    return f"{place}{printable(error.message)}{instruction}{through}"


class _Progress:
    """A line on stderr every ten seconds, none before two."""

    def __init__(self, count: int) -> None:
        self._count, self._done = count, 0
        self._next_s = time.monotonic() + _QUIET_S

    def __call__(self, outcome: Outcome) -> None:
        self._done += 1
        if time.monotonic() >= self._next_s and self._done < self._count:
            self._next_s = time.monotonic() + _EVERY_S
            sys.stderr.write(f"check: {self._done} of {self._count}, last {printable(outcome.path)}\n")
