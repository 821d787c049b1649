"""A torch release → an environment that runs it on a CPU, without 3 GB of CUDA: `make_environment.py VERSION FOLDER`.

torch's wheel of a release is for CUDA. Of its libraries only those are installed that the import itself calls; the
others are stubs (make_stubs.py). So CPU tensors, fakes, compilation and dispatch are torch's own; there is no GPU.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

NEEDED = ("nvidia-cuda-runtime-cu12", "nvidia-cuda-cupti-cu12", "nvidia-cufile-cu12")
TOOLS = (
    "filelock", "typing_extensions", "sympy>=1.13.3", "networkx", "jinja2", "fsspec", "setuptools<82",
    "numpy>=2.2,<2.3", "ml_dtypes>=0.5", "pytest>=8.3", "hypothesis>=6.120", "expecttest>=0.3", "safetensors>=0.5",
    "hatchling>=1.27",  # the tests' of what compiles as the wheel's build does
    "msgpack>=1.1", "pyelftools>=0.33",  # gfxemu's
)  # fmt: skip
DONE = ".made"


def make_environment(version: str, folder: Path) -> Path:
    """The environment's Python; of an environment that is there already only the tools may change."""
    python, done = folder / "bin" / "python", folder / DONE
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    tools = "\n".join(TOOLS)
    if done.is_file() and done.read_text() == tools:
        return python
    if not done.is_file():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([*install, "--no-deps", f"torch=={version}", *NEEDED], check=True)
        (library,) = folder.glob("lib/python3*/site-packages/torch/lib")
        subprocess.run([sys.executable, str(Path(__file__).with_name("make_stubs.py")), str(library)], check=True)
    subprocess.run([*install, *TOOLS], check=True)
    done.write_text(tools)
    return python


if __name__ == "__main__":
    make_environment(sys.argv[1], Path(sys.argv[2]))
