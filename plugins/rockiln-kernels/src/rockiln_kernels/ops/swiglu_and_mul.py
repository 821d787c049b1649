"""swiglu_and_mul's family in Triton: gate(a) = a * sigmoid(alpha * a), as gpt-oss has it."""

import triton
import triton.language as tl

from rockiln_kernels.ops.gates import store_gradient, store_product, store_product_fp8, store_product_mxfp4


@triton.jit
def _gate(value, alpha):
    return value * tl.sigmoid(alpha * value)


@triton.jit
def _slope(value, alpha):
    sigmoid = tl.sigmoid(alpha * value)
    return sigmoid * (1.0 + alpha * value * (1.0 - sigmoid))


@triton.jit
def swiglu_and_mul(x, y, x_stride, D, limit, alpha, up_offset, INTERLEAVED: tl.constexpr, BLOCK: tl.constexpr):
    """One program a row and BLOCK columns."""
    store_product(x, y, x_stride, D, limit, alpha, up_offset, _gate, INTERLEAVED, BLOCK)


@triton.jit
def swiglu_and_mul_fp8(x, q, q_scale, x_stride, D, limit, alpha, up_offset, INTERLEAVED: tl.constexpr,
           SOFTWARE: tl.constexpr, MAN: tl.constexpr, BIAS: tl.constexpr, FNUZ: tl.constexpr, LIMIT: tl.constexpr,
           BLOCK: tl.constexpr):  # fmt: skip
    """The same in fp8, one scale for 128 columns."""
    store_product_fp8(
        x, q, q_scale, x_stride, D, limit, alpha, up_offset, _gate, INTERLEAVED, SOFTWARE, MAN, BIAS, FNUZ, LIMIT, BLOCK
    )


@triton.jit
def swiglu_and_mul_mxfp4(x, q, q_scale, x_stride, D, limit, alpha, up_offset, INTERLEAVED: tl.constexpr,
             BLOCK: tl.constexpr):  # fmt: skip
    """The same in MXFP4."""
    store_product_mxfp4(x, q, q_scale, x_stride, D, limit, alpha, up_offset, _gate, INTERLEAVED, BLOCK)


@triton.jit
def swiglu_and_mul_backward(dy, x, dx, dy_stride, x_stride, D, limit, alpha, up_offset, INTERLEAVED: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """The gradient."""
    store_gradient(dy, x, dx, dy_stride, x_stride, D, limit, alpha, up_offset, _gate, _slope, INTERLEAVED, BLOCK)
