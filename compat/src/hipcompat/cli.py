"""Command line → results on stdout, narration on stderr, an exit code. The only module that prints and exits."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import hipcompat
from hipcompat.answer import dump
from hipcompat.console import explain_error, open_narration, printable, printable_lines
from hipcompat.errors import CompatError, FileError, UsageError
from hipcompat.paths import make_path
from hipcompat.verbs.table import ALWAYS, VERBS, Verb

_ESCAPED = re.compile(r"(?<!\\)((?:\\\\)*)\\x([0-9a-f]{2})")
"""As Python writes a control code in what argparse repeats; JSON, and so hipcompat, has \\u001b."""
INTERRUPTED = 130
"""128 + SIGINT, as shells count."""


class _Parser(argparse.ArgumentParser):
    """Its messages repeat words of the command line, which a terminal must not obey."""

    late_hint = ""
    """What to do about words that nobody takes."""

    def error(self, message: str) -> NoReturn:
        hint = self.late_hint if message.startswith("unrecognized") else ""
        if message.endswith("expected one argument"):
            hint = "a value that begins with a dash stands after =, as in --nvcc-flags=-O3"
        message = _ESCAPED.sub(r"\1\\u00\2", message)
        super().error(printable_lines(f"{message}\nhint: {hint}" if hint else message))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    if argv is None:
        sys.stderr = open_narration()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # tests hand over streams that are no files
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a name of any bytes is printable
    words = sys.argv[1:] if argv is None else argv
    parser = make_parser(next((word for word in words if not word.startswith("-")), ""))
    if not words:
        parser.print_help(sys.stderr)
        return UsageError.exit_code
    args = _parse(parser, words)
    try:
        return _answer(args)
    except CompatError as error:
        return _report(error, debug=args.debug)
    except KeyboardInterrupt:
        print("hipcompat: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = printable(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
        fault = FileError(message, hint="is the path right, and may this user read and write there?")
        return _report(fault.with_traceback(error.__traceback__), debug=args.debug)


def _parse(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Paths may stand before and after options, which argparse does not take where several may be given."""
    try:
        args, late = parser.parse_known_args(words)
        paths = getattr(args, "paths", None)
        if not late or not isinstance(paths, list) or any(word.startswith("-") for word in late):
            return parser.parse_args(words)
        paths += map(make_path, late)
    except UsageError as error:  # a value's, as an empty path's
        parser.error(f"{error.message}\nhint: {error.hint}")
    return args


def make_parser(only: str = "") -> argparse.ArgumentParser:
    """The whole command line, made from the table of verbs; with the arguments of one verb alone if `only` names it."""
    is_known = any(verb.name == only for verb in VERBS)
    parser = _Parser(
        prog="hipcompat",
        description="What happens to CUDA code under ROCm 7, and what can be done about it.",
        epilog="hipcompat VERB --help has an example and the exit codes; every error ends with what to do.",
    )
    parser.add_argument("--version", action="version", version=f"hipcompat {hipcompat.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    if only == "flags":
        parser.late_hint = "nvcc's arguments stand after --: hipcompat flags -- -O3 -c k.cu"
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for verb in VERBS:
        sub = verbs.add_parser(
            verb.name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".",
            epilog=_describe_use(verb), formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        if verb.name == only or not is_known:
            verb.add_arguments(sub)
            sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def _describe_use(verb: Verb) -> str:
    """Examples and exit codes, for its help."""
    codes = sorted({**ALWAYS, **verb.exits}.items())
    lines = [*(f"  {example}" for example in verb.examples), "", "exit codes:"]
    return "\n".join(["examples:", *lines, *(f"  {code:<3}  {meaning}" for code, meaning in codes)])


def _answer(args: argparse.Namespace) -> int:
    verb = next(verb for verb in VERBS if verb.name == args.verb)
    answer = verb.answer(args)
    text = dump(answer.value) if getattr(args, "json", False) else printable_lines(answer.text)
    if text:
        _print_result(text)
    if answer.aside:
        print(printable_lines(answer.aside), file=sys.stderr)
    return _report(answer.fault) if answer.fault else 0


def _print_result(text: str) -> None:
    """Raises FileError where stdout is a file on a full disk; what Python still holds of the text is let go.

    A reader that closes its end early, such as head, changes nothing.
    """
    try:
        print(text, flush=True)
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(fault, BrokenPipeError):  # the reader has what it wants; the exit code is the verdict's
            return
        message = f"the result could not be written to standard output: {fault.strerror}"
        raise FileError(message, hint="make room where the output goes, or send it elsewhere") from fault


def _report(error: CompatError, *, debug: bool = False) -> int:
    """Behind its traceback, if that is asked for; the exit code is the same."""
    if debug:
        traceback.print_exception(error)
    sys.stderr.write(explain_error(error))
    return error.exit_code
