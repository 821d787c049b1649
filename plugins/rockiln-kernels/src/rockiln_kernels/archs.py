"""LLVM's name of a GPU → what a kernel's build and its lint must know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rockiln_kernels.dtypes import DTYPES, Dtype

Matrix = Literal["mfma", "wmma", "wgmma"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arch:
    """One target of the compiler.

    Facts are from AMD's ISA documents (CDNA2, CDNA3, CDNA4, RDNA3, RDNA4) and LLVM's AMDGPU usage page.
    """

    name: str
    backend: Literal["hip", "cuda"] = "hip"
    wave_lanes: int
    lds_bytes: int
    """What one workgroup may ask for."""
    matrix: Matrix
    fp8: tuple[str, str]
    """e4m3 and e5m2 in the kind this arch computes with: fnuz on gfx942, OCP elsewhere."""
    has_fp8: bool
    """Converts and multiplies fp8 in hardware; else the kernels convert in software."""
    rounds_fp8: bool = False
    """The compiler rounds f32 to fp8 in one step. On gfx1200 and gfx1201 Triton 3.4 goes through f16: it rounds
    twice and gives other bytes; the kernels then do it themselves, as where there is no fp8 at all."""
    has_scaled_matrix: bool = False
    """Multiplies MX blocks with their scales in one instruction."""

    @property
    def e4m3(self) -> Dtype:
        """The e4m3 kind of this arch."""
        return DTYPES[self.fp8[0]]

    @property
    def e5m2(self) -> Dtype:
        """The e5m2 kind of this arch."""
        return DTYPES[self.fp8[1]]


_OCP = ("e4m3", "e5m2")
_FNUZ = ("e4m3fnuz", "e5m2fnuz")

AMD_ARCHS = (
    Arch(name="gfx90a", wave_lanes=64, lds_bytes=65536, matrix="mfma", fp8=_OCP, has_fp8=False),
    Arch(name="gfx942", wave_lanes=64, lds_bytes=65536, matrix="mfma", fp8=_FNUZ, has_fp8=True, rounds_fp8=True),
    Arch(
        name="gfx950",
        wave_lanes=64,
        lds_bytes=163840,
        matrix="mfma",
        fp8=_OCP,
        has_fp8=True,
        rounds_fp8=True,
        has_scaled_matrix=True,
    ),
    Arch(name="gfx1100", wave_lanes=32, lds_bytes=65536, matrix="wmma", fp8=_OCP, has_fp8=False),
    Arch(name="gfx1101", wave_lanes=32, lds_bytes=65536, matrix="wmma", fp8=_OCP, has_fp8=False),
    Arch(name="gfx1200", wave_lanes=32, lds_bytes=65536, matrix="wmma", fp8=_OCP, has_fp8=True),
    Arch(name="gfx1201", wave_lanes=32, lds_bytes=65536, matrix="wmma", fp8=_OCP, has_fp8=True),
)
CUDA_ARCHS = (
    Arch(
        name="sm_90",
        backend="cuda",
        wave_lanes=32,
        lds_bytes=232448,
        matrix="wgmma",
        fp8=_OCP,
        has_fp8=True,
        rounds_fp8=True,
    ),
)
"""Built only for a machine with such a card; no wheel is made of it."""
ARCHS = {arch.name: arch for arch in (*AMD_ARCHS, *CUDA_ARCHS)}
