"""rockiln audit: targets, paths or Docker images → everything that can be told without running them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import AuditFailedError, UsageError
from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_jobs, add_json

if TYPE_CHECKING:
    from rockiln.audit.finding import AuditReport
    from rockiln.audit.inspect_file import Wanted
    from rockiln.audit.scan import Scan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUBJECT..., --archs, --provided-by-host, --mirror-host, --fail-on, --format, --jobs, --json."""
    parser.add_argument(
        "subjects", metavar="SUBJECT", nargs="+",
        help="a built target or a glob over them; a path of a root file system, OCI layout or archive; docker:IMAGE",
    )  # fmt: skip
    parser.add_argument("--archs", metavar="ARCH,...", help="GPUs that it must serve (default: what it says itself)")
    parser.add_argument(
        "--provided-by-host", metavar="SONAME", action="append", default=[],
        help="a library that comes from outside when it runs; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--mirror-host", metavar="HOST", action="append", default=[],
        help="a host that must not be named in it, besides those of [mirrors]; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", choices=("error", "warning", "note", "never"), default="error",
        help="the least severity that makes the exit code 18 (default: error)",
    )  # fmt: skip
    parser.add_argument("--format", choices=("text", "sarif"), default="text", help="sarif: for code scanning")
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Audit one after the other; the worst finding of all decides."""
    from rockiln.audit.audit import audit_scan
    from rockiln.audit.describe import describe_report
    from rockiln.verbs.slim import parse_archs

    if args.json and args.format == "sarif":
        raise UsageError("--json and --format sarif are two forms of one document", hint="give one of them")
    archs = tuple(sorted(parse_archs(args.archs))) if args.archs else ()
    absent = dict.fromkeys(args.provided_by_host, "--provided-by-host")
    reports = [audit_scan(scan, archs, absent) for word in args.subjects for scan in _scan(word, args, invocation)]
    if args.format == "sarif":
        from rockiln.audit.sarif import make_sarif

        text = json.dumps(make_sarif(reports), indent=1, ensure_ascii=False)
    else:
        text = "\n\n".join(map(describe_report, reports))
    return Answer(text=text, value=reports, fault=find_fault(reports, args.fail_on))


def find_fault(reports: list[AuditReport], fail_on: str) -> AuditFailedError | None:
    """The error that the findings amount to."""
    if fail_on == "never":
        return None
    counts = {report.subject: len(report.at_least(fail_on)) for report in reports}  # type: ignore[arg-type]  # a Severity
    failed = [f"{subject}: {number} finding{'s' * (number > 1)}" for subject, number in counts.items() if number]
    if not failed:
        return None
    return AuditFailedError("; ".join(failed), hint="docs/audit.md explains each, and how to say that one is expected")


def _scan(word: str, args: argparse.Namespace, invocation: Invocation) -> list[Scan]:
    from rockiln.audit.inspect_file import Wanted
    from rockiln.audit.subjects import DOCKER, is_target, scan_docker, scan_path
    from rockiln.engines.docker import DockerEngine

    wanted = Wanted(needles=(*args.mirror_host, *_find_needles(invocation)))
    if is_target(word):
        return _scan_targets(word, wanted, invocation)
    if word.startswith(DOCKER):
        engine = DockerEngine(environ=invocation.environ, console=invocation.console)
        return [scan_docker(word.removeprefix(DOCKER), engine, wanted, invocation.console)]
    return [scan_path(Path(word), wanted, invocation.jobs, invocation.console)]


def _find_needles(invocation: Invocation) -> tuple[str, ...]:
    """Hosts of the project's mirrors; a folder that is no project has none."""
    from rockiln.audit.needles import find_needles

    if not invocation.matrix_path.is_file():
        return ()
    return find_needles(invocation.matrix, invocation.environ)


def _scan_targets(glob: str, wanted: Wanted, invocation: Invocation) -> list[Scan]:
    from rockiln.audit.scan_image import scan_layout
    from rockiln.verbs.smoke import read_built_image

    chosen = invocation.select((glob,))
    layouts = [(planned.id, read_built_image(planned, invocation).layout_path) for planned in chosen]
    return [scan_layout(path, target_id, wanted, invocation.jobs, invocation.console) for target_id, path in layouts]
