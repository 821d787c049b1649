"""The cache of layer blobs: what is reused, what is written anew, what failures leave behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import Item, make_rootfs
from leftovers import flip_byte, leave_scratch

from rockiln.compress import choose_scheme
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import DiskError, IntegrityError
from rockiln.image import Layer
from rockiln.layer_blobs import LayerCache, write_layers
from rockiln.layers import LayerPlan, split

GZIP = choose_scheme("gzip")
ITEMS: dict[str, Item] = {
    "usr/bin/ls": ("deb:coreutils", b"ls" * 3000),
    "opt/venv/jax": ("wheel:jax", bytes(9 << 20)),
    "etc/rockiln": ("rockiln", b"record"),
}


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


@pytest.fixture
def cache(tmp_path: Path) -> LayerCache:
    return LayerCache(path=tmp_path / "layers")


@pytest.fixture
def plans(contents: Contents) -> tuple[LayerPlan, ...]:
    return split(make_rootfs(contents, ITEMS), 40)


def write(plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache, jobs: int = 2) -> tuple[Layer, ...]:
    return write_layers(plans, contents, cache, GZIP, jobs, Console(None))


def leftovers(cache: LayerCache) -> list[Path]:
    return list((cache.path / "partial").iterdir())


def test_layers_come_in_the_order_of_the_plans_and_are_what_they_say(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    layers = write(plans, contents, cache)
    assert [layer.title for layer in layers] == [plan.title for plan in plans]
    for plan, layer in zip(plans, layers, strict=True):
        blob = cache.blob_path(layer.digest).read_bytes()
        tar = gzip.decompress(blob)
        assert layer.digest == f"sha256:{hashlib.sha256(blob).hexdigest()}"
        assert layer.diff_id == f"sha256:{hashlib.sha256(tar).hexdigest()}"
        assert layer.size_bytes == len(blob)
        assert layer.unpacked_bytes == plan.unpacked_bytes
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            assert archive.getnames() == [entry.path for entry in plan.entries]
    assert not leftovers(cache)


def test_archive_bytes_is_the_size_of_the_stream(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    for plan, layer in zip(plans, write(plans, contents, cache), strict=True):
        assert len(gzip.decompress(cache.blob_path(layer.digest).read_bytes())) == plan.archive_bytes


def test_jobs_change_nothing(plans: tuple[LayerPlan, ...], contents: Contents, tmp_path: Path) -> None:
    results = [write(plans, contents, LayerCache(path=tmp_path / str(jobs)), jobs) for jobs in (1, 2, 7)]
    assert results[0] == results[1] == results[2]


def test_finished_layer_is_reused_without_reading_any_content(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    first = write(plans, contents, cache)
    for plan in plans:
        for entry in plan.entries:
            contents.discard(entry.sha256) if entry.sha256 else None
    assert write(plans, contents, cache) == first


def test_one_changed_file_writes_one_layer(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    write(plans, contents, cache)
    before = {path.name: path.stat().st_mtime_ns for path in (cache.path / "blobs/sha256").iterdir()}
    changed = split(make_rootfs(contents, {**ITEMS, "usr/bin/ls": ("deb:coreutils", b"new ls")}), 40)
    layers = write(changed, contents, cache)
    after = {path.name: path.stat().st_mtime_ns for path in (cache.path / "blobs/sha256").iterdir()}
    assert set(after) - set(before) == {layers[0].digest.removeprefix("sha256:")}
    assert before.items() <= after.items()


@pytest.mark.parametrize("damage", ["truncated", "gone", "changed", "index", "changed index"])
def test_layer_whose_blob_is_not_whole_is_written_again(
    damage: str, plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    first = write(plans, contents, cache)
    path = cache.blob_path(first[0].digest)
    if damage.endswith("index"):
        for index_path in (cache.path / "index").iterdir():
            flip_byte(index_path) if damage.startswith("changed") else index_path.write_text("{")
    elif damage == "changed":
        flip_byte(path)
    else:
        path.unlink()
        path.write_bytes(b"") if damage == "truncated" else None
    assert write(plans, contents, cache) == first
    assert cache.is_whole(first[0])


def test_other_compression_is_another_layer(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    gzipped = write(plans, contents, cache)
    zstd = write_layers(plans, contents, cache, choose_scheme("zstd"), 2, Console(None))
    assert [layer.diff_id for layer in zstd] == [layer.diff_id for layer in gzipped]
    assert not {layer.digest for layer in zstd} & {layer.digest for layer in gzipped}


@pytest.mark.parametrize("jobs", [1, 4])
def test_damaged_content_stops_the_layers_and_leaves_nothing(
    jobs: int, plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    sha256 = next(entry.sha256 for entry in plans[0].entries if entry.sha256)
    contents.path_of(sha256).unlink()
    contents.path_of(sha256).write_bytes(b"sl" * 3000)
    with pytest.raises(IntegrityError) as caught:
        write(plans, contents, cache, jobs)
    assert caught.value.sha256 == sha256
    assert not leftovers(cache)


def test_unwritable_cache_is_a_disk_error(
    plans: tuple[LayerPlan, ...], contents: Contents, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DiskError):
        write(plans, contents, LayerCache(path=tmp_path / "file"))


def test_leftovers_of_killed_processes_go(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    leave_scratch(cache.path / "partial")
    write(plans, contents, cache)
    assert leftovers(cache) == []


def test_title_is_no_part_of_a_layer(
    plans: tuple[LayerPlan, ...], contents: Contents, cache: LayerCache
) -> None:
    first = write(plans, contents, cache)
    renamed = tuple(replace(plan, title="other", owners=("x",)) for plan in plans)
    assert [layer.digest for layer in write(renamed, contents, cache)] == [layer.digest for layer in first]
