"""`rockiln push` and `skopeo copy` of the same built image to the same registry, in turn → a ratio of medians.

    nox --session bench_push [-- --target GLOB --runs N]      # writes tests/bench/results/push_speed.json

Every run goes to a Docker registry of its own with nothing in it. The aim: no slower than skopeo. Needs a built target,
Debian's docker-registry and skopeo. The machine may be busy: compare the ratio, not the seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import measure

sys.path[:0] = [str(Path(__file__).parents[1])]

from real_registry import run_registry  # noqa: E402 - after the path above

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/push_speed.json"
MOST_TIMES = 1.0
Seconds = dict[str, list[tuple[float, float]]]
"""Wall-clock and CPU seconds of each run."""


def main() -> int:
    """Measure, print, keep the figures; 1 where the aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default="tensorflow-*-cpu-*")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where the registries keep their data (default: a temporary one)")
    args = parser.parse_args()
    (layout_path,) = (ROOT / "build").glob(f"{args.target}/image")
    seconds: Seconds = {"rockiln": [], "skopeo": []}
    for number in range(args.runs):
        for who in sorted(seconds, reverse=bool(number % 2)):  # neither always goes first
            seconds[who].append(measure_push(who, layout_path, args.folder))
            print(f"{who:8} {seconds[who][-1][0]:6.2f} s, CPU {seconds[who][-1][1]:5.2f} s", flush=True)
    return keep(seconds, layout_path)


def measure_push(who: str, layout_path: Path, folder: Path | None) -> tuple[float, float]:
    """Seconds of one push into an empty registry, from the start of the command to its end; and its own CPU seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as made, run_registry(Path(made)) as host:
        if who == "rockiln":
            argv = [sys.executable, "-m", "rockiln", "--quiet", "push", layout_path.parent.name, "--to", f"{host}/a/b"]
        else:
            argv = ["skopeo", "copy", "--quiet", "--preserve-digests", "--dest-tls-verify=false"]
            argv += [f"oci:{layout_path}", f"docker://{host}/a/b:c"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall_s = measure(argv, cwd=ROOT).wall_s
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def keep(seconds: Seconds, layout_path: Path) -> int:
    """Print and write the figures."""
    wall = {who: [wall_s for wall_s, _ in its] for who, its in seconds.items()}
    cpu = {who: statistics.median(cpu_s for _, cpu_s in its) for who, its in seconds.items()}
    medians = {who: statistics.median(its) for who, its in wall.items()}
    ratio = medians["rockiln"] / medians["skopeo"]
    pairs = [ours / theirs for ours, theirs in zip(wall["rockiln"], wall["skopeo"], strict=True)]
    value = {
        "target": layout_path.parent.name,
        "bytes": sum(path.stat().st_size for path in (layout_path / "blobs/sha256").iterdir()),
        "skopeo_version": read_version("skopeo"),
        "ratio_of_medians": round(ratio, 2), "median_of_ratios": round(statistics.median(pairs), 2),
        "ratio_of_cpu": round(cpu["rockiln"] / cpu["skopeo"], 2), "aim": f"ratio of medians at most {MOST_TIMES}",
        "median_s": {who: round(its, 2) for who, its in medians.items()},
        "median_cpu_s": {who: round(its, 2) for who, its in cpu.items()},
        "seconds": {who: [round(one, 2) for one in its] for who, its in wall.items()},
    }  # fmt: skip
    RESULTS_PATH.write_text(json.dumps(value, indent=2) + "\n")
    print(json.dumps(value, indent=2))
    return int(ratio > MOST_TIMES)


def read_version(program: str) -> str:
    assert shutil.which(program), f"apt-get install {program}"
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
