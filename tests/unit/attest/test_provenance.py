"""Provenance: materials are the lock's, nothing is said that nobody gave, and in-toto's own schemas read all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from imaging import make_locked, make_wheel
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from planning import make_planned

from rockiln.attest.provenance import LOCAL_BUILDER, Circumstances, list_materials, make_provenance
from rockiln.attest.statement import PROVENANCE, make_statement

PLANNED = make_planned()
LOCKED = make_locked(PLANNED, make_wheel("jax", "0.6.0"), make_wheel("jaxlib", "0.6.0"))
CI = Circumstances(
    builder_id="https://example.org/ci", invocation_id="run/7", started_on="2026-01-02T03:04:05Z",
    source_uri="git+https://example.org/images", source_revision="ab" * 20,
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> dict[str, Path]:
    path = tmp_path / "matrix.toml"
    path.write_text("made = true\n")
    return {"matrix.toml": path}


def make(project: dict[str, Path], circumstances: Circumstances) -> dict[str, Any]:
    return make_provenance(PLANNED, LOCKED, project, circumstances)


@pytest.mark.parametrize("circumstances", [Circumstances(), CI])
def test_schemas_of_in_toto_read_it_whole(project: dict[str, Path], circumstances: Circumstances) -> None:
    """Unknown fields are errors there."""
    predicate = make(project, circumstances)
    json_format.ParseDict(predicate, provenance_pb2.Provenance())
    statement = json.loads(make_statement("tiny", "sha256:" + "ab" * 32, PROVENANCE, predicate))
    json_format.ParseDict(statement, statement_pb2.Statement())
    with pytest.raises(json_format.ParseError):
        json_format.ParseDict({**predicate, "other": 1}, provenance_pb2.Provenance())


def test_materials_are_artifacts_and_the_projects_files(project: dict[str, Path]) -> None:
    materials = list_materials(make(project, CI))
    assert materials.keys() == {"wheel:jax", "wheel:jaxlib", "matrix.toml"}
    assert materials["wheel:jax"] == "a" * 64
    assert str(project["matrix.toml"].parent) not in json.dumps(make(project, CI))


def test_nothing_is_said_that_nobody_gave(project: dict[str, Path]) -> None:
    predicate = make(project, Circumstances())
    assert predicate["runDetails"]["builder"]["id"] == LOCAL_BUILDER
    assert predicate["runDetails"]["metadata"] == {}
    assert predicate == make(project, Circumstances())


def test_what_was_given_is_said(project: dict[str, Path]) -> None:
    predicate = make(project, CI)
    assert predicate["runDetails"]["metadata"] == {"invocationId": "run/7", "startedOn": "2026-01-02T03:04:05Z"}
    source = predicate["buildDefinition"]["resolvedDependencies"][0]
    assert source == {
        "name": "project", "uri": "git+https://example.org/images", "digest": {"gitCommit": "ab" * 20},
    }  # fmt: skip
