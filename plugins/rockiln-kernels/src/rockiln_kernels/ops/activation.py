"""An f32 tile → the same tile after an activation, in registers."""

import triton
import triton.language as tl


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gelu_tanh(x):
    # 0.5 * (1 + tanh(y)) is sigmoid(2 * y): one exponential, no overflow
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


@triton.jit
def activate(x, EPILOGUE: tl.constexpr):
    """x [BLOCK_M, BLOCK_N] f32; an epilogue without an activation returns x itself."""
    if EPILOGUE == "silu":
        x = silu(x)
    elif EPILOGUE == "gelu":
        x = gelu(x)
    elif EPILOGUE == "gelu_tanh":
        x = gelu_tanh(x)
    return x
