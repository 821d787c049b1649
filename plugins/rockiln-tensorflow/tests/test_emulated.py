"""Ops by TensorFlow, through their kernels, a fake HIP and gfxemu: the bytes that gfxemu alone computes; gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from fake.cpu_route import route_cpu
from fake_hip.machine import FakeHip
from harness.execute import Prepared, describe_call, execute, prepare
from harness.judge import make_cases
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.dispatch import Dispatcher
from rockiln_kernels.pack.build import Pack, build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_table
from rockiln_tensorflow import ops
from rockiln_tensorflow.calls import OpParams
from rockiln_tensorflow.composed import compose
from rockiln_tensorflow.forms import make_form
from rockiln_tensorflow.routing import run_call

GPUS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


def pick_archs(family: str) -> tuple[str, ...]:
    """Every one by night."""
    return GPUS if NIGHTLY else (GPUS[(read_rotation() + read_families().index(family)) % len(GPUS)],)


def _build(family: str, arch: str, keys: frozenset[str] = frozenset()) -> Pack:
    variants = make_family_variants(family, ARCHS[arch])
    chosen = [item for item in variants if item.key in keys] or [variants[read_rotation() % len(variants)]]
    return build_pack(ARCHS[arch], chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.mark.parametrize(("family", "arch"), [(name, arch) for name in read_families() for arch in pick_archs(name)])
def test_bytes_are_the_emulated_ones(family: str, arch: str, tmp_path: Path) -> None:
    pack = _build(family, arch)
    if not pack.manifest.variants:
        pytest.skip(f"absent from the pack: {pack.manifest.absent[0].reason}")
    write_pack(pack, tmp_path / "pack")
    [variant] = pack.manifest.variants
    hip = FakeHip(arch)
    with route_cpu(hip, arch, {arch: tmp_path / "pack"}) as dispatcher:
        _compare(dispatcher, pack, variant.op, variant.cell)
    assert hip.count("launches") >= len(variant.launches)


def _compare(dispatcher: Dispatcher, pack: Pack, op: str, cell: str) -> None:
    """The first case that the variant takes, as TensorFlow has it: contiguous."""
    spec, form = read_table()[op], make_form(op)
    [variant] = pack.manifest.variants
    for case in make_cases(op, cell):
        arrays = {name: np.ascontiguousarray(array) for name, array in case.arrays.items()}
        case = replace(case, arrays=arrays)  # noqa: PLW2901  # as TensorFlow has it
        plan = dispatcher.planner.make_plan(describe_call(spec, cell, case), pack.manifest.arch)
        if case.is_misaligned or plan.kernel != variant.key:
            continue
        prepared = prepare(spec, cell, case, pack, variant)
        assert isinstance(prepared, Prepared)
        expected = execute(prepared, case, pack)
        scalars = {item.name: item.default for item in spec.scalars} | dict(case.scalars)
        params = OpParams(
            present=tuple(array.name in arrays for array in spec.inputs),
            scalars=form.bind_scalars(scalars),
            dtypes=tuple(spec.cell_dtypes(cell)[axis] for axis in form.open_axes),
        )
        given = [tf.constant(arrays[array.name]) for array in spec.inputs if array.name in arrays]
        for output, got in zip(spec.outputs, run_call(form, params, given), strict=True):
            assert got.numpy().tobytes() == expected[output.name].tobytes(), f"{case.name}: {output.name}"
        return
    pytest.skip("no case of this variant, contiguous and aligned")


@pytest.fixture(scope="module")
def norms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = frozenset({"rms_norm/f32/row1024", "rms_norm_backward/f32/row1024"})
    folder = tmp_path_factory.mktemp("norms") / "pack"
    write_pack(_build("rms_norm", "gfx942", keys), folder)
    return folder


@pytest.fixture
def hip(norms: Path) -> Iterator[FakeHip]:
    own = FakeHip("gfx942")
    with route_cpu(own, "gfx942", {"gfx942": norms}):
        yield own


X = tf.constant(np.random.default_rng(0).standard_normal((4, 512)), tf.float32)
WEIGHT = tf.ones([512])


def _differentiate(function: object, x: tf.Tensor, weight: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch([x, weight])
        total = tf.reduce_sum(function(x, weight) ** 2)  # type: ignore[operator]
    return list(tape.gradient(total, [x, weight]))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_gradients_come_from_the_kernels(hip: FakeHip, traced: bool) -> None:
    def differentiate(x: tf.Tensor, weight: tf.Tensor) -> list[tf.Tensor]:
        return _differentiate(ops.rms_norm, x, weight)

    got = (tf.function(differentiate, autograph=False) if traced else differentiate)(X, WEIGHT)
    assert hip.count("launches") == 3  # the op, and its gradient's two kernels
    wanted = _differentiate(lambda *own: compose("rms_norm")(*own, eps=1e-6, weight_offset=0.0)[0], X, WEIGHT)
    for own, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-5)


def test_a_batch_that_is_not_known_while_traced_is_decided_when_it_runs(hip: FakeHip) -> None:
    traced = tf.function(
        ops.rms_norm, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])], autograph=False
    )
    types = {node.name: node.type for node in traced.get_concrete_function().graph.get_operations()}
    assert "RockilnServes" in types.values()
    np.testing.assert_allclose(traced(X, WEIGHT), X / np.sqrt(np.mean(X**2, -1, keepdims=True) + 1e-6), rtol=1e-5)
    assert hip.count("launches") == 1
    long = tf.ones([2, 2048])
    np.testing.assert_allclose(traced(long, tf.ones([2048])), long, rtol=1e-4)  # no kernel of the pack takes the row
    assert hip.count("launches") == 1


def test_gradients_of_what_is_decided_when_it_runs(hip: FakeHip) -> None:
    signature = [tf.TensorSpec([None, 512]), tf.TensorSpec([512])]
    traced = tf.function(lambda *own: _differentiate(ops.rms_norm, *own), input_signature=signature, autograph=False)
    got = traced(X, WEIGHT)
    assert hip.count("launches") == 3
    for own, expected in zip(got, _differentiate(ops.rms_norm, X, WEIGHT), strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-5, atol=1e-6)


def test_what_the_pack_lacks_is_composed(hip: FakeHip) -> None:
    ops.rms_norm(tf.cast(X, tf.bfloat16), tf.cast(WEIGHT, tf.bfloat16))
    ops.silu_and_mul(X)
    ops.rms_norm(tf.cast(X, tf.float64), tf.cast(WEIGHT, tf.float64))
    with tf.device("/GPU:0"):
        ops.rms_norm(X, WEIGHT)
    assert hip.count("launches") == 0


def test_vectorized_map_of_the_op_is_one_call_after_another(hip: FakeHip) -> None:
    got = tf.vectorized_map(lambda x: ops.rms_norm(x, WEIGHT), tf.reshape(X, [2, 2, 512]))
    assert hip.count("launches") == 2
    np.testing.assert_array_equal(tf.reshape(got, X.shape), ops.rms_norm(X, WEIGHT))


def test_under_xla_calls_are_composed(hip: FakeHip) -> None:
    compiled = tf.function(ops.rms_norm, jit_compile=True, autograph=False)
    np.testing.assert_allclose(compiled(X, WEIGHT), X / np.sqrt(np.mean(X**2, -1, keepdims=True) + 1e-6), rtol=1e-5)
    assert hip.count("launches") == 0


def test_a_call_that_is_lost_between_tracing_and_running_says_why(hip: FakeHip, norms: Path) -> None:
    traced = tf.function(ops.rms_norm, autograph=False).get_concrete_function(X, WEIGHT)
    from fake_hip.dispatching import install_over

    lost = pytest.raises(
        tf.errors.FailedPreconditionError, match=r"traced for the pack, which does not run it: emulated"
    )
    with install_over(hip, {"gfx942": norms}, environ={"ROCKILN_RECORDS": "/nowhere"}), lost:
        traced(X, WEIGHT)


LOAD = """
import sys
import tensorflow as tf
if sys.argv[2] == "with": import rockiln_tensorflow
loaded = tf.saved_model.load(sys.argv[1])
loaded.norm(tf.ones([4, 512]))
"""


def _load_elsewhere(folder: Path, plugin: str) -> str:
    """What a new process without a GPU says of the saved model, with the plugin or without."""
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", LOAD, str(folder), plugin]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 1
    return done.stderr


def test_a_saved_model_with_kernels_loads_where_the_plugin_is_and_says_what_it_lacks(
    hip: FakeHip, tmp_path: Path
) -> None:
    module = tf.Module()
    signature = [tf.TensorSpec([4, 512])]
    module.norm = tf.function(lambda x: ops.rms_norm(x, WEIGHT), input_signature=signature, autograph=False)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = loaded.norm(X)
    np.testing.assert_array_equal(y, ops.rms_norm(X, WEIGHT))
    assert tape.gradient(y, X).shape == X.shape
    assert hip.count("launches") == 4  # loaded, with its gradient's two kernels, and called here
    assert "Op type not registered 'RockilnRmsNorm'" in _load_elsewhere(tmp_path, "without")
    assert "RockilnRmsNorm was traced for a kernel of a GPU" in _load_elsewhere(tmp_path, "with")


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Path:
    keys = frozenset({"attention_prefill/f16/d64-m64n32", "attention_prefill_backward/f16/d64-m32n32"})
    folder = tmp_path_factory.mktemp("attention") / "pack"
    write_pack(_build("attention_prefill", "gfx942", keys), folder)
    return folder


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_slopes_that_attentions_gradient_does_not_take_are_composed(attention: Path, traced: bool) -> None:
    hip, generator = FakeHip("gfx942"), np.random.default_rng(0)
    arrays = [tf.constant(generator.standard_normal((8, heads, 64)), tf.float16) for heads in (2, 1, 1)]
    starts, words = tf.constant([0, 3, 8]), {"scale": 0.125, "max_seqlen_q": 5}

    def differentiate(share: tf.Tensor, *own: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(own)
            out, lse = ops.attention_prefill(*own, starts, starts, **words)
            total = tf.reduce_sum(tf.cast(out, tf.float32) ** 2) + share * tf.reduce_sum(lse)
        return list(tape.gradient(total, own))

    wanted = [differentiate(tf.constant(share), *arrays) for share in (0.0, 1.0)]  # before there is a route: composed
    with route_cpu(hip, "gfx942", {"gfx942": attention}):
        call = tf.function(differentiate, autograph=False) if traced else differentiate
        launches = [hip.count("launches")]
        for share, slopes in zip((0.0, 1.0), wanted, strict=True):
            for own, expected in zip(call(tf.constant(share), *arrays), slopes, strict=True):
                pair = (tf.cast(item, tf.float32) for item in (own, expected))
                np.testing.assert_allclose(*pair, rtol=0.02, atol=0.01)
            launches.append(hip.count("launches"))
    with_kernels, composed = np.diff(launches)
    assert with_kernels > 1
    assert composed == 1  # the op itself
