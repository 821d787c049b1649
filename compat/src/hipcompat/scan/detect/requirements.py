"""Text of a requirements file, or of a conda environment with pip's → the files that pip reads as well: -r and -c.

The format: https://pip.pypa.io/en/stable/reference/requirements-file-format/. A name is relative to the file that has
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipcompat.scan.detect.build import blank_comments

REQUIRING = frozenset(("requirements", "conda"))
"""Languages of files that name such files."""
_OPTION = re.compile(
    r"^[ \t]*(?:-[ \t]+[\"']?)?(?:-[rc]|--(?:requirement|constraint)(?=[ \t=]))[ \t=]*"
    r"(?:\"([^\"\n]{1,1000})\"|'([^'\n]{1,1000})'|([^\s\"']{1,1000}))",
    re.MULTILINE,
)


def find_required(raw: str) -> Iterator[tuple[str, int]]:
    """Each name as it stands, and its offset."""
    for match in _OPTION.finditer(blank_comments(raw, "requirements")):
        yield match[match.lastindex or 0], match.start(match.lastindex or 0)
