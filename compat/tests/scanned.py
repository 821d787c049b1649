"""A text → what scan finds in it alone, as in a file of that language."""

from __future__ import annotations

from hipcompat.scan import Finding, Target
from hipcompat.scan.scanner import Scanned, scan_bytes
from hipcompat.scan.tree import Candidate


def find_in(text: str, language: str = "cuda", *archs: str) -> tuple[Finding, ...]:
    """The findings, for the architecture that is scan's default unless some are given."""
    return scan_text(text, language, *archs).report.findings


def scan_text(text: str, language: str = "cuda", *archs: str) -> Scanned:
    """With the verdict."""
    content = text.encode()
    target = Target(archs=archs) if archs else Target()
    scanned = scan_bytes(content, Candidate(path="file", language=language, size_bytes=len(content)), target)
    assert isinstance(scanned, Scanned)
    return scanned
