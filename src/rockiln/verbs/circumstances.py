"""Options that say what provenance cannot know → Circumstances, each in the form that SLSA asks for."""

from __future__ import annotations

import argparse
import datetime as dt
import re
from typing import TYPE_CHECKING

from rockiln.errors import UsageError
from rockiln.tables import quote

if TYPE_CHECKING:
    from rockiln.attest.provenance import Circumstances

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
"""https://www.rfc-editor.org/rfc/rfc3339#section-5.6"""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})+")
"""https://www.rfc-editor.org/rfc/rfc3986: a scheme, and no character that has to be escaped."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def add_circumstances(parser: argparse.ArgumentParser) -> None:
    """--builder, --invocation-id, --started-on, --source, --revision."""
    parser.add_argument("--builder", metavar="URI", default="", help="who builds, for the provenance")
    parser.add_argument("--invocation-id", metavar="TEXT", default="", help="the run of the CI, for the provenance")
    parser.add_argument("--started-on", metavar="TIME", default="", help="RFC 3339; no time is said if it is not given")
    parser.add_argument("--source", metavar="URI", default="", help="where the project comes from, for the provenance")
    parser.add_argument("--revision", metavar="COMMIT", default="", help="of --source: 40 or 64 hexadecimal digits")


def read_circumstances(args: argparse.Namespace) -> Circumstances:
    """What is signed is in a form that others can read. Raises UsageError."""
    from rockiln.attest.provenance import LOCAL_BUILDER, Circumstances

    for option, value in (("--builder", args.builder), ("--source", args.source)):
        if value and not _URI.fullmatch(value):
            hint = "such as https://example.org/ci or git+https://example.org/images@refs/heads/main"
            raise UsageError(f"{option}: {quote(value)} is no URI", hint=hint)
    if args.started_on and not _is_time(args.started_on):
        raise UsageError(f"--started-on: {quote(args.started_on)} is no time", hint="RFC 3339: 2026-11-30T12:00:00Z")
    if args.revision and not _COMMIT.fullmatch(args.revision):
        hint = "the whole of it: `git rev-parse HEAD` prints 40 or 64 digits 0-9a-f"
        raise UsageError(f"--revision: {quote(args.revision)} is no commit", hint=hint)
    if args.revision and not args.source:
        raise UsageError("--revision is a commit of --source, which is not given", hint="add --source URI")
    return Circumstances(
        builder_id=args.builder or LOCAL_BUILDER, invocation_id=args.invocation_id, started_on=args.started_on,
        source_uri=args.source, source_revision=args.revision,
    )  # fmt: skip


def _is_time(text: str) -> bool:
    """Of a day and an hour that are, too."""
    if not _TIME.fullmatch(text):
        return False
    try:
        dt.datetime.fromisoformat(text.upper())
    except ValueError:
        return False
    return True
