"""hipcompat run: a Python script or module → run with the shims that were asked for, in this process."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from types import TracebackType

from hipcompat.answer import Answer
from hipcompat.errors import FileError
from hipcompat.paths import make_path
from hipcompat.runtime import enable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--pynvml, -m, SCRIPT, its arguments."""
    parser.add_argument("--pynvml", action="store_true", help="import pynvml gives a module that asks amdsmi")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    parser.add_argument("script", metavar="SCRIPT", help="a Python file, or with -m a module")
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT", help="for the script")
    rest.required = False  # argparse asks for it by name, though it may be empty


def answer(args: argparse.Namespace) -> Answer:
    """The script's exit code and exceptions are its own. FileError where it is missing, UsageError for no name."""
    if not args.module and not make_path(args.script).exists():
        raise FileError(f"{args.script} is not there", hint="hipcompat run SCRIPT, or -m MODULE")
    handle = enable(errors=False, pynvml=args.pynvml)
    sys.stderr.writelines(f"hipcompat: {one.part}: {one.reason}\n" for one in handle.skipped)
    before = sys.argv, sys.path[:]
    sys.argv = [args.script, *args.arguments]
    try:
        if args.module:
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(args.script, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(args.script).resolve().parent))
            runpy.run_path(args.script, run_name="__main__")
    except Exception:  # noqa: BLE001  # the script's, and not this program's to judge
        kind, fault, trace = _find_fault()
        if trace is None and isinstance(fault, ImportError):  # nothing of the script has run
            raise FileError(str(fault), hint="hipcompat run SCRIPT, or -m MODULE that can be imported here") from fault
        sys.excepthook(kind, fault, trace)
        sys.exit(1)
    finally:
        sys.argv, sys.path[:] = before
        handle.undo()
    return Answer(text="", value=None)


def _find_fault() -> tuple[type[BaseException], BaseException, TracebackType | None]:
    """The exception, without the frames of this module and runpy."""
    fault = sys.exception()
    assert fault is not None  # noqa: S101  # called where there is one
    trace = fault.__traceback__
    while trace and (trace.tb_frame.f_code.co_filename == __file__ or "runpy" in trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return type(fault), fault.with_traceback(trace), trace
