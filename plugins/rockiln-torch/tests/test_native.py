"""The native path over a fake GPU: what is launched, into what, and on errors; from many threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from fake_gpu.card import HostCard, find_packs, use_card
from rockiln_torch import explain, ops, profile

pytestmark = pytest.mark.skipif("ROCKILN_TEST_PACKS" not in os.environ, reason="no packs: nox -s torch makes them")
ARCH = "gfx942"


def pack() -> Path:
    return find_packs() / ARCH / "pack"


def aligned(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Normal numbers at a multiple of 256 bytes, as a GPU's allocator gives them."""
    size = torch.empty(shape, dtype=dtype).nbytes
    room = torch.zeros(size + 256, dtype=torch.uint8)
    offset = -room.data_ptr() % 256
    tensor = room[offset : offset + size].view(dtype).view(shape)
    return tensor.copy_(torch.randn(shape))


@pytest.fixture
def quiet() -> Iterator[HostCard]:
    """A card that counts launches and executes nothing."""
    with use_card(ARCH, pack(), emulates=False) as card:
        yield card


@pytest.fixture
def card() -> Iterator[HostCard]:
    with use_card(ARCH, pack()) as card:
        yield card


def test_call_is_planned_once_and_launched_each_time(quiet: HostCard) -> None:
    x, weight = aligned(4, 1024), aligned(1024)
    with profile() as result:
        for _ in range(3):
            ops.rms_norm(x, weight)
    assert quiet.count("launches") == 3
    assert [call.provider for call in result.calls] == ["pack"] * 3
    assert result.calls[0].kernel.startswith("rms_norm/bf16/")
    assert "pack" in str(result)


def test_out_variant_launches_into_the_given_tensor(card: HostCard) -> None:
    x, weight, y = aligned(4, 1024), aligned(1024), aligned(4, 1024)
    ops.rms_norm(x, weight, out=y)
    assert card.count("launches") == 1
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (1024,), weight, 1e-6))


@pytest.mark.parametrize("is_after", [True, False])
def test_output_right_beside_an_input_is_written_by_the_kernel(quiet: HostCard, *, is_after: bool) -> None:
    """As a caching allocator hands memory out; apart is apart, to the byte."""
    both, weight = aligned(2, 4, 1024), aligned(1024)
    ops.rms_norm(both[int(not is_after)], weight, out=both[int(is_after)])
    assert quiet.count("launches") == 1


@pytest.mark.parametrize("how", ["strided", "misaligned", "input"])
def test_outputs_that_a_kernel_cannot_write_are_composed(card: HostCard, how: str) -> None:
    x, weight, wide = aligned(4, 1024), aligned(1024), aligned(4, 2048)
    expected = torch.nn.functional.rms_norm(x, (1024,), weight, 1e-6)
    y = {"strided": wide[:, ::2], "misaligned": wide.flatten()[1:4097].view(4, 1024), "input": x}[how]
    ops.rms_norm(x, weight, out=y)
    assert card.count("launches") == 0
    torch.testing.assert_close(y, expected)


def test_call_that_no_kernel_takes_is_composed_and_explained(card: HostCard) -> None:
    x, weight = aligned(4, 1024, dtype=torch.float64), aligned(1024, dtype=torch.float64)
    with profile() as result:
        assert ops.rms_norm(x, weight).dtype is torch.float64
    assert (card.count("launches"), result.calls[0].provider) == (0, "framework")
    assert "x is float64" in explain("rms_norm", x, weight, arch=ARCH).reason


def test_explain_names_the_kernel_that_runs(quiet: HostCard) -> None:
    assert quiet
    answer = explain("rms_norm", aligned(4, 1024), aligned(1024), arch=ARCH)
    assert answer.provider == "pack"
    assert answer.kernel.startswith("rms_norm/bf16/")


def test_errors_of_compositions_keep_their_types(quiet: HostCard) -> None:
    x, weight = aligned(4, 1024), aligned(1024)
    with pytest.raises(ValueError, match="weight has N = 3, expected 1024"):
        ops.rms_norm(x, weight[:3])
    with pytest.raises(TypeError, match="x is i64"):
        torch.ops.rockiln.rms_norm(x.long(), weight)
    with pytest.raises(ValueError, match="rms_norm_out: y is"):
        ops.rms_norm(x, weight, out=aligned(1, 8))
    assert quiet.count("launches") == 0


def test_strict_mode_raises_unless_a_kernel_runs() -> None:
    environ = {"ROCKILN_EMULATED_OK": "1", "ROCKILN_STRICT": "1", "ROCKILN_RECORDS": "/nowhere"}
    codes = torch.zeros(3, 16, dtype=torch.uint8)
    with use_card(ARCH, pack(), emulates=False, environ=environ) as card:
        ops.rms_norm(aligned(4, 1024), aligned(1024))
        with pytest.raises(RuntimeError, match="would go to framework"):
            ops.dequant_mxfp4(codes, codes[:, :1].contiguous(), out_dtype=torch.half)
        assert card.count("launches") == 1


def test_unproven_kernels_are_not_taken() -> None:
    with use_card(ARCH, pack(), emulates=False, environ={"ROCKILN_RECORDS": "/nowhere"}) as card, profile() as result:
        ops.rms_norm(aligned(4, 1024), aligned(1024))
        assert card.count("launches") == 0
        assert "emulated only" in result.calls[0].reason


def test_kernel_that_is_not_loaded_is_composed_while_a_graph_is_captured(
    quiet: HostCard, caplog: pytest.LogCaptureFixture
) -> None:
    x, weight = aligned(4, 1024), aligned(1024)
    quiet.begin_capture(0)
    try:
        y = ops.rms_norm(x, weight)
    finally:
        quiet.end_capture(0)
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (1024,), weight, 1e-6))
    assert "call it once before" in caplog.text
    assert quiet.count("launches") == 0


@pytest.mark.parametrize("op", ["rms_norm", "silu_and_mul"])
def test_gradients_of_compiled_kernels(card: HostCard, op: str) -> None:
    torch.manual_seed(0)
    x, weight = aligned(3, 1024).requires_grad_(), aligned(1024).requires_grad_()
    tensors = (x, weight) if op == "rms_norm" else (x,)
    getattr(ops, op)(*tensors).float().sum().backward()
    assert card.count("launches") >= 2, "forward and backward"
    wide = [tensor.detach().double().requires_grad_() for tensor in tensors]
    from rockiln_torch.framework import compose

    compose(op)(*wide)[0].sum().backward()
    for tensor, exact in zip(tensors, wide, strict=True):
        torch.testing.assert_close(tensor.grad.double(), exact.grad, rtol=2e-2, atol=2e-2)


def test_first_call_takes_less_than_fifty_milliseconds() -> None:
    times = []
    for op, tensors in (("rms_norm", (aligned(4, 1024), aligned(1024))), ("silu_and_mul", (aligned(4, 1024),))):
        with use_card(ARCH, pack(), emulates=False) as card:
            start = time.thread_time()
            getattr(torch.ops.rockiln, op)(*tensors)
            times.append(time.thread_time() - start)
            assert card.count("launches") == 1
    assert min(times) < 0.05


def test_threads_share_plans(quiet: HostCard) -> None:
    x, weight = aligned(4, 1024), aligned(1024)
    failures: list[BaseException] = []
    together = threading.Barrier(4)

    def work() -> None:
        try:
            together.wait()
            for _ in range(50):
                ops.rms_norm(x, weight)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert quiet.count("launches") == 200
