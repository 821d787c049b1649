"""Flax NNX layers: as Flax's own of the same weights, trained by Flax's ways; without Flax, one clear message."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rockiln_jax import ops

pytest.importorskip("flax", reason="Flax is not installed")

from flax import nnx

from rockiln_jax.layers import MoE, RMSNorm, SwiGLU

X = jnp.asarray(np.random.default_rng(0).standard_normal((2, 6, 16)), jnp.float32)


def test_rms_norm_is_flax_own_with_its_state() -> None:
    theirs, own = nnx.RMSNorm(16, rngs=nnx.Rngs(0)), RMSNorm(16, rngs=nnx.Rngs(0))
    theirs.scale.value = jnp.linspace(0.5, 1.5, 16)
    nnx.update(own, nnx.state(theirs))
    np.testing.assert_allclose(own(X), theirs(X), rtol=1e-5, atol=1e-6)
    assert own(X.astype(jnp.bfloat16)).dtype == theirs(X.astype(jnp.bfloat16)).dtype == jnp.float32


def test_swiglu_is_three_linear_layers() -> None:
    layer = SwiGLU(16, 24, rngs=nnx.Rngs(0))
    gate, up = jnp.split(layer.gate_up.value.T, 2, axis=1)
    wanted = (jax.nn.silu(X @ gate) * (X @ up)) @ layer.down.value.T
    np.testing.assert_allclose(layer(X), wanted, rtol=1e-4, atol=1e-5)
    assert layer.gate_up.value.std() == pytest.approx(16**-0.5, rel=0.2)


def test_moe_is_the_weighed_sum_of_its_experts() -> None:
    layer = MoE(16, 24, experts=4, top=2, rngs=nnx.Rngs(0))
    weights, ids = ops.topk_softmax(X @ layer.router.value.T, top=2)
    gate, up = jnp.split(jnp.einsum("blk,enk->blen", X, layer.gate_up.value), 2, axis=-1)
    parts = jnp.einsum("blen,ekn->blek", jax.nn.silu(gate) * up, layer.down.value)
    wanted = (jnp.take_along_axis(parts, ids[..., None], axis=2) * weights[..., None]).sum(2)
    assert layer(X).dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(layer(X), np.float32), wanted, rtol=0.05, atol=0.03)
    with pytest.raises(ValueError, match="top is 5, not from 1 to the 4 experts"):
        MoE(16, 24, experts=4, top=5, rngs=nnx.Rngs(0))


class Block(nnx.Module):
    """Norm, SwiGLU and MoE."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.norm, self.mlp = RMSNorm(16, rngs=rngs), SwiGLU(16, 24, rngs=rngs)
        self.moe = MoE(16, 24, experts=4, top=2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        hidden = x + self.mlp(self.norm(x))
        return hidden + self.moe(hidden).astype(x.dtype)


def test_layers_learn_under_nnx_jit() -> None:
    model, wanted = Block(nnx.Rngs(1)), jnp.roll(X, 1, axis=-1)

    @nnx.jit
    def step(model: Block) -> jax.Array:
        loss, slopes = nnx.value_and_grad(lambda own: ((own(X) - wanted) ** 2).mean())(model)
        state = jax.tree.map(lambda value, slope: value - 0.3 * slope, nnx.state(model, nnx.Param), slopes)
        nnx.update(model, state)
        return loss

    losses = [float(step(model)) for _ in range(20)]
    assert losses[-1] < 0.7 * losses[0]


def test_without_flax_the_message_says_what_to_install() -> None:
    program = "import sys; sys.modules['flax'] = None; import rockiln_jax.layers"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rockiln_jax.layers needs Flax" in done.stderr
    assert "pip install rockiln-jax[flax]" in done.stderr
