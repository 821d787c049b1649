"""quant_mxfp6 and dequant_mxfp6 by tables of values."""

from __future__ import annotations

from rockiln_kernels.references.mx import make_mx_references

REFERENCES = make_mx_references("mxfp6", "e2m3")
