"""`import torch` → the ops are defined, by the entry point torch.backends. Never raises, prints or asks a GPU."""

from __future__ import annotations

import logging


def autoload() -> None:
    """Importing rockiln_torch has defined the ops; where that failed, the log says why, and torch goes on without."""


try:
    import rockiln_torch  # noqa: F401  # the import is the work
except Exception as error:  # noqa: BLE001  # whatever it is, torch must import
    logging.getLogger("rockiln_torch").debug("torch.ops.rockiln is not defined: %s", error)
