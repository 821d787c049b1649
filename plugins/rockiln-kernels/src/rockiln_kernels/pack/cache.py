"""Kernel + arch + toolchain + sources → a key, and what was compiled under it before. Only content decides."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.code_object import CodeFacts, KernargSlot
from rockiln_kernels.pack.compile_kernel import Compiled, NotCompiled
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel

_FORMAT = 1
"""Raised when an entry means something else than before."""


@lru_cache(maxsize=256)
def hash_source(module: str) -> str:
    """sha256 of ops/MODULE.py and of every module of ops that it imports, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(_find_modules(module, set())):
        digest.update(name.encode() + b"\0" + _read_source(name).encode() + b"\0")
    return digest.hexdigest()


def _read_source(module: str) -> str:
    return resources.files("rockiln_kernels.ops").joinpath(f"{module}.py").read_text(encoding="utf-8")


def _find_modules(module: str, seen: set[str]) -> set[str]:
    seen.add(module)
    for node in ast.walk(ast.parse(_read_source(module))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rockiln_kernels.ops."):
            name = (node.module or "").removeprefix("rockiln_kernels.ops.")
            if name not in seen:
                _find_modules(name, seen)
    return seen


def make_kernel_key(kernel: Kernel) -> str:
    """A name of the kernel in packs: its function, and twelve digits that no other kernel has."""
    text = json.dumps(asdict(kernel), sort_keys=True)
    return f"{kernel.function}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def make_cache_key(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> str:
    """sha256 over all that the compiled bytes depend on."""
    parts = [_FORMAT, asdict(kernel), arch.name, toolchain.triton, toolchain.lld, hash_source(kernel.source)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find_cache_folder() -> Path:
    """ROCKILN_KERNELS_CACHE, or rockiln/kernels in the user's cache folder."""
    if own := os.environ.get("ROCKILN_KERNELS_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rockiln" / "kernels"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCache:
    """A folder of compiled kernels. A damaged entry counts as absent."""

    folder: Path

    def load(self, key: str) -> Compiled | NotCompiled | None:
        """What was stored under `key`, or None."""
        try:
            entry = json.loads(self._path(key).read_text(encoding="utf-8"))
            if "reason" in entry:
                return NotCompiled(reason=entry["reason"])
            code = self._path(key).with_suffix(".hsaco").read_bytes()
            if hashlib.sha256(code).hexdigest() != entry["sha256"]:
                return None
            slots = tuple(KernargSlot(**slot) for slot in entry["facts"].pop("slots"))
            return Compiled(code=code, facts=CodeFacts(slots=slots, **entry["facts"]), shared_bytes=entry["shared"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, key: str, outcome: Compiled | NotCompiled) -> None:
        """Keep `outcome` if it lasts; the description is written last, so a half-written entry is none."""
        if isinstance(outcome, NotCompiled) and not outcome.is_lasting:
            return
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        entry: dict[str, object] = {}
        if isinstance(outcome, Compiled):
            _replace_file(path.with_suffix(".hsaco"), outcome.code)
            entry = {"facts": asdict(outcome.facts), "shared": outcome.shared_bytes}
            entry["sha256"] = hashlib.sha256(outcome.code).hexdigest()
        else:
            entry = {"reason": outcome.reason}
        _replace_file(path, json.dumps(entry, sort_keys=True).encode())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def _replace_file(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
