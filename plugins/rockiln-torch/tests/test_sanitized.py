"""The library under sanitizers of addresses and undefined behaviour; by night, since it runs tests of the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.rotation import NIGHTLY


@pytest.mark.skipif(not NIGHTLY, reason="minutes: ROCKILN_NIGHTLY=1 runs it")
def test_library_is_clean_under_sanitizers() -> None:
    own = Path(__file__).with_name("sanitize.py")
    environ = {name: value for name, value in os.environ.items() if name != "ROCKILN_NIGHTLY"}  # by day's numbers
    done = subprocess.run([sys.executable, str(own)], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-4000:]}"
