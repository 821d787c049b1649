"""The control file of a deb → its fields, strictly: whoever reads the same text later finds the same fields.

python-debian lets the last of two fields of one name win, and fails on bytes that are not UTF-8, which dpkg allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rockiln.artifact import Artifact
from rockiln.unpack.members import refuse

_FIELD = re.compile(r"([!-9;-~]+):[ \t]*(.*)")


def read_control(artifact: Artifact, text: str) -> Mapping[str, str]:
    """Field name in lower case → first line of its value. One paragraph, each name once."""
    fields: dict[str, str] = {}
    for line in text.strip("\n").split("\n"):
        if line[:1] in {" ", "\t"} and fields:
            continue
        match = _FIELD.fullmatch(line)
        if match is None:
            refuse(artifact, "control", f"neither a field nor its continuation: {line[:80]!a}")
        name = match[1].lower()
        if name in fields:
            refuse(artifact, "control", f"has two fields {match[1]!a}")
        fields[name] = match[2].rstrip()
    return fields


def require_locked(artifact: Artifact, fields: Mapping[str, str]) -> None:
    """Refuse another package than the one that was locked."""
    found = tuple(fields.get(name, "") for name in ("package", "version", "architecture"))
    if found != (artifact.name, artifact.version, artifact.architecture):
        locked = f"{artifact.name} {artifact.version} {artifact.architecture}"
        refuse(artifact, "control", f"is of {' '.join(found)!a}; locked is {locked}")


def installed_kib(fields: Mapping[str, str]) -> int | None:
    """Installed-Size, an estimate by whoever built the package; None where there is none."""
    text = fields.get("installed-size", "")
    return int(text) if re.fullmatch("[0-9]{1,12}", text) else None
