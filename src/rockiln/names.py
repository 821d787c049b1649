"""A target id → the names under which registries, engines and bake files know it."""

from __future__ import annotations

import re
from typing import Protocol

from rockiln.errors import UsageError

ID_PATTERN = re.compile(r"[a-z0-9]+([.+-][a-z0-9]+)*")
"""What a target id looks like. No underscore: that is the escape character below, so both escapes are one to one."""
TAG_LIMIT = 128
"""https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pulling-manifests"""


class HasFramework(Protocol):
    """As much of a Target as a reference needs."""

    @property
    def framework(self) -> str: ...
    @property
    def id(self) -> str: ...


class HasTarget(Protocol):
    """As much of a PlannedTarget as a reference needs."""

    @property
    def target(self) -> HasFramework: ...


def escape_tag(target_id: str) -> str:
    """A target id as an image tag, which may not hold "+"."""
    tag = _require_id(target_id).replace("+", "_")
    if len(tag) > TAG_LIMIT:
        raise UsageError(f"{target_id}: {len(tag)} characters make no tag", hint=f"at most {TAG_LIMIT}: fewer archs")
    return tag


def escape_bake_name(target_id: str) -> str:
    """A target id as a bake target or job name, which may hold neither "." nor "+"."""
    return _require_id(target_id).replace(".", "_").replace("+", "__")


def image_reference(planned: HasTarget) -> str:
    """The name under which an engine loads the image: rockiln/FRAMEWORK:ID."""
    return f"rockiln/{planned.target.framework}:{escape_tag(planned.target.id)}"


def _require_id(target_id: str) -> str:
    if not ID_PATTERN.fullmatch(target_id):
        raise UsageError(f"{target_id!r} is not a target id", hint="rockiln plan lists the ids")
    return target_id
