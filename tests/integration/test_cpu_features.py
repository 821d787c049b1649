"""Compressed bytes do not depend on what the CPU can do: the same program on emulated CPUs, from the oldest on."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rockiln.compress import choose_scheme, compress_blocks
from rockiln.image import Compression

PROGRAM = """
import hashlib, random
from rockiln.compress import choose_scheme
chance = random.Random(3)
data = b" ".join(chance.randbytes(chance.randrange(1, 9)).hex().encode() for _ in range(150_000))
for name in ("gzip", "zstd"):
    print(name, hashlib.sha256(choose_scheme(name).compress(data)).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("qemu-x86_64"), reason="qemu-user is not installed")
@pytest.mark.parametrize("cpu", ["qemu64", "Nehalem", "Haswell"])
def test_an_emulated_cpu_gives_the_same_bytes(cpu: str) -> None:
    env = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PATH": os.environ["PATH"]}
    ours = subprocess.run([sys.executable, "-c", PROGRAM], env=env, check=True, capture_output=True, text=True)
    argv = ["qemu-x86_64", "-cpu", cpu, Path(sys.executable).resolve(), "-c", PROGRAM]
    theirs = subprocess.run(argv, env=env, check=True, capture_output=True, text=True)
    assert theirs.stdout == ours.stdout
    assert ours.stdout.count("\n") == 2


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_threads_in_a_hurry_give_the_same_bytes(compression: Compression) -> None:
    """Forty blocks by eight threads on however few CPUs, ten times."""
    scheme = choose_scheme(compression)
    blocks = [hashlib.sha256(bytes([number])).digest() * 2000 for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        outputs = {b"".join(compress_blocks(blocks, scheme, pool, 16)) for _ in range(10)}
    assert outputs == {b"".join(map(scheme.compress, blocks))}
