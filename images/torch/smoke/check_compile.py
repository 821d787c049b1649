# tier: cpu
# timeout-s: 600
"""torch.compile with inductor, on the CPU: the image's own compiler makes it, and it computes what eager does."""

import os
import shutil
import tempfile

import torch

with tempfile.TemporaryDirectory() as folder:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # whatever an earlier check compiled is not this check's doing
    assert shutil.which("g++"), "no g++, with which inductor compiles for the CPU"
    torch.manual_seed(7)
    layer = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128))
    given = torch.randn(33, 64, requires_grad=True)
    compiled = torch.compile(layer, backend="inductor", fullgraph=True)
    expected = layer(given)
    torch.testing.assert_close(compiled(given), expected, atol=1e-5, rtol=1e-5)
    compiled(given).square().sum().backward()
    gradient, given.grad = given.grad, None
    expected.square().sum().backward()
    torch.testing.assert_close(gradient, given.grad, atol=1e-4, rtol=1e-4)
    libraries = [name for _, _, files in os.walk(folder) for name in files if name.endswith(".so")]
    assert libraries, "inductor compiled nothing"
print(f"{len(libraries)} libraries compiled")
