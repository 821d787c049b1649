"""The name of a packed format → its number in the op's list."""

from __future__ import annotations


def find_format(name: str, formats: tuple[str, ...]) -> int:
    """The place of `name`. Raises ValueError with the names that there are."""
    if name not in formats:
        raise ValueError(f"fp6_format {name!r} is not one of {', '.join(formats)}")
    return formats.index(name)
