"""Each artifact is an owner: how stable it is, and what it changes together with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from planning import make_planned
from small_debs import build_deb, read_deb

from rockiln.artifact import Artifact
from rockiln.assemble.owners import name_owners
from rockiln.contents import Contents
from rockiln.manifest import Unpacked
from rockiln.plan import PlannedTarget


def make_wheel(name: str, source: str = "wheels") -> Unpacked:
    artifact = Artifact(
        kind="wheel", name=name, version="1.0", architecture="any", source=source, path=f"{name}.whl", sha256="0" * 64,
        size_bytes=1,
    )  # fmt: skip
    return Unpacked(artifact=artifact, entries=())


def on_rocm(planned: PlannedTarget, origin: str, os: str) -> PlannedTarget:
    return replace(planned, target=replace(planned.target, rocm_origin=origin, os=os))


@pytest.mark.parametrize(
    ("name", "source", "origin", "os", "stability"),
    [
        ("bash", "debian-12", "", "debian-12", "os"),
        ("openssl", "debian-12-security", "", "debian-12", "os"),
        ("libpython3.11-stdlib", "debian-12", "", "debian-12", "python"),
        ("rocblas", "rocm-debs", "amd", "ubuntu-24.04", "rocm"),
        ("bash", "ubuntu-24-04", "amd", "ubuntu-24.04", "os"),
        ("librocblas5", "debian-experimental", "debian", "debian-sid", "rocm"),
        ("python3.13", "debian-sid", "debian", "debian-sid", "python"),
    ],
)
def test_deb_is_as_stable_as_its_archive(
    tmp_path: Path, name: str, source: str, origin: str, os: str, stability: str
) -> None:
    deb = read_deb(build_deb(tmp_path, name, {}, fields={"Source": "origin (1:2)"}), Contents(tmp_path / "c"), source)
    owner = name_owners([deb], on_rocm(make_planned(), origin, os), "0.1")[f"deb:{name}"]
    assert (owner.stability, owner.origin, owner.version) == (stability, "origin", "1.0")


def test_deb_without_source_is_its_own_origin(tmp_path: Path) -> None:
    deb = read_deb(build_deb(tmp_path, "tiny", {}), Contents(tmp_path / "c"))
    assert name_owners([deb], make_planned(), "0.1")["deb:tiny"].origin == "tiny"


def test_wheels_are_framework_plugin_or_neither() -> None:
    planned = make_planned(wheels=["Tiny_Frame===1.0"])
    wheels = [make_wheel("tiny-frame"), make_wheel("numpy"), make_wheel("rockiln-kernels", "own")]
    owners = name_owners(wheels, planned, "0.1")
    assert {name: owner.stability for name, owner in owners.items()} == {
        "wheel:tiny-frame": "framework", "wheel:numpy": "wheel", "wheel:rockiln-kernels": "plugin", "rockiln": "image",
    }  # fmt: skip
    assert owners["rockiln"].version == "0.1"


def test_wheel_that_the_recipe_adds_is_no_framework() -> None:
    planned = make_planned(wheels=["tiny-frame", "pip==25.3"])
    planned = replace(planned, recipe=replace(planned.recipe, wheels=(Requirement("pip==25.3"),)))
    assert name_owners([make_wheel("pip")], planned, "0.1")["wheel:pip"].stability == "wheel"
