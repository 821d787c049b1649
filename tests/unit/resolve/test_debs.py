"""apt in a private folder chooses debs, and trusts nothing that the source's own keyring has not signed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from fault_server import make_artifact
from small_archive import LACKS, Key, SmallDeb, add_suite

from rockiln.errors import ResolveError, UnavailableError
from rockiln.matrix import Source
from rockiln.resolve.apt_folder import Archive, find_keyring, open_apt
from rockiln.resolve.debs import resolve_debs, upstream_version

pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)

HELLO = SmallDeb(name="hello", version="2:1.0+x-1", depends="libhello1 (>= 1), sh | missing")
LIBHELLO = SmallDeb(name="libhello1", version="1.5~rc1", fields={"Recommends": "extra"})
DEBS = (HELLO, LIBHELLO, SmallDeb(name="sh", architecture="all"), SmallDeb(name="extra"))
LONG_AGO = {"Valid-Until": "Fri, 02 Jan 2026 00:00:00 UTC"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Key, Key]]:
    folder = tmp_path_factory.mktemp("keys")
    right, wrong = Key(folder / "right"), Key(folder / "wrong")
    yield right, wrong
    right.close()
    wrong.close()


@pytest.fixture
def key(keys: tuple[Key, Key]) -> Key:
    return keys[0]


def _archive(path: Path, key: Key, *suites: str, **changes: object) -> Archive:
    source = Source(
        name=str(changes.pop("name", "small")), kind="debian-archive", suites=suites, components=("main",),
        keyring="key.gpg", **changes,  # type: ignore[arg-type]
    )  # fmt: skip
    return Archive(source=source, url=path.as_uri(), keyring_path=key.keyring_path)


def _resolve(cache_path: Path, *archives: Archive, packages: tuple[str, ...] = ("hello",)) -> Mapping[str, str]:
    with open_apt(archives, cache_path, os.environ) as apt:
        return {deb.name: f"{deb.version} {deb.source}" for deb in resolve_debs(apt, packages)}


def test_debs_and_what_they_depend_on_are_chosen_with_path_size_and_sha256(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    with open_apt((_archive(tmp_path / "a", key, "stable"),), tmp_path / "cache", os.environ) as apt:
        debs = resolve_debs(apt, ("hello",))
    assert [(deb.name, deb.version, deb.architecture) for deb in debs] == [
        ("hello", "2:1.0+x-1", "amd64"),
        ("libhello1", "1.5~rc1", "amd64"),
        ("sh", "1.0-1", "all"),
    ]
    for deb in debs:
        content = (tmp_path / "a" / deb.path).read_bytes()
        assert (deb.size_bytes, deb.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert debs[0].path == "pool/h/hello_1.0+x-1_amd64.deb"


def test_private_folder_is_gone_afterwards(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_recommendations_are_left_out(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    assert "extra" not in _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_wrong_key_stops(tmp_path: Path, keys: tuple[Key, Key]) -> None:
    right, wrong = keys
    add_suite(tmp_path / "a", "stable", DEBS, wrong)
    with pytest.raises(ResolveError, match=r'source "small": its signature does not hold with keyring .*NO_PUBKEY'):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", right, "stable"))


def test_unsigned_archive_stops(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, None)
    with pytest.raises(ResolveError, match="is not signed"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_changed_release_file_stops(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    path = tmp_path / "a/dists/stable/InRelease"
    path.write_text(path.read_text().replace("Label: Small", "Label: Smell"))
    with pytest.raises(ResolveError, match="its signature does not hold"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_changed_package_list_stops(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    path = tmp_path / "a/dists/stable/main/binary-amd64/Packages"
    path.write_text(path.read_text().replace("sh | missing", "no | missing"))
    with pytest.raises(ResolveError, match=r'source "small": apt-get update failed: .*Hash Sum mismatch'):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_host_that_trusts_anything_does_not_loosen_the_check(
    tmp_path: Path, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf_path = tmp_path / "loose.conf"
    conf_path.write_text('Acquire::AllowInsecureRepositories "true";\nAcquire::Check-Valid-Until "false";\n')
    monkeypatch.setenv("APT_CONFIG", str(conf_path))
    add_suite(tmp_path / "a", "stable", DEBS, None)
    with pytest.raises(ResolveError, match="is not signed"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_expired_release_file_stops(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key, LONG_AGO)
    with pytest.raises(ResolveError, match=r'source "small": its Release file is out of date: .*expired') as error:
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))
    assert "check-valid-until = false" in error.value.hint


def test_expired_release_file_passes_where_the_matrix_says_so(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key, LONG_AGO)
    archive = _archive(tmp_path / "a", key, "stable", check_valid_until=False)
    assert "hello" in _resolve(tmp_path / "cache", archive)


def test_blame_falls_on_the_archive_at_fault(tmp_path: Path, keys: tuple[Key, Key]) -> None:
    right, wrong = keys
    add_suite(tmp_path / "a", "stable", DEBS, right)
    add_suite(tmp_path / "b", "other", DEBS, wrong)
    good, bad = _archive(tmp_path / "a", right, "stable"), _archive(tmp_path / "b", right, "other", name="second")
    with pytest.raises(ResolveError, match='source "second"'):
        _resolve(tmp_path / "cache", good, bad)


def test_unmet_dependency_is_explained(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", (HELLO,), key)
    with pytest.raises(ResolveError, match=r"hello : Depends: libhello1 \(>= 1\) but it is not installable"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"))


def test_unknown_package_is_named(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    with pytest.raises(ResolveError, match="Unable to locate package nothere"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"), packages=("nothere",))


@pytest.mark.parametrize("name", ["hello-", "-oAPT::Get::x=1", "hello=1", "hello/stable", "./x.deb", "?essential"])
def test_what_is_no_package_name_never_reaches_apt(tmp_path: Path, key: Key, name: str) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    with pytest.raises(ResolveError, match="is not the name of a Debian package"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"), packages=(name,))


@pytest.mark.parametrize("name", ["g++", "libstdc++6", "python3.13", "0ad", "lib32z1:amd64"])
def test_odd_package_names_reach_apt(tmp_path: Path, key: Key, name: str) -> None:
    package = name.partition(":")[0]
    add_suite(tmp_path / "a", "stable", (SmallDeb(name=package),), key)
    assert package in _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "stable"), packages=(name,))


def _two_suites(tmp_path: Path, key: Key, *pins: str, older: bool = False) -> tuple[Archive, Archive]:
    add_suite(tmp_path / "a", "sid", (*DEBS, SmallDeb(name="rocm", version="6")), key)
    rocm = SmallDeb(name="rocm", version="5" if older else "7", depends="libhello1")
    add_suite(tmp_path / "a", "experimental", (rocm, SmallDeb(name="libhello1", version="9")), key)
    return (
        _archive(tmp_path / "a", key, "sid", name="sid"),
        _archive(tmp_path / "a", key, "experimental", name="experimental", pinned_packages=pins),
    )


def test_pinned_packages_come_from_their_archive_and_nothing_else_does(tmp_path: Path, key: Key) -> None:
    archives = _two_suites(tmp_path, key, "roc*")
    assert _resolve(tmp_path / "cache", *archives, packages=("rocm",)) == {
        "rocm": "7 experimental",
        "libhello1": "1.5~rc1 sid",
    }


def test_pinned_package_wins_even_when_older(tmp_path: Path, key: Key) -> None:
    archives = _two_suites(tmp_path, key, "rocm", older=True)
    assert _resolve(tmp_path / "cache", *archives, packages=("rocm",))["rocm"] == "5 experimental"


def test_star_pins_the_whole_archive(tmp_path: Path, key: Key) -> None:
    archives = _two_suites(tmp_path, key, "*", older=True)
    found = _resolve(tmp_path / "cache", *archives, packages=("rocm", "sh"))
    assert found == {"rocm": "5 experimental", "libhello1": "9 experimental", "sh": "1.0-1 sid"}


def test_without_pins_the_newest_version_wins(tmp_path: Path, key: Key) -> None:
    found = _resolve(tmp_path / "cache", *_two_suites(tmp_path, key), packages=("rocm",))
    assert found == {"rocm": "7 experimental", "libhello1": "9 experimental"}


def test_archive_without_a_name_cannot_be_pinned(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "x", DEBS, key, {"Origin": "", "Label": "", "Suite": "", "Codename": ""})
    with pytest.raises(ResolveError, match="no Origin, Suite or Codename to pin by"):
        _resolve(tmp_path / "cache", _archive(tmp_path / "a", key, "x", pinned_packages=("hello",)))


def test_cache_path_with_a_space_works(tmp_path: Path, key: Key) -> None:
    add_suite(tmp_path / "a", "stable", DEBS, key)
    assert "hello" in _resolve(tmp_path / "my cache", _archive(tmp_path / "a", key, "stable"))


def test_machine_without_apt_says_what_to_do(tmp_path: Path, key: Key) -> None:
    archive = _archive(tmp_path / "a", key, "stable")
    with (
        pytest.raises(UnavailableError, match="apt-get is not on this machine") as error,
        open_apt((archive,), tmp_path / "cache", {"PATH": str(tmp_path)}),
    ):
        pass
    assert "nothing but `rockiln lock` needs apt" in error.value.hint


def test_keyring_is_looked_up_in_the_project_last(tmp_path: Path) -> None:
    source = Source(name="small", kind="debian-archive", keyring="small.gpg")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "small.gpg").touch()
    assert find_keyring(source, tmp_path / "project", (tmp_path / "etc",)) == tmp_path / "project" / "small.gpg"


def test_missing_keyring_names_every_place(tmp_path: Path) -> None:
    source = Source(name="small", kind="debian-archive", keyring="small.gpg")
    with pytest.raises(ResolveError, match=r'source "small": no keyring small\.gpg; looked for /one/small\.gpg'):
        find_keyring(source, tmp_path, (Path("/one"),))


@pytest.mark.parametrize(
    ("version", "upstream"),
    [("2.36-9+deb12u10", "2.36"), ("1:3.13.18-1", "3.13.18"), ("2.1", "2.1"), ("1-2-3", "1-2")],
)
def test_upstream_version_has_no_epoch_and_no_revision(version: str, upstream: str) -> None:
    deb = replace(make_artifact(b"x", "pool/l/libc6_1_amd64.deb"), version=version)
    assert upstream_version((deb,), "libc6") == upstream
    assert upstream_version((deb,), "libc7") == ""
