"""One of AMD's rows from the mirror: audited clean, and each fault that a further layer plants is found. All rows are
audited by their builds: test_amd_rows.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit_trees import name_faults
from layered_image import add_layer
from mirror_server import serve_folder
from rockiln.audit.audit import audit_scan
from rockiln.audit.finding import AuditReport
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan_image import scan_layout
from rockiln.console import Console
from rocm_mirror_folder import Project, build_mirror, make_project, mirror_variables
from tiny_image import TarItem

pytestmark = [pytest.mark.userns, pytest.mark.slow]

ROW = "torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950"
SITE = "opt/venv/lib/python3.12/site-packages"
ROCBLAS = "opt/rocm-7.0.2/lib/rocblas/library"
WANTED = Wanted(needles=("mirror.example.com",))


@pytest.fixture(scope="module")
def project(module_path: Path) -> Iterator[Project]:
    """The row, built."""
    with serve_folder(build_mirror()) as network:
        environ = {**network.environ, **mirror_variables(network.url)}
        made = make_project(module_path / "project", module_path / "cache", environ)
        for verb in ("lock", "build"):
            finished = made.run(verb, ROW)
            assert finished.returncode == 0, finished.stderr
        yield made


def audit_layout(path: Path) -> AuditReport:
    return audit_scan(scan_layout(path, "row", WANTED, 2, Console(None)))


def test_row_is_clean_and_the_build_says_what_its_image_says(project: Project) -> None:
    report = audit_layout(project.path / "build" / ROW / "image")
    assert name_faults(report) == []
    assert report.counts["device_code"] > 20
    assert report.archs == ("gfx942", "gfx950")
    written = json.loads((project.path / "build" / ROW / "audit.json").read_text())
    assert written["counts"] == report.counts
    assert [(one["rule"], one["path"]) for one in written["findings"]] == [
        (one.rule, one.path) for one in report.findings
    ]


TORCH_CUDA = b"__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"
EDITABLE = b'{"url": "file:///src/aiter", "dir_info": {"editable": true}}'
METADATA = b"Metadata-Version: 2.1\nName: aiter\nVersion: 0.1\n"
PLANTED: dict[str, tuple[list[TarItem], dict[str, str]]] = {
    "torch-not-hip": ([(f"{SITE}/torch/version.py", 0o644, TORCH_CUDA)], {}),
    "cuda-package": (
        [(f"{SITE}/nvidia_nccl_cu12-2.dist-info/METADATA", 0o644, b"Name: nvidia-nccl-cu12\nVersion: 2\n")],
        {},
    ),
    "editable-install": (
        [
            (f"{SITE}/aiter-0.1.dist-info/METADATA", 0o644, METADATA),
            (f"{SITE}/aiter-0.1.dist-info/direct_url.json", 0o644, EDITABLE),
        ],
        {},
    ),
    "needed-unreachable": ([("opt/rocm-7.0.2/lib/.wh.libamdhip64.so.7", 0o644, b"")], {}),
    "data-missing": ([(f"{ROCBLAS}/.wh.TensileLibrary_lazy_gfx950.dat", 0o644, b"")], {}),
    "library-path-set": ([("work/", 0o755, "")], {"LD_LIBRARY_PATH": "/opt/rocm/lib"}),
    "mirror-named": ([("etc/pip.conf", 0o644, b"[global]\nindex-url = https://mirror.example.com/simple\n")], {}),
    "amdsmi-without-library": (
        [(f"{SITE}/amdsmi/", 0o755, ""), ("opt/rocm-7.0.2/lib/.wh.libamd_smi.so", 0o644, b"")],
        {},
    ),
    "pack-empty": (
        [(f"{SITE}/pack/manifest.json", 0o644, b'{"schema": 1, "arch": "gfx942", "triton": "3.4.0", "kernels": {}}')],
        {},
    ),
    "linker-missing": ([("opt/rocm-7.0.2/.wh.llvm", 0o644, b""), (f"{SITE}/triton/backends/amd/x.py", 0o644, b"")], {}),
    "label-differs": ([("etc/rockiln/version.json", 0o644, b'{"rocm": "7.0.2", "archs": ["gfx942"]}')], {}),
}  # fmt: skip


@pytest.mark.parametrize("rule", PLANTED)
def test_fault_that_a_further_layer_plants_is_found(project: Project, tmp_path: Path, rule: str) -> None:
    items, env = PLANTED[rule]
    layout = add_layer(project.path / "build" / ROW / "image", tmp_path / "image", items, env)
    report = audit_layout(layout)
    assert rule in [found for found, _ in name_faults(report)]
    assert {one.severity for one in report.findings if one.rule == rule} <= {"error", "warning"}
