"""A registry may answer anything: whatever is attached, verify raises VerificationError or holds; never a traceback."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rockiln.attest.attached import Attachment, read_attached
from rockiln.console import Console
from rockiln.errors import VerificationError
from rockiln.image_config import encode
from rockiln.media_types import MANIFEST_TYPE
from rockiln.readers import digest_of
from rockiln.verification.sources import LayoutSource
from rockiln.verification.verify_image import verify_image
from signed_image import KEY, SignedImage, make_signed

ODD = st.sampled_from([None, 3, -1, "", "x", [], ["x"], {}, {"a": 1}, True, "sha256:" + "0" * 64, 1 << 80])


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedImage:
    return make_signed(tmp_path_factory.mktemp("signed"))


class Answering(LayoutSource):
    """The image as it is, and whatever attachments."""

    def __init__(self, path: Path, attachments: tuple[Attachment, ...]) -> None:
        super().__init__(path, path)
        self._attachments = attachments

    def read_attachments(self) -> tuple[Attachment, ...]:
        return self._attachments


def list_places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key path of a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(found for key, item in items for found in list_places(item, (*place, key)))]


def replace_at(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    if not place:
        return odd
    key, *rest = place
    if isinstance(value, dict):
        return {**value, key: replace_at(value[key], tuple(rest), odd)}
    return [replace_at(item, tuple(rest), odd) if index == key else item for index, item in enumerate(value)]


def change(content: bytes, data: st.DataObject) -> bytes:
    value = json.loads(content)
    return encode(replace_at(value, data.draw(st.sampled_from(list_places(value))), data.draw(ODD)))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_manifest_is_refused_in_words(signed: SignedImage, data: st.DataObject) -> None:
    attachments = list(read_attached(signed.path / "attached"))
    number = data.draw(st.integers(0, len(attachments) - 1))
    one = attachments[number]
    attachments[number] = Attachment(manifest=change(one.manifest, data), blobs=one.blobs, tag=one.tag)
    with suppress(VerificationError):  # any other exception is the fault that is looked for
        verify_image(Answering(signed.path / "image", tuple(attachments)), KEY.public, Console(None), with_layers=False)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_blob_under_a_manifest_that_names_it_is_refused(signed: SignedImage, data: st.DataObject) -> None:
    """Whoever changes payload, envelope or SBOM can change the manifest over it, too: only signatures stop them."""
    attachments = list(read_attached(signed.path / "attached"))
    number = data.draw(st.integers(0, len(attachments) - 1))
    document = json.loads(attachments[number].manifest)
    layer = data.draw(st.sampled_from(document["layers"]))
    before = attachments[number].blobs[layer["digest"]]
    after = change(before, data)
    layer["digest"], layer["size"] = digest_of(after), len(after)
    blobs = {**attachments[number].blobs, digest_of(after): after}
    attachments[number] = Attachment(manifest=encode(document), blobs=blobs)
    source = Answering(signed.path / "image", tuple(attachments))
    if json.loads(before) == json.loads(after):
        return
    with suppress(VerificationError):
        verify_image(source, KEY.public, Console(None), with_layers=False)
        changed = json.loads(after)
        assert "payload" in changed, "an envelope may get other keys beside what is signed; nothing else may change"
        assert changed["payload"] == json.loads(before)["payload"]


def write_image_with(folder: Path, signed: SignedImage, manifest: bytes, index: dict[str, Any]) -> Path:
    """A layout with the same blobs, and another manifest and index."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    for path in (signed.path / "image/blobs/sha256").iterdir():
        with suppress(FileExistsError):
            (blobs / path.name).hardlink_to(path)
    (blobs / digest_of(manifest).partition(":")[2]).write_bytes(manifest)
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (folder / "index.json").write_bytes(encode(index))
    return folder


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_image_manifest_and_index_are_refused_in_words(
    signed: SignedImage, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    blob = signed.path / "image/blobs" / signed.image.digest.replace(":", "/")
    manifest = change(blob.read_bytes(), data)
    entry = {"mediaType": MANIFEST_TYPE, "digest": digest_of(manifest), "size": len(manifest)}
    index: Any = {"schemaVersion": 2, "manifests": [entry]}
    if data.draw(st.booleans()):
        index = json.loads(change(encode(index), data))
    folder = write_image_with(tmp_path_factory.mktemp("hostile"), signed, manifest, index)
    with pytest.raises(VerificationError):
        verify_image(LayoutSource(folder, signed.path / "attached"), KEY.public, Console(None))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_layout_of_attachments_is_refused_in_words(
    signed: SignedImage, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("attached")
    shutil.copytree(signed.path / "attached", folder, dirs_exist_ok=True)
    before = (folder / "index.json").read_bytes()
    (folder / "index.json").unlink()
    (folder / "index.json").write_bytes(change(before, data))
    if (folder / "index.json").read_bytes() == before:
        return
    with pytest.raises(VerificationError):
        verify_image(LayoutSource(signed.path / "image", folder), KEY.public, Console(None), with_layers=False)
