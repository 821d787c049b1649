"""Arguments of the verbs that take finished layers from a registry or leave them there, and what they come to."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.registry.reference import Reference, parse_reference

if TYPE_CHECKING:
    from rockiln.image import Image
    from rockiln.publish.layout import Layout
    from rockiln.registry.client import RegistryClient
    from rockiln.registry_cache.layer_records import RegistryLayers, Trust
    from rockiln.sign.keys import PrivateKey, PublicKey


def add_cache_source(parser: argparse.ArgumentParser) -> None:
    """--cache-from, --cache-key."""
    parser.add_argument(
        "--cache-from", default="", metavar="HOST/NAME",
        help="take finished layers, and whole rows that are signed, from this repository (push --cache-to)",
    )  # fmt: skip
    parser.add_argument(
        "--cache-key", type=Path, metavar="FILE",
        help="key that rows of --cache-from must be signed with (default: cosign.pub of the project, if it is there)",
    )  # fmt: skip


def add_cache_destination(parser: argparse.ArgumentParser) -> None:
    """--cache-to, --cache-key."""
    parser.add_argument(
        "--cache-to", default="", metavar="HOST/NAME",
        help="leave the layers by their keys in this repository, too, for build --cache-from",
    )  # fmt: skip
    parser.add_argument(
        "--cache-key", type=Path, metavar="FILE",
        help="private key that signs what --cache-to says of the whole row; without it only layers are left there",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RemoteCache:
    """A repository that builds may take from."""

    repository: RegistryClient
    layers: RegistryLayers
    trust: Trust
    public: PublicKey | None

    def take_row(self, planned: PlannedTarget, args: argparse.Namespace, invocation: Invocation) -> Image | None:
        """The whole row, where somebody with the key has built just that, which is said."""
        from rockiln.registry_cache.take_row import take_row

        if self.public is None:
            return None
        image = take_row(planned, invocation, args.compression, self.repository, self.public, self.trust)
        if image:
            invocation.console.say(f"{planned.id}: taken from {self.repository.name}, signed")
        return image


@contextmanager
def open_cache(args: argparse.Namespace, invocation: Invocation) -> Iterator[RemoteCache | None]:
    """What --cache-from names; None without it, and, with a warning, where it does not answer or refuses us."""
    _refuse_lone_key(args.cache_key, args.cache_from, "--cache-from")
    if not args.cache_from:
        yield None
        return
    from rockiln.download.patience import Patience
    from rockiln.registry_cache.layer_records import FAULTS, RegistryLayers, Trust
    from rockiln.verbs.registry_options import open_registry

    reference = parse_cache(args.cache_from, "--cache-from")
    public = _find_public(args.cache_key, invocation)
    trust = Trust(console=invocation.console, name=reference.name)
    patience = Patience(attempts=3, unanswered_attempts=1)
    with ExitStack() as stack:
        try:
            opened = open_registry(reference, args, invocation, to_push=False, patience=patience)
            repository = stack.enter_context(opened)
        except FAULTS as fault:
            trust.give_up(fault)
            yield None
            return
        yield RemoteCache(
            repository=repository, layers=RegistryLayers(repository, trust), trust=trust, public=public
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CacheDestination:
    """Where layers are left for other builds."""

    reference: Reference
    private: PrivateKey | None
    """What signs rows; None leaves layers only."""


def read_cache_destination(args: argparse.Namespace, invocation: Invocation) -> CacheDestination | None:
    """What --cache-to and --cache-key say; None without --cache-to. Raises UsageError."""
    from rockiln.sign.key_files import load_private_key

    _refuse_lone_key(args.cache_key, args.cache_to, "--cache-to")
    if not args.cache_to:
        return None
    reference = parse_cache(args.cache_to, "--cache-to")
    private = load_private_key(args.cache_key, invocation.environ) if args.cache_key else None
    return CacheDestination(reference=reference, private=private)


def push_to_cache(
    planned: PlannedTarget, layout: Layout, destination: Reference, cache: CacheDestination, args: argparse.Namespace,
    invocation: Invocation,
) -> None:  # fmt: skip
    """Layers and row to --cache-to; what `destination`, in the same registry, has is mounted from there.

    A cache that is away or refuses is a warning, as it is for a build: the image is where it was to go.
    """
    from rockiln.layer_blobs import LayerCache
    from rockiln.registry_cache.layer_records import FAULTS
    from rockiln.registry_cache.push_cache import describe_pushed_cache, push_cache
    from rockiln.verbs.registry_options import count_threads, open_registry

    reference = cache.reference
    siblings = (destination.repository,) if destination.registry == reference.registry else ()
    folders = invocation.folders
    try:
        with open_registry(reference, args, invocation, to_push=not args.dry_run) as repository:
            left = push_cache(
                folders.target_path(planned.id), layout, LayerCache(path=folders.layers_path), repository, siblings,
                count_threads(invocation), invocation.console, private=cache.private, is_dry=args.dry_run,
            )  # fmt: skip
    except FAULTS as fault:
        invocation.console.warn(f"{planned.id}: the cache {reference.name} did not get all of it: {fault.message}")
        return
    invocation.console.say(describe_pushed_cache(left))


def _refuse_lone_key(key: Path | None, place: str, option: str) -> None:
    if key and not place:
        raise UsageError(f"--cache-key {printable(str(key))}: no {option}", hint=f"add {option} HOST/NAME")


def parse_cache(name: str, option: str) -> Reference:
    """Raises UsageError."""
    reference = parse_reference(name)
    if reference.tag or reference.digest:
        raise UsageError(f"{option} {name}: a repository has no tag", hint="tags in it are keys: HOST/NAME alone")
    return reference


def _find_public(path: Path | None, invocation: Invocation) -> PublicKey | None:
    """The key given, or its public half; else the project's; None where there is neither."""
    from rockiln.sign.key_files import PROJECT_KEY, load_public_half

    project_path = invocation.folders.project_path / PROJECT_KEY
    if path is None and not project_path.is_file():
        return None
    return load_public_half(path or project_path, invocation.environ)
