"""matrix.lock reads back as it was written, the same text whatever order, and a damaged one says all its faults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rockiln.artifact import Artifact
from rockiln.errors import DiskError, FileFaultsError
from rockiln.lock_file import read_lock, render_lock, write_lock
from rockiln.locked import Lock, LockedTarget, Unresolved

BASH = Artifact(
    kind="deb", name="bash", version="5.2-1", architecture="amd64", source="debian-12",
    path="pool/main/b/bash/bash_5.2-1_amd64.deb", sha256="a" * 64, size_bytes=10,
)  # fmt: skip
TORCH = Artifact(
    kind="wheel", name="torch", version="2.8.0+rocm7.0.2.lw.git245bf6ed", architecture="x86_64", source="rocm-wheels",
    path="torch-2.8.0+rocm7.0.2.lw.git245bf6ed-cp312-cp312-linux_x86_64.whl", sha256="b" * 64, size_bytes=20,
)  # fmt: skip


def _target(name: str, *artifacts: Artifact) -> LockedTarget:
    return LockedTarget(target_id=name, inputs_sha256="1" * 64, artifacts=artifacts, requested=("deb:bash",))


LOCK = Lock(
    targets={"row-a": _target("row-a", BASH, TORCH), "row-b": _target("row-b", BASH)},
    unresolved={"row-c": Unresolved(target_id="row-c", inputs_sha256="2" * 64, source="x", reason='said "no"')},
    compressors={"deflate": "0.9.0"},
)
GOOD = render_lock(LOCK)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "matrix.lock"


def test_lock_reads_back_as_it_was_written(path: Path) -> None:
    write_lock(LOCK, path)
    assert read_lock(path) == LOCK


def test_no_file_is_an_empty_lock(path: Path) -> None:
    assert read_lock(path) == Lock(targets={}, unresolved={})


def test_shared_artifact_stands_on_one_line() -> None:
    lines = [line for line in GOOD.splitlines() if line.startswith('"bash_5.2-1_amd64.deb" = ')]
    assert len(lines) == 1
    assert lines[0].endswith(f'sha256 = "{"a" * 64}" }}')


def test_order_in_memory_does_not_show() -> None:
    swapped = replace(LOCK, targets=dict(reversed(LOCK.targets.items())))
    assert render_lock(swapped) == GOOD


def test_umask_does_not_show(path: Path) -> None:
    old = os.umask(0o077)
    try:
        write_lock(LOCK, path)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o644


def test_same_file_name_with_other_bytes_is_kept_apart(path: Path) -> None:
    other = replace(BASH, sha256="c" * 64)
    lock = replace(LOCK, targets={"row-a": _target("row-a", BASH), "row-b": _target("row-b", other)})
    write_lock(lock, path)
    assert read_lock(path) == lock
    assert f'"debian-12/bash_5.2-1_amd64.deb#{"c" * 12}"' in path.read_text()


def test_nothing_half_written_is_left_in_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    path = tmp_path / "file" / "matrix.lock"
    path.parent.touch()
    with pytest.raises(DiskError):
        write_lock(LOCK, path)
    assert path.parent.read_bytes() == b""


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(deadline=None)
@given(texts, texts)
def test_any_text_survives(reason: str, source: str) -> None:
    entry = Unresolved(target_id="row", inputs_sha256="2" * 64, source=source, reason=reason)
    parsed = tomllib.loads(render_lock(Lock(targets={}, unresolved={"row": entry})))["unresolved"][0]
    assert (parsed["reason"], parsed["source"]) == (reason, source)


def _faults(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(FileFaultsError) as error:
        read_lock(path)
    assert error.value.hint.startswith("do not mend a lock by hand")
    return error.value.message.splitlines()


BASH_KEY = 'matrix.lock: artifacts.debian-12."bash_5.2-1_amd64.deb"'
DAMAGE = (
    ("schema = 1", "schema = 2", ["matrix.lock: schema: this rockiln reads schema 1 only"]),
    (
        f'sha256 = "{"a" * 64}"',
        'sha256 = "abc"',
        [f'{BASH_KEY}.sha256: "abc" is not 64 hexadecimal digits'],
    ),
    (
        '"debian-12/bash_5.2-1_amd64.deb",\n  "rocm',
        '"debian-12/bash_5.2-2_amd64.deb",\n  "rocm',
        [
            'matrix.lock: target[0].artifacts[0]: "debian-12/bash_5.2-2_amd64.deb" is not in [artifacts]',
        ],
    ),
    (
        "size-bytes = 10",
        'size-bytes = "10"',
        [f'{BASH_KEY}.size-bytes: "10" is not a whole number'],
    ),
    (
        'path = "pool/main/b/bash/',
        'path = "../pool/main/b/bash/',
        [
            f'{BASH_KEY}.path: "../pool/main/b/bash/bash_5.2-1_amd64.deb" is not a path below its source',
        ],
    ),
    ('id = "row-b"', 'id = "row-a"', ['matrix.lock: target: "row-a" is there twice']),
    ('reason = "said \\"no\\""', 'reason = ""', ["matrix.lock: unresolved[0].reason: is empty"]),
    (
        'architecture = "amd64"',
        'arch = "amd64"',
        [
            f'{BASH_KEY}.architecture: missing; it is a text',
            f'{BASH_KEY}.arch: no such key',
        ],
    ),
)


@pytest.mark.parametrize(("good", "bad", "messages"), DAMAGE)
def test_damage_is_named_by_key_and_value(path: Path, good: str, bad: str, messages: list[str]) -> None:
    assert good in GOOD
    faults = _faults(path, GOOD.replace(good, bad, 1))
    assert [line.partition("; did you mean")[0] for line in faults] == messages


def test_all_damage_is_named_at_once(path: Path) -> None:
    text = GOOD
    for good, bad, _ in DAMAGE[1:4]:
        text = text.replace(good, bad, 1)
    assert len(_faults(path, text)) == 3


def test_one_owner_twice_is_a_fault(path: Path) -> None:
    twice = replace(BASH, version="6", path="pool/main/b/bash/bash_6_amd64.deb")
    faults = _faults(path, render_lock(replace(LOCK, targets={"row-a": _target("row-a", BASH, twice)})))
    assert faults == ["matrix.lock: target[0].artifacts: deb:bash is there twice"]


def _prefixes(text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    return ("".join(lines[:count]) for count in range(1, len(lines)))


def test_a_lock_that_was_cut_short_is_never_taken_for_a_whole_one(path: Path) -> None:
    for text in _prefixes(GOOD):
        path.write_text(text)
        try:
            lock = read_lock(path)
        except FileFaultsError:
            continue
        assert all(target.artifacts == LOCK.targets[name].artifacts for name, target in lock.targets.items())
