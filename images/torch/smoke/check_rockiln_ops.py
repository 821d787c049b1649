# tier: cpu
# timeout-s: 600
"""torch.ops.rockiln has every op of the table, and each gives on the CPU what the golden files say."""

import sys
import types
from pathlib import Path

import numpy as np
from own_packages import find_plugin, list_pack_archs, read_manifest

if not find_plugin():
    print("this image has no rockiln-torch")
    sys.exit()

BITS = {"bfloat16": np.uint16, **dict.fromkeys(
    ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"), np.uint8
)}  # fmt: skip
sys.modules["ml_dtypes"] = types.SimpleNamespace(**BITS)  # not in a torch image; torch itself reads the bits below

from dataclasses import replace

import torch

assert hasattr(torch.ops.rockiln, "rms_norm"), "import torch alone brings no ops: the entry point is gone"
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table
from rockiln_torch.dtypes import TORCH_DTYPES
from rockiln_torch.forms import read_forms
from rockiln_torch.op_table import OPS

GOLDEN = Path("/run/rockiln/smoke/data/golden")
WIDTHS = {1: torch.uint8, 2: torch.uint16}


def make_tensor(array, dtype):
    """The same bits as torch's dtype."""
    tensor = torch.from_numpy(array.copy())
    wanted = TORCH_DTYPES[dtype]
    return tensor if tensor.dtype == wanted else tensor.view(wanted)


def make_array(tensor):
    """Numbers as float32 where NumPy lacks the dtype, codes as bits."""
    if tensor.dtype == torch.bfloat16:
        return tensor.float().numpy()
    if tensor.is_floating_point() and tensor.element_size() == 1:
        return tensor.contiguous().view(torch.uint8).numpy()
    return tensor.numpy()


def read_case(case):
    """Tolerances are kept as bfloat16, whose bits are the high half of a float32's."""
    outputs = [
        one if one.allowed is None else replace(one, allowed=(one.allowed.astype(np.uint32) << 16).view(np.float32))
        for one in case.outputs
    ]
    return replace(case, outputs=tuple(outputs))


def call_op(case, form):
    """Outputs by name."""
    spec = form.spec
    tensors = [
        make_tensor(case.inputs[one.name], case.dtypes.get(one.dtype, one.dtype)) if one.name in case.inputs else None
        for one in spec.inputs
    ]
    words = dict(case.scalars)
    if form.dtype_axis:
        words["out_dtype"] = TORCH_DTYPES[case.dtypes[form.dtype_axis]]
    if form.format_axis:
        words["fp6_format"] = form.formats.index(case.dtypes[form.format_axis])
    result = getattr(torch.ops.rockiln, spec.name)(*tensors, **words)
    result = result if isinstance(result, tuple) else (result,)
    return {one.name: make_array(tensor) for one, tensor in zip(spec.outputs, result, strict=True)}


table, forms = read_table(), read_forms()
golden = {path.stem for path in GOLDEN.glob("*.safetensors")}
assert golden == table.keys(), f"the op table and the golden files differ by {sorted(golden ^ table.keys())}"
assert set(OPS) == table.keys(), f"the op table and rockiln_torch differ by {sorted(set(OPS) ^ table.keys())}"
missing = sorted(name for name in table if not hasattr(torch.ops.rockiln, name))
assert not missing, f"torch.ops.rockiln lacks {missing}"
for arch in list_pack_archs():
    ops = {variant["op"] for variant in read_manifest(arch)["variants"]}
    assert ops <= table.keys(), (arch, sorted(ops - table.keys()))

faults, count = [], 0
for op in table:
    for case in map(read_case, read_golden(op, GOLDEN)):
        count += 1
        found = case.find_faults(call_op(case, forms[op]))
        faults += [f"{op} {case.cell}/{case.name}: {fault}" for fault in found]
assert not faults, "\n".join([f"{len(faults)} of {count} cases are wrong", *faults[:20]])
print(f"{len(table)} ops: {', '.join(table)}; {count} golden cases right on the CPU")
