"""AMD's rows through the whole pipeline, against tests/rocm_mirror and nothing else."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import posixpath
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from arch_inventory import list_archs
from finished_image import FinishedImage, read_finished
from mirror_server import Network, serve_folder
from packed_project import MaskingEngine
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.engines.protocol import Command, Completed, Mount
from rockiln.errors import AuditFailedError
from rockiln.lock import read_lock
from rockiln.locked import LockedTarget
from rockiln.matrix import read_matrix
from rockiln.plan import Plan, PlannedTarget, make_plan
from rockiln.recipe import read_recipes
from rockiln.sizes.annotation import read_manifest
from rockiln.sizes.of_image import measure_layout
from rockiln.sizes.stored import read_sizes
from rockiln.smoke import Failed, run_smoke
from rockiln.write_image import read_image
from rocm_mirror_folder import ROOT_PATH, Project, build_mirror, make_project, mirror_variables

pytestmark = [pytest.mark.userns, pytest.mark.slow]

NIGHTLY = bool(os.environ.get("ROCKILN_NIGHTLY"))
MAGIC_3_12 = (3531).to_bytes(2, "little") + b"\r\n"
UNCHECKED_HASH = (1).to_bytes(4, "little")
"""https://peps.python.org/pep-0552/"""


@cache
def read_plan() -> Plan:
    """The real matrix, planned."""
    return make_plan(read_matrix(ROOT_PATH / "matrix.toml"), read_recipes(ROOT_PATH / "images"), read_compatibility())


def offline_ids() -> list[str]:
    """AMD's rows but for JAX, which takes real wheels (test_jax_…); by day the last of each framework and flavour."""
    rows = [row.target for row in read_plan().targets]
    stubbed = [row for row in rows if row.rocm_origin == "amd" and row.framework != "jax"]
    by_day = {(target.framework, target.flavour): target.id for target in stubbed}
    return [target.id for target in stubbed] if NIGHTLY else list(by_day.values())


def find_planned(target_id: str) -> PlannedTarget:
    """A row of the plan."""
    return next(planned for planned in read_plan().targets if planned.id == target_id)


def find_amd_row(framework: str) -> PlannedTarget:
    """The first of AMD's rows for a framework."""
    rows = read_plan().targets
    return next(row for row in rows if (row.target.framework, row.target.rocm_origin) == (framework, "amd"))


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """The mirror over HTTP; anything else is refused and written down."""
    with serve_folder(build_mirror()) as served:
        yield served


@pytest.fixture(scope="module")
def project(network: Network, module_path: Path) -> Project:
    """One project for all rows: they share the store, the unpacked files and the layers."""
    environ = {**network.environ, **mirror_variables(network.url)}
    return make_project(module_path / "project", module_path / "cache", environ)


@pytest.fixture(scope="module", params=offline_ids())
def built(request: pytest.FixtureRequest, project: Project) -> FinishedImage:
    """Each row, locked and built."""
    target_id: str = request.param
    for verb in ("lock", "build"):
        finished = project.run(verb, target_id)
        assert finished.returncode == 0, finished.stderr
    return read_finished(read_image(project.path / "build" / target_id / "image"))


def locked_of(project: Project, built: FinishedImage) -> LockedTarget:
    return read_lock(project.path / "matrix.lock").targets[built.image.target_id]


def test_nothing_but_the_mirror_was_asked(built: FinishedImage, network: Network) -> None:
    assert built.image.layers
    assert network.refused == []


def test_opt_rocm_leads_to_the_release(built: FinishedImage) -> None:
    assert built.links["opt/rocm"] == "/etc/alternatives/rocm"
    assert built.resolve("opt/rocm") == "opt/rocm-7.0.2"
    assert built.read("/opt/rocm/.info/version").startswith(b"7.0.2")


def test_loader_cache_names_every_rocm_library(built: FinishedImage) -> None:
    loader_cache = built.files["etc/ld.so.cache"]
    libraries = {path for path in built.links if re.fullmatch(r"opt/rocm-7\.0\.2/lib/lib[^/]+\.so\.\d+", path)}
    assert len(libraries) >= 20
    known = {built.resolve(path.decode()) for path in re.findall(rb"/opt/rocm[^\0]+(?=\0)", loader_cache)}
    assert {built.resolve(path) for path in libraries} <= known


