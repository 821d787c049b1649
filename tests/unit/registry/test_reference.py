"""Names of images in registries, taken apart; what is none is refused in words."""

from __future__ import annotations

import pytest

from rockiln.errors import UsageError
from rockiln.registry.reference import is_reference, parse_reference, require_digest

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    ("name", "registry", "repository", "version"),
    [
        ("ghcr.io/user/jax:1.0", "ghcr.io", "user/jax", "1.0"),
        ("ghcr.io/user/jax", "ghcr.io", "user/jax", "latest"),
        ("localhost/jax:1", "localhost", "jax", "1"),
        (f"localhost:5000/jax@{DIGEST}", "localhost:5000", "jax", DIGEST),
        (f"registry:5000/a/b-c__d:Tag_1.2@{DIGEST}", "registry:5000", "a/b-c__d", DIGEST),
        ("[::1]:5000/jax:1", "[::1]:5000", "jax", "1"),
    ],
)
def test_parts_of_a_reference(name: str, registry: str, repository: str, version: str) -> None:
    reference = parse_reference(name)
    assert (reference.registry, reference.repository, reference.version) == (registry, repository, version)
    assert str(reference) == name


@pytest.mark.parametrize("name", ["jax", "jax:1.0", "user/jax", "", "ghcr.io/", "/jax", "-/jax"])
def test_name_without_a_registry_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="names no registry"):
        parse_reference(name)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("ghcr.io/User/jax", "no repository's name"),
        ("ghcr.io/../jax", "no repository's name"),
        ("ghcr.io/user/jax:", "no tag"),
        ("ghcr.io/user/jax:a/b", "no tag"),
        ("ghcr.io/user/jax:" + "a" * 129, "no tag"),
        ("ghcr.io/user/jax@sha256:ab", "no digest"),
        ("ghcr.io/user/jax@sha512:" + "ab" * 32, "no digest"),
        ("ghcr.io/user/jax\n:1", "no repository's name"),
    ],
)
def test_what_no_registry_would_take_is_refused(name: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        parse_reference(name)


def test_api_of_docker_hub_has_another_host() -> None:
    assert parse_reference("docker.io/user/jax").api_host == "registry-1.docker.io"
    assert parse_reference("ghcr.io/user/jax").api_host == "ghcr.io"


@pytest.mark.parametrize("host", ["localhost", "localhost:5000", "127.0.0.1:5000", "127.1.2.3", "[::1]:5000"])
def test_only_this_machine_is_loopback(host: str) -> None:
    assert parse_reference(f"{host}/jax").is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1.example.com", "localhost.example.com", "registry:5000", "128.0.0.1"])
def test_other_machines_are_not_loopback(host: str) -> None:
    assert not parse_reference(f"{host}/jax").is_loopback


def test_verbs_that_work_on_one_image_want_its_digest() -> None:
    assert require_digest(f"ghcr.io/user/jax:1@{DIGEST}").digest == DIGEST
    with pytest.raises(UsageError, match="names no digest"):
        require_digest("ghcr.io/user/jax:1")


def test_ids_of_targets_are_no_references() -> None:
    assert is_reference(f"ghcr.io/user/jax@{DIGEST}")
    assert not is_reference("jax-0.6.2-cpu-py3.11-debian-12")
    assert not is_reference("jax-*")
    assert is_reference("ghcr.io/user/jax:latest")
