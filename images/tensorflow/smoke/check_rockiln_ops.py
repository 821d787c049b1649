# tier: cpu
# timeout-s: 600
"""rockiln_tensorflow.ops has every op of the table, its library a GPU kernel of each; golden cases on the CPU."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from own_packages import find_plugin, list_pack_archs, read_manifest

if not find_plugin():
    print("this image has no rockiln-tensorflow")
    sys.exit()

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

from tensorflow.python.framework import kernels

from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table
from rockiln_tensorflow import layers, ops, register
from rockiln_tensorflow.forms import make_form, name_op_type

GOLDEN = Path("/run/rockiln/smoke/data/golden")


def pick_case(place, op):
    """The smallest case of the op's first dtypes or, every other op, of the last."""
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


def has_gpu_kernel(op):
    """Whether the library has put a kernel for GPUs into TensorFlow's registry."""
    own = kernels.get_registered_kernels_for_op(name_op_type(op)).kernel
    return "GPU" in {kernel.device_type for kernel in own}


table = read_table()
golden = {path.stem for path in GOLDEN.glob("*.safetensors")}
assert golden == table.keys(), f"the op table and the golden files differ by {sorted(golden ^ table.keys())}"
missing = sorted(name for name in table if not callable(getattr(ops, name, None)))
assert not missing, f"rockiln_tensorflow.ops lacks {missing}"
missing = sorted(name for name in table if not has_gpu_kernel(name))
assert not missing, f"the library has no kernel for GPUs of {missing}"
for arch in list_pack_archs():
    packed = {variant["op"] for variant in read_manifest(arch)["variants"]}
    assert packed <= table.keys(), (arch, sorted(packed - table.keys()))

faults = []
for case in (pick_case(place, op) for place, op in enumerate(table)):
    faults += [f"{case.op} {case.cell}/{case.name}: {fault}" for fault in case.find_faults(call_op(case))]
assert not faults, "\n".join([f"of {len(table)} cases these are wrong", *faults[:20]])

registration = register(compat=False)
assert registration.registered == ("kernels of GPU",), registration.rejected
registration.undo()

tf.keras.utils.set_random_seed(7)
inputs = tf.keras.Input((6, 16))
model = tf.keras.Model(inputs, inputs + layers.SwiGLU(24)(layers.RMSNormalization()(inputs)))
points = np.random.default_rng(7).standard_normal((8, 6, 16)).astype(np.float32)
with tempfile.TemporaryDirectory() as folder:
    model.export(folder, verbose=False)
    served = tf.saved_model.load(folder)
    np.testing.assert_allclose(served.serve(points).numpy(), model(points).numpy(), atol=1e-5)
print(
    f"{len(table)} ops: {', '.join(table)}; a golden case of each is right on the CPU; a saved model of layers serves"
)
