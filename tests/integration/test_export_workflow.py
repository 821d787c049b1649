"""The exported workflow's shell steps, taken from its YAML, run here in order against Debian's docker-registry."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import site
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from real_registry import run_registry
from small_project import SMALL, SmallProject
from smokable_project import make_smokable

pytestmark = [pytest.mark.registry, pytest.mark.network, pytest.mark.userns, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
USER, PASSWORD = "somebody", "right"
HTPASSWD = "somebody:$2b$05$abcdefghijklmnopqrstuu8xaCxxL82bnl.UY74PMksDxIJShppPC\n"
"""bcrypt of both, for a registry that lives as long as the test."""
ROW_TAG = "cpu-py3.11-1.0-debian12-runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A checkout, the folder for temporary files that a runner gives a job, and what GitHub keeps as secrets."""

    project: SmallProject
    temporary_path: Path
    secrets: Mapping[str, str]

    def run_job(self, job: Mapping[str, Any], top: Mapping[str, str], matrix: Mapping[str, str]) -> list[str]:
        """Names of the shell steps that ran; each must end with 0. Steps of a pull request are left out."""
        ran = []
        for step in job["steps"]:
            if "run" not in step or step.get("if") == "github.event_name == 'pull_request'" or "sudo" in step["run"]:
                continue
            words = {**top, **job.get("env", {}), **step.get("env", {})}
            environ = {name: self._fill(text, matrix) for name, text in words.items()}
            done = self._run(step["run"], environ)
            assert done.returncode == 0, f"{step['name']}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
            ran.append(step["name"])
        return ran

    def _run(self, script: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """As GitHub starts `shell: bash`, with nothing of this process's environment but what leads to archives."""
        kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "UV_")) or name == "PATH"}
        own = {
            "HOME": str(self.temporary_path), "RUNNER_TEMP": str(self.temporary_path),
            "ROCKILN_CACHE": str(self.project.cache_path), "PYTHONPATH": os.pathsep.join(site.getsitepackages()),
        }  # fmt: skip
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.project.path,
            env={**kept, **own, **environ}, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip

    def _fill(self, text: str, matrix: Mapping[str, str]) -> str:
        found = {f"secrets.{name}": value for name, value in self.secrets.items()}
        found |= {f"matrix.{name}": value for name, value in matrix.items()}
        return re.sub(r"\$\{\{ ([a-zA-Z_.-]+) \}\}", lambda match: found[match[1]], text)


@pytest.fixture(scope="module")
def machine(small_project: SmallProject, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    folder = tmp_path_factory.mktemp("runner")
    project = make_smokable(small_project, folder)
    key = ("generate-key", "--output", str(folder / "cosign"))
    with_password = SmallProject(path=project.path, cache_path=project.cache_path, environ={"COSIGN_PASSWORD": "x y"})
    assert with_password.run(*key).returncode == 0
    temporary_path = folder / "temporary files"
    temporary_path.mkdir()
    secrets = {
        "REGISTRY_USER": USER, "REGISTRY_PASSWORD": PASSWORD, "COSIGN_PASSWORD": "x y",
        "COSIGN_PRIVATE_KEY": (folder / "cosign.key").read_text("utf-8").rstrip("\n"),
    }  # fmt: skip
    return Machine(project=project, temporary_path=temporary_path, secrets=secrets)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("registry")
    (folder / "htpasswd").write_text(HTPASSWD)
    with run_registry(folder, auth={"htpasswd": {"realm": "here", "path": str(folder / "htpasswd")}}) as host:
        yield host


def list_tags(host: str) -> list[str]:
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    asked = urllib.request.Request(f"http://{host}/v2/you/jax/tags/list", headers={"Authorization": f"Basic {auth}"})
    with urllib.request.urlopen(asked, timeout=20) as answer:  # noqa: S310  # this machine's own
        return list(json.loads(answer.read())["tags"])


def export(machine: Machine, host: str, *more: str) -> Any:
    """The workflow, from the YAML that was written."""
    install = f"--no-deps {ROOT}"
    words = ("export", "github", SMALL, "--to", f"{host}/you/{{framework}}", "--install", install, *more)
    done = machine.project.run(*words, "--output", str(machine.project.path))
    assert done.returncode == 0, done.stderr
    return yaml.safe_load((machine.project.path / ".github/workflows/images.yml").read_text("utf-8"))


def test_steps_run_in_order_and_end_with_a_tag(machine: Machine, host: str) -> None:
    workflow = export(machine, host)
    build, promote = workflow["jobs"]["build"], workflow["jobs"]["promote"]
    (row,) = build["strategy"]["matrix"]["include"]
    ran = machine.run_job(build, workflow["env"], row)
    assert ran == ["Install rockiln", "Build", "Log in", "Push", "Smoke", "Clean"]
    reference = json.loads((machine.project.path / "build" / SMALL / "push.json").read_bytes())["reference"]
    assert reference.startswith(f"{host}/you/jax@sha256:")
    assert not list(machine.temporary_path.rglob("cosign.key"))
    assert machine.run_job(promote, workflow["env"], {}) == ["Install rockiln", "Log in", "Promote", "Clean"]
    tags = list_tags(host)
    assert ROW_TAG in tags
    assert any(re.fullmatch(rf"{re.escape(ROW_TAG)}-\d{{8}}", tag) for tag in tags)


def test_login_step_writes_what_docker_login_writes(machine: Machine, host: str) -> None:
    workflow = export(machine, host)
    (step,) = [step for step in workflow["jobs"]["promote"]["steps"] if step.get("name") == "Log in"]
    machine.run_job({"steps": [step]}, workflow["env"], {})
    (path,) = machine.temporary_path.rglob("config.json")
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    assert json.loads(path.read_bytes()) == {"auths": {host: {"auth": auth}}}
    assert path.stat().st_mode & 0o077 == 0


def test_failing_target_stops_its_step(machine: Machine, host: str) -> None:
    workflow = export(machine, host)
    (step,) = [step for step in workflow["jobs"]["promote"]["steps"] if step.get("name") == "Promote"]
    with pytest.raises(AssertionError, match="Promote: "):
        machine.run_job({"steps": [step], "env": {"TARGETS": f"no-such {SMALL}"}}, workflow["env"], {})


def test_fresh_machine_takes_the_row_that_another_one_left(machine: Machine, host: str) -> None:
    """The second run has nothing in its cache, and fetches no artifact."""
    (machine.project.path / "cosign.pub").write_bytes((machine.project.path.parent / "cosign.pub").read_bytes())
    workflow = export(machine, host, "--cache-repository", f"{host}/you/cache")
    build = workflow["jobs"]["build"]
    (row,) = build["strategy"]["matrix"]["include"]
    names = ["Install rockiln", "Log in", "Build", "Keep key", "Push", "Smoke", "Clean"]
    assert machine.run_job(build, workflow["env"], row) == names
    first = json.loads((machine.project.path / "build" / SMALL / "push.json").read_bytes())["reference"]
    shutil.rmtree(machine.project.path / "build")
    kept = machine.project.cache_path.rename(machine.project.cache_path.with_name("kept"))
    try:
        assert machine.run_job(build, workflow["env"], row) == names
        assert not (machine.project.cache_path / "store").exists()
    finally:
        shutil.rmtree(machine.project.cache_path, ignore_errors=True)
        kept.rename(machine.project.cache_path)
    assert json.loads((machine.project.path / "build" / SMALL / "push.json").read_bytes())["reference"] == first
