"""[publish] repository or --to, and a row → the Reference it goes to, and its siblings in the same registry."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rockiln.errors import PromotionError, UsageError
from rockiln.registry.reference import Reference, parse_reference
from rockiln.tables import suggest

FIELD = "{framework}"
_FIELDS = re.compile(r"\{([^{}]*)\}")


def find_destination(template: str, framework: str) -> Reference:
    """HOST/NAME of a framework's images. Raises UsageError where nothing names it, or a tag or digest stands in it."""
    if not template:
        hint = '--to HOST/NAME, or repository = "HOST/NAME-{framework}" under [publish] in matrix.toml'
        raise UsageError("nothing says where to publish", hint=hint)
    for name in _FIELDS.findall(template):
        if name != "framework":
            hint = suggest(name, ("framework",)).removeprefix("; ") or f"only {FIELD} does"
            raise UsageError(f"{template}: {{{name}}} stands for nothing here", hint=hint)
    reference = parse_reference(template.replace(FIELD, framework))
    if reference.tag or reference.digest:
        raise UsageError(f"{template}: a repository has no tag", hint="promote gives images the tags of matrix.toml")
    return reference


def list_siblings(template: str, framework: str, frameworks: Iterable[str]) -> tuple[str, ...]:
    """Repositories (without the host) in which images of the other frameworks are: most layers are the same."""
    own = find_destination(template, framework).repository
    found = (find_destination(template, other).repository for other in frameworks)
    return tuple(dict.fromkeys(repository for repository in found if repository != own))


def require_own_place(reference: Reference, template: str, framework: str, frameworks: Iterable[str]) -> None:
    """Raises PromotionError where matrix.toml gives the repository to another framework: its tags are that one's."""
    if not template or find_destination(template, framework).name == reference.name:
        return
    for other in dict.fromkeys(frameworks):
        if other != framework and find_destination(template, other).name == reference.name:
            message = f"{reference.name} is for {other}, by [publish] of matrix.toml, and the image is of {framework}"
            hint = f"push and promote it in {find_destination(template, framework).name}"
            raise PromotionError(f"{message}: no tag moves", hint=hint)
