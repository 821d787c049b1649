"""Unpacked artifacts + generated files → Rootfs: the steps of assembling, in order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rockiln
from rockiln.assemble.accounts import (
    add_system_groups,
    add_users,
    make_homes,
    read_accounts,
    write_accounts,
    write_shells,
)
from rockiln.assemble.alternatives import add_alternatives
from rockiln.assemble.apt_sources import write_apt_sources
from rockiln.assemble.bytecode import add_bytecode
from rockiln.assemble.certificates import add_certificates
from rockiln.assemble.dpkg_database import add_dpkg_database
from rockiln.assemble.edits import apply_edits
from rockiln.assemble.effects import Applied, read_effects, review_scripts
from rockiln.assemble.loader_cache import add_loader_cache
from rockiln.assemble.merge import merge
from rockiln.assemble.owners import name_owners
from rockiln.assemble.pam import write_pam
from rockiln.assemble.places import give_to_groups, link_merged_usr, list_diversions, place
from rockiln.assemble.tree import Tree, complete
from rockiln.assemble.venv import add_venv
from rockiln.assemble.workshop import open_workshop
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.locked import LockedTarget
from rockiln.manifest import Entry, Unpacked
from rockiln.plan import PlannedTarget
from rockiln.rootfs import Finding, Rootfs
from rockiln.sandbox import Sandbox
from rockiln.slim import choose_dropped


def assemble(  # noqa: PLR0913, PLR0917 - each is the value of another stage
    planned: PlannedTarget, locked: LockedTarget, unpacked: Sequence[Unpacked], contents: Contents, sandbox: Sandbox,
    cache_path: Path, generated: Sequence[Entry], jobs: int, console: Console,
) -> Rootfs:
    """The image's tree. `generated` are files that no package brings, owned by "rockiln"."""
    python = str(planned.target.python)
    unpacked = apply_edits(unpacked, planned.recipe.edits, contents)
    applied, findings = review_scripts(unpacked, read_effects())
    for finding in findings:
        console.warn(f"{finding.owner}: {finding.message}")
    merged = merge(unpacked, list_diversions(applied))
    tree = add_generated(Tree(entries=merged.entries, contents=contents), generated)
    tree = apply_known_effects(tree, applied, planned)
    tree = add_venv(tree, unpacked, python)
    tree = Tree(entries=complete(tree.entries), contents=contents)
    with open_workshop(tree, sandbox, cache_path) as workshop:
        if _applies(applied, "certificates"):
            tree = add_certificates(tree, workshop, cache_path)
        tree = add_loader_cache(tree, workshop, cache_path)
        dropped = choose_dropped(tree.entries, planned.recipe.drops)
        tree, uncompiled = add_bytecode(tree, unpacked, python, dropped, workshop, cache_path, jobs, console)
    tree = add_dpkg_database(tree, unpacked, applied, merged.replaced, locked.requested)
    return Rootfs(
        entries=complete(tree.entries),
        owners=name_owners(unpacked, planned, rockiln.__version__),
        findings=_sort([*findings, *merged.findings, *uncompiled]),
    )


def add_generated(tree: Tree, generated: Sequence[Entry]) -> Tree:
    """With our own files. A folder may exist, and then gets the rights asked for; a file of a package may not."""
    entries = dict(tree.entries)
    for entry in generated:
        other = entries.get(entry.path)
        if other is not None and {other.kind, entry.kind} != {"directory"} and other[1:-1] != entry[1:-1]:
            message = f"{entry.path}: the recipe brings it ({entry.kind}), and so does {other.owner} ({other.kind})"
            raise AssembleError(message, hint="choose another path, or leave that package out")
        entries[entry.path] = entry if other is None else entry._replace(owner=other.owner)
    return Tree(entries=entries, contents=tree.contents)


def apply_known_effects(tree: Tree, applied: Sequence[Applied], planned: PlannedTarget) -> Tree:
    """What the packages' scripts would have done, as far as it needs no program of the image."""
    users = planned.recipe.users
    tree = place(link_merged_usr(tree), applied)
    accounts = add_system_groups(read_accounts(tree), [name for one in applied for name in one.effect.groups])
    accounts = add_users(accounts, users)
    tree = write_accounts(tree, accounts, has_shadow=_applies(applied, "shadow"))
    tree = give_to_groups(tree, applied, accounts.group_ids)
    tree = make_homes(tree, users)
    if _applies(applied, "shells"):
        tree = write_shells(tree)
    if _applies(applied, "pam"):
        tree = write_pam(tree)
    if _applies(applied, "apt-sources"):
        extra = ("experimental",) if planned.target.rocm_origin == "debian" else ()
        tree = write_apt_sources(tree, planned.target.os, extra)
    return add_alternatives(tree, applied)


def _applies(applied: Sequence[Applied], part: str) -> bool:
    return any(part in one.effect.apply for one in applied)


def _sort(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.rule, finding.owner, finding.message)))
