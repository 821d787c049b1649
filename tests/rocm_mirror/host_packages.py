"""This machine's dpkg database → its packages as values, and the closure of what they depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debian.deb822 import Deb822

DPKG_PATH = Path("/var/lib/dpkg")
KEPT_CONTROL_FILES = ("preinst", "postinst", "prerm", "postrm", "conffiles", "triggers", "templates", "config")
DROPPED_FOLDERS = ("usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/")
MERGED_FOLDERS = ("bin/", "sbin/", "lib/", "lib64/", "lib32/", "libx32/")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPackage:
    """An installed package. `fields` is its control paragraph."""

    name: str
    architecture: str
    fields: Mapping[str, str]

    def list_files(self) -> Iterator[tuple[Path, str]]:
        """Host path and image path of each file and symlink, in merged-/usr form, without manuals and translations."""
        for line in self._read_control("list").splitlines():
            host_path, image_path = Path(line), merge_usr(line.lstrip("/"))
            is_link = host_path.is_symlink() and f"{image_path}/" not in MERGED_FOLDERS
            is_entry = is_link or host_path.is_file()
            if is_entry and not image_path.startswith(DROPPED_FOLDERS) and not _is_prose(image_path):
                yield host_path, image_path

    def read_control_files(self) -> dict[str, str]:
        """Package scripts and the like, as installed."""
        texts = {name: self._read_control(name) for name in KEPT_CONTROL_FILES}
        return {name: text for name, text in texts.items() if text}

    def _read_control(self, suffix: str) -> str:
        for stem in (f"{self.name}:{self.architecture}", self.name):
            path = DPKG_PATH / "info" / f"{stem}.{suffix}"
            if path.is_file():
                return path.read_text()
        return ""


def merge_usr(path: str) -> str:
    """bin/ls → usr/bin/ls."""
    return f"usr/{path}" if path.startswith(MERGED_FOLDERS) else path


def read_host_packages() -> Mapping[str, HostPackage]:
    """Everything that dpkg has installed here, by name."""
    with (DPKG_PATH / "status").open() as file:
        paragraphs = [dict(paragraph) for paragraph in Deb822.iter_paragraphs(file, use_apt_pkg=False)]
    return {
        fields["Package"]: HostPackage(name=fields["Package"], architecture=fields["Architecture"], fields=fields)
        for fields in paragraphs
        if fields.get("Status") == "install ok installed" and fields["Architecture"] in {"amd64", "all"}
    }


def split_dependencies(text: str) -> list[list[str]]:
    """ "a (>= 1) | b, c:any" → [[a, b], [c]]."""
    groups = [group for group in text.split(",") if group.strip()]
    return [[re.split(r"[\s(:\[]", option.strip(), maxsplit=1)[0] for option in group.split("|")] for group in groups]


def close_over_dependencies(roots: Iterable[str], packages: Mapping[str, HostPackage]) -> Sequence[HostPackage]:
    """The roots and all that they need of what is installed, by name. A root that is not here is a KeyError."""
    chosen: dict[str, HostPackage] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in chosen:
            continue
        package = chosen[name] = packages[name]
        text = ",".join(package.fields.get(field, "") for field in ("Pre-Depends", "Depends"))
        for options in split_dependencies(text):
            waiting += [option for option in options if option in packages][:1]
    return [chosen[name] for name in sorted(chosen)]


def _is_prose(image_path: str) -> bool:
    return image_path.startswith("usr/share/doc/") and not image_path.endswith("/copyright")
