"""gelu_tanh_and_mul's family → cases."""

from cases.gates import make_gate_cases as make_cases

__all__ = ["make_cases"]
