# tier: cpu
# timeout-s: 120
"""On the CPU: a matmul against NumPy, a gradient, LAPACK, the NumPy round trip, and a module saved and loaded."""

import io

import numpy as np
import torch

random = np.random.default_rng(7)
left, right = random.standard_normal((257, 129)), random.standard_normal((129, 65))
product = torch.from_numpy(left.astype(np.float32)) @ torch.from_numpy(right.astype(np.float32))
np.testing.assert_allclose(product.numpy(), left @ right, atol=1e-3)

points = torch.linspace(-1, 1, 33, requires_grad=True)
torch.tanh(points).square().sum().backward()
tanh = np.tanh(points.detach().numpy())
np.testing.assert_allclose(points.grad.numpy(), 2 * tanh * (1 - tanh**2), atol=1e-5)

symmetric = left.T @ left + np.eye(129)
np.testing.assert_allclose(torch.linalg.cholesky(torch.from_numpy(symmetric)).numpy(), np.linalg.cholesky(symmetric))

torch.manual_seed(7)
module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
buffer = io.BytesIO()
torch.save(module.state_dict(), buffer)
buffer.seek(0)
copy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 1))
copy.load_state_dict(torch.load(buffer, weights_only=True))
given = torch.ones(3, 4)
assert torch.equal(module(given), copy(given))
print(torch.__config__.show().splitlines()[0])
