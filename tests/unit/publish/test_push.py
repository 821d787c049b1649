"""Pushing to a registry in memory: what is there is not sent, what a neighbour has is mounted, nothing is tagged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushed_layout import HASTY, QUIET, make_layout, push
from registry_server import RegistryServer
from rockiln.errors import ImageError, UsageError
from rockiln.publish.destinations import find_destination, list_siblings
from rockiln.publish.layout import read_layout
from rockiln.publish.pulled import pull_image
from rockiln.publish.push import describe_pushed, push_layout
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def test_everything_is_there_afterwards_and_nothing_is_tagged(server: RegistryServer, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    pushed = push(layout, f"{server.host}/a/jax", {})
    repo = server.repo("a/jax")
    assert set(repo.blobs) == {source.digest for source in layout.blobs}
    assert set(repo.manifests) == {layout.digest}
    assert not repo.tags
    assert pushed.reference == f"{server.host}/a/jax@{layout.digest}"
    assert "5 blobs (" in describe_pushed(pushed)


def test_second_push_sends_nothing_and_says_so(server: RegistryServer, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    push(layout, f"{server.host}/a/jax", {})
    server.asked.clear()
    pushed = push(layout, f"{server.host}/a/jax", {})
    assert {asked.method for asked in server.asked} == {"HEAD", "GET"}
    assert "nothing to send of the image: 5 blobs" in describe_pushed(pushed)


def test_layers_of_another_repository_are_mounted(server: RegistryServer, tmp_path: Path) -> None:
    push(make_layout(tmp_path / "one"), f"{server.host}/a/jax", {})
    layout = make_layout(tmp_path / "two", layers=5)
    pushed = push(layout, f"{server.host}/a/torch", {}, siblings=("a/none", "a/jax"))
    ways = sorted(blob.way for blob in pushed.blobs)
    assert ways == ["mounted"] * 4 + ["uploaded"] * 2  # the new layer, and a config that names it
    assert server.count("PUT", "/a/torch/blobs/") == 2


def test_dry_run_changes_nothing(server: RegistryServer, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    reference = parse_reference(f"{server.host}/a/jax")
    with open_repository(reference, {}, patience=HASTY) as repository:
        pushed = push_layout(layout, repository, (), 2, QUIET, is_dry=True)
    assert {asked.method for asked in server.asked} == {"HEAD"}
    assert pushed.is_dry
    assert "5 would be uploaded" in describe_pushed(pushed)


def test_layout_of_two_platforms_gets_an_index(server: RegistryServer, tmp_path: Path) -> None:
    first, second = make_layout(tmp_path / "one"), make_layout(tmp_path / "two", seed="arm")
    index = json.loads((tmp_path / "one" / "index.json").read_text())
    other = json.loads((tmp_path / "two" / "index.json").read_text())["manifests"][0]
    index["manifests"][0]["platform"] = {"os": "linux", "architecture": "amd64"}
    index["manifests"].append({**other, "platform": {"os": "linux", "architecture": "arm64"}})
    (tmp_path / "one" / "index.json").write_text(json.dumps(index))
    for blob in (tmp_path / "two" / "blobs" / "sha256").iterdir():
        blob.replace(tmp_path / "one" / "blobs" / "sha256" / blob.name)
    layout = read_layout(tmp_path / "one", "tiny")
    push(layout, f"{server.host}/a/jax", {})
    repo = server.repo("a/jax")
    assert set(repo.manifests) == {first.digest, second.digest, layout.digest}
    entries = json.loads(repo.manifests[layout.digest][0])["manifests"]
    assert [entry["platform"]["architecture"] for entry in entries] == ["amd64", "arm64"]


def test_damaged_layout_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    path = tmp_path / "image" / "blobs" / layout.blobs[0].digest.replace(":", "/")
    path.write_bytes(b"short")
    with pytest.raises(ImageError, match="has 5 bytes, not"):
        read_layout(tmp_path / "image", "tiny")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"manifests": [{"digest": "sha256:../../x"}]}'])
def test_what_is_no_layout_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "index.json").write_text(text)
    with pytest.raises(ImageError):
        read_layout(tmp_path, "tiny")


def test_blob_that_changed_since_is_not_taken_for_another(server: RegistryServer, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    path = tmp_path / "image" / "blobs" / layout.blobs[0].digest.replace(":", "/")
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    with pytest.raises(ImageError, match="another hash"):
        push(layout, f"{server.host}/a/jax", {})
    assert not server.repo("a/jax").manifests


def test_only_what_is_not_here_is_pulled(server: RegistryServer, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image")
    push(layout, f"{server.host}/a/jax", {})
    here = tmp_path / "here"
    here.mkdir()
    for number, source in enumerate(layout.blobs[:2]):
        with source.open() as file:
            content = file.read()
        (here / source.digest.partition(":")[2]).write_bytes(content if number else content[::-1])
    server.asked.clear()
    with (
        open_repository(parse_reference(f"{server.host}/a/jax"), {}) as repository,
        pytest.raises(ImageError, match="not an image that rockiln wrote"),  # a made layout has no titles
    ):
        pull_image(repository, layout.digest, tmp_path / "pulled", (here,), QUIET)
    assert server.count("GET", "/blobs/") == 4
    found = list((tmp_path / "pulled").rglob("blobs/sha256/*"))
    assert len(found) == 6


@pytest.mark.parametrize(
    ("template", "repository", "siblings"),
    [
        ("ghcr.io/you/{framework}", "you/jax", ("you/torch",)),
        ("ghcr.io/you/rocm-{framework}-images", "you/rocm-jax-images", ("you/rocm-torch-images",)),
        ("ghcr.io/you/all", "you/all", ()),
    ],
)
def test_framework_stands_in_the_repository(template: str, repository: str, siblings: tuple[str, ...]) -> None:
    assert find_destination(template, "jax").repository == repository
    assert list_siblings(template, "jax", ("torch", "jax", "torch")) == siblings


@pytest.mark.parametrize(
    ("template", "message"), [("", "nothing says where"), ("jax", "names no registry"), ("ghcr.io/a/b:c", "has no tag")]
)
def test_nowhere_is_no_destination(template: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_destination(template, "jax")


def test_misspelt_field_of_a_repository_is_named() -> None:
    with pytest.raises(UsageError, match=r"\{framwork\} stands for nothing") as caught:
        find_destination("ghcr.io/you/{framwork}", "jax")
    assert caught.value.hint == 'did you mean "framework"?'
