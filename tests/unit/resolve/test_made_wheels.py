"""A distribution that makes two others, which are built by its wheel: its own sources are built once."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from rockiln.console import Console
from rockiln.own_distributions import find_distributions
from rockiln.resolve.host_index import find_index
from rockiln.resolve.own_wheels import OwnBuilder
from rockiln.store import Store

HATCHLING = '[build-system]\nrequires = ["hatchling==1.27.0"]\nbuild-backend = "hatchling.build"\n\n'
MAKER = f"""{HATCHLING}[project]
name = "demo"
version = "1"
scripts = {{ make-demo = "demo:main" }}

[tool.rockiln.makes."demo-{{arch}}"]
archs = ["gfx942", "gfx1100"]
command = ["make-demo", "{{arch}}", "{{folder}}/project"]
"""
PROGRAM = f'''
import sys
from pathlib import Path

def main():
    arch, folder = sys.argv[1], Path(sys.argv[2])
    package = folder / f"src/demo_{{arch}}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"ARCH = {{arch!r}}")
    text = {HATCHLING!r} + f'[project]\\nname = "demo-{{arch}}"\\nversion = "1"\\n'
    (folder / "pyproject.toml").write_text(text)
'''


@pytest.mark.network
def test_two_made_distributions_build_their_maker_once(tmp_path: Path) -> None:
    package = tmp_path / "plugins/demo/src/demo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PROGRAM)
    (tmp_path / "plugins/demo/pyproject.toml").write_text(MAKER)
    said = io.StringIO()
    builder = OwnBuilder(
        project_path=tmp_path, cache_path=tmp_path / "cache", index_url=find_index(os.environ),
        store=Store(tmp_path / "cache/store"), environ=os.environ, console=Console(said),
    )  # fmt: skip
    found = find_distributions(tmp_path)
    for arch in ("gfx942", "gfx1100"):
        artifact = builder.make_artifact(found[f"demo-{arch}"])
        with zipfile.ZipFile(builder.store.path_of(artifact)) as wheel:
            assert wheel.read(f"demo_{arch}/__init__.py").decode() == f"ARCH = {arch!r}"
    assert said.getvalue().splitlines().count("building the wheel of demo") == 1
