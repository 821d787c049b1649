"""The embedded engine as who has no other id than their own: its tests pass for them too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from other_users import NOBODY, ROOT_OF_ITS_OWN

pytestmark = [pytest.mark.userns, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
TESTS = ("tests/unit/test_sandbox.py", "tests/unit/engines", "tests/integration/test_engine_contract.py")


@pytest.mark.parametrize("user", [NOBODY, ROOT_OF_ITS_OWN], ids=["nobody", "a root without other users"])
def test_sandbox_and_engine_keep_their_contract_as(user: tuple[str, ...], tmp_path: Path) -> None:
    command = [*user, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not docker", *TESTS]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "ROCKILN_"))}
    done = subprocess.run(
        [*command, f"--basetemp={tmp_path / 'inner'}"], capture_output=True, text=True, cwd=ROOT, env=kept, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
