"""A compiler that never ends; a worker process imports it by name."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.compile_kernel import NotCompiled
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel


def wait_for_ever(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> NotCompiled:  # noqa: ARG001  # a compiler's own
    """Say in the folder of temporary files that it began."""
    Path(tempfile.mkdtemp(), f"begun-{os.getpid()}").touch()
    time.sleep(3600)
    return NotCompiled(reason=kernel.function)