def test_dpkg_status_lists_every_deb_with_its_version(built: FinishedImage, project: Project) -> None:
    paragraphs = built.files["var/lib/dpkg/status"].decode().split("\n\n")
    said = {(read_field("Package", text), read_field("Version", text)) for text in paragraphs if text.strip()}
    debs = {(item.name, item.version) for item in locked_of(project, built).artifacts if item.kind == "deb"}
    assert {name for name, _ in debs} >= {"rocm-core", "hip-runtime-amd", "rocblas", "libc6", "apt"}
    assert debs == said


def test_venv_holds_exactly_the_pinned_wheels(built: FinishedImage) -> None:
    planned = find_planned(built.image.target_id)
    pattern = re.compile(r"site-packages/[^/]+\.dist-info/METADATA$")
    metadata = [text for path, text in built.files.items() if pattern.search(path)]
    installed = {read_field("Name", text.decode()): read_field("Version", text.decode()) for text in metadata}
    pinned = {wheel.name: next(iter(wheel.specifier)).version for wheel in planned.taken.wheels}
    assert pinned == {name: installed[name] for name in pinned}


def test_constraints_keep_the_local_versions(built: FinishedImage) -> None:
    constraints = built.files["etc/rockiln/constraints.txt"].decode()
    planned = find_planned(built.image.target_id)
    extras = planned.recipe.wheels
    for wheel in planned.taken.wheels:
        assert (f"{wheel.name}=={next(iter(wheel.specifier)).version}\n" in constraints) == (wheel not in extras)


def test_modules_are_compiled_by_the_images_python(built: FinishedImage) -> None:
    compiled = [text for path, text in built.files.items() if path.startswith("opt/venv/") and path.endswith(".pyc")]
    assert len(compiled) > 10
    assert {text[:8] for text in compiled} == {MAGIC_3_12 + UNCHECKED_HASH}


def test_no_layer_names_the_mirror_or_the_host(built: FinishedImage, network: Network, project: Project) -> None:
    address = network.url.removeprefix("http://")
    host = [address.encode(), str(build_mirror()).encode(), str(project.path.parent).encode()]
    host += [network.environ["http_proxy"].removeprefix("http://").encode()]
    found = [(path, word) for path, text in built.files.items() for word in host if word in text]
    assert found == []
    assert not [word for word in host if word in json.dumps(built.config).encode()]


def test_labels_name_the_archs_of_the_row(built: FinishedImage) -> None:
    target = find_planned(built.image.target_id).target
    labels = built.config["config"]["Labels"]
    assert labels["dev.rockiln.target"] == target.id
    assert labels["dev.rockiln.archs"].split() == list(target.archs)


def test_audit_finds_nothing_to_look_at(built: FinishedImage, project: Project) -> None:
    written = json.loads((project.path / "build" / built.image.target_id / "audit.json").read_text())
    assert written["counts"]["device_code"] > 0
    assert [one for one in written["findings"] if one["severity"] in {"error", "warning"}] == []


def test_headers_and_compiler_come_with_the_devel_flavour_only(built: FinishedImage) -> None:
    is_devel = find_planned(built.image.target_id).target.flavour == "devel"
    assert ("opt/rocm-7.0.2/include/hip/hip_runtime.h" in built.files) == is_devel
    assert ("opt/rocm-7.0.2/bin/hipcc" in built.files) == is_devel


def test_kernel_data_of_the_rows_archs_is_there(built: FinishedImage) -> None:
    folder = "opt/rocm-7.0.2/lib/rocblas/library"
    for arch in find_planned(built.image.target_id).target.archs:
        assert f"{folder}/TensileLibrary_lazy_{arch}.dat" in built.files
        code = built.files[f"{folder}/Kernels.so-000-{arch}.hsaco"]
        assert code.startswith(b"\x7fELF")


