"""hipcompat flags: nvcc's arguments → clang's on one line, and what was dropped and why."""

from __future__ import annotations

import argparse
import shlex

from hipcompat.answer import Answer
from hipcompat.archs import ARCH_LIST, read_archs
from hipcompat.errors import FindingsError, UsageError
from hipcompat.flags import Note, Translation, translate_flags

_NO_ARCH = "# no --arch: for device code clang takes gfx906; --offload-arch=native asks the GPU that is present"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """-- NVCC-ARGUMENT..., --arch, --json."""
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="what nvcc would get, after --")
    arch = f"AMD's architecture to compile for; {ARCH_LIST}"
    parser.add_argument("--arch", action="append", default=[], metavar="GFX", help=arch)
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace) -> Answer:
    """Exit 3 where an argument asks for something that cannot be had. UsageError where none is given."""
    if not args.arguments:
        raise UsageError("no argument of nvcc was given", hint="they stand after --: hipcompat flags -- -O3 -c k.cu")
    translation = translate_flags(args.arguments, archs=read_archs(args.arch, default=""))
    fault = None
    if translation.refused:
        refused = ", ".join(note.given for note in translation.refused)
        fault = FindingsError(f"cannot be had here: {refused}", hint="the reasons are above")
    is_silent = args.arch or set(translation.arguments) <= {"--version", "--help"}
    told = _describe(translation) if is_silent else f"{_describe(translation)}\n{_NO_ARCH}"
    return Answer(text=told, value=translation, fault=fault)


def _describe(translation: Translation) -> str:
    return "\n".join((shlex.join(translation.arguments), *map(_describe_note, translation.notes)))


def _describe_note(note: Note) -> str:
    reason = f" ({note.reason})" if note.reason else ""
    if note.became:
        return f"# {note.given}: {note.kind} by {shlex.join(note.became)}{reason}"
    return f"# {note.given}: {note.kind}{reason}"
