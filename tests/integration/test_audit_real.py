"""The audit over things that nobody made for it: this machine, published wheels, the small project's image."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from audit_trees import SITE, AuditTree, find_rule, make_tree, name_faults
from rockiln.audit.audit import audit_scan
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.installed.loader import Loader
from rockiln.audit.sarif import make_sarif
from rockiln.audit.scan import Scan
from rockiln.audit.scan_folder import scan_folder
from rockiln.audit.scan_image import scan_archive, scan_layout
from rockiln.audit.subjects import scan_docker
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.write_image import read_image
from small_project import SMALL, SmallProject

pytestmark = pytest.mark.slow

SYSTEM = "usr/lib/x86_64-linux-gnu"
PROGRAMS = 150
NOTHING = Console(None)


@pytest.fixture(scope="module")
def machine(module_path: Path) -> Path:
    """What this machine's programs are made of, linked into a tree of its own."""
    root = module_path / "root"
    for folder in ("usr/bin", "etc", SYSTEM):
        (root / folder).mkdir(parents=True)
    system = Path(f"/{SYSTEM}")
    for path in (*system.glob("*.so*"), *system.glob("*/*.so*")):
        place = root / SYSTEM / path.relative_to(system)
        place.parent.mkdir(exist_ok=True)
        if path.is_symlink():
            place.symlink_to(path.readlink())
        else:
            link_or_copy(str(path), str(place))
    for name in ("bin", "lib", "lib64", "sbin"):
        source = Path(f"/{name}")
        (root / name).symlink_to(source.readlink() if source.is_symlink() else f"usr/{name}")
    shutil.copytree("/lib64/", root / "usr/lib64", symlinks=True, dirs_exist_ok=True)
    shutil.copy("/etc/ld.so.cache", root / "etc/ld.so.cache")
    for path in sorted(Path("/usr/bin").iterdir())[: 4 * PROGRAMS]:
        if path.is_file() and not path.is_symlink():
            link_or_copy(str(path), str(root / "usr/bin" / path.name))
    return root


def link_or_copy(source: str, destination: str) -> object:
    """Nothing here changes a file, so a link will do."""
    try:
        return os.link(source, destination)
    except OSError:
        return shutil.copy2(source, destination)


@pytest.fixture(scope="module")
def scanned(machine: Path) -> Scan:
    return scan_folder(machine, Wanted(), 2, NOTHING)


