"""Folders of JSON → HardwareRecords: which variants of a pack were right on a real GPU. Format: docs/selection.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1
SHIPPED = Path(__file__).with_name("records")
"""Records that came with this distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareRecord:
    """What `rockiln-kernels validate` found on one machine."""

    schema: int
    arch: str
    pack_sha256: str
    device: str
    """The runtime and the device, in words."""
    passed: tuple[str, ...]
    """Keys of variants whose outputs were within the tolerance."""
    failed: Mapping[str, str] = field(default_factory=dict)
    not_run: Mapping[str, str] = field(default_factory=dict)
    times_us: Mapping[str, float] = field(default_factory=dict)
    """Median of one call."""


def find_user_folder(environ: Mapping[str, str]) -> Path:
    """ROCKILN_RECORDS, else rockiln/records in the user's data folder."""
    if own := environ.get("ROCKILN_RECORDS"):
        return Path(own)
    data = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "/")) / ".local" / "share")
    return Path(data) / "rockiln" / "records"


def read_records(folders: Iterable[Path]) -> tuple[HardwareRecord, ...]:
    """Every record, by name; later folders last. Raises ValueError, naming the file, for one that is none."""
    return tuple(_read_record(path) for folder in folders for path in sorted(folder.glob("*.json")))


def find_record(records: Iterable[HardwareRecord], arch: str, pack_sha256: str) -> HardwareRecord | None:
    """The last record of a pack on an arch."""
    found = [item for item in records if (item.arch, item.pack_sha256) == (arch, pack_sha256)]
    return found[-1] if found else None


def write_record(record: HardwareRecord, folder: Path) -> Path:
    """Write ARCH-SHA.json, whole or not at all; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record.arch}-{record.pack_sha256[:16]}.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(record), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return new.replace(path)


def _read_record(path: Path) -> HardwareRecord:
    try:
        return _parse_record(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a hardware record of schema {SCHEMA}: {error}") from error


def _parse_record(tree: Mapping[str, Any]) -> HardwareRecord:
    if tree["schema"] != SCHEMA:
        raise ValueError(f"schema {tree['schema']}")
    return HardwareRecord(**{**tree, "passed": tuple(tree["passed"])})
