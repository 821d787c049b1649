"""Bytes that change in the cache or beside an image: named, made again, and the same digest after all."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from leftovers import flip_byte

from remains import MADE, list_damaged
from rockiln.built_values import BUILT
from rockiln.lock import read_lock
from rockiln.write_image import read_image
from small_project import SMALL, SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]


@pytest.fixture
def project(undisturbed: SmallProject, tmp_path: Path) -> SmallProject:
    """Built, with a cache of its own."""
    folder = tmp_path / "copy"
    shutil.copytree(undisturbed.path.parent, folder)
    return SmallProject(path=folder / "project", cache_path=folder / "cache")


def forget(project: SmallProject, *names: str) -> None:
    """Take away the image, and parts of the cache that would hide the damage."""
    shutil.rmtree(project.path / "build")
    for name in names:
        shutil.rmtree(project.cache_path / name)


def build_anew(project: SmallProject) -> tuple[str, list[str]]:
    """The digest, and the warnings."""
    done = project.run("build", SMALL)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith("rockiln: warning: ")]
    return done.stdout.split()[1], warnings


def find_content(project: SmallProject, pattern: str) -> Path:
    """The host file of the first path of any package that matches."""
    for manifest_path in sorted((project.cache_path / "unpacked").glob("*.json")):
        entries = json.loads(manifest_path.read_bytes().partition(b"\n")[2])["entries"]
        for path, kind, _, _, _, _, sha256, *_ in entries:
            if kind == "file" and re.fullmatch(pattern, path):
                return project.cache_path / "contents" / sha256[:2] / sha256
    pytest.fail(f"no package has {pattern}")


def test_changed_artifact_is_named_and_fetched_again(project: SmallProject, digest: str) -> None:
    artifacts = read_lock(project.path / "matrix.lock").targets[SMALL].artifacts
    changed = [artifact for artifact in artifacts if artifact.name in {"libssl3", "jax"}]
    for artifact in changed:
        flip_byte(project.cache_path / "store/sha256" / artifact.sha256[:2] / artifact.sha256)
    forget(project, *MADE)
    found, warnings = build_anew(project)
    assert found == digest
    assert len(warnings) == len(changed) == 2
    for artifact in changed:
        (warning,) = [line for line in warnings if artifact.file in line]
        assert "fetched and unpacked again" in warning
    assert list_damaged(project) == []


def test_artifact_changed_after_it_was_unpacked_is_found_when_asked_for(project: SmallProject, digest: str) -> None:
    artifact = read_lock(project.path / "matrix.lock").targets[SMALL].artifacts[0]
    flip_byte(project.cache_path / "store/sha256" / artifact.sha256[:2] / artifact.sha256)
    done = project.run("build", "--verify", SMALL)
    assert artifact.file in done.stderr
    assert done.stdout.split()[1] == digest
    assert list_damaged(project) == []


CONTENTS = {
    "module that is compiled": r"usr/lib/python3\.11/os\.py",
    "library that ldconfig reads": r"usr/lib/x86_64-linux-gnu/libssl\.so\.3",
    "certificate": r"usr/share/ca-certificates/mozilla/ISRG_Root_X1\.crt",
    "program": r"usr/bin/openssl",
    "text that is read": r"usr/share/base-passwd/passwd\.master",
    "RECORD that is rewritten": r"opt/venv/lib/.*/jax-1\.0\.dist-info/RECORD",
    "module of the wheel": r"opt/venv/lib/.*/jax\.py",
}


@pytest.mark.parametrize("kept", [(), ("layers",), ("answers",)], ids=["all made anew", "layers kept", "answers kept"])
def test_changed_contents_are_named_and_unpacked_again(
    kept: tuple[str, ...], project: SmallProject, digest: str
) -> None:
    """What the image's programs would have made of them is not kept either."""
    contents = {what: find_content(project, pattern) for what, pattern in CONTENTS.items()}
    for path in contents.values():
        flip_byte(path)
    forget(project, *({"layers", "answers"} - set(kept)))
    found, warnings = build_anew(project)
    assert found == digest
    if not kept:
        for what, path in contents.items():
            assert [line for line in warnings if path.name in line], what
        assert list_damaged(project) == []
    forget(project, "answers", "layers")
    assert build_anew(project)[0] == digest
    assert list_damaged(project) == []


