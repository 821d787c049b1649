"""A build → times.json: the seconds of each stage, and how many bytes a stage had to do anew."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rockiln.jsonable import write_value

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
    """Seconds by stage and the bytes fetched; None where there is no recording, or one that cannot be read."""
    try:
        value = json.loads((folder / NAME).read_bytes())
        if value["format"] != FORMAT:
            return None
        return {str(name): float(seconds) for name, seconds in value["seconds"].items()}, int(value["fetched_bytes"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
