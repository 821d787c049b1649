# tier: cpu
# timeout-s: 180
"""Every entry point of every wheel can be loaded, and every console script is there to be run."""

import importlib.metadata
import os

from record import VENV, find_absent, read_record

os.environ["JAX_PLATFORMS"] = "cpu"
record = read_record()
optional = 0
points = [point for distribution in importlib.metadata.distributions() for point in distribution.entry_points]
for point in points:
    if point.group == "console_scripts":
        assert os.access(VENV / "bin" / point.name, os.X_OK), f"bin/{point.name} is not executable"
    try:
        point.load()
    except ImportError as error:
        absent = find_absent(record, error)
        missing_extra = isinstance(error, ModuleNotFoundError) and point.extras
        assert absent or missing_extra, f"{point.dist and point.dist.name}: {point}: {error}"
        optional += 1
        print(f"{point.name}: {absent or error}")
print(f"{len(points)} entry points, {optional} of them need what the image does not promise")
