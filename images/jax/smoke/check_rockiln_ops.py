# tier: cpu
# timeout-s: 900
"""rockiln_jax.ops has every op of the table, and each gives on the CPU what the golden files say."""

import os
import sys
from pathlib import Path

os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
from own_packages import find_plugin, list_pack_archs, read_manifest

if not find_plugin():
    print("this image has no rockiln-jax")
    sys.exit()

from rockiln_jax import ops
from rockiln_jax.forms import make_form
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table

GOLDEN = Path("/run/rockiln/smoke/data/golden")


def pick_case(place, op):
    """The smallest case; of the first dtypes or, every other op, of the last: XLA compiles each, which takes time."""
    cases = [case for case in read_golden(op, GOLDEN) if all(array.size for array in case.inputs.values())]
    cells = list(dict.fromkeys(case.cell for case in cases))
    mine = [case for case in cases if case.cell == cells[-(place % 2)]]
    return min(mine, key=lambda case: sum(array.size for array in case.inputs.values()))


def call_op(case):
    """Outputs by name."""
    form = make_form(case.op)
    words = dict(case.scalars)
    if form.dtype_axis:
        words["out_dtype"] = case.dtypes[form.dtype_axis]
    if form.format_axis:
        words["fp6_format"] = case.dtypes[form.format_axis]
    result = getattr(ops, case.op)(*(case.inputs.get(one.name) for one in form.spec.inputs), **words)
    result = result if isinstance(result, tuple) else (result,)
    return {one.name: np.asarray(value) for one, value in zip(form.spec.outputs, result, strict=True)}


table = read_table()
golden = {path.stem for path in GOLDEN.glob("*.safetensors")}
assert golden == table.keys(), f"the op table and the golden files differ by {sorted(golden ^ table.keys())}"
missing = sorted(name for name in table if not callable(getattr(ops, name, None)))
assert not missing, f"rockiln_jax.ops lacks {missing}"
for arch in list_pack_archs():
    packed = {variant["op"] for variant in read_manifest(arch)["variants"]}
    assert packed <= table.keys(), (arch, sorted(packed - table.keys()))

faults = []
for case in (pick_case(place, op) for place, op in enumerate(table)):
    faults += [f"{case.op} {case.cell}/{case.name}: {fault}" for fault in case.find_faults(call_op(case))]
assert not faults, "\n".join([f"of {len(table)} cases these are wrong", *faults[:20]])
print(f"{len(table)} ops: {', '.join(table)}; a golden case of each is right on the CPU")
