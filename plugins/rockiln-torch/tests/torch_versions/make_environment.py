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
    "msgpack>=1.1", "pyelftools>=0.33",  # gfxemu's
)  # fmt: skip
DONE = ".made"


def make_environment(version: str, folder: Path) -> Path:
    """The environment's Python; an environment that is there already is taken as it is."""
    python = folder / "bin" / "python"
    if (folder / DONE).is_file():
        return python
    venv.create(folder, with_pip=True, clear=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir"]
    subprocess.run([*install, "--no-deps", f"torch=={version}", *NEEDED], check=True)
    subprocess.run([*install, *TOOLS], check=True)
    (library,) = folder.glob("lib/python3*/site-packages/torch/lib")
    subprocess.run([sys.executable, str(Path(__file__).with_name("make_stubs.py")), str(library)], check=True)
    (folder / DONE).write_text("")
    return python


if __name__ == "__main__":
    make_environment(sys.argv[1], Path(sys.argv[2]))
