# tier: cpu
# timeout-s: 180
"""Every entry point of every wheel can be loaded, and every console script is there to be run."""

import importlib.metadata
import os
import sys
import traceback

from record import VENV, find_absent, read_record

os.environ["JAX_PLATFORMS"] = "cpu"
record = read_record()


UNASKED = {"proton": "pandas", "proton-viewer": "pandas"}
"""Commands of Triton's profiler, whose wheel does not ask for what they import; nobody else's are let off."""


def load_points(points: list[importlib.metadata.EntryPoint]) -> None:
    """Load them all; what the image declares absent, or an extra that nobody asked for, is said and accepted."""
    for point in points:
        if point.group == "console_scripts":
            assert os.access(VENV / "bin" / point.name, os.X_OK), f"bin/{point.name} is not executable"
        try:
            point.load()
        except ImportError as error:
            absent = find_absent(record, error)
            missing_extra = isinstance(error, ModuleNotFoundError) and point.extras
            is_unasked = isinstance(error, ModuleNotFoundError) and UNASKED.get(point.name) == error.name
            assert absent or missing_extra or is_unasked, f"{point.dist and point.dist.name}: {point}: {error}"
            print(f"{point.name}: {absent or error}")


def load_apart(points: list[importlib.metadata.EntryPoint]) -> bool:
    """Load in a child: pip, once imported, switches off the distutils that setuptools brings."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        load_points(points)
    except BaseException:  # noqa: BLE001  # a child must never go on into its parent's code
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


distributions = {each.name: list(each.entry_points) for each in importlib.metadata.distributions()}
failed = [name for name, points in sorted(distributions.items()) if points and not load_apart(points)]
assert not failed, f"entry points of {', '.join(failed)} do not load"
print(f"{sum(map(len, distributions.values()))} entry points load")
