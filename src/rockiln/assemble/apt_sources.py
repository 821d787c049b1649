"""The apt package's own example → the image's sources: Debian's public archive, never a mirror of the build."""

from __future__ import annotations

from collections.abc import Iterable

from rockiln.assemble.tree import Tree, make_file

EXAMPLES = "usr/share/doc/apt/examples"
ROLLING_SUITES = {"debian-sid": ("sid",)}
"""Systems whose apt shows the sources of the last stable release as its example."""


def write_apt_sources(tree: Tree, os: str, extra_suites: Iterable[str]) -> Tree:
    """/etc/apt/sources.list, or sources.list.d/NAME.sources where apt's example has that form; main only."""
    suites = (*ROLLING_SUITES[os], *extra_suites) if os in ROLLING_SUITES else ()
    if (listing := tree.read(f"{EXAMPLES}/sources.list")) is not None:
        path, text = "etc/apt/sources.list", _convert_list(listing.decode())
    else:
        found = [path for path in tree.below(EXAMPLES) if path.endswith(".sources")]
        if not found:
            return tree
        name = found[0].rpartition("/")[2]
        path, text = f"etc/apt/sources.list.d/{name}", _convert_stanzas((tree.read(found[0]) or b"").decode(), suites)
    return tree.adding([make_file(tree.contents, path, text.encode(), "deb:apt")])


def _convert_list(example: str) -> str:
    """`deb URI SUITE COMPONENTS…` lines, main only."""
    words = [line.split() for line in example.splitlines() if line.startswith("deb ")]
    return "".join(" ".join([*line[:3], "main"]) + "\n" for line in words)


def _convert_stanzas(example: str, suites: tuple[str, ...]) -> str:
    """Stanzas without their comments, main only. Rolling suites have no updates and no security archive."""
    lines = [line for line in example.splitlines() if not line.startswith("#")]
    stanzas = [stanza for stanza in "\n".join(lines).split("\n\n") if stanza.strip()]
    kept = [_convert_stanza(stanza.strip(), suites) for stanza in stanzas]
    return "\n".join(kept[:1] if suites else kept)


def _convert_stanza(stanza: str, suites: tuple[str, ...]) -> str:
    fields = dict(line.split(": ", 1) for line in stanza.splitlines())
    fields["Components"] = "main"
    if suites:
        fields["Suites"] = " ".join(suites)
    return "".join(f"{name}: {value}\n" for name, value in fields.items())
