"""quant_mxfp6's family + arch → variants."""

from __future__ import annotations

from rockiln_kernels.archs import Arch
from rockiln_kernels.variant import Variant
from rockiln_kernels.variants.mx import make_mx_variants


def make_variants(arch: Arch) -> tuple[Variant, ...]:
    """Every variant of the family for `arch`."""
    return make_mx_variants("mxfp6", "e2m3", arch)
