"""A layout may hold anything under its names: links, pipes, devices, huge files. Each reader says so, in words."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rockiln.attest.attached import read_attached
from rockiln.attest.push_attached import read_of_image
from rockiln.cli import main
from rockiln.console import Console
from rockiln.engines.archive import stream_archive
from rockiln.errors import EngineError, ImageError, VerificationError
from rockiln.publish.layout import read_layout
from rockiln.write_image import read_image
from signed_image import KEY, SignedImage, make_signed

Spoil = Callable[[Path], None]


def _link(path: Path) -> None:
    """To the very file: it is the link that is refused, wherever it leads."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _grow(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, 200 << 20)


KINDS: dict[str, tuple[Spoil, str]] = {
    "link": (_link, "symbolic link"), "pipe": (_pipe, "named pipe"), "device": (_device, "symbolic link"),
    "folder": (_folder, "folder"), "huge": (_grow, "209715200 bytes"),
}  # fmt: skip
PARTS = ("index", "manifest", "config", "layer")


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """SIGALRM ends the test process's wait for a writer of a pipe."""

    def stop(_signal: int, _frame: object) -> None:
        pytest.fail("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def signed(tmp_path: Path) -> SignedImage:
    (tmp_path / "cosign.pub").write_text(KEY.public.to_pem())
    return make_signed(tmp_path)


def locate(signed: SignedImage, part: str) -> Path:
    image = signed.image
    digests = {"manifest": image.digest, "config": image.config_digest, "layer": image.layers[0].digest}
    path = image.layout_path
    return path / "index.json" if part == "index" else path / "blobs" / digests[part].replace(":", "/")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("verb", "code"), [("verify", 24), ("audit", 12), ("diff", 12)])
def test_verbs_refuse_what_is_no_regular_file(
    signed: SignedImage, verb: str, code: int, part: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil, what = KINDS[kind]
    path = locate(signed, part)
    spoil(path)
    image = str(signed.image.layout_path)
    words = [image, image] if verb == "diff" else [image]
    assert main(["--project", str(signed.path), "--quiet", verb, *words]) == code
    said = capsys.readouterr().err
    is_left_out = part == "index" and verb == "audit" and kind in {"pipe", "folder", "device"}
    assert path.name in said
    assert is_left_out or what in said
    assert "Traceback" not in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
def test_push_refuses_what_is_no_regular_file(signed: SignedImage, part: str, kind: str) -> None:
    spoil, what = KINDS[kind]
    spoil(locate(signed, part))
    with pytest.raises(ImageError, match=what):
        read_layout(signed.image.layout_path, "tiny")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS[:3])
def test_own_reader_refuses_what_is_no_regular_file(signed: SignedImage, part: str, kind: str) -> None:
    """What `attest`, `push`, `smoke` and `load` read of a built image."""
    spoil, what = KINDS[kind]
    index = json.loads(locate(signed, "index").read_text())
    index["manifests"][0]["annotations"] = {"io.containerd.image.name": "rockiln/tiny:1"}
    locate(signed, "index").write_text(json.dumps(index))
    spoil(locate(signed, part))
    with pytest.raises(ImageError, match=what):
        read_image(signed.image.layout_path)


def test_own_reader_follows_no_digest_out_of_the_layout(signed: SignedImage) -> None:
    index_path = locate(signed, "index")
    index = json.loads(index_path.read_text())
    index["manifests"][0]["digest"] = "sha256:../../../cosign.pub"
    index_path.write_text(json.dumps(index))
    with pytest.raises(ImageError, match="no sha256 digest"):
        read_image(signed.image.layout_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", PARTS)
def test_nothing_else_goes_into_an_engine(signed: SignedImage, part: str, kind: str) -> None:
    if (part, kind) == ("layer", "huge"):
        pytest.skip("a layer may have this size: the engine compares its digest")
    spoil, what = KINDS[kind]
    spoil(locate(signed, part))
    with pytest.raises(EngineError, match=what):
        list(stream_archive(signed.image, lambda _: None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["index.json", "oci-layout", "blob"])
def test_what_is_attached_is_read_as_carefully(signed: SignedImage, name: str, kind: str) -> None:
    spoil, what = KINDS[kind]
    folder = signed.path / "attached"
    spoil(next((folder / "blobs" / "sha256").iterdir()) if name == "blob" else folder / name)
    with pytest.raises(VerificationError, match=what):
        read_attached(folder)


@pytest.mark.parametrize("kind", ["link", "pipe", "device", "folder"])
def test_push_does_not_pass_over_an_odd_index_of_what_is_attached(signed: SignedImage, kind: str) -> None:
    KINDS[kind][0](signed.path / "attached" / "index.json")
    with pytest.raises(VerificationError, match="regular file"):
        read_of_image(signed.path / "attached", signed.image.digest, Console(None))


@pytest.mark.parametrize(("verb", "code"), [("verify", 24), ("diff", 12)])
def test_archive_may_be_a_link_and_no_pipe(signed: SignedImage, verb: str, code: int) -> None:
    path, link, pipe = (signed.path / name for name in ("image.tar", "link.tar", "pipe.tar"))
    with tarfile.open(path, "w") as archive:
        archive.add(signed.image.layout_path, arcname=".")
    link.symlink_to(path)
    os.mkfifo(pipe)
    start = ["--project", str(signed.path), "--quiet", verb]
    assert main([*start, *[str(link)] * (1 + (verb == "diff"))]) == 0
    assert main([*start, *[str(pipe)] * (1 + (verb == "diff"))]) == code


def test_archive_with_a_huge_index_is_refused_before_it_is_read(signed: SignedImage) -> None:
    _grow(locate(signed, "index"))
    with tarfile.open(signed.path / "image.tar", "w") as archive:
        archive.add(signed.image.layout_path, arcname=".")
    shutil.rmtree(signed.image.layout_path)
    assert main(["--project", str(signed.path), "--quiet", "verify", str(signed.path / "image.tar")]) == 24


def test_layout_of_two_images_is_counted_in_words(signed: SignedImage, capsys: pytest.CaptureFixture[str]) -> None:
    path = locate(signed, "index")
    index = json.loads(path.read_text())
    index["manifests"] *= 2
    path.write_text(json.dumps(index))
    assert main(["--project", str(signed.path), "--quiet", "verify", str(signed.image.layout_path)]) == 24
    assert "names 2 images, and must name one" in capsys.readouterr().err
