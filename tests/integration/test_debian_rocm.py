"""Debian's ROCm JAX row for real: 2.2 GB of debs, Docker, the real PJRT plugin over Debian's real HIP runtime.

sid and experimental move, so the row is locked anew here each time; where their Release files or debs do not answer,
the test fails with the words of the pipeline. It takes minutes and 20 GB of disk: nightly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from own_sources import copy_project
from packed_project import MaskingEngine, keep_checks
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.lock import read_lock
from rockiln.matrix import Target, read_matrix
from rockiln.plan import PlannedTarget, make_plan
from rockiln.recipe import read_recipes
from rockiln.smoke import Failed, run_smoke
from rockiln.store import Store
from rockiln.write_image import read_image
from rocm_mirror_folder import ROOT_PATH, Project
from stub_libraries import build_stubs

pytestmark = [
    pytest.mark.network,
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("ROCKILN_NIGHTLY"), reason="2.2 GB of debs, 20 GB of disk: ROCKILN_NIGHTLY=1 runs it"
    ),
]

PLUGIN_MEMBER = "jax_plugins/xla_rocm7/xla_rocm_plugin.so"
DISCOVER = """
from importlib.metadata import entry_points
import jax
from jaxlib import plugin_support
print([point.name for point in entry_points(group="jax_plugins")])
print(plugin_support.import_from_plugin("rocm", "_linalg").__name__)
print(jax.numpy.arange(4).sum(), jax.default_backend())
"""
ASK_FOR_GPU = """
import jax
try:
    print(jax.devices("rocm"))
except RuntimeError as error:
    print(error)
