"""CUDA source → what HIP's compiler takes: unmodified under generated headers (shim), or renamed to own (rename)."""

from hipcompat.translate.overlay import write_overlay
from hipcompat.translate.rename import Renamed, rename
from hipcompat.translate.shim import CMAKE_PATH, SHIM_PATH, shim_arguments
from hipcompat.translate.tree import Translated, translate_tree

__all__ = [
    "CMAKE_PATH", "SHIM_PATH", "Renamed", "Translated", "rename", "shim_arguments", "translate_tree", "write_overlay",
]  # fmt: skip
