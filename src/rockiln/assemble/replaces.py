"""Two control paragraphs → whether the first package may take files of the second: Debian's Replaces field."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">>": operator.gt,
}


def replaces(control: str, other: str) -> bool:
    """Whether the package of `control` declares that it replaces the package of `other`, at its version."""
    from debian.deb822 import Deb822, PkgRelation
    from debian.debian_support import Version

    replaced = Deb822(other)
    for alternatives in PkgRelation.parse_relations(Deb822(control).get("Replaces", "")):
        for relation in alternatives:
            if relation["name"] != replaced["Package"]:
                continue
            if not relation["version"]:
                return True
            sign, version = relation["version"]
            if _COMPARE[sign](Version(replaced["Version"]), Version(version)):
                return True
    return False
