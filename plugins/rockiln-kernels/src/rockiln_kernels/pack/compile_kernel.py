"""Kernel + arch + toolchain → Compiled(code, facts). Runs in a worker process; Triton is imported only here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.code_object import CodeFacts, read_code_facts
from rockiln_kernels.pack.cubin import read_cubin_facts
from rockiln_kernels.pack.toolchain import Toolchain
from rockiln_kernels.variant import Kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A code object, what it says of itself, and the LDS to launch it with."""

    code: bytes
    facts: CodeFacts
    shared_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompiled:
    """The compiler refused; `reason` is its last line."""

    reason: str
    is_lasting: bool = True
    """Whether another try gives the same; False where the compiler's process ended, for want of memory, say."""


def compile_kernel(kernel: Kernel, arch: Arch, toolchain: Toolchain) -> Compiled | NotCompiled:
    """Compile one kernel. What the compiler prints on a failure (its whole IR) is dropped.

    Raises ValueError where the variant and the Triton source disagree on arguments: that is a mistake of ours.
    """
    os.environ["TRITON_HIP_LLD_PATH"] = toolchain.lld_path
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # else DWARF holds the folder of the source
    source = _make_source(kernel)
    with tempfile.TemporaryDirectory(prefix="rockiln-triton-") as folder, _silence_stderr():
        os.environ["TRITON_CACHE_DIR"] = folder  # ours is the cache; this one would be shared by versions of lld
        try:
            return _compile(source, kernel, arch)
        except Exception as error:  # noqa: BLE001  # Triton raises what its C++ side throws: RuntimeError, IndexError ...
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return NotCompiled(reason=f"{kernel.function}: the compiler fails: {lines[-1][:200]}")


def _compile(source: Any, kernel: Kernel, arch: Arch) -> Compiled:
    import triton
    from triton.backends.compiler import GPUTarget

    target = GPUTarget(arch.backend, int(arch.name[3:]) if arch.backend == "cuda" else arch.name, arch.wave_lanes)
    compiled = triton.compile(source, target=target, options=_make_options(kernel, arch))
    is_cuda = arch.backend == "cuda"
    code: bytes = compiled.asm["cubin" if is_cuda else "hsaco"]
    facts = read_cubin_facts(code, compiled.asm["ptx"]) if is_cuda else read_code_facts(code, compiled.asm["amdgcn"])
    return Compiled(code=code, facts=facts, shared_bytes=compiled.metadata.shared)


def _make_source(kernel: Kernel) -> Any:
    from triton.compiler import ASTSource

    function = getattr(import_module(f"rockiln_kernels.ops.{kernel.source}"), kernel.function)
    types = {arg.name: arg.triton_type for arg in kernel.args}
    names = list(function.arg_names)
    if odd := sorted(set(names) ^ (types.keys() | dict(kernel.constants).keys())):
        raise ValueError(f"ops/{kernel.source}.py, {kernel.function}: the variant and the source disagree on {odd}")
    if (order := [name for name in names if name in types]) != list(types):
        raise ValueError(f"ops/{kernel.source}.py, {kernel.function}: the order of arguments is {order}")
    aligned = [arg.name for arg in kernel.args if arg.divisible_by % 16 == 0]
    return ASTSource(
        fn=function,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs=dict(kernel.constants),
        attrs={(names.index(name),): [["tt.divisibility", 16]] for name in aligned},
    )


def _make_options(kernel: Kernel, arch: Arch) -> dict[str, int | bool]:
    options: dict[str, int | bool] = {"num_warps": kernel.warps, "num_stages": kernel.stages}
    if arch.backend == "hip":
        options |= {"waves_per_eu": kernel.waves_per_eu} if kernel.waves_per_eu else {}
        options |= {"matrix_instr_nonkdim": kernel.matrix_instr_nonkdim} if kernel.matrix_instr_nonkdim else {}
    return options


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """LLVM writes to the file descriptor, so that is what is turned away."""
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a file descriptor is what is wanted
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
