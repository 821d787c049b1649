"""What a recipe says of files that nobody runs → DropRule, StripRule, ShareRule: data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """[[drop]]: whole files that nobody runs. The first rule that matches a path, `keep` globs excepted, drops it."""

    rule: str
    """Name, shown in reports: "docs", "locales", "tests"."""
    paths: tuple[str, ...]
    """Globs over image paths without leading slash; ** crosses folders (pathlib's full_match rules)."""
    keep: tuple[str, ...]
    owners: tuple[str, ...]
    """Globs over owners ("wheel:*"); empty: all."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StripRule:
    """[[strip]]: libraries that lose their symbol and debug tables, which only debuggers read."""

    rule: str
    """Name, shown in reports: "symbols-of-wheels"."""
    owners: tuple[str, ...]
    """Globs over owners ("wheel:*")."""
    keep: tuple[str, ...]
    """Globs over image paths of libraries that stay as they are."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRule:
    """[[share]]: files with equal bytes are kept once, and linked to from the other places."""

    rule: str
    """Name, shown in reports: "rocm-in-torch"."""
    paths: tuple[str, ...]
    """Globs over image paths of files that may become links."""
    keep: tuple[str, ...]
    owners: tuple[str, ...]
    """Globs over owners; empty: all."""
    with_paths: tuple[str, ...]
    """"with": symlinks lead to an equal file here, whoever owns it. Empty: hardlinks, within what one owner has."""
    why: str
