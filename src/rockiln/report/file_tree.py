"""Files of one package → a tree of folders as plain arrays, small enough for a page.

    [name, bytes, kind]                      a file
    [name, bytes, kind, [[arch, bytes], …]]  a file with device code
    [name, bytes, -1, [node, …]]             a folder; a chain of folders with one child each is one node
    [count, bytes, -2]                       that many files which are too small to be told apart

Kinds and archs are indices into lists of the page. Children are sorted, the largest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rockiln.sizes.inventory import FileSize
from rockiln.sizes.kinds import KINDS

Node = list[object]
FOLDER, SMALL = -1, -2


def build_tree(files: Iterable[FileSize], code: Mapping[str, Mapping[str, int]], archs: Sequence[str]) -> Node:
    """The folder "/" of one package."""
    numbers = {arch: number for number, arch in enumerate(archs)}
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    root: dict[str, object] = {}
    for file in files:
        folder = root
        *parents, name = file.path.split("/")
        for parent in parents:
            folder = folder.setdefault(parent, {})  # type: ignore[assignment]  # a path is never file and folder
        targets = [[numbers[arch], size_bytes] for arch, size_bytes in code.get(file.path, {}).items()]
        folder[name] = [name, file.size_bytes, kinds[file.kind], *([targets] if targets else [])]  # type: ignore[index]
    return _make_folder("", root)


def _make_folder(name: str, found: Mapping[str, object]) -> Node:
    nodes = [_make_folder(key, item) if isinstance(item, dict) else item for key, item in found.items()]
    if len(nodes) == 1 and nodes[0][2] == FOLDER:  # type: ignore[index]  # nodes are lists
        only: Node = nodes[0]  # type: ignore[assignment]
        return [f"{name}/{only[0]}", *only[1:]]
    children = sorted(nodes, key=_by_size)
    return [name, sum(size_of(node) for node in children), FOLDER, children]


def _by_size(node: object) -> tuple[int, str]:
    return -size_of(node), str(node[0])  # type: ignore[index]


def size_of(node: object) -> int:
    """Bytes below a node."""
    return int(node[1])  # type: ignore[index]


def count_nodes(node: Node) -> int:
    """The node and all below."""
    if node[2] != FOLDER:
        return 1
    return 1 + sum(count_nodes(child) for child in _children(node))


def prune(node: Node, floor_bytes: int) -> Node:
    """The same tree; what is smaller than `floor_bytes` is one node a folder, if there are several."""
    if node[2] != FOLDER:
        return node
    large = [prune(child, floor_bytes) for child in _children(node) if size_of(child) >= floor_bytes]
    small = [child for child in _children(node) if size_of(child) < floor_bytes]
    if len(small) < 2:
        return [*node[:3], [*large, *small]]
    rest = [sum(map(_count_files, small)), sum(map(size_of, small)), SMALL]
    return [*node[:3], [*large, rest]]


def _count_files(node: Node) -> int:
    if node[2] == SMALL:
        return int(str(node[0]))
    return sum(map(_count_files, _children(node))) if node[2] == FOLDER else 1


def _children(node: Node) -> list[Node]:
    return node[3]  # type: ignore[return-value]  # of a folder
