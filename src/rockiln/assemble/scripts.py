"""Maintainer script → what is left of it once known, harmless lines are gone, and the hash that names the rest.

Most scripts consist of snippets that debhelper writes. On a fresh install of an unpacked tree the snippets in HARMLESS
change nothing that an image keeps, or only what docs/assemble.md lists as left out on purpose.
"""

from __future__ import annotations

import hashlib
import re

SCRIPTS = frozenset({"preinst", "postinst", "prerm", "postrm", "config"})
"""Control files that are programs."""

REVIEWED_SCRIPTS = ("preinst", "postinst")
"""What dpkg runs when a package is installed. `config` only asks debconf's questions; the rest runs at removal."""

HARMLESS = frozenset({
    "dh_installdeb",         # dpkg-maintscript-helper: acts on upgrades only
    "dh_installdebconf",     # db_purge at removal
    "dh_installinit",        # System V links and starting services: nothing boots here
    "dh_installsystemd",     # enabling and starting units: as above
    "dh_installsystemduser",
    "dh_installtmpfiles",    # only where systemd-tmpfiles is installed
    "dh_installudev",
    "dh_makeshlibs",         # ldconfig trigger: loader_cache.py
    "dh_python3",            # py3compile: bytecode.py
    "dh_ucf",                # only sums up files that the rest of the script places
})

_BEGIN = re.compile(r"# Automatically added by (\w+)")
_END = "# End automatically added section"
_TOOL_VERSION = re.compile(r"(# Automatically added by \w+)/\S+")
_PYTHON = re.compile(r"python3\.\d+")
_ROCM = re.compile(r"/opt/rocm-\d+\.\d+\.\d+")
_IDLE = frozenset({"set -e", "exit 0", ":"})
HASH_DIGITS = 16


def strip_script(text: str, version: str) -> str:
    """The script without harmless snippets and blank lines, versions (its own, Python's, ROCm's) made neutral.

    "" when nothing but comments is left.
    """
    kept: list[str] = []
    skipping = False
    for line in text.split("\n"):
        begin = _BEGIN.match(line)
        skipping = skipping or (begin is not None and begin[1] in HARMLESS)
        if not skipping and line.strip():
            kept.append(line.rstrip())
        skipping = skipping and not line.startswith(_END)
    if all(line.strip() in _IDLE or line.lstrip().startswith("#") for line in kept):
        return ""
    rest = _TOOL_VERSION.sub(r"\1", "\n".join(kept))
    rest = rest.replace(version, "VERSION") if version else rest
    return _ROCM.sub("/opt/rocm-N", _PYTHON.sub("python3.N", rest))


def hash_script(text: str, version: str) -> str:
    """Short hash of what is left; "" when nothing is."""
    rest = strip_script(text, version)
    return hashlib.sha256(rest.encode("utf-8", "surrogateescape")).hexdigest()[:HASH_DIGITS] if rest else ""
