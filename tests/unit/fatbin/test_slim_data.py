"""rockiln slim over kernel data: whole files go, bundles are cut, lists of installers say what is left."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fat_files import bundle_for, compile_kernels
from rockiln.cli import main
from rockiln.console import Console
from rockiln.fatbin.slim_tree import SlimOptions, SlimReport, slim_copy, slim_in_place

GFX942 = SlimOptions(archs=frozenset({"gfx942"}), jobs=2)
SILENT = Console(None)
LIBRARY = "usr/lib/x86_64-linux-gnu/hipblaslt/library"
IMAGES = "opt/venv/lib/python3.12/site-packages/torch/lib/aotriton.images"
RECORD = "opt/venv/lib/python3.12/site-packages/torch-2.8.0.dist-info/RECORD"
INFO = "var/lib/dpkg/info/libhipblaslt1:amd64"
GONE = {
    f"{LIBRARY}/TensileLibrary_lazy_gfx90a.dat",
    f"{LIBRARY}/Kernels.so-000-gfx90a.hsaco",
    f"{IMAGES}/amd-gfx11xx/a.aks2",
}


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    """A deb's Tensile tree and a wheel's AOTriton images, with the lists of both installers."""
    root = tmp_path / "rootfs"
    files = {
        f"{LIBRARY}/Kernels.so-000-gfx90a.hsaco": compile_kernels("gfx90a"),
        f"{LIBRARY}/Kernels.so-000-gfx942.hsaco": compile_kernels("gfx942"),
        f"{LIBRARY}/TensileLibrary_lazy_gfx90a.dat": b"\x82",
        f"{LIBRARY}/TensileLibrary_lazy_gfx942.dat": b"\x82",
        f"{LIBRARY}/hipblasltExtOpLibrary.dat": b"\x88",
        f"{LIBRARY}/hipblasltTransform.hsaco": bundle_for(("gfx90a", "gfx942")),
        f"{IMAGES}/amd-gfx11xx/a.aks2": b"AKS2",
        f"{IMAGES}/amd-gfx942/a.aks2": b"AKS2",
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    debs = [path for path in files if path.startswith("usr")]
    write(root / f"{INFO}.list", "".join(f"/{path}\n" for path in ("usr", "usr/lib", *debs)))
    write(root / f"{INFO}.md5sums", "".join(f"{md5(files[path])}  {path}\n" for path in debs))
    names = ("amd-gfx11xx", "amd-gfx942")
    write(root / RECORD, "".join(f"torch/lib/aotriton.images/{name}/a.aks2,sha256=x,4\n" for name in names))
    return root


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()  # noqa: S324 - dpkg's own


def list_files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def outcomes(report: SlimReport) -> dict[str, str]:
    return {str(one.path.relative_to(report.output_path)): one.outcome for one in report.files}


def test_data_of_other_archs_goes_and_lists_are_true(rootfs: Path) -> None:
    before = list_files(rootfs)
    report = slim_in_place(rootfs, GFX942, SILENT)
    assert before - list_files(rootfs) == GONE
    assert {path for path, outcome in outcomes(report).items() if outcome == "dropped"} == GONE
    assert outcomes(report)[f"{LIBRARY}/hipblasltTransform.hsaco"] == "slimmed"
    listed = (rootfs / f"{INFO}.list").read_text().splitlines()
    assert listed[:2] == ["/usr", "/usr/lib"]
    assert {path[1:] for path in listed[2:]} == {path for path in list_files(rootfs) if path.startswith("usr/")}
    for line in (rootfs / f"{INFO}.md5sums").read_text().splitlines():
        assert md5((rootfs / line[34:]).read_bytes()) == line[:32]
    assert (rootfs / RECORD).read_text() == "torch/lib/aotriton.images/amd-gfx942/a.aks2,sha256=x,4\n"
    assert set(outcomes(slim_in_place(rootfs, GFX942, SILENT)).values()) == {"unchanged"}


def test_dry_run_changes_nothing_and_tells_the_same(rootfs: Path) -> None:
    before = {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")}
    planned = slim_in_place(rootfs, SlimOptions(archs=GFX942.archs, jobs=1, is_dry_run=True), SILENT)
    assert {path: path.lstat().st_ctime_ns for path in rootfs.rglob("*")} == before
    assert outcomes(planned) == outcomes(slim_in_place(rootfs, GFX942, SILENT))


@pytest.mark.parametrize("part", ["", LIBRARY, IMAGES])
def test_copy_of_any_part_is_judged_by_where_it_came_from(part: str, rootfs: Path, tmp_path: Path) -> None:
    before = list_files(rootfs)
    slim_copy(rootfs / part, tmp_path / "copy", GFX942, SILENT)
    assert list_files(rootfs) == before
    wanted = {path.removeprefix(f"{part}/") for path in before - GONE if path.startswith(part)}
    assert list_files(tmp_path / "copy") == wanted


def test_file_with_another_name_that_is_needed_stays(rootfs: Path) -> None:
    path = rootfs / f"{LIBRARY}/Kernels.so-000-gfx90a.hsaco"
    (rootfs / "kernel.hsaco").hardlink_to(path)
    report = slim_in_place(rootfs, GFX942, SILENT)
    assert path.exists()
    (row,) = [one for one in report.files if one.path.name == "kernel.hsaco" or one.path == path]
    assert row.outcome == "refused"
    assert "another of its names" in row.reason


def test_tree_that_holds_nothing_for_the_archs_stays_whole(rootfs: Path) -> None:
    before = list_files(rootfs)
    report = slim_in_place(rootfs, SlimOptions(archs=frozenset({"gfx1030"}), jobs=1), SILENT)
    assert list_files(rootfs) == before
    reasons = {one.reason for one in report.files if one.outcome == "refused"}
    assert "nothing here is for any of the archs" in reasons


def test_single_bundle_is_cut_and_a_single_data_file_stays(rootfs: Path, tmp_path: Path) -> None:
    bundle = slim_copy(rootfs / f"{LIBRARY}/hipblasltTransform.hsaco", tmp_path / "a.hsaco", GFX942, SILENT)
    assert [one.outcome for one in bundle.files] == ["slimmed"]
    data = slim_in_place(rootfs / f"{LIBRARY}/TensileLibrary_lazy_gfx90a.dat", GFX942, SILENT)
    assert [one.outcome for one in data.files] == ["refused"]
    assert (rootfs / f"{LIBRARY}/TensileLibrary_lazy_gfx90a.dat").exists()


def test_table_has_a_row_for_each_folder_of_data(rootfs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slim", str(rootfs), "--archs", "gfx942,gfx950", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith(f"{LIBRARY} ")]
    assert row.endswith("keeps gfx942; 2 of 5 files went; it never held gfx950")
    assert any(line.startswith(IMAGES) and line.endswith("keeps gfx942; 1 of 2 files went") for line in lines)
    assert lines[-2].startswith("4 of 8 files with device code: ")
    assert f"{INFO}.list" in lines[-1]
