"""The whole product of what the table knows, each cell judged as a row would be."""

from __future__ import annotations

from matrix_text import ROOT
from packaging.version import Version

from rockiln.compatibility import read_compatibility
from rockiln.exploration import explore
from rockiln.matrix import read_matrix

MATRIX = read_matrix(ROOT / "matrix.toml")
TABLE = read_compatibility()
CELLS = explore(MATRIX, TABLE).cells


def test_product_is_whole() -> None:
    archs = {arch for release in TABLE.rocms for arch in release.archs}
    pythons = {python for os in TABLE.oses.values() for python in os.pythons}
    versions = {(cell.framework, cell.version) for cell in CELLS}
    platforms = len(TABLE.rocms) * len(archs) + 1
    assert len(CELLS) == len(versions) * platforms * len(pythons) * len(TABLE.oses)


def test_every_row_is_in_it_and_allowed() -> None:
    found = {row for cell in CELLS if not cell.reasons for row in cell.rows}
    assert found == {target.id for target in MATRIX.targets}


def test_cell_that_is_not_allowed_says_why() -> None:
    (cell,) = [
        cell
        for cell in CELLS
        if (cell.framework, cell.version, cell.os, cell.arch) == ("torch", Version("2.8.0"), "debian-12", "gfx950")
        and cell.python == Version("3.11")
        and cell.rocm_origin == "amd"
    ]
    assert cell.reasons == ("amd ROCm 7.0.2 does not support gfx950 on debian-12",)
    assert cell.platform == "torch 2.8.0 rocm7.0.2 (amd) py3.11 debian-12"
