"""Published source distributions with CUDA code: known breakages at known places, and what needs translation only."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest
from pypi_simple import PyPISimple

from hipcompat.scan import Report, Target, scan

SDISTS = {
    "torch-scatter": ("torch_scatter-2.1.2.tar.gz", "69b3aa435f2424ac6a1bfb6ff702da6eb73b33ca0db38fb26989c74159258e47"),
    "torch-cluster": ("torch_cluster-1.6.3.tar.gz", "78d5a930a5bbd0d8788df8c6d66addd68d6dd292fe3edb401e3dacba26308152"),
}


def _scan(project: str, folder: Path) -> Report:
    name, sha256 = SDISTS[project]
    with PyPISimple() as client:
        package = next(item for item in client.get_project_page(project).packages if item.filename == name)
        client.download_package(package, folder / name)
    assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    with tarfile.open(folder / name) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 has none
        archive.extractall(folder)  # noqa: S202  # its hash is known
    return scan([folder / name.removesuffix(".tar.gz")], Target(archs=("gfx942",)))


def _places(report: Report, rule: str) -> list[tuple[str, int]]:
    return [(Path(finding.path).name, finding.line) for finding in report.findings if finding.rule == rule]


@pytest.mark.network
def test_torch_scatter_needs_its_masks_widened_and_its_gate_changed(tmp_path: Path) -> None:
    report = _scan("torch-scatter", tmp_path)
    assert {name for name, _ in _places(report, "mask-value")} == {"utils.cuh"}
    assert {name for name, _ in _places(report, "build-gate")} == {"setup.py"}
    assert not [item for item in report.findings if item.rule in {"api-missing", "device-function", "inline-ptx"}]
    kernels = {Path(file.path).name: file.verdict for file in report.files if file.path.endswith(".cu")}
    assert kernels["scatter_cuda.cu"] == "work"


@pytest.mark.network
def test_torch_cluster_kernels_need_translation_only(tmp_path: Path) -> None:
    report = _scan("torch-cluster", tmp_path)
    kernels = {Path(file.path).name: file.verdict for file in report.files if file.path.endswith(".cu")}
    assert len(kernels) >= 6
    assert set(kernels.values()) == {"translate"}
