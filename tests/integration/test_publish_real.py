"""Two built rows into Docker's registry: pushed, smoked, promoted, pulled by Docker; the second time nothing moves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from real_registry import run_registry

pytestmark = [pytest.mark.registry, pytest.mark.docker, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
JAX, TENSORFLOW = "jax-0.6.2-cpu-py3.11-debian-12", "tensorflow-2.19.1-cpu-py3.11-debian-12"
SHAPES = (r"cpu-jax0\.6\.2-py3\.11-deb12(-rockiln[\w.]+)?-runtime", r"cpu-py3\.11-tf2\.19\.1(-rockiln[\w.]+)?-runtime")
DATE = "20261130"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A registry, and how rockiln is run against it."""

    host: str
    folder: Path

    def run(self, *words: str, code: int = 0) -> str:
        """What rockiln prints."""
        environ = {**os.environ, "ROCKILN_CACHE": str(self.folder / "cache"), "COSIGN_PASSWORD": "tests"}
        argv = [sys.executable, "-m", "rockiln", "--project", str(ROOT), *words]
        done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def publish(self, *words: str) -> list[dict[str, Any]]:
        """The JSON of `rockiln publish` of both rows."""
        output = self.run(
            "--quiet", "publish", JAX, TENSORFLOW, "--to", f"{self.host}/rk/{{framework}}", "--engine", "docker",
            "--key", str(self.folder / "cosign.key"), "--date", DATE, "--json", *words,
        )  # fmt: skip
        found: list[dict[str, Any]] = json.loads(output)
        return found


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    lacking = [target for target in (JAX, TENSORFLOW) if not (ROOT / "build" / target / "image").is_dir()]
    if lacking:
        required = "registry" in os.environ.get("ROCKILN_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"not built: {', '.join(lacking)}")
    folder = tmp_path_factory.mktemp("publish")
    with run_registry(folder / "registry") as host:
        published = Published(host=host, folder=folder)
        published.run("generate-key", "--output", str(folder / "cosign"))
        yield published


@pytest.fixture(scope="module")
def first(registry: Published) -> list[dict[str, Any]]:
    return registry.publish()


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_shared_layers_are_uploaded_once(first: list[dict[str, Any]]) -> None:
    jax, tensorflow = ({blob["digest"]: blob["way"] for blob in item["pushed"]["blobs"]} for item in first)
    shared = jax.keys() & tensorflow.keys()
    assert len(shared) >= 3
    assert set(jax.values()) == {"uploaded"}
    assert {tensorflow[digest] for digest in shared} == {"mounted"}
    assert {tensorflow[digest] for digest in tensorflow.keys() - shared} == {"uploaded"}


def test_tags_are_new_and_name_what_was_tested(first: list[dict[str, Any]]) -> None:
    for item, shape in zip(first, SHAPES, strict=True):
        promotion = item["promotion"]
        dated, row = (move["tag"] for move in promotion["tags"])
        assert re.fullmatch(shape, row)
        assert dated == f"{row}-{DATE}"
        assert all(move["before"] == "" for move in promotion["tags"])
        assert promotion["tested"] == ["cpu"]


def test_docker_pulls_by_digest_and_runs_what_was_built(registry: Published, first: list[dict[str, Any]]) -> None:
    reference = first[0]["promotion"]["reference"]
    docker("pull", reference)
    pulled = first[0]["pushed"]["reference"].partition("sha256:")[2][:12]
    try:
        built = json.loads((ROOT / "build" / JAX / "image.json").read_bytes())
        assert docker("image", "inspect", "--format", "{{.Id}}", reference) == built["config_digest"]
        said = docker("run", "--rm", reference, "python", "-c", "import jax; print(jax.numpy.arange(4).sum())")
        assert said == "6"
        by_tag = f"{registry.host}/rk/jax:{first[0]['promotion']['tags'][1]['tag']}"
        assert reference.partition("@")[2] in docker("pull", by_tag)
        docker("rmi", by_tag)
        text = registry.run("smoke", first[0]["pushed"]["reference"], "--engine", "docker")
        assert "0 failed, 0 unavailable" in text
        assert f"rockiln/pulled:{pulled}" not in docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
    finally:
        docker("rmi", "--force", reference)


def test_second_publish_moves_nothing_and_says_so(registry: Published, first: list[dict[str, Any]]) -> None:
    again = registry.publish("--date", "20270101")
    for item, before in zip(again, first, strict=True):
        assert {blob["way"] for blob in item["pushed"]["blobs"]} == {"there"}
        assert item["pushed"]["manifests"] == []
        assert item["smoked"] is None
        assert item["promotion"]["reference"] == before["promotion"]["reference"]
        assert all(move["before"] == move["after"] for move in item["promotion"]["tags"])
    text = registry.run("push", JAX, "--to", f"{registry.host}/rk/{{framework}}")
    assert "nothing to send" in text
    reference, key = first[0]["pushed"]["reference"], str(registry.folder / "cosign.pub")
    assert "no tag moves" in registry.run("promote", reference, "--key", key)


def test_result_of_another_key_counts_nothing(registry: Published, first: list[dict[str, Any]]) -> None:
    registry.run("generate-key", "--output", str(registry.folder / "other"))
    reference = first[0]["pushed"]["reference"]
    text = registry.run("promote", reference, "--key", str(registry.folder / "other.pub"), code=21)
    assert "no tag moves" in text
    assert "the signature does not fit" in text
