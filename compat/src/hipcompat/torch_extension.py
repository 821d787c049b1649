"""Arguments of torch's CUDAExtension → those that build it for AMD's GPUs: HIP source, clang's flags, HIP's half types.

In setup.py, in place of torch.utils.cpp_extension.CUDAExtension:

    from hipcompat.torch_extension import CUDAExtension

On a torch without HIP it is torch's own, unchanged.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hipcompat.console import explain_error, printable
from hipcompat.errors import CompatError, FileError, FindingsError, ToolchainError
from hipcompat.flags import Note, translate_flags
from hipcompat.paths import AnyPaths, list_paths
from hipcompat.scan.finding import Skipped
from hipcompat.scan.rule import Target
from hipcompat.translate.shim import SHIM_PATH
from hipcompat.translate.tree import translate_tree, write_files

HALF_FLAGS = ("-U__HIP_NO_HALF_OPERATORS__", "-U__HIP_NO_HALF_CONVERSIONS__", "-DOCML_BASIC_ROUNDED_OPERATIONS")
"""torch defines the first two for HIP, and CUDA code uses what they hide."""
BUILD_FOLDER = "build/hipcompat"
_NO_TORCH = "pip install --no-build-isolation . sees the torch that is installed; or name it in build-system.requires"


def CUDAExtension(name: str, sources: AnyPaths, **keywords: Any) -> Any:  # noqa: N802  # torch's own name
    """torch's extension. Where it cannot be made, the program ends as `build_extension` says, also without torch."""
    try:
        cpp_extension: Any = importlib.import_module("torch.utils.cpp_extension")
    except ModuleNotFoundError as fault:
        if str(fault.name).partition(".")[0] != "torch":
            raise
        _stop(ToolchainError("torch is not installed where this extension is built", hint=_NO_TORCH))
    if importlib.import_module("torch.version").hip is None:
        return cpp_extension.CUDAExtension(name, list(map(str, list_paths(sources))), **keywords)
    return build_extension(cpp_extension.CUDAExtension, name, sources, **keywords)


def build_extension(
    original: Callable[..., Any], name: str, sources: AnyPaths, *arguments: Any, **keywords: Any
) -> Any:
    """What torch's own CUDAExtension makes of the translation.

    Where a flag asks for what ROCm has not, or a source is missing, the program ends: the reason on stderr, and its
    exit code by SystemExit, as setuptools ends for an error of its own. With setuptools' DISTUTILS_DEBUG set, the
    CompatError itself is raised.
    """
    try:
        became, given, notes = translate_extension(sources, keywords)
    except CompatError as fault:
        _stop(fault)
    for note in notes:
        sys.stderr.write(printable(f"hipcompat: {note.explain()}") + "\n")
    return original(name, list(became), *arguments, **given)


def _stop(fault: CompatError) -> NoReturn:
    """A traceback through setup.py and setuptools would stand before the reason, and says nothing that it does not."""
    if os.environ.get("DISTUTILS_DEBUG"):
        raise fault
    sys.stderr.write(explain_error(fault))
    raise SystemExit(fault.exit_code) from None


def translate_extension(
    sources: AnyPaths, keywords: Mapping[str, Any], *, folder: str = BUILD_FOLDER
) -> tuple[tuple[str, ...], dict[str, Any], tuple[Note, ...]]:
    """Sources, keywords, and what became of nvcc's flags.

    .cu files are renamed to HIP below `folder`, each in the folder that it had; their own folders join the include
    path, for relative includes. Plain C++ stays. `extra_compile_args` may be a list (C++ only) or torch's mapping.
    Raises FindingsError where a flag asks for what ROCm has not, UsageError for one without its value, FileError for a
    source that is not there.
    """
    sources = list_paths(sources)
    arguments = keywords.get("extra_compile_args", {})
    by_compiler = dict(arguments) if isinstance(arguments, Mapping) else {"cxx": list(arguments)}
    translation = translate_flags(by_compiler.get("nvcc", ()))
    if refused := translation.explain_refused():
        raise FindingsError(refused, hint="leave it out of extra_compile_args where torch.version.hip is set")
    by_compiler["nvcc"] = [*HALF_FLAGS, *translation.arguments]
    became = tuple(_translate_source(source, Path(folder)) for source in sources)
    parents = sorted({str(source.parent.absolute()) for source in sources})
    includes = [*keywords.get("include_dirs", ()), *parents, str(SHIM_PATH)]
    return became, {**keywords, "extra_compile_args": by_compiler, "include_dirs": includes}, translation.notes


def _translate_source(path: Path, folder: Path) -> str:
    if path.suffix != ".cu":
        return str(path)
    parent = Path(*(part for part in path.parent.parts if part not in {"..", path.anchor}))
    left: list[Skipped] = []
    files = tuple(translate_tree([path], Target(), output_path=folder / parent, on_left=left.append))
    if left or len(files) != 1:
        reason = left[0].reason if left else "it is no file"
        raise FileError(f"{path} cannot be translated: {reason}", hint="name source files, as torch wants them")
    write_files(files)
    return str(files[0].output_path)