print(sorted({line.split("/")[-1].strip() for line in open("/proc/self/maps") if "libamdhip64" in line}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRow:
    """The row, built and loaded."""

    planned: PlannedTarget
    project: Project
    engine: Engine
    loaded: Loaded
    plugin_path: Path
    """The PJRT plugin, out of its wheel."""

    @property
    def target(self) -> Target:
        """What was planned."""
        return self.planned.target

    @property
    def site(self) -> str:
        """Where the image's wheels are."""
        return f"/opt/venv/lib/python{self.target.python}/site-packages"

    def run_python(self, script: str, *mounts: Mount, platforms: str = "") -> Completed:
        """Run a script by the image's Python, entrypoint included."""
        env = {"JAX_PLATFORMS": platforms} if platforms else {}
        return self.engine.run(
            self.loaded, Command(argv=("python", "-c", script), timeout_s=60, env=env, mounts=mounts)
        )


def find_row() -> PlannedTarget:
    """Debian's ROCm row of the matrix."""
    matrix = read_matrix(ROOT_PATH / "matrix.toml")
    plan = make_plan(matrix, read_recipes(ROOT_PATH / "images"), read_compatibility())
    return next(planned for planned in plan.targets if planned.target.rocm_origin == "debian")


@pytest.fixture(scope="module")
def row() -> Iterator[BuiltRow]:
    """Locked, fetched, built and loaded into Docker; the folder is removed at the end, for it is large."""
    planned = find_row()
    target = planned.target
    folder = ROOT_PATH / "build" / "debian-rocm"
    project = Project(path=folder / "project", cache_path=folder / "cache")
    shutil.rmtree(project.path, ignore_errors=True)
    copy_project(project.path)
    for verb in ("lock", "build"):
        finished = project.run(verb, target.id, timeout_s=3000)
        assert finished.returncode == 0, finished.stderr
    engine = DockerEngine(environ=os.environ)
    loaded = engine.load(read_image(project.path / "build" / target.id / "image"))
    try:
        plugin_path = extract_plugin(project, target)
        yield BuiltRow(planned=planned, project=project, engine=engine, loaded=loaded, plugin_path=plugin_path)
    finally:
        engine.unload(loaded)
        if not os.environ.get("ROCKILN_KEEP"):
            shutil.rmtree(folder)


def extract_plugin(project: Project, target: Target) -> Path:
    locked = read_lock(project.path / "matrix.lock").targets[target.id]
    wheel = next(artifact for artifact in locked.artifacts if artifact.name == "jax-rocm7-pjrt")
    with zipfile.ZipFile(Store(project.cache_path / "store").path_of(wheel)) as archive:
        return Path(archive.extract(PLUGIN_MEMBER, project.path))


def absent_sonames(target: Target) -> tuple[str, ...]:
    """What the row says that it does not hold."""
    return tuple(line.partition(":")[0] for line in target.absent)


def test_plugin_discovery_finds_jax_rocm7_plugin(row: BuiltRow) -> None:
    completed = row.run_python(DISCOVER)
    assert completed.exit_code == 0, completed.stderr
    lines = completed.stdout.splitlines()
    assert "'xla_rocm7'" in lines[0]
    assert lines[1:] == ["jax_rocm7_plugin._linalg", "6 cpu"]


def test_cpu_tier_passes_in_docker_and_no_gpu_check_is_called_passed(row: BuiltRow) -> None:
    finished = row.project.run("smoke", "--engine", "docker", "--json", row.target.id)
    (report,) = json.loads(finished.stdout)
    outcomes = {(check["tier"], check["name"]): check["outcome"] for check in report["checks"]}
    assert {
        name: outcome for (tier, name), outcome in outcomes.items() if (tier, outcome["status"]) == ("cpu", "failed")
    } == {}
    assert {outcome["status"] for (tier, _), outcome in outcomes.items() if tier != "cpu"} == {"unavailable"}
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("part", "check", "words"),
    [
        ("rockiln_kernels_gfx942", "own_packages", "rockiln-kernels-gfx942: rockiln_kernels_gfx942/"),
        ("rockiln_kernels_gfx1100", "own_kernels", "there is no rockiln_kernels_gfx1100 to import"),
        ("rockiln_kernels/specs", "rockiln_ops", "the op table and the golden files differ by"),
        ("rockiln_jax", "own_packages", "rockiln_jax"),
        ("hipcompat", "own_packages", "hipcompat"),
    ],
    ids=["pack", "other-pack", "ops", "plugin", "hipcompat"],
)
def test_without_a_part_smoke_is_red(row: BuiltRow, tmp_path: Path, part: str, check: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    masked = MaskingEngine(
        inner=row.engine, masks=(Mount(host_path=tmp_path / "empty", image_path=f"{row.site}/{part}"),)
    )
    recipe = keep_checks(row.planned.recipe, [check], tmp_path / "checks")
    report = run_smoke(row.loaded.image, recipe, masked, (), 2, Console(None))
    logs = {one.name: one.outcome.log for one in report.checks if isinstance(one.outcome, Failed)}
    assert words in logs[check]


def test_exactly_the_declared_libraries_are_missing(row: BuiltRow) -> None:
    command = Command(argv=("ldd", f"{row.site}/{PLUGIN_MEMBER}"), timeout_s=60, use_entrypoint=False)
    listed = row.engine.run(row.loaded, command).stdout
    assert set(re.findall(r"(\S+) => not found", listed)) == set(absent_sonames(row.target))


def test_missing_library_is_named_and_nothing_hangs(row: BuiltRow) -> None:
    completed = row.run_python(ASK_FOR_GPU)
    assert completed.exit_code == 0
    assert "librocprofiler-sdk" in completed.stderr
    assert completed.duration_s < 30


def test_with_stubs_the_real_plugin_asks_debians_hip_and_finds_no_device(row: BuiltRow, tmp_path: Path) -> None:
    functions = build_stubs(row.plugin_path, "rocprofiler_", absent_sonames(row.target), tmp_path)
    assert "rocprofiler_create_context" in functions
    folder = f"{row.site}/rocm/lib"  # $ORIGIN/../../rocm/lib of the plugin
    mount = Mount(host_path=tmp_path, image_path=folder)
    completed = row.run_python(ASK_FOR_GPU, mount, platforms="rocm")
    assert completed.exit_code == 0, completed.stderr
    assert "No visible GPU devices" in completed.stdout
    assert "libamdhip64.so.7" in completed.stdout
    assert "hipInit: HIP_ERROR_NoDevice" in completed.stderr
    assert completed.duration_s < 30