def test_every_kind_of_file_is_for_the_rows_archs_only(built: FinishedImage) -> None:
    archs = frozenset(find_planned(built.image.target_id).target.archs)
    inventory = list_archs(built.files)
    assert inventory.keys() >= {"fat binaries", "rocblas .co files", "rocblas .hsaco files", "rocblas indexes"}
    default_model = {"miopen .tn.model": {"gfx908"}}  # what MIOpen takes for GPUs that have none of their own
    served = {kind: found - default_model.get(kind, set()) for kind, found in inventory.items()}
    assert {kind: found for kind, found in served.items() if not found <= archs} == {}
    complete = {kind: found for kind, found in served.items() if "hipsparselt" not in kind}
    assert {kind: found for kind, found in complete.items() if found != archs} == {}
    assert "gfx908" in inventory["miopen .tn.model"]


def test_build_says_what_became_of_each_file_with_code(built: FinishedImage, project: Project) -> None:
    folder = project.path / "build" / built.image.target_id
    slimmed = json.loads((folder / "slimmed.json").read_text())
    rows = {row["path"]: row for row in slimmed["files"]}
    dropped = {row["path"] for row in json.loads((folder / "dropped.json").read_text()) if row["rule"] == "other-archs"}
    assert {path for path, row in rows.items() if row["outcome"] == "dropped"} <= dropped
    assert dropped.isdisjoint(built.files)
    assert [row for row in rows.values() if row["outcome"] == "refused"] == []
    cut = {path: row for path, row in rows.items() if row["outcome"] == "slimmed"}
    assert {path: len(built.files[path]) for path in cut} == {path: row["after_bytes"] for path, row in cut.items()}
    kinds = {row["rule"] for row in rows.values()}
    assert kinds >= {"fat-binary", "rocblas", "miopen"}
    said = project.run("why", built.image.target_id, f"/{next(iter(cut))}").stdout
    assert ", without gfx" in said


def test_sizes_are_those_of_the_finished_files(built: FinishedImage, project: Project) -> None:
    """From the build's values, from the layers, and from what the manifest says: the same bytes of every arch."""
    target_id = built.image.target_id
    said = read_sizes(project.path / "build" / target_id / "sizes.json")
    assert said is not None
    found = measure_layout(built.image.layout_path, Console(None)).sizes
    assert (said.unpacked_bytes, said.archs, said.kinds, said.code) == (
        found.unpacked_bytes, found.archs, found.kinds, found.code,
    )  # fmt: skip
    assert said.archs.keys() > set(find_planned(target_id).target.archs)
    manifest = (built.image.layout_path / "blobs" / built.image.digest.replace(":", "/")).read_bytes()
    published = read_manifest("", "", json.loads(manifest))
    assert (published.packages, published.archs) == (said.packages, said.archs)


def test_lists_of_installed_files_are_true(built: FinishedImage) -> None:
    for path, text in built.files.items():
        if path.startswith("var/lib/dpkg/info/") and path.endswith(".md5sums"):
            for line in text.decode().splitlines():
                digest, listed = line[:32], built.resolve(line[34:])
                assert hashlib.md5(built.files[listed]).hexdigest() == digest, listed  # noqa: S324 - dpkg's own
        elif path.endswith(".dist-info/RECORD"):
            site = path.rsplit("/", 2)[0]
            for name, digest, _ in csv.reader(text.decode().splitlines()):
                content = built.files[posixpath.normpath(f"{site}/{name}")]
                assert digest in {"", f"sha256={encode_digest(content)}"}, name


def encode_digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def test_libraries_load_and_say_that_there_is_no_gpu(built: FinishedImage, project: Project) -> None:
    script = (
        "import ctypes, glob\n"
        "for path in sorted(glob.glob('/opt/rocm/lib/lib*.so.?')): ctypes.CDLL(path)\n"
        "print(ctypes.CDLL('libamdhip64.so.7').hipInit(0), ctypes.CDLL('librocblas.so.5').rocblas_launch(0, 0, 0))\n"
    )
    completed = run_inside(built, project, "python", "-c", script)
    assert (completed.exit_code, completed.stdout) == (0, "100 100\n"), completed.stderr


