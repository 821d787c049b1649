"""A file that is not fully understood → RefusedError with the reason; the file is left as it is."""

from __future__ import annotations


class RefusedError(Exception):
    """Raised while reading a file; turned into a row of the report, never into a guess."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def require(condition: object, reason: str) -> None:
    """Raise RefusedError unless `condition` holds."""
    if not condition:
        raise RefusedError(reason)
