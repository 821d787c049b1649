"""Files with faults, each with the exact message that a person is to see.

ROCKILN_REWRITE_GOLDEN=1 writes the messages anew; read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rockiln.errors import FileFaultsError
from rockiln.lock_file import read_lock
from rockiln.matrix import read_matrix
from rockiln.recipe import read_recipes

BAD_PATH = Path(__file__).parent / "bad"
CASES = sorted(path.name for path in BAD_PATH.iterdir() if path.is_dir())


def read_bad(case_path: Path) -> str:
    """What rockiln says about the one bad file of a case."""
    readers = {"matrix.toml": read_matrix, "images": read_recipes, "matrix.lock": read_lock}
    (name,) = [name for name in readers if (case_path / name).exists()]
    with pytest.raises(FileFaultsError) as caught:
        readers[name](case_path / name)
    hint = f"hint: {caught.value.hint}\n" if caught.value.hint else ""
    return f"{caught.value.message}\n{hint}"


@pytest.mark.parametrize("case", CASES)
def test_bad_file_is_explained(case: str) -> None:
    message_path = BAD_PATH / case / "message.txt"
    message = read_bad(BAD_PATH / case)
    if os.environ.get("ROCKILN_REWRITE_GOLDEN"):
        message_path.write_text(message, encoding="utf-8")
    assert message == message_path.read_text(encoding="utf-8")


def test_there_are_twenty_of_them() -> None:
    kinds = {case.partition("-")[0] for case in CASES}
    assert len(CASES) >= 20
    assert kinds == {"matrix", "recipe", "lock"}
