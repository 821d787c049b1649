"""The exported definition by Debian's Apptainer, in a container of sid: built from a registry, run, tested.

sid moves, and making its tree takes minutes: by night, ROCKILN_NIGHTLY=1.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from real_registry import run_registry
from rockiln.matrix import read_matrix
from rockiln.resolve.hosts import source_urls
from small_project import SMALL, SmallProject
from smokable_project import make_smokable

pytestmark = [
    pytest.mark.docker,
    pytest.mark.network,
    pytest.mark.registry,
    pytest.mark.userns,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="a tree of sid: ROCKILN_NIGHTLY=1 runs it"),
    pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="no mmdebstrap: apt-get install mmdebstrap"),
]
ROOT = Path(__file__).parents[2]
TOOL = "rockiln-tests/apptainer"
CAPABILITIES = ("--cap-add", "SYS_ADMIN", "--cap-add", "DAC_READ_SEARCH")
"""Not --privileged, which a machine without every capability refuses."""
PROFILES = [
    word for name in ("seccomp", "apparmor", "systempaths") for word in ("--security-opt", f"{name}=unconfined")
]
USER = 'echo "u:x:1000:1000::/home/u:/bin/sh" >>/etc/passwd; install -d -o 1000 /home/u; touch /etc/localtime; '
AS_USER = "setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/u "


def run(*argv: object) -> str:
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image with Apptainer."""
    matrix, tar_path = read_matrix(ROOT / "matrix.toml"), tmp_path_factory.mktemp("sid") / "sid.tar"
    url = source_urls(matrix.sources["debian-sid"], matrix, os.environ)[0]
    undated = 'Acquire::Check-Valid-Until "false"'
    run(
        "mmdebstrap",
        "--variant=apt",
        "--include=apptainer,ca-certificates",
        f"--aptopt={undated}",
        "sid",
        tar_path,
        url,
    )
    run("docker", "import", tar_path, TOOL)
    yield TOOL
    subprocess.run(["docker", "rmi", "--force", TOOL], check=False, capture_output=True)


def test_definition_builds_runs_and_tests(tool: str, small_project: SmallProject, tmp_path: Path) -> None:
    project = make_smokable(small_project, tmp_path)
    project.build()
    with run_registry(tmp_path / "registry") as host:
        assert project.run("push", SMALL, "--to", f"{host}/you/{{framework}}").returncode == 0
        done = project.run("export", "apptainer", SMALL, "--output", str(tmp_path / "exported"))
        assert done.returncode == 0, done.stderr
        folder = tmp_path / "exported/apptainer"
        docker = ["docker", "run", "--rm", "--network", "host", *PROFILES, "-v", f"{folder}:/work", "-w", "/work"]
        build = f"apptainer build --no-https --notest image.sif {shlex.quote(SMALL + '.def')}"
        run(*docker, *CAPABILITIES, tool, "sh", "-c", build)
    (folder / "image.sif").chmod(0o644)
    start = f"{USER}{AS_USER}apptainer run --userns image.sif python -c 'print(6 * 7)' && "
    said = run(*docker, tool, "sh", "-c", f"{start}{AS_USER}apptainer test --userns image.sif && echo tested")
    assert said.split() == ["42", "tested"]
