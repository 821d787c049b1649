"""Layers from a registry: the same blobs as written here, and whatever a registry says instead, the same layers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from imaging import Item, make_rootfs

from pushed_layout import HASTY
from registry_server import RegistryServer
from rockiln.compress import choose_scheme
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.image import Layer
from rockiln.layer_blobs import LayerCache, write_layers
from rockiln.layers import LayerPlan, split
from rockiln.readers import digest_of
from rockiln.registry.client import open_repository
from rockiln.registry.protocol import EMPTY_CONTENT, Manifest, source_of_bytes, source_of_file
from rockiln.registry.reference import parse_reference
from rockiln.registry_cache.layer_records import RegistryLayers, Trust, layer_tag, make_layer_manifest

ITEMS: dict[str, Item] = {
    "usr/bin/ls": ("deb:coreutils", b"ls" * 3000),
    "opt/venv/jax": ("wheel:jax", bytes(9 << 20)),
    "etc/rockiln": ("rockiln", b"record"),
}
Spoil = Callable[[dict[str, Any], bytes], bytes | None]


class Cached:
    """Three layers as written here, and in a registry by their keys."""

    def __init__(self, folder: Path, server: RegistryServer, compression: str) -> None:
        self.folder, self.server, self.said = folder, server, StringIO()
        self.scheme = choose_scheme(compression)  # type: ignore[arg-type]  # one of both
        self.contents = Contents(folder / "contents")
        self.plans: tuple[LayerPlan, ...] = split(make_rootfs(self.contents, ITEMS), 40)
        self.cache = LayerCache(path=folder / "first")
        self.layers = write_layers(self.plans, self.contents, self.cache, self.scheme, 2, Console(None))
        self.taken = ""
        with open_repository(parse_reference(self.name), {}, patience=HASTY) as repository:
            repository.push_blob(source_of_bytes(EMPTY_CONTENT))
            for name, record in self.cache.list_known([layer.digest for layer in self.layers]).items():
                digest = str(record["digest"])
                repository.push_blob(source_of_file(self.cache.blob_path(digest), digest))
                repository.push_manifest(make_layer_manifest(record, self.scheme.media_type), layer_tag(name))

    @property
    def name(self) -> str:
        return f"{self.server.host}/you/cache"

    def spoil(self, change: Spoil) -> None:
        """Change what the tag of the second layer leads to; a blob that comes back is pushed and named."""
        tag = layer_tag(f"{self.plans[1].key}-{self.scheme.tag}")
        with open_repository(parse_reference(self.name), {}, patience=HASTY) as repository:
            honest = repository.read_manifest(tag)
            assert honest is not None
            document = json.loads(honest.content)
            blob = document["layers"][0]
            if content := change(document, repository.read_blob(blob["digest"])):
                repository.push_blob(source_of_bytes(content))
                blob |= {"digest": digest_of(content), "size": len(content)}
            changed = Manifest(content=json.dumps(document).encode(), media_type=honest.media_type)
            repository.push_manifest(changed, tag)

    def build(self) -> tuple[Layer, ...]:
        """In an empty cache."""
        console = Console(self.said)
        with open_repository(parse_reference(self.name), {}, patience=HASTY) as repository:
            source = RegistryLayers(repository, Trust(console=console, name=self.name))
            cache = LayerCache(path=self.folder / "second")
            layers = write_layers(self.plans, self.contents, cache, self.scheme, 2, console, source)
            self.taken = source.describe()
        for layer in layers:
            assert cache.is_whole(layer)
        assert not list((cache.path / "partial").iterdir())
        return layers


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


@pytest.fixture(params=["gzip", "zstd"])
def cached(request: pytest.FixtureRequest, tmp_path: Path, server: RegistryServer) -> Cached:
    return Cached(tmp_path, server, request.param)


def test_all_layers_are_taken_and_known_afterwards(cached: Cached) -> None:
    assert cached.build() == cached.layers
    assert cached.taken.startswith("3 layers (")
    assert "warning" not in cached.said.getvalue()
    asked = len(cached.server.asked)
    assert cached.build() == cached.layers
    assert len(cached.server.asked) == asked, "the second build finds them in its cache"


def say_another_content(document: dict[str, Any], _blob: bytes) -> None:
    document["layers"][0]["annotations"]["dev.rockiln.layer.diff-id"] = digest_of(b"x")


def say_no_digest(document: dict[str, Any], _blob: bytes) -> None:
    document["layers"][0]["annotations"]["dev.rockiln.layer.diff-id"] = "../../x"


def say_another_size(document: dict[str, Any], _blob: bytes) -> None:
    document["layers"][0]["size"] += 1


def be_something_else(document: dict[str, Any], _blob: bytes) -> None:
    document["artifactType"] = "text/plain"


def have_no_layers(document: dict[str, Any], _blob: bytes) -> None:
    document["layers"] = []


def hold_another_archive(_document: dict[str, Any], _blob: bytes) -> bytes:
    return gzip.compress(b"another archive")


def hold_nothing_readable(_document: dict[str, Any], _blob: bytes) -> bytes:
    return b"not compressed"


def be_cut(_document: dict[str, Any], blob: bytes) -> bytes:
    return blob[: len(blob) // 2]


def hold_more(_document: dict[str, Any], blob: bytes) -> bytes:
    return blob + blob


LIES: dict[Spoil, str] = {
    say_another_content: "is said to hold", say_no_digest: "is no sha256 digest", say_another_size: "does not hold",
    be_something_else: "something else", have_no_layers: "another length", hold_another_archive: "does not hold",
    hold_nothing_readable: "does not hold", be_cut: "does not hold", hold_more: "does not hold",
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_layer_that_is_another_one_is_written_here(cached: Cached, lie: Spoil) -> None:
    cached.spoil(lie)
    assert cached.build() == cached.layers
    assert LIES[lie] in cached.said.getvalue()
    assert cached.taken.startswith("2 layers (")


def test_deep_json_is_a_warning(cached: Cached) -> None:
    tag = layer_tag(f"{cached.plans[0].key}-{cached.scheme.tag}")
    repo = cached.server.repo("you/cache")
    content = b"[" * 100_000
    repo.manifests[digest_of(content)] = (content, "application/vnd.oci.image.manifest.v1+json")
    repo.tags[tag] = digest_of(content)
    assert cached.build() == cached.layers
    assert f"{tag} is not taken" in cached.said.getvalue()


def test_registry_that_fails_is_asked_once_and_left_alone(cached: Cached) -> None:
    def refuse(handler: Any) -> bool:
        handler.send_response(403)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    cached.server.before = refuse
    assert cached.build() == cached.layers
    assert cached.said.getvalue().count("building without it") == 1
    assert cached.taken == ""
