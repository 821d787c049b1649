"""register() → what it says, and what calls do then; explain; a first call on ROCm; without librockiln or compat."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

import rockiln_tensorflow
from random_calls.planned import write_planned
from rockiln_kernels.dispatch import Settings, uninstall
from rockiln_kernels.selection import NotSelectedError
from rockiln_tensorflow import Registration, explain, ops, register, routing

EMULATED = {"ROCKILN_EMULATED_OK": "1", "ROCKILN_RECORDS": "/nowhere"}
X = tf.ones([4, 1024], tf.bfloat16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    write_planned(folder, "gfx942")
    return folder


@pytest.fixture(autouse=True)
def unregistered() -> Iterator[None]:
    yield
    routing.close_route()
    uninstall()


def _register(folder: Path, **environ: str) -> Registration:
    settings = Settings(packs={"gfx942": folder}, environ={**EMULATED, **environ})
    return register(compat=False, arch="gfx942", settings=settings)


def _list_types(device: str = "") -> list[str]:
    """Types of the ops in a graph of rms_norm, for a device."""

    def call(x: tf.Tensor) -> tf.Tensor:
        with tf.device(device):
            return ops.rms_norm(x, x[0])

    graph = tf.function(call, autograph=False).get_concrete_function(X).graph
    return [node.type for node in graph.get_operations()]


def test_calls_are_the_registrys_where_the_pack_runs_them(folder: Path) -> None:
    assert "RockilnRmsNorm" not in _list_types()
    registration = _register(folder)
    assert (registration.registered, registration.rejected) == (("kernels of GPU",), ())
    assert "RockilnRmsNorm" in _list_types()
    assert "RockilnRmsNorm" in _list_types("/GPU:0")
    assert "RockilnRmsNorm" not in _list_types("/CPU:0")
    registration.undo()
    assert "RockilnRmsNorm" not in _list_types()


def test_eager_calls_are_composed_where_there_is_no_gpu_or_the_cpu_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _register(folder)
    assert ops.rms_norm(X, X[0]).shape == X.shape
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    with tf.device("/CPU:0"):
        assert ops.rms_norm(X, X[0]).shape == X.shape


def test_who_runs_a_call_is_logged(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    _register(folder)
    with caplog.at_level(logging.INFO, logger="rockiln_tensorflow"):
        _list_types()
    assert "on gfx942: rms_norm/bf16/row1024" in caplog.text


def test_strict_mode_refuses_what_the_pack_does_not_run(folder: Path) -> None:
    settings = Settings(packs={"gfx942": folder}, environ={**EMULATED, "ROCKILN_STRICT": "1"})
    register(compat=False, arch="gfx1100", settings=settings)
    with pytest.raises(NotSelectedError, match="no pack for gfx1100 is installed"):
        _list_types()


def test_plans_are_kept_up_to_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _register(folder)
    route = routing.find_route()
    assert route
    monkeypatch.setattr(routing, "PLAN_LIMIT", 2)
    for rows in (1, 1, 2, 3):
        form, params, given = ops.bind_words("rms_norm", (tf.ones([rows, 64]), tf.ones([64])), {})
        routing.make_plan(route, form, params, given)
    assert len(route.plans) == 1


def test_without_a_record_on_hardware_calls_are_composed(folder: Path) -> None:
    _register(folder, ROCKILN_EMULATED_OK="0")
    assert "RockilnRmsNorm" not in _list_types()


def test_explain_names_kernel_and_reasons_without_a_gpu(folder: Path) -> None:
    _register(folder)
    x, weight = tf.TensorSpec([4, 4096], tf.bfloat16), tf.TensorSpec([4096], tf.bfloat16)
    plan = explain("rms_norm", x, weight, arch="gfx942", eps=1e-5)
    assert (plan.provider, plan.kernel) == ("pack", "rms_norm/bf16/row4096")
    assert plan.call == "x=bf16[4,4096] weight=bf16[4096] eps=1e-05 weight_offset=0"
    reasons = {item.candidate: item.reason for item in plan.rejected}
    assert reasons["rms_norm/bf16/row1024"] == "rows are longer than 1024"
    with pytest.raises(ValueError, match="rms_norm: a dim is not known"):
        explain("rms_norm", tf.TensorSpec([None, 4096], tf.bfloat16), weight, arch="gfx942")


def test_the_first_call_registers_the_kernels_where_tensorflow_sees_a_rocm_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(routing._Routes, "is_settled", False)
    monkeypatch.setattr(tf.test, "is_built_with_rocm", lambda: True)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    monkeypatch.setattr(
        "rockiln_tensorflow.registration.register", lambda **words: asked.append(words) or Registration()
    )
    ops.rms_norm(X, X[0])
    ops.rms_norm(X, X[0])
    assert asked == [{"kernels": True, "compat": False}]


def test_what_cannot_be_registered_is_in_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    own = register(compat=False, settings=Settings(library=Path("/nowhere/librockiln.so")))
    [(what, reason)] = own.rejected
    assert what == "kernels"
    assert "/nowhere/librockiln.so" in reason
    monkeypatch.setitem(sys.modules, "hipcompat", None)
    [(what, reason)] = register(kernels=False).rejected
    assert what == "compat"
    assert "pip install rockiln-tensorflow[compat]" in reason


def test_compat_is_hooked_and_unhooked() -> None:
    registration = register(kernels=False)
    assert registration.hooked or registration.rejected
    registration.undo()


def test_dir_lists_what_is_imported_on_first_use() -> None:
    listed = dir(rockiln_tensorflow)
    assert set(rockiln_tensorflow.__all__) <= set(listed)
    assert all(hasattr(rockiln_tensorflow, name) for name in listed)
