"""Device functions that ops over rows share."""

import triton
import triton.language as tl


@triton.jit
def load_row(start, columns, length):
    """Values at `columns` of a row in f32; beyond `length` they are 0 and memory is not touched."""
    return tl.load(start + columns, mask=columns < length, other=0.0).to(tl.float32)
