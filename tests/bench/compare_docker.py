"""One target by docker build and by rockiln, in turn, in one run → a table of ratios, and a JSON file of the figures.

    nox --session bench                       # writes tests/bench/results/compare_docker.json

Needs root, a Docker Engine with BuildKit, mmdebstrap and the package archives. Both sides get the same debs and the
same wheels from the local disk; neither sees a network while it is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import docker_side
from docker_side import DockerBuilder
from measure import Measured
from rockiln_side import RockilnBuilder
from wheel_edit import change_one_file

RESULTS_PATH = Path(__file__).parent / "results" / "compare_docker.json"
Figures = dict[str, dict[str, list[float]]]


def main() -> None:
    """Measure, print the table, keep the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default="jax-0.6.2-cpu-py3.11-debian-12")
    parser.add_argument("--changed-wheel", default="opt-einsum", help="the wheel in which one file is changed")
    parser.add_argument("--import", dest="module", default="jax", help="the module whose import is timed in both")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rockiln-bench-") as folder:
        figures = _measure_all(args, Path(folder))
    record = {"target": args.target, "cpus": os.cpu_count(), "machine": platform.machine(), "figures": figures}
    print(_format_table(figures))
    RESULTS_PATH.parent.mkdir(exist_ok=True)
    RESULTS_PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _measure_all(args: argparse.Namespace, folder: Path) -> Figures:
    ours = RockilnBuilder.prepare(folder, args.target)
    debs, wheels = (
        {artifact.file: ours.store.path_of(artifact) for artifact in ours.artifacts if artifact.kind == kind}
        for kind in ("deb", "wheel")
    )
    theirs = DockerBuilder.prepare(folder / "context", debs, wheels)
    figures: Figures = {}
    for _ in range(args.runs):
        _note(figures, "cold, s", theirs.build(cold=True), ours.build(cold=True))
        _note(figures, "nothing to do, s", theirs.build(), ours.build())
    gzip_sizes, zstd_bytes = (docker_side.measure_sizes(), ours.measure_sizes()), 0
    for number in range(args.runs):
        old = next(artifact for artifact in ours.artifacts if artifact.name == args.changed_wheel)
        changed_path = folder / f"changed-{number}.whl"
        change_one_file(ours.store.path_of(old), changed_path, f"change {number}")
        theirs.replace_wheel(old.file, changed_path)
        ours.replace_wheel(old, changed_path)
        _note(figures, "one file changed, s", theirs.build(), ours.build())
    _time_imports(figures, args.module, ours)
    figures["zstd build, s"] = {"docker": [], "rockiln": [ours.build(compression="zstd").wall_s]}
    zstd_bytes = ours.measure_sizes()[0]
    (their_gzip, their_disk), (our_gzip, our_disk) = gzip_sizes
    figures["gzip, MB"] = {"docker": [their_gzip / 1e6], "rockiln": [our_gzip / 1e6]}
    figures["zstd against its gzip, MB"] = {"docker": [their_gzip / 1e6], "rockiln": [zstd_bytes / 1e6]}
    figures["unpacked, MB"] = {"docker": [their_disk / 1e6], "rockiln": [our_disk / 1e6]}
    return figures


def _note(figures: Figures, row: str, theirs: Measured, ours: Measured) -> None:
    cells = figures.setdefault(row, {"docker": [], "rockiln": []})
    cells["docker"].append(theirs.wall_s)
    cells["rockiln"].append(ours.wall_s)
    figures.setdefault("peak memory of the command, MB", {"docker": [], "rockiln": []})["rockiln"].append(
        ours.peak_bytes / 1e6
    )


def _time_imports(figures: Figures, module: str, ours: RockilnBuilder) -> None:
    """Seconds from interpreter start to the end of `import module`, inside both images, in turn."""
    reference = _load(ours)
    cells = figures.setdefault(f"import {module} in the image, s", {"docker": [], "rockiln": []})
    for number in range(6):
        for side, image in (("docker", docker_side.IMAGE), ("rockiln", reference)):
            seconds = _time_import(image, module)
            if number:  # the first run reads the files from disk
                cells[side].append(seconds)


def _time_import(image: str, module: str) -> float:
    code = f"import time; start = time.monotonic(); import {module}; print(time.monotonic() - start)"
    argv = [docker_side.DOCKER, "run", "--rm", "--network", "none", image, "python3", "-c", code]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def _load(ours: RockilnBuilder) -> str:
    argv = [sys.executable, "-m", "rockiln", "--quiet", "--cache", str(ours.cache_path), "load", ours.target_id]
    return subprocess.run(argv, check=True, capture_output=True, text=True, cwd=ours.project_path).stdout.strip()


def _format_table(figures: Figures) -> str:
    lines = ["| | docker build | rockiln | docker / rockiln | rockiln / docker |", "| --- | --- | --- | --- | --- |"]
    for row, cells in figures.items():
        ours = statistics.median(cells["rockiln"])
        if row.startswith("peak"):
            ours = max(cells["rockiln"])
        if not cells["docker"]:
            lines.append(f"| {row} | | {ours:.2f} | | |")
            continue
        theirs = statistics.median(cells["docker"])
        lines.append(f"| {row} | {theirs:.2f} | {ours:.2f} | {theirs / ours:.2f} | {ours / theirs:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
