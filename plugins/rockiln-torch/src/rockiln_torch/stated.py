"""A bound call → what selection is asked about: the call with strides and alignments, and the GPU that it is for."""

from __future__ import annotations

import torch

from rockiln_kernels.call import ArrayValue, Call
from rockiln_torch.calls import BoundCall
from rockiln_torch.dtypes import name_dtype


def state_call(call: BoundCall, *, is_aligned: bool = False) -> Call:
    """As rockiln_kernels states calls: with strides and alignments, those of GPU memory if `is_aligned`."""
    form = call.form
    arrays = {
        array.name: ArrayValue(
            shape=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
            dtype=name_dtype(tensor.dtype),
            alignment=256 if is_aligned else _find_alignment(tensor),
        )
        for array, tensor in zip(form.spec.inputs, call.tensors, strict=True)
        if tensor is not None
    }
    return Call(op=form.spec.name, arrays=arrays, scalars=dict(call.scalars), dtypes=call.axes)


def _find_alignment(tensor: torch.Tensor) -> int:
    address = 0 if tensor.is_meta else tensor.data_ptr()
    return 256 if address == 0 else min(256, address & -address)


def find_arch(call: BoundCall) -> str:
    """LLVM's name of the GPU that the tensors are on, "sm_90" on NVIDIA's; "" on any other device."""
    device = next(tensor.device for tensor in call.tensors if tensor is not None)
    if device.type != "cuda":
        return ""
    properties = torch.cuda.get_device_properties(device)
    name: str = getattr(properties, "gcnArchName", "").partition(":")[0]
    return name or f"sm_{properties.major}{properties.minor}"
