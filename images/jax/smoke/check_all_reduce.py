# tier: multi-gpu
# timeout-s: 300
"""RCCL sums over all GPUs."""

from gpus import require_gpus

archs = require_gpus(2)

import jax
import numpy as np

count = len(jax.devices("rocm"))
assert count >= len(archs), (count, archs)
parts = np.arange(count * 1024, dtype=np.float32).reshape(count, 1024)
total = jax.pmap(lambda part: jax.lax.psum(part, "gpus"), axis_name="gpus")(parts)
np.testing.assert_allclose(np.asarray(total), np.tile(parts.sum(axis=0), (count, 1)), rtol=1e-6)
print(f"sum over {count} GPUs")
