"""Profiles of PAM modules → /etc/pam.d/common-* and /var/lib/pam: what pam-auth-update does on a fresh install."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rockiln.assemble.tree import Tree, make_file

TYPES = ("auth", "account", "password", "session", "session-noninteractive")
PROFILES = "usr/share/pam-configs"
PERMIT = "[default=1]\t\t\tpam_permit.so"
_BLOCKS = {
    '# here are the per-package modules (the "Primary" block)': "Primary",
    '# and here are more per-package modules (the "Additional" block)': "Additional",
}
_BLOCK_ENDS = ("# here's the fallback if no module succeeds", "# end of pam-auth-update config")

Profile = Mapping[str, str]


def write_pam(tree: Tree) -> Tree:
    """Every profile whose default is yes, in the order of their priorities."""
    names = [path.rpartition("/")[2] for path in tree.below(PROFILES) if not path.endswith("~")]
    profiles = {name: _read_profile((tree.read(f"{PROFILES}/{name}") or b"").decode()) for name in names}
    ordered = sorted(sorted(profiles, reverse=True), key=lambda name: -int(profiles[name].get("Priority", "0")))
    enabled = [(name, profiles[name]) for name in ordered if profiles[name].get("Default") == "yes"]
    texts = {"var/lib/pam/seen": "".join(f"{name}\n" for name in ordered)}
    for kind in TYPES:
        template = tree.require(f"usr/share/pam/common-{kind}", "pam-auth-update fills it in").decode()
        texts[f"etc/pam.d/common-{kind}"] = _fill_template(template, kind, enabled)
        texts[f"var/lib/pam/{kind}"] = _saved(kind, enabled)
    return tree.adding(make_file(tree.contents, path, text.encode(), "rockiln") for path, text in texts.items())


def _read_profile(text: str) -> Profile:
    fields: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if found := re.match(r"(\S+):\s+(.*?)\s*$", line) or re.match(r"(\S+):()$", line):
            name = found[1].removesuffix("-Final")
            fields[name] = found[2]
        elif line.strip():
            fields[name] = f"{fields.get(name, '')}\n{line.strip()}".strip()
    if "Session-Interactive-Only" not in fields:
        for suffix in ("-Type", "", "-Initial"):
            if f"Session{suffix}" in fields:
                fields[f"Session-noninteractive{suffix}"] = fields[f"Session{suffix}"]
    return fields


def _lines(kind: str, block: str, enabled: list[tuple[str, Profile]]) -> Iterator[tuple[str, str]]:
    """(profile, its lines) of one block; the first profile of a block gives its -Initial lines."""
    field = kind.capitalize()
    chosen = [(name, profile) for name, profile in enabled if profile.get(f"{field}-Type") == block]
    for index, (name, profile) in enumerate(chosen):
        initial = profile.get(f"{field}-Initial", "") if index == 0 else ""
        yield name, initial or profile.get(field, "")


def _fill_template(template: str, kind: str, enabled: list[tuple[str, Profile]]) -> str:
    out: list[str] = []
    skipping = False
    for line in template.splitlines():
        if line.startswith(_BLOCK_ENDS):
            skipping = False
        if not skipping:
            out.append(line)
        for start, block in _BLOCKS.items():
            if line.startswith(start):
                out += _block(kind, block, enabled)
                skipping = True
    return "\n".join(out) + "\n"


def _block(kind: str, block: str, enabled: list[tuple[str, Profile]]) -> list[str]:
    """The lines of a block; "end" in a control field becomes the number of lines to jump."""
    module_type = kind.removesuffix("-noninteractive")
    lines = [line for _, text in _lines(kind, block, enabled) for line in text.split("\n") if line]
    if block == "Primary" and not lines:
        return [f"{module_type}\t{PERMIT}"]
    left = len(lines) - (block == "Additional")
    return [f"{module_type}\t{_with_jump(line, left - index)}" for index, line in enumerate(lines)]


def _with_jump(line: str, count: int) -> str:
    found = re.match(r"((?:\[[^]]+\]|\w+)\s+\S+)\s*(.*)", line)
    if not found:
        return line
    options = " ".join(found[2].split())
    return f"{found[1].replace('end', str(count))} {options}"


def _saved(kind: str, enabled: list[tuple[str, Profile]]) -> str:
    primary = list(_lines(kind, "Primary", enabled)) or [("null", PERMIT)]
    blocks = [*primary, *_lines(kind, "Additional", enabled)]
    return "".join(f"Module: {name}\n{text}\n" for name, text in blocks if text)
