"""build/TARGET/*.json → Recording: what one cold build took, by what it is proportional to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rockiln.artifact import OWN
from rockiln.built_values import read_value
from rockiln.errors import UsageError
from rockiln.stage_times import read_times

BY_ARTIFACT = ("fetch", "unpack")
BY_LAYER = ("layers",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One target. A machine's cache spares it the artifacts and layers that the machine has."""

    target_id: str
    artifacts: Mapping[str, int]
    """sha256 → bytes."""
    layers: Mapping[str, int]
    """Digest → compressed bytes."""
    artifacts_s: float
    """Fetching and unpacking all artifacts."""
    layers_s: float
    """Writing all layers."""
    rest_s: float
    """What is done again in every build."""


def read_recording(folder: Path) -> Recording:
    """Raises UsageError that says which build is missing: a warm one has no figure for what it did not do."""
    target_id = folder.name
    found = read_times(folder)
    if found is None:
        raise UsageError(
            f"{target_id}: no build has been timed",
            hint=f"one build with an empty cache: rockiln --cache NEW-FOLDER build --verify {target_id}",
        )
    seconds, fetched_bytes = found
    rows = read_value(folder, "lock")["artifacts"]
    artifacts = {str(row["sha256"]): int(row["size_bytes"]) for row in rows}
    foreign_bytes = sum(int(row["size_bytes"]) for row in rows if row["source"] != OWN)
    if fetched_bytes < foreign_bytes:
        raise UsageError(
            f"{target_id}: the timed build fetched {fetched_bytes} of {foreign_bytes} bytes: its cache had the rest",
            hint=f"one build with an empty cache: rockiln --cache NEW-FOLDER build --verify {target_id}",
        )
    layers = {str(row["digest"]): int(row["size_bytes"]) for row in read_value(folder, "layers")}
    artifacts_s = sum(seconds.get(name, 0.0) for name in BY_ARTIFACT)
    layers_s = sum(seconds.get(name, 0.0) for name in BY_LAYER)
    return Recording(
        target_id=target_id, artifacts=artifacts, layers=layers, artifacts_s=artifacts_s, layers_s=layers_s,
        rest_s=sum(seconds.values()) - artifacts_s - layers_s,
    )  # fmt: skip
