"""A reference such as ghcr.io/user/jax:tag → Sizes, from the manifest and config alone: some kilobytes, no layer."""

from __future__ import annotations

from collections.abc import Mapping

from rockiln.audit.foreign_json import Object, parse_object, take_object, take_objects, take_text, take_texts
from rockiln.errors import RegistryError, UsageError
from rockiln.registry.client import open_repository
from rockiln.registry.protocol import Repository
from rockiln.registry.reference import parse_reference
from rockiln.registry.session import Access
from rockiln.sizes.annotation import read_manifest
from rockiln.sizes.inventory import Sizes

_HINT = "is the name right, and were you let in (docker login)?"


def measure_published(name: str, environ: Mapping[str, str], access: Access | None = None) -> Sizes:
    """What the published image says of itself. Raises RegistryError where it cannot be read."""
    reference = parse_reference(name)
    with open_repository(reference, environ, access=access) as repository:
        manifest, digest = _read(repository, reference.version, name)
        if "manifests" in manifest:
            manifest, digest = _read(repository, choose_platform(manifest, name), name)
        config_digest = take_text(take_object(manifest, "config", name), "digest", name)
        config = parse_object(repository.read_blob(config_digest), name) if config_digest else {}
    return read_manifest(name, digest, manifest, take_texts(take_object(config, "rootfs", name), "diff_ids", name))


def _read(repository: Repository, version: str, name: str) -> tuple[Object, str]:
    manifest = repository.read_manifest(version)
    if manifest is None:
        raise RegistryError(f"{repository.name} has no {version}", hint=_HINT)
    return parse_object(manifest.content, name), manifest.digest


def choose_platform(index: Object, name: str) -> str:
    """The digest of an index's image for linux/amd64. Raises UsageError where it has none."""
    for entry in take_objects(index, "manifests", name):
        platform = take_object(entry, "platform", name)
        if (platform.get("os"), platform.get("architecture")) == ("linux", "amd64"):
            return take_text(entry, "digest", name)
    raise UsageError(f"{name} has no image for linux/amd64", hint="name an image by its digest")
