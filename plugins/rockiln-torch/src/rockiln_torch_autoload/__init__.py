"""`import torch` → the ops are defined, by the entry point torch.backends. Never raises, prints or asks a GPU.

A package of its own: what torch calls must be importable even where rockiln_torch is not.
"""

from __future__ import annotations


def autoload() -> None:
    """Import rockiln_torch, which defines the ops; where that fails, the log says why, and torch goes on without."""
    try:
        import rockiln_torch  # noqa: F401  # the import is the work
    except Exception as error:  # noqa: BLE001  # whatever it is, torch must import
        import logging

        logging.getLogger("rockiln_torch").debug("torch.ops.rockiln is not defined: %s", error)
