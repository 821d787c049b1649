"""What layers say is installed, and the document that lists it: valid, the same each time, with hashes and licences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rockiln.console import Console
from rockiln.errors import ImageError, VerificationError
from rockiln.sbom.document import list_components, make_sbom
from rockiln.sbom.installed import Installed
from rockiln.verification.check_image import check_image
from rockiln.verification.sources import LayoutSource
from signed_image import OS, SITE, STATUS, WHEELS
from tiny_image import TarItem, make_tar, write_layout

DIGEST = "sha256:" + "ab" * 32


def read(folder: Path, *layers: tuple[TarItem, ...]) -> Installed:
    write_layout(folder, [make_tar(items) for items in layers], {})
    checked = check_image(LayoutSource(folder, folder), Console(None), with_layers=True)
    assert checked.installed is not None
    return checked.installed


def owners(installed: Installed) -> list[str]:
    return [f"{one.owner} {one.version}" for one in installed.packages]


def test_debs_and_distributions_are_listed_with_their_hashes(tmp_path: Path) -> None:
    installed = read(tmp_path / "image", OS, WHEELS)
    assert owners(installed) == ["deb:libtool 1.0-2", "deb:tool 1.0-1", "wheel:my-wheel 2.0"]
    assert [one.sha256[0] for one in installed.packages] == ["2", "1", "3"]
    assert (installed.os_id, installed.os_version) == ("debian", "12")


def test_what_a_later_layer_removes_or_replaces_is_not_listed(tmp_path: Path) -> None:
    folder = f"{SITE}/my_wheel-2.0.dist-info"
    newer = (f"{SITE}/my_wheel-3.0.dist-info/METADATA", 0o644, b"Name: my-wheel\nVersion: 3.0\n\n")
    gone: TarItem = (f"{SITE}/.wh.my_wheel-2.0.dist-info", 0o644, b"")
    assert owners(read(tmp_path / "a", OS, WHEELS, (gone, newer)))[2:] == ["wheel:my-wheel 3.0"]
    emptied: TarItem = (f"{folder}/.wh..wh..opq", 0o644, b"")
    assert owners(read(tmp_path / "b", OS, WHEELS, (emptied,)))[2:] == []
    status = STATUS.replace(b"Version: 1.0-1", b"Version: 1.0-9")
    assert "deb:tool 1.0-9" in owners(read(tmp_path / "c", OS, (("var/lib/dpkg/status", 0o644, status),)))


def test_licences_are_found_through_links_and_by_source(tmp_path: Path) -> None:
    """libtool has no copyright of its own: another deb of its source has one."""
    value = document(read(tmp_path / "image", OS, WHEELS))
    licences = {row["name"]: row["licenses"] for row in value["components"] if row["type"] == "library"}
    assert licences == {
        "tool": [{"license": {"id": "GPL-2.0-or-later"}}], "libtool": [{"license": {"id": "GPL-2.0-or-later"}}],
        "my-wheel": [{"license": {"id": "MIT"}}],
    }  # fmt: skip
    linked: tuple[TarItem, ...] = (*OS, ("usr/share/doc/libtool", 0o777, "-> tool"))
    found = read(tmp_path / "linked", linked)
    assert list(found.packages[0].licence_files) == ["usr/share/doc/libtool/copyright"]


def document(installed: Installed) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(make_sbom(installed, "rockiln/tiny:1", DIGEST))
    return value


def test_document_is_valid_and_the_same_each_time(tmp_path: Path) -> None:
    installed = read(tmp_path / "image", OS, WHEELS)
    content = make_sbom(installed, "rockiln/tiny:1", DIGEST)
    assert content == make_sbom(installed, "rockiln/tiny:1", DIGEST)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(content.decode()) is None
    value = json.loads(content)
    assert "timestamp" not in value["metadata"]
    assert value["metadata"]["component"]["version"] == DIGEST
    assert {row["purl"] for row in value["components"] if "purl" in row} == {
        "pkg:deb/debian/libtool@1.0-2?arch=amd64&distro=debian-12&upstream=toolbox",
        "pkg:deb/debian/tool@1.0-1?arch=amd64&distro=debian-12&upstream=toolbox", "pkg:pypi/my-wheel@2.0",
    }  # fmt: skip
    assert list_components(value)["wheel:my-wheel 2.0"] == "3" * 64
    assert {row["name"] for row in value["components"] if row["type"] == "application"} == {"rockiln"}


def test_validator_would_find_a_fault(tmp_path: Path) -> None:
    value = document(read(tmp_path / "image", OS, WHEELS))
    value["components"][0]["type"] = "thing"
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(value)) is not None


def test_debs_of_amd_are_not_debians(tmp_path: Path) -> None:
    status = STATUS.replace(b"Tool Makers <tool@example.org>", b"ROCm Dev Support <rocm-dev.support@amd.com>")
    value = document(read(tmp_path / "image", OS, (("var/lib/dpkg/status", 0o644, status),)))
    assert any(str(row.get("purl", "")).startswith("pkg:deb/amd/tool@") for row in value["components"])


def test_image_of_others_is_listed_without_hashes(tmp_path: Path) -> None:
    installed = read(tmp_path / "image", OS)
    assert owners(installed) == ["deb:libtool 1.0-2", "deb:tool 1.0-1"]
    assert not any(one.sha256 for one in installed.packages)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(document(installed))) is None


def test_packages_of_debians_own_python_are_their_debs(tmp_path: Path) -> None:
    path = "usr/lib/python3/dist-packages/six-1.0.dist-info/METADATA"
    metadata: TarItem = (path, 0o644, b"Name: six\nVersion: 1\n\n")
    assert owners(read(tmp_path / "image", OS, (metadata,))) == ["deb:libtool 1.0-2", "deb:tool 1.0-1"]


def test_damaged_record_and_layer_are_named(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"version\.json is damaged"):
        read(tmp_path / "a", OS, (("etc/rockiln/version.json", 0o644, b"{"),))
    image = write_layout(tmp_path / "b", [make_tar(OS)], {})
    blob = tmp_path / "b/blobs" / image.layers[0].digest.replace(":", "/")
    blob.write_bytes(blob.read_bytes()[:-40] + b"x" * 40)
    with pytest.raises(VerificationError, match="layer 1"):
        check_image(LayoutSource(tmp_path / "b", tmp_path), Console(None), with_layers=True)


def test_pack_says_what_it_holds(tmp_path: Path) -> None:
    manifest = {"arch": "gfx942", "kernels": {"a": {}, "b": {}}, "variants": [{}], "triton": "3.4.0", "lld": "22.1"}
    metadata = b"Name: rockiln-kernels-gfx942\nVersion: 0.1\n\n"
    items: tuple[TarItem, ...] = (
        (f"{SITE}/rockiln_kernels_gfx942-0.1.dist-info/METADATA", 0o644, metadata),
        (f"{SITE}/rockiln_kernels_gfx942/pack/manifest.json", 0o644, json.dumps(manifest).encode()),
    )
    value = document(read(tmp_path / "image", OS, items))
    (component,) = [row for row in value["components"] if row["name"] == "rockiln-kernels-gfx942"]
    said = {row["name"].removeprefix("dev.rockiln:pack."): row["value"] for row in component["properties"]}
    assert said | {"arch": "gfx942", "kernels": "2", "variants": "1", "triton": "3.4.0", "lld": "22.1"} == said
    damaged = read(tmp_path / "damaged", OS, (items[0], (items[1][0], 0o644, b'{"kernels": 3}')))
    assert [one.pack for one in damaged.packages if one.kind == "wheel"] == [{}]
