"""hipcompat doctor: this host or container → what keeps the GPUs from being used, first cause first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hipcompat.answer import Answer
from hipcompat.console import say_count
from hipcompat.doctor.diagnose import diagnose, look_quickly
from hipcompat.doctor.finding import SEVERITIES, Finding
from hipcompat.doctor.host import Host, read_this_host
from hipcompat.doctor.report import format_diagnosis, format_quickly
from hipcompat.errors import FileError, FindingsError
from hipcompat.paths import make_path

_OFF = "ROCKILN_PREFLIGHT"
_SITES = ("opt/venv/lib/python3*/site-packages", "usr/lib/python3/dist-packages")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--quick, --fail-on, --root, --json."""
    parser.add_argument("--quick", action="store_true", help="what the images' entrypoint looks at, in its words")
    parser.add_argument(
        "--fail-on", choices=(*SEVERITIES, "never"),
        help="exit 3 from this severity on; default: error, and never with --quick",
    )  # fmt: skip
    recorded = "look at a recorded tree in place of this machine"
    parser.add_argument("--root", type=make_path, metavar="DIR", help=recorded)
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace) -> Answer:
    """Exit 3 by --fail-on. --quick exits with 0, as the entrypoint goes on in every case."""
    host = _find_host(args.root)
    if args.quick:
        findings = () if host.environ.get(_OFF) == "off" else look_quickly(host)
        fault = _find_fault(findings, args.fail_on or "never")
        return Answer(text=format_quickly(findings), value=findings, fault=fault)
    diagnosis = diagnose(host)
    fault = _find_fault(diagnosis.findings, args.fail_on or "error")
    return Answer(text=format_diagnosis(diagnosis), value=diagnosis, fault=fault)


def _find_host(root: Path | None) -> Host:
    """A recorded tree has this environment and user, and the site-packages that lie in it."""
    host = read_this_host()
    if root is None:
        return host
    if not root.is_dir():
        raise FileError(f"{root} is no folder", hint="--root names a folder that stands for /")
    sites = (site for pattern in _SITES for site in sorted(root.glob(pattern)))
    return replace(host, root=str(root.resolve()), sites=tuple(f"/{site.relative_to(root)}" for site in sites))


def _find_fault(findings: Sequence[Finding], fail_on: str) -> FindingsError | None:
    if fail_on == "never":
        return None
    bad = [one for one in findings if one.severity in SEVERITIES[: SEVERITIES.index(fail_on) + 1]]
    if not bad:
        return None
    return FindingsError(
        f"{say_count(len(bad), 'finding')}, first of all: {bad[0].rule}", hint="--fail-on never exits with 0"
    )
