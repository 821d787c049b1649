"""A lock that does not say what a target is made of today stops the build, with the command to run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version
from planning import make_matrix, make_planned, make_recipe

from rockiln.artifact import Artifact
from rockiln.errors import LockError
from rockiln.lock import (
    Lock,
    LockedTarget,
    Unresolved,
    check_lock,
    diff_locks,
    has_current_inputs,
    inputs_sha256,
    mirror_variable,
    requested_owners,
    require,
)
from rockiln.locked import share_own_wheels
from rockiln.matrix import Matrix, Source
from rockiln.own_distributions import find_distributions
from rockiln.plan import Plan, PlannedTarget

BASH = Artifact(
    kind="deb", name="bash", version="5.2-1", architecture="amd64", source="debian", path="pool/b/bash_5.2-1_amd64.deb",
    sha256="a" * 64, size_bytes=10,
)  # fmt: skip
DEBIAN = Source(name="debian", kind="debian-archive", distribution="debian", suites=("bookworm",), keyring="k.gpg")
WHEELS = Source(name="wheels", kind="wheel-index")
PLANNED = make_planned(("wheels", "debian"), ("bash", "python3"), ("Jax==0.6.2",))
MATRIX = make_matrix(Path("/project"), (DEBIAN, WHEELS), (PLANNED,))
PLAN = Plan(targets=(PLANNED,), rejected=())


def _locked(*artifacts: Artifact, planned: PlannedTarget = PLANNED, matrix: Matrix = MATRIX) -> Lock:
    target = LockedTarget(
        target_id=planned.id,
        inputs_sha256=inputs_sha256(planned, matrix),
        artifacts=artifacts,
        requested=requested_owners(planned),
    )
    return Lock(targets={planned.id: target}, unresolved={})


def _unresolved(reason: str = "nobody answers") -> Lock:
    entry = Unresolved(
        target_id=PLANNED.id, inputs_sha256=inputs_sha256(PLANNED, MATRIX), source="wheels", reason=reason
    )  # fmt: skip
    return Lock(targets={}, unresolved={PLANNED.id: entry})


def test_current_entry_is_given() -> None:
    lock = _locked(BASH)
    assert require(lock, PLANNED, MATRIX) is lock.targets[PLANNED.id]


def test_missing_entry_stops_build_with_the_command() -> None:
    with pytest.raises(LockError) as error:
        require(Lock(targets={}, unresolved={}), PLANNED, MATRIX)
    assert error.value.message == "matrix.lock: tiny-1.0-cpu-py3.11-debian-12 is not locked"
    assert error.value.hint == "run: rockiln lock tiny-1.0-cpu-py3.11-debian-12"


def test_stale_lock_stops_build() -> None:
    changed = replace(PLANNED, recipe=make_recipe(("bash", "python3", "vim")))
    with pytest.raises(LockError, match=r"is stale: matrix\.toml or its recipe changed"):
        require(_locked(BASH), changed, MATRIX)


def test_unresolved_target_stops_build_with_reason_and_mirror_setting() -> None:
    with pytest.raises(LockError, match="is unresolved: nobody answers") as error:
        require(_unresolved(), PLANNED, MATRIX)
    for way in ('[mirrors] wheels = ["URL"]', "--mirror wheels=URL", "ROCKILN_MIRROR_WHEELS=URL", "rockiln lock tiny"):
        assert way in error.value.hint


@pytest.mark.parametrize("change", [{"sha256": ""}, {"size_bytes": 0}])
def test_entry_without_hash_or_size_stops_build(change: dict[str, str]) -> None:
    with pytest.raises(LockError, match=r"names bash_5\.2-1_amd64\.deb without hash or size"):
        require(_locked(replace(BASH, **change)), PLANNED, MATRIX)


def test_other_compressors_stop_build() -> None:
    lock = replace(_locked(BASH), compressors={"deflate": "0.0.1"})
    with pytest.raises(LockError, match=r"digests hold with deflate 0\.0\.1; here is") as error:
        require(lock, PLANNED, MATRIX)
    assert "install deflate==0.0.1" in error.value.hint


def test_check_accepts_unresolved_with_a_reason() -> None:
    assert check_lock(_unresolved(), PLAN, MATRIX) == ()


def test_check_refuses_unresolved_that_is_stale() -> None:
    stale = replace(_unresolved().unresolved[PLANNED.id], inputs_sha256="0" * 64)
    faults = check_lock(Lock(targets={}, unresolved={PLANNED.id: stale}), PLAN, MATRIX)
    assert ["is stale" in fault.message for fault in faults] == [True]


def test_check_names_every_fault_and_rows_that_are_gone() -> None:
    lock = _locked(replace(BASH, sha256=""), replace(BASH, name="dash", sha256=""))
    lock = replace(lock, targets={**lock.targets, "old-row": replace(lock.targets[PLANNED.id], target_id="old-row")})
    faults = check_lock(lock, PLAN, MATRIX)
    assert len(faults) == 3
    assert str(faults[-1]) == "matrix.lock: old-row is no row of matrix.toml any more (run: rockiln lock)"


def test_id_after_a_second_candidate_is_no_row_that_is_gone() -> None:
    second = replace(PLANNED.taken, version=Version("0.9"))
    row = replace(PLANNED.target, candidates=(PLANNED.taken, second))
    planned = replace(PLANNED, target=replace(row, version=Version("0.9")), taken=second)
    matrix = replace(MATRIX, targets=(row,))
    lock = _locked(BASH, planned=planned, matrix=matrix)
    assert check_lock(lock, Plan(targets=(planned,), rejected=()), matrix) == ()


@pytest.mark.parametrize(
    "changed",
    [
        replace(DEBIAN, keyring="other.gpg"),
        replace(DEBIAN, snapshot="https://snapshot.invalid/debian"),
        replace(DEBIAN, check_valid_until=False),
    ],
)
def test_trust_and_copies_are_not_inputs(changed: Source) -> None:
    matrix = make_matrix(Path("/elsewhere"), (changed, WHEELS), mirrors={"debian": ("https://mirror.invalid",)})
    assert inputs_sha256(PLANNED, matrix) == inputs_sha256(PLANNED, MATRIX)


@pytest.mark.parametrize(
    "changed",
    [
        replace(DEBIAN, suites=("trixie",)),
        replace(DEBIAN, url="https://archive.invalid/debian"),
        replace(DEBIAN, pinned_packages=("lib*",)),
        replace(DEBIAN, components=("main", "contrib")),
    ],
)
def test_what_decides_the_resolution_is_an_input(changed: Source) -> None:
    matrix = make_matrix(Path("/project"), (changed, WHEELS))
    assert inputs_sha256(PLANNED, matrix) != inputs_sha256(PLANNED, MATRIX)


def test_order_of_packages_and_wheels_is_no_input() -> None:
    swapped = replace(PLANNED, recipe=make_recipe(("python3", "bash")))
    assert inputs_sha256(swapped, MATRIX) == inputs_sha256(PLANNED, MATRIX)


def test_order_of_sources_is_an_input() -> None:
    swapped = replace(PLANNED, target=replace(PLANNED.target, sources=("debian", "wheels")))
    assert inputs_sha256(swapped, MATRIX) != inputs_sha256(PLANNED, MATRIX)


def _own_wheel(project_path: Path) -> Artifact:
    (own,) = find_distributions(project_path).values()
    return Artifact(
        kind="wheel", name=own.name, version="1", architecture="any", source="own", path="demo-1-py3-none-any.whl",
        sha256="c" * 64, size_bytes=1, source_tree=own.hash_sources(),
    )  # fmt: skip


def test_own_distribution_makes_the_lock_stale_when_its_sources_change(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "demo"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "rockiln-demo"\n')
    planned = make_planned(("wheels", "debian"), plugins=("rockiln_demo",))
    matrix = make_matrix(tmp_path, (DEBIAN, WHEELS), (planned,))
    lock = _locked(_own_wheel(tmp_path), planned=planned, matrix=matrix)
    assert require(lock, planned, matrix)
    (folder / "code.py").write_text("")
    with pytest.raises(LockError, match="is stale: the sources of rockiln-demo changed after it was locked") as error:
        require(lock, planned, matrix)
    assert error.value.hint == f"run: rockiln lock {planned.id}, or rockiln build --relock-own {planned.id}"
    assert has_current_inputs(lock, planned, matrix), "the rest stays as it is locked"


def test_wheel_of_the_same_bytes_has_one_entry_in_all_rows() -> None:
    """A change of tests alone gives the same wheel: two entries by one name and hash would be one in the file."""
    old = Artifact(
        kind="wheel", name="demo", version="1", architecture="any", source="own", path="demo-1-py3-none-any.whl",
        sha256="c" * 64, size_bytes=1, source_tree="0" * 64,
    )  # fmt: skip
    new, other = replace(old, source_tree="1" * 64), replace(old, sha256="d" * 64)
    rows = {
        name: LockedTarget(target_id=name, inputs_sha256="", artifacts=(one,), requested=())
        for name, one in (("a", old), ("b", other))
    }
    newest = LockedTarget(target_id="c", inputs_sha256="", artifacts=(new,), requested=())
    shared = share_own_wheels(rows, newest)
    assert [shared[name].artifacts for name in ("a", "b")] == [(new,), (other,)]


def test_own_distribution_that_comes_or_goes_makes_the_lock_stale(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "demo"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "rockiln-tiny"\n')
    bare = make_planned(("wheels", "debian"))
    wanting = replace(bare, recipe=replace(bare.recipe, own_wheels_if_there=("rockiln-tiny", "rockiln-nowhere")))
    matrix = make_matrix(tmp_path, (DEBIAN, WHEELS), (bare,))
    with pytest.raises(LockError, match="lacks rockiln-tiny, a distribution of this repository"):
        require(_locked(planned=wanting, matrix=matrix), wanting, matrix)
    with pytest.raises(LockError, match="holds rockiln-tiny, which it should not any more"):
        require(_locked(_own_wheel(tmp_path), planned=bare, matrix=matrix), bare, matrix)


def test_requested_owners_are_normalised() -> None:
    assert requested_owners(PLANNED) == ("deb:bash", "deb:python3", "wheel:jax")


def test_mirror_variable_is_a_shell_name() -> None:
    assert mirror_variable("rocm-wheels.7-0") == "ROCKILN_MIRROR_ROCM_WHEELS_7_0"


def test_diff_names_new_gone_moved_and_rebuilt_owners() -> None:
    dash = replace(BASH, name="dash", path="pool/d/dash_1_amd64.deb", version="1")
    old = _locked(BASH, replace(BASH, name="gone"), dash)
    new = _locked(replace(BASH, version="5.3-1"), replace(dash, sha256="b" * 64), replace(BASH, name="new"))
    assert [str(change).partition(": ")[2] for change in diff_locks(old, new)] == [
        "deb:bash 5.2-1 -> 5.3-1",
        "deb:dash 1 has other bytes or another place",
        "deb:gone 5.2-1 is gone",
        "deb:new 5.2-1 is new",
    ]


def test_equal_locks_do_not_differ() -> None:
    assert diff_locks(_locked(BASH), _locked(BASH)) == ()
