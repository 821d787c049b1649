"""Command line → results on stdout, narration on stderr, an exit code. The only module that prints results,
reads the environment and the clock, and exits."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import rockiln
from rockiln.console import Console, open_narration, printable, printable_lines
from rockiln.errors import DiskError, RockilnError, UsageError
from rockiln.folders import Folders
from rockiln.invocation import Invocation
from rockiln.jsonable import dump
from rockiln.verbs.arguments import accept_late_flags, parse_mirrors
from rockiln.verbs.table import VERBS, Verb

INTERRUPTED = 130
"""128 + SIGINT, as shells count."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code."""
    if argv is None:
        _speak_utf8()
        sys.stderr = open_narration()
    parser = make_parser()
    args = parser.parse_args(argv)
    os.umask(0o022)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return _answer(args)
    except RockilnError as error:
        return _report(error, debug=args.debug)
    except KeyboardInterrupt:
        print(f"rockiln: interrupted; {_find_verb(args.verb).interruption}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = printable(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
        fault = DiskError(message, hint="is the path right, and may this user read and write there?")
        return _report(fault.with_traceback(error.__traceback__), debug=args.debug)


def make_parser() -> argparse.ArgumentParser:
    """The whole command line, made from the table of verbs."""
    parser = argparse.ArgumentParser(
        prog="rockiln",
        description="Slim, reproducible ROCm images for PyTorch, TensorFlow and JAX, from one version matrix.",
        epilog="docs/ has a page for each stage; every error ends with what to do.",
    )
    parser.add_argument("--version", action="version", version=f"rockiln {rockiln.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument("--quiet", action="store_true", help="no progress and no narration, only results and errors")
    parser.add_argument("--project", type=Path, metavar="DIR", help="where matrix.toml is (default: here or above)")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="default: $ROCKILN_CACHE, else ~/.cache/rockiln")
    parser.add_argument(
        "--mirror", action="append", default=[], metavar="SOURCE=URL",
        help="ask URL before the source's own place; may be repeated",
    )  # fmt: skip
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, title="verbs")
    for verb in VERBS:
        sub = verbs.add_parser(verb.name, help=verb.help, description=verb.help[0].upper() + verb.help[1:] + ".")
        verb.add_arguments(sub)
        accept_late_flags(sub)
    return parser


def _answer(args: argparse.Namespace) -> int:
    verb = _find_verb(args.verb)
    project_path = _find_project(args.project, is_needed=verb.needs_project)
    answer = verb.answer(args, _make_invocation(args, project_path, os.environ))
    as_json = getattr(args, "json", False)
    if as_json or answer.text:
        _print_result(dump(answer.value).rstrip("\n") if as_json else printable_lines(answer.text))
    return _report(answer.fault) if answer.fault else 0


def _find_verb(name: str) -> Verb:
    return next(verb for verb in VERBS if verb.name == name)


def _print_result(text: str) -> None:
    """Raises DiskError where stdout is a file on a full disk; what Python still holds of the text is let go."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as fault:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        message = f"the result could not be written to standard output: {fault.strerror}"
        raise DiskError(message, hint="make room where the output goes, or send it elsewhere") from fault


def _speak_utf8() -> None:
    """Names of images' files are UTF-8: in another locale, start over in the mode of Python that ignores it."""
    if sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, (sys.executable, "-X", "utf8", *sys.orig_argv[1:]))  # noqa: S606  # no shell is wanted


def _report(error: RockilnError, *, debug: bool = False) -> int:
    """Behind its traceback, if that is asked for; the exit code is the same."""
    if debug:
        traceback.print_exception(error)
    print(printable_lines(f"rockiln: error: {error.message}"), file=sys.stderr)
    if error.hint:
        print(printable_lines(f"hint: {error.hint}"), file=sys.stderr)
    return error.exit_code


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _make_invocation(args: argparse.Namespace, project_path: Path, environ: Mapping[str, str]) -> Invocation:
    folders = Folders(
        project_path=project_path,
        cache_path=_choose_cache(args.cache, environ),
        build_path=project_path / "build",
    )
    return Invocation(
        folders=folders,
        environ=environ,
        console=Console(None if args.quiet else sys.stderr),
        jobs=getattr(args, "jobs", None) or len(os.sched_getaffinity(0)),
        mirrors=parse_mirrors([*args.mirror, *getattr(args, "late_mirror", ())]),
    )


def _find_project(given: Path | None, *, is_needed: bool) -> Path:
    """The folder given, or the nearest one at or above the working directory that holds matrix.toml; where there is
    none and none is needed, the working directory."""
    start = (given or Path.cwd()).absolute()
    folders = (start,) if given else (start, *start.parents)
    for folder in folders:
        if (folder / "matrix.toml").is_file():
            return folder
    if not is_needed:
        return start
    raise UsageError(f"no matrix.toml in {start}" + ("" if given else " or above"), hint="name it: --project DIR")


def _choose_cache(given: Path | None, environ: Mapping[str, str]) -> Path:
    if given:
        return given.absolute()
    if environ.get("ROCKILN_CACHE"):
        return Path(environ["ROCKILN_CACHE"]).absolute()
    home = environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(home) / "rockiln"


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
