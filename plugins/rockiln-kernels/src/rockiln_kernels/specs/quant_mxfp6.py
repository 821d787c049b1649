"""quant_mxfp6 and dequant_mxfp6 → SPECS."""

from __future__ import annotations

from rockiln_kernels.mx_specs import make_mx_specs

SPECS = make_mx_specs("mxfp6", ("e2m3", "e3m2"), 24, "four in three bytes, the first in the lowest bits")
