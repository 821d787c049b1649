"""effects.toml + debs → what their maintainer scripts would have done on a fresh install, and which are not known.

Nothing is executed: each known script was read by a person, its effect written down as data, and the hash of the text
that was read noted beside it. A script with another hash is reported, and the effects of its package are applied as
far as they are known.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any, Literal

from rockiln.assemble.control import read_field
from rockiln.assemble.scripts import REVIEWED_SCRIPTS, hash_script
from rockiln.manifest import Unpacked
from rockiln.rootfs import Finding

_PYTHON = re.compile(r"python(3\.\d+)")
_ROCM = re.compile(r"/opt/rocm-(\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A path that a script makes, where nothing is yet."""

    kind: Literal["directory", "file", "symlink"]
    path: str
    mode: int
    uid: int = 0
    gid: int = 0
    text: str = ""
    copy_of: str = ""
    """Image path whose bytes the file gets; "" for `text`."""
    to: str = ""
    """Target of a symlink."""
    only_with: str = ""
    """Made only where this path exists."""
    replaces_folder: bool = False
    """The symlink takes the place of an empty directory that the package ships."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One `update-alternatives --install`; slaves are (name, link, path)."""

    name: str
    link: str
    path: str
    priority: int
    slaves: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """[[effect]]: what the scripts of one package do on a fresh install."""

    package: str
    """Glob over package names. In paths `{python}` stands for the 3.X in the name, `{rocm}` for ROCm's version."""
    reviewed: frozenset[str]
    """Hashes (scripts.hash_script) of the scripts that were read."""
    why: str
    places: tuple[Placed, ...]
    alternatives: tuple[Alternative, ...]
    diversions: tuple[tuple[str, str], ...]
    """(path, where other packages' file of that name goes)"""
    groups: tuple[str, ...]
    """System groups that adduser would make."""
    group_files: tuple[tuple[str, int, str], ...]
    """(path, mode, group): files of the package that a script gives to such a group."""
    apply: tuple[str, ...]
    """Parts that are code: "shadow", "shells", "pam", "certificates", "apt-sources"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """An effect, bound to the package that has it."""

    owner: str
    package: str
    effect: Effect


def read_effects() -> tuple[Effect, ...]:
    """The table that comes with rockiln."""
    text = resources.files(__package__).joinpath("effects.toml").read_text(encoding="utf-8")
    return tuple(_read_effect(row) for row in tomllib.loads(text)["effect"])


def _read_effect(row: Mapping[str, Any]) -> Effect:
    return Effect(
        package=row["package"],
        reviewed=frozenset(row["reviewed"]),
        why=row["why"],
        places=tuple(_read_places(row)),
        alternatives=tuple(_read_alternative(one) for one in row.get("alternatives", ())),
        diversions=tuple((path, to) for path, to in row.get("diversions", ())),
        groups=tuple(row.get("groups", ())),
        group_files=tuple((path, mode, group) for path, mode, group in row.get("group-files", ())),
        apply=tuple(row.get("apply", ())),
    )


def _read_places(row: Mapping[str, Any]) -> Iterator[Placed]:
    kinds: tuple[tuple[str, Literal["directory", "file", "symlink"], int], ...] = (
        ("directories", "directory", 0o755), ("files", "file", 0o644), ("links", "symlink", 0o777),
    )
    for key, kind, mode in kinds:
        for one in row.get(key, ()):
            fields = {name.replace("-", "_"): value for name, value in one.items()}
            yield Placed(**{"kind": kind, "mode": mode, **fields})


def _read_alternative(one: Mapping[str, Any]) -> Alternative:
    return Alternative(**{**one, "slaves": tuple((name, link, path) for name, link, path in one.get("slaves", ()))})


def review_scripts(
    unpacked: Sequence[Unpacked], effects: Sequence[Effect]
) -> tuple[tuple[Applied, ...], tuple[Finding, ...]]:
    """The effects that hold for these debs, and a finding for each script that nobody has read."""
    applied: list[Applied] = []
    findings: list[Finding] = []
    for one in unpacked:
        if one.deb is None:
            continue
        package, owner = one.artifact.name, one.artifact.owner
        hashes = _hash_scripts(one)
        known = [effect for effect in effects if fnmatchcase(package, effect.package)]
        effect = _choose(known, frozenset(hashes.values())) if hashes else None
        if effect:
            applied.append(Applied(owner=owner, package=package, effect=_bind(effect, one)))
        read = frozenset().union(*(effect.reviewed for effect in known))
        findings += [_finding(owner, name, text, bool(known)) for name, text in hashes.items() if text not in read]
    return tuple(applied), tuple(findings)


def _hash_scripts(one: Unpacked) -> dict[str, str]:
    """Hash of each script of a deb of which something is left."""
    if one.deb is None:
        return {}
    version = read_field(one.deb.control, "Version")
    texts = {name: one.deb.control_files[name] for name in REVIEWED_SCRIPTS if name in one.deb.control_files}
    hashes = {name: hash_script(text, version) for name, text in texts.items()}
    return {name: found for name, found in hashes.items() if found}


def _choose(known: Sequence[Effect], hashes: frozenset[str]) -> Effect | None:
    """The effect whose reviewed scripts agree best; of equals the last, which stands for the newest release."""
    ranked = sorted(known, key=lambda effect: len(effect.reviewed & hashes))
    return ranked[-1] if ranked else None


def _bind(effect: Effect, one: Unpacked) -> Effect:
    """`{python}` filled in from the package's name, `{rocm}` from its paths."""
    python = _PYTHON.search(one.artifact.name)
    rocm = _ROCM.search("\n".join(one.deb.listed_paths if one.deb else ()))
    words = {"{python}": python[1] if python else "", "{rocm}": rocm[1] if rocm else ""}

    def fill(text: str) -> str:
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    places = tuple(replace(place, path=fill(place.path), text=fill(place.text)) for place in effect.places)
    alternatives = tuple(replace(one, path=fill(one.path)) for one in effect.alternatives)
    return replace(effect, places=places, alternatives=alternatives)


def _finding(owner: str, script: str, text_hash: str, has_changed: bool) -> Finding:
    what = "is not the one that was read" if has_changed else "was never read"
    advice = "compare it with what effects.toml says of the package, then add the hash there"
    return Finding(rule="unreviewed-script", owner=owner, message=f"{script} ({text_hash}) {what}: {advice}")
