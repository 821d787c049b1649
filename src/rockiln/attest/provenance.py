"""Plan + lock + what a person may add → SLSA provenance: what the image was made of, by which program, how.

https://slsa.dev/spec/v1.0/provenance. Materials are the lock's artifacts and the project's own files, by hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rockiln
from rockiln.artifact import Artifact
from rockiln.locked import LockedTarget
from rockiln.plan import PlannedTarget

BUILD_TYPE = "https://rockiln.dev/build/v1"
"""Described in docs/supply-chain.md."""
LOCAL_BUILDER = "https://rockiln.dev/builder/local"
"""Who says nothing else: a machine of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What only the caller knows; empty fields are left out of the statement."""

    builder_id: str = LOCAL_BUILDER
    invocation_id: str = ""
    started_on: str = ""
    """RFC 3339; only if given: a clock would make every statement another one."""
    source_uri: str = ""
    """Where the project comes from, e.g. git+https://example.org/rocm-images@refs/heads/main."""
    source_revision: str = ""
    """The commit."""


def make_provenance(
    planned: PlannedTarget, locked: LockedTarget, project: Mapping[str, Path], circumstances: Circumstances
) -> dict[str, Any]:
    """The predicate. `project` names the project's files that decide the image: matrix.toml, the recipe."""
    materials = [*_describe_source(circumstances), *map(_describe_artifact, sorted(locked.artifacts))]
    materials += [_describe_file(name, path) for name, path in sorted(project.items())]
    metadata = {"invocationId": circumstances.invocation_id, "startedOn": circumstances.started_on}
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": {"target": planned.id, "inputs-sha256": locked.inputs_sha256},
            "internalParameters": {},
            "resolvedDependencies": materials,
        },
        "runDetails": {
            "builder": {"id": circumstances.builder_id, "version": {"rockiln": rockiln.__version__}},
            "metadata": {name: value for name, value in metadata.items() if value},
        },
    }


def list_materials(predicate: Mapping[str, Any]) -> dict[str, str]:
    """Name → sha256 of each material that has one. Raises KeyError, TypeError or AttributeError for another shape."""
    rows = predicate["buildDefinition"]["resolvedDependencies"]
    return {str(row["name"]): str(row["digest"]["sha256"]) for row in rows if "sha256" in row.get("digest", {})}


def _describe_source(circumstances: Circumstances) -> Iterator[dict[str, Any]]:
    if circumstances.source_uri:
        digest = {"digest": {"gitCommit": circumstances.source_revision}} if circumstances.source_revision else {}
        yield {"name": "project", "uri": circumstances.source_uri, **digest}


def _describe_artifact(artifact: Artifact) -> dict[str, Any]:
    """Sources, never hosts: which mirror gave the bytes says nothing about them."""
    return {
        "name": artifact.owner,
        "uri": f"rockiln:{artifact.source}/{artifact.path}",
        "digest": {"sha256": artifact.sha256},
        "annotations": {"version": artifact.version, "size": artifact.size_bytes},
    }


def _describe_file(name: str, path: Path) -> dict[str, Any]:
    return {"name": name, "uri": f"rockiln:project/{name}", "digest": {"sha256": _hash(path)}}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
