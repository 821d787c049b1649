"""quant_mxfp8 and dequant_mxfp8 → SPECS."""

from __future__ import annotations

from rockiln_kernels.mx_specs import make_mx_specs

SPECS = make_mx_specs("mxfp8", ("e4m3", "e5m2"), 32, "one byte each")
