"""Rows that are built here, as verify, licences, pull and attest take them: damage ends with their own code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from leftovers import flip_byte
from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, TOP
from publish.project import note_ended

from rockiln.cli import main
from rockiln.image_config import hash_artifacts
from rockiln.jsonable import write_value
from rockiln.locked import LockedTarget
from signed_image import KEY, OS, WHEELS, SignedImage, make_provenance, sign_image
from tiny_image import make_tar, write_layout

Said = pytest.CaptureFixture[str]
LOCKED = LockedTarget(target_id=CPU_ID, inputs_sha256="0" * 64, artifacts=(), requested=())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without a place to publish to; no engine is asked."""
    (tmp_path / "matrix.toml").write_text(TOP + CPU_ROW + GPU_ROW)
    (tmp_path / "cosign.pub").write_text(KEY.public.to_pem())
    for name in ("jax", "torch"):
        (tmp_path / "images" / name).mkdir(parents=True)
        recipe = 'schema = 1\ncmd = ["python"]\nlayer-budget = 10\n[[packages]]\nwhy = "it"\nnames = ["base-files"]\n'
        (tmp_path / "images" / name / "image.toml").write_text(recipe)
    monkeypatch.setattr("rockiln.verbs.pull._find_engine", lambda _invocation: pytest.fail("an engine was asked"))
    return tmp_path


@pytest.fixture
def built(project: Path) -> SignedImage:
    """As a build and `attest --key` leave it."""
    folder = project / "build" / CPU_ID
    labels = {"dev.rockiln.target": CPU_ID, "dev.rockiln.lock": hash_artifacts(LOCKED)}
    reference = f"rockiln/jax:{CPU_ID}"
    image = write_layout(folder / "image", (make_tar(OS), make_tar(WHEELS)), {"Labels": labels}, reference)
    index_path = folder / "image/index.json"
    index = json.loads(index_path.read_text())
    names = {"io.containerd.image.name": f"docker.io/{reference}", "org.opencontainers.image.ref.name": CPU_ID}
    index["manifests"][0]["annotations"] = names
    index_path.write_text(json.dumps(index))
    write_value(LOCKED, folder / "lock.json")
    note_ended(image)
    return sign_image(folder, image, make_provenance(externalParameters={"target": CPU_ID}))


def run(project: Path, *words: str) -> int:
    return main(["--project", str(project), "--cache", str(project / "cache"), "--quiet", *words])


SPOILS = {"flip": flip_byte, "gone": Path.unlink, "cut": lambda path: os.truncate(path, 9)}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
@pytest.mark.parametrize("part", ["layer", "config", "manifest", "index"])
@pytest.mark.parametrize("verb", ["verify", "licences", "pull", "attest"])
def test_damaged_row_ends_with_the_code_of_verification(
    project: Path, built: SignedImage, capsys: Said, verb: str, part: str, spoil: Callable[[Path], None]
) -> None:
    image = built.image
    digest = {"layer": image.layers[0].digest, "config": image.config_digest}.get(part, image.digest)
    place = "index.json" if part == "index" else f"blobs/{digest.replace(':', '/')}"
    (built.path / "image" / place).chmod(0o644)
    spoil(built.path / "image" / place)
    assert run(project, verb, CPU_ID) == 24
    assert capsys.readouterr().out == ""


def test_layer_of_a_built_row_is_named_with_the_way_out(project: Path, built: SignedImage, capsys: Said) -> None:
    digest = built.image.layers[0].digest
    flip_byte(built.path / "image/blobs" / digest.replace(":", "/"))
    for words in (("pull", CPU_ID), ("pull", CPU_ID, "--unverified"), ("verify", CPU_ID)):
        assert run(project, *words) == 24
        said = capsys.readouterr().err
        assert digest in said
        assert f"rockiln build --verify {CPU_ID}" in said


def test_several_rows_are_named_before_anything_else(project: Path, capsys: Said) -> None:
    assert run(project, "pull", "*") == 2
    said = capsys.readouterr().err
    assert "* names 2 rows" in said
    assert CPU_ID in said
    assert GPU_ID in said


def test_what_an_earlier_key_signed_is_named_where_it_stays(
    project: Path, built: SignedImage, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rockiln.write_image.read_image", lambda _path: built.image)  # its layers have no titles
    index = (built.path / "attached/index.json").read_bytes()
    assert run(project, "attest", CPU_ID, "--builder", "https://other.example") == 0
    assert f"{built.path / 'attached'}: signed before, and left as it was" in capsys.readouterr().out
    assert (built.path / "attached/index.json").read_bytes() == index


@pytest.mark.parametrize("name", ["sbom.cdx.json", "provenance.json", "licences.json", "attached"])
def test_what_stands_in_the_way_of_attest_is_named(project: Path, built: SignedImage, capsys: Said, name: str) -> None:
    path = built.path / name
    if name == "attached":
        path.rename(project / "away")
        path.write_text("x")
    else:
        path.mkdir()
    assert run(project, "attest", CPU_ID) == 2
    assert f"{path} is a f" in capsys.readouterr().err
    assert not (built.path / ".attaching").exists()
