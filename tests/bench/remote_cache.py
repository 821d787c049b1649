"""A row from an empty cache, without and with a registry that has its layers, and the whole row → ratios of medians.

    nox --session bench_cache [-- --target ID --runs N]      # writes tests/bench/results/remote_cache.json

Each run has a cache with nothing in it: artifacts are fetched, and our own wheels built, as on a fresh machine of a CI
system. The registry is Docker's, on this machine, so what a network costs is not in it. Needs Debian's docker-registry.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from measure import measure
from rockiln_side import copy_project

sys.path[:0] = [str(Path(__file__).parents[1])]

from real_registry import run_registry  # noqa: E402 - after the path above

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/remote_cache.json"
WAYS = ("alone", "layers", "row")


def main() -> int:
    """Measure, print, keep the figures; 1 where a way gives another digest."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default="jax-0.6.2-cpu-py3.11-debian-12")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, run_registry(Path(made) / "registry") as host:
        bench = Bench(Path(made), args.target, host)
        bench.fill()
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        digests = set()
        for number in range(args.runs):
            for way in (*WAYS[number % 3 :], *WAYS[: number % 3]):
                wall_s, digest = bench.build(way)
                seconds[way].append(wall_s)
                digests.add(digest)
                print(f"{way:8} {wall_s:6.2f} s", flush=True)
    return keep(args.target, seconds, len(digests))


class Bench:
    """A project, its registry, and a cache that is emptied before each build."""

    def __init__(self, folder: Path, target_id: str, host: str) -> None:
        self.project_path, self.cache_path, self.key_path = folder / "project", folder / "cache", folder / "key"
        self.place, self.target_id = host, target_id
        copy_project(self.project_path)

    def fill(self) -> None:
        """Build once; leave layers and row in the registry. The key is not the project's: builds find none there."""
        self._run("generate-key", "--output", str(self.key_path))
        self._run("build", "--relock-gone", "--relock-own", self.target_id)
        where = ("--to", f"{self.place}/bench/{{framework}}", "--cache-to", f"{self.place}/bench/cache")
        self._run("push", self.target_id, *where, "--cache-key", f"{self.key_path}.key")

    def build(self, way: str) -> tuple[float, str]:
        """Seconds and digest."""
        shutil.rmtree(self.cache_path)
        shutil.rmtree(self.project_path / "build")
        source = ("--cache-from", f"{self.place}/bench/cache") if way != "alone" else ()
        key = ("--cache-key", f"{self.key_path}.pub") if way == "row" else ()
        wall_s = self._run("build", self.target_id, *source, *key)
        image = json.loads((self.project_path / "build" / self.target_id / "image.json").read_bytes())
        return wall_s, image["digest"]

    def _run(self, *words: str) -> float:
        argv = [sys.executable, "-m", "rockiln", "--quiet", "--cache", str(self.cache_path), *words]
        environ = {**os.environ, "COSIGN_PASSWORD": "of a measurement"}
        return measure(argv, cwd=self.project_path, environ=environ).wall_s


def keep(target_id: str, seconds: dict[str, list[float]], digests: int) -> int:
    """Print and write the figures."""
    medians = {way: statistics.median(its) for way, its in seconds.items()}
    value = {
        "target": target_id, "digests": digests, "aim": "one digest",
        "ratio_of_medians": {way: round(medians[way] / medians["alone"], 2) for way in WAYS},
        "median_s": {way: round(its, 2) for way, its in medians.items()},
        "seconds": {way: [round(one, 2) for one in its] for way, its in seconds.items()},
    }  # fmt: skip
    RESULTS_PATH.write_text(json.dumps(value, indent=2) + "\n")
    print(json.dumps(value, indent=2))
    return int(digests != 1)


if __name__ == "__main__":
    sys.exit(main())
