"""The op table → native/*.inc: `python make_tables.py`, where rockiln-kernels is installed. Needs no TensorFlow."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

package = ModuleType("rockiln_tensorflow")  # without its __init__, which loads the library that is yet to be built
package.__path__ = [str(Path(__file__).parent / "src" / "rockiln_tensorflow")]
sys.modules["rockiln_tensorflow"] = package

from rockiln_tensorflow.generate import write_files  # noqa: E402  # after the package above

write_files()
