"""torch.utils.cpp_extension → one whose CUDAExtension is hipcompat's, now or once it is imported; and back.

torch is never imported here: its module is changed where it is loaded, and when somebody loads it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE = "torch.utils.cpp_extension"
ANNOUNCEMENT = f"{MODULE}.CUDAExtension translates .cu files and nvcc's flags for ROCm in this process"
_finders: list[_Finder] = []
_replaced: list[tuple[ModuleType, Any, Any]] = []
"""Module, what was there, what is there now."""


class _Finder:
    """Stands first on sys.meta_path until the module is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == MODULE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_replace(module: ModuleType) -> None:
            execute(module)
            if self in _finders:  # not undone meanwhile
                replace_extension(module)

        vars(spec.loader)["exec_module"] = execute_and_replace
        return spec


def find_obstacle() -> str:
    """A torch that is loaded and no HIP build keeps its own. One that is not loaded yet is judged when it is."""
    if "torch" not in sys.modules or _is_hip():
        return ""
    return "this torch is no HIP build: its CUDAExtension stays what it is"


def list_targets() -> tuple[tuple[str, str], ...]:
    """The one function."""
    what = "renames .cu files to HIP and translates nvcc's flags, on a HIP build of torch"
    return ((f"{MODULE}.CUDAExtension", what),)


def put_in() -> None:
    """Now where the module is loaded, else when it is."""
    module = sys.modules.get(MODULE)
    if module is not None:
        replace_extension(module)
        return
    finder = _Finder()
    _finders.append(finder)
    sys.meta_path.insert(0, finder)


def take_out() -> None:
    """Torch's own function again, unless somebody has replaced ours."""
    for finder in _finders:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    _finders.clear()
    while _replaced:
        module, before, ours = _replaced.pop()
        if module.__dict__.get("CUDAExtension") is ours:
            vars(module)["CUDAExtension"] = before


def replace_extension(module: ModuleType) -> None:
    """Put hipcompat's in place of torch's, where torch is a HIP build."""
    before = vars(module).get("CUDAExtension")
    if before is None or not _is_hip():
        return

    def CUDAExtension(name: str, sources: Any, *args: Any, **keywords: Any) -> Any:  # noqa: N802  # torch's
        from hipcompat.torch_extension import build_extension  # the translator: only who builds waits for it

        return build_extension(before, name, sources, *args, **keywords)

    CUDAExtension.__doc__ = before.__doc__
    vars(module)["CUDAExtension"] = CUDAExtension
    _replaced.append((module, before, CUDAExtension))


def _is_hip() -> bool:
    version = sys.modules.get("torch.version")
    return getattr(version, "hip", None) is not None
