"""Unpacking a set: in order, in parallel, remembered, and again when what was remembered is not there."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hostile import Item, artifact_of, deb_of, files_below, symlink, tar_of, wheel_artifact, wheel_files, zip_of
from packaging.version import Version

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.errors import DiskError, IntegrityError, UnpackError
from rockiln.manifest import Unpacked
from rockiln.store import Store
from rockiln.unpack.artifacts import unpack_artifacts

PYTHON = Version("3.11")


class Place:
    """A store, contents and manifests in one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path / "store")
        self.contents = Contents(path / "contents")
        self.unpacked_path = path / "unpacked"

    def keep(self, artifact: Artifact, data: bytes) -> Artifact:
        self.store.adopt_chunks(artifact, [data], origin="test")
        return artifact

    def unpack(self, artifacts: Sequence[Artifact], jobs: int = 2, python: Version = PYTHON) -> tuple[Unpacked, ...]:
        return unpack_artifacts(artifacts, self.store, self.contents, self.unpacked_path, python, jobs, Console(None))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def keep_deb(place: Place, name: str, items: Sequence[Item]) -> Artifact:
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\n"
    data = deb_of(tar_of(items), control)
    return place.keep(artifact_of(data, name=name, version="1"), data)


def keep_all(place: Place) -> list[Artifact]:
    debs = [keep_deb(place, f"deb{n}", [Item(name=f"./{n}", data=b"%d" % n), symlink("./s", "t")]) for n in range(9)]
    wheel = zip_of(wheel_files({"small.py": b"x = 1\n"}))
    return [*debs, place.keep(wheel_artifact(wheel), wheel)]


def forbid_reading(place: Place) -> None:
    """Whoever needs the store from now on fails."""
    for path in files_below(place.store.path):
        path.unlink()


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_asked_for(place: Place, jobs: int) -> None:
    artifacts = keep_all(place)
    assert [unpacked.artifact for unpacked in place.unpack(artifacts, jobs)] == artifacts
    assert [unpacked.artifact for unpacked in place.unpack(artifacts[::-1], jobs)] == artifacts[::-1]


def test_nothing_asked_for_is_nothing_done(place: Place) -> None:
    assert place.unpack([]) == ()
    assert list(place.path.iterdir()) == []


def test_manifests_are_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    texts = []
    for jobs in (1, 4):
        place = Place(tmp_path / str(jobs))
        place.unpack(keep_all(place), jobs)
        texts.append({path.name: path.read_bytes() for path in files_below(place.unpacked_path)})
    assert texts[0] == texts[1]
    assert len(texts[0]) == 10


def test_second_time_needs_no_store(place: Place) -> None:
    artifacts = keep_all(place)
    before = place.unpack(artifacts)
    forbid_reading(place)
    assert place.unpack(artifacts) == before


def test_same_bytes_from_another_source_are_not_unpacked_again(place: Place) -> None:
    deb = keep_deb(place, "deb", [Item(name="./a")])
    place.unpack([deb])
    forbid_reading(place)
    moved = Artifact(**{**{key: getattr(deb, key) for key in deb.__slots__}, "source": "snapshot", "path": "b.deb"})
    assert [unpacked.artifact for unpacked in place.unpack([moved])] == [moved]


def test_another_python_unpacks_the_wheel_again_and_the_debs_not(place: Place) -> None:
    artifacts = keep_all(place)
    old = place.unpack(artifacts)
    for artifact in artifacts[:-1]:
        place.store.path_of(artifact).unlink()
    new = place.unpack(artifacts, python=Version("3.12"))
    assert new[:-1] == old[:-1]
    assert any("python3.12" in entry.path for entry in new[-1].entries)


def test_a_missing_content_is_unpacked_again(place: Place) -> None:
    artifacts = keep_all(place)
    before = place.unpack(artifacts)
    sha256 = next(entry.sha256 for entry in before[3].entries if entry.sha256)
    place.contents.discard(sha256)
    assert place.unpack(artifacts) == before
    assert place.contents.read_bytes(sha256) == b"3"


@pytest.mark.parametrize("damage", [b"", b"{}", b"x" * 64 + b"\n{}", None])
def test_a_damaged_manifest_is_not_believed(place: Place, damage: bytes | None) -> None:
    artifacts = keep_all(place)
    before = place.unpack(artifacts)
    path = files_below(place.unpacked_path)[4]
    text = path.read_bytes()
    path.write_bytes(text.replace(b"420", b"493") if damage is None else damage)
    assert place.unpack(artifacts) == before
    assert path.read_bytes() == text


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-9] + b"X" + data[-8:], lambda _: b""])
def test_a_flipped_byte_in_the_store_is_named(place: Place, damage) -> None:  # type: ignore[no-untyped-def]  # a lambda
    artifacts = keep_all(place)
    path = place.store.path_of(artifacts[2])
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(damage(data))
    with pytest.raises(IntegrityError, match=r"not deb2_2\.0-1_amd64\.deb") as caught:
        place.unpack(artifacts)
    assert caught.value.sha256 == artifacts[2].sha256
    path.write_bytes(data)
    assert len(place.unpack(artifacts)) == len(artifacts)


def test_an_artifact_that_is_not_there_is_named(place: Place) -> None:
    artifacts = keep_all(place)
    place.store.path_of(artifacts[2]).unlink()
    with pytest.raises(IntegrityError, match=r"deb2_2\.0-1_amd64\.deb is not in the store"):
        place.unpack(artifacts)


def test_a_hostile_deb_leaves_no_manifest_and_writes_nothing_by_name(place: Place) -> None:
    good = keep_deb(place, "good", [Item(name="./a", data=b"good")])
    bad = keep_deb(place, "bad", [Item(name="./b", data=b"kept"), Item(name="../../escaped", data=b"evil")])
    with pytest.raises(UnpackError, match=r"^bad_2\.0-1_amd64\.deb: member '\.\./\.\./escaped'"):
        place.unpack([good, bad], jobs=1)
    assert not [path for path in files_below(place.unpacked_path) if path.name.startswith(bad.sha256)]
    assert not [path for path in files_below(place.path) if path.name.endswith(".partial") or "escaped" in path.name]
    assert files_below(place.contents.path / "partial") == []


def test_progress_is_told_in_bytes(place: Place) -> None:
    stream = io.StringIO()
    artifacts = keep_all(place)
    unpack_artifacts(artifacts, place.store, place.contents, place.unpacked_path, PYTHON, 2, Console(stream))
    assert stream.getvalue() == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_nobody_may_write_is_a_disk_error(place: Place) -> None:
    artifacts = keep_all(place)
    place.path.chmod(0o555)
    try:
        with pytest.raises(DiskError):
            place.unpack(artifacts)
    finally:
        place.path.chmod(0o755)
