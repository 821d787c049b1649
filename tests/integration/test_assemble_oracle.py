"""The tree equals what mmdebstrap makes of the same debs, but for the list in docs/assemble.md.

mmdebstrap runs every package script as root; rockiln runs none.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from debian_tree import ROOT, DebianTree
from rockiln.assemble.tree import Tree
from rockiln.assemble.workshop import OUT, open_workshop
from rockiln.contents import Contents
from rockiln.manifest import Unpacked
from rockiln.rootfs import Rootfs
from rockiln.sandbox import NamespaceSandbox
from rockiln.store import Store
from rockiln.tar_stream import EPOCH_S

EXTRA = {
    "debian-12": ("netbase", "tzdata", "g++", "gcc", "make", "git", "less", "openssh-client", "procps", "xz-utils"),
    "debian-sid": ("netbase", "tzdata", "libamdhip64-7", "libroctx64-4"),
}
"""Packages besides those of the recipe, for their scripts."""

pytestmark = [
    pytest.mark.network,
    pytest.mark.userns,
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("mmdebstrap"), reason="mmdebstrap is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="mmdebstrap runs the packages' scripts as root"),
]

MERGED_USR_HOOK = "/usr/share/mmdebstrap/hooks/maybe-merged-usr"
"""Makes the links of merged /usr before anything is unpacked, where base-files does not bring them."""


class Row(NamedTuple):
    """One line of the table of differences."""

    pattern: str
    difference: str


def read_table() -> tuple[Row, ...]:
    """The table of docs/assemble.md."""
    text = (ROOT / "docs" / "assemble.md").read_text(encoding="utf-8")
    section = text.partition("## Is it the tree that dpkg would have made?")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| [^|]+ \|$", section, re.MULTILINE)
    return tuple(Row(pattern, difference) for pattern, difference in rows)


def matches(path: str, pattern: str) -> bool:
    """`**` crosses folders, `*` does not."""
    parts = [".*" if part == "**/" else ".*" if part == "**" else "[^/]*" if part == "*" else "." if part == "?"
             else re.escape(part) for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)]  # fmt: skip
    return re.fullmatch("".join(parts), path) is not None


class Seen(NamedTuple):
    """What a path is, on either side."""

    kind: str
    rights: tuple[int, int, int]
    link: str
    data: bytes


def see_rootfs(rootfs: Rootfs, contents: Contents) -> Mapping[str, Seen]:
    seen = {}
    for path, entry in rootfs.entries.items():
        file = rootfs.entries[entry.link] if entry.kind == "hardlink" else entry
        data = contents.read_bytes(file.sha256) if file.kind == "file" else b""
        seen[path] = Seen(file.kind, (file.mode, file.uid, file.gid), file.link, summarize(path, data))
    return seen


def see_tar(path: Path) -> Mapping[str, Seen]:
    kinds = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "directory", tarfile.SYMTYPE: "symlink"}
    seen: dict[str, Seen] = {}
    with tarfile.open(path, mode="r|") as archive:
        for member in archive:
            place = member.name.removeprefix("./").strip("/")
            if member.islnk():
                seen[place] = seen[member.linkname.removeprefix("./")]
            elif place and place != ".":
                file = archive.extractfile(member) if member.isreg() else None
                data = summarize(place, file.read()) if file else b""
                link = member.linkname if member.issym() else ""
                kind = kinds.get(member.type, "device")
                seen[place] = Seen(kind, (member.mode, member.uid, member.gid), link, data)
    return seen


def summarize(path: str, data: bytes) -> bytes:
    """Small files and code as they are, large ones by their hash."""
    return data if len(data) < 1 << 16 or path.endswith(".pyc") else hashlib.sha256(data).digest()


def find_differences(ours: Mapping[str, Seen], theirs: Mapping[str, Seen]) -> Iterator[Row]:
    for path in sorted({*ours, *theirs}):
        one, other = ours.get(path), theirs.get(path)
        if one is None or other is None:
            yield Row(path, "missing" if one is None else "added")
        elif (one.kind, one.link) != (other.kind, other.link):
            yield Row(path, "kind")
        elif one.rights != other.rights:
            yield Row(path, "mode")
        elif one.data != other.data:
            yield Row(path, describe_content(path, one.data, other.data))


def describe_content(path: str, ours: bytes, theirs: bytes) -> str:
    if path.endswith(".pyc"):
        return "code"
    return "order" if sorted(ours.splitlines()) == sorted(theirs.splitlines()) else "content"


def install_debs(system: DebianTree, debs: Sequence[Unpacked], path: Path) -> Path:
    """mmdebstrap's tar of the same debs, from an archive that holds nothing else."""
    archive_path = path / "archive"
    write_archive(debs, system.store, archive_path)
    tar_path = path / "theirs.tar"
    names = ",".join(sorted(one.artifact.name for one in debs))
    options = ["--variant=custom", "--mode=root", f"--include={names}"]
    if not any(entry.path == "bin" for one in debs for entry in one.entries):
        options.append(f"--hook-dir={MERGED_USR_HOOK}")
    source = f"deb [trusted=yes] copy:{archive_path} ./"
    command = ["mmdebstrap", *options, "stable", str(tar_path), source]
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH_S), "TMPDIR": str(path)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr[-3000:]
    return tar_path


