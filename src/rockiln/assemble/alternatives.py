"""Applied effects + Tree → what update-alternatives would have left: its links, and its own records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rockiln.assemble.effects import Alternative, Applied
from rockiln.assemble.tree import Tree, make_directory, make_file, make_symlink
from rockiln.manifest import Entry

FOLDER = "etc/alternatives"
RECORDS = "var/lib/dpkg/alternatives"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One way to fill an alternative, and who offers it."""

    owner: str
    offer: Alternative


def add_alternatives(tree: Tree, applied: Iterable[Applied]) -> Tree:
    """Links and records of every alternative of which at least one choice is there; all in automatic mode."""
    by_name: dict[str, list[Choice]] = {}
    for one in applied:
        for offer in one.effect.alternatives:
            if tree.find(offer.path) is not None:
                by_name.setdefault(offer.name, []).append(Choice(owner=one.owner, offer=offer))
    entries = [entry for name in sorted(by_name) for entry in _write(tree, by_name[name])]
    return tree.adding(entries)


def _write(tree: Tree, choices: list[Choice]) -> Iterator[Entry]:
    """The record belongs to the package if it alone offers a choice, so that its layer stays its own."""
    choices = sorted(choices, key=lambda choice: choice.offer.path)
    owners = {choice.owner for choice in choices}
    owner = owners.pop() if len(owners) == 1 else "rockiln"
    best = max(choices, key=lambda choice: choice.offer.priority).offer
    yield make_directory(FOLDER, owner)
    yield make_file(tree.contents, f"{RECORDS}/{best.name}", _record(choices).encode(), owner)
    yield from _link(tree, best.name, best.link, best.path, owner)
    for name, link, path in best.slaves:
        if tree.find(path) is not None:
            yield from _link(tree, name, link, path, owner)


def _link(tree: Tree, name: str, link: str, path: str, owner: str) -> Iterator[Entry]:
    yield make_symlink(f"{FOLDER}/{name}", path, owner)
    folder, _, file = link.rpartition("/")
    yield make_symlink(f"{tree.resolve(folder)}/{file}".lstrip("/"), f"/{FOLDER}/{name}", owner)


def _record(choices: list[Choice]) -> str:
    """As dpkg's utils/update-alternatives.c writes it: mode, links, a blank line, choices, a blank line."""
    slaves = sorted({(name, link) for choice in choices for name, link, _ in choice.offer.slaves})
    lines = ["auto", choices[0].offer.link]
    lines += [line for slave in slaves for line in slave]
    lines.append("")
    for choice in choices:
        paths = {name: path for name, _, path in choice.offer.slaves}
        lines += [choice.offer.path, str(choice.offer.priority), *(paths.get(name, "") for name, _ in slaves)]
    return "\n".join([*lines, "", ""])
