# tier: gpu
# timeout-s: 300
"""On each GPU: matmuls by both BLAS libraries, a convolution by MIOpen and a Triton kernel, against the CPU."""

from gpus import require_gpus

archs = require_gpus(1)

import torch
import triton
import triton.language as tl


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):  # noqa: N803
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) * 2, mask=inside)


count = torch.cuda.device_count()
assert count >= len(archs), (count, archs)
torch.manual_seed(7)
left, right = torch.randn(512, 256), torch.randn(256, 384)
images, kernel = torch.randn(2, 8, 32, 32), torch.randn(16, 8, 3, 3)
for number in range(count):
    device = torch.device("cuda", number)
    for library in ("hipblas", "hipblaslt"):
        torch.backends.cuda.preferred_blas_library({"hipblas": "cublas", "hipblaslt": "cublaslt"}[library])
        product = (left.to(device) @ right.to(device)).cpu()
        torch.testing.assert_close(product, left @ right, atol=0.2, rtol=0.01)
    convolved = torch.nn.functional.conv2d(images.to(device), kernel.to(device)).cpu()
    torch.testing.assert_close(convolved, torch.nn.functional.conv2d(images, kernel), atol=1e-2, rtol=1e-3)
    with torch.cuda.device(device):
        source = left.to(device)
        target = torch.empty_like(source)
        double[(triton.cdiv(source.numel(), 256),)](source, target, source.numel(), BLOCK=256)
        torch.testing.assert_close(target.cpu(), left * 2)
print([torch.cuda.get_device_properties(number).gcnArchName for number in range(count)])