def list_with_glibc(program: str) -> Mapping[str, str]:
    """Soname → real path, as this machine's own loader says."""
    command = ["/lib64/ld-linux-x86-64.so.2", "--list", program]
    listing = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^\t(\S+) => (/\S+) \(0x", listing, re.MULTILINE)
    return {soname: str(Path(path).resolve()) for soname, path in found}


def test_loader_finds_what_glibc_finds(scanned: Scan) -> None:
    loader = Loader(scanned.tree)
    programs = [path for path in sorted(scanned.tree.elves) if path.startswith("usr/bin/")][:PROGRAMS]
    assert len(programs) > 50
    for path in programs:
        expected = list_with_glibc(f"/{path}")
        if not all(place.startswith(f"/{SYSTEM}") for place in expected.values()):
            continue
        found = {soname: f"/{place}" for (_, soname), place in loader.start(path).found.items()}
        assert {soname: found.get(soname) for soname in expected} == expected, path


def test_machine_that_works_has_no_errors(scanned: Scan) -> None:
    """Of the system's libraries: what lies in folders of its own are plug-ins of programs that are not in the tree."""
    found = audit_scan(scanned).at_least("error")
    assert [one for one in found if one.path.rpartition("/")[0] == f"/{SYSTEM}"] == []


def test_small_image_is_clean_however_it_is_looked_at(undisturbed: SmallProject, tmp_path: Path) -> None:
    layout = undisturbed.path / "build" / SMALL / "image"
    of_layout = audit_scan(scan_layout(layout, "small", Wanted(), 2, NOTHING))
    assert name_faults(of_layout) == []
    written = json.loads((undisturbed.path / "build" / SMALL / "audit.json").read_text())
    assert written["counts"] == of_layout.counts
    archive = tmp_path / "image.tar"
    subprocess.run(["tar", "--create", "--file", str(archive), "--directory", str(layout), "."], check=True)
    with archive.open("rb") as file:
        assert audit_scan(scan_archive(file, "small", Wanted(), NOTHING)) == of_layout


@pytest.mark.userns
def test_extracted_image_has_the_findings_of_its_layout(undisturbed: SmallProject, tmp_path: Path) -> None:
    layout = undisturbed.path / "build" / SMALL / "image"
    loaded = EmbeddedEngine(trees_path=tmp_path / "trees").load(read_image(layout))
    of_tree = audit_scan(scan_folder(Path(loaded.handle) / "root", Wanted(), 2, NOTHING))
    of_layout = audit_scan(scan_layout(layout, "small", Wanted(), 2, NOTHING))
    assert (of_tree.findings, of_tree.counts) == (of_layout.findings, of_layout.counts)


@pytest.mark.docker
def test_image_in_docker_has_the_findings_of_its_layout(undisturbed: SmallProject) -> None:
    layout = undisturbed.path / "build" / SMALL / "image"
    image, engine = read_image(layout), DockerEngine()
    loaded = engine.load(image)
    try:
        of_docker = audit_scan(scan_docker(image.reference, engine, Wanted(), NOTHING))
    finally:
        engine.unload(loaded)
    of_layout = audit_scan(scan_layout(layout, "small", Wanted(), 2, NOTHING))
    assert (of_docker.findings, of_docker.counts) == (of_layout.findings, of_layout.counts)


@pytest.mark.network
@pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="a minute of apt: ROCKILN_NIGHTLY=1 runs it")
@pytest.mark.skipif(not shutil.which("mmdebstrap") or os.geteuid() != 0, reason="mmdebstrap is not here, or no root")
def test_tree_of_mmdebstrap_is_clean(tmp_path: Path) -> None:
    tar = tmp_path / "tree.tar"
    include = "--include=python3,python3-venv,perl,git,gdb,openssh-client"
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", include, "bookworm", str(tar)], check=True)
    (tmp_path / "root").mkdir()
    subprocess.run(["tar", "xf", str(tar), "--exclude=./dev", "--directory", str(tmp_path / "root")], check=True)
    report = audit_scan(scan_folder(tmp_path / "root", Wanted(), 2, NOTHING))
    assert report.findings == ()
    assert report.counts["elf"] > 500


def download(folder: Path, requirement: str) -> Path:
    """A published wheel."""
    platforms = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
    chosen = [word for platform in platforms for word in ("--platform", platform)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *chosen]
    command += ["--python-version", "3.12", "--dest", str(folder), requirement]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.network
def test_hip_python_interop_collides_with_cuda_bindings(tmp_path: Path) -> None:
    tree: AuditTree = make_tree(tmp_path / "root")
    for number, requirement in enumerate(("hip-python-interop==7.0.2.555.40", "cuda-bindings==12.9.0")):
        wheel = download(tmp_path / str(number), requirement)
        shutil.unpack_archive(wheel, tree.path / SITE, "zip")
    finding = find_rule(tree.audit(), "record-collision")
    assert re.match(r"cuda-bindings 12\.9\.0 and hip-python-interop 7\.0\.2\S* both claim \d+ files", finding.evidence)
    assert "/cuda/" in finding.evidence


@pytest.mark.network
def test_sarif_conforms_to_the_schema(tmp_path: Path) -> None:
    """The schema of SARIF's authors, as one of their packages carries it."""
    jsonschema = pytest.importorskip("jsonschema")
    if shutil.which("npm") is None:
        pytest.skip("npm is not here, which fetches the schema")
    subprocess.run(["npm", "pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0"], cwd=tmp_path, check=True)
    (archive,) = tmp_path.glob("*.tgz")
    shutil.unpack_archive(archive, tmp_path / "package")
    (schema_path,) = (tmp_path / "package").rglob("sarif-2.1.0*.json")
    tree = make_tree(tmp_path / "root")
    tree.promise("gfx942", expected=[{"finding": "path-file-leads-out", "paths": ["**"], "why": "known"}])
    tree.write(f"{SITE}/extra.pth", "/gone\n")
    tree.install("amdsmi", "7.0.2", {"amdsmi/__init__.py": ""})
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert list(validator.iter_errors(make_sarif([tree.audit()]))) == []
