"""Mutated inputs → scan, flags and baselines: no exception, and none that takes long. Coverage-guided, by atheris.

    python tests/fuzz/fuzz_scan.py [-runs=1000000] [-max_total_time=3600] [CORPUS]

The options are libFuzzer's. Seeds are the examples of the rules.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hipcompat"]):
    from hipcompat.errors import UsageError
    from hipcompat.flags import translate_flags
    from hipcompat.scan import RULES, Target
    from hipcompat.scan.scanner import scan_bytes
    from hipcompat.scan.tree import Candidate

LANGUAGES = (
    "cuda", "cuda", "cuda", "cuda", "python", "python", "setup", "cython", "notebook", "cmake", "meson", "requirements",
    "conda", "docker", "yaml", "shell", "ptx", "binary",
)  # fmt: skip
SLOWEST_S = 5.0
"""For inputs of a few KB; a quadratic or exponential pattern is far above it."""


def judge_one(data: bytes) -> None:
    """The first byte chooses the language, the rest is the file."""
    if not data:
        return
    language = LANGUAGES[data[0] % len(LANGUAGES)]
    started_s = time.process_time()
    scan_bytes(data[1:], Candidate(path="file", language=language, size_bytes=len(data) - 1), Target())
    if data[0] >= 250:
        with contextlib.suppress(UsageError):  # an option that lacks its value
            translate_flags(data[1:].decode("latin-1").split())
    if time.process_time() - started_s > SLOWEST_S:
        raise TimeoutError(language)


def write_seeds(folder: Path) -> None:
    """One file an example, and a notebook with each of Python's."""
    for rule in RULES.values():
        language = LANGUAGES.index(rule.language) if rule.language in LANGUAGES else 0
        (folder / rule.id).write_bytes(bytes([language]) + rule.example.encode("latin-1"))
        if rule.language == "python":
            cell = json.dumps({"cells": [{"cell_type": "code", "source": [rule.example]}]})
            (folder / f"{rule.id}.ipynb").write_bytes(bytes([LANGUAGES.index("notebook")]) + cell.encode())


def main() -> None:
    """Fuzz with the seeds, and with the corpus folders of the command line."""
    with tempfile.TemporaryDirectory() as folder:
        write_seeds(Path(folder))
        atheris.Setup([*sys.argv, folder], judge_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
