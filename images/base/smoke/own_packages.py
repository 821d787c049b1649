"""The image's record and its site-packages → our own distributions, packs and the ops that they hold."""

from __future__ import annotations

import csv
import json
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from record import read_record


def read_own() -> dict[str, str]:
    """Our distributions in the record, name → version."""
    rows = [item for item in read_record()["packages"] if item["kind"] == "wheel"]
    return {item["name"]: item["version"] for item in rows if item["name"].startswith(("rockiln-", "hipcompat"))}


def list_pack_archs() -> list[str]:
    """GPUs for which the record names a pack."""
    prefix = "rockiln-kernels-gfx"
    return sorted(f"gfx{name.removeprefix(prefix)}" for name in read_own() if name.startswith(prefix))


def find_pack(arch: str) -> Path:
    """The folder of an arch's pack, without importing it."""
    spec = find_spec(f"rockiln_kernels_{arch}")
    origin = spec.origin if spec else None  # an empty folder is a package without a file
    assert origin, f"the record names the pack of {arch}, and there is no rockiln_kernels_{arch} to import"
    return Path(origin).parent / "pack"


def read_manifest(arch: str) -> dict[str, Any]:
    """manifest.json of an arch's pack."""
    manifest = json.loads((find_pack(arch) / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["arch"] == arch, manifest["arch"]
    return manifest


def list_missing(name: str) -> list[str]:
    """Files of a distribution's RECORD that are not there. Since Python 3.12 `files` leaves them out itself."""
    own = distribution(name)
    text = own.read_text("RECORD")
    assert text, f"{name} has no RECORD"
    paths = [row[0] for row in csv.reader(text.splitlines()) if row]
    return [path for path in paths if not Path(str(own.locate_file(path))).exists()]


def find_plugin() -> str:
    """The distribution that brings the kernels into the framework; "" where the image has none."""
    name = f"rockiln-{read_record()['framework']}"
    return name if name in read_own() else ""


def list_entry_points(name: str) -> set[tuple[str, str]]:
    """(group, name) of a distribution's entry points."""
    return {(point.group, point.name) for point in distribution(name).entry_points}
