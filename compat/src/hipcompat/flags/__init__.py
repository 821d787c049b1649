"""nvcc's arguments → clang's (hipcc takes the same), with all that was replaced or dropped, and why."""

from hipcompat.flags.translate import Note, Translation, translate_flags

__all__ = ["Note", "Translation", "translate_flags"]
