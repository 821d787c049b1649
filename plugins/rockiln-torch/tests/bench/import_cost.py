"""`import torch` with the plugin loaded by its entry point, and without → milliseconds of CPU of whole processes.

    python tests/bench/import_cost.py [TRIPLES]

Without: torch looks for plugins, as it does wherever it is installed, and finds one that does nothing. `no_search`:
TORCH_DEVICE_BACKEND_AUTOLOAD=0, so that it looks for none; the search is torch's own, and reads the entry points of all
that is installed. Neighbours are compared, in turns, since a busy machine's speed wanders.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys

PLAIN = "import torch"
EMPTY = "import sys, types; sys.modules['rockiln_torch_autoload'] = types.SimpleNamespace(autoload=int); import torch"


def time_import(code: str, *, searches: bool = True) -> float:
    """User and system milliseconds of one Python that runs the code and ends."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environ = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": str(int(searches))}
    subprocess.run([sys.executable, "-c", code], env=environ, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    """Print the medians, and those of the differences between neighbours."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    time_import(PLAIN)
    rows = [(time_import(PLAIN), time_import(EMPTY), time_import(PLAIN, searches=False)) for _ in range(count)]
    found = {
        "triples": count,
        "with_ms": round(statistics.median(row[0] for row in rows), 1),
        "without_ms": round(statistics.median(row[1] for row in rows), 1),
        "no_search_ms": round(statistics.median(row[2] for row in rows), 1),
        "difference_ms": round(statistics.median(row[0] - row[1] for row in rows), 1),
        "difference_to_no_search_ms": round(statistics.median(row[0] - row[2] for row in rows), 1),
    }
    print(json.dumps(found))  # its output


if __name__ == "__main__":
    main()
