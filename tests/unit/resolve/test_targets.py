"""Each target is resolved apart: what one lacks neither stops the others nor costs them their entries."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from planning import make_matrix, make_planned
from small_archive import LACKS, Key, SmallDeb, add_suite
from small_wheels import make_wheel, write_index

from rockiln.console import Console
from rockiln.errors import ResolveError, UnavailableError
from rockiln.folders import Folders
from rockiln.lock import Lock, check_lock, diff_locks, read_lock, require, write_lock
from rockiln.matrix import Matrix, Source
from rockiln.plan import Plan, PlannedTarget
from rockiln.resolve.targets import resolve_targets
from rockiln.store import Store

pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)

EMPTY = Lock(targets={}, unresolved={})
DEBS = (
    SmallDeb(name="python3.11", version="3.11.2-6"),
    SmallDeb(name="libc6", version="2.36-9"),
    SmallDeb(name="hello"),
)
PACKAGES = ("python3.11", "libc6")
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Key]:
    key = Key(tmp_path_factory.mktemp("keys") / "key")
    yield key
    key.close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Project:
    """A folder with an archive, an index and a matrix over them."""

    def __init__(self, path: Path, key: Key) -> None:
        self.path = path
        self.key = key
        self.said = io.StringIO()
        self.saved: list[Lock] = []
        (path / "small.gpg").write_bytes(key.keyring_path.read_bytes())
        add_suite(path / "archive", "stable", DEBS, key)
        wheels = [make_wheel(path / "w", "jax", "1", requires=["dep"]), make_wheel(path / "w", "dep", "1")]
        self.index_url = write_index(path / "index", wheels)
        self.debian = Source(
            name="debian", kind="debian-archive", url=(path / "archive").as_uri(), suites=("stable",),
            components=("main",), keyring="small.gpg",
        )  # fmt: skip
        self.wheels = Source(name="wheels", kind="wheel-index", url=self.index_url)
        self.dead = Source(name="dead", kind="wheel-index", url=f"{NOBODY}/simple")
        self.dead_archive = replace(self.debian, name="dead-archive", url=f"{NOBODY}/debian")

    def matrix(self, *targets: PlannedTarget, mirrors: Mapping[str, tuple[str, ...]] | None = None) -> Matrix:
        sources = (self.debian, self.wheels, self.dead, self.dead_archive)
        return make_matrix(self.path, sources, targets, mirrors)

    def resolve(
        self, targets: Sequence[PlannedTarget], old: Lock = EMPTY, *refresh: str, matrix: Matrix | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Lock:  # fmt: skip
        folders = Folders(project_path=self.path, cache_path=self.path / "cache", build_path=self.path / "build")
        return resolve_targets(
            tuple(targets), matrix or self.matrix(*targets), old, Store(folders.store_path), folders, environ,
            Console(self.said), refresh=frozenset(refresh), save=self.saved.append,
        )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, key: Key) -> Project:
    return Project(tmp_path, key)


GOOD = make_planned(("wheels", "debian"), PACKAGES, ("jax==1",))
NO_WHEELS = make_planned(("dead", "debian"), PACKAGES, ("jax==1",), framework="wheelless")
NO_DEBS = make_planned(("wheels", "dead-archive"), PACKAGES, ("jax==1",), framework="debless")
BAD_PIN = make_planned(("wheels", "debian"), PACKAGES, ("jax==99",), framework="badpin")


def _owners(lock: Lock, planned: PlannedTarget) -> dict[str, str]:
    return {artifact.owner: artifact.version for artifact in lock.targets[planned.id].artifacts}


def test_debs_and_wheels_of_a_target_are_locked(project: Project) -> None:
    lock = project.resolve([GOOD])
    debs = {"deb:libc6": "2.36-9", "deb:python3.11": "3.11.2-6"}
    assert _owners(lock, GOOD) == {**debs, "wheel:dep": "1", "wheel:jax": "1"}
    assert lock.targets[GOOD.id].requested == ("deb:libc6", "deb:python3.11", "wheel:jax")
    assert require(lock, GOOD, project.matrix(GOOD)) == lock.targets[GOOD.id]


def test_the_lock_reads_back_and_passes_its_check(project: Project) -> None:
    lock = project.resolve([GOOD, NO_WHEELS])
    write_lock(lock, project.path / "matrix.lock")
    assert read_lock(project.path / "matrix.lock") == lock
    plan = Plan(targets=(GOOD, NO_WHEELS), rejected=())
    assert check_lock(lock, plan, project.matrix(GOOD, NO_WHEELS)) == ()


def test_silent_source_leaves_its_targets_unresolved_and_the_others_locked(project: Project) -> None:
    lock = project.resolve([NO_WHEELS, GOOD, NO_DEBS])
    assert set(lock.targets) == {GOOD.id}
    reasons = {entry.source: entry.reason for entry in lock.unresolved.values()}
    why = "(the url that matrix.toml gives: connection refused)"
    assert reasons == {
        "dead": f'source "dead" cannot be reached {why}',
        "dead-archive": f'source "dead-archive" cannot be reached {why}',
    }
    assert f'source "dead" cannot be reached ({NOBODY}/simple: connection refused)' in project.said.getvalue()
    assert "ROCKILN_MIRROR_DEAD=URL" in project.said.getvalue()


def test_mirror_makes_an_unresolved_target_resolve(project: Project) -> None:
    old = project.resolve([NO_WHEELS])
    environ = {**os.environ, "ROCKILN_MIRROR_DEAD": project.index_url}
    new = project.resolve([NO_WHEELS], old, environ=environ)
    assert (set(new.targets), set(new.unresolved)) == ({NO_WHEELS.id}, set())
    matrix = project.matrix(NO_WHEELS, mirrors={"dead": (project.index_url,)})
    assert project.resolve([NO_WHEELS], old, matrix=matrix) == new


def test_pin_that_cannot_be_met_is_an_error_and_the_others_are_saved(project: Project) -> None:
    with pytest.raises(ResolveError, match=rf"^{BAD_PIN.id}: uv finds no wheels .* no version of jax==99"):
        project.resolve([BAD_PIN, GOOD])
    assert set(project.saved[-1].targets) == {GOOD.id}


def test_targets_that_fail_alike_share_a_line(project: Project) -> None:
    twin = replace(BAD_PIN, target=replace(BAD_PIN.target, framework="twin"))
    with pytest.raises(ResolveError) as error:
        project.resolve([BAD_PIN, twin])
    assert error.value.message.startswith(f"{BAD_PIN.id}, {twin.id}: uv finds")
    assert len(error.value.message.splitlines()) == 1


def test_wrong_signature_fails_every_target_on_that_archive(project: Project, tmp_path: Path) -> None:
    wrong = Key(tmp_path / "wrong")
    (project.path / "small.gpg").write_bytes(wrong.keyring_path.read_bytes())
    wrong.close()
    with pytest.raises(ResolveError, match="its signature does not hold"):
        project.resolve([GOOD])
    assert project.saved == []


def test_current_entry_is_kept_without_asking_anybody(project: Project) -> None:
    lock = project.resolve([GOOD])
    (project.path / "archive").rename(project.path / "gone")
    assert project.resolve([GOOD], lock) == lock


def test_entries_of_other_targets_stay(project: Project) -> None:
    twin = replace(GOOD, target=replace(GOOD.target, framework="twin"))
    old = project.resolve([GOOD])
    new = project.resolve([twin], old, matrix=project.matrix(GOOD, twin))
    assert set(new.targets) == {GOOD.id, twin.id}
    assert new.targets[GOOD.id] == old.targets[GOOD.id]


def test_entries_of_rows_that_are_gone_are_dropped(project: Project) -> None:
    twin = replace(GOOD, target=replace(GOOD.target, framework="twin"))
    old = project.resolve([GOOD, twin])
    assert set(project.resolve([GOOD], old).targets) == {GOOD.id}


def _move_on(project: Project) -> None:
    """The archive has a newer libc6, the index a newer dep."""
    newer = tuple(replace(deb, version="2.36-10") if deb.name == "libc6" else deb for deb in DEBS)
    (project.path / "archive" / "dists").rename(project.path / "old-dists")
    add_suite(project.path / "archive", "stable", newer, project.key)
    (project.path / "index").rename(project.path / "old-index")
    wheels = [make_wheel(project.path / "w", "dep", "2"), *(project.path / "w").glob("*.whl")]
    write_index(project.path / "index", wheels)


@pytest.mark.parametrize(
    ("refresh", "changes"),
    [
        (("debs",), ["deb:libc6 2.36-9 -> 2.36-10"]),
        (("wheels",), ["wheel:dep 1 -> 2"]),
        (("debs", "wheels"), ["deb:libc6 2.36-9 -> 2.36-10", "wheel:dep 1 -> 2"]),
        ((), []),
    ],
)
def test_refresh_moves_only_what_it_names(project: Project, refresh: tuple[str, ...], changes: list[str]) -> None:
    old = project.resolve([GOOD])
    _move_on(project)
    new = project.resolve([GOOD], old, *refresh)
    assert [str(change).partition(": ")[2] for change in diff_locks(old, new)] == changes


def test_refresh_of_debs_asks_no_wheel_source(project: Project) -> None:
    old = project.resolve([GOOD])
    (project.path / "index").rename(project.path / "gone")
    assert project.resolve([GOOD], old, "debs") == old


def test_refresh_that_reaches_nobody_fails_and_keeps_the_entry(project: Project) -> None:
    old = project.resolve([GOOD])
    (project.path / "archive").rename(project.path / "gone")
    with pytest.raises(ResolveError, match=r'not refreshed, its entry stays: source "debian" cannot be reached'):
        project.resolve([GOOD], old, "debs")
    assert project.saved == [old]


def test_changed_recipe_resolves_the_target_anew(project: Project) -> None:
    old = project.resolve([GOOD])
    more = replace(GOOD, recipe=replace(GOOD.recipe, packages=(*PACKAGES, "hello")))
    assert "deb:hello" in _owners(project.resolve([more], old), more)


def test_row_without_python_is_refused(project: Project) -> None:
    planned = make_planned(("wheels", "debian"), ("libc6",), ("jax==1",))
    with pytest.raises(ResolveError, match=r"no python3\.11 among the 1 debs"):
        project.resolve([planned])


def test_own_distribution_is_never_taken_from_an_index(project: Project) -> None:
    folder = project.path / "plugins" / "dep"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "dep"\n')
    with pytest.raises(ResolveError, match=r'dep is a distribution of this repository, but would come from .*"wheels"'):
        project.resolve([GOOD])


def _write_own(project: Project, text: str = "ANSWER = 42", requires: str = "") -> None:
    """A distribution that needs no build backend from anywhere."""
    folder = project.path / "plugins" / "own"
    folder.mkdir(parents=True, exist_ok=True)
    metadata = "Metadata-Version: 2.1\\nName: own\\nVersion: 1\\n" + requires
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "own"\nversion = "1"\n'
    )
    (folder / "backend.py").write_text(
        "import zipfile\n"
        "def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):\n"
        "    with zipfile.ZipFile(wheel_directory + '/own-1-py3-none-any.whl', 'w') as wheel:\n"
        f"        wheel.writestr('own.py', {text!r})\n"
        f"        wheel.writestr('own-1.dist-info/METADATA', '{metadata}')\n"
        "        wheel.writestr('own-1.dist-info/WHEEL', 'Wheel-Version: 1.0')\n"
        "        wheel.writestr('own-1.dist-info/RECORD', '')\n"
        "    return 'own-1-py3-none-any.whl'\n"
    )


OWNING = make_planned(("wheels", "debian"), GOOD.recipe.packages, tuple(map(str, GOOD.taken.wheels)), plugins=("own",))


def test_changed_sources_lock_the_own_wheel_anew_and_nothing_else(project: Project) -> None:
    _write_own(project)
    first = project.resolve([OWNING])
    _write_own(project, "ANSWER = 43")
    second = project.resolve([OWNING], first, environ={**os.environ, "PATH": str(project.path)})  # without apt-get
    before, after = ({item.owner: item for item in lock.targets[OWNING.id].artifacts} for lock in (first, second))
    assert {owner for owner in after if before[owner] != after[owner]} == {"wheel:own"}
    assert "wheel:own" in second.targets[OWNING.id].requested


def test_own_wheel_that_needs_more_than_before_has_all_wheels_resolved(project: Project) -> None:
    _write_own(project)
    first = project.resolve([replace(OWNING, taken=replace(OWNING.taken, wheels=()))])
    assert "wheel:dep" not in _owners(first, OWNING)
    _write_own(project, requires="Requires-Dist: dep\\n")
    second = project.resolve([replace(OWNING, taken=replace(OWNING.taken, wheels=()))], first)
    assert _owners(second, OWNING)["wheel:dep"] == "1"


def test_machine_without_apt_stops_at_once(project: Project) -> None:
    with pytest.raises(UnavailableError, match="apt-get is not on this machine"):
        project.resolve([GOOD], environ={"PATH": str(project.path)})


def test_order_of_targets_does_not_show(project: Project) -> None:
    twin = replace(GOOD, target=replace(GOOD.target, framework="twin"))
    assert project.resolve([GOOD, twin]) == project.resolve([twin, GOOD])
