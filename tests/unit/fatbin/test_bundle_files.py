"""Bundles and databases outside of ELF files: cut, proven, and damage is seen by the verifier."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from fat_files import HOST_ID, bundle_for, compress_bundle, entry_id, find_clang, make_bundle
from rockiln.fatbin.slim_file import FileResult, Form, slim_file
from rockiln.fatbin.verify.bundle_files import verify_bundle_files
from rockiln.fatbin.verify.database_files import verify_database_files

GFX942 = frozenset({"gfx942"})
TARGETS = ("gfx90a", "gfx942:xnack-", "gfx942:xnack+", "gfx1100")
Slim = Callable[..., tuple[FileResult, bytes]]


@pytest.fixture
def slim(tmp_path: Path) -> Slim:
    """Slim a bundle file in place; what is left of it."""

    def slim_one(content: bytes, form: Form = "bundle") -> tuple[FileResult, bytes]:
        path = tmp_path / "kernels.hsaco"
        path.write_bytes(content)
        result = slim_file(path, path, GFX942, form=form)
        assert result is not None
        return result, path.read_bytes()

    return slim_one


def verify(old: bytes, new: bytes, folder: Path) -> tuple[str, ...]:
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    with (folder / "old").open("rb") as one, (folder / "new").open("rb") as other:
        return verify_bundle_files(one.fileno(), other.fileno(), GFX942).faults


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_bundle_keeps_all_variants_of_the_arch_in_its_own_encoding(version: int, slim: Slim, tmp_path: Path) -> None:
    raw = bundle_for(TARGETS)
    old = compress_bundle(raw, version) if version else raw
    result, new = slim(old)
    assert (result.outcome, list(result.kept)) == ("slimmed", ["gfx942:xnack+", "gfx942:xnack-"])
    assert set(result.dropped) == {"gfx90a", "gfx1100"}
    assert len(new) == result.after_bytes < len(old)
    assert new[:8] == old[:8]
    assert verify(old, new, tmp_path) == ()
    assert slim(new)[0].outcome == "unchanged"


def test_llvm_reads_the_new_bundle(slim: Slim, tmp_path: Path) -> None:
    _, new = slim(bundle_for(TARGETS))
    (tmp_path / "new.hsaco").write_bytes(new)
    bundler = find_clang().replace("clang", "clang-offload-bundler")
    command = [bundler, "--type=o", "--input=new.hsaco", "--list"]
    listed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) == {HOST_ID, entry_id("gfx942:xnack-"), entry_id("gfx942:xnack+")}


@pytest.mark.parametrize(("make", "reason"), [
    (lambda _: bundle_for(("gfx90a",)), "holds no code for any of the archs"),
    (lambda good: b"\0" * 4096 + good, "is not one bundle"),
    (lambda good: good * 2, "is not one bundle"),
    (lambda good: good + b"tail", "unknown bytes"),
    (lambda good: compress_bundle(good, 3)[:-9], "cut short"),
])  # fmt: skip
def test_what_is_not_one_bundle_is_refused(make: Callable[[bytes], bytes], reason: str, slim: Slim) -> None:
    content = make(bundle_for(("gfx942", "gfx90a")))
    result, left = slim(content)
    assert result.outcome == "refused"
    assert reason in result.reason
    assert left == content


def test_verifier_sees_every_damage(slim: Slim, tmp_path: Path) -> None:
    old = bundle_for(TARGETS)
    _, new = slim(old)
    code = new.index(b"\x7fELF")
    damaged = {
        "a byte of code": new[: code + 200] + bytes([new[code + 200] ^ 1]) + new[code + 201 :],
        "another arch": make_bundle([(HOST_ID, b""), (entry_id("gfx90a"), new[code : code + 4096])]),
        "one variant": bundle_for(("gfx942:xnack-",)),
        "nothing": b"",
        "cut short": new[:-4096],
        "other order": bundle_for(("gfx942:xnack+", "gfx942:xnack-")),
        "compressed": compress_bundle(new, 3),
        "the old one": old,
        "not on a page": new[:4096] + b"\0" * 8 + new[4096:],
    }
    assert [name for name, content in damaged.items() if not verify(old, content, tmp_path)] == []


def make_cache(path: Path, archs: tuple[str, ...], extra: str = "") -> bytes:
    """rocFFT's own table."""
    key = "kernel_name, arch, hip_version, generator_sum"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE cache_v1 (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, hip_version INTEGER NOT NULL, "
            f"generator_sum BLOB NOT NULL, code BLOB NOT NULL, timestamp INTEGER NOT NULL, PRIMARY KEY ({key}))"
        )
        rows = [(f"fft_{n}", arch, 7, b"s", bytes([n]) * 900, n) for arch in archs for n in range(40)]
        connection.executemany("INSERT INTO cache_v1 VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.executescript(extra)
        connection.commit()
    return path.read_bytes()


def test_cache_loses_the_rows_of_other_archs(slim: Slim, tmp_path: Path) -> None:
    old = make_cache(tmp_path / "cache.db", ("gfx90a:xnack-", "gfx942", "gfx942:xnack+", "gfx1100"))
    result, new = slim(old, "database")
    assert (result.outcome, set(result.kept), set(result.dropped)) == (
        "slimmed", {"gfx942", "gfx942:xnack+"}, {"gfx90a:xnack-", "gfx1100"},
    )  # fmt: skip
    assert result.kept["gfx942"] == 40 * 900
    assert len(new) == result.after_bytes < len(old)
    assert slim(old, "database")[1] == new
    (tmp_path / "new.db").write_bytes(new)
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        query = "SELECT code FROM cache_v1 WHERE arch = 'gfx942' AND kernel_name = 'fft_7'"
        assert connection.execute(query).fetchone() == (b"\x07" * 900,)
        assert connection.execute("SELECT COUNT(*) FROM cache_v1").fetchone() == (80,)


@pytest.mark.parametrize(("extra", "reason"), [
    ("CREATE TABLE other (x)", "other tables"),
    ("CREATE VIEW other AS SELECT 1", "other tables"),
    ("DELETE FROM cache_v1 WHERE arch = 'gfx942'", "no code for any"),
    ("ALTER TABLE cache_v1 RENAME COLUMN code TO kode", "without the columns"),
])  # fmt: skip
def test_database_that_is_not_understood_stays(extra: str, reason: str, slim: Slim, tmp_path: Path) -> None:
    old = make_cache(tmp_path / "cache.db", ("gfx90a", "gfx942"), extra)
    result, left = slim(old, "database")
    assert result.outcome == "refused"
    assert reason in result.reason
    assert left == old


def test_damaged_database_stays(slim: Slim) -> None:
    result, _ = slim(b"SQLite format 3\0" + b"\xff" * 5000, "database")
    assert result.outcome == "refused"


@pytest.mark.parametrize("change", [
    "DELETE FROM cache_v1 WHERE kernel_name = 'fft_3' AND arch = 'gfx942'", "UPDATE cache_v1 SET code = x'00'",
    "UPDATE cache_v1 SET arch = 'gfx90a' WHERE kernel_name = 'fft_9'", "CREATE TABLE more (x)",
    "INSERT INTO cache_v1 VALUES ('k', 'gfx1100', 1, x'', x'', 0)",
])  # fmt: skip
def test_verifier_sees_changed_rows(change: str, tmp_path: Path) -> None:
    make_cache(tmp_path / "old.db", ("gfx90a", "gfx942"))
    make_cache(tmp_path / "new.db", ("gfx942",))

    def faults() -> tuple[str, ...]:
        with (tmp_path / "old.db").open("rb") as one, (tmp_path / "new.db").open("rb") as other:
            return verify_database_files(one.fileno(), other.fileno(), GFX942).faults

    assert faults() == ()
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        connection.executescript(change)
    assert faults() != ()
