"""Layers and rows through Docker's registry into an empty cache: the same digest, whatever the registry does."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from real_registry import find_free_port, run_registry
from registry_proxy import Break, RegistryProxy
from registry_server import Gate, RegistryServer
from rockiln.readers import digest_of
from rockiln.registry.client import RegistryClient, open_repository
from rockiln.registry.protocol import Manifest, source_of_bytes
from rockiln.registry.reference import parse_reference
from small_project import SMALL, SmallProject, read_digest

pytestmark = [pytest.mark.registry, pytest.mark.network, pytest.mark.userns, pytest.mark.slow]
PASSWORD = {"COSIGN_PASSWORD": "of a test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cached:
    """A registry with the small row in its repository `cache`, by layers and, signed, whole."""

    host: str
    folder: Path
    pushed: str
    """What the push said."""
    layers: int

    @property
    def name(self) -> str:
        return f"{self.host}/you/cache"

    def key(self, name: str) -> str:
        return str(self.folder / name)


@pytest.fixture(scope="module")
def cached(undisturbed: SmallProject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cached]:
    folder = tmp_path_factory.mktemp("cached")
    project = replace(undisturbed, environ=PASSWORD)
    for name in ("cosign", "other"):
        assert project.run("generate-key", "--output", str(folder / name)).returncode == 0
    with run_registry(folder / "registry") as host:
        done = project.run(
            "push", SMALL, "--to", f"{host}/you/{{framework}}", "--cache-to", f"{host}/you/cache",
            "--cache-key", str(folder / "cosign.key"),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        layers = json.loads((project.path / "build" / SMALL / "layers.json").read_bytes())
        yield Cached(host=host, folder=folder, pushed=done.stderr, layers=len(layers))


def build(project: SmallProject, *words: str) -> tuple[str, str]:
    """Digest, and what was said."""
    done = project.run("build", SMALL, *words)
    assert done.returncode == 0, done.stderr
    return read_digest(done.stdout), done.stderr


def test_push_mounts_what_the_image_brought(cached: Cached) -> None:
    assert f"{cached.layers} new layers by key, 0 known, the row by its build key" in cached.pushed
    assert re.search(r"; 3 blobs uploaded \(.*\), \d+ mounted", cached.pushed), cached.pushed


def test_second_push_sends_nothing(cached: Cached, undisturbed: SmallProject) -> None:
    project = replace(undisturbed, environ=PASSWORD)
    words = (
        "--to",
        f"{cached.host}/you/{{framework}}",
        "--cache-to",
        cached.name,
        "--cache-key",
        cached.key("cosign.key"),
    )
    done = project.run("push", SMALL, *words)
    assert f"0 new layers by key, {cached.layers} known, the row by its build key; 0 blobs uploaded" in done.stderr


def test_all_layers_come_from_the_registry(
    cached: Cached, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path)
    found, said = build(project, "--cache-from", cached.name)
    assert found == digest
    assert re.search(rf"{cached.layers} layers \(.*\) taken from {cached.name}", said), said
    assert build(project, "--cache-from", cached.name)[0] == digest


def test_signed_row_comes_whole_and_nothing_is_fetched(
    cached: Cached, small_project: SmallProject, undisturbed: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path, store=False)
    found, said = build(project, "--cache-from", cached.name, "--cache-key", cached.key("cosign.pub"))
    assert found == digest
    assert f"{SMALL}: taken from {cached.name}, signed" in said
    assert not (project.cache_path / "store").exists()
    own, theirs = (one.path / "build" / SMALL for one in (project, undisturbed))
    for name in ("lock", "rootfs", "dropped", "slimmed", "layers", "sizes", "audit"):
        assert (own / f"{name}.json").read_bytes() == (theirs / f"{name}.json").read_bytes()
    assert "up to date" in build(project)[1]
    for words in (("show", SMALL, "audit"), ("why", SMALL, "/usr/bin/python3.11"), ("show", SMALL, "image")):
        assert project.run(*words).returncode == 0
    with_password = replace(project, environ=PASSWORD)
    assert with_password.run("attest", SMALL, "--key", cached.key("cosign.key")).returncode == 0


def test_projects_own_key_is_the_default(
    cached: Cached, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path, store=False)
    (project.path / "cosign.pub").write_bytes((cached.folder / "cosign.pub").read_bytes())
    found, said = build(project, "--cache-from", cached.name)
    assert found == digest
    assert "signed" in said


def test_row_of_another_key_is_not_taken(
    cached: Cached, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    project = small_project.copy_to(tmp_path)
    found, said = build(project, "--cache-from", cached.name, "--cache-key", cached.key("other.pub"))
    assert found == digest
    assert "warning" in said
    assert "the signature does not fit" in said


@pytest.fixture
def repository(cached: Cached) -> Iterator[RegistryClient]:
    with open_repository(parse_reference(cached.name), {}) as repository:
        yield repository


@contextmanager
def spoiled(repository: RegistryClient, change: Callable[[dict[str, Any], RegistryClient], None]) -> Iterator[None]:
    """While it lasts, the first layer's tag leads to a manifest that was changed."""
    tag = next(tag for tag in repository.list_tags() if tag.startswith("layer-"))
    honest = repository.read_manifest(tag)
    assert honest is not None
    document = json.loads(honest.content)
    change(document["layers"][0], repository)
    repository.push_manifest(Manifest(content=json.dumps(document).encode(), media_type=honest.media_type), tag)
    yield
    repository.push_manifest(honest, tag)


