"""quant_mxfp4 and dequant_mxfp4 by tables of values."""

from __future__ import annotations

from rockiln_kernels.references.mx import make_mx_references

REFERENCES = make_mx_references("mxfp4", "e2m1")
