"""`import torch` with the plugin loaded by its entry point, and without → milliseconds of CPU of whole processes.

    python tests/bench/import_cost.py [PAIRS]

Without: TORCH_DEVICE_BACKEND_AUTOLOAD=0, so torch looks for no plugin at all. Neighbours are compared, in turns, since
a busy machine's speed wanders.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys


def time_import(*, autoload: bool) -> float:
    """User and system milliseconds of one Python that imports torch and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": str(int(autoload))}
    subprocess.run([sys.executable, "-c", "import torch"], env=environ, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    """Print the medians, and that of the differences between neighbours."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    time_import(autoload=True)
    rows = [(time_import(autoload=True), time_import(autoload=False)) for _ in range(pairs)]
    found = {
        "pairs": pairs,
        "with_ms": round(statistics.median(row[0] for row in rows), 1),
        "without_ms": round(statistics.median(row[1] for row in rows), 1),
        "difference_ms": round(statistics.median(row[0] - row[1] for row in rows), 1),
    }
    print(json.dumps(found))  # its output


if __name__ == "__main__":
    main()
