"""images/*/smoke/check_*.py → Checks: programs with a header that says tier, time limit and user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from rockiln.errors import FileFaultsError
from rockiln.recipe import Recipe

Tier = Literal["cpu", "gpu", "multi-gpu"]
TIERS: tuple[Tier, ...] = get_args(Tier)
LONGEST_TIMEOUT_S = 3600
KEYS = ("tier", "timeout-s", "user", "read-only-root")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One program and how to run it."""

    name: str
    """File name without check_ and .py."""
    path: Path
    tier: Tier
    timeout_s: float
    user: str = ""
    """uid[:gid]; "" is the image's own user."""
    read_only_root: bool = False


def find_checks(recipe: Recipe) -> tuple[Check, ...]:
    """The recipe's checks and those of what it extends, sorted by tier and name. Raises FileFaultsError."""
    paths: dict[str, Path] = {}
    for folder in recipe.smoke_paths or (recipe.smoke_path,):
        paths |= {path.name: path for path in sorted(folder.glob("check_*.py"))}
    faults: list[str] = []
    checks = [_read_check(path, faults) for path in paths.values()]
    if faults:
        raise FileFaultsError("\n".join(faults), hint="docs/smoke.md describes the header of a check")
    return tuple(sorted(checks, key=lambda check: (TIERS.index(check.tier), check.name)))


def _read_check(path: Path, faults: list[str]) -> Check:
    header = _read_header(path)
    unknown = [key for key in header if key not in KEYS]
    faults += [f"{path}: header: {key}: no such key; there are {', '.join(KEYS)}" for key in unknown]
    faults += [f"{path}: header: {key}: is missing" for key in KEYS[:2] if key not in header]
    tier, user = header.get("tier", "cpu"), header.get("user", "")
    if tier not in TIERS:
        faults.append(f"{path}: header: tier: {tier!r} is none of {', '.join(TIERS)}")
    if not all(part.isdecimal() for part in user.split(":")) and user:
        faults.append(f"{path}: header: user: {user!r} is not uid or uid:gid")
    if (read_only := header.get("read-only-root", "false")) not in {"true", "false"}:
        faults.append(f"{path}: header: read-only-root: {read_only!r} is neither true nor false")
    return Check(
        name=path.stem.removeprefix("check_"),
        path=path,
        tier=cast("Tier", tier),
        timeout_s=_parse_timeout(path, header.get("timeout-s", "1"), faults),
        user=user,
        read_only_root=read_only == "true",
    )


def _read_header(path: Path) -> Mapping[str, str]:
    """The "# key: value" lines with which the file begins."""
    header: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, separator, value = line.removeprefix("#").partition(":")
        if not line.startswith("#") or not separator:
            break
        header[key.strip()] = value.strip()
    return header


def _parse_timeout(path: Path, text: str, faults: list[str]) -> float:
    try:
        timeout_s = float(text)
    except ValueError:
        timeout_s = 0
    if not 0 < timeout_s <= LONGEST_TIMEOUT_S:
        faults.append(f"{path}: header: timeout-s: {text!r} is not a number of seconds from 0 to {LONGEST_TIMEOUT_S}")
    return timeout_s
