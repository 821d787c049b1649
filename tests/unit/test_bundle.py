"""A bundle holds the lock and every file; what is damaged, cut or hostile is refused and nothing wrong is kept."""

from __future__ import annotations

import io
import socket
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_server import make_artifact, make_bytes
from fetching import make_fetcher

from rockiln.bundle import LOCK, _make_header, _parse_header, read_bundle, write_bundle
from rockiln.errors import FetchError, IntegrityError, RockilnError
from rockiln.lock import LockedTarget
from rockiln.store import Store

CONTENTS = tuple(make_bytes(seed, 70_000 + seed) for seed in range(4))
ARTIFACTS = tuple(
    make_artifact(content, f"pool/main/p/p{number}/p{number}_1_all.deb") for number, content in enumerate(CONTENTS)
)


def make_target(name: str, *numbers: int) -> LockedTarget:
    artifacts = tuple(ARTIFACTS[number] for number in numbers)
    return LockedTarget(target_id=name, inputs_sha256="0" * 64, artifacts=artifacts, requested=("deb:p0",))


TARGETS = (make_target("one", 0, 1, 2), make_target("two", 1, 2, 3))


@pytest.fixture
def full(tmp_path: Path) -> Store:
    store = Store(tmp_path / "full")
    for artifact, content in zip(ARTIFACTS, CONTENTS, strict=True):
        store.adopt_chunks(artifact, [content], origin="test")
    return store


@pytest.fixture
def bundle(full: Store, tmp_path: Path) -> Path:
    path = tmp_path / "b.tar"
    write_bundle(TARGETS, full, path)
    return path


@pytest.fixture
def empty(tmp_path: Path) -> Store:
    return Store(tmp_path / "empty")


def held(store: Store) -> list[int]:
    return [number for number, artifact in enumerate(ARTIFACTS) if store.holds(artifact)]


