"""The bake file, by Debian's docker-buildx on this machine's Docker: the same files, the same smoke.

buildx comes from trixie as a CLI plugin; the builder image is the built JAX row with this checkout, made beforehand.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from real_debs import fetch_alone, unpack_deb
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Completed, Loaded
from rockiln.image import Image
from rockiln.matrix import read_matrix
from rockiln.plan import make_plan
from rockiln.recipe import read_recipes
from rockiln.smoke import find_checks, run_smoke
from rockiln.write_image import read_image
from small_project import SMALL, SmallProject
from smokable_project import make_smokable

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.userns, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
JAX = "jax-0.6.2-cpu-py3.11-debian-12"
BUILDER, BAKED = "rockiln-tests/builder", "rockiln-tests/jax"
STARTER = '#!/bin/sh\nPYTHONPATH=/opt/rockiln exec /usr/bin/python3.11 -m rockiln "$@"\n'
PLATFORMS = [word for minor in (34, 28, 17) for word in ("--platform", f"manylinux_2_{minor}_x86_64")]


def run(*words: str, folder: Path, environ: dict[str, str]) -> str:
    done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A Docker configuration of its own, with buildx."""
    folder = tmp_path_factory.mktemp("docker")
    tree = unpack_deb(fetch_alone("docker-buildx", "trixie", folder / "cache"), folder / "tree")
    plugins = folder / "config" / "cli-plugins"
    plugins.mkdir(parents=True)
    shutil.copy(tree / "usr/libexec/docker/cli-plugins/docker-buildx", plugins)
    return {**os.environ, "DOCKER_CONFIG": str(folder / "config")}


@pytest.fixture(scope="module")
def builder(environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image with rockiln and all that it imports."""
    layout_path = ROOT / "build" / JAX / "image"
    if not layout_path.is_dir():
        required = "docker" in os.environ.get("ROCKILN_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"not built: {JAX}")
    folder = tmp_path_factory.mktemp("builder")
    base = DockerEngine(environ=os.environ).load(read_image(layout_path)).image.reference
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    python = [sys.executable, "-m", "pip", "install", "--quiet", "--target", "site", "--python-version", "3.11"]
    run(*python, *PLATFORMS, "--only-binary=:all:", *wanted, folder=folder, environ=environ)
    shutil.copytree(ROOT / "src" / "rockiln", folder / "site" / "rockiln")
    (folder / "rockiln").write_text(STARTER)
    (folder / "rockiln").chmod(0o755)
    (folder / "Dockerfile").write_text(f"FROM {base}\nCOPY site /opt/rockiln\nCOPY rockiln /usr/local/bin/rockiln\n")
    run("docker", "buildx", "build", "--quiet", "--tag", BUILDER, ".", folder=folder, environ=environ)
    yield BUILDER
    subprocess.run(["docker", "rmi", "--force", BUILDER], check=False, capture_output=True)


@pytest.fixture(scope="module")
def project(
    small_project: SmallProject, environ: dict[str, str], builder: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SmallProject]:
    """Exported, baked from a bundle with no network of rockiln's own, and built here too."""
    project = make_smokable(small_project, tmp_path_factory.mktemp("baked"))
    export = ("export", "bake", SMALL, "--bundle", "parts", "--builder-image", builder, "--to", BAKED)
    for words in (("bundle", SMALL, "--output", str(project.path / "parts")), (*export, "--output", str(project.path))):
        done = project.run(*words)
        assert done.returncode == 0, done.stderr
    run("docker", "buildx", "bake", folder=project.path, environ=environ)
    project.build()
    yield project
    subprocess.run(["docker", "rmi", "--force", f"{BAKED}:{SMALL}"], check=False, capture_output=True)


def list_files(name: str, folder: Path) -> dict[str, tuple[object, ...]]:
    """All that `docker export` has of an image, but for times."""
    container = run("docker", "create", name, folder=folder, environ=dict(os.environ)).strip()
    try:
        with (folder / "export.tar").open("wb") as file:
            subprocess.run(["docker", "export", container], check=True, stdout=file)
    finally:
        subprocess.run(["docker", "rm", container], check=True, capture_output=True)
    with tarfile.open(folder / "export.tar") as archive:
        return {member.name: _describe(member, archive) for member in archive}


def _describe(member: tarfile.TarInfo, archive: tarfile.TarFile) -> tuple[object, ...]:
    file = archive.extractfile(member) if member.isreg() else None
    content = hashlib.sha256(file.read()).hexdigest() if file else ""
    kind = tarfile.REGTYPE if member.islnk() else member.type
    return kind, member.mode, member.uid, member.gid, content if not member.islnk() else "", member.linkname


@dataclass(frozen=True, slots=True, kw_only=True)
class BakedEngine:
    """Docker, with another image in the place of the layout's."""

    handle: str
    docker: DockerEngine
    name: str = "docker"

    def obstacle(self) -> str:
        return self.docker.obstacle()

    def load(self, image: Image) -> Loaded:
        return Loaded(image=image, handle=self.handle)

    def run(self, loaded: Loaded, command: Command) -> Completed:
        return self.docker.run(loaded, command)

    def unload(self, loaded: Loaded) -> None:
        """Nothing was loaded."""


def test_baked_image_has_the_files_that_rockiln_build_makes(project: SmallProject, tmp_path: Path) -> None:
    built = DockerEngine(environ=os.environ).load(read_image(project.path / "build" / SMALL / "image"))
    one, other = list_files(built.handle, tmp_path), list_files(f"{BAKED}:{SMALL}", tmp_path)
    assert len(one) > 500
    assert one.keys() == other.keys()
    assert {path: (one[path], other[path]) for path in one if one[path] != other[path]} == {}


def test_baked_image_starts_as_the_built_one(project: SmallProject, tmp_path: Path) -> None:
    built = DockerEngine(environ=os.environ).load(read_image(project.path / "build" / SMALL / "image"))
    settings = []
    for name in (built.handle, f"{BAKED}:{SMALL}"):
        text = run("docker", "image", "inspect", name, folder=tmp_path, environ=dict(os.environ))
        found = json.loads(text)[0]["Config"]
        env = sorted(line for line in found["Env"] if not line.startswith("PATH="))
        settings.append((env, found["Cmd"], found["Entrypoint"], found["Labels"], found["User"], found["WorkingDir"]))
    assert settings[0] == settings[1]


def test_baked_image_passes_the_same_smoke(project: SmallProject, tmp_path: Path) -> None:
    recipes = read_recipes(project.path / "images")
    plan = make_plan(read_matrix(project.path / "matrix.toml"), recipes, read_compatibility())
    recipe = next(planned.recipe for planned in plan.targets if planned.id == SMALL)
    name = f"{BAKED}:{SMALL}"
    inspect = ("docker", "image", "inspect", "--format", "{{.Id}}", name)
    handle = run(*inspect, folder=tmp_path, environ=dict(os.environ)).strip()
    engine = BakedEngine(handle=handle, docker=DockerEngine(environ=os.environ))
    image = read_image(project.path / "build" / SMALL / "image")
    report = run_smoke(image, recipe, engine, (), 1, Console(None))
    assert [(result.name, result.outcome.status) for result in report.checks] == [("python", "passed")]
    assert len(find_checks(recipe)) == 1
