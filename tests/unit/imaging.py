"""Contents and a Rootfs of a few files, with no deb or wheel behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from planning import make_planned

from rockiln.artifact import Artifact
from rockiln.contents import Contents
from rockiln.folders import Folders
from rockiln.locked import LockedTarget
from rockiln.manifest import Entry
from rockiln.plan import PlannedTarget
from rockiln.rootfs import Owner, OwnerClass, Rootfs
from rockiln.slim_rules import DropRule

Item = tuple[str, str | bytes]
"""Owner, and bytes of a file or text: "-> target" is a symlink, "=> path" a hardlink, "" a folder."""


def make_rootfs(
    contents: Contents, items: Mapping[str, Item], owners: Mapping[str, OwnerClass] | None = None
) -> Rootfs:
    """Each item as an entry, and every folder above it. Owners are "os" where nothing else is said."""
    entries: dict[str, Entry] = {}
    for path, (owner, content) in items.items():
        entries[path] = make_entry(contents, path, owner, content)
        folder = path.rpartition("/")[0]
        while folder and folder not in items:
            entries[folder] = make_entry(contents, folder, owner, "")
            folder = folder.rpartition("/")[0]
    names = sorted({entry.owner for entry in entries.values()})
    classes: dict[str, OwnerClass] = {"rockiln": "image", **(owners or {})}
    return Rootfs(
        entries=dict(sorted(entries.items())),
        owners={name: make_owner(name, classes.get(name, "os")) for name in names},
    )


def make_owner(name: str, stability: OwnerClass = "os", origin: str = "") -> Owner:
    return Owner(name=name, version="1.0", stability=stability, origin=origin or name.partition(":")[2] or name)


def make_entry(contents: Contents, path: str, owner: str, content: str | bytes) -> Entry:
    if isinstance(content, bytes):
        sha256, size_bytes = contents.put_bytes(content)
        return Entry(path, "file", 0o644, 0, 0, size_bytes, sha256, "", owner)
    arrow, _, target = content.partition(" ")
    kind = {"->": "symlink", "=>": "hardlink"}.get(arrow, "directory")
    mode = {"symlink": 0o777, "hardlink": 0o644}.get(kind, 0o755)
    return Entry(path, kind, mode, 0, 0, 0, "", target, owner)  # type: ignore[arg-type]  # one of the four


def make_drop(*paths: str, rule: str = "docs", keep: tuple[str, ...] = (), owners: tuple[str, ...] = ()) -> DropRule:
    return DropRule(rule=rule, paths=paths, keep=keep, owners=owners, why="a test")


def make_folders(path: Path) -> Folders:
    return Folders(project_path=path / "project", cache_path=path / "cache", build_path=path / "build")


def make_locked(planned: PlannedTarget, *artifacts: Artifact) -> LockedTarget:
    return LockedTarget(target_id=planned.id, inputs_sha256="0" * 64, artifacts=artifacts, requested=())


def make_wheel(name: str, version: str) -> Artifact:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return Artifact(
        kind="wheel", name=name, version=version, architecture="any", source="wheels", path=file,
        sha256="a" * 64, size_bytes=1,
    )  # fmt: skip


def plan_jax(*, rocm: bool = False) -> PlannedTarget:
    """A JAX target with a recipe that says something about each part of an image."""
    from packaging.version import Version

    planned = make_planned(wheels=("jax==0.6.2", "jaxlib==0.6.2"), framework="jax")
    recipe = replace(
        planned.recipe, env={"PATH": "/opt/venv/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}, workdir="/work",
        cmd=("python",), labels={"org.opencontainers.image.licenses": "Apache-2.0"},
        writable_folders=("work", "var/cache/rockiln/miopen"), files={"etc/motd": "hello\n"},
        links={"opt/rocm/lib": "/usr/lib/x86_64-linux-gnu"},
        drops=(make_drop("usr/share/doc/**", "usr/share/man/**", keep=("usr/share/doc/*/copyright",)),),
    )  # fmt: skip
    target = planned.target
    if rocm:
        target = replace(target, rocm=Version("7.0.2"), rocm_origin="amd", archs=("gfx942", "gfx950"))
    return replace(planned, recipe=recipe, target=target)
