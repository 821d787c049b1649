"""fused_moe_mxfp4 and fused_moe_fp8 in float64."""

from __future__ import annotations

import numpy as np

from rockiln_kernels.references.arrays import Array, Arrays, Scalars, widen
from rockiln_kernels.references.fused_moe import mix_experts
from rockiln_kernels.references.gemm_fp8 import scale_blocks
from rockiln_kernels.references.gemm_mx import decode_mx


def widen_experts(arrays: Arrays, name: str) -> Array:
    """float64 [E, rows, columns] of an array of weights and its scales."""
    pairs = zip(arrays[name], arrays[f"{name}_scale"], strict=True)
    if arrays[f"{name}_scale"].dtype == np.uint8:
        return np.stack([decode_mx(codes, scale, "e2m1") for codes, scale in pairs])
    return np.stack([scale_blocks(widen(codes), scale, 128) for codes, scale in pairs])


def fused_moe_narrow(arrays: Arrays, scalars: Scalars) -> Arrays:
    """{"out" [M, K]}."""
    return mix_experts(arrays, scalars, widen_experts(arrays, "gate_up"), widen_experts(arrays, "down"))


REFERENCES = {"fused_moe_mxfp4": fused_moe_narrow, "fused_moe_fp8": fused_moe_narrow}
