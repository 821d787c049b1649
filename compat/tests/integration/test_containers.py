"""The doctor inside real Docker containers, with device nodes that stand for a GPU: its advice is taken, and helps.

The nodes are those of /dev/null and /dev/zero under other names: no GPU is here. The container's root is empty, with
this machine's /usr and Python mounted, so that nothing is pulled.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hipcompat

IMAGE = "hipcompat-test:empty"
SOURCE = Path(hipcompat.__file__).parents[1]
SHARED = SOURCE.parents[1] / "plugins"
"""Where the link of hipcompat.installed leads, from /src as from here."""
KFD_GID, RENDER_GID = 5992, 5993
"""Groups that no image has."""
GPU = ("--device", "{kfd}:/dev/kfd", "--device", "{render}:/dev/dri/renderD128")


def _lacks_docker() -> str:
    if os.geteuid() != 0:
        return "only root may make device nodes"
    if not shutil.which("docker"):
        return "docker is not installed"
    done = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False, timeout=60)
    return "no Docker Engine answers" if done.returncode else ""


pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_lacks_docker()), reason=_lacks_docker() or "-")]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Paths of two device nodes on this machine, and an image without a file."""
    folder = tmp_path_factory.mktemp("nodes")
    made = {}
    for name, minor, gid in (("kfd", 3, KFD_GID), ("render", 5, RENDER_GID)):
        path = folder / name
        os.mknod(path, stat.S_IFCHR | 0o660, os.makedev(1, minor))
        os.chown(path, 0, gid)
        path.chmod(0o660)
        made[name] = str(path)
    empty = folder / "empty"
    empty.mkdir()
    tar = subprocess.run(["tar", "-C", empty, "-c", "."], check=True, capture_output=True).stdout
    subprocess.run(["docker", "import", "-", IMAGE], input=tar, check=True, capture_output=True, timeout=120)
    yield made
    subprocess.run(["docker", "rmi", "--force", IMAGE], check=False, capture_output=True, timeout=120)


def _diagnose(nodes: dict[str, str], *flags: str) -> tuple[list[dict[str, str]], dict[str, object]]:
    """Findings and the whole diagnosis of a container that is started with these flags."""
    python = Path(sys.executable).resolve()
    mounts = {"/usr", "/bin", "/lib", "/lib64", str(python.parents[1])} - {"/usr/bin"}
    volumes = [f"--volume={path}:{path}:ro" for path in sorted(mounts) if Path(path).exists()]
    given = [flag.format(**nodes) for flag in flags]
    done = subprocess.run(
        ["docker", "run", "--rm", "--env", "PYTHONPATH=/src", f"--volume={SOURCE}:/src:ro",
         f"--volume={SHARED}:/plugins:ro", *volumes, *given, IMAGE,
         str(python), "-B", "-m", "hipcompat", "doctor", "--json", "--fail-on", "never"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    return value["findings"], value


def _rules(findings: list[dict[str, str]]) -> set[str]:
    return {one["rule"] for one in findings}


def test_plain_container_has_no_devices_and_little_shared_memory(nodes: dict[str, str]) -> None:
    findings, value = _diagnose(nodes)
    assert value["container"] == "docker"
    assert {"no-kfd", "shm-small"} <= _rules(findings)


def test_flags_that_are_asked_for_let_the_user_in(nodes: dict[str, str]) -> None:
    findings, _ = _diagnose(nodes, *GPU, "--user", "1000:1000")
    asked = [re.search(r"docker run (--group-add \d+)$", one["message"]) for one in findings]
    groups = [match[1] for match in asked if match]
    assert groups == [f"--group-add {KFD_GID}", f"--group-add {RENDER_GID}"]
    given = [word for group in groups for word in group.split()]
    findings, _ = _diagnose(nodes, *GPU, "--user", "1000:1000", *given)
    assert not {"kfd-refused", "render-refused", "no-kfd", "no-render-node", "device-denied"} & _rules(findings)


def test_bind_mount_is_denied_by_the_device_rules(nodes: dict[str, str], tmp_path: Path) -> None:
    forbidden = tmp_path / "kfd"
    os.mknod(forbidden, stat.S_IFCHR | 0o666, os.makedev(10, 235))  # autofs, which no container may open
    forbidden.chmod(0o666)
    findings, _ = _diagnose(nodes, f"--volume={forbidden}:/dev/kfd", *GPU[2:])
    denied = next(one for one in findings if one["rule"] == "device-denied")
    assert denied["message"] == "/dev/kfd may be used by its mode, and opening it says EPERM"


def test_limits_of_the_control_group_are_seen_and_larger_ones_are_fine(nodes: dict[str, str]) -> None:
    findings, value = _diagnose(nodes, "--memory", "1g", "--pids-limit", "100")
    assert {"memory-limit", "process-limit", "shm-small"} <= _rules(findings)
    limits = value["limits"]
    assert isinstance(limits, dict)
    assert (limits["memory_bytes"], limits["processes"], limits["shm_kib"]) == (1 << 30, 100, 64 << 10)
    findings, _ = _diagnose(nodes, "--shm-size", "8G", "--pids-limit", "4096")
    assert not {"memory-limit", "process-limit", "shm-small"} & _rules(findings)
