"""Fuzz the readers of ELF files and bundles, and whole rewrites → a line a part; with --record, a JSON file of figures.

    nox --session fuzz -- --seconds 60             # of each part
    nox --session fuzz -- --runs parsers=1000000 --runs rewrites=20000 --record

Exits with 1 at a finding, and leaves the input in the folder that it names.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from seeds import PARSER_BYTES, write_corpora  # noqa: E402 - after the path above

from rockiln.source_tree import hash_tree  # noqa: E402

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/fuzz_slim.json"
MAX_BYTES = {"parsers": PARSER_BYTES, "verifier": PARSER_BYTES, "rewrites": 64 << 10}
_DONE = re.compile(r"Done (\d+) runs in (\d+) second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fuzzed:
    """One part, run to its end or to its first finding."""

    runs: int
    seconds: int
    findings: int


def main() -> int:
    """Make the corpora, run each part, say what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for parts without --runs")
    parser.add_argument("--runs", action="append", default=[], metavar="PART=N")
    parser.add_argument("--part", action="append", choices=sorted(MAX_BYTES), help="default: all")
    parser.add_argument("--real", action="append", default=[], type=Path, metavar="LIBRARY", help="its heads are seeds")
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS_PATH.relative_to(ROOT)}")
    args = parser.parse_args()
    wanted = {part: int(number) for part, _, number in (text.partition("=") for text in args.runs)}
    folder = Path(tempfile.mkdtemp(prefix="rockiln-fuzz-"))
    corpus_hash = write_corpora(folder, args.real)
    found = {}
    for part in args.part or sorted(MAX_BYTES):
        limit = f"-runs={wanted[part]}" if part in wanted else f"-max_total_time={args.seconds}"
        found[part] = _fuzz(part, folder, limit)
        one = found[part]
        print(f"{part}: {one.runs} inputs in {one.seconds} s, {one.findings} findings", flush=True)
    if args.record:
        _record(found, corpus_hash)
    return 1 if any(one.findings for one in found.values()) else 0


def _fuzz(part: str, folder: Path, limit: str) -> Fuzzed:
    flags = (limit, f"-max_len={MAX_BYTES[part]}", "-seed=1", f"-artifact_prefix={folder}/", "-print_final_stats=1")
    command = [sys.executable, str(Path(__file__).with_name("engine.py")), part, str(folder / part), *flags]
    log_path, started_s = folder / f"{part}.log", time.monotonic()
    with log_path.open("w") as log:
        finished = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
    text = log_path.read_text(errors="replace")
    done = _DONE.search(text)
    if finished.returncode or not done:
        print(_tail(text, folder), file=sys.stderr)
        return Fuzzed(runs=_last_run(text), seconds=round(time.monotonic() - started_s), findings=1)
    return Fuzzed(runs=int(done[1]), seconds=int(done[2]), findings=0)


def _last_run(text: str) -> int:
    return max((int(number) for number in re.findall(r"^#(\d+)\t", text, re.MULTILINE)), default=0)


def _tail(text: str, folder: Path) -> str:
    return "\n".join([*text.splitlines()[-40:], f"the input lies in {folder}"])


def _record(found: Mapping[str, Fuzzed], corpus_hash: str) -> None:
    """Parts that did not run keep what is known of them."""
    versions = {
        "corpus_sha256": corpus_hash,
        "fatbin_sha256": hash_tree(ROOT / "src/rockiln/fatbin"),
        "kernel_data_sha256": hash_tree(ROOT / "src/rockiln/kernel_data"),
        "atheris": version("atheris"),
        "python": sys.version.split()[0],
    }
    record = json.loads(RESULTS_PATH.read_text(encoding="utf-8")) if RESULTS_PATH.exists() else {}
    record |= {part: {**asdict(one), **versions} for part, one in found.items()}
    RESULTS_PATH.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
