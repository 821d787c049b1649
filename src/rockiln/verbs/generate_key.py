"""rockiln generate-key: nothing → a pair of key files, as cosign's generate-key-pair writes them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--output, --json."""
    parser.add_argument(
        "--output", type=_prefix, metavar="PREFIX", default=Path("cosign"),
        help="PREFIX.key and PREFIX.pub (default: cosign)",
    )  # fmt: skip
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Write both; the private one is encrypted with the password in COSIGN_PASSWORD."""
    from rockiln.sign.key_files import PASSWORD, write_key_pair

    private_path, public_path, public = write_key_pair(args.output.absolute(), invocation.environ)
    if not invocation.environ.get(PASSWORD):
        invocation.console.warn(f"{PASSWORD} is not set: whoever reads {private_path} can sign with it")
    value = {"private": str(private_path), "public": str(public_path), "key_id": public.key_id}
    advice = "give away the .pub, keep the .key and its password"
    text = f"{private_path}\n{public_path}\nkey {public.key_id[:12]}; {advice}"
    return Answer(text=text, value=value)


def _prefix(text: str) -> Path:
    """A folder would get the pair beside it."""
    if text.endswith(("/", "/.", "/..")) or Path(text).is_dir():
        where = str(Path(text) / "cosign")
        raise argparse.ArgumentTypeError(f"{text} is a folder: PREFIX is the first part of two files, such as {where}")
    return Path(text)
