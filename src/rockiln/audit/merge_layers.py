"""LayerScans, in order → one Scan: the tree that a container sees, and what lies hidden below it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rockiln.audit.inspect_file import FileFacts, Wanted
from rockiln.audit.installed.tree import Node
from rockiln.audit.layer_stream import LayerScan, hide
from rockiln.audit.leak_words import Leak
from rockiln.audit.scan import Scan, Settings, make_scan


def merge_layers(subject: str, layers: Sequence[LayerScan], settings: Settings, wanted: Wanted) -> Scan:
    """https://github.com/opencontainers/image-spec/blob/main/layer.md: whiteouts first, then the layer's own paths."""
    merger = _Merger()
    for number, layer in enumerate(layers, 1):
        merger.add(layer, number)
    return make_scan(subject, merger.nodes, merger.facts, wanted, settings, more_leaks=merger.hidden)


class _Merger:
    """The tree so far."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.facts: dict[str, FileFacts] = {}
        self.hidden: list[Leak] = []
        self._layer_of: dict[str, int] = {}
        self._below: dict[str, set[str]] = defaultdict(set)
        self._links: dict[str, set[str]] = defaultdict(set)
        """File → hard links to it."""

    def add(self, layer: LayerScan, number: int) -> None:
        for folder in layer.emptied:
            for name in sorted(self._below.get(folder, ())):
                self._remove(f"{folder}/{name}".lstrip("/"))
        for path in layer.removed:
            self._remove(path)
        for node in layer.nodes:
            self._place(node, layer.facts.get(node.path), number)

    def _place(self, node: Node, facts: FileFacts | None, number: int) -> None:
        before = self.nodes.get(node.path)
        if before and (before.kind, node.kind) != ("directory", "directory"):
            self._remove(node.path)
        self._make_parents(node.path)
        self.nodes[node.path] = node
        self._layer_of[node.path] = number
        if facts:
            self.facts[node.path] = facts
        if node.kind == "hardlink":
            self._link(node)

    def _link(self, node: Node) -> None:
        target = self.nodes.get(node.link)
        first = target.link if target and target.kind == "hardlink" else node.link
        self.nodes[node.path] = node._replace(link=first)
        self._links[first].add(node.path)

    def _make_parents(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._below[folder].add(name)
        parent = self.nodes.get(folder)
        if folder and (parent is None or parent.kind not in {"directory", "symlink"}):
            self._make_parents(folder)
            self.nodes[folder] = Node(folder, "directory", 0o755, 0, "", "")

    def _remove(self, path: str) -> None:
        node = self.nodes.pop(path, None)
        if node is None:
            return
        if node.kind == "directory":
            for name in sorted(self._below.pop(path, ())):
                self._remove(f"{path}/{name}")
        folder, _, name = path.rpartition("/")
        self._below[folder].discard(name)
        if node.kind == "hardlink":
            self._links[node.link].discard(path)
        facts = self.facts.pop(path, None)
        if not self._hand_on(node, facts) and facts:
            self.hidden += hide(facts, self._layer_of[path]).leaks

    def _hand_on(self, node: Node, facts: FileFacts | None) -> bool:
        """A file goes on under its other names."""
        links = sorted(self._links.pop(node.path, ()))
        if not links:
            return False
        first, *others = links
        self.nodes[first] = node._replace(path=first)
        if facts:
            self.facts[first] = facts
        self._layer_of[first] = self._layer_of[node.path]
        for other in others:
            self.nodes[other] = self.nodes[other]._replace(link=first)
        self._links[first] = set(others)
        return True
