"""librockiln_tensorflow_MAJOR_MINOR.so → its ops in TensorFlow's registry, bound to librockiln's functions.

TensorFlow's C++ ABI holds within a minor, so there is one library for each.
"""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

PATTERN = "librockiln_tensorflow_*_*.so"
FOLDERS = (Path(__file__).parent, Path(__file__).parents[2] / "build")
"""As in the wheel; and in the checkout that an editable install points to."""


def find_library(version: str, folders: tuple[Path, ...] = FOLDERS) -> Path:
    """The library for a version of TensorFlow ("2.19.1"). Raises ImportError, with what there is, for another minor."""
    minor = ".".join(version.split(".")[:2])
    found = {_name_minor(path): path for folder in reversed(folders) for path in folder.glob(PATTERN)}
    if minor in found:
        return found[minor]
    if not found:
        raise ImportError(
            f"rockiln_tensorflow: {folders[0]} has no {PATTERN}: install the wheel of rockiln-tensorflow, or build it "
            "in a checkout: pip install -e plugins/rockiln-tensorflow needs g++"
        )
    built = ", ".join(sorted(found))
    raise ImportError(
        f"rockiln_tensorflow is built for TensorFlow {built}, and this is {version}, whose C++ ABI is another: install "
        f"TensorFlow {built}, or build rockiln-tensorflow with TensorFlow {minor} in its build-system.requires"
    )


def _name_minor(path: Path) -> str:
    return ".".join(re.findall(r"\d+", path.stem)[-2:])


@lru_cache(maxsize=1)
def load_ops() -> Path:
    """Put the ops into TensorFlow's registry, so that graphs that hold them can be loaded. Raises ImportError."""
    import tensorflow as tf

    path = find_library(tf.__version__)
    try:
        tf.load_library(str(path))
    except (OSError, tf.errors.OpError) as error:
        raise ImportError(
            f"rockiln_tensorflow: {path} cannot be loaded into TensorFlow {tf.__version__}: {error}"
        ) from error
    return path


@lru_cache(maxsize=1)
def read_wrappers() -> Any:
    """A module with a function an op, which TensorFlow writes in a tenth of a second; when the first is called."""
    import tensorflow as tf

    return tf.load_op_library(str(load_ops()))


def bind_functions(path: Path, api_address: int) -> None:
    """Let the kernels of a library call librockiln. Raises OSError where the two differ in version."""
    library = ctypes.CDLL(str(path))
    library.rockiln_tensorflow_bind.argtypes = [ctypes.c_void_p]
    if library.rockiln_tensorflow_bind(api_address):
        raise OSError(
            f"{path} and librockiln differ in version: install rockiln-tensorflow and rockiln-kernels together"
        )
