"""Folders of built targets, with times: for tests of simulate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rockiln.built_values import BUILT, make_note
from rockiln.jsonable import write_value
from rockiln.sealed import write_sealed
from rockiln.stage_times import Stopwatch, write_times


def write_build(folder: Path, fetched_bytes: int, source: str = "debs") -> Path:
    """A target's folder, with two artifacts of 10 and 30 bytes and one layer."""
    folder.mkdir()
    rows = [{"sha256": "aa", "size_bytes": 10, "source": source}, {"sha256": "bb", "size_bytes": 30, "source": "debs"}]
    values: dict[str, Any] = {
        "lock": {"artifacts": rows}, "layers": [{"digest": "sha256:cc", "size_bytes": 7}],
        "fetch": {"fetched_bytes": fetched_bytes},
    }  # fmt: skip
    for name, value in values.items():
        write_value(value, folder / f"{name}.json")
    write_sealed(folder / BUILT, make_note(folder, ["layers.json"]))
    watch = Stopwatch()
    watch.seconds = {"fetch": 2.0, "unpack": 1.0, "assemble": 0.5, "slim": 0.25, "layers": 4.0, "audit": 0.125}
    write_times(folder, watch)
    return folder
