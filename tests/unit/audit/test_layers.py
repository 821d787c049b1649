"""Layers on each other: what a container sees, what lies hidden, and settings, from layouts, archives and streams."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from audit_trees import find_rule
from rockiln.audit.audit import audit_scan
from rockiln.audit.finding import AuditReport
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan import Scan
from rockiln.audit.scan_image import scan_archive, scan_layout
from rockiln.console import Console
from rockiln.errors import ImageError, UsageError
from tiny_image import TarItem, make_tar, write_layout

MIRROR = "mirror.example.com"
WANTED = Wanted(needles=(MIRROR,))
NOTHING = Console(None)


def scan(folder: Path, layers: Iterable[Iterable[TarItem]], start: dict[str, object] | None = None) -> Scan:
    write_layout(folder, [make_tar(items) for items in layers], start or {})
    return scan_layout(folder, "tiny", WANTED, 1, NOTHING)


def audit(folder: Path, layers: Iterable[Iterable[TarItem]], start: dict[str, object] | None = None) -> AuditReport:
    return audit_scan(scan(folder, layers, start))


def test_mirror_that_a_later_layer_hides_is_found(tmp_path: Path) -> None:
    pip = f"[global]\nindex-url = https://user:secret@{MIRROR}/simple\n".encode()
    layers = [[("etc/", 0o755, ""), ("etc/pip.conf", 0o644, pip)], [("etc/.wh.pip.conf", 0o644, b"")]]
    finding = find_rule(audit(tmp_path / "layout", layers), "mirror-named")
    assert (finding.severity, finding.path) == ("error", "/etc/pip.conf")
    assert "in layer 1, hidden by a later one" in finding.evidence


def test_passwords_are_never_printed(tmp_path: Path) -> None:
    line = b"machine deb http://user:hunter22@files.example.org/debian sid main\n"
    report = audit(tmp_path / "layout", [[("etc/apt/sources.list", 0o644, line)]])
    assert find_rule(report, "url-with-password").evidence.endswith("http://user:****@files.example.org")
    assert "hunter22" not in repr(report)


@pytest.mark.parametrize(
    "text",
    [f"see http://{MIRROR}/debian", f"{MIRROR}:8080", f"x@{MIRROR}", f"http://{MIRROR}"],
)
def test_mirror_is_found_in_any_small_file(tmp_path: Path, text: str) -> None:
    report = audit(tmp_path / "layout", [[("opt/app/notes", 0o644, text.encode())]])
    assert find_rule(report, "mirror-named").path == "/opt/app/notes"


@pytest.mark.parametrize("text", [f"my{MIRROR}", f"{MIRROR}.evil.org", f"old-{MIRROR}"])
def test_longer_names_are_other_hosts(tmp_path: Path, text: str) -> None:
    assert audit(tmp_path / "layout", [[("opt/app/notes", 0o644, text.encode())]]).findings == ()


@pytest.mark.parametrize("key", ["Env", "Labels"])
def test_mirror_in_the_settings_is_found(tmp_path: Path, key: str) -> None:
    url = f"http://{MIRROR}/simple"
    start: dict[str, object] = {key: [f"PIP_INDEX_URL={url}"] if key == "Env" else {"source": url}}
    finding = find_rule(audit(tmp_path / "layout", [[("etc/", 0o755, "")]], start), "mirror-named")
    assert finding.path == ""


def test_ld_library_path_is_found(tmp_path: Path) -> None:
    start: dict[str, object] = {"Env": ["PATH=/usr/bin", "LD_LIBRARY_PATH=/opt/rocm/lib"]}
    finding = find_rule(audit(tmp_path / "layout", [[("etc/", 0o755, "")]], start), "library-path-set")
    assert (finding.severity, finding.evidence) == ("error", "LD_LIBRARY_PATH=/opt/rocm/lib")


def test_label_that_promises_other_gpus_is_found(tmp_path: Path) -> None:
    record = json.dumps({"rocm": "7.0.2", "archs": ["gfx942"]}).encode()
    start: dict[str, object] = {"Labels": {"dev.rockiln.archs": "gfx942 gfx950"}}
    report = audit(tmp_path / "layout", [[("etc/rockiln/version.json", 0o644, record)]], start)
    assert find_rule(report, "label-differs").evidence == (
        "label dev.rockiln.archs: gfx942 gfx950; /etc/rockiln/version.json: gfx942"
    )


def test_archs_are_read_from_variables_of_other_peoples_images(tmp_path: Path) -> None:
    start: dict[str, object] = {"Env": ["PYTORCH_ROCM_ARCH=gfx90a:xnack-;gfx942,gfx1100"]}
    assert audit(tmp_path / "layout", [[("etc/", 0o755, "")]], start).archs == ("gfx1100", "gfx90a", "gfx942")


def test_private_keys_and_token_files_are_found(tmp_path: Path) -> None:
    key = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n"
    items: list[TarItem] = [
        ("root/.ssh/id_ed25519", 0o600, key), ("root/.netrc", 0o600, b"machine x login y password z"),
        ("usr/lib/python3/test/keycert.pem", 0o644, key), ("root/.docker/config.json", 0o600, b""),
    ]  # fmt: skip
    report = audit(tmp_path / "layout", [items])
    assert {one.path for one in report.findings} == {"/root/.ssh/id_ed25519", "/root/.netrc"}


def test_whiteouts_take_away_what_earlier_layers_brought(tmp_path: Path) -> None:
    files: list[TarItem] = [("a/x", 0o644, b"x"), ("a/y/z", 0o644, b"z"), ("b", 0o644, b"")]
    first: list[TarItem] = [("a/", 0o755, ""), ("a/y/", 0o755, ""), *files]
    second: list[TarItem] = [(".wh.b", 0o644, b""), ("a/.wh..wh..opq", 0o644, b""), ("a/new", 0o644, b"n")]
    assert sorted(scan(tmp_path / "layout", [first, second]).tree.nodes) == ["a", "a/new"]


def test_file_goes_on_under_its_other_name(tmp_path: Path) -> None:
    first: list[TarItem] = [("a", 0o644, b"etc"), ("c", 0o644, "=> a"), ("d", 0o644, "=> a")]
    found = scan(tmp_path / "layout", [first, [("a", 0o644, b"other bytes")]]).tree.nodes
    assert {path: (node.kind, node.size_bytes, node.link) for path, node in found.items()} == {
        "a": ("file", 11, ""), "c": ("file", 3, ""), "d": ("hardlink", 0, "c"),
    }  # fmt: skip


def test_folder_in_place_of_a_link_replaces_it(tmp_path: Path) -> None:
    first: list[TarItem] = [("data/", 0o755, ""), ("data/x", 0o644, b"x"), ("link", 0o777, "-> data")]
    tree = scan(tmp_path / "layout", [first, [("link/", 0o755, ""), ("link/y", 0o644, b"y")]]).tree
    assert (tree.find_file("link/x"), tree.find_file("link/y"), tree.find_file("data/x")) == (None, "link/y", "data/x")


def test_links_that_lead_round_in_circles_lead_nowhere(tmp_path: Path) -> None:
    items: list[TarItem] = [("a", 0o777, "-> b"), ("b", 0o777, "-> a"), ("c", 0o777, "-> c/d")]
    tree = scan(tmp_path / "layout", [items]).tree
    assert [tree.resolve(path) for path in ("a", "b/x", "c", "c/d/e")] == [None] * 4


def test_layer_with_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    image = write_layout(tmp_path / "layout", [make_tar([("etc/", 0o755, "")])], {})
    blob = tmp_path / "layout/blobs/sha256" / image.layers[0].digest.removeprefix("sha256:")
    blob.write_bytes(blob.read_bytes()[:-1] + b"\1")
    with pytest.raises(ImageError, match=r"another hash|cannot read the layer"):
        scan_layout(tmp_path / "layout", "tiny", WANTED, 1, NOTHING)


def test_path_that_leads_out_of_the_image_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="leads out of the image"):
        scan(tmp_path / "layout", [[("../../etc/passwd", 0o644, b"")]])


def pack(folder: Path) -> bytes:
    """A layout as an archive, blobs first."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False)
    return buffer.getvalue()


