"""One contract for registries: the one in memory, with and without its list of referrers, and Docker's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from real_registry import run_registry
from registry_server import RegistryServer
from rockiln.errors import ImageError, RegistryError
from rockiln.media_types import INDEX_TYPE, MANIFEST_TYPE
from rockiln.readers import digest_of
from rockiln.registry import uploads
from rockiln.registry.artifacts import Artifact, attach_artifact, read_artifact
from rockiln.registry.client import RegistryClient, open_repository
from rockiln.registry.protocol import Manifest, source_of_bytes, source_of_file
from rockiln.registry.reference import parse_reference

ABSENT = "sha256:" + "00" * 32
KINDS = ["memory", "memory with referrers", pytest.param("docker", marks=pytest.mark.registry)]


@pytest.fixture(scope="module", params=KINDS)
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "docker":
        with run_registry(tmp_path_factory.mktemp("registry")) as host:
            yield host
    else:
        with RegistryServer(has_referrers=request.param != "memory") as server:
            yield server.host


@pytest.fixture
def repository(host: str, request: pytest.FixtureRequest) -> Iterator[RegistryClient]:
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:12]
    with open_repository(parse_reference(f"{host}/test/{name}"), {}) as repository:
        yield repository


def push_image(repository: RegistryClient, layer: bytes = b"layer") -> Manifest:
    config = b'{"architecture": "amd64", "os": "linux"}'
    for content in (config, layer):
        repository.push_blob(source_of_bytes(content))
    described = [{"mediaType": "text/plain", "digest": digest_of(one), "size": len(one)} for one in (config, layer)]
    document = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": described[0], "layers": described[1:]}
    manifest = Manifest(content=json.dumps(document).encode(), media_type=MANIFEST_TYPE)
    repository.push_manifest(manifest)
    return manifest


def test_blob_is_there_after_a_push_and_not_before(repository: RegistryClient) -> None:
    source = source_of_bytes(b"hello")
    assert not repository.has_blob(source.digest)
    told: list[int] = []
    repository.push_blob(source, told.append)
    assert repository.has_blob(source.digest)
    assert repository.read_blob(source.digest) == b"hello"
    assert sum(told) == 5


def test_empty_blob_is_a_blob(repository: RegistryClient) -> None:
    repository.push_blob(source_of_bytes(b""))
    assert repository.read_blob(digest_of(b"")) == b""


def test_blob_goes_in_chunks(repository: RegistryClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 100_000)
    content = hashlib.shake_128(b"seed").digest(350_001)
    path = tmp_path / "blob"
    path.write_bytes(content)
    told: list[int] = []
    repository.push_blob(source_of_file(path, digest_of(content)), told.append)
    assert sum(told) == len(content)
    repository.save_blob(digest_of(content), tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content


def test_pushing_twice_changes_nothing(repository: RegistryClient) -> None:
    for _ in range(2):
        repository.push_blob(source_of_bytes(b"twice"))
    assert repository.read_blob(digest_of(b"twice")) == b"twice"


def test_bytes_under_another_digest_are_refused(repository: RegistryClient, tmp_path: Path) -> None:
    path = tmp_path / "blob"
    path.write_bytes(b"other")
    with pytest.raises(ImageError, match="another hash"):
        repository.push_blob(source_of_file(path, digest_of(b"named")))
    assert not repository.has_blob(digest_of(b"named"))


def test_blob_is_mounted_from_another_repository(repository: RegistryClient) -> None:
    repository.push_blob(source_of_bytes(b"shared"))
    short = repository.name.partition("/")[2]
    other = repository.sibling(f"{short}/other")
    assert not other.has_blob(digest_of(b"shared"))
    assert other.mount_blob(digest_of(b"shared"), short)
    assert other.read_blob(digest_of(b"shared")) == b"shared"
    assert not other.mount_blob(ABSENT, short)


def test_manifest_is_read_back_as_it_was_sent(repository: RegistryClient) -> None:
    manifest = push_image(repository)
    assert repository.read_manifest(manifest.digest) == manifest
    assert repository.find_digest(manifest.digest) == manifest.digest
    assert repository.list_tags() == ()


def test_manifest_without_its_layers_is_refused(repository: RegistryClient) -> None:
    document = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": []}
    config = {"mediaType": "text/plain", "digest": ABSENT, "size": 2}
    manifest = Manifest(content=json.dumps({**document, "config": config}).encode(), media_type=MANIFEST_TYPE)
    with pytest.raises(RegistryError, match="MANIFEST_BLOB_UNKNOWN"):
        repository.push_manifest(manifest, "broken")
    assert repository.find_digest("broken") == ""


def test_tags_name_manifests_and_move(repository: RegistryClient) -> None:
    first, second = push_image(repository), push_image(repository, b"other layer")
    for number in range(7):
        repository.push_manifest(first, f"v{number}")
    repository.push_manifest(second, "v3")
    assert repository.list_tags() == tuple(f"v{number}" for number in range(7))
    assert repository.find_digest("v2") == first.digest
    assert repository.find_digest("v3") == second.digest


def test_index_over_manifests_can_be_tagged(repository: RegistryClient) -> None:
    manifest = push_image(repository)
    entry = {**manifest.descriptor.to_document(), "platform": {"os": "linux", "architecture": "amd64"}}
    document = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [entry]}
    index = Manifest(content=json.dumps(document).encode(), media_type=INDEX_TYPE)
    assert repository.push_manifest(index, "all") == index.digest
    found = repository.read_manifest("all")
    assert found == index


def test_what_is_not_there_is_none(repository: RegistryClient) -> None:
    assert repository.read_manifest("latest") is None
    assert repository.read_manifest(ABSENT) is None
    assert repository.find_digest("latest") == ""
    assert repository.list_tags() == ()
    assert repository.list_referrers(ABSENT) == ()
    with pytest.raises(RegistryError, match="has no sha256:0000"):
        repository.read_blob(ABSENT)


def make_artifact(number: int, kind: str = "application/vnd.test.result") -> Artifact:
    content = f"result {number}".encode()
    return Artifact(artifact_type=kind, media_type="text/plain", content=content, annotations={"number": str(number)})


def test_attached_documents_are_found_and_read(repository: RegistryClient) -> None:
    manifest = push_image(repository)
    artifacts = [make_artifact(1), make_artifact(2), make_artifact(3, "application/vnd.test.other")]
    attached = [attach_artifact(repository, artifact, manifest.digest) for artifact in artifacts]
    assert {item.digest for item in repository.list_referrers(manifest.digest)} == {one.digest for one in attached}
    found = repository.list_referrers(manifest.digest, "application/vnd.test.result")
    assert sorted(found, key=lambda item: item.annotations["number"]) == attached[:2]
    assert read_artifact(repository, attached[2]) == artifacts[2]


def test_attaching_twice_leaves_one(repository: RegistryClient) -> None:
    manifest = push_image(repository)
    for _ in range(2):
        attach_artifact(repository, make_artifact(1), manifest.digest)
    assert len(repository.list_referrers(manifest.digest)) == 1


def test_nothing_is_attached_to_what_is_not_there(repository: RegistryClient) -> None:
    with pytest.raises(RegistryError, match="to attach something to"):
        attach_artifact(repository, make_artifact(1), ABSENT)


def test_nodes_that_attach_at_once_lose_nothing(repository: RegistryClient) -> None:
    manifest = push_image(repository)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: attach_artifact(repository, make_artifact(number), manifest.digest), range(4)))
    assert len(repository.list_referrers(manifest.digest)) == 4
