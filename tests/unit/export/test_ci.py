"""The workflow and the pipeline: as their schemas want it, as shells read it, and what they refuse."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from export.requests import ALL_RUNNERS, TO, export, load

from rockiln.errors import UsageError

CPU, AMD = ("jax-*-cpu-*", "tensorflow-*-cpu-*"), ("torch-2.8*gfx942+gfx950", "torch-2.7*gfx942+gfx950")
CASES = {
    "cpu": (*CPU, "--to", TO, "--shards", "2"),
    "unsigned": (*CPU, "--to", TO, "--unsigned", "--package", "g++", "--build-args", "--relock-gone --jobs 2"),
    "gpu": (*AMD, "--to", TO, *ALL_RUNNERS, "--build-runner", "big,linux"),
    "own-host": (*CPU, "--to", "ghcr.io/${{ github.repository }}/{framework}", "--branch", "release"),
}
GITHUB_NAME, GITLAB_NAME = "${{ github.repository }}", "$CI_PROJECT_PATH"
SCHEMAS = {"github": "github-workflows.json", "gitlab": "gitlab-ci.json"}


@cache
def read_schema(name: str) -> Any:
    return json.loads(resources.files("check_jsonschema.builtin_schemas.vendor").joinpath(name).read_text("utf-8"))


def export_case(form: str, case: str) -> Any:
    """The file's text, with the system's own variable in its names."""
    words = (word if form == "github" else word.replace(GITHUB_NAME, GITLAB_NAME) for word in CASES[case])
    (document,) = export(form, *words)
    return load(document.text)[0]


def list_scripts(form: str, value: Any) -> list[str]:
    if form == "github":
        return [step["run"] for job in value["jobs"].values() for step in job["steps"] if "run" in step]
    jobs = [item for item in value.values() if isinstance(item, dict) and "script" in item]
    return [*value["default"]["after_script"], *(script for job in jobs for script in job["script"])]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", SCHEMAS)
def test_file_is_what_its_schema_allows(form: str, case: str) -> None:
    value = export_case(form, case)
    schema = read_schema(SCHEMAS[form])
    jsonschema.validators.validator_for(schema)(schema).validate(value)


def test_schema_notices_a_misspelt_key() -> None:
    (value,) = load(export("github", *CASES["cpu"])[0].text)
    value["jobs"]["build"]["run-on"] = value["jobs"]["build"].pop("runs-on")  # type: ignore[index]
    schema = read_schema(SCHEMAS["github"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validators.validator_for(schema)(schema).validate(value)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck is here: apt-get install shellcheck")
@pytest.mark.parametrize("form", SCHEMAS)
def test_shellcheck_finds_nothing_in_any_step(form: str, tmp_path: Path) -> None:
    texts = {
        script for case in CASES for script in list_scripts(form, export_case(form, case))
    }
    assert len(texts) > 5
    paths = [tmp_path / f"{number}.sh" for number in range(len(texts))]
    for path, text in zip(paths, sorted(texts), strict=True):
        path.write_text(text)
    done = subprocess.run(["shellcheck", "--shell=sh", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("form", SCHEMAS)
def test_same_command_writes_same_bytes(form: str) -> None:
    assert export(form, *CASES["gpu"]) == export(form, *CASES["gpu"])
    assert export(form, *CASES["gpu"])[0].text.startswith(f"# Made by: rockiln export {form} ")


def test_every_gpu_tier_is_smoked_on_its_runner() -> None:
    (value,) = load(export("github", *CASES["gpu"])[0].text)
    rows = value["jobs"]["smoke"]["strategy"]["matrix"]["include"]  # type: ignore[index]
    assert len(rows) == 2 * 2 * 2
    assert {(row["arch"], row["tier"], *row["runner"]) for row in rows} == {
        ("gfx942", "gpu", "self-hosted", "mi300"), ("gfx942", "multi-gpu", "self-hosted", "mi300x8"),
        ("gfx950", "gpu", "mi350"), ("gfx950", "multi-gpu", "mi350x8"),
    }  # fmt: skip
    assert value["jobs"]["promote"]["needs"] == ["build", "smoke"]  # type: ignore[index]


def test_proposals_see_no_secret() -> None:
    (value,) = load(export("github", *CASES["cpu"])[0].text)
    for name, job in value["jobs"].items():  # type: ignore[attr-defined]
        guarded = job.get("if", "") == "github.event_name != 'pull_request'"
        for step in job["steps"]:
            if "secrets." in json.dumps(step):
                assert guarded or step["if"] == "github.event_name != 'pull_request'", (name, step["name"])


def test_key_is_removed_whatever_happened() -> None:
    (github,), (gitlab,) = (load(export(form, *CASES["cpu"])[0].text) for form in SCHEMAS)
    for job in github["jobs"].values():  # type: ignore[attr-defined]
        assert job["steps"][-1]["if"] == "always()"
        assert 'rm -rf "$tools"' in job["steps"][-1]["run"]
    assert 'rm -rf "$tools"' in gitlab["default"]["after_script"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (CPU, "nothing says where to publish"),
        ((*AMD, "--to", TO), "no runner for gfx942/gpu, gfx942/multi-gpu, gfx950/gpu, gfx950/multi-gpu"),
        ((*CPU, "--to", TO, "--runner", "gfx942=a"), "--runner gfx942/gpu: no target is made for it"),
        ((*CPU, "--to", TO, "--runner", "gfx9422=a"), "--runner: 'gfx9422' is no GPU"),
        ((*CPU, "--to", TO, "--runner", "gfx942"), "is not ARCH=LABEL"),
        ((*CPU, "--to", TO, "--runner", "gfx942/cpu=a"), "no tier 'cpu'"),
        ((*AMD, "--to", TO, "--runner", "gfx942=a", "--runner", "gfx942=b"), "gfx942/gpu is named twice"),
    ],
)
def test_what_cannot_work_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export("github", *words)
    assert said.replace("'", "") in caught.value.message.replace("'", "").replace('"', "")
    assert caught.value.hint
