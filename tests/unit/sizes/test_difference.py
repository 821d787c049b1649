"""What differs between two images, and how it is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from built_folder import add_files, small_tree, write_built
from rockiln.cli import main
from rockiln.contents import Contents
from rockiln.jsonable import dump
from rockiln.sizes.annotation import annotate, read_manifest
from rockiln.sizes.describe_difference import describe_difference
from rockiln.sizes.difference import Change, Measured, Moved, compare
from rockiln.sizes.inventory import PackageSize
from rockiln.sizes.pack_ops import count_ops
from rockiln.sizes.release_notes import describe_release
from rockiln.sizes.stored import read_measured


def build(tmp_path: Path, name: str, more: dict[str, int]) -> Measured:
    contents = Contents(tmp_path / "contents")
    rootfs = add_files(small_tree(contents), "wheel:jax", more)
    write_built(tmp_path / name, name, rootfs, contents)
    measured = read_measured(tmp_path / name)
    assert measured is not None
    return measured


@pytest.fixture
def old(tmp_path: Path) -> Measured:
    return build(tmp_path, "old", {"opt/venv/a.py": 100, "opt/venv/gone.py": 70, "opt/venv/same.py": 5})


@pytest.fixture
def new(tmp_path: Path) -> Measured:
    return build(tmp_path, "new", {"opt/venv/a.py": 300, "opt/venv/new.py": 11, "opt/venv/same.py": 5})


def test_image_does_not_differ_from_itself(old: Measured) -> None:
    difference = compare(old, old)
    assert (difference.packages, difference.archs, difference.kinds, difference.files) == ((), (), (), ())
    assert (difference.old_layers, difference.new_layers) == ((), ())
    assert len(difference.shared_layers) == len(old.sizes.layers)


def test_packages_kinds_files_and_layers_that_differ(old: Measured, new: Measured) -> None:
    difference = compare(old, new)
    size = old.sizes.packages["wheel:jax"].size_bytes
    assert difference.packages == (Change("wheel:jax", size, size + 141, "1.0", "1.0", "changed"),)
    assert [change.name for change in difference.kinds] == ["python"]
    assert difference.archs[0].name == "host"
    assert difference.files == (
        Change("opt/venv/a.py", 100, 300, what="changed"),
        Change("opt/venv/new.py", 0, 11, what="added"),
        Change("opt/venv/gone.py", 70, 0, what="removed"),
    )
    assert len(difference.old_layers) == len(difference.new_layers) == 1
    assert difference.unpacked.growth == 141


def test_published_image_tells_no_files(old: Measured, new: Measured) -> None:
    difference = compare(Measured(sizes=old.sizes), new)
    assert difference.files is None
    assert "files: not told" in describe_difference(difference)


def test_text_names_versions_and_the_largest_growths(tmp_path: Path, old: Measured) -> None:
    many = build(tmp_path, "many", {f"opt/venv/{number}.py": 1000 + number for number in range(40)})
    text = describe_difference(compare(old, many))
    assert text.splitlines()[0] == "old → many"
    assert "files: 40 added, 3 removed" in text
    assert "  opt/venv/39.py is new" in text
    assert "and 23 more with less growth" in text


def test_path_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["diff", "missing/image", "missing/other"]) == 2
    assert "HOST/NAME:TAG" in capsys.readouterr().err


@pytest.mark.parametrize("prefix", ["", "registry:"])
def test_published_image_is_named_with_and_without_the_word(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    word = f"{prefix}127.0.0.1:1/rk/jax:stable"  # nobody listens on port 1
    assert main(["--quiet", "diff", word, word]) == 19
    assert "127.0.0.1:1" in capsys.readouterr().err


def test_json_holds_every_change(old: Measured, new: Measured) -> None:
    value = json.loads(dump(compare(old, new)))
    assert len(value["files"]) == 3


def with_ops(measured: Measured, ops: dict[str, dict[str, int]], smoke: dict[str, float] | None = None) -> Measured:
    return replace(measured, sizes=replace(measured.sizes, ops=ops), smoke=smoke)


def test_ops_that_came_went_and_have_other_kernels_are_told(old: Measured, new: Measured) -> None:
    before = with_ops(old, {"gfx942": {"rope": 4, "gemm": 10, "rms_norm": 3}})
    after = with_ops(new, {"gfx942": {"gemm": 12, "rms_norm": 3}, "gfx950": {"rope": 1}})
    difference = compare(before, after)
    assert difference.ops == (
        Moved("gfx942 gemm", 10, 12), Moved("gfx942 rope", 4, None), Moved("gfx950 rope", None, 1),
    )  # fmt: skip
    text = describe_difference(difference)
    assert "ops that came: gfx950 rope\nops that went: gfx942 rope\nvariants of ops: gfx942 gemm 10 → 12" in text


def test_smoke_times_are_told_of_whichever_image_they_are_known(old: Measured, new: Measured) -> None:
    difference = compare(with_ops(old, {}, {"cpu": 12.5}), with_ops(new, {}, {"cpu": 30.0, "gpu": 2.0}))
    text = describe_difference(difference)
    assert "smoke, tier cpu: 12.5 s → 30.0 s\nsmoke, tier gpu: not smoked → 2.0 s" in text
    assert compare(old, new).smoke == ()


def test_ops_are_counted_in_packs_and_survive_the_annotation(old: Measured) -> None:
    manifests = [
        json.dumps({"arch": "gfx942", "variants": [{"op": "rope"}, {"op": "gemm"}, {"op": "gemm"}]}).encode(),
        b"{", b'{"arch": "gfx950"}',
    ]  # fmt: skip
    ops = count_ops(manifests)
    assert ops == {"gfx942": {"gemm": 2, "rope": 1}}
    annotations = annotate(replace(old.sizes, ops=ops))
    manifest = {"layers": [], "annotations": annotations}
    assert read_manifest("x", "", manifest).ops == ops
    assert "ops" not in json.loads(annotate(old.sizes)["dev.rockiln.sizes"]), "an image without packs keeps its digest"


def test_notes_of_a_release_are_markdown_that_no_name_breaks(old: Measured, new: Measured) -> None:
    packages = {**new.sizes.packages, "wheel:a|b<script>": PackageSize(version="2", size_bytes=10, files=1)}
    changed = replace(new, sizes=replace(new.sizes, packages=packages), smoke={"cpu": 3.0})
    notes = describe_release(compare(old, changed))
    assert notes.startswith("## new, compared with old\n\n| | before | after | |\n")
    assert "| wheel:a\\|b&lt;script> | - | 2 | +10 B |" in notes
    assert "wheel:jax" not in notes, "the same version with other bytes is no news"
    assert notes.endswith("\n\n- smoke, tier cpu: not smoked → 3.0 s\n")
