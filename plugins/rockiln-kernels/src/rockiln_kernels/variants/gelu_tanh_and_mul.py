"""gelu_tanh_and_mul's family + arch → variants."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.variant import Variant
from rockiln_kernels.variants.gates import make_gate_variants


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    return make_gate_variants("gelu_tanh_and_mul", arch)
