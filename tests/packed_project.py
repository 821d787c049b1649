"""This machine → a CPU row with a gfx942 pack: the real base recipe, our own wheels, and a small wheel called jax."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from small_wheels import make_wheel

from own_sources import copy_small_project, have_own_wheels
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.image import Image
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
