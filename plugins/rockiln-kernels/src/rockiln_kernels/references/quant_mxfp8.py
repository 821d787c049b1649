"""quant_mxfp8 and dequant_mxfp8 by tables of values."""

from __future__ import annotations

from rockiln_kernels.references.mx import make_mx_references

REFERENCES = make_mx_references("mxfp8", "e4m3")
