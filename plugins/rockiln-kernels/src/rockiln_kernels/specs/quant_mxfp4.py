"""quant_mxfp4 and dequant_mxfp4 → SPECS."""

from __future__ import annotations

from rockiln_kernels.mx_specs import make_mx_specs

SPECS = make_mx_specs("mxfp4", ("e2m1",), 16, "two in a byte, the first in the low half")
