"""PlannedTarget + LockedTarget → the entries that rockiln adds to an image: entrypoint, guards, folders, a record."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from importlib.resources import files

from packaging.utils import canonicalize_name

import rockiln
from rockiln.artifact import OWN, Artifact
from rockiln.assemble.tree import make_directory, make_file, make_symlink
from rockiln.contents import Contents
from rockiln.locked import LockedTarget
from rockiln.manifest import Entry
from rockiln.plan import PlannedTarget
from rockiln.slim_rules import DropRule

OWNER = "rockiln"
VENV = "opt/venv"
ENTRYPOINT_PATH = "usr/lib/rockiln/entrypoint"
PREFLIGHT_PATH = "usr/lib/rockiln/preflight"
DOCTOR_PATH = "usr/lib/rockiln/preflight-by-doctor"
"""Stands at PREFLIGHT_PATH in images that hold hipcompat."""
DEFAULT_COMMAND_PATH = "usr/lib/rockiln/default-command"
CONSTRAINTS_PATH = "etc/rockiln/constraints.txt"
OVERRIDES_PATH = "etc/rockiln/overrides.txt"
RECORD_PATH = "etc/rockiln/version.json"
DPKG_PATH = "etc/dpkg/dpkg.cfg.d/rockiln"
RECORD_SCHEMA = 1


def image_entries(planned: PlannedTarget, locked: LockedTarget, contents: Contents) -> tuple[Entry, ...]:
    """What belongs to this image and comes with no package; assemble() merges it, and packages win."""
    entries = {entry.path: entry for entry in _make_folders(planned)}
    entries |= {path: make_symlink(path, link, OWNER) for path, link in planned.recipe.links.items()}
    for path, text, mode in _make_texts(planned, locked):
        entries[path] = make_file(contents, path, text.encode(), OWNER, mode)
    return tuple(entries[path] for path in sorted(entries))


def _make_folders(planned: PlannedTarget) -> Iterator[Entry]:
    recipe = planned.recipe
    workdir = recipe.workdir.strip("/")
    if workdir:
        yield make_directory(workdir, OWNER)
    for folder in recipe.writable_folders:
        yield make_directory(folder.strip("/"), OWNER, 0o1777)


def _make_texts(planned: PlannedTarget, locked: LockedTarget) -> Iterator[tuple[str, str, int]]:
    """Path, text and mode of each file; later ones win, so a recipe's file is the last word."""
    yield ENTRYPOINT_PATH, _read_packaged(ENTRYPOINT_PATH), 0o755
    if planned.target.rocm:
        has_doctor = any(item.source == OWN and item.name == "hipcompat" for item in locked.artifacts)
        yield PREFLIGHT_PATH, _read_packaged(DOCTOR_PATH if has_doctor else PREFLIGHT_PATH), 0o644
    if planned.recipe.cmd:
        yield DEFAULT_COMMAND_PATH, f"set -- {shlex.join(planned.recipe.cmd)}\n", 0o644
    pins = "".join(f"{artifact.name}=={artifact.version}\n" for artifact in find_framework(planned, locked))
    yield CONSTRAINTS_PATH, _CONSTRAINTS_HEAD + pins, 0o644
    yield OVERRIDES_PATH, _OVERRIDES_HEAD + pins, 0o644
    yield RECORD_PATH, make_record(planned, locked), 0o644
    yield DPKG_PATH, make_dpkg_excludes(planned.recipe.drops), 0o644
    for path, text in planned.recipe.files.items():
        yield path.strip("/"), text, 0o644


_CONSTRAINTS_HEAD = """\
# The framework's exact builds. pip and uv read this through PIP_CONSTRAINT, UV_CONSTRAINT and their BUILD_CONSTRAINT,
# so that installing something on top never replaces them; to do so on purpose, unset the variables.
"""

_OVERRIDES_HEAD = """\
# As constraints.txt, for uv (UV_OVERRIDE): whatever version a package asks for, these are what it gets.
"""


def _read_packaged(path: str) -> str:
    """A file that rockiln ships below image_root/, under the path that it has in the image."""
    return files(rockiln).joinpath("image_root", *path.split("/")).read_text(encoding="utf-8")


def find_framework(planned: PlannedTarget, locked: LockedTarget) -> tuple[Artifact, ...]:
    """The framework's wheels and our plugins, as locked: what pip must not swap. The recipe's extras may move."""
    extras = {canonicalize_name(wheel.name) for wheel in planned.recipe.wheels}
    names = {canonicalize_name(wheel.name) for wheel in planned.taken.wheels} - extras
    wheels = (artifact for artifact in locked.artifacts if artifact.kind == "wheel")
    return tuple(sorted(one for one in wheels if one.source == OWN or canonicalize_name(one.name) in names))


def make_record(planned: PlannedTarget, locked: LockedTarget) -> str:
    """/etc/rockiln/version.json: what the image is, and each package in it."""
    target = planned.target
    record = {
        "schema": RECORD_SCHEMA,
        "rockiln": rockiln.__version__,
        "target": target.id,
        "framework": target.framework,
        "version": str(planned.taken.version),
        "evidence": planned.taken.evidence,
        "rocm": str(target.rocm or ""),
        "rocm-origin": target.rocm_origin,
        "archs": list(target.archs),
        "python": str(target.python),
        "os": target.os,
        "flavour": target.flavour,
        "absent": list(target.absent),
        **_say_expected(planned),
        "inputs-sha256": locked.inputs_sha256,
        "packages": [
            {"kind": item.kind, "name": item.name, "version": item.version, "sha256": item.sha256}
            for item in sorted(locked.artifacts)
        ],
    }
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def _say_expected(planned: PlannedTarget) -> dict[str, object]:
    """What the audit of the image takes for granted, so that whoever audits it later does so too."""
    expected = [
        {"finding": one.finding, "paths": list(one.paths), "why": one.why} for one in planned.recipe.expected
    ]  # fmt: skip
    provided = list(planned.recipe.provided_by_host)
    return {**({"expected": expected} if expected else {}), **({"provided-by-host": provided} if provided else {})}


def make_dpkg_excludes(drops: tuple[DropRule, ...]) -> str:
    """The drop rules in dpkg's words, so that what apt installs later stays as slim.

    dpkg's `*` crosses folders and ours does not. So only patterns whose wildcards are all `**` are said, and what is
    kept is said more broadly: dpkg may leave out less than rockiln did, never more.
    """
    lines = ["# What this image left out, rockiln's drop rules have left out; packages installed later follow suit."]
    for drop in drops:
        excludes = [path for path in drop.paths if _is_sayable(path)]
        if excludes and (not drop.owners or "deb:*" in drop.owners):
            lines += [f"# {drop.rule}: {drop.why}"]
            lines += [f"path-exclude=/{path.replace('**', '*')}" for path in excludes]
            lines += [f"path-include=/{path.replace('**/', '*').replace('**', '*')}" for path in drop.keep]
    return "\n".join(lines) + "\n"


def _is_sayable(pattern: str) -> bool:
    rest = pattern.replace("/**/", "/").removesuffix("/**").removeprefix("**/")
    return not set("*?[") & set(rest) and not f"{rest}/".startswith(f"{VENV}/")
