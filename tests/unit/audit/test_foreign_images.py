"""Images that somebody else broke: whatever their JSON holds, a person is told in words, and never by a traceback."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_trees import SITE, find_rule
from rockiln.audit.audit import audit_scan
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan_image import scan_archive, scan_layout
from rockiln.cli import main
from rockiln.console import Console
from rockiln.errors import ImageError, RockilnError, UsageError
from rockiln.sizes.of_image import measure_archive_file, measure_layout
from tiny_image import TarItem, hash_of, make_tar, write_layout

QUIET = Console(None)
RECORD: dict[str, Any] = {
    "schema": 1, "rocm": "7.0.2", "archs": ["gfx942"], "absent": ["libx.so.1: the host's"],
    "provided-by-host": ["liby.so: there"], "packages": [{"kind": "wheel", "name": "a", "version": "1"}],
    "expected": [{"finding": "built-from-path", "paths": ["opt/**"], "why": "known"}],
}  # fmt: skip
PACK: dict[str, Any] = {
    "schema": 1, "arch": "gfx942", "triton": "3", "kernels": {"k": {"file": "k.hsaco", "sha256": "0"}},
    "variants": [{"op": "k", "cell": "bf16"}], "absent": [{"key": "l/bf16/x", "reason": "it spills"}],
}  # fmt: skip
URL: dict[str, Any] = {"url": "file:///home/x", "dir_info": {"editable": True}}
CONFIG: dict[str, Any] = {
    "architecture": "amd64", "config": {"Env": ["PATH=/bin"], "Labels": {"dev.rockiln.archs": "gfx942"}},
    "history": [{"created_by": "x", "comment": "y"}], "rootfs": {"type": "layers", "diff_ids": ["sha256:0"]},
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.just("sha256:" + "0" * 64),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def list_places(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The way to every value inside, and to the whole."""
    yield ()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from ((key, *rest) for rest in list_places(inner))


