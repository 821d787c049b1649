"""Real archives and indexes: what they give is locked, and what cannot be reached stops within seconds."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from planning import make_matrix, make_planned

from rockiln.artifact import OWN
from rockiln.compatibility import read_compatibility
from rockiln.console import Console
from rockiln.errors import LockError
from rockiln.folders import Folders
from rockiln.lock import Lock, check_lock, read_lock, require
from rockiln.matrix import Matrix, Source, read_matrix
from rockiln.plan import Plan, PlannedTarget, make_plan
from rockiln.recipe import read_recipes
from rockiln.resolve.targets import resolve_targets
from rockiln.store import Store

ROOT = Path(__file__).parents[2]
NOTHING = Lock(targets={}, unresolved={})
DEBIAN = Source(
    name="debian-12", kind="debian-archive", distribution="debian", suites=("bookworm",), components=("main",),
    keyring="debian-archive-keyring.gpg",
)  # fmt: skip
LOCAL = Source(name="local-torch", kind="wheel-directory", url="file:///nowhere", packages=("torch",))
WHEELS = Source(name="wheels", kind="wheel-index")


def _resolve(planned: PlannedTarget, matrix: Matrix, path: Path) -> Lock:
    folders = Folders(project_path=path, cache_path=path / "cache", build_path=path / "build")
    return resolve_targets((planned,), matrix, NOTHING, Store(folders.store_path), folders, os.environ, Console(None))


def _project() -> tuple[Matrix, Plan]:
    matrix = read_matrix(ROOT / "matrix.toml")
    return matrix, make_plan(matrix, read_recipes(ROOT / "images"), read_compatibility())


def _torch_folder() -> str:
    """A folder that this machine's pip is told of, with torch's CPU wheel in it."""
    for folder in os.environ.get("PIP_FIND_LINKS", "").split():
        if list(Path(folder).glob("torch-2.13.0+cpu-cp311-*.whl")):
            return folder
    return ""


def test_committed_lock_is_current_but_for_our_own_sources() -> None:
    """Those move with every commit, and `nox -s image` locks their wheels anew."""
    matrix, plan = _project()
    bare = [replace(row, recipe=replace(row.recipe, own_wheels=(), own_wheels_if_there=())) for row in plan.targets]
    lock = read_lock(ROOT / "matrix.lock")
    kept = {
        key: replace(locked, artifacts=tuple(item for item in locked.artifacts if item.source != OWN))
        for key, locked in lock.targets.items()
    }
    assert check_lock(replace(lock, targets=kept), replace(plan, targets=tuple(bare)), matrix) == ()


def test_every_locked_row_holds_hipcompat_and_a_pack_for_each_of_its_archs() -> None:
    _, plan = _project()
    archs = {row.id: row.target.archs for row in plan.targets}
    for target_id, locked in read_lock(ROOT / "matrix.lock").targets.items():
        own = {item.name for item in locked.artifacts if item.source == OWN}
        packs = {f"rockiln-kernels-{arch}" for arch in archs[target_id]}
        assert own >= {"hipcompat", *packs, *({"rockiln-kernels"} if packs else set())}
        assert all(item.source_tree for item in locked.artifacts if item.source == OWN)


def test_committed_lock_names_no_host() -> None:
    assert "://" not in (ROOT / "matrix.lock").read_text(encoding="utf-8")


@pytest.mark.network
def test_jax_cpu_row_locks_from_real_archives(tmp_path: Path) -> None:
    matrix, plan = _project()
    planned = next(planned for planned in plan.targets if planned.id == "jax-0.6.2-cpu-py3.11-debian-12")
    locked = require(_resolve(planned, matrix, tmp_path), planned, matrix)
    assert {"deb:python3.11", "deb:libc6", "wheel:jaxlib", "wheel:numpy"} < {item.owner for item in locked.artifacts}
    assert {item.source for item in locked.artifacts} <= {*planned.target.sources, OWN}
    store = Store(tmp_path / "cache" / "store")
    held = {item.source for item in locked.artifacts if store.holds(item)}
    assert held == {OWN}, "locking from archives and indexes downloads no artifact; our own are built"


def test_row_whose_archive_does_not_exist_is_unresolved_within_seconds(tmp_path: Path) -> None:
    matrix, plan = _project()
    planned = next(planned for planned in plan.targets if planned.target.rocm_origin == "amd")
    nowhere = dict.fromkeys(planned.target.sources, ("https://nowhere.invalid/x",))
    dead = [replace(matrix.sources[name], url="https://nowhere.invalid/y") for name in planned.target.sources]
    matrix = make_matrix(ROOT, dead, (planned,), nowhere)
    start_s = time.monotonic()
    lock = _resolve(planned, matrix, tmp_path)
    assert time.monotonic() - start_s < 30
    with pytest.raises(LockError, match="is unresolved: source") as error:
        require(lock, planned, matrix)
    assert "ROCKILN_MIRROR_" in error.value.hint


@pytest.mark.network
@pytest.mark.skipif(not _torch_folder(), reason="pip knows no folder with torch 2.13.0+cpu for cp311")
def test_torch_from_a_local_wheel_directory(tmp_path: Path) -> None:
    planned = make_planned(("local-torch", "wheels", "debian-12"), ("python3", "libstdc++6"), ("torch===2.13.0+cpu",))
    matrix = make_matrix(tmp_path, (DEBIAN, LOCAL, WHEELS), (planned,), {"local-torch": (_torch_folder(),)})
    locked = require(_resolve(planned, matrix, tmp_path), planned, matrix)
    torch = next(item for item in locked.artifacts if item.name == "torch")
    assert (torch.version, torch.source) == ("2.13.0+cpu", "local-torch")
    Store(tmp_path / "cache" / "store").check(torch)
    others = {item.source for item in locked.artifacts if item.kind == "wheel" and item != torch}
    assert others == {"wheels"}
    assert not [item.name for item in locked.artifacts if item.name.startswith(("nvidia", "triton"))]
