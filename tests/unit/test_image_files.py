"""What rockiln adds to every image."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_drop, make_locked, make_wheel, plan_jax
from packaging.requirements import Requirement

from rockiln.contents import Contents
from rockiln.image_files import find_framework, image_entries, make_dpkg_excludes
from rockiln.manifest import Entry

ROOT = Path(__file__).parents[2] / "src/rockiln/image_root"
WHEELS = tuple(
    make_wheel(name, version)
    for name, version in (("jax", "0.6.2"), ("jaxlib", "0.6.2"), ("numpy", "2.3.0"), ("pip", "25.3"))
)


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def entries_of(contents: Contents, *, rocm: bool = False) -> dict[str, Entry]:
    planned = plan_jax(rocm=rocm)
    return {entry.path: entry for entry in image_entries(planned, make_locked(planned, *WHEELS), contents)}


def text_of(entries: dict[str, Entry], contents: Contents, path: str) -> str:
    return contents.read_bytes(entries[path].sha256).decode()


def test_everything_is_rockilns_and_sorted(contents: Contents) -> None:
    entries = entries_of(contents)
    assert {entry.owner for entry in entries.values()} == {"rockiln"}
    assert list(entries) == sorted(entries)


def test_entrypoint_may_be_run_by_anyone(contents: Contents) -> None:
    assert entries_of(contents)["usr/lib/rockiln/entrypoint"].mode == 0o755


def test_only_rocm_images_have_a_preflight(contents: Contents) -> None:
    assert "usr/lib/rockiln/preflight" not in entries_of(contents)
    assert "usr/lib/rockiln/preflight" in entries_of(contents, rocm=True)


def test_images_with_hipcompat_ask_its_doctor_in_place_of_the_shell_script(contents: Contents) -> None:
    planned = plan_jax(rocm=True)
    doctor = replace(make_wheel("hipcompat", "0.1.0"), source="own")
    entries = {entry.path: entry for entry in image_entries(planned, make_locked(planned, doctor), contents)}
    assert "hipcompat doctor --quick" in text_of(entries, contents, "usr/lib/rockiln/preflight")
    assert "rockiln_check_devices" in text_of(entries_of(contents, rocm=True), contents, "usr/lib/rockiln/preflight")


def test_writable_folders_are_sticky_and_open_and_workdir_exists(contents: Contents) -> None:
    entries = entries_of(contents)
    for path in ("work", "var/cache/rockiln/miopen"):
        assert entries[path].kind == "directory"
        assert stat.filemode(stat.S_IFDIR | entries[path].mode) == "drwxrwxrwt"


def test_workdir_that_nobody_asked_to_be_writable_is_plain(contents: Contents) -> None:
    planned = plan_jax()
    planned = replace(planned, recipe=replace(planned.recipe, writable_folders=(), workdir="/srv/app"))
    entries = {entry.path: entry for entry in image_entries(planned, make_locked(planned), contents)}
    assert entries["srv/app"].mode == 0o755


def test_recipes_own_files_and_links_are_there(contents: Contents) -> None:
    entries = entries_of(contents)
    assert text_of(entries, contents, "etc/motd") == "hello\n"
    assert entries["opt/rocm/lib"].link == "/usr/lib/x86_64-linux-gnu"


def test_default_command_survives_the_shell(contents: Contents, tmp_path: Path) -> None:
    planned = plan_jax()
    planned = replace(planned, recipe=replace(planned.recipe, cmd=("printf", "%s|", "it's", "$HOME", "a b")))
    entries = {entry.path: entry for entry in image_entries(planned, make_locked(planned), contents)}
    script = tmp_path / "default-command"
    script.write_text(text_of(entries, contents, "usr/lib/rockiln/default-command"))
    done = subprocess.run(["dash", "-c", f'. {script}; "$@"'], check=True, capture_output=True, text=True)
    assert done.stdout == "it's|$HOME|a b|"


def test_constraints_hold_the_framework_and_not_what_the_recipe_adds() -> None:
    planned = plan_jax()
    extras = (Requirement("pip==25.3"),)
    taken = replace(planned.taken, wheels=(*planned.taken.wheels, *extras))
    planned = replace(planned, taken=taken, recipe=replace(planned.recipe, wheels=extras))
    assert [wheel.name for wheel in find_framework(planned, make_locked(planned, *WHEELS))] == ["jax", "jaxlib"]


def test_constraints_name_full_local_versions_and_our_plugins(contents: Contents) -> None:
    planned = plan_jax()
    target = replace(planned.target, plugins=("rockiln-kernels",))
    taken = replace(planned.taken, wheels=(Requirement("torch"), Requirement("pytorch_triton_rocm")))
    planned = replace(planned, target=target, taken=taken)
    wheels = (
        make_wheel("torch", "2.8.0+rocm7.0.2.git1234"),
        make_wheel("pytorch-triton-rocm", "3.4.0"),
        replace(make_wheel("rockiln-kernels", "0.1.0"), source="own"),
        make_wheel("numpy", "2.3.0"),
    )
    entries = {entry.path: entry for entry in image_entries(planned, make_locked(planned, *wheels), contents)}
    for path in ("etc/rockiln/constraints.txt", "etc/rockiln/overrides.txt"):
        lines = [line for line in text_of(entries, contents, path).splitlines() if not line.startswith("#")]
        assert lines == ["pytorch-triton-rocm==3.4.0", "rockiln-kernels==0.1.0", "torch==2.8.0+rocm7.0.2.git1234"]


def test_record_names_every_package(contents: Contents) -> None:
    record = json.loads(text_of(entries_of(contents, rocm=True), contents, "etc/rockiln/version.json"))
    assert record["target"] == "jax-1.0-rocm7.0.2-py3.11-debian-12-gfx942+gfx950"
    assert record["archs"] == ["gfx942", "gfx950"]
    assert [package["name"] for package in record["packages"]] == ["jax", "jaxlib", "numpy", "pip"]


def test_dpkg_is_told_the_rules_that_it_can_express() -> None:
    text = make_dpkg_excludes(
        (
            make_drop("usr/share/doc/**", "usr/share/*/x", keep=("usr/share/doc/*/copyright",)),
            make_drop("opt/venv/**", rule="wheels"),
            make_drop("usr/share/man/**", rule="manuals", owners=("wheel:*",)),
            make_drop("**/tests/**", rule="tests", owners=("wheel:*", "deb:*")),
        )
    )
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "path-exclude=/usr/share/doc/*",
        "path-include=/usr/share/doc/*/copyright",
        "path-exclude=/*/tests/*",
    ]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shell_files_are_clean() -> None:
    paths = [ROOT / "usr/lib/rockiln" / name for name in ("entrypoint", "preflight", "preflight-by-doctor")]
    repository = Path(__file__).parents[2]
    done = subprocess.run(["shellcheck", "-x", *paths], capture_output=True, text=True, check=False, cwd=repository)
    assert done.returncode == 0, done.stdout
