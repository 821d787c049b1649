"""A row, its image's labels and a date → Tags: the row's own, the dated one, and those that move over rows."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rockiln.errors import PlanError, UsageError
from rockiln.names import TAG_LIMIT
from rockiln.plan import Plan, PlannedTarget
from rockiln.publish_policy import DEFAULT_SHAPE, MovingTag, PublishPolicy

SHORT_NAMES = {"ubuntu": "ubu", "debian": "deb"}
"""As AMD's JAX images have it: ubu24."""
CPU = "cpu"
WHEEL_LABEL = "dev.rockiln.wheel."
ROW_MEANING = "the newest promoted build of this row"
DATED_MEANING = "never moves"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tags:
    """What an image will be called."""

    row: str
    date: str
    """YYYYMMDD."""
    moving: tuple[MovingTag, ...]

    @property
    def dated(self) -> str:
        """The row's tag and the day: never moves."""
        return f"{self.row}-{self.date}"


def make_tags(
    planned: PlannedTarget, plan: Plan, policy: PublishPolicy, labels: Mapping[str, str], date: str
) -> Tags:  # fmt: skip
    """Raises PlanError where two rows of a repository would have one tag."""
    row = make_row_tag(planned, policy, labels)
    for other in plan.targets:
        is_other = other.id != planned.id and _is_same_place(planned, other, policy)
        if is_other and make_row_tag(other, policy, labels) == row:
            hint = f"give [publish.tags] {planned.target.framework} a shape that tells them apart"
            raise PlanError(f"{planned.id} and {other.id} would both be tagged {row}", hint=hint)
    return Tags(row=row, date=date, moving=_find_moving(planned, plan, policy))


def make_row_tag(planned: PlannedTarget, policy: PublishPolicy, labels: Mapping[str, str]) -> str:
    """The framework's shape, then plugin, archs and flavour."""
    target = planned.target
    shape = policy.shapes.get(target.framework, DEFAULT_SHAPE)
    fields = {
        "platform": f"rocm{target.rocm}" if target.rocm else CPU,
        "os": target.os.replace("-", "", 1),
        "os-short": _shorten_os(target.os),
        "python": str(target.python),
        "version": str(target.version),
    }
    tag = re.sub(r"\{([^{}]*)\}", lambda found: fields[found[1]], shape)
    plugin = labels.get(f"{WHEEL_LABEL}rockiln-{target.framework}", "")
    parts = [tag, f"rockiln{plugin}" if plugin else "", *target.archs, target.flavour or "runtime"]
    whole = "-".join(filter(None, parts)).replace("+", "_")
    if len(whole) > TAG_LIMIT - len("-YYYYMMDD.99"):
        raise PlanError(f"{planned.id}: {whole} is too long for a tag", hint="a shorter shape, or fewer archs")
    return whole


def _shorten_os(name: str) -> str:
    """"ubuntu-24.04" → "ubu24"."""
    family, _, release = name.partition("-")
    return SHORT_NAMES.get(family, family) + release.partition(".")[0]


def _is_same_place(one: PlannedTarget, other: PlannedTarget, policy: PublishPolicy) -> bool:
    if one.target.framework == other.target.framework:
        return True
    places = (policy.repository.replace("{framework}", row.target.framework) for row in (one, other))
    return len(set(places)) == 1


def _find_moving(planned: PlannedTarget, plan: Plan, policy: PublishPolicy) -> tuple[MovingTag, ...]:
    """Those whose glob names this row, and no other row of its repository."""
    moving = tuple(tag for tag in policy.moving if fnmatch.fnmatchcase(planned.id, tag.rows))
    for tag in moving:
        others = [
            other.id
            for other in plan.targets
            if other.id != planned.id
            and fnmatch.fnmatchcase(other.id, tag.rows)
            and _is_same_place(planned, other, policy)
        ]
        if others:
            message = f"[publish.moving.{tag.tag}] names {planned.id} and {', '.join(others)}: it can mean one only"
            raise PlanError(message, hint="write rows so that it names one row of the repository")
    return moving


def choose_date(said: str, environ: Mapping[str, str], now_s: float) -> str:
    """YYYYMMDD: what --date says, else SOURCE_DATE_EPOCH, else today in UTC. Raises UsageError."""
    if said:
        if not re.fullmatch(r"\d{8}", said) or not _is_day(said):
            raise UsageError(f"--date {said!r} is no day", hint="YYYYMMDD, such as 20261130")
        return said
    epoch = environ.get("SOURCE_DATE_EPOCH", "")
    if epoch and not epoch.isdecimal():
        raise UsageError(f"SOURCE_DATE_EPOCH={epoch!r} is no number of seconds", hint="unset it, or give --date")
    return dt.datetime.fromtimestamp(int(epoch) if epoch else now_s, dt.UTC).strftime("%Y%m%d")


def _is_day(text: str) -> bool:
    try:
        dt.date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True


def find_free_dated(tags: Tags, known: Sequence[str]) -> str:
    """The dated tag, or where that is taken the same with .1, .2, …: a second build on a day has a tag of its own."""
    if tags.dated not in known:
        return tags.dated
    numbers = [int(tag.rpartition(".")[2]) for tag in known if re.fullmatch(re.escape(tags.dated) + r"\.\d+", tag)]
    return f"{tags.dated}.{max(numbers, default=0) + 1}"
