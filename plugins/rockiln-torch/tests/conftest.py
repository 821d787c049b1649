"""One thread: small calls of many threads wait for each other on a machine that does other things, too."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
