"""A build → times.json: the seconds of each stage, and how many bytes a stage had to do anew."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rockiln.errors import UsageError
from rockiln.jsonable import write_value
from rockiln.shape_faults import name_shape_fault

FORMAT = 1
NAME = "times.json"


class Stopwatch:
    """Seconds by stage, in the order in which they ran. Monotonic: no clock that somebody sets."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """What runs inside belongs to the stage; a stage may have several parts."""
        start_s = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start_s


def write_times(folder: Path, watch: Stopwatch) -> None:
    """Beside the stages' values, of which fetch.json says how much was fetched; the build vouches for none of it."""
    stages = {name: round(seconds, 3) for name, seconds in watch.seconds.items()}
    fetched_bytes = int(json.loads((folder / "fetch.json").read_bytes())["fetched_bytes"])
    write_value({"format": FORMAT, "fetched_bytes": fetched_bytes, "seconds": stages}, folder / NAME)


def read_times(folder: Path) -> tuple[dict[str, float], int] | None:
    """Seconds by stage and the bytes fetched; None where there is no recording. Raises UsageError for a damaged one."""
    path = folder / NAME
    try:
        value = json.loads(path.read_bytes())
        if value["format"] != FORMAT:
            raise _damaged(path, f"its format is {value['format']!r}, not {FORMAT}")
        return {str(name): float(seconds) for name, seconds in value["seconds"].items()}, int(value["fetched_bytes"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as fault:
        raise _damaged(path, name_shape_fault(fault)) from fault


def _damaged(path: Path, reason: str) -> UsageError:
    again = f"rockiln --cache NEW-FOLDER build --verify {path.parent.name} times it anew"
    return UsageError(f"{path} is damaged: {reason}", hint=again)
