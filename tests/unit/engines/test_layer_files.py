"""Layers of every shape: what a hostile or damaged one must not do, and how layers lie on each other."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from rockiln.engines.embedded import EmbeddedEngine, find_user
from rockiln.engines.trees import read_tree
from rockiln.errors import EngineError, RockilnError
from rockiln.image import Image
from tiny_image import TarItem, hash_of, make_tar, write_layout

START = {"Cmd": ["/probe"]}


def load(folder: Path, *layers: list[TarItem]) -> Path:
    image = write_layout(folder / "image", [make_tar(items) for items in layers], START)
    return Path(EmbeddedEngine(trees_path=folder / "trees").load(image).handle) / "root"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([("../escape", 0o644, b"x")], "leads out of the image"),
        ([("fine/../../escape", 0o644, b"x")], "leads out of the image"),
        ([("link", 0o777, "-> /tmp"), ("link/escape", 0o644, b"x")], "leads through link, which is a symlink"),
        ([("escape", 0o644, "=> /etc/passwd")], "hard link to /etc/passwd"),
        ([("escape", 0o644, "=> ../../../etc/passwd")], "leads out of the image"),
        ([("file", 0o644, b"x"), ("file/below", 0o644, b"x")], "leads through file, which is a file"),
        ([(".wh...", 0o644, b"")], "not a whiteout"),
    ],
)
def test_hostile_member_is_refused_by_name(tmp_path: Path, items: list[TarItem], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        load(tmp_path, items)
    assert [path.name for path in tmp_path.rglob("escape")] == []
    assert not list((tmp_path / "trees/images").glob("[!.]*"))


def test_absolute_name_stays_inside(tmp_path: Path) -> None:
    root = load(tmp_path, [("/etc/file", 0o644, b"inside")])
    assert (root / "etc/file").read_bytes() == b"inside"


def test_kinds_and_modes_are_kept_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        root = load(
            tmp_path,
            [
                ("folder/", 0o1777, ""), ("folder/run", 0o4755, b"program"), ("folder/again", 0o4755, "=> folder/run"),
                ("link", 0o777, "-> folder/run"), ("closed/", 0o500, ""), ("closed/deep/", 0o555, ""),
                ("closed/deep/file", 0o400, b"secret"), ("implied/file", 0o644, b""),
            ],
        )  # fmt: skip
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE((root / path).stat().st_mode) for path in ("folder", "folder/run", "closed", "implied")}
    assert modes == {"folder": 0o1777, "folder/run": 0o4755, "closed": 0o500, "implied": 0o755}
    assert (root / "folder/run").samefile(root / "folder/again")
    assert str((root / "link").readlink()) == "folder/run"
    assert (root / "folder/run").stat().st_mtime == 315532800
    assert stat.S_IMODE((tmp_path / "trees").stat().st_mode) == 0o700


def test_later_layers_cover_and_white_out_earlier_ones(tmp_path: Path) -> None:
    root = load(
        tmp_path,
        [("a", 0o644, b"old"), ("gone", 0o644, b"x"), ("full/", 0o755, ""), ("full/deep/file", 0o644, b"x"),
         ("opaque/", 0o755, ""), ("opaque/old", 0o644, b"x"), ("swap/", 0o755, ""), ("swap/file", 0o644, b"x")],
        [("a", 0o600, b"new"), (".wh.gone", 0o644, b""), (".wh.full", 0o644, b""), ("opaque/.wh..wh..opq", 0o644, b""),
         ("opaque/new", 0o644, b"y"), ("swap", 0o777, "-> a"), ("late", 0o644, "=> opaque/new")],
    )  # fmt: skip
    there = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    assert there == ["a", "late", "opaque", "opaque/new", "swap"]
    assert (root / "a").read_bytes() == b"new"
    assert (root / "swap").is_symlink()


def test_layers_are_extracted_once_and_shared(tmp_path: Path) -> None:
    shared = make_tar([("shared", 0o644, b"both have it")])
    engine = EmbeddedEngine(trees_path=tmp_path / "trees")
    images = [
        write_layout(tmp_path / name, [shared, make_tar([(name, 0o644, b"own")])], START) for name in ("one", "two")
    ]
    loaded = [engine.load(image) for image in images]
    files = [Path(item.handle) / "root/shared" for item in loaded]
    assert files[0].samefile(files[1])
    engine.unload(loaded[0])
    assert not files[0].exists()
    assert files[1].read_bytes() == b"both have it"
    assert len(list((tmp_path / "trees/layers").glob("[!.]*"))) == 2
    engine.unload(loaded[1])
    assert list((tmp_path / "trees/layers").glob("[!.]*")) == []


def with_layer(image: Image, **changes: object) -> Image:
    return replace(image, layers=(replace(image.layers[0], **changes),))  # type: ignore[arg-type]


def test_cut_gzip_stream_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    image = write_layout(tmp_path / "image", [make_tar([("file", 0o644, os.urandom(9999))])], START)
    path = tmp_path / "image/blobs/sha256" / image.layers[0].digest.removeprefix("sha256:")
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(EngineError, match="cannot read the layer"):
        EmbeddedEngine(trees_path=tmp_path / "trees").load(image)
    assert list((tmp_path / "trees/layers").glob("[!.]*")) == []


def test_wrong_diff_id_is_refused(tmp_path: Path) -> None:
    image = write_layout(tmp_path / "image", [make_tar([("file", 0o644, b"x")])], START)
    with pytest.raises(EngineError, match="disagree"):
        EmbeddedEngine(trees_path=tmp_path / "trees").load(with_layer(image, diff_id=hash_of(b"other")))


def test_damaged_image_is_refused_also_when_its_layout_is_gone(tmp_path: Path) -> None:
    image = write_layout(tmp_path / "image", [make_tar([("file", 0o644, b"x")])], START)
    with pytest.raises(RockilnError, match="No such file"):
        EmbeddedEngine(trees_path=tmp_path / "trees").load(replace(image, layout_path=tmp_path / "elsewhere"))


def test_folders_say_who_may_write(tmp_path: Path) -> None:
    root = load(tmp_path, [("tmp/", 0o1777, ""), ("etc/", 0o755, ""), ("etc/file", 0o666, b"")])
    tree = read_tree(root.parent)
    assert tree.writable_folders(12345, 0) == ("/tmp",)


def test_user_is_looked_up_in_the_image_itself(tmp_path: Path) -> None:
    accounts = b"root:x:0:0:root:/root:/bin/sh\nminer:x:900:901::/home/miner:/bin/sh\n"
    root = load(tmp_path, [("etc/passwd", 0o644, accounts), ("etc/group", 0o644, b"video:x:44:miner\n")])
    assert find_user(root, "") == ("0:0", "/root")
    assert find_user(root, "miner") == ("900:901", "/home/miner")
    assert find_user(root, "900:video") == ("900:44", "/home/miner")
    assert find_user(root, "4242") == ("4242:0", "/")
    with pytest.raises(EngineError, match="'nobody' is not in the image"):
        find_user(root, "nobody")
