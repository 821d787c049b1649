"""rockiln diff: two images, wherever they are → what grew, what came and what went."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import UnavailableError, UsageError
from rockiln.invocation import Invocation
from rockiln.sizes.difference import Measured
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json
from rockiln.verbs.image_words import has_host
from rockiln.verbs.registry_options import add_registry_options, read_access
from rockiln.verbs.show import select_one

if TYPE_CHECKING:
    from rockiln.registry.session import Access

DOCKER, REGISTRY = "docker:", "registry:"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """OLD, NEW, --format, --plain-http, --ca, --json."""
    what = "a built target, a path (OCI layout, or an archive of an image), docker:IMAGE or HOST/NAME:TAG in a registry"
    parser.add_argument("old", metavar="OLD", help=what)
    parser.add_argument("new", metavar="NEW", help="the same")
    parser.add_argument(
        "--format", choices=("text", "markdown"), default="text", help="markdown: for the notes of a release"
    )
    add_registry_options(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Measure both and compare."""
    from rockiln.sizes.describe_difference import describe_difference
    from rockiln.sizes.difference import compare

    access = read_access(args, invocation)
    difference = compare(*(measure_image(word, invocation, access) for word in (args.old, args.new)))
    if args.format == "markdown":
        from rockiln.sizes.release_notes import describe_release

        return Answer(text=describe_release(difference).rstrip("\n"), value=difference)
    return Answer(text=describe_difference(difference), value=difference)


def measure_image(word: str, invocation: Invocation, access: Access) -> Measured:
    """What the image weighs that `word` names. A path holds a slash, or is the name of something that is here."""
    if word.startswith(DOCKER):
        return _measure_docker(word, invocation)
    if word.startswith(REGISTRY) or ("/" in word and not Path(word).exists() and has_host(word)):
        from rockiln.sizes.of_registry import measure_published

        name = word.removeprefix(REGISTRY)
        sizes = measure_published(name, invocation.environ, access)
        return Measured(sizes=sizes, smoke=_read_attested(name, sizes.digest, invocation, access))
    path = Path(word)
    if "/" in word or path.exists():
        from rockiln.sizes.of_image import measure_archive, measure_layout

        if not path.exists():
            hint = "a published image is written as HOST/NAME:TAG"
            raise UsageError(printable(f"there is no {word}"), hint=hint)
        return (measure_layout if path.is_dir() else measure_archive)(path, invocation.console)
    return _measure_target(word, invocation)


def _measure_docker(word: str, invocation: Invocation) -> Measured:
    from rockiln.engines.docker import DockerEngine
    from rockiln.sizes.of_image import measure_stream

    name = word.removeprefix(DOCKER)
    if not name:
        raise UsageError(f"{DOCKER} names no image", hint=f"{DOCKER}NAME:TAG, as `docker image ls` has it")
    engine = DockerEngine(environ=invocation.environ, console=invocation.console)
    if obstacle := engine.obstacle():
        raise UnavailableError(f"docker: {obstacle}", hint="`docker save -o FILE IMAGE` elsewhere, then give FILE")
    pieces = engine.export(name)
    return measure_stream(pieces, word, invocation.folders.cache_path / "received", invocation.console)


def _measure_target(word: str, invocation: Invocation) -> Measured:
    from rockiln.sizes.stored import read_measured

    target_id = select_one(word, invocation)
    measured = read_measured(invocation.folders.target_path(target_id))
    if measured is None:
        raise UsageError(f"{target_id} is not built, or by an older rockiln", hint=f"rockiln build {target_id}")
    return replace(measured, smoke=_read_smoked(target_id, measured.sizes.digest, invocation))


def _read_smoked(target_id: str, digest: str, invocation: Invocation) -> dict[str, float] | None:
    """Seconds by tier of the last smoke; None where there was none of this image, or where it is damaged."""
    from rockiln.built_values import has_value, read_value

    folder = invocation.folders.target_path(target_id)
    try:
        report = read_value(folder, "smoke") if has_value(folder, "smoke") else {}
    except UsageError as fault:
        invocation.console.warn(fault.message)
        return None
    if report.get("image_digest") != digest:
        return None
    tiers: dict[str, float] = {}
    for check in report["checks"]:
        tiers[check["tier"]] = round(tiers.get(check["tier"], 0.0) + float(check["duration_s"]), 1)
    return tiers


def _read_attested(
    name: str, digest: str, invocation: Invocation, access: Access
) -> dict[str, float] | None:  # fmt: skip
    """The same of what was attested of a published image, the last of each tier; signatures are not looked at."""
    from rockiln.publish.attested import read_seconds
    from rockiln.registry.client import open_repository
    from rockiln.registry.reference import parse_reference

    with open_repository(parse_reference(name), invocation.environ, access=access) as repository:
        return read_seconds(repository, digest) or None
