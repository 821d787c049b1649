# tier: gpu
# timeout-s: 300
"""On each GPU: a matmul by the BLAS library and a convolution by MIOpen, against the CPU."""

from gpus import require_gpus

archs = require_gpus(1)

import numpy as np
import tensorflow as tf

devices = tf.config.list_logical_devices("GPU")
assert len(devices) >= len(archs), (devices, archs)
random = np.random.default_rng(7)
left, right = random.standard_normal((512, 256)), random.standard_normal((256, 384))
images = random.standard_normal((2, 32, 32, 8)).astype(np.float32)
kernel = random.standard_normal((3, 3, 8, 16)).astype(np.float32)
with tf.device("CPU"):
    expected = tf.nn.conv2d(images, kernel, 1, "SAME").numpy()
for device in devices:
    with tf.device(device.name):
        product = tf.matmul(tf.constant(left, tf.float32), tf.constant(right, tf.float32))
        assert product.device.endswith(device.name[-5:]), (product.device, device.name)
        np.testing.assert_allclose(product.numpy(), left @ right, atol=0.2)
        np.testing.assert_allclose(tf.nn.conv2d(images, kernel, 1, "SAME").numpy(), expected, atol=1e-2)
print(devices)
