"""A corpus and a compiler's outcomes → how well scan's "blocked" agrees with them: precision, recall, disagreements.

    python bench/compare_verdicts.py ROOT OUTCOMES.json [--arch gfx942] [--rocm 7.2.4] [--output FIGURES.json]

OUTCOMES.json: {"path below ROOT": {"ok": bool, "error": "first error, or empty"}, ...}, from any compiler run.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hipcompat.facts import read_facts
from hipcompat.scan import FileReport, Report, Target, scan
from hipcompat.scan.detect.includes import find_include_hits
from hipcompat.scan.detect.unit import make_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Paths by what scan and the compiler say."""

    both_blocked: tuple[str, ...]
    scan_only: tuple[str, ...]
    compiler_only: tuple[str, ...]
    both_fine: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Of those that scan calls blocked, how many the compiler refuses."""
        called = len(self.both_blocked) + len(self.scan_only)
        return len(self.both_blocked) / called if called else 1.0

    @property
    def recall(self) -> float:
        """Of those that the compiler refuses, how many scan calls blocked."""
        refused = len(self.both_blocked) + len(self.compiler_only)
        return len(self.both_blocked) / refused if refused else 1.0


def compare(root_path: Path, outcomes: dict[str, dict[str, object]], report: Report) -> Comparison:
    """Every file of `outcomes`; a file that scan does not name is portable."""
    verdicts = {str(Path(file.path).relative_to(root_path)): file for file in report.files}
    groups: dict[tuple[bool, bool], list[str]] = {}
    for path in sorted(outcomes):
        if _lacks_foreign_header(str(outcomes[path]["error"])):
            continue
        key = (_is_blocked(verdicts.get(path)), not outcomes[path]["ok"])
        groups.setdefault(key, []).append(path)
    return Comparison(
        both_blocked=tuple(groups.get((True, True), ())),
        scan_only=tuple(groups.get((True, False), ())),
        compiler_only=tuple(groups.get((False, True), ())),
        both_fine=tuple(groups.get((False, False), ())),
    )


def _lacks_foreign_header(error: str) -> bool:
    """A header that is neither CUDA's nor the file's own (Direct3D, Vulkan): the compiler says nothing about CUDA."""
    match = re.search(r"'([^']+)' file not found", error)
    return match is not None and match[1] not in read_facts() and not find_include_hits_of(match[1])


def find_include_hits_of(name: str) -> bool:
    """A rule of scan names this header."""
    unit = make_unit(f"#include <{name}>\n")
    return any(True for _ in find_include_hits(unit, Counter()))


def _is_blocked(file: FileReport | None) -> bool:
    return file is not None and file.verdict == "blocked"


def main() -> None:
    """Print the figures and each disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("outcomes", type=Path)
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--rocm", default="7.2.4")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    outcomes = json.loads(args.outcomes.read_text())
    target = Target(archs=(args.arch,), rocm=tuple(map(int, args.rocm.split("."))))
    report = scan([args.root], target)
    found = compare(args.root, outcomes, report)
    figures = {
        "files": len(outcomes),
        "not judged, for want of headers that are not CUDA's": sorted(
            path for path, item in outcomes.items() if _lacks_foreign_header(str(item["error"]))
        ),
        "compile": sum(bool(item["ok"]) for item in outcomes.values()),
        "blocked by both": len(found.both_blocked), "scan only": list(found.scan_only),
        "compiler only": list(found.compiler_only), "precision": round(found.precision, 3),
        "recall": round(found.recall, 3), "arch": args.arch, "rocm": args.rocm,
    }  # fmt: skip
    own = {str(Path(file.path).relative_to(args.root)): file for file in report.files}
    for path in found.scan_only:
        errors = [f"{item.rule}:{item.line} {item.detail}" for item in own[path].findings if item.severity == "error"]
        print(f"scan only: {path}: {errors[:6]} through {[Path(name).name for name in own[path].blocked_through][:4]}")
    for path in found.compiler_only:
        print(f"compiler only: {path}: {str(outcomes[path]['error'])[:300]}")
    text = json.dumps(figures, indent=1)
    print(text)
    if args.output:
        args.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
