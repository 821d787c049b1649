"""A signed image verifies; one changed byte in any file, or what does not belong together, is named."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rockiln.attest.attached import ENVELOPE_TYPE, Subject, make_attachment, read_attached, write_attached
from rockiln.attest.envelope import seal
from rockiln.attest.statement import make_statement
from rockiln.console import Console
from rockiln.errors import VerificationError
from rockiln.sign.keys import generate_key
from rockiln.verification.sources import ArchiveSource, LayoutSource
from rockiln.verification.verify_image import Verification, verify_image
from signed_image import KEY, SignedImage, make_provenance, make_signed, read_checked, sign_image, write_image

QUIET = Console(None)


@pytest.fixture
def signed(tmp_path: Path) -> SignedImage:
    return make_signed(tmp_path)


def verify(signed: SignedImage, **options: object) -> Verification:
    return verify_image(signed.source, KEY.public, QUIET, **options)  # type: ignore[arg-type]  # named ones


def test_signed_image_verifies(signed: SignedImage) -> None:
    verified = verify(signed)
    assert verified.digest == signed.image.digest
    assert verified.reference == "rockiln/tiny:1"
    assert (verified.target, verified.archs, verified.builder) == ("tiny", ("gfx942",), "https://example.org/ci")
    assert [passed.what for passed in verified.passed] == [
        "signature", "provenance", "SBOM", "manifest and config", "layers",
    ]  # fmt: skip


def test_each_changed_byte_of_small_files_is_found(signed: SignedImage) -> None:
    """Each byte of the indexes and of oci-layout, which no digest covers."""
    for path in (*signed.path.rglob("index.json"), *signed.path.rglob("oci-layout")):
        content = path.read_bytes()
        path.chmod(0o644)
        missed = []
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            try:
                verify(signed, with_layers=False)
            except VerificationError:
                continue
            missed.append((place, content[max(0, place - 10) : place + 10]))
        path.write_bytes(content)
        assert not missed, path


def test_one_changed_byte_in_any_file_is_found_and_named(signed: SignedImage) -> None:
    files = sorted(path for path in signed.path.rglob("*") if path.is_file())
    assert len(files) > 10
    for path in files:
        content = path.read_bytes()
        path.chmod(0o644)
        for place in (0, len(content) // 3, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :])
            with pytest.raises(VerificationError) as caught:
                verify(signed)
            assert str(signed.path) in caught.value.message, path
        path.write_bytes(content)
    verify(signed)


def test_each_missing_file_is_found(signed: SignedImage) -> None:
    for path in sorted(path for path in signed.path.rglob("*") if path.is_file()):
        kept = path.read_bytes()
        path.unlink()
        with pytest.raises(VerificationError):
            verify(signed)
        path.write_bytes(kept)


def test_another_key_is_refused(signed: SignedImage) -> None:
    with pytest.raises(VerificationError, match="no valid signature: a signature does not fit the key"):
        verify_image(signed.source, generate_key().public, QUIET)


def test_image_without_attachments_is_refused(tmp_path: Path) -> None:
    write_image(tmp_path / "image")
    source = LayoutSource(tmp_path / "image", tmp_path / "attached")
    with pytest.raises(VerificationError, match="nothing is attached"):
        verify_image(source, KEY.public, QUIET)


def test_signature_of_another_image_does_not_count(tmp_path: Path) -> None:
    ours = make_signed(tmp_path / "ours")
    other = sign_image(tmp_path / "other", write_image(tmp_path / "other/image", ("etc/motd", 0o644, b"other")))
    shutil.rmtree(ours.path / "attached")
    shutil.copytree(other.path / "attached", ours.path / "attached")
    with pytest.raises(VerificationError, match="belongs to sha256:"):
        verify(ours)


def test_name_that_was_not_signed_is_refused(signed: SignedImage) -> None:
    index_path = signed.path / "image/index.json"
    index = json.loads(index_path.read_text())
    index["manifests"][0]["annotations"] = {"io.containerd.image.name": "docker.io/rockiln/other:1"}
    index_path.write_text(json.dumps(index))
    with pytest.raises(VerificationError, match="it is called rockiln/other:1 here, and was signed as rockiln/tiny:1"):
        verify(signed)


def test_builder_must_be_the_one_that_is_asked_for(signed: SignedImage) -> None:
    assert verify(signed, builder="https://example.org/ci")
    with pytest.raises(VerificationError, match=r"built by https://example\.org/ci, not by https://else\.org"):
        verify(signed, builder="https://else.org")


def test_sbom_that_differs_from_the_provenance_is_refused(tmp_path: Path) -> None:
    rows = make_provenance()["buildDefinition"]["resolvedDependencies"]
    rows[0]["digest"]["sha256"] = "9" * 64
    signed = sign_image(tmp_path, write_image(tmp_path / "image"), make_provenance(resolvedDependencies=rows))
    with pytest.raises(VerificationError, match="not the hash that the provenance has: deb:tool"):
        verify(signed)


def test_sbom_of_other_layers_is_refused(tmp_path: Path) -> None:
    """Signed with the right key, and yet not what is in the image."""
    from rockiln.attest.attached import make_attachments
    from rockiln.sbom.document import make_sbom

    more = ("opt/venv/lib/python3.11/site-packages/extra-1.dist-info/METADATA", 0o644, b"Name: extra\nVersion: 1\n\n")
    image = write_image(tmp_path / "image", more)
    write_image(tmp_path / "small")
    small = read_checked(tmp_path / "small")
    assert small.installed is not None
    sbom = make_sbom(small.installed, image.reference, image.digest)
    size_bytes = read_checked(tmp_path / "image").manifest_bytes
    subject = Subject(digest=image.digest, size_bytes=size_bytes, reference=image.reference)
    write_attached(tmp_path / "attached", make_attachments(subject, sbom, make_provenance(), KEY))
    with pytest.raises(VerificationError, match="lacks wheel:extra 1, which the image holds"):
        verify(SignedImage(path=tmp_path, image=image, key=KEY))


def test_statements_of_others_neither_help_nor_harm(signed: SignedImage) -> None:
    subject = Subject(digest=signed.image.digest, size_bytes=1, reference="x")
    statement = make_statement("x", signed.image.digest, "https://example.org/smoke", {"passed": True})
    other = make_attachment(subject, ENVELOPE_TYPE, [(seal(statement, generate_key()), ENVELOPE_TYPE, {})])
    folder = signed.path / "attached"
    write_attached(folder, (*read_attached(folder), other))
    verify(signed)
    write_attached(folder, (read_attached(folder)[0], other))
    with pytest.raises(VerificationError, match="does not fit"):
        verify(signed)


def test_layout_that_another_tool_copied_verifies(signed: SignedImage) -> None:
    """skopeo writes JSON with blanks, and a name of its own."""
    layout, index_path = signed.path / "image/oci-layout", signed.path / "image/index.json"
    layout.write_text('{"imageLayoutVersion": "1.0.0"}\n')
    index = json.loads(index_path.read_text())
    index["manifests"][0]["annotations"] = {"org.opencontainers.image.ref.name": "mine"}
    index_path.write_text(json.dumps(index, indent=2))
    assert verify(signed).digest == signed.image.digest


def test_archive_of_a_layout_verifies(signed: SignedImage) -> None:
    archive = signed.path / "image.tar"
    subprocess.run(["tar", "-C", signed.path / "image", "-cf", archive, "."], check=True)
    source = ArchiveSource(archive, signed.path / "attached")
    assert verify_image(source, KEY.public, QUIET).digest == signed.image.digest
    content = bytearray(archive.read_bytes())
    place = content.find(b"\x1f\x8b") + 40  # within the first layer
    content[place] ^= 1
    archive.write_bytes(content)
    with pytest.raises(VerificationError, match=r"image\.tar"):
        verify_image(source, KEY.public, QUIET)


def test_attaching_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    one = make_signed(tmp_path / "one")
    two = make_signed(tmp_path / "two")
    for path in sorted((one.path / "attached").rglob("*")):
        other = two.path / path.relative_to(one.path)
        assert path.is_dir() or path.read_bytes() == other.read_bytes()


def test_nothing_but_image_and_attached_is_left(tmp_path: Path) -> None:
    signed = make_signed(tmp_path / "signed")
    assert sorted(path.name for path in signed.path.iterdir()) == ["attached", "image"]
