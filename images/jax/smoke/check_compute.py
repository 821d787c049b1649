# tier: cpu
# timeout-s: 120
"""On the CPU: a compiled matmul against NumPy, a gradient, LAPACK through the FFI, random numbers, SciPy."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

assert jax.default_backend() == "cpu"
random = np.random.default_rng(7)
left, right = random.standard_normal((257, 129)), random.standard_normal((129, 65))

product = jax.jit(jnp.matmul)(left.astype(np.float32), right.astype(np.float32))
np.testing.assert_allclose(np.asarray(product), left @ right, atol=1e-3)

gradient = jax.grad(lambda x: jnp.sum(jnp.tanh(x) ** 2))(jnp.linspace(-1.0, 1.0, 33))
points = np.linspace(-1.0, 1.0, 33)
np.testing.assert_allclose(np.asarray(gradient), 2 * np.tanh(points) * (1 - np.tanh(points) ** 2), atol=1e-5)

symmetric = (left.T @ left + np.eye(129)).astype(np.float32)
factor = np.asarray(jax.jit(jnp.linalg.cholesky)(symmetric))
np.testing.assert_allclose(factor, scipy.linalg.cholesky(symmetric.astype(float), lower=True), atol=1e-2)

doubled = jax.vmap(lambda row: row * 2)(jnp.arange(6).reshape(3, 2))
assert doubled.tolist() == [[0, 2], [4, 6], [8, 10]]
uniform = jax.random.uniform(jax.random.key(0), (10000,))
assert abs(float(uniform.mean()) - 0.5) < 0.02
print(jax.devices())
