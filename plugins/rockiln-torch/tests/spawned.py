"""What another process computes: by a module that it can import under whatever name pytest gives to the tests."""

from __future__ import annotations

from multiprocessing.connection import Connection

import torch

from rockiln_torch import ops


def compute() -> list[float]:
    """What every process must get."""
    return ops.rms_norm(torch.ones(2, 8) * 2, torch.ones(8)).flatten().tolist()


def send(pipe: Connection) -> None:
    """The same, through a pipe."""
    pipe.send(compute())
