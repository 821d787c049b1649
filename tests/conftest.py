"""Markers that depend on the machine: what it lacks is skipped with the reason, or fails where it is required.

ROCKILN_REQUIRE, a comma-separated list of markers, says what the machine must have; CI requires all of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of what is tested: no test depends on a clock.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would ours


@cache
def _lacks_docker() -> str:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env()
        client.ping()
        client.close()
    except (DockerException, OSError) as error:
        return f"no Docker Engine answers: {error}"
    return ""


@cache
def _lacks_userns() -> str:
    from rockiln.sandbox import NamespaceSandbox

    return NamespaceSandbox().obstacle()


@cache
def _lacks_network() -> str:
    from pathlib import Path

    from rockiln.matrix import read_matrix
    from rockiln.resolve.hosts import source_urls

    matrix = read_matrix(Path(__file__).parents[1] / "matrix.toml")
    archive = matrix.sources["debian-12"]
    for url in source_urls(archive, matrix, os.environ):
        try:
            urllib.request.urlopen(f"{url.rstrip('/')}/dists/{archive.suites[0]}/InRelease", timeout=10).close()  # noqa: S310  # the machine's own apt configuration
        except (urllib.error.URLError, OSError):
            continue
        return ""
    return "no Debian archive answers"


@cache
def _lacks_chromium() -> str:
    return "" if shutil.which("chromium") else "no Chromium is here: apt-get install chromium"


@cache
def _lacks_registry() -> str:
    return "" if shutil.which("docker-registry") else "Docker's registry is not here: apt-get install docker-registry"


NEEDS: dict[str, Callable[[], str]] = {
    "docker": _lacks_docker,
    "userns": _lacks_userns,
    "network": _lacks_network,
    "chromium": _lacks_chromium,
    "registry": _lacks_registry,
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, or fail where ROCKILN_REQUIRE names it."""
    required = os.environ.get("ROCKILN_REQUIRE", "").split(",")
    for marker, lacks in NEEDS.items():
        if item.get_closest_marker(marker) and (reason := lacks()):
            if marker in required:
                pytest.fail(f"{marker} is required here, but {reason}")
            pytest.skip(reason)
