"""Which distributions the repository has, what their wheels are made of, and which of them a row takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rockiln.errors import FileFaultsError
from rockiln.own_distributions import find_distributions, select_own

MAKES = """
[tool.rockiln.makes."rockiln-kernels-{arch}"]
archs = ["gfx942", "gfx1100"]
extra = "build"
command = ["make-pack", "--arch", "{arch}", "--project", "{folder}/project"]
"""


def _write(path: Path, name: str, more: str = "", dependencies: tuple[str, ...] = ()) -> Path:
    path.mkdir(parents=True)
    text = f'[project]\nname = "{name}"\ndependencies = {list(dependencies)}\n{more}'
    (path / "pyproject.toml").write_text(text)
    (path / "code.py").write_text("X = 1\n")
    return path


def test_distributions_are_found_by_their_normalised_name(tmp_path: Path) -> None:
    folder = _write(tmp_path / "plugins" / "demo", "Rockiln_Demo")
    (tmp_path / "plugins" / "notes.txt").write_text("no distribution")
    (tmp_path / "plugins" / "empty").mkdir()
    assert {name: own.folder for name, own in find_distributions(tmp_path).items()} == {"rockiln-demo": folder}


def test_a_repository_without_own_distributions_has_none(tmp_path: Path) -> None:
    assert find_distributions(tmp_path) == {}


def test_a_pack_is_a_distribution_an_arch_that_needs_its_maker(tmp_path: Path) -> None:
    _write(tmp_path / "plugins" / "kernels", "rockiln-kernels", MAKES)
    found = find_distributions(tmp_path)
    assert sorted(found) == ["rockiln-kernels", "rockiln-kernels-gfx1100", "rockiln-kernels-gfx942"]
    pack = found["rockiln-kernels-gfx942"]
    assert pack.requires == ("rockiln-kernels",)
    assert pack.making
    assert pack.making.arch == "gfx942"
    assert len({own.hash_sources() for own in found.values()}) == 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[tool.rockiln]\nbeside = ["../other"]\n', "tool.rockiln.beside[0]: "),
        ('[tool.rockiln]\nbeside = ["plugins/nowhere"]\n', "is no folder of this project"),
        ('[tool.rockiln]\nleft-in = ["src"]\n', 'no such key; did you mean "left-out"?'),
        ('[tool.rockiln.makes.pack]\narchs = ["gfx942"]\ncommand = ["x"]\n', 'is called "NAME-{arch}"'),
        ("not toml =", "not TOML"),
    ],
)
def test_faults_name_file_and_key(tmp_path: Path, text: str, fault: str) -> None:
    _write(tmp_path / "plugins" / "demo", "demo", text)
    with pytest.raises(FileFaultsError) as raised:
        find_distributions(tmp_path)
    assert raised.value.message.startswith("plugins/demo/pyproject.toml: ")
    assert fault in raised.value.message


def test_tests_that_are_left_out_change_no_hash_and_are_not_there_to_build_with(tmp_path: Path) -> None:
    folder = _write(tmp_path / "compat", "demo", '[tool.rockiln]\nleft-out = ["tests"]\n')
    (folder / "src" / "tests").mkdir(parents=True)
    (folder / "src" / "tests" / "kept.py").write_text("")
    own = find_distributions(tmp_path)["demo"]
    before = own.hash_sources()
    (folder / "tests").mkdir()
    (folder / "tests" / "test_demo.py").write_text("")
    assert own.hash_sources() == before
    copy = own.copy_sources(tmp_path / "copy")
    assert copy == tmp_path / "copy" / "compat"
    copied = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file())
    assert copied == ["code.py", "pyproject.toml", "src/tests/kept.py"]


def test_folders_beside_count_and_lie_where_they_lay(tmp_path: Path) -> None:
    header = tmp_path / "plugins" / "kernels" / "launcher" / "rockiln.h"
    _write(tmp_path / "plugins" / "kernels", "kernels")
    header.parent.mkdir()
    header.write_text("int f(void);\n")
    _write(tmp_path / "plugins" / "torch", "rt", '[tool.rockiln]\nbeside = ["plugins/kernels/launcher"]\n')
    own = find_distributions(tmp_path)["rt"]
    before = own.hash_sources()
    copy = own.copy_sources(tmp_path / "copy")
    assert (copy / "../kernels/launcher/rockiln.h").read_text() == "int f(void);\n"
    assert not (copy / "../kernels/code.py").exists()
    header.write_text("int g(void);\n")
    assert own.hash_sources() != before


def test_a_row_takes_what_is_asked_what_is_there_and_what_these_need(tmp_path: Path) -> None:
    _write(tmp_path / "compat", "hipcompat")
    _write(tmp_path / "plugins" / "kernels", "rockiln-kernels", MAKES)
    _write(tmp_path / "plugins" / "jax", "rockiln-jax", dependencies=("jax>=0.6", "rockiln_kernels==0.1", "=="))
    found = find_distributions(tmp_path)
    assert select_own(("hipcompat",), ("rockiln-torch",), found) == ("hipcompat",)
    assert select_own(("Hipcompat",), ("rockiln-jax",), found) == ("hipcompat", "rockiln-jax", "rockiln-kernels")
    packed = select_own(("rockiln-kernels-gfx942",), (), found)
    assert packed == ("rockiln-kernels", "rockiln-kernels-gfx942")
    assert select_own(("nowhere",), (), found) == ("nowhere",), "what is asked for is an error later, not left out"
