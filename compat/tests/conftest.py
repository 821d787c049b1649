"""What the machine lacks is skipped with the reason, or fails where ROCKILN_REQUIRE (a list with commas) names it."""

from __future__ import annotations

import os
from functools import cache

import pytest


@cache
def _lacks_network() -> str:
    from pypi_simple import PyPISimple

    try:
        with PyPISimple() as client:
            client.get_project_page("torch-scatter", timeout=20)
    except Exception as error:  # noqa: BLE001  # whatever the client says, the index does not answer
        return f"no package index answers: {type(error).__name__}"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, or fail."""
    if item.get_closest_marker("network") and (reason := _lacks_network()):
        if "network" in os.environ.get("ROCKILN_REQUIRE", "").split(","):
            pytest.fail(f"network is required here, but {reason}")
        pytest.skip(reason)
