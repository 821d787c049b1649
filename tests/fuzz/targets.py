"""What the fuzzers call: bytes → nothing, or an exception that tells of a fault in rockiln.

Reading may end in a refusal, and nothing else. What a whole run writes is judged by `loader_model`, and so is what the
verifier says of it and of damaged copies of it.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from loader_model import judge, judge_bundle
from row_model import judge_rows

from damage import damage
from rockiln.fatbin.bundle import read_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import make_spool, read_compressed, unpack
from rockiln.fatbin.cut import plan_cut
from rockiln.fatbin.entry_ids import is_host, serves, target_of
from rockiln.fatbin.refusal import RefusedError
from rockiln.fatbin.section import find_bundles
from rockiln.fatbin.slim_file import _VERIFIERS as VERIFIERS
from rockiln.fatbin.slim_file import Form, slim_file
from rockiln.fatbin.verify.files import verify_files
from rockiln.kernel_data import judge as kernel_data
from rockiln.kernel_data.content import HEAD_BYTES

DATA_PATHS = (
    "opt/rocm/lib/rocblas/library/Kernels.so-000-gfx1100.hsaco", "x/hipblaslt/library/gfx942/extop_gfx942.co",
    "opt/rocm/share/miopen/db/gfx942130.HIP.fdb.txt", "x/aotriton.images/amd-gfx11xx/flash/a.aks2", "kernel_gfx90a.co",
)  # fmt: skip
ARCH_SETS = (frozenset({"gfx942"}), frozenset({"gfx942", "gfx1100"}), frozenset({"gfx90a"}))
JUDGES = {"elf": judge, "bundle": judge_bundle, "database": judge_rows}
SHARED_MEMORY = Path("/dev/shm")
if SHARED_MEMORY.is_dir():  # thousands of files are written and synced a minute
    tempfile.tempdir = str(SHARED_MEMORY)


def choose_archs(content: bytes) -> frozenset[str]:
    """Always the same for the same bytes."""
    return ARCH_SETS[zlib.crc32(content) % len(ARCH_SETS)]


def choose_form(content: bytes) -> Form:
    """As the walk through a tree tells it by names and first bytes."""
    return "elf" if content.startswith(b"\x7fELF") else "database" if content.startswith(b"SQLite") else "bundle"


def read_everything(content: bytes) -> None:
    """Show the bytes to each reader of the cut. Raises what is no refusal."""
    with _held(content) as descriptor:
        source = ByteSource(descriptor)
        for read in (_read_elf, _read_bundle, _read_compressed, _read_section):
            with suppress(RefusedError):
                read(source, content)
        _judge_kernel_data(source, content)
    _read_ids(content)


def verify_anything(content: bytes) -> None:
    """The verifier has a word for every file, and never an exception."""
    with _held(content) as descriptor:
        verify_files(descriptor, descriptor, choose_archs(content))


@contextmanager
def _held(content: bytes) -> Iterator[int]:
    """A file in memory, for as long as the block lasts."""
    descriptor = os.memfd_create("rockiln-fuzz")
    try:
        os.write(descriptor, content)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_elf(source: ByteSource, content: bytes) -> None:
    if content.startswith(b"\x7fELF"):
        with make_spool() as spool:
            plan_cut(source, choose_archs(content), spool)


def _read_bundle(source: ByteSource, content: bytes) -> None:
    read_bundle(source, 0, len(content))


def _read_compressed(source: ByteSource, content: bytes) -> None:
    bundle = read_compressed(source, 0, len(content))
    with make_spool() as spool:
        unpack(source, bundle, spool)


def _read_section(source: ByteSource, content: bytes) -> None:
    find_bundles(source, 0, len(content))


def _judge_kernel_data(source: ByteSource, content: bytes) -> None:
    """By content under the name of one kind, and by a name that is itself the input."""
    head, archs = content[:HEAD_BYTES], choose_archs(content)
    for path in (DATA_PATHS[len(content) % len(DATA_PATHS)], content[:200].decode("latin-1")):
        if kernel_data.is_candidate(path, head):
            kernel_data.judge(path, source, archs)


def _read_ids(content: bytes) -> None:
    text = content[:4096].decode("latin-1")
    for line in {text, *text.splitlines()}:
        target = target_of(line)
        is_kept = serves(line, choose_archs(content))
        assert target in line
        assert is_kept or not is_host(line)


def rewrite(content: bytes) -> None:
    """Slim the file; what comes out is judged, and so is the verifier's word on damaged copies of it."""
    archs, form = choose_archs(content), choose_form(content)
    is_wrong = JUDGES[form]
    with _folder() as folder:
        old, new = folder / "old", folder / "new"
        old.write_bytes(content)
        result = slim_file(old, new, archs, form=form)
        assert old.read_bytes() == content
        if result is None or result.outcome != "slimmed":
            assert not new.exists()
            return
        slimmed = new.read_bytes()
        assert len(slimmed) == result.after_bytes < len(content)
        assert not (fault := is_wrong(content, slimmed, archs)), f"proven, but {fault}"
        random = Random(zlib.crc32(slimmed))  # noqa: S311 - the same damage for the same input
        for _ in range(2):
            damaged = damage(slimmed, random)
            if fault := is_wrong(content, damaged, archs):
                new.write_bytes(damaged)
                assert _find_faults(old, new, archs), f"not refused: {fault}"


def _find_faults(old: Path, new: Path, archs: frozenset[str]) -> tuple[str, ...]:
    with old.open("rb") as before, new.open("rb") as after:
        verify = VERIFIERS[choose_form(before.read(16))]
        return verify(before.fileno(), after.fileno(), archs).faults


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rockiln-fuzz-") as name:
        yield Path(name)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "parsers": read_everything, "verifier": verify_anything, "rewrites": rewrite,
}  # fmt: skip
LIMIT_S = 10.0
"""A single input that takes longer is a hang."""
