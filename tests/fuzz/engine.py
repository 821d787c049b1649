"""python tests/fuzz/engine.py PART CORPUS [libFuzzer's flags]: one fuzzer, in this process, until it ends or finds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import atheris

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
with atheris.instrument_imports(include=["rockiln.fatbin", "rockiln.kernel_data"]):
    from targets import LIMIT_S, TARGETS

from damage import damage  # noqa: E402 - after the path above


def main() -> None:
    """libFuzzer drives; half of the changes are its own, half know where headers are."""
    part, corpus, *flags = sys.argv[1:]
    target: Callable[[bytes], None] = TARGETS[part]
    argv = [sys.argv[0], corpus, f"-timeout={LIMIT_S:.0f}", "-rss_limit_mb=2048", *flags]
    atheris.Setup(argv, target, custom_mutator=mutate)
    atheris.Fuzz()


def mutate(content: bytes, max_bytes: int, seed: int) -> bytes:
    """A changed copy."""
    random = Random(seed)  # noqa: S311 - libFuzzer's own choice
    if content and random.random() < 0.5:
        return damage(content, random)[:max_bytes]
    return bytes(atheris.Mutate(content, max_bytes))


if __name__ == "__main__":
    main()
