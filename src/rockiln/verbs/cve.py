"""rockiln cve: an SBOM and scanners' reports → what is vulnerable, waived or minor; a VEX document."""

from __future__ import annotations

import argparse
import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rockiln.console import printable
from rockiln.disk import write_named
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.shape_faults import name_shape_fault
from rockiln.verbs.answer import Answer, tabulate
from rockiln.verbs.arguments import add_json, refuse_input, require_file_path
from rockiln.verbs.attest import SBOM_FILE

if TYPE_CHECKING:
    from rockiln.cve.gate import Judgement
    from rockiln.cve.waivers import Waiver

FAIL_ON = ("low", "medium", "high", "critical", "never")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IMAGE, --scan, --waivers, --vex, --date, --fail-on, --only-fixable, --json."""
    parser.add_argument("image", metavar="IMAGE", help="an attested target, or the path of an SBOM of ours")
    parser.add_argument(
        "--scan", type=Path, metavar="FILE", action="append", required=True,
        help="Trivy's or Grype's JSON, or CycloneDX with vulnerabilities or as VEX; may be repeated",
    )  # fmt: skip
    parser.add_argument("--waivers", type=Path, metavar="FILE", help="default: the project's supply-chain.toml")
    parser.add_argument("--vex", type=Path, metavar="FILE", help="write what is known of each as CycloneDX VEX")
    parser.add_argument("--date", default="", metavar="YYYY-MM-DD", help="when waivers must hold (default: today, UTC)")
    parser.add_argument("--fail-on", choices=FAIL_ON, default="high", help="least severity that counts (default: high)")
    parser.add_argument("--only-fixable", action="store_true", help="what has no fixed version yet does not count")
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Judge, write the VEX document, and fail on what is open or expired."""
    from rockiln.cve.gate import Rules, find_fault, judge_findings
    from rockiln.cve.scan_report import read_report
    from rockiln.cve.vex import make_vex
    from rockiln.cve.waivers import find_waivers_file, read_waivers

    if args.vex:
        require_file_path(args.vex, "--vex")
    sbom_path, sbom = _read_sbom(args.image, invocation)
    reports = [read_report(_read(path), printable(str(path))) for path in args.scan]
    waivers_path = find_waivers_file(args.waivers, invocation.folders.project_path)
    if args.vex:
        refuse_input(args.vex, "--vex", (sbom_path, *args.scan, waivers_path))
    waivers = read_waivers(waivers_path) if waivers_path else ()
    fail_on = "critical" if args.fail_on == "never" else args.fail_on
    rules = Rules(fail_on=fail_on, date=_choose_date(args.date, invocation), only_fixable=args.only_fixable)
    judgement = judge_findings(sbom, reports, waivers, rules, sbom_path.name)
    if args.vex:
        write_named(args.vex.absolute(), make_vex(judgement, sbom), hint="choose another place: --vex FILE")
    for waiver in judgement.unused:
        invocation.console.warn(f"the waiver of {waiver.id} for {', '.join(waiver.packages)} is not needed any more")
    fault = None if args.fail_on == "never" else find_fault([judgement])
    return Answer(text=_describe(judgement), value=_plain(judgement), fault=fault)


def _read_sbom(word: str, invocation: Invocation) -> tuple[Path, Mapping[str, Any]]:
    from rockiln.verbs.show import select_one

    path = Path(word)
    if "/" not in word and not path.exists():
        target_id = select_one(word, invocation)
        path = invocation.folders.target_path(target_id) / SBOM_FILE
        if not path.is_file():
            raise UsageError(f"{target_id} has no SBOM yet", hint=f"rockiln attest {target_id}")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "there is no such file"
        hint = "IMAGE is an attested target, or the path of its SBOM: build/TARGET/sbom.cdx.json"
        raise UsageError(f"{printable(word)}: {what}", hint=hint)
    try:
        value = json.loads(_read(path))
        if value["bomFormat"] != "CycloneDX" or not value["serialNumber"] or not value["metadata"]["component"]["name"]:
            raise ValueError("no CycloneDX document of an image")  # noqa: TRY301  # one message for all
        return path, {**value, "components": list(value["components"])}
    except (ValueError, KeyError, TypeError) as fault:
        hint = "rockiln attest writes one"
        what = name_shape_fault(fault)
        raise UsageError(f"{printable(str(path))}: not an SBOM of ours: {what}", hint=hint) from fault


def _choose_date(given: str, invocation: Invocation) -> dt.date:
    from rockiln.cve.waivers import parse_date

    if not given:
        return dt.datetime.fromtimestamp(invocation.clock(), dt.UTC).date()
    try:
        return parse_date(given)
    except ValueError as fault:
        raise UsageError(f"--date: {fault}") from fault


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise UsageError(f"{printable(str(path))}: {fault.strerror}") from fault


def _describe(judgement: Judgement) -> str:
    rows: list[tuple[str, ...]] = [("verdict", "severity", "id", "package", "installed", "fixed", "why")]
    order = ("expired", "open", "unfixed", "waived", "harmless", "minor")
    for one in sorted(judgement.judged, key=lambda one: (order.index(one.verdict), one.finding)):
        why = f"{one.waiver.why} (until {one.waiver.expires})" if one.waiver else one.finding.title[:60]
        found = one.finding
        rows.append((one.verdict, found.severity, found.id, one.owner, found.version, found.fixed, why))
    counts = ", ".join(f"{len(judgement.having(verdict))} {verdict}" for verdict in order if judgement.having(verdict))
    head = f"{judgement.subject} on {judgement.date}: {counts or 'nothing found'}"
    return f"{head}\n{tabulate(rows)}" if judgement.judged else head


def _plain(judgement: Judgement) -> dict[str, object]:
    """Dates as text."""
    rows = [
        {
            "verdict": one.verdict, "ref": one.ref, "owner": one.owner, "finding": one.finding,
            "waiver": _describe_waiver(one.waiver) if one.waiver else None,
        }
        for one in judgement.judged
    ]  # fmt: skip
    unused = [_describe_waiver(one) for one in judgement.unused]
    return {"subject": judgement.subject, "date": str(judgement.date), "judged": rows, "unused": unused}


def _describe_waiver(waiver: Waiver) -> dict[str, object]:
    names = ("id", "packages", "state", "why")
    return {**{name: getattr(waiver, name) for name in names}, "expires": str(waiver.expires)}
