"""Libraries + ld.so.conf → /etc/ld.so.cache and missing soname links, by the image's own ldconfig."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rockiln.assemble.answers import hash_question, keep_answer, read_answer
from rockiln.assemble.tree import Tree, make_file, make_symlink
from rockiln.assemble.workshop import OUT, Workshop
from rockiln.manifest import Entry

PROGRAMS = ("usr/sbin/ldconfig.real", "usr/sbin/ldconfig")
"""Ubuntu wraps ldconfig in a script that defers it."""

_LOADED = re.compile(r"(?!opt/venv/).*\.so(\.[^/]*)?|etc/ld\.so\.conf.*")
_FOLDER = re.compile(r"(/\S.*?):(?: \(.*\))?$")
_LINK = re.compile(r"\t(\S+) -> (\S+)")


def add_loader_cache(tree: Tree, workshop: Workshop, cache_path: Path) -> Tree:
    """The cache, and links that ldconfig would have made: a library whose soname no package ships as a link."""
    program = next((path for path in PROGRAMS if path in tree.entries), None)
    if program is None:
        return tree
    key = hash_question("loader", _question(tree, program))
    answer: dict[str, Any] | None = read_answer(cache_path, "loader", key)
    if answer is None:
        answer = _ask(tree, workshop, program)
        keep_answer(cache_path, "loader", key, answer)
    made = make_file(tree.contents, "etc/ld.so.cache", base64.b64decode(answer["cache"]), "rockiln")
    return tree.adding([made, *_links(tree, answer["links"])])


def _question(tree: Tree, program: str) -> Iterator[str]:
    yield tree.entries[program].sha256
    for path in sorted(tree.entries):
        entry = tree.entries[path]
        if _LOADED.fullmatch(path) or (entry.kind == "symlink" and not path.startswith("opt/venv/")):
            yield f"{path} {entry.kind} {entry.sha256} {entry.link}"


def _ask(tree: Tree, workshop: Workshop, program: str) -> dict[str, Any]:
    with workshop.out_folder() as out_path:
        printed = workshop.run((f"/{program}", "-i", "-X", "-v", "-C", f"/{OUT}/ld.so.cache"), out_path)
        cache = (out_path / "ld.so.cache").read_bytes()
    return {"cache": base64.b64encode(cache).decode(), "links": sorted(_missing_links(tree, printed))}


def _missing_links(tree: Tree, printed: str) -> Iterator[tuple[str, str]]:
    """(folder/soname, file) of what `ldconfig -v` names and the tree lacks."""
    folder = ""
    for line in printed.splitlines():
        if heading := _FOLDER.match(line):
            folder = tree.resolve(heading[1])
        elif (link := _LINK.match(line)) and tree.find(f"{folder}/{link[1]}") is None:
            yield f"{folder}/{link[1]}", link[2]


def _links(tree: Tree, links: list[list[str]]) -> Iterator[Entry]:
    for path, file in links:
        library = tree.entries.get(f"{path.rpartition('/')[0]}/{file}")
        yield make_symlink(path, file, library.owner if library else "rockiln")
