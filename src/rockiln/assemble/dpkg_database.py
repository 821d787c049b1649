"""Unpacked debs → /var/lib/dpkg and apt's records, as if dpkg had installed them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rockiln.assemble.control import read_fields, write_fields
from rockiln.assemble.effects import Applied
from rockiln.assemble.scripts import SCRIPTS
from rockiln.assemble.tree import Tree, make_directory, make_file
from rockiln.manifest import DebFacts, Entry, Unpacked
from rockiln.unpack.members import merge_usr

FOLDER = "var/lib/dpkg"
NATIVE = "amd64"


def add_dpkg_database(
    tree: Tree, unpacked: Sequence[Unpacked], applied: Sequence[Applied], replaced: Mapping[str, frozenset[str]],
    requested: Iterable[str],
) -> Tree:
    """Status, file lists, control files, triggers, diversions and apt's list of what came as a dependency."""
    debs = [(one, one.deb) for one in sorted(unpacked, key=lambda one: one.artifact.name) if one.deb]
    if not debs:
        return tree
    paragraphs = [_status(tree, facts) for _, facts in debs]
    texts = {
        f"{FOLDER}/status": "\n".join(paragraphs) + "\n",
        f"{FOLDER}/arch": f"{NATIVE}\n",
        f"{FOLDER}/info/format": "1\n",
        f"{FOLDER}/diversions": _diversions(applied),
        **_extended_states([one for one, _ in debs], frozenset(requested)),
        **_triggers([facts for _, facts in debs]),
    }
    entries = [make_file(tree.contents, path, _encode(text), "rockiln") for path, text in texts.items()]
    for one, facts in debs:
        entries += _info(tree, one, facts, replaced.get(one.artifact.owner, frozenset()))
    return tree.adding([*entries, make_directory(f"{FOLDER}/updates", "rockiln")])


def _encode(text: str) -> bytes:
    """Control data is not always UTF-8; the unpacker keeps such bytes as surrogates."""
    return text.encode("utf-8", "surrogateescape")


def info_name(control: str) -> str:
    """Stem of a package's files below info/: NAME, or NAME:ARCH where several architectures may be installed."""
    fields = read_fields(control)
    name = fields["Package"]
    return f"{name}:{fields['Architecture']}" if fields.get("Multi-Arch") == "same" else name


def _status(tree: Tree, facts: DebFacts) -> str:
    fields = read_fields(facts.control)
    fields["Status"] = "install ok installed"
    conffiles = [line for line in facts.control_files.get("conffiles", "").split("\n") if line.startswith("/")]
    if conffiles:
        fields["Conffiles"] = "".join(f"\n {path} {_md5(tree, path)}" for path in conffiles)
    return write_fields(fields)


def _md5(tree: Tree, path: str) -> str:
    data = tree.read(path)
    return hashlib.md5(data, usedforsecurity=False).hexdigest() if data is not None else "newconffile"


def _info(tree: Tree, one: Unpacked, facts: DebFacts, replaced: frozenset[str]) -> Iterator[Entry]:
    """The files below info/ of one package; they belong to it, and so does their layer."""
    stem = f"{FOLDER}/info/{info_name(facts.control)}"
    owner = one.artifact.owner
    listed = [path for path in facts.listed_paths if merge_usr(path.strip("/")) not in replaced]
    texts = {"list": "".join(f"{path}\n" for path in listed), **facts.control_files}
    for name, text in texts.items():
        if name not in {"control", "md5sums"}:
            yield make_file(tree.contents, f"{stem}.{name}", _encode(text), owner, 0o755 if name in SCRIPTS else 0o644)
    sums = facts.control_files.get("md5sums")
    sums = _sum_files(tree, one, facts) if sums is None else sums
    yield make_file(tree.contents, f"{stem}.md5sums", _encode(sums), owner)


def _sum_files(tree: Tree, one: Unpacked, facts: DebFacts) -> str:
    """md5sums of a package that ships none, as dpkg makes them while it unpacks."""
    hashes = {entry.path: entry.sha256 for entry in one.entries if entry.kind == "file"}
    hashes |= {entry.path: hashes[entry.link] for entry in one.entries if entry.kind == "hardlink"}
    lines = []
    for listed in facts.listed_paths:
        path = listed.strip("/")
        if sha256 := hashes.get(merge_usr(path)):
            digest = hashlib.md5(tree.contents.read_bytes(sha256), usedforsecurity=False)
            lines.append(f"{digest.hexdigest()}  {path}\n")
    return "".join(lines)


def _diversions(applied: Iterable[Applied]) -> str:
    rows = [(path, to, one.package) for one in applied for path, to in one.effect.diversions]
    return "".join(f"{path}\n{to}\n{package}\n" for path, to, package in sorted(rows))


def _extended_states(debs: Iterable[Unpacked], requested: frozenset[str]) -> dict[str, str]:
    """apt's note of what came as a dependency only, so that `apt-get autoremove` and people can tell."""
    names = [(one.artifact.name, one.artifact.architecture) for one in debs if one.artifact.owner not in requested]
    rows = [(name, NATIVE if architecture == "all" else architecture) for name, architecture in names]
    text = "".join(f"Package: {name}\nArchitecture: {arch}\nAuto-Installed: 1\n\n" for name, arch in rows)
    return {"var/lib/apt/extended_states": text} if text else {}


def _triggers(debs: Iterable[DebFacts]) -> dict[str, str]:
    """Who waits for which trigger: File for paths, one file for each name."""
    files: dict[str, str] = {"File": "", "Unincorp": ""}
    for facts in debs:
        for line in facts.control_files.get("triggers", "").split("\n"):
            words = line.partition("#")[0].split()
            if len(words) != 2 or not words[0].startswith("interest"):
                continue
            package = info_name(facts.control) + ("/noawait" if words[0] == "interest-noawait" else "")
            if words[1].startswith("/"):
                files["File"] += f"{words[1]} {package}\n"
            else:
                files[words[1]] = files.get(words[1], "") + f"{package}\n"
    return {f"{FOLDER}/triggers/{name}": text for name, text in files.items()}
