"""What specs of several families share: dtype axes, constraints, sources of formats."""

from __future__ import annotations

from rockiln_kernels.spec import Constraint

FLOATS = ("T", ("f32", "f16", "bf16"))
HALVES = ("T", ("f16", "bf16"))
E4M3 = ("Q", ("e4m3", "e4m3fnuz"))
FP8 = ("Q", ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"))

BLOCKS_OF_32 = Constraint(formula="N % 32 == 0", reason="the length of a row is no multiple of 32, an MX block")

OFP8_SOURCE = "OCP 8-bit Floating Point Specification (OFP8) 1.0; fnuz: https://arxiv.org/abs/2206.02915"
MX_SOURCE = "OCP Microscaling Formats (MX) Specification 1.0"
