"""Names of Debian packages + sources of matrix.toml → real debs and all that they depend on, and trees of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.fetch import fetch_artifacts
from rockiln.matrix import Source, read_matrix
from rockiln.resolve.apt_folder import Archive, find_keyring, open_apt
from rockiln.resolve.debs import resolve_debs
from rockiln.resolve.hosts import source_urls
from rockiln.store import Store

ROOT = Path(__file__).parents[1]
ROCM_7 = ("debian-sid", "debian-experimental")
"""Sources of ROCm 7.2.4: both move."""
BOOKWORM = ("debian-12",)


def fetch_debs(
    names: Sequence[str], sources: Sequence[str], cache_path: Path, *, is_alone: bool = False
) -> Mapping[str, Path]:
    """Package → its verified deb below `cache_path`: `names` and, unless alone, what they depend on, resolved now."""
    matrix = read_matrix(ROOT / "matrix.toml")
    archives = []
    for source in (matrix.sources[name] for name in sources):
        url = source_urls(source, matrix, os.environ)[0]
        archives.append(Archive(source=source, url=url, keyring_path=find_keyring(source, ROOT)))
    with open_apt(tuple(archives), cache_path, os.environ) as apt:
        debs = resolve_debs(apt, names)
    return _fetch([deb for deb in debs if deb.name in names or not is_alone], cache_path)


def fetch_alone(name: str, suite: str, cache_path: Path) -> Path:
    """The verified deb of one package from any suite of Debian, without what it depends on."""
    source = Source(
        name=suite, kind="debian-archive", distribution="debian", suites=(suite,), components=("main",),
        keyring="debian-archive-keyring.gpg", check_valid_until=False,
    )  # fmt: skip
    matrix = read_matrix(ROOT / "matrix.toml")
    url = source_urls(source, matrix, os.environ)[0]
    archive = Archive(source=source, url=url, keyring_path=find_keyring(source, ROOT))
    with open_apt((archive,), cache_path / "apt", os.environ) as apt:
        (deb,) = (deb for deb in resolve_debs(apt, [name]) if deb.name == name)
    store = Store(cache_path / "store")
    with_suite = replace(matrix, sources={**matrix.sources, deb.source: source})
    fetch_artifacts([deb], with_suite, store, os.environ, 1, Console(None))
    return store.path_of(deb)


def _fetch(debs: Sequence[Artifact], cache_path: Path) -> Mapping[str, Path]:
    store = Store(cache_path / "store")
    fetch_artifacts(debs, read_matrix(ROOT / "matrix.toml"), store, os.environ, 1, Console(None))
    return {deb.name: store.path_of(deb) for deb in debs}


def unpack_deb(deb: Path, folder: Path) -> Path:
    """The files of a deb below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(folder)], check=True)
    return folder