def test_bundle_fills_an_empty_store_without_a_network(
    bundle: Path, empty: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    lock = read_bundle(bundle, empty)
    assert sorted(lock.targets) == ["one", "two"]
    assert lock.targets["one"] == TARGETS[0]
    report = make_fetcher(empty, "http://archive.test/debian").fetch(ARTIFACTS)
    assert (report.held_files, report.fetched_files) == (4, 0)
    for artifact in ARTIFACTS:
        empty.check(artifact)


def test_order_of_targets_does_not_change_the_bytes(bundle: Path, full: Store, tmp_path: Path) -> None:
    write_bundle(TARGETS[::-1], full, tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == bundle.read_bytes()


def test_tar_reads_it_and_the_unpacked_folder_serves_as_well(bundle: Path, empty: Store, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    subprocess.run(["tar", "-xf", bundle, "-C", folder], check=True)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == ["matrix.lock", *sorted(f"sha256/{artifact.sha256}" for artifact in ARTIFACTS)]
    read_bundle(folder, empty)
    assert held(empty) == [0, 1, 2, 3]


def test_files_that_are_held_are_not_written_again(bundle: Path, full: Store) -> None:
    before = full.path_of(ARTIFACTS[0]).stat().st_mtime_ns
    read_bundle(bundle, full)
    assert full.path_of(ARTIFACTS[0]).stat().st_mtime_ns == before


def test_file_beyond_the_old_tar_limit_of_8_gib_has_a_plain_header() -> None:
    header = _make_header("sha256/" + "a" * 64, 9 << 30)
    assert len(header) == tarfile.BLOCKSIZE
    assert _parse_header(header, Path("b.tar")) == ("sha256/" + "a" * 64, 9 << 30)


def test_damaged_store_makes_no_bundle(full: Store, tmp_path: Path) -> None:
    path = full.path_of(ARTIFACTS[2])
    path.chmod(0o644)
    path.write_bytes(b"!" + CONTENTS[2][1:])
    with pytest.raises(IntegrityError, match="p2_1_all"):
        write_bundle(TARGETS, full, tmp_path / "b.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_missing_artifact_makes_no_bundle(empty: Store, tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="not in the store"):
        write_bundle(TARGETS, empty, tmp_path / "b.tar")
    assert list(tmp_path.iterdir()) == []


def test_flipped_byte_is_named_and_not_adopted(bundle: Path, empty: Store) -> None:
    whole = bundle.read_bytes()
    place = whole.index(CONTENTS[1]) + 100
    bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(IntegrityError, match="p1_1_all") as caught:
        read_bundle(bundle, empty)
    assert caught.value.sha256 == ARTIFACTS[1].sha256
    assert 1 not in held(empty)
    for number in held(empty):
        empty.check(ARTIFACTS[number])


def test_bundle_cut_anywhere_is_refused_and_keeps_only_whole_files(bundle: Path, tmp_path: Path) -> None:
    whole = bundle.read_bytes()
    cuts = [0, 1, 511, 512, 600, 1024, len(whole) // 3, len(whole) // 2, len(whole) - 1500, len(whole) - 1024]
    for cut in cuts:
        store = Store(tmp_path / f"store{cut}")
        bundle.write_bytes(whole[:cut])
        with pytest.raises(FetchError, match=r"b\.tar: "):
            read_bundle(bundle, store)
        for number in held(store):
            store.check(ARTIFACTS[number])
        assert not list(store.path.glob("partial/*"))


def rewrite(bundle: Path, change: Callable[[tarfile.TarInfo], tarfile.TarInfo | None]) -> None:
    old = tarfile.open(fileobj=io.BytesIO(bundle.read_bytes()))  # noqa: SIM115 (closed below)
    with old, tarfile.open(bundle, "w", format=tarfile.GNU_FORMAT) as new:
        for member in old:
            content = old.extractfile(member)
            changed = change(member)
            if changed is not None:
                new.addfile(changed, content if changed.isreg() else None)


def as_symlink(member: tarfile.TarInfo) -> tarfile.TarInfo:
    if member.name != LOCK:
        member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
    return member


def climbing(member: tarfile.TarInfo) -> tarfile.TarInfo:
    if member.name != LOCK:
        member.name = "sha256/../../../climbed"
    return member


def renamed(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.name = "other/" + member.name
    return member


def without_lock(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if member.name == LOCK else member


def without_files(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return member if member.name == LOCK else None


@pytest.mark.parametrize("change", [as_symlink, climbing, renamed, without_lock, without_files])
def test_hostile_bundle_is_refused(
    bundle: Path, empty: Store, tmp_path: Path, change: Callable[[tarfile.TarInfo], tarfile.TarInfo | None]
) -> None:
    rewrite(bundle, change)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FetchError, match=r"b\.tar: "):
        read_bundle(bundle, empty)
    assert held(empty) == []
    assert sorted(tmp_path.iterdir()) in (before, sorted([*before, empty.path]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ARTIFACTS[0].sha256.encode(), b"../../../../../../../../../../../../../../../../../../../../clim"),
        (b"schema = 1", b"schema = 9"),
        (b"[[target]]", b"[[target]"),
        (b"size-bytes = 70000", b"size-bytes = -7000"),
    ],
)
def test_damaged_lock_of_a_bundle_is_named(bundle: Path, empty: Store, old: bytes, new: bytes) -> None:
    assert len(old) == len(new) or old == b"[[target]]"
    whole = bundle.read_bytes()
    bundle.write_bytes(whole.replace(old, new.ljust(len(old)), 1))
    with pytest.raises(FetchError, match="the bundle's lock is damaged"):
        read_bundle(bundle, empty)
    assert held(empty) == []


@pytest.mark.parametrize("content", [b"not a tar" * 200, b"\0" * 5000, b"PK\x03\x04" + bytes(2000)])
def test_other_files_are_no_bundles(tmp_path: Path, empty: Store, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FetchError, match="not a bundle"):
        read_bundle(tmp_path / "x", empty)


def test_missing_bundle_is_an_error_with_a_hint(tmp_path: Path, empty: Store) -> None:
    with pytest.raises(RockilnError, match="No such file") as caught:
        read_bundle(tmp_path / "nowhere.tar", empty)
    assert "rockiln bundle" in caught.value.hint
