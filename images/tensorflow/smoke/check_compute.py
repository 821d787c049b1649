# tier: cpu
# timeout-s: 180
"""On the CPU: a matmul against NumPy, a traced function and its gradient."""

import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")
random = np.random.default_rng(7)
left, right = random.standard_normal((257, 129)), random.standard_normal((129, 65))
product = tf.matmul(tf.constant(left, tf.float32), tf.constant(right, tf.float32))
np.testing.assert_allclose(product.numpy(), left @ right, atol=1e-3)


@tf.function
def measure(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.tanh(x) ** 2)


points = tf.linspace(-1.0, 1.0, 33)
with tf.GradientTape() as tape:
    tape.watch(points)
    value = measure(points)
gradient = tape.gradient(value, points).numpy()
expected = 2 * np.tanh(points) * (1 - np.tanh(points) ** 2)
np.testing.assert_allclose(gradient, expected, atol=1e-5)
assert measure.experimental_get_tracing_count() == 1
print(tf.config.list_physical_devices())
