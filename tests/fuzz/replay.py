"""python tests/fuzz/replay.py: the same damaged files each time, through all that the fuzzers call → a line a part.

What CI runs. Coverage leads a fuzzer elsewhere each time, so that it finds in one change what an older one brought; a
finding here belongs to the change that is tested. Stops at the first one with its exception, and names the input.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path[:0] = [str(Path(__file__).parents[1])]

from seeds import write_corpora  # noqa: E402 - after the path above
from targets import LIMIT_S, TARGETS  # noqa: E402

from damage import damage  # noqa: E402

INPUTS = {"parsers": 40_000, "verifier": 10_000, "rewrites": 10_000}


def main() -> None:
    """Each part's inputs in turn; a kept input is named where a fault ends the run."""
    folder = Path(tempfile.mkdtemp(prefix="rockiln-replay-"))
    write_corpora(folder)
    for part, count in INPUTS.items():
        started_s = time.monotonic()
        seeds = [path.read_bytes() for path in sorted((folder / part).iterdir())]
        for number in range(count):
            random = Random(number)  # noqa: S311 - the same in every run
            _call(part, damage(random.choice(seeds), random), folder)
        print(f"{part}: {count} inputs in {time.monotonic() - started_s:.0f} s, 0 findings", flush=True)


def _call(part: str, content: bytes, folder: Path) -> None:
    signal.alarm(round(LIMIT_S))  # its default action ends the process: a hang is a finding
    kept = folder / f"{part}-input"
    kept.write_bytes(content)
    try:
        TARGETS[part](content)
    except BaseException:
        print(f"{part}: a finding; the input is {kept}", file=sys.stderr)
        raise
    signal.alarm(0)


if __name__ == "__main__":
    main()
