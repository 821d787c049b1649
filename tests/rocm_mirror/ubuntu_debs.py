"""ubuntu_packages.toml + this machine's Debian packages → debs under noble's names. Contents stay Debian's."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deb_file import BuiltDeb, Deb, build_deb
from fat_binaries import MissingToolError
from host_packages import HostPackage, close_over_dependencies, read_host_packages, split_dependencies

OS_RELEASE = """\
PRETTY_NAME="Ubuntu 24.04 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
UBUNTU_CODENAME=noble
"""
KEPT_FIELDS = ("Essential", "Multi-Arch", "Priority", "Section")
MERGED_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


def build_ubuntu_debs(pool_path: Path, keyring_path: Path) -> list[BuiltDeb]:
    """Repacked and empty packages, into the pool. `keyring_path` is what ubuntu-keyring brings."""
    table = read_table()
    chosen = choose_packages(table)
    names = {package.name: table["names"].get(package.name, package.name) for package in chosen}
    fillers: Mapping[str, Callable[[Path], None]] = {
        "base-files": _fill_base_files,
        "ubuntu-keyring": lambda tree_path: _fill_keyring(tree_path, keyring_path),
    }
    with TemporaryDirectory() as folder:
        tree_path = Path(folder) / "tree"
        debs = []
        for package in chosen:
            name = names[package.name]
            tree_path.mkdir()
            if name != "ubuntu-keyring":
                _copy_files(package, tree_path)
            if name in fillers:
                fillers[name](tree_path)
            debs.append(build_deb(_describe(package, names, table), tree_path, pool_path))
        return debs + [_build_empty(name, tree_path, pool_path) for name in sorted(table["empty"])]


def read_table() -> Mapping[str, Any]:
    """ubuntu_packages.toml."""
    return tomllib.loads((Path(__file__).parent / "ubuntu_packages.toml").read_text())


def choose_packages(table: Mapping[str, Any]) -> Sequence[HostPackage]:
    """This machine's packages that are packed again: the table's roots and all that they need."""
    try:
        return close_over_dependencies(table["roots"], read_host_packages())
    except KeyError as missing:
        raise MissingToolError(f"this machine has no package {missing} to pack again: apt-get install it") from None


def _copy_files(package: HostPackage, tree_path: Path) -> None:
    for host_path, image_path in package.list_files():
        target = tree_path / image_path
        target.parent.mkdir(parents=True, exist_ok=True)
        if host_path.is_symlink():
            target.symlink_to(host_path.readlink())
        else:
            shutil.copyfile(host_path, target)
            target.chmod(host_path.stat().st_mode & 0o7777)


def _fill_base_files(tree_path: Path) -> None:
    """Folders and the merged-/usr links, which noble's base-files brings, and what says that this is Ubuntu."""
    for folder in ("dev", "home", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "var/tmp", "var/lib/dpkg"):
        (tree_path / folder).mkdir(parents=True, exist_ok=True)
    (tree_path / "tmp").chmod(0o1777)
    (tree_path / "var/tmp").chmod(0o1777)
    (tree_path / "root").chmod(0o700)
    for link, target in MERGED_LINKS.items():
        (tree_path / target).mkdir(parents=True, exist_ok=True)
        (tree_path / link).symlink_to(target)
    (tree_path / "usr/lib/os-release").write_text(OS_RELEASE)
    (tree_path / "etc/lsb-release").write_text("DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=24.04\nDISTRIB_CODENAME=noble\n")


def _fill_keyring(tree_path: Path, keyring_path: Path) -> None:
    folder = tree_path / "usr/share/keyrings"
    folder.mkdir(parents=True)
    shutil.copyfile(keyring_path, folder / "ubuntu-archive-keyring.gpg")


def _describe(package: HostPackage, names: Mapping[str, str], table: Mapping[str, Any]) -> Deb:
    name = names[package.name]
    fields = {field: package.fields[field] for field in KEPT_FIELDS if field in package.fields}
    for field in ("Pre-Depends", "Depends"):
        if relation := _rename_relation(package.fields.get(field, ""), names):
            fields[field] = relation
    if provides := package.fields.get("Provides"):
        fields["Provides"] = ", ".join(options[0] for options in split_dependencies(provides))
    fields["Maintainer"] = "rockiln tests <mirror@invalid>"
    fields["Description"] = f"{name} for tests: Debian's {package.name} {package.fields['Version']}, packed again"
    control_files = {} if name == "ubuntu-keyring" else package.read_control_files()
    return Deb(
        name=name,
        version=table["versions"].get(name, package.fields["Version"]),
        architecture=package.architecture,
        fields=fields,
        control_files=control_files,
        compression="zstd",
    )


def _rename_relation(text: str, names: Mapping[str, str]) -> str:
    """Dependencies without versions, under noble's names; what was not packed again is left out."""
    groups = [[names[option] for option in options if option in names] for options in split_dependencies(text)]
    return ", ".join(" | ".join(_without_doubles(options)) for options in groups if options)


def _without_doubles(words: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(words)


def _build_empty(name: str, tree_path: Path, pool_path: Path) -> BuiltDeb:
    folder = tree_path / "usr/share/doc" / name
    folder.mkdir(parents=True)
    (folder / "copyright").write_text("An empty package, made up by rockiln's tests.\n")
    fields = {
        "Priority": "optional",
        "Section": "misc",
        "Maintainer": "rockiln tests <mirror@invalid>",
        "Description": f"{name} for tests: empty",
    }
    deb = Deb(name=name, version="1-0mirror1", fields=fields, compression="zstd")
    return build_deb(deb, tree_path, pool_path)
