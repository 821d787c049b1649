"""Manifest → parts.jsonl: a line an op, so that a first call reads only its own op's. Format: docs/packs.md."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rockiln_kernels.pack.intact import are_lines_sealed, seal_lines
from rockiln_kernels.pack.manifest import SCHEMA, Manifest, dump_manifest, parse_manifest

PARTS_NAME = "parts.jsonl"
_HEAD = ("schema", "arch", "wave_lanes", "triton", "lld")


def dump_parts(manifest: Manifest) -> str:
    """A head with the manifest's sha256 and the ops in order, each op's part, the sha256 of all that: a line each."""
    tree = asdict(manifest)
    keys = [*(item.key for item in manifest.variants), *(item.key for item in manifest.absent)]
    ops = sorted({key.partition("/")[0] for key in keys})
    head = {name: tree[name] for name in _HEAD}
    digest = hashlib.sha256(dump_manifest(manifest).encode()).hexdigest()
    lines = [{**head, "manifest_sha256": digest, "ops": ops}, *(_cut_part(tree, op) for op in ops)]
    text = "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines)
    return seal_lines(text.encode()).decode()


def _cut_part(tree: dict[str, Any], op: str) -> dict[str, Any]:
    variants = [item for item in tree["variants"] if item["op"] == op]
    keys = sorted({launch["kernel"] for item in variants for launch in item["launches"]})
    return {
        "kernels": {key: tree["kernels"][key] for key in keys},
        "variants": variants,
        "absent": [item for item in tree["absent"] if item["key"].startswith(f"{op}/")],
    }


class ManifestParts:
    """A pack's manifest, of which an op is read when it is asked for.

    Raises ValueError, naming the file, for one of another schema or that is damaged; OSError if unreadable.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / PARTS_NAME
        content = self._path.read_bytes()
        if not are_lines_sealed(content):
            raise ValueError(f"{self._path} has other bytes than its sha256 says: the pack is damaged")
        self._lines = content.split(b"\n")
        head = self._parse_line(0)
        try:
            self.arch, self.sha256 = str(head["arch"]), str(head["manifest_sha256"])
            self._head = {name: head[name] for name in _HEAD}
            self._places = {str(op): place for place, op in enumerate(head["ops"], 1)}
        except (KeyError, TypeError) as error:
            raise ValueError(f"{self._path}: line 1 lacks {error}") from error
        self._parts: dict[str, Manifest] = {}

    def find_part(self, op: str) -> Manifest:
        """The manifest with the variants, kernels and absences of `op` only; empty if the pack knows no such op."""
        if op not in self._parts:
            none: dict[str, Any] = {"kernels": {}, "variants": [], "absent": []}
            place = self._places.get(op)
            part = none if place is None else self._parse_line(place)
            try:
                self._parts[op] = parse_manifest({**self._head, **part})
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{self._path}: {op}: not of a manifest of schema {SCHEMA}: {error}") from error
        return self._parts[op]

    def _parse_line(self, place: int) -> dict[str, Any]:
        try:
            value = json.loads(self._lines[place])
        except (IndexError, ValueError) as error:
            raise ValueError(f"{self._path}: line {place + 1} is missing or damaged: {error}") from error
        if not isinstance(value, dict):
            raise ValueError(f"{self._path}: line {place + 1} is no object")  # noqa: TRY004  # a damaged file
        return value
