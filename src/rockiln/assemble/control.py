"""A control paragraph → its fields, in dpkg's own order where they are written."""

from __future__ import annotations

STATUS_ORDER = (
    "Package", "Essential", "Protected", "Status", "Priority", "Section", "Installed-Size", "Origin", "Maintainer",
    "Bugs", "Architecture", "Multi-Arch", "Source", "Version", "Config-Version", "Replaces", "Provides", "Depends",
    "Pre-Depends", "Recommends", "Suggests", "Breaks", "Conflicts", "Enhances", "Conffiles", "Filename", "Size",
    "MD5sum", "MSDOS-Filename", "Description", "Triggers-Pending", "Triggers-Awaited",
)
"""As in dpkg's lib/dpkg/parse.c; fields that dpkg does not know follow in the order of the deb."""


def read_fields(paragraph: str) -> dict[str, str]:
    """Field → value; continuation lines keep their newline and leading space."""
    fields: dict[str, str] = {}
    name = ""
    for line in paragraph.split("\n"):
        if line[:1] in {" ", "\t"}:
            fields[name] += "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            fields[name] = value.lstrip(" \t")
    return fields


def read_field(paragraph: str, name: str) -> str:
    """One field; "" where it is missing."""
    return read_fields(paragraph).get(name, "")


def write_fields(fields: dict[str, str]) -> str:
    """The paragraph as dpkg writes it into its status file, with a newline at the end."""
    known = [name for name in STATUS_ORDER if name in fields]
    names = [*known, *(name for name in fields if name not in STATUS_ORDER)]
    return "".join(f"{name}:{'' if fields[name].startswith(chr(10)) else ' '}{fields[name]}\n" for name in names)
