"""Bytes → text for people, in decimal units, as registries count."""

from __future__ import annotations


def format_bytes(size_bytes: int) -> str:
    """1234567 → "1.2 MB"."""
    amount = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if abs(amount) < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"


def format_growth(size_bytes: int) -> str:
    """1234567 → "+1.2 MB"."""
    return f"+{format_bytes(size_bytes)}" if size_bytes > 0 else format_bytes(size_bytes)