def test_archive_gives_the_findings_of_the_layout(tmp_path: Path) -> None:
    layers: list[list[TarItem]] = [[("etc/pip.conf", 0o644, MIRROR.encode())], [("etc/.wh.pip.conf", 0o644, b"")]]
    start: dict[str, object] = {"Env": ["LD_LIBRARY_PATH=/x"]}
    of_layout = audit(tmp_path / "layout", layers, start)
    archive = pack(tmp_path / "layout")
    of_archive = audit_scan(scan_archive(io.BytesIO(archive), "tiny", WANTED, NOTHING))
    assert of_archive == of_layout
    assert len(of_layout.findings) == 2


def test_archive_of_several_images_names_them(tmp_path: Path) -> None:
    rows = [{"Config": "c.json", "RepoTags": [f"one:{number}"], "Layers": []} for number in (1, 2)]
    (tmp_path / "save").mkdir()
    (tmp_path / "save/manifest.json").write_text(json.dumps(rows))
    with pytest.raises(UsageError, match="holds 2 images: one:1; one:2"):
        scan_archive(io.BytesIO(pack(tmp_path / "save")), "saved", WANTED, NOTHING)


def test_other_archives_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/readme").write_text("words")
    with pytest.raises(ImageError, match=r"neither manifest\.json nor index\.json"):
        scan_archive(io.BytesIO(pack(tmp_path / "other")), "saved", WANTED, NOTHING)
    with pytest.raises(ImageError, match="cannot be read as an archive"):
        scan_archive(io.BytesIO(b"no archive" * 100), "saved", WANTED, NOTHING)


@pytest.mark.parametrize(("elf_class", "machine"), [(1, 3), (1, 40), (2, 183)], ids=["i386", "arm", "aarch64"])
def test_programs_of_other_machines_are_no_finding(tmp_path: Path, elf_class: int, machine: int) -> None:
    """Wine and multiarch images hold hundreds of them; a layer hands small ones on from memory."""
    kind = (3).to_bytes(2, "little") + machine.to_bytes(2, "little") + (1).to_bytes(4, "little")
    elf = (b"\x7fELF" + bytes((elf_class, 1, 1)) + bytes(9) + kind).ljust(64, b"\0")
    read = scan(tmp_path / "layout", [[("usr/lib/i386/libc.so.6", 0o755, elf)]])
    assert read.faults == {}
