"""HOST/NAME:TAG + plan, policy and lock → the row whose images are tagged so; the other way round than `tags`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from rockiln.image_config import make_labels
from rockiln.locked import Lock
from rockiln.plan import Plan, PlannedTarget
from rockiln.publish.destinations import find_destination
from rockiln.publish.tags import make_row_tag
from rockiln.publish_policy import PublishPolicy
from rockiln.registry.reference import Reference

_DAY = r"(-\d{8}(\.\d+)?)?"
"""What a dated tag has behind the row's."""


def find_row_of_tag(reference: Reference, plan: Plan, policy: PublishPolicy, lock: Lock) -> PlannedTarget | None:
    """None for a digest, for places and tags that matrix.toml does not name, and for rows that are not locked: the lock
    has the plugin's version, which stands in tags.

    Raises PlanError and UsageError for tags and places that cannot be.
    """
    if not policy.repository or not reference.tag:
        return None
    for planned in plan.targets:
        if find_destination(policy.repository, planned.target.framework).name != reference.name:
            continue
        if any(moving.tag == reference.tag and fnmatchcase(planned.id, moving.rows) for moving in policy.moving):
            return planned
        locked = lock.targets.get(planned.id)
        if locked is None:
            continue
        tag = make_row_tag(planned, policy, make_labels(planned, locked))
        if re.fullmatch(re.escape(tag) + _DAY, reference.tag):
            return planned
    return None
