# tier: cpu
# timeout-s: 600
"""rockiln_tensorflow.ops has every op of the table, its library a GPU kernel of each; golden cases on the CPU."""

import sys
import tempfile

import numpy as np
from own_packages import find_plugin

if not find_plugin():
    print("this image has no rockiln-tensorflow")
    sys.exit()

import tensorflow as tf

tf.config.set_visible_devices([], "GPU")

from golden_ops import check_cases, check_table
from tensorflow.python.framework import kernels

from rockiln_kernels.table import read_table
from rockiln_tensorflow import layers, ops, register
from rockiln_tensorflow.forms import name_op_type


def has_gpu_kernel(op):
    """Whether the library has put a kernel for GPUs into TensorFlow's registry."""
    own = kernels.get_registered_kernels_for_op(name_op_type(op)).kernel
    return "GPU" in {kernel.device_type for kernel in own}


table = read_table()
check_table(ops)
missing = sorted(name for name in table if not has_gpu_kernel(name))
assert not missing, f"the library has no kernel for GPUs of {missing}"
check_cases(ops)

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
