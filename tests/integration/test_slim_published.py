"""Every published library that slimming is measured on: cut, proven, and as small as promised. 3 GB, an hour: nightly.

tests/bench/slim_real.py makes the same figures for tests/bench/results/slim_real.json.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.slim_real import broken_promises, measure
from real_debs import ROOT
from real_subjects import SUBJECTS, Subject

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="3 GB of downloads: ROCKILN_NIGHTLY=1 runs it"),
]

UNDERSTOOD = (
    "holds no code for any of the archs", "nothing here is for any of the archs", "no whole page would be freed",
    "its name", "serves", "shared by", "used by",
)  # fmt: skip
"""How reasons begin for files that are left, or go, for a cause that lies in them; others are refusals to look at."""


@pytest.fixture(scope="module")
def cache() -> Iterator[Path]:
    path = Path(os.environ.get("ROCKILN_REAL", ROOT / "build" / "real"))
    yield path
    if "ROCKILN_REAL" not in os.environ:
        shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_published_library_is_as_small_as_promised(subject: Subject, cache: Path) -> None:
    figures = measure(subject, cache, compress=bool(subject.promised))
    assert broken_promises(subject, figures) == []
    for archs, after in figures["after"].items():
        strange = [reason for reason in after["reasons"] if not reason.startswith(UNDERSTOOD)]
        assert not strange, (archs, strange)
        assert after["disk"] <= figures["before"]["disk"]
    assert figures["peak memory, MB"] < 600
