"""Device functions that ops over rows share."""

import triton
import triton.language as tl


@triton.jit
def load_row(start, columns, length):
    """Values at `columns` of a row in f32; beyond `length` they are 0 and memory is not touched."""
    return tl.load(start + columns, mask=columns < length, other=0.0).to(tl.float32)


@triton.jit
def store_row(start, columns, length, values):
    """Store f32 values at `columns` of a row in the array's own type."""
    tl.store(start + columns, values.to(start.dtype.element_ty), mask=columns < length)
