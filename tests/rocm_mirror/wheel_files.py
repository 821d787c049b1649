"""wheels.toml → wheels with the real file names, a small importable package each, and the listings that serve them."""

from __future__ import annotations

import base64
import hashlib
import html
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from fat_binaries import Compiler, Library
from kernel_trees import make_aotriton_images
from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename
from rocm_debs import compile_code_objects

HIP_VERSION = "7.0.51831"
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
EXECUTABLE_SUFFIXES = (".so",)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """What wheels for GPUs hold."""

    library: bytes
    """Every one of them: a small library with a real fat binary."""
    aotriton_images: Mapping[str, bytes]
    """torch: by path in the wheel."""


def write_wheels(compiler: Compiler, mirror_path: Path) -> None:
    """Write every directory and index of the table below `mirror_path`."""
    table = tomllib.loads((Path(__file__).parent / "wheels.toml").read_text())
    with TemporaryDirectory() as folder:
        images = make_aotriton_images(compile_code_objects(compiler, Path(folder)))
    device_code = DeviceCode(library=_compile_extension(compiler), aotriton_images=images)
    for directory in table["directory"]:
        _write_directory(directory, device_code, mirror_path / "rocm/manylinux")
    for index in table["index"]:
        _write_index(index["wheels"], mirror_path / index["name"])


def _compile_extension(compiler: Compiler) -> bytes:
    """A library with a real fat binary."""
    with TemporaryDirectory() as folder:
        runtime_path, path = Path(folder) / "libamdhip64.so.7", Path(folder) / "libmirror_hip.so"
        compiler.build_runtime(runtime_path)
        compiler.build_library(Library(soname="libmirror_hip.so", encoding="raw", needed=(runtime_path,)), path)
        return path.read_bytes()


def _write_directory(directory: Mapping[str, Any], device_code: DeviceCode, folder: Path) -> None:
    """The directory, its listing, and a second one without the files that nobody has named."""
    for suffix, levels in (("", ("named", "conjectured")), ("-as-named", ("named",))):
        path = folder / f"{directory['name']}{suffix}"
        path.mkdir(parents=True)
        chosen = [wheel for wheel in directory["wheels"] if wheel["seen"] in levels]
        for wheel in chosen:
            members = _fill_package(wheel["content"], wheel["file"], directory["rocm"], device_code)
            _write_wheel(path / wheel["file"], members, wheel["requires"])
        _write_listing(path, [wheel["file"] for wheel in chosen])


def _write_index(wheels: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """https://packaging.python.org/en/latest/specifications/simple-repository-api/, in HTML, with hashes."""
    projects: dict[NormalizedName, list[str]] = {}
    for wheel in wheels:
        name, version, _, _ = parse_wheel_filename(wheel["file"])
        path = folder / name / wheel["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        members = {f"{wheel['module']}/__init__.py": f'__version__ = "{version}"\n'.encode()}
        _write_wheel(path, members, wheel.get("requires", ()))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        link = f'<a href="{quote(wheel["file"])}#sha256={digest}">{html.escape(wheel["file"])}</a><br>'
        projects.setdefault(name, []).append(link)
    for project, links in projects.items():
        _write_page(folder / project, links)
    _write_page(folder, [f'<a href="{name}/">{name}</a><br>' for name in sorted(projects)])


def _write_listing(folder: Path, files: Sequence[str]) -> None:
    """As the real listing: names only, "+" as %2B, no hashes."""
    _write_page(folder, ['<a href="../">../</a>', *(f'<a href="{quote(file)}">{file}</a>' for file in sorted(files))])


def _write_page(folder: Path, lines: Sequence[str]) -> None:
    body = "\n".join(lines)
    page = f"<!DOCTYPE html>\n<html><head><title>Index</title></head><body><pre>\n{body}\n</pre></body></html>\n"
    (folder / "index.html").write_text(page)


def _fill_package(content: str, file: str, rocm: str, device_code: DeviceCode) -> dict[str, bytes]:
    name, version, _, _ = parse_wheel_filename(file)
    package = "tensorflow" if content == "tensorflow" else name.replace("-", "_")
    members = {f"{package}/__init__.py": b'from .version import __version__\n\n__all__ = ["__version__"]\n'}
    version_file = f'__version__ = "{version}"\nhip = "{HIP_VERSION}"\ncuda = None\nrocm = "{rocm}"\n'
    members[f"{package}/version.py"] = version_file.encode()
    if content == "torch":
        members["torch/__init__.py"] = b"from . import cuda, version\n\n__version__ = version.__version__\n"
        members["torch/cuda.py"] = b"def get_arch_list() -> list[str]:\n    return []\n"
        members["torch/lib/libtorch_hip.so"] = device_code.library
        members |= device_code.aotriton_images
        members["torch/distributed/__init__.py"] = b""
        members["torch/distributed/run.py"] = b'def main() -> None:\n    print("torchrun of the mirror")\n'
        members["entry_points.txt"] = b"[console_scripts]\ntorchrun = torch.distributed.run:main\n"
    elif content in {"extension", "tensorflow"}:
        members[f"{package}/lib{package}.so"] = device_code.library
    return members


def _write_wheel(path: Path, members: Mapping[str, bytes], requires: Sequence[str]) -> None:
    """Zip members with metadata and RECORD, sorted and dated the same each time."""
    name, version, _, tags = parse_wheel_filename(path.name)
    dist_info = f"{'-'.join(path.name.split('-')[:2])}.dist-info"
    is_pure = all(tag.platform == "any" for tag in tags)
    wheel = ["Wheel-Version: 1.0", "Generator: rockiln-tests", f"Root-Is-Purelib: {str(is_pure).lower()}"]
    metadata = ["Metadata-Version: 2.1", f"Name: {canonicalize_name(name)}", f"Version: {version}"]
    files = {
        **{key: value for key, value in members.items() if "/" in key},
        **{f"{dist_info}/{key}": value for key, value in members.items() if "/" not in key},
        f"{dist_info}/WHEEL": _join([*wheel, *(f"Tag: {tag}" for tag in sorted(map(str, tags)))]),
        f"{dist_info}/METADATA": _join([*metadata, *(f"Requires-Dist: {requirement}" for requirement in requires)]),
    }
    record = [f"{member},sha256={_hash_member(content)},{len(content)}" for member, content in sorted(files.items())]
    files[f"{dist_info}/RECORD"] = _join([*record, f"{dist_info}/RECORD,,"])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in files.items():
            entry = zipfile.ZipInfo(member, ZIP_DATE)
            entry.external_attr = (0o755 if member.endswith(EXECUTABLE_SUFFIXES) else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def _join(lines: Sequence[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _hash_member(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
