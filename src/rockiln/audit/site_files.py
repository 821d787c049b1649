"""Scan + Promises → findings about files of site-packages: .pth files, RECORDs that collide, changed files."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rockiln.audit.finding import Finding
from rockiln.audit.installed.distributions import Distribution, list_distributions, list_site_files
from rockiln.audit.installed.tree import Tree
from rockiln.audit.promises import Promises
from rockiln.audit.rules import find, name_some
from rockiln.audit.scan import Scan

DEBIAN_SITE = "usr/lib/python3/dist-packages"
"""What is here dpkg vouches for; its packages carry the RECORD of a step of their build."""
_EDITABLE = re.compile(r"__editable__.*\.pth|_editable_impl_.*\.pth|__editable___.*_finder\.py|easy-install\.pth")
_UNWRITTEN = re.compile(r".*\.pyc|.*/RECORD(?:\.jws|\.p7s)?|.*/INSTALLER|.*/REQUESTED|.*/direct_url\.json")
"""What installers write without a hash, or leave out."""


def audit_site_files(scan: Scan, _promises: Promises) -> Iterator[Finding]:
    """Compare what distributions claim with what is there."""
    yield from _find_path_files(scan.tree)
    installed = list_distributions(scan.tree)
    yield from _find_collisions(installed)
    for one in installed:
        if one.site != DEBIAN_SITE:
            yield from _find_differences(scan.tree, one)


def _find_path_files(tree: Tree) -> Iterator[Finding]:
    for site, path, content in list_site_files(tree, ".pth"):
        name = posixpath.basename(path)
        folders = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
        folders = [line for line in folders if line and not line.startswith(("#", "import ", "import\t"))]
        away = [line for line in folders if not _is_inside(line, site)]
        if _EDITABLE.fullmatch(name) and (away or not folders):
            yield find("editable-install", path, f"leads to {name_some(away)}" if away else "a finder of source files")
        elif lost := [line for line in away if tree.resolve(line) is None]:
            yield find("path-file-leads-out", path, f"adds {name_some(lost)}")
    for _, path, content in list_site_files(tree, ".egg-link"):
        yield find("editable-install", path, f"leads to {content.decode('utf-8', 'replace').split(chr(10))[0]}")


def _is_inside(line: str, site: str) -> bool:
    place = posixpath.normpath(posixpath.join("/", site, line))
    return f"{place}/".startswith(f"/{site}/")


def _find_collisions(installed: Sequence[Distribution]) -> Iterator[Finding]:
    """The same path in two RECORDs, with different hashes; equal files (an empty __init__.py) do no harm."""
    claims: dict[str, dict[str, Distribution]] = defaultdict(dict)
    for one in installed:
        for row in one.rows:
            if row.sha256:
                claims[row.path].setdefault(row.sha256, one)
    together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    folders: dict[tuple[str, ...], str] = {}
    for path, found in sorted(claims.items()):
        owners = tuple(sorted({f"{one.name} {one.version}" for one in found.values()}))
        if len(owners) > 1:
            together[owners].append(path)
            folders.setdefault(owners, min(one.folder for one in found.values()))
    for owners, paths in sorted(together.items()):
        names = name_some([f"/{path}" for path in paths])
        evidence = f"{' and '.join(owners)} both claim {len(paths)} files: {names}"
        yield find("record-collision", folders[owners], evidence)


def _find_differences(tree: Tree, one: Distribution) -> Iterator[Finding]:
    missing, different = [], []
    for row in one.rows:
        real = tree.find_file(row.path)
        if real is None:
            if row.sha256 and not _UNWRITTEN.fullmatch(row.path):
                missing.append(f"/{row.path}")
        elif row.sha256 and (sha256 := tree.nodes[real].sha256) and sha256 != row.sha256:
            different.append(f"/{row.path}")
    if different:
        yield find("record-differs", one.folder, f"{len(different)} of {one.name}: {name_some(different)}")
    if missing:
        yield find("record-missing", one.folder, f"{len(missing)} of {one.name}: {name_some(missing)}")