def write_archive(unpacked: Sequence[Unpacked], store: Store, path: Path) -> None:
    """A flat apt archive of hard links into the store."""
    path.mkdir()
    stanzas = []
    for one in unpacked:
        artifact = one.artifact
        os.link(store.path_of(artifact), path / f"{artifact.sha256}.deb")
        control = one.deb.control.strip() if one.deb else ""
        place = f"Filename: ./{artifact.sha256}.deb\nSize: {artifact.size_bytes}\nSHA256: {artifact.sha256}\n"
        stanzas.append(f"{control}\n{place}")
    (path / "Packages").write_text("\n".join(stanzas), encoding="utf-8", errors="surrogateescape")


def find_other_code(system: DebianTree, rootfs: Rootfs, paths: Sequence[str], theirs: Mapping[str, Seen]) -> list[str]:
    """Which of these .pyc files hold other code than Debian's: the image's own Python loads and compares both."""
    different = []
    tree = Tree(entries=rootfs.entries, contents=system.contents)
    program = (
        "import marshal, os, sys\n"
        "for name in sorted(os.listdir(sys.argv[1])):\n"
        "    if name.endswith('.ours'):\n"
        "        stem = os.path.join(sys.argv[1], name[:-4])\n"
        "        pair = [open(stem + side, 'rb').read()[16:] for side in ('ours', 'dpkg')]\n"
        "        if marshal.loads(pair[0]) != marshal.loads(pair[1]): print(name[:-5])\n"
    )
    with open_workshop(tree, NamespaceSandbox(), system.folders.cache_path) as workshop:
        for tag in sorted({path.rpartition("cpython-3")[2].removesuffix(".pyc") for path in paths}):
            some = [path for path in paths if path.endswith(f"cpython-3{tag}.pyc")]
            with workshop.out_folder() as out_path:
                for index, path in enumerate(some):
                    (out_path / f"{index}.ours").write_bytes(tree.read(path) or b"")
                    (out_path / f"{index}.dpkg").write_bytes(theirs[path].data)
                printed = workshop.run((f"/usr/bin/python3.{tag}", "-I", "-S", "-c", program, f"/{OUT}"), out_path)
            different += [some[int(line)] for line in printed.split()]
    return different


class Case(NamedTuple):
    """One system, its debs, and our tree of them."""

    system: DebianTree
    debs: tuple[Unpacked, ...]
    rootfs: Rootfs


@pytest.fixture(scope="module", params=["debian-12", "debian-sid"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    system = DebianTree(request.param, tmp_path_factory.mktemp(request.param), EXTRA[request.param])
    debs = tuple(one for one in system.unpacked if one.deb)
    return Case(system, debs, system.assemble(requested=[one.artifact.owner for one in system.unpacked]))


def test_no_script_is_unknown(case: Case) -> None:
    assert [finding for finding in case.rootfs.findings if finding.rule == "unreviewed-script"] == []


USED: set[Row] = set()


def test_tree_equals_mmdebstraps_but_for_the_documented_list(case: Case, tmp_path: Path) -> None:
    theirs = see_tar(install_debs(case.system, case.debs, tmp_path))
    differences = list(find_differences(see_rootfs(case.rootfs, case.system.contents), theirs))
    table = read_table()
    assert len(table) > 20, "the table was not found"
    undocumented = []
    for found in differences:
        rows = {row for row in table if row.difference == found.difference and matches(found.pattern, row.pattern)}
        USED.update(rows)
        undocumented += [] if rows else [found]
    assert "\n".join(map(str, undocumented)) == ""
    compiled = [found.pattern for found in differences if found.difference == "code"]
    assert len(compiled) > 200
    assert find_other_code(case.system, case.rootfs, compiled, theirs) == []


def test_no_row_of_the_list_is_stale() -> None:
    if not USED:
        pytest.skip("nothing was compared")
    assert "\n".join(str(row) for row in read_table() if row not in USED) == ""