def replace_at(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    if not place:
        return new
    copy: Any = value.copy()
    copy[place[0]] = replace_at(value[place[0]], place[1:], new)
    return copy


class Broken:
    """An archive of a small image, in both forms, with one value of one of its documents replaced."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.wrong = data.draw(st.sampled_from(("record", "pack", "url", "config", "manifest", "index", "saved")))
        self.files: dict[str, bytes] = {}

    def pack(self, *, is_saved: bool) -> bytes:
        site = f"{SITE}/a-1.dist-info"
        items: list[TarItem] = [
            ("etc/rockiln/version.json", 0o644, self.write("record", RECORD)),
            (f"{site}/METADATA", 0o644, b"Name: a\n\n"),
            (f"{site}/direct_url.json", 0o644, self.write("url", URL)),
            (f"{SITE}/rockiln_kernels_x/pack/manifest.json", 0o644, self.write("pack", PACK)),
        ]  # fmt: skip
        layer, config = self.add(make_tar(items)), self.add(self.write("config", CONFIG))
        manifest = self.add(self.write("manifest", {"config": {"digest": config}, "layers": [{"digest": layer}]}))
        platform = {"os": "linux", "architecture": "amd64"}
        self.files["index.json"] = self.write("index", {"manifests": [{"digest": manifest, "platform": platform}]})
        if is_saved:
            names = [f"blobs/sha256/{digest.removeprefix('sha256:')}" for digest in (config, layer)]
            rows = [{"Config": names[0], "Layers": names[1:], "RepoTags": ["a:b"]}]
            self.files["manifest.json"] = self.write("saved", rows)
        return self.tar()

    def write(self, name: str, value: Any) -> bytes:
        if name == self.wrong:
            place = self.data.draw(st.sampled_from(sorted(list_places(value), key=repr)))
            value = replace_at(value, place, self.data.draw(JSON))
        return json.dumps(value).encode()

    def add(self, content: bytes) -> str:
        digest = hash_of(content)
        self.files[f"blobs/sha256/{digest.removeprefix('sha256:')}"] = content
        return digest

    def tar(self) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, content in self.files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()


@given(data=st.data(), is_saved=st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_document_of_an_image_makes_a_traceback(data: st.DataObject, is_saved: bool) -> None:
    archive = Broken(data).pack(is_saved=is_saved)
    with suppress(RockilnError):
        audit_scan(scan_archive(io.BytesIO(archive), "broken", Wanted(), QUIET))
    with suppress(RockilnError):
        measure_archive_file(io.BytesIO(archive), "broken", QUIET)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("{}", r"index\.json names no manifests"),
        ('{"manifests": [{}]}', "None is no sha256 digest"),
        ('{"manifests": [5]}', r"manifests\[0\] is not an object"),
        ('{"manifests": 5}', "manifests is not a list"),
        ("[]", "a document is not an object"),
        ("x", "damaged JSON"),
        ("[" * 100_000, "damaged JSON"),
        (" " * (16 << 20) + "{}", "has 16777218 bytes; such a file has no more than 16 MiB"),
    ],
)
def test_broken_index_is_refused_in_words(tmp_path: Path, index: str, words: str) -> None:
    layout = tmp_path / "layout"
    write_layout(layout, [make_tar([("etc/", 0o755, "")])], {})
    (layout / "index.json").write_text(index)
    with pytest.raises(ImageError, match=words):
        scan_layout(layout, "tiny", Wanted(), 1, QUIET)
    with pytest.raises(ImageError, match=words):
        measure_layout(layout, QUIET)


def test_index_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    """`diff` does not compare blobs with their hashes."""
    blobs = tmp_path / "blobs/sha256"
    blobs.mkdir(parents=True)
    index = json.dumps({"manifests": [{"digest": f"sha256:{'0' * 64}"}]})
    (blobs / ("0" * 64)).write_text(index)
    (tmp_path / "index.json").write_text(index)
    with pytest.raises(ImageError, match="lead from one to another"):
        measure_layout(tmp_path, QUIET)


def pack_one(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "fault", "words"),
    [
        (b"x", ImageError, "damaged JSON"), (b"{}", ImageError, "no list of images"), (b"[5]", ImageError, "object"),
        (b"[]", UsageError, "holds 0 images"), (b"[{}]", ImageError, "names no Config"),
        (b'[{"Config": 5}]', ImageError, "Config is not text"),
    ],
)  # fmt: skip
def test_broken_manifest_of_docker_save_is_refused_in_words(
    content: bytes, fault: type[RockilnError], words: str
) -> None:
    archive = pack_one("manifest.json", content)
    with pytest.raises(fault, match=words):
        scan_archive(io.BytesIO(archive), "saved", Wanted(), QUIET)
    with pytest.raises(fault, match=words):
        measure_archive_file(io.BytesIO(archive), "saved", QUIET)


@pytest.mark.parametrize("content", [b"\x28\xb5\x2f\xfdxxxx", b"\x1f\x8b\x08xxxxxxxxxxxxxxx", b"words", b""])
def test_what_is_no_archive_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "file.tar"
    path.write_bytes(content)
    for words in (("diff", str(path), str(path)), ("audit", str(path))):
        assert main(["--quiet", *words]) == 12
        error = capsys.readouterr().err
        assert error.startswith(f"rockiln: error: {path}: ")
        assert error.count("\n") == 2  # the error and the hint


@pytest.mark.parametrize(
    ("key", "value"), [("archs", 5), ("absent", 5), ("archs", [5]), ("packages", [5]), ("expected", 5), ("rocm", [])]
)
def test_damaged_record_is_a_finding_and_promises_nothing(tmp_path: Path, key: str, value: object) -> None:
    record = json.dumps({**RECORD, key: value}).encode()
    write_layout(tmp_path / "layout", [make_tar([("etc/rockiln/version.json", 0o644, record)])], CONFIG["config"])
    report = audit_scan(scan_layout(tmp_path / "layout", "tiny", Wanted(), 1, QUIET))
    finding = find_rule(report, "promise-unreadable")
    assert (finding.severity, finding.path) == ("error", "/etc/rockiln/version.json")
    assert finding.evidence == f"{key} is not what it should be: {json.dumps(value)}"


@pytest.mark.parametrize("record", [b"x", b"[]", b"[" * 100_000])
def test_record_that_is_no_object_is_a_finding(tmp_path: Path, record: bytes) -> None:
    write_layout(tmp_path / "layout", [make_tar([("etc/rockiln/version.json", 0o644, record)])], {})
    report = audit_scan(scan_layout(tmp_path / "layout", "tiny", Wanted(), 1, QUIET))
    assert [one.rule for one in report.findings] == ["promise-unreadable"]
