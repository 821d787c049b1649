"""This machine → a project of two small targets: debs of its own Debian archive, a wheel made here; locked, fetched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from small_wheels import make_wheel

SMALL = "jax-1.0-cpu-py3.11-debian-12"
DEVEL = f"{SMALL}-devel"
"""The same and one package more."""

MATRIX = """\
schema = 1

[sources.debian]
kind = "debian-archive"
distribution = "debian"
suites = ["bookworm"]
keyring = "debian-archive-keyring.gpg"

[sources.own-wheels]
kind = "wheel-directory"
url = "{wheels_url}"
packages = ["jax"]

[candidates.small]
version = "1.0"
wheels = ["jax==1.0"]
evidence = "proven"
evidence-source = "the tests"
"""
ROW = """
[[target]]
framework = "jax"
python = "3.11"
os = "debian-12"
flavour = "{flavour}"
sources = ["own-wheels", "debian"]
candidates = ["small"]
"""
RECIPE = """\
schema = 1
cmd = ["python3.11"]
layer-budget = 10

[[packages]]
why = "loader, interpreter and certificates: all three programs that a build asks the image itself"
names = ["base-files", "base-passwd", "ca-certificates", "libc-bin", "python3.11"]

[[packages]]
why = "something that one target has and the other has not"
when = { flavour = ["devel"] }
names = ["netbase"]

[[drop]]
rule = "docs"
paths = ["usr/share/doc/**", "usr/share/man/**"]
keep = ["usr/share/doc/*/copyright"]
why = "a rule that drops something, so that lists are rewritten"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallProject:
    """A project folder, a cache, and how its commands are run."""

    path: Path
    cache_path: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """Words before the command: a program that changes something and starts the rest."""

    def command(self, *words: str) -> list[str]:
        """`rockiln WORDS` in this project."""
        folders = ("--project", str(self.path), "--cache", str(self.cache_path))
        return [*self.prefix, sys.executable, "-m", "rockiln", *folders, *words]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """`rockiln WORDS`, in a session of its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ROCKILN_")}
        return subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.path,
            env={**kept, **self.environ}, start_new_session=True,
        )  # fmt: skip

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`rockiln WORDS`, to its end."""
        with self.start(*words) as process:
            stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def build(self, target_id: str = SMALL, *words: str) -> str:
        """Build a target that must build; returns its digest."""
        done = self.run("build", target_id, *words)
        assert done.returncode == 0, done.stderr
        return read_digest(done.stdout)

    def copy_to(self, folder: Path, *, store: bool = True) -> SmallProject:
        """The project in another folder, with nothing built, and a cache of its own that holds the store alone."""
        copied = replace(self, path=folder / "project", cache_path=folder / "cache")
        shutil.copytree(self.path, copied.path, ignore=shutil.ignore_patterns("build"))
        if store:
            shutil.copytree(self.cache_path / "store", copied.cache_path / "store")
        return copied


def read_digest(text: str) -> str:
    """The digest in what `rockiln build` printed about one image."""
    return text.split()[1]


def make_small_project(folder: Path) -> SmallProject:
    """Resolve and fetch both targets; needs the archive."""
    project = SmallProject(path=folder / "project", cache_path=folder / "cache")
    make_wheel(folder / "wheels", "jax", "1.0", size=100_000)
    recipe_path = project.path / "images/jax/image.toml"
    recipe_path.parent.mkdir(parents=True)
    recipe_path.write_text(RECIPE, encoding="utf-8")
    rows = "".join(ROW.format(flavour=flavour) for flavour in ("runtime", "devel"))
    text = MATRIX.format(wheels_url=(folder / "wheels").as_uri()) + rows
    (project.path / "matrix.toml").write_text(text, encoding="utf-8")
    for verb in (("lock",), ("fetch", "*")):
        done = project.run(*verb)
        assert done.returncode == 0, done.stderr
    return project