def test_framework_imports_in_the_image(built: FinishedImage, project: Project) -> None:
    target = find_planned(built.image.target_id).target
    name = target.framework
    script = f"import {name}; from {name} import version; print({name}.__version__, version.hip)"
    completed = run_inside(built, project, "python", "-c", script)
    assert completed.exit_code == 0, completed.stderr
    assert completed.stdout.startswith(str(target.version))
    assert completed.stdout.endswith("7.0.51831\n")


STUBBED_CHECKS = {"compile", "compute", "packages", "saved_model", "triton", "versions"}
"""Smoke checks that need a real framework, or a real pip; the mirror's are two files each."""


def test_smoke_passes_what_needs_no_framework_and_calls_no_gpu_check_passed(
    built: FinishedImage, project: Project
) -> None:
    finished = project.run("smoke", "--engine", "embedded", "--json", built.image.target_id)
    (report,) = json.loads(finished.stdout)
    outcomes = {(check["tier"], check["name"]): check["outcome"] for check in report["checks"]}
    gpu = [outcome for (tier, _), outcome in outcomes.items() if tier != "cpu"]
    assert {outcome["status"] for outcome in gpu} == {"unavailable"}
    assert all("/dev/kfd" in outcome["reason"] for outcome in gpu)
    asked = {
        name: outcome for (tier, name), outcome in outcomes.items() if tier == "cpu" and name not in STUBBED_CHECKS
    }
    assert asked.keys() >= {
        "any_user", "entry_points", "libraries", "own_kernels", "own_packages", "python", "read_only_root", "tls",
    }  # fmt: skip
    assert {name: outcome for name, outcome in asked.items() if outcome["status"] != "passed"} == {}


def read_field(name: str, text: str) -> str:
    """A field of a dpkg paragraph or of a wheel's METADATA."""
    found = re.search(rf"^{name}: (.+)$", text, re.MULTILINE)
    assert found, text
    return found[1]


def run_inside(built: FinishedImage, project: Project, *argv: str) -> Completed:
    engine = EmbeddedEngine(trees_path=project.cache_path / "trees", console=Console(None))
    loaded = engine.load(built.image)
    return engine.run(loaded, Command(argv=argv, timeout_s=60))


def test_conjectured_tensorflow_is_said_and_never_named_wrongly(project: Project) -> None:
    planned = find_amd_row("tensorflow")
    said = project.run("plan", planned.id).stdout
    assert f"conjectured: tensorflow-rocm==={planned.taken.version}" in said
    assert f"tensorflow-{planned.taken.version}-rocm7.0.2" in planned.id


def test_wheel_that_is_only_conjectured_stops_the_lock(network: Network, tmp_path: Path) -> None:
    named_only = {"rocm-wheels": "rocm/manylinux/rocm-rel-7.0.2-as-named/"}
    environ = {**network.environ, **mirror_variables(network.url, named_only)}
    strict = make_project(tmp_path / "project", tmp_path / "cache", environ)
    planned = find_amd_row("tensorflow")
    finished = strict.run("lock", planned.id)
    assert finished.returncode != 0
    assert "tensorflow-rocm" in finished.stderr
    assert str(planned.taken.version) in finished.stderr


