"""One small library with real code objects, linked once, and a recorder to load it with."""

from __future__ import annotations

from pathlib import Path

import pytest

from fat_files import FatLibrary, bundle_for
from recorded_load import build_recorder

TARGETS = ("gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1100", "gfx11-generic")


@pytest.fixture(scope="session")
def library() -> FatLibrary:
    """Two bundles of five code objects."""
    return FatLibrary(bundles=[bundle_for(TARGETS, factor) for factor in (2, 3)], linker="lld")


@pytest.fixture(scope="session")
def built(library: FatLibrary, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, linked by lld."""
    return library.build(tmp_path_factory.mktemp("built") / "libfat.so")


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stands in for the HIP runtime."""
    return build_recorder(tmp_path_factory.mktemp("recorder"))
