"""silu_and_mul and what is derived from it → SPECS."""

from __future__ import annotations

from rockiln_kernels.gate_specs import make_gate_specs

SPECS = make_gate_specs("silu_and_mul", "g * sigmoid(g) * u", source="Shazeer, https://arxiv.org/abs/2002.05202")
