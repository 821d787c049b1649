"""Folders of JSON → HardwareRecords: which variants of a pack were right on a real GPU. Format: docs/selection.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rockiln_kernels.pack.manifest import explain_misfit

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecords:
    """What is in folders of records."""

    records: tuple[HardwareRecord, ...]
    """By name; those of later folders last."""
    broken: tuple[tuple[Path, str], ...]
    """Files that are no record, and why: they count for nothing, and whoever decides by records says so."""


def read_records(folders: Iterable[Path]) -> FoundRecords:
    """Every record. Nothing is raised: what is no record, or cannot be read, is in `broken`."""
    records: list[HardwareRecord] = []
    broken: list[tuple[Path, str]] = []
    for folder in folders:
        if folder.exists() and not folder.is_dir():
            broken.append((folder, "no folder of records"))
        for path in sorted(folder.glob("*.json")):
            try:
                records.append(read_record(path))
            except (OSError, ValueError) as error:
                broken.append((path, str(error).removeprefix(f"{path}: ")))
    return FoundRecords(records=tuple(records), broken=tuple(broken))


def find_record(records: Iterable[HardwareRecord], arch: str, pack_sha256: str) -> HardwareRecord | None:
    """What all records of a pack on an arch say together: of each variant, what the last one says that ran it."""
    merged: HardwareRecord | None = None
    for item in records:
        if (item.arch, item.pack_sha256) == (arch, pack_sha256):
            merged = item if merged is None else merge_records(merged, item)
    return merged


def merge_records(former: HardwareRecord, later: HardwareRecord) -> HardwareRecord:
    """Both, of one pack on one arch: where `later` did not run a variant, what `former` found stands."""
    ran = {*later.passed, *later.failed}
    known = {*ran, *former.passed, *former.failed}
    devices = dict.fromkeys([*former.device.split("; "), *later.device.split("; ")])
    return HardwareRecord(
        schema=SCHEMA,
        arch=later.arch,
        pack_sha256=later.pack_sha256,
        device="; ".join(devices),
        passed=tuple(sorted({*later.passed, *(key for key in former.passed if key not in ran)})),
        failed={**{key: text for key, text in former.failed.items() if key not in ran}, **later.failed},
        not_run={key: text for key, text in {**former.not_run, **later.not_run}.items() if key not in known},
        times_us={**{key: time for key, time in former.times_us.items() if key not in later.failed}, **later.times_us},
    )


def find_former(folder: Path, arch: str, pack_sha256: str) -> tuple[Path, HardwareRecord | None]:
    """Where in `folder` the record of a pack on an arch stands, and that record, if there is one.

    Raises ValueError where something else has that name, or `folder` is none.
    """
    path = folder / f"{arch}-{pack_sha256[:16]}.json"
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: no folder of records")
    former = read_record(path) if path.exists() else None
    if former and (former.arch, former.pack_sha256) != (arch, pack_sha256):
        raise ValueError(f"{path}: the record of another pack, {former.pack_sha256}, on {former.arch}")
    return path, former


def write_record(record: HardwareRecord, folder: Path) -> Path:
    """Write ARCH-SHA.json, whole or not at all, merged with the record that is there; its path. Raises ValueError."""
    import tempfile  # not where a first call waits for it

    path, former = find_former(folder, record.arch, record.pack_sha256)
    tree = asdict(merge_records(former, record) if former else record)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".record-") as temporary:
        new = Path(temporary) / path.name
        new.write_text(json.dumps(tree, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return new.replace(path)


def read_record(path: Path) -> HardwareRecord:
    """One record. Raises ValueError, naming the file, for what is none; OSError if unreadable."""
    try:
        return _parse_record(json.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not a hardware record of schema {SCHEMA}: {explain_misfit(error)}") from error


def _parse_record(tree: Any) -> HardwareRecord:
    if not isinstance(tree, dict):
        raise ValueError("no object")  # noqa: TRY004  # a damaged file
    if tree["schema"] != SCHEMA:
        raise ValueError(f"schema {tree['schema']}")
    if not isinstance(tree["passed"], list):
        raise ValueError("passed is no list")  # noqa: TRY004  # a damaged file
    record = HardwareRecord(**{**tree, "passed": tuple(tree["passed"])})
    if not all(isinstance(text, str) for text in (record.arch, record.pack_sha256, record.device, *record.passed)):
        raise ValueError("arch, pack_sha256, device and each of passed are texts")
    for name, kind in (("failed", str), ("not_run", str), ("times_us", (int, float))):
        found = getattr(record, name)
        if not isinstance(found, dict) or not all(isinstance(value, kind) for value in found.values()):
            raise ValueError(f"{name} is no object of {'texts' if kind is str else 'numbers'}")
    return record
