"""`import torch` defines the ops by itself, silently, and never fails for it; nothing of a GPU is opened."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import pytest

ASK = "import torch; print(hasattr(torch.ops.rockiln, 'rms_norm'))"


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A new interpreter."""
    environ = {**os.environ, **variables}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)


def test_importing_torch_defines_the_ops() -> None:
    done = run_python(ASK)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_without_autoload_the_ops_wait_for_the_plugin() -> None:
    code = f"{ASK}\nimport rockiln_torch\nprint(hasattr(torch.ops.rockiln, 'rms_norm'))"
    done = run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert (done.stdout, done.stderr) == ("False\nTrue\n", "")


def test_plugin_may_be_imported_first() -> None:
    done = run_python("import rockiln_torch, torch; print(torch.ops.rockiln.rms_norm_out)")
    assert done.stdout == "rockiln.rms_norm_out\n"


@pytest.mark.parametrize("module", ["rockiln_torch.native", "rockiln_torch.attach", "rockiln_torch", "rockiln_kernels"])
def test_broken_plugin_leaves_torch_alone(module: str) -> None:
    done = run_python(f"import sys; sys.modules[{module!r}] = None\nimport torch; print(torch.ones(2).sum().item())")
    assert (done.stdout, done.stderr) == ("2.0\n", "")


@pytest.mark.parametrize("module", ["rockiln_torch.bridge", "rockiln_torch.compose"])
def test_call_of_a_broken_plugin_raises_what_its_import_did(module: str) -> None:
    """Raised through C it would be printed, and native code would read tensors that are not there."""
    code = (
        f"import sys, torch; sys.modules[{module!r}] = None\n"
        "try:\n"
        "    torch.ops.rockiln.rms_norm(torch.ones(2, 8).double(), torch.ones(8).double())\n"
        "except ImportError as error:\n    print(error.name)\n"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == (f"{module}\n", "")


def test_missing_library_leaves_torch_alone_and_plugin_says_so() -> None:
    code = (
        "import pathlib, sys\n"
        "real = pathlib.Path.is_file\n"
        "pathlib.Path.is_file = lambda self: self.name != 'librockiln_torch.so' and real(self)\n"
        "import torch\n"
        "try:\n    import rockiln_torch\n"
        "except RuntimeError as error:\n    print(str(error)[:40])\n"
    )
    done = run_python(code)
    assert "is neither in" in done.stdout
    assert not done.stderr


def test_nothing_of_a_gpu_is_opened() -> None:
    code = (
        "import torch, rockiln_torch; rockiln_torch.register(compat=False)\n"
        "maps = open('/proc/self/maps').read()\n"
        "print([name for name in ('libamdhip64', 'librockiln.so', 'libcuda.so') if name in maps])"
    )
    assert run_python(code).stdout == "[]\n"


def test_import_does_not_become_several_times_as_slow() -> None:
    """The aim is 10 ms, 5 are usual: tests/bench/import_cost.py measures. In CPU time, with room for a busy machine."""
    code = (
        "import time, torch\nstart = time.thread_time()\nimport rockiln_torch\n"
        "print((time.thread_time() - start) * 1e3)"
    )
    times = [float(run_python(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout) for _ in range(5)]
    assert statistics.median(times) < 40
