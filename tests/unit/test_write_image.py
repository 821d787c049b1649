"""The OCI layout on disk: whole at every moment, readable back, and nothing in it that is not named."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import Item, make_folders, make_locked, make_rootfs, make_wheel, plan_jax
from leftovers import flip_byte

from rockiln import write_image as writer
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import DiskError, ImageError
from rockiln.folders import Folders
from rockiln.image import Compression, Image
from rockiln.layers import split
from rockiln.readers import digest_of
from rockiln.write_image import read_image, write_image

ITEMS: dict[str, Item] = {
    "usr/bin/ls": ("deb:coreutils", b"ls"),
    "opt/venv/jax": ("wheel:jax", b"jax" * 1000),
    "etc/rockiln": ("rockiln", b"record"),
}


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return make_folders(tmp_path)


def build(folders: Folders, items: dict[str, Item] = ITEMS, compression: Compression = "gzip") -> Image:
    planned = plan_jax()
    contents = Contents(folders.contents_path)
    plans = split(make_rootfs(contents, items), 40)
    locked = make_locked(planned, make_wheel("jax", "0.6.2"))
    return write_image(planned, locked, plans, contents, folders, compression, 2, Console(None))


def refuse_links(*_: object) -> None:
    raise OSError(18, "Invalid cross-device link")


def blob_names(image: Image) -> set[str]:
    return {path.name for path in (image.layout_path / "blobs/sha256").iterdir()}


def test_image_can_be_read_back(folders: Folders) -> None:
    image = build(folders)
    assert image.layout_path == folders.target_path("jax-1.0-cpu-py3.11-debian-12") / "image"
    assert read_image(image.layout_path) == image


@pytest.mark.parametrize("linked", [True, False])
def test_changed_blob_is_replaced(folders: Folders, monkeypatch: pytest.MonkeyPatch, linked: bool) -> None:
    if not linked:
        monkeypatch.setattr(os, "link", refuse_links)
    image = build(folders)
    path = image.layout_path / "blobs" / image.layers[0].digest.replace(":", "/")
    flip_byte(path)
    assert build(folders) == image
    assert digest_of(path.read_bytes()) == image.layers[0].digest


def test_layout_has_the_files_of_the_specification(folders: Folders) -> None:
    image = build(folders)
    assert json.loads((image.layout_path / "oci-layout").read_bytes()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((image.layout_path / "index.json").read_bytes())
    assert index["schemaVersion"] == 2
    (entry,) = index["manifests"]
    assert entry["digest"] == image.digest
    assert entry["annotations"] == {
        "org.opencontainers.image.ref.name": "jax-1.0-cpu-py3.11-debian-12",
        "io.containerd.image.name": "docker.io/rockiln/jax:jax-1.0-cpu-py3.11-debian-12",
    }
    named = {image.digest, image.config_digest, *(layer.digest for layer in image.layers)}
    assert {f"sha256:{name}" for name in blob_names(image)} == named


def test_blobs_are_links_to_the_cache(folders: Folders) -> None:
    image = build(folders)
    for layer in image.layers:
        name = layer.digest.replace(":", "/")
        assert (image.layout_path / "blobs" / name).samefile(folders.layers_path / "blobs" / name)


def test_blobs_are_copied_where_links_are_refused(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse_links)
    image = build(folders)
    assert read_image(image.layout_path) == image


def test_blobs_are_copied_to_another_file_system(folders: Folders) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == folders.cache_path.parent.stat().st_dev:
        pytest.skip("no second file system here")
    import tempfile

    with tempfile.TemporaryDirectory(dir=shm) as folder:
        image = build(replace(folders, build_path=Path(folder)))
        assert read_image(image.layout_path) == image


def test_second_image_replaces_the_first_and_its_blobs(folders: Folders) -> None:
    first = build(folders)
    second = build(folders, {**ITEMS, "usr/bin/ls": ("deb:coreutils", b"new ls")})
    assert first.digest != second.digest
    assert read_image(second.layout_path) == second
    assert len(blob_names(second)) == len(second.layers) + 2
    assert first.layers[1:2] == second.layers[1:2]


def test_compression_changes_digest_and_media_type_but_no_diff_id(folders: Folders) -> None:
    gzipped, zstd = build(folders), build(folders, compression="zstd")
    assert [layer.diff_id for layer in gzipped.layers] == [layer.diff_id for layer in zstd.layers]
    assert {layer.media_type for layer in zstd.layers} == {"application/vnd.oci.image.layer.v1.tar+zstd"}
    assert zstd.config_digest == gzipped.config_digest
    assert zstd.digest != gzipped.digest


class _KilledError(BaseException):
    """As if the process had ended here."""


@pytest.mark.parametrize("step", range(1, 8))
def test_a_writer_that_dies_leaves_the_old_image_whole(
    step: int, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = build(folders)
    real, calls = Path.replace, 0

    def replace_until_dead(self: Path, target: Path) -> Path:
        nonlocal calls
        if self.is_relative_to(folders.build_path):
            calls += 1
            if calls == step:
                raise _KilledError
        return real(self, target)

    changed: dict[str, Item] = {path: (owner, b"new") for path, (owner, _) in ITEMS.items()}
    monkeypatch.setattr(Path, "replace", replace_until_dead)
    died = False
    try:
        new = build(folders, changed)
    except _KilledError:
        died = True
    monkeypatch.undo()
    assert died == (step <= 6)  # two layers, config, manifest, oci-layout, index.json
    found = read_image(old.layout_path)
    assert found == (old if died else new)
    new = build(folders, changed)
    assert read_image(old.layout_path) == new
    assert len(blob_names(new)) == len(new.layers) + 2


def test_first_image_is_not_there_before_it_is_whole(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise _KilledError

    monkeypatch.setattr(writer, "_prune", lambda *_: None)
    monkeypatch.setattr(writer, "make_index", die)
    with pytest.raises(_KilledError):
        build(folders)
    with pytest.raises(ImageError, match=r"index\.json is missing"):
        read_image(folders.target_path("jax-1.0-cpu-py3.11-debian-12") / "image")


def test_truncated_layer_is_named(folders: Folders) -> None:
    image = build(folders)
    path = image.layout_path / "blobs" / image.layers[0].digest.replace(":", "/")
    path.chmod(0o644)
    os.truncate(path, 5)
    with pytest.raises(ImageError, match=f"{path.name} has 5 bytes, not {image.layers[0].size_bytes}"):
        read_image(image.layout_path)


def test_missing_layer_is_named(folders: Folders) -> None:
    image = build(folders)
    path = image.layout_path / "blobs" / image.layers[0].digest.replace(":", "/")
    path.unlink()
    with pytest.raises(ImageError, match=f"{path.name} is missing"):
        read_image(image.layout_path)


@pytest.mark.parametrize("which", ["digest", "config_digest"])
def test_changed_manifest_or_config_is_noticed(folders: Folders, which: str) -> None:
    image = build(folders)
    path = image.layout_path / "blobs" / getattr(image, which).replace(":", "/")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ImageError, match="has another hash"):
        read_image(image.layout_path)


@pytest.mark.parametrize("text", ["", "{}", '{"manifests":[]}', '{"manifests":[{"digest":"x"}]}', "[1]"])
def test_what_is_no_layout_of_ours_is_refused(folders: Folders, text: str) -> None:
    image = build(folders)
    path = image.layout_path / "index.json"
    path.unlink()
    path.write_text(text)
    with pytest.raises(ImageError) as caught:
        read_image(image.layout_path)
    assert caught.value.hint


def test_full_disk_is_a_disk_error_and_keeps_the_old_image(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    old = build(folders)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(DiskError, match="disk is full"):
        build(folders, {**ITEMS, "usr/bin/ls": ("deb:coreutils", b"new ls")})
    monkeypatch.undo()
    assert read_image(old.layout_path) == old


def test_blobs_cannot_be_written_by_accident(folders: Folders) -> None:
    image = build(folders)
    assert {path.stat().st_mode & 0o777 for path in (image.layout_path / "blobs/sha256").iterdir()} == {0o444}
