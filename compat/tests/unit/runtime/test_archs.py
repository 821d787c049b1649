"""Facts by arch, and what this machine and torch say about themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import hipcompat
from hipcompat.errors import UsageError
from hipcompat.runtime.archs import fp8_dtype, fp8_largest, warp_size
from hipcompat.runtime.present import is_nvidia, list_archs, visible_devices
from recorded_hosts import make_bare, make_mi300x, make_workstation


@pytest.mark.parametrize(
    ("arch", "lanes"),
    [("gfx90a", 64), ("gfx942", 64), ("gfx942:sramecc+:xnack-", 64), ("gfx950", 64), ("gfx9-4-generic", 64),
     ("gfx1030", 32), ("gfx1100", 32), ("gfx1201", 32), ("gfx11-generic", 32), ("gfx803", 64), ("gfx9-generic", 64),
     ("gfx10-3-generic", 32), ("gfx90c", 64), ("gfx1250", 32)],
)  # fmt: skip
def test_warp_size(arch: str, lanes: int) -> None:
    assert warp_size(arch) == lanes


@pytest.mark.parametrize("arch", ["sm_90", "9.0", "", "gfx", "gfx94", "gfx94200", "gfx492", "gfx1110"])
def test_what_is_no_amd_arch_has_no_warp_size(arch: str) -> None:
    with pytest.raises(UsageError, match="is no AMD architecture"):
        warp_size(arch)


@pytest.mark.parametrize(
    ("arch", "kind", "dtype", "largest"),
    [
        ("gfx942", "e4m3", "float8_e4m3fnuz", 240.0),
        ("gfx942:xnack-", "e5m2", "float8_e5m2fnuz", 57344.0),
        ("gfx950", "e4m3", "float8_e4m3fn", 448.0),
        ("gfx1201", "e5m2", "float8_e5m2", 57344.0),
    ],
)
def test_fp8_flavour_is_the_archs(arch: str, kind: str, dtype: str, largest: float) -> None:
    assert fp8_dtype(arch, kind) == dtype  # type: ignore[arg-type]
    assert fp8_largest(arch, kind) == largest  # type: ignore[arg-type]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_arch_without_fp8_is_refused(arch: str) -> None:
    with pytest.raises(UsageError, match="no fp8 instructions"):
        fp8_dtype(arch)


def test_largest_values_are_those_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for arch in ("gfx942", "gfx950"):
        for kind in ("e4m3", "e5m2"):
            assert float(ml_dtypes.finfo(getattr(ml_dtypes, fp8_dtype(arch, kind))).max) == fp8_largest(arch, kind)  # type: ignore[arg-type]


def test_archs_are_those_of_the_visible_gpus(tmp_path: Path) -> None:
    made = make_workstation(tmp_path)
    assert list_archs(made.host()) == ("gfx1100", "gfx1100", "gfx1036")
    assert list_archs(made.host(HIP_VISIBLE_DEVICES="2")) == ("gfx1036",)
    assert visible_devices(made.host(HIP_VISIBLE_DEVICES="2")).gpus == (2,)
    assert list_archs(make_bare(tmp_path / "b").host()) == ()


def test_torch_says_whose_it_is_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    assert not is_nvidia(made.host())
    made.add_torch()
    assert not is_nvidia(made.host())
    made.add_torch(hip=None, cuda="13.0")
    assert is_nvidia(made.host())
    torch = ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    for cuda in (None, "12.8"):
        vars(torch)["version"] = SimpleNamespace(cuda=cuda)
        assert is_nvidia() is (cuda is not None)


def test_package_offers_them_without_importing_them_before() -> None:
    assert hipcompat.warp_size("gfx942") == 64  # type: ignore[operator]
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = hipcompat.nothing_such
