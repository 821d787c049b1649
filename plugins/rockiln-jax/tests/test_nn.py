"""rockiln_jax.nn: jax.nn's values, gradients, errors; attention goes to the pack where one runs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from random_calls.planned import write_planned
from rockiln_jax import nn, register
from rockiln_jax.packed_attention import attend_packed, find_call
from rockiln_kernels.dispatch import Settings, uninstall


def _draw(*shape: int, seed: int = 0, dtype: jnp.dtype = jnp.bfloat16) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


Q, K, V = _draw(2, 32, 4, 64), _draw(2, 32, 2, 64, seed=1), _draw(2, 32, 2, 64, seed=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    write_planned(folder, "gfx942")
    return folder


@pytest.fixture
def _registered(folder: Path) -> Iterator[None]:
    environ = {"ROCKILN_EMULATED_OK": "1", "ROCKILN_RECORDS": "/nowhere"}
    settings = Settings(packs={"gfx942": folder}, environ=environ)
    registration = register(compat=False, arch="gfx942", settings=settings)
    jax.clear_caches()
    yield
    registration.undo()
    uninstall()
    jax.clear_caches()


def _lower(platform: str, *arrays: jax.Array, **words: object) -> str:
    traced = jax.jit(lambda *own: nn.dot_product_attention(*own, **words)).trace(*arrays)  # type: ignore[arg-type]
    text: str = traced.lower(lowering_platforms=(platform,)).as_text()
    return text


def test_names_that_have_no_op_are_jax_nns_own() -> None:
    assert nn.silu is jax.nn.silu
    assert nn.softmax is jax.nn.softmax
    assert set(jax.nn.__all__ if hasattr(jax.nn, "__all__") else ("relu", "gelu")) <= set(dir(nn))
    with pytest.raises(AttributeError, match="nothing"):
        _ = nn.nothing


def test_gates_are_those_of_halves() -> None:
    x = _draw(3, 8, 5, dtype=jnp.float32)
    g, u = jnp.split(x, 2, axis=1)
    for got, gate in (
        (nn.swiglu(x, axis=1), jax.nn.silu(g)),
        (nn.geglu(x, axis=1), jax.nn.gelu(g)),
        (nn.geglu(x, axis=1, approximate=False), jax.nn.gelu(g, approximate=False)),
    ):
        np.testing.assert_allclose(got, gate * u, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="silu_and_mul"):
        nn.swiglu(x, axis=2)


def test_rms_norm_needs_no_weight_and_keeps_xs_dtype() -> None:
    x = _draw(3, 64)
    assert nn.rms_norm(x, jnp.ones(64, jnp.float32)).dtype == jnp.bfloat16
    np.testing.assert_array_equal(nn.rms_norm(x), nn.rms_norm(x, jnp.zeros(64), weight_offset=1.0))


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize(
    "words", [{}, {"is_causal": True}, {"scale": 0.3}, {"is_causal": True, "local_window_size": 5},
              {"is_causal": True, "local_window_size": (7, 2)}], ids=str,
)  # fmt: skip
def test_packed_attention_says_the_same_as_jax_nn(words: dict[str, object]) -> None:
    text = _lower("rocm", Q, K, V, **words)
    assert text.count("@rockiln_call") == 1
    assert 'op = "attention_prefill"' in text
    assert "rockiln_call" not in _lower("cpu", Q, K, V, **words)
    call = find_call(Q, K, V, words.get("scale"), is_causal="is_causal" in words, window=words.get("local_window_size"))  # type: ignore[arg-type]
    assert call is not None
    assert call.platforms == ("rocm",)
    own = attend_packed(Q, K, V, replace(call, platforms=("cpu",)), jnp.zeros_like)  # the op's composition
    wanted = jax.nn.dot_product_attention(Q, K, V, **words)  # type: ignore[arg-type]
    np.testing.assert_allclose(*(np.asarray(item, np.float32) for item in (own, wanted)), rtol=0.02, atol=0.02)


@pytest.mark.usefixtures("_registered")
def test_what_the_op_does_not_say_is_jax_nns_own() -> None:
    assert "rockiln_call" not in _lower("rocm", Q[:, :16], K, V, is_causal=True)  # its first query at first key
    assert "rockiln_call" not in _lower("rocm", Q, K, V, local_window_size=(3, 0))  # which jax.nn ignores
    assert "rockiln_call" not in _lower("rocm", Q, K, V, mask=jnp.ones((2, 4, 32, 32), bool))
    assert "rockiln_call" not in _lower("rocm", Q, K, V, implementation="xla")
    assert "rockiln_call" not in _lower("rocm", *(item.astype(jnp.float32) for item in (Q, K, V)))
    assert "rockiln_call" in _lower("rocm", Q[0], K[0], V[0])
    with pytest.raises((TypeError, ValueError)):
        nn.dot_product_attention(Q, K[..., :32], V)


@pytest.mark.usefixtures("_registered")
def test_gradients_of_attention_are_jax_nns_on_a_cpu_and_an_op_on_rocm() -> None:
    def total(function: object, *own: jax.Array) -> jax.Array:
        return (function(*own, is_causal=True).astype(jnp.float32) ** 2).sum()  # type: ignore[operator]

    got = jax.jit(jax.grad(lambda *own: total(nn.dot_product_attention, *own), argnums=(0, 1, 2)))(Q, K, V)
    wanted = jax.jit(jax.grad(lambda *own: total(jax.nn.dot_product_attention, *own), argnums=(0, 1, 2)))(Q, K, V)
    for own, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(*(np.asarray(item, np.float32) for item in (own, expected)), rtol=0.02, atol=0.02)
    slope = jax.jit(jax.grad(lambda *own: total(nn.dot_product_attention, *own), argnums=(0, 1, 2)))
    text = slope.trace(Q, K, V).lower(lowering_platforms=("rocm",)).as_text()
    assert 'op = "attention_prefill_backward"' in text
