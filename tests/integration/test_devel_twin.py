"""`pip install .` of a CUDA extension in an image with Debian's hipcc: without hipcompat's helper it fails as told,
with it the extension is built for gfx942 and asks Debian's real HIP runtime.

The image is a twin of AMD's devel rows, built by this builder; sid and experimental move, and it takes minutes:
nightly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from devel_twin import TARGET, make_twin_project
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.write_image import read_image
from rocm_mirror_folder import ROOT_PATH

pytestmark = [
    pytest.mark.network,
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("ROCKILN_NIGHTLY"), reason="0.4 GB of debs, 6 GB of disk: ROCKILN_NIGHTLY=1 runs it"
    ),
]
EXTENSION = ROOT_PATH / "compat" / "tests" / "extension"
INSTALL = (  # pip refuses the image's constraint for isolated builds where the build is not isolated
    "unset PIP_BUILD_CONSTRAINT && cp -r /src /tmp/src && cd /tmp/src && {before}"
    " pip install --no-build-isolation --no-index --no-deps --verbose . && {after}"
)
ASK = (
    "cd / && python -c 'import normalize; print(normalize.count_devices())'"
    " && cat $(python -c 'import normalize; print(normalize.__file__)') | grep -ao 'amdgcn-amd-amdhsa--gfx[0-9a-f]*'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """The image in Docker."""

    engine: Engine
    loaded: Loaded

    def install(self, before: str, after: str = "true", **env: str) -> Completed:
        """`pip install .` of the extension, without a network, as root in a throwaway container."""
        script = INSTALL.format(before=before, after=after)
        mounts = (Mount(host_path=EXTENSION, image_path="/src"),)
        return self.engine.run(
            self.loaded, Command(argv=("bash", "-c", script), timeout_s=600, env=env, mounts=mounts)
        )


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    """Locked, built and loaded; the folder is removed at the end."""
    folder = ROOT_PATH / "build" / "devel-twin"
    shutil.rmtree(folder / "project", ignore_errors=True)
    project = make_twin_project(folder / "project", folder / "cache")
    for verb in ("lock", "build"):
        finished = project.run(verb, TARGET, timeout_s=3000)
        assert finished.returncode == 0, finished.stderr
    engine = DockerEngine(environ=os.environ)
    loaded = engine.load(read_image(project.path / "build" / TARGET / "image"))
    try:
        yield Twin(engine=engine, loaded=loaded)
    finally:
        engine.unload(loaded)
        if not os.environ.get("ROCKILN_KEEP"):
            shutil.rmtree(folder)


@pytest.fixture(scope="module")
def predicted() -> dict[str, set[str]]:
    """Rule → what it names, as scan says before anything is built; "renamed" → files that need translation."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT_PATH / "compat" / "src")}
    sources = (EXTENSION / "setup.py", EXTENSION / "csrc")
    done = subprocess.run(
        [sys.executable, "-m", "hipcompat", "scan", *map(str, sources), "--format", "json", "--fail-on", "never"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, set[str]] = {}
    for file in json.loads(done.stdout)["report"]["files"]:
        for finding in file["findings"]:
            found.setdefault(finding["rule"], set()).add(finding["detail"])
        if file["renamed"]:
            found.setdefault("renamed", set()).add(file["path"].rpartition("/")[2])
    return found


def test_without_the_helper_there_is_no_nvcc_as_predicted(twin: Twin, predicted: dict[str, set[str]]) -> None:
    assert "nvcc" in predicted["nvidia-tool"]
    assert "CUDA_HOME" in predicted["cuda-home"]
    completed = twin.install("")
    assert completed.exit_code != 0
    assert "No such file or directory: '/usr/local/cuda/bin/nvcc'" in completed.stdout + completed.stderr


def test_with_hipcc_for_nvcc_exactly_the_predicted_flags_are_refused(
    twin: Twin, predicted: dict[str, set[str]]
) -> None:
    completed = twin.install("", NVCC="hipcc")
    said = completed.stdout + completed.stderr
    assert completed.exit_code != 0
    refused = set(re.findall(r"unknown argument: '([^']+)'", said))
    assert refused == predicted["nvcc-flag"] == {"-gencode", "--use_fast_math"}


def test_without_nvccs_flags_a_header_that_scan_would_translate_is_missing(
    twin: Twin, predicted: dict[str, set[str]]
) -> None:
    completed = twin.install("", NVCC="hipcc", NVCC_FLAGS="-fPIC --offload-arch=gfx942")
    assert completed.exit_code != 0
    assert "'cub/cub.cuh' file not found" in completed.stdout + completed.stderr
    assert predicted["renamed"] == {"normalize.cu"}


def test_with_the_helper_it_is_built_for_gfx942_and_asks_the_real_runtime(twin: Twin) -> None:
    completed = twin.install("mv setup_helped.py setup.py &&", ASK, HIPCOMPAT_ARCHS="gfx942")
    assert completed.exit_code == 0, completed.stdout + completed.stderr
    lines = completed.stdout.splitlines()
    assert "(-100, 'no ROCm-capable device is detected')" in lines
    assert {line for line in lines if line.startswith("amdgcn-")} == {"amdgcn-amd-amdhsa--gfx942"}


def test_the_helper_asks_for_which_gpus(twin: Twin) -> None:
    completed = twin.install("mv setup_helped.py setup.py &&")
    said = completed.stdout + completed.stderr
    assert completed.exit_code != 0
    assert 'error: for which GPUs? nothing says it (HIPCOMPAT_ARCHS="gfx942;gfx1100")' in said
