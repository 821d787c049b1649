"""Pushes and promotes a small image: a program of its own, so that a test can kill it.

`python publish_once.py HOST/NAME LAYOUT NOTES`
"""

from __future__ import annotations

import sys
from pathlib import Path

from pushed_layout import HASTY, push
from rockiln.publish.gate import Verdict
from rockiln.publish.layout import read_layout
from rockiln.publish.promote import promote_images, read_published
from rockiln.publish.tags import Tags
from rockiln.registry import uploads
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference

TAGS = Tags(row="cpu-tiny1.0", date="20261130", moving=())
VERDICT = Verdict(tested=("cpu",), untested={}, failed={}, has_unsigned=False)
CHUNK_BYTES = 60_000


def publish_once(name: str, layout_path: Path, notes_path: Path) -> None:
    """In chunks so small that a layer goes in several."""
    uploads.CHUNK_BYTES = CHUNK_BYTES
    layout = read_layout(layout_path, "tiny")
    push(layout, name, {}, patience=HASTY, notes_path=notes_path)
    with open_repository(parse_reference(name), {}, patience=HASTY) as repository:
        promote_images(repository, read_published(repository, layout.digest), VERDICT, TAGS)


if __name__ == "__main__":
    publish_once(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
