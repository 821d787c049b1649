"""This machine → a CPU row with a gfx942 pack: the real base recipe, our own wheels, and a small wheel called jax."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from small_wheels import make_wheel

from own_sources import copy_small_project, have_own_wheels
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.image import Image
from rockiln.recipe import Recipe
from small_project import MATRIX, SmallProject

PACKED = "jax-1.0-cpu-py3.11-debian-12"
PACK = "rockiln-kernels-gfx942"
ROW = f"""
[sources.wheels]
kind = "wheel-index"

[[target]]
framework = "jax"
python = "3.11"
os = "debian-12"
sources = ["own-wheels", "wheels", "debian"]
candidates = ["small"]
plugins = ["{PACK}"]
"""
RECIPE = """\
schema = 1
extends = "base"
"""


def make_packed_project(folder: Path) -> SmallProject:
    """Not locked yet. The row's recipe is the base of all images, and its framework a wheel that imports."""
    project = SmallProject(path=folder / "project", cache_path=folder / "cache")
    make_wheel(folder / "wheels", "jax", "1.0")
    copy_small_project(project.path)
    for path in (project.path / "images").iterdir():
        if path.name != "base":
            shutil.rmtree(path)
    (project.path / "images/jax").mkdir()
    (project.path / "images/jax/image.toml").write_text(RECIPE, encoding="utf-8")
    text = MATRIX.format(wheels_url=(folder / "wheels").as_uri()) + ROW
    (project.path / "matrix.toml").write_text(text, encoding="utf-8")
    have_own_wheels(project.path, project.cache_path, ("hipcompat", PACK))
    return project


def keep_checks(recipe: Recipe, names: Sequence[str], folder: Path) -> Recipe:
    """The recipe with these checks of the CPU tier alone, copied to `folder`: the rest was green without a mask."""

    def list_others(_: str, files: list[str]) -> list[str]:
        return [file for file in files if file.startswith("check_") and file[6:-3] not in names]

    there = [path for path in recipe.smoke_paths if path.is_dir()]
    copies = [folder / path.relative_to(path.parents[1]) for path in there]
    for path, copy in zip(there, copies, strict=True):
        shutil.copytree(path, copy, ignore=list_others)
    return replace(recipe, smoke_tiers=("cpu",), smoke_paths=tuple(copies))


def mask_module(place: str, text: str, folder: Path) -> tuple[Mount, Mount]:
    """Another text of a module, and none of its byte code, which images never compare with the source."""
    path = PurePosixPath(place)
    (folder / path.name).write_text(text, encoding="utf-8")
    (folder / "empty.pyc").write_bytes(b"")
    cached = str(path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc")
    return (
        Mount(host_path=folder / path.name, image_path=place),
        Mount(host_path=folder / "empty.pyc", image_path=cached),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskingEngine:
    """An engine in whose images other files lie over some of the image's own."""

    inner: Engine
    masks: Sequence[Mount]

    @property
    def name(self) -> str:
        """The inner one's."""
        return self.inner.name

    def obstacle(self) -> str:
        """The inner one's."""
        return self.inner.obstacle()

    def load(self, image: Image) -> Loaded:
        """The image, unchanged."""
        return self.inner.load(image)

    def run(self, loaded: Loaded, command: Command) -> Completed:
        """With the masks over it."""
        return self.inner.run(loaded, replace(command, mounts=(*command.mounts, *self.masks)))

    def unload(self, loaded: Loaded) -> None:
        """The inner one's."""
        self.inner.unload(loaded)
