"""quant_mxfp6's family → cases."""

from cases.mx import make_mx_cases as make_cases

__all__ = ["make_cases"]
