"""[publish] of matrix.toml → PublishPolicy: where images go, and under which tags. Data only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from rockiln.tables import Table, list_words, quote, suggest

FIELDS = ("platform", "os", "os-short", "python", "version")
"""What stands in braces in a shape: docs/publish.md says what each becomes."""
DEFAULT_SHAPE = "{platform}-py{python}-{version}-{os}"
"""For a framework that has none of its own."""
_LIST_HINT = "; `rockiln plan` lists them"
_FIELD = re.compile(r"\{([^{}]*)\}")
_SHAPE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingTag:
    """A tag that goes from image to image; `meaning` says to people which one they get."""

    tag: str
    rows: str
    """A glob over ids of targets."""
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishPolicy:
    """The whole table."""

    repository: str = ""
    """HOST/NAME, in which {framework} stands for the row's; "" means that --to must say it."""
    shapes: Mapping[str, str] = field(default_factory=dict)
    """Framework → shape of its tags."""
    moving: tuple[MovingTag, ...] = ()


def read_policy(table: Table, ids: Sequence[str], frameworks: Collection[str]) -> PublishPolicy:
    """`ids` and `frameworks` are those of the rows. Faults are noted in the table's file."""
    policy = PublishPolicy(
        repository=table.text("repository", ""),
        shapes=table.text_map("tags"),
        moving=tuple(_read_moving(tag, row) for tag, row in table.named_tables("moving").items()),
    )
    table.refuse_others()
    for name in _FIELD.findall(policy.repository):
        if name != "framework":
            hint = suggest(name, ("framework",))
            table.fault("repository", f"{{{name}}} stands for nothing here; only {{framework}} does{hint}")
    for framework, shape in policy.shapes.items():
        if framework not in frameworks:
            message = f"no row is of {quote(framework)}{suggest(framework, frameworks) or _LIST_HINT}"
            table.table("tags").fault(framework, message)
        _check_shape(table.table("tags"), framework, shape)
    for moving in policy.moving:
        if moving.rows and not any(fnmatchcase(row, moving.rows) for row in ids):
            key = table.table("moving").table(moving.tag)
            key.fault("rows", f"{quote(moving.rows)} matches no row{suggest(moving.rows, ids) or _LIST_HINT}")
        if not _TAG.fullmatch(moving.tag):
            table.table("moving").fault(moving.tag, f"{quote(moving.tag)} is no tag: letters, digits, . _ and -")
    return policy


def _read_moving(tag: str, row: Table) -> MovingTag:
    moving = MovingTag(tag=tag, rows=row.text("rows"), meaning=row.text("meaning"))
    row.refuse_others()
    if row.is_empty("meaning"):
        row.fault("meaning", "empty: whoever pulls the tag wants to know what it is")
    return moving


def _check_shape(table: Table, framework: str, shape: str) -> None:
    for name in _FIELD.findall(shape):
        if name not in FIELDS:
            table.fault(framework, f"{{{name}}} is not {list_words(FIELDS)}{suggest(name, FIELDS)}")
    rest = _FIELD.sub("x", shape)
    if shape and not _SHAPE.fullmatch(rest):
        message = f"{quote(shape)} makes no tag: {_name_odd(rest)}; such as {quote(DEFAULT_SHAPE)}"
        table.fault(framework, message)
    if "{version}" not in shape and shape:
        message = "{version} is missing: a tag names the framework's full version"
        table.fault(framework, f"{message}; such as {quote(shape.rstrip('-_.') + '-{version}')}")


def _name_odd(rest: str) -> str:
    """What is wrong with the part of a shape that is no field."""
    if {"{", "}"} & set(rest):
        return "a brace in it has no other"
    odd = "".join(dict.fromkeys(re.sub(r"[A-Za-z0-9._-]", "", rest)))
    return f"{quote(odd)} may not stand in it" if odd else f"it may not begin with {quote(rest[0])}"
