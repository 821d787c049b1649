"""Values → the text of YAML and JSON files, the same for the same values; and how they compare with what is on disk."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rockiln.disk import write_whole
from rockiln.errors import UsageError

_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+")
"""Numbers of YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#1032-tag-resolution)."""
WIDTH = 4096
"""Lines are not folded: a folded shell command is hard to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file to write."""

    path: str
    """Below --output; posix."""
    text: str


def to_yaml(values: Sequence[object], comment: str) -> str:
    """Documents of one file, in the order of their keys; several lines of text stand as a block.

    PyYAML writes YAML 1.1 and quotes what 1.1 would misread (`on`, `no`, `12:30`); numbers that only 1.2 knows are
    quoted here. So readers of both versions get the same: GitHub and Kubernetes read 1.2, GitLab reads 1.1.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, _data: Any) -> bool:
            return True

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
            super().increase_indent(flow, False)

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else "'" if _NUMBER.fullmatch(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    body = yaml.dump_all(values, Dumper=Dumper, sort_keys=False, width=WIDTH, allow_unicode=True)
    return make_comment(comment) + body


def to_json(value: object) -> str:
    """Two blanks deep, a line end at the end."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def make_comment(comment: str) -> str:
    """Each line behind "# "."""
    return "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())


def write_documents(documents: Sequence[Document], folder: Path) -> None:
    """Each file whole, the old one or the new one. Raises DiskError, and UsageError where a folder has its name."""
    for document in documents:
        if (folder / document.path).is_dir():
            raise UsageError(f"{folder / document.path} is a folder", hint="--output names the folder to write into")
    for document in documents:
        write_whole(folder / document.path, document.text.encode())


def find_differing(documents: Sequence[Document], folder: Path) -> tuple[str, ...]:
    """Paths of files that are missing, or hold something else."""
    return tuple(document.path for document in documents if not _is_same(folder / document.path, document.text))


def _is_same(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False
