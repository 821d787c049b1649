"""This repository's own workflow is what `rockiln export` writes, by the command in its first line."""

from __future__ import annotations

import json
import shlex
from importlib import resources

import jsonschema
from export.requests import ROOT, load

from rockiln import cli

PATH = ROOT / ".github" / "workflows" / "images.yml"


def test_own_workflow_is_the_exports_own_output() -> None:
    first = PATH.read_text("utf-8").partition("\n")[0]
    program, *words = shlex.split(first.removeprefix("# Made by: "))
    assert program == "rockiln"
    assert cli.main(["--project", str(ROOT), *words, "--check", "--output", str(ROOT)]) == 0


def test_no_workflow_is_written_by_hand() -> None:
    assert [path.name for path in PATH.parent.iterdir()] == [PATH.name]


def test_own_workflow_is_what_the_schema_allows() -> None:
    (value,) = load(PATH.read_text("utf-8"))
    folder = resources.files("check_jsonschema.builtin_schemas.vendor")
    schema = json.loads(folder.joinpath("github-workflows.json").read_text("utf-8"))
    jsonschema.validators.validator_for(schema)(schema).validate(value)
