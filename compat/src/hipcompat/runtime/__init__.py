"""A process → opt-in help for CUDA-minded Python: enable() and its handle; pynvml over amdsmi, archs, HIP's errors."""

from hipcompat.runtime.hooks import Handle, Hook, Skipped, enable
from hipcompat.runtime.notes import explain_error, note_errors

__all__ = ["Handle", "Hook", "Skipped", "enable", "explain_error", "note_errors"]
