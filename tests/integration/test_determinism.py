"""One lock, one digest: whoever builds, where, when, with what settings, and with how many jobs.

What the CPU can do is in test_cpu_features.py: libdeflate and zstd choose their code by it, and only an emulated CPU
makes them choose otherwise. Here GLIBC_TUNABLES masks it for the C library.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from other_users import NOBODY, ROOT_OF_ITS_OWN
from small_project import SMALL, SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
REAL = "jax-0.6.2-cpu-py3.11-debian-12"
CLONED = ("src", "images", "plugins", "compat", "matrix.toml")


def with_umask(umask: str) -> tuple[str, ...]:
    return ("sh", "-c", f'umask {umask} && exec "$@"', "sh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everything about a build that must not matter."""

    folder: str = "plain"
    prefix: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()


FOREIGN = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LANGUAGE": "tr", "TZ": "Pacific/Chatham"}
"""ASCII only, in Python as well, and a time zone 45 minutes off."""
SURROUNDINGS = {
    "open umask, one job": Surroundings(prefix=with_umask("000"), words=("--jobs", "1")),
    "closed umask, many jobs": Surroundings(prefix=with_umask("077"), words=("--jobs", "7"), folder="two words"),
    "ASCII locale, time zone, hash seed": Surroundings(
        environ={**FOREIGN, "PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": "1700000000"}, folder="größere Mappe"
    ),
    "no CPU features in libc": Surroundings(
        environ={"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-SSE4_2,-SSE4_1,-SSSE3,-ERMS"}
    ),
    "an unknown user": Surroundings(prefix=NOBODY, environ={"TZ": "America/Caracas", "PYTHONHASHSEED": "4000000000"}),
    "a root without other users": Surroundings(prefix=ROOT_OF_ITS_OWN, words=("--jobs", "2")),
    "no home, no user name": Surroundings(environ={"HOME": "/nonexistent", "USER": "", "LOGNAME": "", "SHELL": ""}),
}  # fmt: skip


def put_into(project: SmallProject, surroundings: Surroundings, folder: Path) -> SmallProject:
    """The project, with a temporary folder of its own, in these surroundings."""
    temporary_path = folder / "tmp of this one"
    temporary_path.mkdir()
    environ = {"TMPDIR": str(temporary_path), **surroundings.environ}
    return replace(project, prefix=surroundings.prefix, environ={**project.environ, **environ})


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_digest_does_not_depend_on(name: str, small_project: SmallProject, digest: str, tmp_path: Path) -> None:
    surroundings = SURROUNDINGS[name]
    folder = tmp_path / surroundings.folder
    project = put_into(small_project.copy_to(folder), surroundings, folder)
    assert project.build(SMALL, *surroundings.words) == digest
    assert list((folder / "tmp of this one").iterdir()) == []


def clone(folder: Path) -> SmallProject:
    """This repository in another folder; its own sources are what runs."""
    project = SmallProject(path=folder / "clone", cache_path=folder / "cache", environ={})
    project.path.mkdir(parents=True)
    for name in CLONED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, project.path / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, project.path)
    return replace(project, environ={"PYTHONPATH": str(project.path / "src"), "PYTHONDONTWRITEBYTECODE": "1"})


def test_two_clones_and_two_users_give_one_digest_of_a_real_image(tmp_path: Path) -> None:
    first = clone(tmp_path / "first")
    for words in (("lock", REAL), ("fetch", REAL)):
        done = first.run(*words)
        assert done.returncode == 0, done.stderr
    second = clone(tmp_path / "second of them")
    shutil.copy(first.path / "matrix.lock", second.path)
    shutil.copytree(first.cache_path / "store", second.cache_path / "store")
    surroundings = Surroundings(prefix=(*with_umask("077"), *NOBODY), environ={**FOREIGN, "PYTHONHASHSEED": "3"})
    second = put_into(second, surroundings, tmp_path / "second of them")
    digest = first.build(REAL, "--jobs", "2")
    shutil.rmtree(first.cache_path)  # the two together would be three gigabytes
    assert second.build(REAL, "--jobs", "1") == digest


def test_runs_as_who_it_says(small_project: SmallProject) -> None:
    """The tests above would show little if unshare did nothing."""
    for prefix, uid in ((NOBODY, "12345"), (ROOT_OF_ITS_OWN, "0")):
        stranger = replace(small_project, prefix=(*prefix, "sh", "-c", 'id -u; "$@"', "sh"))
        done = stranger.run("plan")
        assert done.stdout.split()[0] == uid
    assert os.getuid() != 12345