def test_changed_layer_is_not_published(project: SmallProject, digest: str) -> None:
    image = read_image(project.path / "build" / SMALL / "image")
    for layer in image.layers:
        flip_byte(project.cache_path / "layers/blobs" / layer.digest.replace(":", "/"))
    assert len(list_damaged(project)) == len(image.layers)
    forget(project)
    assert build_anew(project)[0] == digest
    assert list_damaged(project) == []


def test_changed_layer_of_a_finished_image_is_named_by_smoke_and_mended_as_it_says(
    project: SmallProject, digest: str
) -> None:
    image = read_image(project.path / "build" / SMALL / "image")
    flip_byte(image.layout_path / "blobs" / image.layers[-1].digest.replace(":", "/"))
    smoked = project.run("smoke", "--engine", "embedded", SMALL)
    assert smoked.returncode == 13
    assert image.layers[-1].digest.removeprefix("sha256:") in smoked.stderr
    assert f"rockiln build --verify {SMALL}".removesuffix(SMALL) in smoked.stderr
    assert project.run("build", "--verify", SMALL).stdout.split()[1] == digest
    assert list_damaged(project) == []


def truncate(path: Path) -> None:
    """Half of the file is gone, as after a power cut. That any changed byte is noticed is shown in test_sealed.py."""
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


KEPT_RECORDS = {
    "manifests": "cache/unpacked/*.json",
    "answers": "cache/answers/*/*.json",
    "layer index": "cache/layers/index/*.json",
    "note of the build": f"project/build/{SMALL}/built",
    "values": f"project/build/{SMALL}/*.json",
    "what the audit saw": f"project/build/{SMALL}/inspected",
    "index of the layout": f"project/build/{SMALL}/image/index.json",
}
BLOBS = {
    "blobs of the layout": f"project/build/{SMALL}/image/blobs/sha256/*",
    "layer blobs": "cache/layers/blobs/sha256/*",
    "contents": "cache/contents/??/*",
    "artifacts": "cache/store/sha256/??/*",
}


def read_records(project: SmallProject) -> dict[str, bytes]:
    """All records by their place, without where the project lies, without the note, which has hashes of that, and
    without the seconds that a build took."""
    top = project.path.parent
    patterns = (pattern for what, pattern in KEPT_RECORDS.items() if what != "note of the build")
    paths = sorted(path for pattern in patterns for path in top.glob(pattern) if path.name != "times.json")
    return {str(path.relative_to(top)): path.read_bytes().replace(str(top).encode(), b"") for path in paths}


@pytest.mark.parametrize("change", [truncate, flip_byte], ids=lambda change: change.__name__)
@pytest.mark.parametrize("what", KEPT_RECORDS)
def test_damaged_record_is_made_again(
    change: Callable[[Path], None], what: str, project: SmallProject, undisturbed: SmallProject, digest: str
) -> None:
    paths = sorted(project.path.parent.glob(KEPT_RECORDS[what]))
    assert paths
    for path in paths:
        change(path)
    if what in {"manifests", "answers", "layer index"}:
        forget(project)
    if what == "what the audit saw":  # a memory for the next build that has something to do: no other reads it
        (project.path / "build" / SMALL / BUILT).unlink()
    assert project.build() == digest
    assert list_damaged(project) == []
    assert read_records(project) == read_records(undisturbed)


@pytest.mark.parametrize("what", BLOBS)
def test_files_cut_short_everywhere_are_made_again(what: str, project: SmallProject, digest: str) -> None:
    """Size alone tells: every one at once, without a word from the user."""
    for path in sorted(project.path.parent.glob(BLOBS[what])):
        truncate(path)
    if what != "blobs of the layout":
        forget(project, *(["layers"] if what in {"contents", "artifacts"} else []))
    assert project.build() == digest
    if what != "artifacts":
        assert list_damaged(project) == []
