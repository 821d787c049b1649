"""Images that anybody made: layers laid over each other, owners from the lists in them, archives in any form."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from rockiln.console import Console
from rockiln.errors import ImageError
from rockiln.sizes.difference import Measured
from rockiln.sizes.of_image import measure_archive, measure_layout, measure_stream
from tiny_image import TarItem, hash_of, make_tar, write_layout

QUIET = Console(None)
SITE = "opt/venv/lib/python3.11/site-packages"
LOWER: tuple[TarItem, ...] = (
    ("usr/", 0o755, ""), ("bin", 0o777, "-> usr/bin"), ("usr/bin/", 0o755, ""), ("usr/bin/tool", 0o755, b"t" * 100),
    ("usr/bin/same", 0o755, "=> usr/bin/tool"), ("usr/bin/old", 0o755, b"o" * 30), ("srv/gone/deep", 0o644, b"g" * 7),
    ("var/lib/dpkg/status", 0o644, b"Package: tool\nStatus: install ok installed\nVersion: 1:2.0-3\n\nPackage: x\n"),
    ("var/lib/dpkg/info/tool:amd64.list", 0o644, b"/.\n/bin\n/bin/tool\n/bin/old\n"),
    ("var/lib/dpkg/info/tool:amd64.md5sums", 0o644, b"m" * 9),
)  # fmt: skip
UPPER: tuple[TarItem, ...] = (
    ("usr/bin/.wh.old", 0o644, b""), ("srv/.wh..wh..opq", 0o644, b""), ("srv/new", 0o644, b"n" * 5),
    (f"{SITE}/a_b/one.py", 0o644, b"p" * 40), (f"{SITE}/a_b/__pycache__/one.cpython-311.pyc", 0o644, b"c" * 60),
    (f"{SITE}/a_b/data,1.txt", 0o644, b"d" * 3),
    (f"{SITE}/a_b-4.5.dist-info/RECORD", 0o644, b'a_b/one.py,,\n"a_b/data,1.txt",,\na_b-4.5.dist-info/RECORD,,\n'),
    ("opt/rocm/lib/rocblas/library/Kernels.so-000-gfx942.hsaco", 0o644, b"k" * 50),
)  # fmt: skip


def write_image(folder: Path, layers: Sequence[Sequence[TarItem]] = (LOWER, UPPER)) -> Path:
    write_layout(folder, map(make_tar, layers), {})
    return folder


def pack(folder: Path, path: Path, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # one of several words
        archive.add(folder, arcname=".")
    return path


def require_whole(measured: Measured) -> None:
    sizes, files = measured.sizes, measured.files
    assert files is not None
    owners = {path: file.owner for path, file in files.items()}
    assert owners["usr/bin/tool"] == owners["var/lib/dpkg/info/tool:amd64.md5sums"] == "deb:tool"
    assert owners[f"{SITE}/a_b/one.py"] == owners[f"{SITE}/a_b/__pycache__/one.cpython-311.pyc"] == "wheel:a-b"
    assert owners[f"{SITE}/a_b/data,1.txt"] == "wheel:a-b"
    assert owners["srv/new"] == "unowned"
    assert not files.keys() & {"usr/bin/old", "srv/gone/deep", "usr/bin/same", "usr/bin/.wh.old"}
    assert {name: sizes.packages[name].version for name in ("deb:tool", "wheel:a-b")} == {
        "deb:tool": "1:2.0-3", "wheel:a-b": "4.5",
    }  # fmt: skip
    assert sizes.archs["gfx942"] == 50
    assert sum(package.size_bytes for package in sizes.packages.values()) == sizes.unpacked_bytes
    assert [layer.diff_id for layer in sizes.layers] == [hash_of(make_tar(items)) for items in (LOWER, UPPER)]


def test_layout_is_what_a_container_sees(tmp_path: Path) -> None:
    measured = measure_layout(write_image(tmp_path / "image"), QUIET)
    require_whole(measured)
    blobs = {path.name: path.stat().st_size for path in (tmp_path / "image" / "blobs" / "sha256").iterdir()}
    assert all(layer.compressed_bytes == blobs[layer.digest[7:]] for layer in measured.sizes.layers)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_archive_of_a_layout_is_the_same(tmp_path: Path, mode: str) -> None:
    folder = write_image(tmp_path / "image")
    archive = measure_archive(pack(folder, tmp_path / "image.tar", mode), QUIET)
    require_whole(archive)
    assert archive.files == measure_layout(folder, QUIET).files


def test_what_docker_saves_is_read_whatever_its_order(tmp_path: Path) -> None:
    """As Docker 20.10 writes it: layers as plain tar files in folders, manifest.json at the end."""
    manifest = [{"Config": "c.json", "RepoTags": None, "Layers": ["1/layer.tar", "2/layer.tar"]}]
    members = {"1/layer.tar": make_tar(LOWER), "2/layer.tar": make_tar(UPPER), "c.json": b"{}"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in {**members, "manifest.json": json.dumps(manifest).encode()}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    pieces = (buffer.getvalue()[start : start + 999] for start in range(0, len(buffer.getvalue()), 999))
    measured = measure_stream(pieces, "docker:tiny", tmp_path / "received", QUIET)
    require_whole(measured)
    assert measured.sizes.compressed_bytes == 0
    assert not list((tmp_path / "received").iterdir())


def test_folder_that_becomes_a_file_hides_what_was_in_it(tmp_path: Path) -> None:
    layers = ((("a/b", 0o644, b"1"), ("a/c/d", 0o644, b"2")), (("a", 0o644, b"3"),))
    measured = measure_layout(write_image(tmp_path / "image", layers), QUIET)
    assert measured.files is not None
    assert measured.files.keys() == {"a"}


def test_layer_that_leads_out_of_the_image_is_refused(tmp_path: Path) -> None:
    folder = write_image(tmp_path / "image", ((("../etc/passwd", 0o644, b"1"),),))
    with pytest.raises(ImageError, match="leads out of the image"):
        measure_layout(folder, QUIET)


def test_damaged_layer_is_named(tmp_path: Path) -> None:
    image = write_layout(tmp_path / "image", map(make_tar, (LOWER, UPPER)), {})
    folder = image.layout_path
    blob = folder / "blobs" / image.layers[1].digest.replace(":", "/")
    content = blob.read_bytes()
    blob.write_bytes(content[:-20])
    with pytest.raises(ImageError, match=f"has {len(content) - 20} bytes, and the manifest says {len(content)}"):
        measure_layout(folder, QUIET)
    blob.write_bytes(content[:-20] + bytes(20))
    with pytest.raises(ImageError, match="cannot read the layer"):
        measure_layout(folder, QUIET)


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\0" * 2048])
def test_file_that_is_no_image_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "image.tar").write_bytes(content)
    with pytest.raises(ImageError):
        measure_archive(tmp_path / "image.tar", QUIET)
