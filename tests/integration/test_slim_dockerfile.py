"""`rockiln slim` as part of one RUN line of somebody's own Dockerfile: the layer of the install really gets smaller.

The base image is a Debian made here, since none can be pulled; pip inside has no network and installs from a folder.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from fat_files import FatLibrary, bundle_for
from stored_pip import download_wheels

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.slow]

DOCKER = "/usr/bin/docker"
BASE = "rockiln-test-slim-base"
LIBRARY = "fatlib/libfat.so"
INSTALL = "/opt/venv/bin/python $(echo /wheels/pip-*.whl)/pip install -q --no-index --find-links /wheels"
HEAD = f"""\
FROM {BASE}
RUN --mount=type=bind,source=wheels,target=/wheels python3 -m venv --without-pip /opt/venv && {INSTALL} rockiln
"""
MOUNT = "RUN --mount=type=bind,source=wheels,target=/wheels"
SLIM = "/opt/venv/bin/rockiln slim /opt/venv --archs gfx942"
LINES = {
    "whole": f"{MOUNT} {INSTALL} fatlib\n",
    "one-line": f"{MOUNT} {INSTALL} fatlib && {SLIM}\n",
    "two-lines": f"{MOUNT} {INSTALL} fatlib\nRUN {SLIM}\n",
}
CHECK = """
import base64, ctypes, hashlib
from importlib.metadata import files
for path in files("fatlib"):
    if path.hash:
        digest = hashlib.new(path.hash.mode, path.read_binary()).digest()
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == path.hash.value, path
        assert path.size == len(path.read_binary()), path
library = ctypes.CDLL(str(next(path.locate() for path in files("fatlib") if path.suffix == ".so")))
print(library.answer(1))
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Name of the Dockerfile → tag of its image."""
    context = tmp_path_factory.mktemp("context")
    import_base()
    download_wheels(context / "wheels", python="3.11")
    make_fat_wheel(context / "wheels", tmp_path_factory.mktemp("library"))
    tags = {name: f"rockiln-test-slim:{name}" for name in LINES}
    environ = {**os.environ, "DOCKER_BUILDKIT": "1"}
    for name, tag in tags.items():
        (context / "Dockerfile").write_text(HEAD + LINES[name])
        command = [DOCKER, "build", "--quiet", "--network", "none", "--tag", tag, "."]
        built = subprocess.run(command, cwd=context, env=environ, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
    yield tags
    subprocess.run([DOCKER, "rmi", "--force", *tags.values(), BASE], check=True, capture_output=True)


def import_base() -> None:
    """A minimal Debian with Python."""
    command = ["mmdebstrap", "--variant=minbase", "--quiet", "--include=python3,python3-venv", "bookworm", "-"]
    tree = subprocess.run(command, check=True, capture_output=True).stdout
    subprocess.run([DOCKER, "import", "-", BASE], input=tree, check=True, capture_output=True)


def make_fat_wheel(folder: Path, work: Path) -> None:
    """A wheel with a library for six GPUs."""
    targets = ("gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1030", "gfx1100", "gfx1201")
    fat = FatLibrary(bundles=[bundle_for(targets, factor) for factor in range(2, 12)], linker="lld")
    content = {LIBRARY: fat.build(work / "libfat.so").read_bytes()}
    content["fatlib-1.dist-info/METADATA"] = b"Metadata-Version: 2.1\nName: fatlib\nVersion: 1\n"
    content["fatlib-1.dist-info/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
    rows = [f"{name},sha256={_digest(one)},{len(one)}" for name, one in content.items()]
    content["fatlib-1.dist-info/RECORD"] = "\n".join([*rows, "fatlib-1.dist-info/RECORD,,", ""]).encode()
    with zipfile.ZipFile(folder / "fatlib-1-py3-none-any.whl", "w") as wheel:
        for name, one in content.items():
            wheel.writestr(name, one)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def layer_bytes(tag: str, number: int = 0) -> int:
    """Size of a layer, counted from the top."""
    client = docker.from_env()
    try:
        size: int = client.images.get(tag).history()[number]["Size"]
    finally:
        client.close()
    return size


def run(tag: str, *command: str) -> str:
    argv = [DOCKER, "run", "--rm", "--network", "none", tag, *command]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def library_bytes(tag: str) -> int:
    return int(run(tag, "stat", "-c", "%s", f"/opt/venv/lib/python3.11/site-packages/{LIBRARY}"))


def test_layer_of_the_install_shrinks_by_what_was_cut(images: dict[str, str]) -> None:
    cut = library_bytes(images["whole"]) - library_bytes(images["one-line"])
    assert cut > library_bytes(images["whole"]) // 2
    assert 0 <= layer_bytes(images["whole"]) - cut - layer_bytes(images["one-line"]) < 65536  # RECORD, byte code


def test_line_of_its_own_only_adds_a_layer(images: dict[str, str]) -> None:
    assert layer_bytes(images["two-lines"], 1) == layer_bytes(images["whole"])
    assert layer_bytes(images["two-lines"]) > library_bytes(images["one-line"])


@pytest.mark.parametrize("name", sorted(LINES))
def test_library_loads_and_records_are_true(images: dict[str, str], name: str) -> None:
    assert run(images[name], "/opt/venv/bin/python", "-c", CHECK) == "43\n"


def test_second_run_finds_nothing_to_do(images: dict[str, str]) -> None:
    said = run(images["one-line"], *SLIM.split())
    assert "0 of " in said, said
