"""gelu_tanh_and_mul and what is derived from it → SPECS."""

from __future__ import annotations

from rockiln_kernels.gate_specs import make_gate_specs

SPECS = make_gate_specs(
    "gelu_tanh_and_mul",
    "g / 2 * (1 + tanh(sqrt(2 / pi) * (g + 0.044715 g^3))) * u",
    source="Hendrycks and Gimpel, https://arxiv.org/abs/1606.08415",
)
