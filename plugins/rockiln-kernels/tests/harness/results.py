"""Code, emulator, case and rule → a key, and whether that run passed before. Only content decides."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from harness.case import Case
from rockiln_kernels.pack.build import Pack
from rockiln_kernels.pack.cache import find_cache_folder
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.table import read_origins


@lru_cache(maxsize=1024)
def hash_code(code: bytes, arch: str) -> str:
    """sha256 of a code object's instructions and kernel descriptor; gfx1200 runs what gfx1201 runs, byte for byte."""
    from elftools.elf.elffile import ELFFile

    elf = ELFFile(io.BytesIO(code))
    parts = [elf.get_section_by_name(name) for name in (".rodata", ".text")]
    family = arch if arch.startswith("gfx9") else arch[:5]
    digest = hashlib.sha256(family.encode())
    for part in parts:
        digest.update(part.data() if part else b"-")
    return digest.hexdigest()


@lru_cache(maxsize=64)
def hash_rules(op: str) -> str:
    """sha256 of what judges: this harness, and the reference's module with what all references share."""
    family = read_origins()[op]
    own = ("case", "compare", "execute", "judge", "tolerance")
    modules = [f"harness.{name}" for name in own]
    modules += [f"rockiln_kernels.references.{name}" for name in (family, *_shared_references())]
    modules += ["rockiln_kernels.bind", "rockiln_kernels.expressions"]
    text = "\0".join(inspect.getsource(import_module(name)) for name in modules)
    return hashlib.sha256(text.encode()).hexdigest()


def _shared_references() -> Iterable[str]:
    from rockiln_kernels import references

    names = {path.stem for path in Path(references.__path__[0]).glob("*.py")}
    return sorted(names - set(read_origins().values()) - {"__init__"})


@lru_cache(maxsize=1)
def hash_emulator() -> str:
    """sha256 of gfxemu's sources: what a run means changes with them, and its version does not."""
    import gfxemu

    return hash_tree(Path(gfxemu.__file__).parent)


def hash_tree(folder: Path) -> str:
    """sha256 of the files below a folder, by their names within it; what Python compiled does not count."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def hash_case(case: Case) -> str:
    """sha256 of a case's arrays, scalars and rule."""
    plain = [case.name, sorted(case.scalars.items()), case.match, case.terms, case.is_misaligned, case.row_step]
    digest = hashlib.sha256(repr(plain).encode())
    for name, array in sorted({**case.arrays, **{f"~{key}": item for key, item in case.magnitudes.items()}}.items()):
        digest.update(f"{name} {array.shape} {array.strides} {array.dtype}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def make_key(pack: Pack, variant: VariantEntry, case: Case) -> str:
    """What the outcome of one variant on one case depends on."""
    kernels = [pack.manifest.kernels[launch.kernel] for launch in variant.launches]
    code = [hash_code(pack.code[kernel.file], pack.manifest.arch) for kernel in kernels]
    pairs = zip(variant.launches, kernels, strict=True)
    layout = [(launch.grid, kernel.args, kernel.threads, kernel.shared_bytes) for launch, kernel in pairs]
    parts = [hash_emulator(), code, repr(layout), repr(variant.requires), repr(variant.workspaces)]
    parts += [hash_case(case), hash_rules(variant.op), variant.op, variant.cell]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCache:
    """A folder with an empty file for each run that passed; faults are run again. ROCKILN_KERNELS_CACHE moves it."""

    folder: Path

    def has_passed(self, key: str) -> bool:
        """Whether this very run was right before."""
        return self._path(key).exists()

    def keep_pass(self, key: str) -> None:
        """Remember a run that was right."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]


def find_results() -> ResultCache:
    """The user's cache of results."""
    return ResultCache(folder=find_cache_folder() / "passed")
