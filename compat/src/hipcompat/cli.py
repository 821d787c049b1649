"""Command line → results on stdout, narration on stderr, an exit code. The only module that prints and exits."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

import hipcompat
from hipcompat.answer import dump
from hipcompat.errors import CompatError, FileError
from hipcompat.verbs.table import VERBS

INTERRUPTED = 130
"""128 + SIGINT, as shells count."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):  # tests hand over streams that are no files
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a name of any bytes is printable
    words = sys.argv[1:] if argv is None else argv
    args = make_parser(next((word for word in words if not word.startswith("-")), "")).parse_args(words)
    try:
        return _answer(args)
    except CompatError as error:
        if args.debug:
            raise
        return _report(error)
    except KeyboardInterrupt:
        print("hipcompat: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if args.debug:
            raise
        message = f"{error.strerror or error}: {error.filename or ''}".rstrip(": ")
        return _report(FileError(message, hint="is the path right, and may this user read and write there?"))


def make_parser(only: str = "") -> argparse.ArgumentParser:
    """The whole command line, made from the table of verbs; with the arguments of one verb alone if `only` names it."""
    is_known = any(verb.name == only for verb in VERBS)
    parser = argparse.ArgumentParser(
        prog="hipcompat",
        description="What happens to CUDA code under ROCm 7, and what can be done about it.",
        epilog="docs/compat.md describes each verb; every error ends with what to do.",
    )
    parser.add_argument("--version", action="version", version=f"hipcompat {hipcompat.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for verb in VERBS:
        sub = verbs.add_parser(verb.name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".")
        if verb.name == only or not is_known:
            verb.add_arguments(sub)
    return parser


def _answer(args: argparse.Namespace) -> int:
    verb = next(verb for verb in VERBS if verb.name == args.verb)
    answer = verb.answer(args)
    text = dump(answer.value) if getattr(args, "json", False) else answer.text
    if text:
        print(text, flush=True)
    return _report(answer.fault) if answer.fault else 0


def _report(error: CompatError) -> int:
    print(f"hipcompat: error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
    return error.exit_code
