"""Arguments that several verbs share, declared once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rockiln.console import printable
from rockiln.errors import UsageError


def add_targets(parser: argparse.ArgumentParser, *, required: bool = True, default: str = "all") -> None:
    """TARGET...: ids or globs over ids; where none is required, `default` says in words what is taken."""
    parser.add_argument(
        "targets", metavar="TARGET", nargs="+" if required else "*",
        help="target id, or a glob over ids such as 'jax-*'" + ("" if required else f"; default: {default}"),
    )  # fmt: skip


def add_json(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """--jobs."""
    parser.add_argument("--jobs", type=positive, metavar="N", help="work on N things at once (default: CPU count)")


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """--compression, --bundle, --relock-gone."""
    parser.add_argument(
        "--compression", choices=("gzip", "zstd"), default="gzip",
        help="of layers; zstd is smaller and needs a Docker or containerd that reads it (default: gzip)",
    )  # fmt: skip
    add_fetch_options(parser)


def add_fetch_options(parser: argparse.ArgumentParser) -> None:
    """--bundle, --relock-gone."""
    parser.add_argument("--bundle", type=Path, metavar="FILE", help="take artifacts from FILE, made by rockiln bundle")
    parser.add_argument(
        "--relock-gone", action="store_true",
        help="when debs have left their archive, lock them anew and go on; the changes are printed",
    )  # fmt: skip


def add_engine(parser: argparse.ArgumentParser) -> None:
    """--engine."""
    parser.add_argument(
        "--engine", choices=("auto", "docker", "embedded"), default="auto",
        help="what runs the image; auto takes a Docker Engine that answers, else the kernel's own namespaces",
    )  # fmt: skip


def accept_late_flags(parser: argparse.ArgumentParser) -> None:
    """Flags for every verb may stand after it, too; its own help does not repeat them."""
    hidden = argparse.SUPPRESS  # as a default: what is not given here leaves what was given before the verb
    for name in ("debug", "quiet"):
        parser.add_argument(f"--{name}", action="store_true", default=hidden, help=hidden)
    for name in ("project", "cache"):
        parser.add_argument(f"--{name}", type=Path, default=hidden, help=hidden)
    parser.add_argument("--mirror", dest="late_mirror", action="append", default=hidden, help=hidden)
    for action in parser._actions:  # noqa: SLF001  # argparse names its parts in no other way
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for nested in action.choices.values():
                accept_late_flags(nested)


def parse_mirrors(pairs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """"SOURCE=URL" of --mirror → URLs by source, in the order given. Raises UsageError."""
    mirrors: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        name, equals, url = pair.partition("=")
        if not (name and equals and url.startswith(("http://", "https://", "file://", "/", "."))):
            raise UsageError(f"--mirror {pair!r} is not SOURCE=URL", hint="SOURCE is a key of [sources] in matrix.toml")
        mirrors[name] = (*mirrors.get(name, ()), url)
    return mirrors


def require_file_path(path: Path, option: str) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    refuse_folder(path, option)
    if not path.absolute().parent.is_dir():
        hint = f"{option} names a file in a folder that is there"
        raise UsageError(f"{option}: {path.absolute().parent} is no folder", hint=hint)


def refuse_folder(path: Path, option: str) -> None:
    """The same where folders that lead to the file are made."""
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a folder", hint=f"{option} names a file; name one in that folder")


def refuse_stream(path: Path, option: str) -> None:
    """And where the file is put in place as a whole: root would put it in the place of a device."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{option}: {path} is a device or a pipe", hint=f"{option} names a file")


def refuse_input(path: Path, option: str, inputs: Iterable[Path | None]) -> None:
    """What is read is not written over, under whatever name it is given twice."""
    for one in inputs:
        if one and path.exists() and one.exists() and path.samefile(one):
            hint = f"{option} names a file that is written: choose another one"
            raise UsageError(f"{option}: {printable(str(path))} is read, too", hint=hint)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    try:
        number = int(text)
    except ValueError:  # argparse would name this function
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text or 'nothing'} is not a number of at least 1")
    return number
