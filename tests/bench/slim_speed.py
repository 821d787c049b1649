"""A library of 593 MB copied twice with fsync, and slimmed and proven, in turn, in one run → a ratio of medians.

    nox --session bench_slim -- --speed            # writes tests/bench/results/slim_speed.json

The aim: at most four times as long as the two copies, with less than 300 MB of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from measure import measure

sys.path[:0] = [str(Path(__file__).parents[1])]

from real_subjects import SUBJECTS  # noqa: E402 - after the path above

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/slim_speed.json"
COPY_TWICE = """
import os, shutil, sys
for number in range(2):
    shutil.copyfile(sys.argv[1], sys.argv[2] + str(number))
    descriptor = os.open(sys.argv[2] + str(number), os.O_RDWR)
    os.fsync(descriptor)
"""
MOST_TIMES, MOST_BYTES = 4, 300e6


def main() -> int:
    """Measure, print, keep the figures; 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "real")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    subject = next(one for one in SUBJECTS if one.name.startswith("jax-rocm7-pjrt"))
    with tempfile.TemporaryDirectory(prefix="rockiln-speed-", dir=args.cache) as name:
        folder = Path(name)
        library = subject.bring(folder / "before", args.cache)
        record = _measure(library, folder, args.runs)
    ratio, peak_mb = record["slimmed / copied twice"], record["peak memory, MB"]
    print(f"copied twice {record['copied twice, s']} s, slimmed and proven {record['slimmed, s']} s: {ratio} times")
    print(f"peak memory {peak_mb} MB")
    RESULTS_PATH.write_text(json.dumps({"subject": subject.name, **record}, indent=1) + "\n", encoding="utf-8")
    return 0 if ratio <= MOST_TIMES and peak_mb * 1e6 < MOST_BYTES else 1


def _measure(library: Path, folder: Path, runs: int) -> dict[str, object]:
    copied, slimmed, peaks = [], [], []
    slim = ["--quiet", "slim", str(library), "--archs", "gfx942", "--output", str(folder / "slim")]
    for number in range(runs + 1):
        copying = measure([sys.executable, "-c", COPY_TWICE, str(library), str(folder / "copy")], cwd=folder)
        slimming = measure([sys.executable, "-m", "rockiln", *slim], cwd=folder, environ=dict(os.environ))
        for path in (folder / "copy0", folder / "copy1", folder / "slim"):
            path.unlink()
        if number:  # the first run reads the library from disk
            copied.append(copying.wall_s)
            slimmed.append(slimming.wall_s)
            peaks.append(slimming.peak_bytes)
    medians = statistics.median(copied), statistics.median(slimmed)
    return {
        "bytes": library.stat().st_size, "cpus": os.cpu_count(), "runs": runs,
        "copied twice, s": round(medians[0], 2), "slimmed, s": round(medians[1], 2),
        "slimmed / copied twice": round(medians[1] / medians[0], 2), "peak memory, MB": round(max(peaks) / 1e6),
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
