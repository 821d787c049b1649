"""An MX element format → the references of quant_NAME and dequant_NAME."""

from __future__ import annotations

from collections.abc import Mapping

from rockiln_kernels.references.arrays import Arrays, Reference, Scalars, widen
from rockiln_kernels.references.narrow import dequantise_mx, quantise_mx


def make_mx_references(name: str, default: str) -> Mapping[str, Reference]:
    """Both ops; `default` is the element format where the op has only one."""

    def quant(arrays: Arrays, scalars: Scalars) -> Arrays:
        return quantise_mx(widen(arrays["x"]), scalars.get("E", default))

    def dequant(arrays: Arrays, scalars: Scalars) -> Arrays:
        return {"y": dequantise_mx(arrays["q"].view("uint8"), arrays["q_scale"], scalars.get("E", default))}

    return {f"quant_{name}": quant, f"dequant_{name}": dequant}
