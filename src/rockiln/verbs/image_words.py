"""A word of the command line → ImageSources: a target or glob, a layout, an archive, or an image in a registry."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import RegistryError, RockilnError, UsageError
from rockiln.invocation import Invocation

if TYPE_CHECKING:
    from rockiln.plan import PlannedTarget
    from rockiln.registry.session import Access
    from rockiln.sbom.installed import Installed
    from rockiln.verification.sources import AskedRow, ImageSource, LayoutSource

REGISTRY = "registry:"
ATTACHED = "attached"
"""The folder beside an image's layout that holds what is attached to it."""


@contextmanager
def open_images(
    word: str, attached: Path | None, invocation: Invocation, access: Access, row: AskedRow | None = None
) -> Iterator[tuple[ImageSource, ...]]:
    """What `word` names. `attached` is the layout of what is attached; default: `attached` beside the image. `row` is
    what a name in a registry was made of; a target's own id is its row."""
    from rockiln.verification.sources import ArchiveSource, LayoutSource

    path = Path(word)
    if word.startswith(REGISTRY) or ("/" in word and not path.exists() and has_host(word)):
        name = word.removeprefix(REGISTRY)
        if attached:
            hint = "what is attached to a published image is read from its registry: leave out --attached"
            raise UsageError(f"--attached {printable(str(attached))}: {name} is in a registry", hint=hint)
        with _open_registry(name, invocation, access, row or _find_row(name, invocation)) as source:
            yield (source,)
    elif "/" in word or path.exists():
        if not path.exists():
            raise UsageError(f"there is no {word}", hint="a published image is written as HOST/NAME@sha256:…")
        beside = attached or path.absolute().parent / ATTACHED
        yield (LayoutSource(path, beside) if path.is_dir() else ArchiveSource(path, beside),)
    else:
        yield tuple(find_built(planned, invocation, attached) for planned in invocation.select((word,)))


def find_built(planned: PlannedTarget, invocation: Invocation, attached: Path | None = None) -> LayoutSource:
    """The image that `rockiln build` left, and what lies beside it, held against their row. Raises UsageError."""
    from rockiln.verbs.smoke import find_built_layout
    from rockiln.verification.sources import LayoutSource

    layout_path = find_built_layout(planned, invocation)
    return LayoutSource(layout_path, attached or layout_path.parent / ATTACHED, ask_row(planned))


def ask_row(planned: PlannedTarget) -> AskedRow:
    """What the image of a row is held against."""
    from rockiln.names import image_reference
    from rockiln.verification.sources import AskedRow

    return AskedRow(id=planned.id, reference=image_reference(planned))


def read_installed(source: ImageSource, invocation: Invocation) -> Installed:
    """The packages of an image, every byte of which is held against its digest on the way."""
    from rockiln.verification.check_image import check_image

    installed = check_image(source, invocation.console, with_layers=True).installed
    if installed is None:
        raise UsageError(f"{source.name}: layers were not read")
    return installed


def has_host(word: str) -> bool:
    """Whether it begins as a name in a registry does: with a host, and no path of a file."""
    host = word.partition("/")[0]
    return host == "localhost" or (bool({".", ":"} & set(host)) and not host.startswith("."))


def _find_row(name: str, invocation: Invocation) -> AskedRow | None:
    """The row that HOST/NAME:TAG stands for by the project's matrix.toml, so that the image is held against it."""
    from rockiln.publish.rows_of_tags import find_row_of_tag
    from rockiln.registry.reference import parse_reference

    reference = parse_reference(name)
    if not reference.tag or not invocation.matrix_path.is_file():
        return None
    try:
        planned = find_row_of_tag(reference, invocation.plan, invocation.matrix.publish, invocation.lock)
    except RockilnError as fault:
        invocation.console.warn(f"{name}: not held against a row of {invocation.matrix_path}: {fault.message}")
        return None
    return ask_row(planned) if planned else None


@contextmanager
def _open_registry(
    name: str, invocation: Invocation, access: Access, row: AskedRow | None
) -> Iterator[ImageSource]:  # fmt: skip
    from rockiln.publish.pulled import read_platform_manifest
    from rockiln.registry.client import open_repository
    from rockiln.registry.reference import parse_reference
    from rockiln.verification.sources import RegistrySource

    reference = parse_reference(name)
    with open_repository(reference, invocation.environ, access=access) as repository:
        digest = reference.digest or repository.find_digest(reference.version)
        if not digest and not reference.tag:
            hint = "write HOST/NAME:TAG or HOST/NAME@sha256:…"
            raise RegistryError(f"{reference}: no tag is named, and there is no {reference.version}", hint=hint)
        if not digest:
            raise RegistryError(f"{reference}: not there", hint="is the name right, and may you read it?")
        image = read_platform_manifest(repository, digest).digest
        yield RegistrySource(repository, image, invocation.folders.cache_path / "received", row)
