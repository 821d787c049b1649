"""Op table, references and packs of GPU kernels. Importing it costs nothing: no NumPy, no Triton, no GPU probe."""

from __future__ import annotations

__version__ = "0.1.0"
