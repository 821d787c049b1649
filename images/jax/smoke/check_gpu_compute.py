# tier: gpu
# timeout-s: 300
"""On each GPU: a matmul by the BLAS library, a fused kernel by XLA, and a solver through the FFI, against NumPy."""

from gpus import require_gpus

archs = require_gpus(1)

import jax
import jax.numpy as jnp
import numpy as np

devices = jax.devices("rocm")
assert len(devices) >= len(archs), (devices, archs)
random = np.random.default_rng(7)
left, right = random.standard_normal((512, 256)), random.standard_normal((256, 384))
symmetric = (left.T @ left + np.eye(256)).astype(np.float32)
for device in devices:
    with jax.default_device(device):
        product = jax.jit(jnp.matmul)(left.astype(np.float32), right.astype(np.float32))
        assert product.devices() == {device}
        np.testing.assert_allclose(np.asarray(product), left @ right, atol=0.2)
        fused = jax.jit(lambda x: jnp.tanh(x) * jax.nn.softmax(x, axis=-1))(left.astype(np.float32))
        exponents = np.exp(left - left.max(axis=-1, keepdims=True))
        expected = np.tanh(left) * exponents / exponents.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(np.asarray(fused), expected, atol=1e-4)
        factor = np.asarray(jnp.linalg.cholesky(symmetric))
        np.testing.assert_allclose(factor, np.linalg.cholesky(symmetric.astype(float)), atol=0.1)
print(devices)
