"""A part is locked, remembers who sent it, and never leaves a wrong file behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_server import make_artifact, make_bytes

from rockiln.download.partial import open_partial, part_bytes, part_path
from rockiln.errors import IntegrityError
from rockiln.store import Store

BYTES = make_bytes(3, 100_000)
HELLO = make_artifact(BYTES)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def no_pause(_: float) -> None:
    raise AssertionError("nobody else holds the lock")


def test_part_stays_and_is_read_again(store: Store) -> None:
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        partial.append(BYTES[:40_000])
    assert part_bytes(HELLO, store) == 40_000
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        assert partial.size_bytes == 40_000
        partial.append(BYTES[40_000:])
        assert partial.is_whole
        partial.seal("test")
    assert [path.name for path in store.path.rglob("*") if path.is_file()] == [HELLO.sha256]
    assert store.path_of(HELLO).stat().st_mode & 0o777 == 0o444


def test_wrong_part_starts_over(store: Store) -> None:
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        partial.append(b"x" * len(BYTES))
        with pytest.raises(IntegrityError, match="the mirror: not hello"):
            partial.seal("the mirror")
        assert partial.size_bytes == 0
    assert part_bytes(HELLO, store) == 0
    assert not store.holds(HELLO)


def test_lock_is_waited_for_and_the_finished_file_is_noticed(store: Store) -> None:
    pauses = []
    with open_partial(HELLO, store, no_pause) as first:
        assert first is not None

        def finish(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                first.append(BYTES)
                first.seal("test")

        with open_partial(HELLO, store, finish) as second:
            assert second is None
    assert len(pauses) == 2
    assert not part_path(HELLO, store).exists()


def test_validator_holds_for_the_address_that_gave_it(store: Store) -> None:
    secret = "https://user:s3cret@host.test/a"  # noqa: S105 (nobody's)
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        partial.append(BYTES[:10])
        partial.remember_origin(secret, '"etag"')
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        assert partial.validator_for(secret) == '"etag"'
        assert partial.validator_for("https://host.test/b") == ""
        partial.restart()
        assert partial.validator_for(secret) == ""
        partial.remember_origin(secret, "")
    for path in store.path.rglob("*.origin"):
        assert b"s3cret" not in path.read_bytes()


def test_removed_part_leaves_nothing(store: Store) -> None:
    with open_partial(HELLO, store, no_pause) as partial:
        assert partial is not None
        partial.append(BYTES[:10])
        partial.remember_origin("https://host.test/a", '"etag"')
        partial.remove()
    assert not [path for path in store.path.rglob("*") if path.is_file()]
