"""Arguments of torch's CUDAExtension → those that build it for AMD's GPUs: HIP source, clang's flags, HIP's half types.

In setup.py, in place of torch.utils.cpp_extension.CUDAExtension:

    from hipcompat.torch_extension import CUDAExtension

On a torch without HIP it is torch's own, unchanged.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hipcompat.console import printable
from hipcompat.errors import FindingsError
from hipcompat.flags import Note, translate_flags
from hipcompat.scan.rule import Target
from hipcompat.translate.shim import SHIM_PATH
from hipcompat.translate.tree import translate_tree, write_files

HALF_FLAGS = ("-U__HIP_NO_HALF_OPERATORS__", "-U__HIP_NO_HALF_CONVERSIONS__", "-DOCML_BASIC_ROUNDED_OPERATIONS")
"""torch defines the first two for HIP, and CUDA code uses what they hide."""
BUILD_FOLDER = "build/hipcompat"


def CUDAExtension(name: str, sources: Sequence[str], **keywords: Any) -> Any:  # noqa: N802  # torch's own name
    """torch's extension. Raises FindingsError where a flag asks for what ROCm has not, ImportError without torch."""
    cpp_extension: Any = importlib.import_module("torch.utils.cpp_extension")
    if importlib.import_module("torch.version").hip is None:
        return cpp_extension.CUDAExtension(name, list(sources), **keywords)
    return build_extension(cpp_extension.CUDAExtension, name, sources, **keywords)


def build_extension(
    original: Callable[..., Any], name: str, sources: Sequence[str], *arguments: Any, **keywords: Any
) -> Any:
    """What torch's own CUDAExtension makes of the translation. FindingsError as above."""
    became, given, notes = translate_extension(sources, keywords)
    for note in notes:
        sys.stderr.write(printable(f"hipcompat: {note.explain()}") + "\n")
    return original(name, list(became), *arguments, **given)


def translate_extension(
    sources: Sequence[str], keywords: Mapping[str, Any], *, folder: str = BUILD_FOLDER
) -> tuple[tuple[str, ...], dict[str, Any], tuple[Note, ...]]:
    """Sources, keywords, and what became of nvcc's flags.

    .cu files are renamed to HIP below `folder`, each in the folder that it had; their own folders join the include
    path, for relative includes. Plain C++ stays. `extra_compile_args` may be a list (C++ only) or torch's mapping.
    """
    arguments = keywords.get("extra_compile_args", {})
    by_compiler = dict(arguments) if isinstance(arguments, Mapping) else {"cxx": list(arguments)}
    translation = translate_flags(by_compiler.get("nvcc", ()))
    if refused := translation.explain_refused():
        raise FindingsError(refused)
    by_compiler["nvcc"] = [*HALF_FLAGS, *translation.arguments]
    became = tuple(_translate_source(Path(source), Path(folder)) for source in sources)
    parents = sorted({str(Path(source).parent.absolute()) for source in sources})
    includes = [*keywords.get("include_dirs", ()), *parents, str(SHIM_PATH)]
    return became, {**keywords, "extra_compile_args": by_compiler, "include_dirs": includes}, translation.notes


def _translate_source(path: Path, folder: Path) -> str:
    if path.suffix != ".cu":
        return str(path)
    parent = Path(*(part for part in path.parent.parts if part not in {"..", path.anchor}))
    files = tuple(translate_tree([path], Target(), output_path=folder / parent))
    write_files(files)
    return str(files[0].output_path)
