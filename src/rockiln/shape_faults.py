"""What Python raises where foreign JSON has another shape → words for people: what is missing, or of the wrong type."""

from __future__ import annotations


def name_shape_fault(fault: Exception) -> str:
    """One line without Python's own terms; a ValueError's own text stays, since it is written for people."""
    if isinstance(fault, KeyError):
        return f"lacks {str(fault.args[0])!r}" if fault.args else "lacks a key"
    if isinstance(fault, IndexError):
        return "a list in it is too short"
    if isinstance(fault, RecursionError):
        return "its values are nested too deeply"
    if isinstance(fault, (TypeError, AttributeError)):
        return "a value in it is of another type than it should be"
    text = str(fault)
    return "a list in it has another length than it should have" if "to unpack" in text else text
