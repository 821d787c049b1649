"""Folders → how fast scan reads them: MB a CPU second, whole tree and per kind of file, best of some runs.

    python bench/measure_speed.py FOLDER... [--runs 3] [--output FIGURES.json] [--against 'hipify-perl {}']

With --against, the command runs once for each C++ file, and its time on the same files gives the ratio.
"""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import subprocess
import time
from pathlib import Path

from hipcompat.facts import read_facts
from hipcompat.scan import Target
from hipcompat.scan.finding import Skipped
from hipcompat.scan.scanner import scan_bytes
from hipcompat.scan.tree import Candidate, find_files


def measure(files: list[tuple[Candidate, bytes]], runs: int) -> dict[str, dict[str, float]]:
    """By kind: files, MB, MB a CPU second. The bytes are in memory; the time is that of reading them as code."""
    target = Target()
    kinds: dict[str, list[tuple[Candidate, bytes]]] = {}
    for file, content in files:
        kinds.setdefault(_kind(file, content, target), []).append((file, content))
    return {kind: _measure_kind(members, runs, target) for kind, members in sorted(kinds.items())}


def _kind(file: Candidate, content: bytes, target: Target) -> str:
    scanned = scan_bytes(content, file, target)
    if isinstance(scanned, Skipped):
        return "skipped"
    has_hit = scanned.report.findings or scanned.report.renamed
    return f"{file.language}, {'with' if has_hit else 'without'} hits"


def _measure_kind(members: list[tuple[Candidate, bytes]], runs: int, target: Target) -> dict[str, float]:
    megabytes = sum(len(content) for _, content in members) / 1e6
    best_s = float("inf")
    for _ in range(runs):
        start_s = time.process_time()
        for file, content in members:
            scan_bytes(content, file, target)
        best_s = min(best_s, time.process_time() - start_s)
    return {"files": len(members), "MB": round(megabytes, 3), "MB/s": round(megabytes / max(best_s, 1e-6), 1)}


def measure_other(command: str, files: list[Candidate]) -> dict[str, float]:
    """CPU seconds of another program, once a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for file in files:
        argv = [part.replace("{}", file.path) for part in shlex.split(command)]
        subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    megabytes = sum(file.size_bytes for file in files) / 1e6
    return {"files": len(files), "MB": round(megabytes, 3), "MB/s": round(megabytes / max(spent_s, 1e-6), 4)}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--against", default="")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    read_facts()
    files = [(file, Path(file.path).read_bytes()) for file in find_files(args.folders)]
    figures: dict[str, object] = dict(measure(files, args.runs))
    if args.against:
        figures[args.against] = measure_other(args.against, [file for file, _ in files if file.language == "cuda"])
    text = json.dumps(figures, indent=1)
    print(text)
    if args.output:
        args.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
