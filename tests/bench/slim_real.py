"""Published ROCm libraries, slimmed and proven → bytes on disk, as gzip -6 and as zstd -19, against what was promised.

    nox --session bench_slim                       # writes tests/bench/results/slim_real.json, prints a table

Downloads 3 GB once into --cache; one subject is unpacked at a time. `--only NAME` measures those whose name starts so,
and keeps the other figures of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import zstandard

sys.path[:0] = [str(Path(__file__).parents[1])]

from real_subjects import SUBJECTS, Subject  # noqa: E402 - after the path above
from rockiln.console import Console  # noqa: E402
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_copy  # noqa: E402
from rockiln.fatbin.verify.files import verify_files  # noqa: E402

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/slim_real.json"
KINDS = ("disk", "gzip-6", "zstd-19")
OTHER_COMPRESSOR = 1.02
"""The promises were made with code and rest compressed apart, by other versions: the same files differ by 1 % there."""


def main() -> int:
    """Measure, print the table, keep the figures; 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "real")
    parser.add_argument("--disk-only", action="store_true", help="do not compress: minutes instead of an hour")
    args = parser.parse_args()
    figures = json.loads(RESULTS_PATH.read_text(encoding="utf-8")) if RESULTS_PATH.exists() else {}
    for subject in SUBJECTS:
        if not args.only or subject.name.startswith(tuple(args.only)):
            figures[subject.name] = measure(subject, args.cache, compress=not args.disk_only)
            ordered = {one.name: figures[one.name] for one in SUBJECTS if one.name in figures}
            RESULTS_PATH.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
            print("\n".join(_rows(subject, figures[subject.name])), flush=True)
    broken = [row for one in SUBJECTS for row in broken_promises(one, figures.get(one.name, {}))]
    print("\n".join(broken) or "every promise is kept")
    return 1 if broken else 0


def measure(subject: Subject, cache_path: Path, *, compress: bool) -> dict[str, Any]:
    """Before, and after for each choice of archs."""
    cache_path.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rockiln-real-", dir=cache_path) as name:
        before = subject.bring(Path(name, "before"), cache_path)
        kinds = KINDS if subject.promised else KINDS[:2]  # zstd -19 takes minutes: only where it was promised
        result = {"before": _amounts(before, KINDS[: 1 + compress]), "after": {}}
        for archs in subject.arch_sets:
            after = Path(name, "after")
            started_s = time.monotonic()
            report = slim_copy(before, after, SlimOptions(archs=frozenset(archs), jobs=1), Console(None))
            seconds = round(time.monotonic() - started_s, 1)
            amounts = _amounts(after, kinds if compress else KINDS[:1])
            result["after"][",".join(archs)] = {**amounts, "seconds with the copy": seconds, **_describe(report)}
            shutil.rmtree(after) if after.is_dir() else after.unlink()
    result["peak memory, MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return result


def _describe(report: SlimReport) -> dict[str, Any]:
    """Outcomes, reasons of refusals, and what a second run of the verifier counts."""
    outcomes: dict[str, int] = {}
    counts = {"kept objects": 0, "kernels": 0}
    for one in report.files:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
        if one.outcome == "slimmed":
            name = "" if report.path.is_file() else one.path.relative_to(report.output_path)
            with (report.path / name).open("rb") as before, (report.output_path / name).open("rb") as after:
                if before.read(4) == b"\x7fELF":
                    found = verify_files(before.fileno(), after.fileno(), frozenset(report.archs))
                    assert not found.faults, (one.path, found.faults)
                    counts["kept objects"] += found.kept_objects
                    counts["kernels"] += found.kernels
    reasons = sorted({one.reason for one in report.files if one.reason})
    return {"outcomes": dict(sorted(outcomes.items())), "reasons": reasons, **counts}


def _amounts(path: Path, kinds: Sequence[str]) -> dict[str, int]:
    """Bytes of the file, or of all files of the tree one after the other."""
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.rglob("*") if one.is_file() and not one.is_symlink())
    sizes = {"disk": sum(one.stat().st_size for one in files)}
    if "gzip-6" in kinds:
        sizes["gzip-6"] = _compress(files, zlib.compressobj(6, wbits=31))
    if "zstd-19" in kinds:
        sizes["zstd-19"] = _compress(files, zstandard.ZstdCompressor(level=19).compressobj())
    return sizes


def _compress(files: list[Path], compressor: Any) -> int:
    return sum(len(compressor.compress(chunk)) for chunk in _chunks(files)) + len(compressor.flush())


def _chunks(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        with path.open("rb") as file:
            yield from iter(lambda: file.read(1 << 20), b"")


def broken_promises(subject: Subject, figures: dict[str, Any]) -> list[str]:
    """A line for each figure that is worse than promised."""
    lines = []
    for archs, promised in subject.promised.items():
        found = figures.get("after", {}).get(archs, {})
        for kind, most in zip(KINDS, promised, strict=True):
            allowed = most if kind == "disk" else most * OTHER_COMPRESSOR
            if kind in found and round(found[kind] / 1e6, _decimals(most)) > allowed:
                lines.append(f"{subject.name}, {archs}: {kind} is {found[kind] / 1e6:.2f} MB, promised {most}")
    return lines


def _decimals(amount: float) -> int:
    return 0 if isinstance(amount, int) else 1


def _rows(subject: Subject, figures: dict[str, Any]) -> Iterator[str]:
    yield f"| {subject.name} | before | {_cells(figures['before'])} | |"
    for archs, after in figures["after"].items():
        outcome = ", ".join(f"{count} {outcome}" for outcome, count in after["outcomes"].items())
        yield f"| | {archs} | {_cells(after)} | {outcome} {'; '.join(after['reasons'])} |"


def _cells(amounts: dict[str, int]) -> str:
    return " / ".join(f"{amounts[kind] / 1e6:.1f}" if kind in amounts else "-" for kind in KINDS)


if __name__ == "__main__":
    sys.exit(main())
