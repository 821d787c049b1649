"""/opt/venv is what `python3 -m venv` makes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from small_debs import make_tree

from rockiln.artifact import Artifact
from rockiln.assemble.tree import Tree
from rockiln.assemble.venv import add_venv
from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.manifest import Unpacked, WheelFacts

ACTIVATE = b'VIRTUAL_ENV="__VENV_DIR__"\nPATH="$VIRTUAL_ENV/__VENV_BIN_NAME__:$PATH"\nPS1="(__VENV_PROMPT__) "\n'


def make_system(tmp_path: Path) -> Tree:
    return make_tree(Contents(tmp_path / "contents"), {
        "usr/bin/python3.11": b"", "usr/lib/python3.11/venv/scripts/common/activate": ACTIVATE,
    })  # fmt: skip


def test_interpreter_is_found_under_its_three_names(tmp_path: Path) -> None:
    tree = add_venv(make_system(tmp_path), [], "3.11")
    for name in ("python", "python3", "python3.11"):
        assert tree.resolve(f"opt/venv/bin/{name}") == "usr/bin/python3.11"
    assert tree.entries["opt/venv/lib64"].link == "lib"


def test_activate_script_is_filled_in(tmp_path: Path) -> None:
    tree = add_venv(make_system(tmp_path), [], "3.11")
    text = b'VIRTUAL_ENV="/opt/venv"\nPATH="$VIRTUAL_ENV/bin:$PATH"\nPS1="(venv) "\n'
    assert tree.read("opt/venv/bin/activate") == text


def test_settings_have_the_keys_of_a_real_venv(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "real")], check=True)
    real = (tmp_path / "real" / "pyvenv.cfg").read_text()
    ours = (add_venv(make_system(tmp_path), [], "3.11").read("opt/venv/pyvenv.cfg") or b"").decode()
    assert [line.partition(" = ")[0] for line in ours.splitlines()] == [
        line.partition(" = ")[0] for line in real.splitlines()
    ]


def test_image_without_that_python_has_no_venv(tmp_path: Path) -> None:
    tree = make_system(tmp_path)
    assert add_venv(tree, [], "3.12") is tree


def test_wheel_without_its_python_is_refused(tmp_path: Path) -> None:
    artifact = Artifact(
        kind="wheel", name="tiny", version="1.0", architecture="any", source="wheels", path="tiny.whl", sha256="0" * 64,
        size_bytes=1,
    )  # fmt: skip
    facts = WheelFacts(dist_info="x", requires_dist=(), requires_python="", root_is_purelib=True, modules=())
    wheel = Unpacked(artifact=artifact, entries=(), wheel=facts)
    with pytest.raises(AssembleError, match=r"usr/bin/python3\.12 is missing, but wheel:tiny was locked for it"):
        add_venv(make_system(tmp_path), [wheel], "3.12")
