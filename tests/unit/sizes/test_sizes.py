"""Sums of an image: each way of cutting it adds up to the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from imaging import make_rootfs

from fat_files import HOST_ID, PAGE, FatLibrary, bundle_for, compile_kernels, compress_bundle, make_bundle
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import ImageError, IntegrityError
from rockiln.layers import split
from rockiln.rootfs import Rootfs
from rockiln.sizes.annotation import ANNOTATION, annotate, read_manifest
from rockiln.sizes.device_code import UNREAD, measure_device_code
from rockiln.sizes.inventory import Sizes
from rockiln.sizes.of_rootfs import add_up_rootfs


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def measure(path: Path) -> dict[str, int]:
    with path.open("rb") as file:
        return measure_device_code(file)


def build_library(tmp_path: Path, *bundles: bytes) -> Path:
    return FatLibrary(bundles=bundles, linker="lld").build(tmp_path / "libfat.so")


def sum_small_tree(contents: Contents) -> Sizes:
    rootfs = make_rootfs(
        contents,
        {
            "usr/bin/tool": ("deb:tool", b"#!/bin/sh\n"),
            "usr/share/doc/tool/copyright": ("deb:tool", b"free\n"),
            "usr/bin/same": ("deb:tool", "=> usr/bin/tool"),
            "opt/venv/a.py": ("wheel:a", b"import os\n"),
            "opt/rocm/lib/rocblas/library/Kernels.so-000-gfx942.hsaco": ("deb:rocblas", b"x" * 100),
            "opt/rocm/lib/rocblas/library/Kernels.so-000-gfx950.hsaco": ("deb:rocblas", b"y" * 50),
        },
    )
    return sum_tree(rootfs, contents)


def sum_tree(rootfs: Rootfs, contents: Contents) -> Sizes:
    return add_up_rootfs("tiny", rootfs, split(rootfs, 10), contents, contents.path.parent / "cache", Console(None))


def test_raw_bundle_counts_each_code_object(tmp_path: Path) -> None:
    path = build_library(tmp_path, bundle_for(("gfx942", "gfx1100")), bundle_for(("gfx942",), 3))
    expected = {
        "gfx1100": len(compile_kernels("gfx1100")),
        "gfx942": len(compile_kernels("gfx942")) + len(compile_kernels("gfx942", 3)),
    }
    assert measure(path) == expected


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundle_counts_what_lies_on_the_disk(tmp_path: Path, version: int) -> None:
    blob = compress_bundle(bundle_for(("gfx942", "gfx1100")), version)
    found = measure(build_library(tmp_path, blob))
    assert found.keys() == {"gfx942", "gfx1100"}
    assert len(blob) - 2 <= sum(found.values()) <= len(blob)


def test_unknown_device_code_is_counted_as_unread(tmp_path: Path) -> None:
    assert measure(build_library(tmp_path, b"something else" * 1000)) == {UNREAD: -(-14_000 // PAGE) * PAGE}


def test_bare_code_object_counts_for_its_arch(tmp_path: Path) -> None:
    path = tmp_path / "kernels.co"
    path.write_bytes(compile_kernels("gfx942"))
    assert measure(path) == {"gfx942": path.stat().st_size}


@pytest.mark.parametrize("version", [0, 2])
def test_bundle_in_a_file_of_its_own_counts_each_code_object(tmp_path: Path, version: int) -> None:
    raw = bundle_for(("gfx942", "gfx1100"))
    path = tmp_path / "kernels.hsaco"
    path.write_bytes(compress_bundle(raw, version) if version else raw)
    assert measure(path).keys() == {"gfx942", "gfx1100"}
    assert sum(measure(path).values()) <= path.stat().st_size


def test_bundle_without_code_counts_nothing(tmp_path: Path) -> None:
    assert measure(build_library(tmp_path, make_bundle([(HOST_ID, b"")]))) == {}


def test_file_that_is_no_library_holds_no_device_code(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"\x7fELF and then nothing" * 1000)
    assert measure(path) == {}


def test_packages_archs_and_kinds_add_up_to_the_same(contents: Contents) -> None:
    sizes = sum_small_tree(contents)
    assert sizes.unpacked_bytes == 175
    assert sum(package.size_bytes for package in sizes.packages.values()) == 175
    assert sum(sizes.kinds.values()) == 175
    assert sizes.archs == {"gfx942": 100, "gfx950": 50, "host": 25}
    assert (sizes.packages["deb:tool"].size_bytes, sizes.packages["deb:tool"].files) == (15, 2)
    assert sizes.kinds == {"docs": 5, "kernel data": 150, "program": 10, "python": 10}


def test_damaged_content_is_named_and_not_measured(tmp_path: Path, contents: Contents) -> None:
    library = build_library(tmp_path, bundle_for(("gfx942",))).read_bytes()
    rootfs = make_rootfs(contents, {"usr/lib/libfat.so": ("deb:fat", library)})
    path = contents.path_of(rootfs.entries["usr/lib/libfat.so"].sha256)
    path.chmod(0o644)
    path.write_bytes(b"\0" + library[1:])
    with pytest.raises(IntegrityError):
        sum_tree(rootfs, contents)


def test_content_is_looked_at_once(tmp_path: Path, contents: Contents) -> None:
    library = build_library(tmp_path, bundle_for(("gfx942",))).read_bytes()
    rootfs = make_rootfs(contents, {"usr/lib/libfat.so": ("deb:fat", library)})
    first = sum_tree(rootfs, contents)
    assert first.code["usr/lib/libfat.so"]["gfx942"] > 0
    contents.discard(rootfs.entries["usr/lib/libfat.so"].sha256)
    assert sum_tree(rootfs, contents) == first


def test_annotation_says_what_was_summed(contents: Contents) -> None:
    sizes = sum_small_tree(contents)
    manifest = {
        "layers": [{"digest": "sha256:1", "size": 7}, {"digest": "sha256:2", "size": 5}],
        "annotations": annotate(sizes),
    }
    read = read_manifest("registry/image", "sha256:0", manifest)
    assert (read.packages, read.archs, read.kinds) == (sizes.packages, sizes.archs, sizes.kinds)
    assert (read.compressed_bytes, read.unpacked_bytes) == (12, 175)
    assert [layer.title for layer in read.layers] == ["layer 1", "layer 2"]


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"layers": [{}]},
        {"layers": [], "annotations": {ANNOTATION: "{"}},
        {"layers": [], "annotations": {ANNOTATION: json.dumps({"packages": {"deb:a": [1]}})}},
        {"layers": [], "annotations": {ANNOTATION: "[]"}},
    ],
)
def test_damaged_manifest_is_refused(manifest: dict[str, object]) -> None:
    with pytest.raises(ImageError, match="not an image manifest"):
        read_manifest("registry/image", "sha256:0", manifest)
