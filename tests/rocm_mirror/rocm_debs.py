"""rocm_packages.toml → debs shaped like AMD's of ROCm 7.0.2 for noble, with small real libraries and kernel trees."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from deb_file import BuiltDeb, Deb, build_deb
from fat_binaries import ARCHS, Compiler, Library
from kernel_trees import TREES, CodeObjects, fill_miopen_kdb

RELEASE = "7.0.2"
PREFIX = f"opt/rocm-{RELEASE}"
LIBRARY_SUFFIX = "0.70002"
PROGRAMS = {"rocminfo": ("bin/rocminfo",), "rocm-smi": ("libexec/rocm_smi/rocm-smi",), "hipcc": ("bin/hipcc",)}
LLVM_PROGRAMS = ("clang-20", "lld", "llvm-objdump", "llvm-objcopy", "clang-offload-bundler")
LLVM_LINKS = {"clang": "clang-20", "clang++": "clang", "amdclang": "clang", "amdclang++": "clang", "ld.lld": "lld"}
SCRIPTS_PATH = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is compiled once and used in many debs."""

    compiler: Compiler
    runtime_path: Path
    code_objects: CodeObjects


def read_packages() -> Mapping[str, dict[str, Any]]:
    """The table of packages, by name."""
    return tomllib.loads((Path(__file__).parent / "rocm_packages.toml").read_text())


def build_rocm_debs(compiler: Compiler, pool_path: Path) -> list[BuiltDeb]:
    """Build every package of the table into the pool."""
    with TemporaryDirectory() as folder:
        work_path = Path(folder)
        runtime_path = work_path / "libamdhip64.so.7"
        compiler.build_runtime(runtime_path)
        code_objects = compile_code_objects(compiler, work_path)
        parts = Parts(compiler=compiler, runtime_path=runtime_path, code_objects=code_objects)
        return [
            _build_package(name, package, parts, work_path / "tree", pool_path)
            for name, package in sorted(read_packages().items())
        ]


def compile_code_objects(compiler: Compiler, work_path: Path) -> CodeObjects:
    """A bare code object of each arch."""
    for arch in ARCHS:
        compiler.build_code_object(arch, work_path / f"{arch}.hsaco")
    return {arch: (work_path / f"{arch}.hsaco").read_bytes() for arch in ARCHS}


def _build_package(name: str, package: dict[str, Any], parts: Parts, tree_path: Path, pool_path: Path) -> BuiltDeb:
    prefix_path = tree_path / PREFIX
    doc_path = prefix_path / "share/doc" / name
    doc_path.mkdir(parents=True)
    (doc_path / "LICENSE.txt").write_text("Made up by rockiln's tests; holds nothing of AMD's.\n")
    for library in package.get("libraries", ()):
        _put_library(library["soname"], library["code"], parts, prefix_path / "lib")
    for soname in package.get("links", ()):
        (prefix_path / "lib").mkdir(exist_ok=True)
        (prefix_path / "lib" / f"{soname.split('.so')[0]}.so").symlink_to(soname)
    for header in package.get("headers", ()):
        _put_header(prefix_path / "include" / header)
    _fill_tree(name, package.get("tree", ""), parts, prefix_path)
    depends = {"Depends": ", ".join(package["depends"])} if package["depends"] else {}
    fields = {
        "Maintainer": "rockiln tests <mirror@invalid>",
        "Priority": "optional",
        "Section": "devel",
        **depends,
        "Description": f"{name} of ROCm {RELEASE}, made up for tests",
    }
    deb = Deb(name=name, version=package["version"], fields=fields, control_files=_read_scripts(name))
    return build_deb(deb, tree_path, pool_path)


def _read_scripts(name: str) -> dict[str, str]:
    return {path.suffix[1:]: path.read_text() for path in sorted(SCRIPTS_PATH.glob(f"{name}.*"))}


def _put_library(soname: str, code: str, parts: Parts, folder: Path) -> None:
    """libX.so.N.0.70002 and its link libX.so.N; the runtime brings libX.so too. Some have no number at all."""
    folder.mkdir(exist_ok=True)
    file_path = folder / (soname if soname.endswith(".so") else f"{soname}.{LIBRARY_SUFFIX}")
    if code == "runtime":
        parts.compiler.build_runtime(file_path)
        (folder / "libamdhip64.so").symlink_to(soname)
    else:
        needed = () if code == "none" else (parts.runtime_path,)
        parts.compiler.build_library(Library(soname=soname, encoding=code, needed=needed), file_path)  # type: ignore[arg-type]
    if file_path.name != soname:
        (folder / soname).symlink_to(file_path.name)


def _put_header(path: Path) -> None:
    guard = path.name.upper().replace(".", "_").replace("-", "_")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#ifndef {guard}\n#define {guard}\n/* Made up by rockiln's tests. */\n#endif\n")


def _fill_tree(name: str, tree: str, parts: Parts, prefix_path: Path) -> None:
    if tree in TREES:
        TREES[tree](prefix_path, parts.code_objects)
    elif tree == "miopen-kdb":
        fill_miopen_kdb(prefix_path, parts.code_objects, name.removeprefix("miopen-hip-").removesuffix("kdb"))
    elif tree == "core":
        (prefix_path / ".info").mkdir()
        (prefix_path / ".info/version").write_text(f"{RELEASE}-56\n")
    elif tree == "llvm":
        _put_llvm(parts.compiler, prefix_path)
    elif tree == "bitcode":
        _put_bitcode(parts.compiler, prefix_path)
    for program in PROGRAMS.get(tree, ()):
        (prefix_path / program).parent.mkdir(parents=True, exist_ok=True)
        parts.compiler.build_program(name, prefix_path / program)


def _put_llvm(compiler: Compiler, prefix_path: Path) -> None:
    folder = prefix_path / "lib/llvm/bin"
    folder.mkdir(parents=True)
    for program in LLVM_PROGRAMS:
        compiler.build_program(program, folder / program)
    for link, target in LLVM_LINKS.items():
        (folder / link).symlink_to(target)
    (prefix_path / "llvm").symlink_to("lib/llvm")


def _put_bitcode(compiler: Compiler, prefix_path: Path) -> None:
    folder = prefix_path / "lib/llvm/lib/clang/20/lib/amdgcn/bitcode"
    folder.mkdir(parents=True)
    for name in ("ockl", "ocml", "hip", *(f"oclc_isa_version_{arch[3:]}" for arch in ARCHS)):
        compiler.build_bitcode(folder / f"{name}.bc")
    (prefix_path / "amdgcn").symlink_to("lib/llvm/lib/clang/20/lib/amdgcn")