def test_digest_depends_on_neither_mirror_nor_folder(project: Project, tmp_path: Path) -> None:
    target_id = offline_ids()[0]
    assert project.run("lock", target_id).returncode == 0
    assert project.run("build", target_id).returncode == 0
    variables = mirror_variables(build_mirror().as_uri())
    (tmp_path / "other tmp").mkdir()
    environ = {**variables, "TMPDIR": str(tmp_path / "other tmp"), "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    other = make_project(tmp_path / "another project", tmp_path / "cache", {**environ, "PYTHONHASHSEED": "7"})
    for verb in ("lock", "build"):
        finished = other.run(verb, target_id)
        assert finished.returncode == 0, finished.stderr
    digests = {read_image(one.path / "build" / target_id / "image").digest for one in (project, other)}
    assert len(digests) == 1


def test_unreachable_hosts_stop_the_build_within_seconds_naming_the_mirror_setting(tmp_path: Path) -> None:
    target_id = offline_ids()[0]
    with serve_folder(build_mirror()) as network:
        variables = mirror_variables(network.url, {"rocm-debs": "", "rocm-wheels": ""})
        alone = make_project(tmp_path / "project", tmp_path / "cache", {**network.environ, **variables})
        start_s = time.monotonic()
        locked = alone.run("lock", target_id)
        finished = alone.run("build", target_id)
        assert time.monotonic() - start_s < 30
    assert "[mirrors] rocm-debs" in locked.stderr
    assert finished.returncode == 5
    errors = [line for line in finished.stderr.splitlines() if line.startswith("rockiln: error")]
    assert len(errors) == 1
    assert '"rocm-debs"' in errors[0]
    assert "ROCKILN_MIRROR_ROCM_DEBS" in finished.stderr


@pytest.mark.network
@pytest.mark.skipif(not NIGHTLY, reason="a minute, and downloads: ROCKILN_NIGHTLY=1 runs it")
def test_jax_row_takes_real_wheels_over_the_mirrors_rocm(network: Network, tmp_path: Path) -> None:
    variables = mirror_variables(network.url, {"wheels": ""})
    jax = make_project(tmp_path / "project", tmp_path / "cache", variables)
    planned = find_amd_row("jax")
    assert jax.run("lock", planned.id).returncode == 0
    finished = jax.run("build", planned.id)
    assert finished.returncode == AuditFailedError.exit_code, finished.stderr
    audit = json.loads((jax.path / "build" / planned.id / "audit.json").read_text())
    errors = {(one["rule"], one["path"].split("/")[6]) for one in audit["findings"] if one["severity"] == "error"}
    assert {rule for rule, _ in errors} == {"symbol-undefined", "version-missing"}, "the mirror's libraries are small"
    assert {package for _, package in errors} == {"jax_plugins", "jax_rocm7_plugin"}
    built = read_finished(read_image(jax.path / "build" / planned.id / "image"))
    archs = frozenset(planned.target.archs)
    assert {kind for kind, found in list_archs(built.files).items() if found != archs} == {"miopen .tn.model"}
    support = built.files["opt/venv/lib/python3.12/site-packages/jaxlib/plugin_support.py"]
    assert b'["jax_rocm7_plugin"] if plugin_name == "rocm"' in support
    plugin = next(path for path in built.files if path.endswith("/xla_rocm_plugin.so"))
    listed = run_inside(built, jax, "/lib64/ld-linux-x86-64.so.2", "--list", f"/{plugin}").stdout
    assert "/libamdhip64.so.7 (" in listed
    assert "not found" not in listed


def test_each_arch_of_a_row_has_its_pack_and_without_it_smoke_and_audit_are_red(
    built: FinishedImage, project: Project, tmp_path: Path
) -> None:
    planned = find_planned(built.image.target_id)
    site = f"opt/venv/lib/python{planned.target.python}/site-packages"
    engine = EmbeddedEngine(trees_path=project.cache_path / "trees", console=Console(None))
    for arch in planned.target.archs:
        manifest = json.loads(built.files[f"{site}/rockiln_kernels_{arch}/pack/manifest.json"])
        assert manifest["arch"] == arch
        assert {one["op"] for one in manifest["variants"]} >= {"rope", "silu_and_mul"}
        mask = Mount(host_path=tmp_path, image_path=f"/{site}/rockiln_kernels_{arch}")
        recipe = replace(planned.recipe, smoke_tiers=("cpu",), smoke_paths=planned.recipe.smoke_paths[:1])
        report = run_smoke(built.image, recipe, MaskingEngine(inner=engine, masks=(mask,)), (), 2, Console(None))
        failed = {one.name for one in report.checks if isinstance(one.outcome, Failed)}
        assert failed >= {"own_packages", "own_kernels"}


def test_start_asks_the_doctor_in_the_same_words(built: FinishedImage, project: Project) -> None:
    assert b"hipcompat doctor --quick" in built.read("/usr/lib/rockiln/preflight")
    completed = run_inside(built, project, "sh", "-c", "exit 3")
    assert completed.exit_code == 3
    assert "rockiln: no GPU: /dev/kfd is not in this container" in completed.stderr
