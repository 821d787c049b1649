"""rope and rope_backward → compositions."""

from __future__ import annotations

import tensorflow as tf

from rockiln_tensorflow.composed import Composition, Tensor, cpu
from rockiln_tensorflow.composed.gates import split_pair
from rockiln_tensorflow.composed.sizes import join_last, read_sizes


def rope(x: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool) -> tuple[Tensor, ...]:
    """y like x [..., L, H, D]; cos and sin [P, R], positions [L] (all leading dims of x folded)."""
    if cos.dtype == sin.dtype == tf.float32 and cpu.serves(x):
        return (cpu.run_rope(x, cos, sin, positions, interleaved=interleaved),)
    pairs = read_sizes(cos)[-1]
    turns = [*read_sizes(x)[:-2], 1, pairs]
    c, s = (tf.reshape(tf.gather(table, positions), turns) for table in (cos, sin))
    is_whole = isinstance(pairs, int) and x.shape[-1] == 2 * pairs
    a, b = split_pair(x if is_whole else x[..., : 2 * pairs], interleaved=interleaved)
    c, s = tf.cast(c, a.dtype), tf.cast(s, a.dtype)
    new = [tf.cast(part, x.dtype) for part in (a * c - b * s, b * c + a * s)]
    y = join_last(tf.stack(new, axis=-1)) if interleaved else tf.concat(new, axis=-1)
    return (y if is_whole else tf.concat((y, x[..., 2 * pairs :]), axis=-1),)


def rope_backward(dy: Tensor, cos: Tensor, sin: Tensor, positions: Tensor, *, interleaved: bool) -> tuple[Tensor, ...]:
    """dx like dy: the rotation back."""
    return rope(dy, cos, -sin, positions, interleaved=interleaved)


COMPOSITIONS: dict[str, Composition] = {"rope": rope, "rope_backward": rope_backward}