def name_another_content(blob: dict[str, Any], _repository: RegistryClient) -> None:
    blob["annotations"]["dev.rockiln.layer.diff-id"] = digest_of(b"something else")


def hold_another_content(blob: dict[str, Any], repository: RegistryClient) -> None:
    content = gzip.compress(b"another archive")
    repository.push_blob(source_of_bytes(content))
    blob |= {"digest": digest_of(content), "size": len(content)}


def hold_no_archive(blob: dict[str, Any], repository: RegistryClient) -> None:
    repository.push_blob(source_of_bytes(b"no gzip at all"))
    blob |= {"digest": digest_of(b"no gzip at all"), "size": 14}


def unpack_to_more(blob: dict[str, Any], repository: RegistryClient) -> None:
    """The right archive, and a gzip member behind it that holds a hundred megabytes."""
    content = repository.read_blob(blob["digest"]) + gzip.compress(bytes(100 << 20))
    repository.push_blob(source_of_bytes(content))
    blob |= {"digest": digest_of(content), "size": len(content)}


def name_no_digest(blob: dict[str, Any], _repository: RegistryClient) -> None:
    blob["annotations"]["dev.rockiln.layer.diff-id"] = "../../etc/passwd"


LIES = {
    name_another_content: "it is said to hold",
    hold_another_content: "it does not hold",
    hold_no_archive: "it does not hold",
    unpack_to_more: "it does not hold",
    name_no_digest: "is no sha256 digest",
}


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_layer_that_is_another_is_written_here(
    cached: Cached, repository: RegistryClient, small_project: SmallProject, digest: str, tmp_path: Path,
    lie: Callable[[dict[str, Any], RegistryClient], None],
) -> None:  # fmt: skip
    with spoiled(repository, lie):
        found, said = build(small_project.copy_to(tmp_path), "--cache-from", cached.name)
    assert found == digest
    assert LIES[lie] in said, said
    assert re.search(rf"{cached.layers - 1} layers \(.*\) taken", said), said


def test_blob_that_is_cut_on_its_way_is_asked_for_again_or_written_here(
    cached: Cached, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    def judge(method: str, path: str, _number: int) -> Break:
        return Break(cuts_answer=method == "GET" and "/blobs/" in path)

    with RegistryProxy(cached.host, judge) as proxy:
        found, said = build(small_project.copy_to(tmp_path), "--cache-from", f"{proxy.host}/you/cache")
    assert found == digest
    assert "taken from" in said or "building without it" in said


def test_registry_that_is_away_is_a_warning(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    found, said = build(small_project.copy_to(tmp_path), "--cache-from", f"127.0.0.1:{find_free_port()}/you/cache")
    assert found == digest
    assert said.count("warning: cache") == 1
    assert "building without it" in said


def test_registry_that_refuses_is_a_warning(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    with RegistryServer(gate=Gate(scheme="basic")) as server:
        found, said = build(small_project.copy_to(tmp_path), "--cache-from", f"{server.host}/you/cache")
    assert found == digest
    assert said.count("warning: cache") == 1


def test_registry_that_knows_nothing_is_no_warning(small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    with RegistryServer() as server:
        found, said = build(small_project.copy_to(tmp_path), "--cache-from", f"{server.host}/you/cache")
    assert found == digest
    assert "warning" not in said


def test_row_whose_statement_was_changed_is_built_here(
    cached: Cached, repository: RegistryClient, small_project: SmallProject, digest: str, tmp_path: Path
) -> None:
    tag = next(tag for tag in repository.list_tags() if tag.startswith("row-"))
    honest = repository.read_manifest(tag)
    assert honest is not None
    index = json.loads(honest.content)
    record = repository.read_manifest(index["manifests"][1]["digest"])
    assert record is not None
    document = json.loads(record.content)
    envelope = json.loads(repository.read_blob(document["layers"][0]["digest"]))
    statement = base64.b64decode(envelope["payload"]).replace(b'"buildKey":"', b'"buildKey": "')
    content = json.dumps({**envelope, "payload": base64.b64encode(statement).decode()}).encode()
    repository.push_blob(source_of_bytes(content))
    document["layers"][0] |= {"digest": digest_of(content), "size": len(content)}
    other = Manifest(content=json.dumps(document).encode(), media_type=record.media_type)
    repository.push_manifest(other)
    index["manifests"][1] |= {"digest": other.digest, "size": len(other.content)}
    repository.push_manifest(Manifest(content=json.dumps(index).encode(), media_type=honest.media_type), tag)
    words = ("--cache-from", cached.name, "--cache-key", cached.key("cosign.pub"))
    try:
        found, said = build(small_project.copy_to(tmp_path), *words)
    finally:
        repository.push_manifest(honest, tag)
    assert found == digest
    assert "the signature does not fit" in said


def test_cache_is_named_without_a_tag(small_project: SmallProject) -> None:
    done = small_project.run("build", SMALL, "--cache-from", "127.0.0.1:5000/you/cache:latest")
    assert done.returncode == 2
    assert "a repository has no tag" in done.stderr
