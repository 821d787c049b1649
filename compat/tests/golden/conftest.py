"""The ROCm headers and device libraries that golden tests compile with: HIPCOMPAT_ROCM, else what is installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipcompat.check import Toolchain, find_toolchain
from hipcompat.errors import ToolchainError


@pytest.fixture(scope="session")
def rocm() -> Toolchain:
    """Skipped without, or failing where ROCKILN_REQUIRE names rocm-headers."""
    named = os.environ.get("HIPCOMPAT_ROCM")
    try:
        found = find_toolchain(os.environ, rocm_path=Path(named) if named else None)
        reason = "" if found.device_libs_path else "no device libraries"
    except ToolchainError as error:
        reason = error.message
    if not reason:
        return found
    if "rocm-headers" in os.environ.get("ROCKILN_REQUIRE", "").split(","):
        pytest.fail(f"ROCm's headers are required here, but: {reason}")
    pytest.skip(f"{reason} (python compat/fetch_rocm.py DIR; HIPCOMPAT_ROCM=DIR/usr)")
