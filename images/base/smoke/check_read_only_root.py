# tier: cpu
# timeout-s: 120
# user: 54321:54321
# read-only-root: true
"""The framework imports where nothing but /tmp can be written to."""

import importlib
import os

from record import read_record, require_from_venv

os.environ["JAX_PLATFORMS"] = "cpu"
require_from_venv(importlib.import_module(read_record()["framework"]))
try:
    open("/work/file", "w").close()  # noqa: PTH123
except OSError as error:
    print(error)
else:
    raise AssertionError("the root is not read-only")
