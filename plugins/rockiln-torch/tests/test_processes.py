"""Ops in threads, forks, spawned processes and DataLoader workers; pickled; and what a fork does to a card."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from rockiln_torch import ops
from spawned import compute, send

X, WEIGHT = torch.randn(4, 64), torch.randn(64)


class Rows(Dataset[torch.Tensor]):
    """A data set whose items an op makes."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, place: int) -> torch.Tensor:
        return ops.silu_and_mul(torch.full((1, 8), float(place)))


class Norm(torch.nn.Module):
    """A module that holds the op itself."""

    def __init__(self, op: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.op, self.weight = op, torch.nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.op(x, self.weight)


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_processes_have_the_ops(start: str) -> None:
    context = multiprocessing.get_context(start)
    mine, theirs = context.Pipe()
    process = context.Process(target=send, args=(theirs,))
    process.start()
    theirs.close()  # so that a child that fails is the end of the pipe, not two minutes
    assert mine.poll(120)
    assert mine.recv() == compute()
    process.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_data_loader_workers_call_ops() -> None:
    batches = list(DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context="fork"))
    expected = torch.stack([Rows()[place] for place in range(8)])
    torch.testing.assert_close(torch.cat(batches), expected)


def test_first_calls_from_many_threads_agree() -> None:
    results: list[torch.Tensor] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        results.append(torch.ops.rockiln.gelu_tanh_and_mul(X))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(torch.equal(result, results[0]) for result in results)


def test_typed_ops_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(ops.rms_norm)) is ops.rms_norm  # noqa: S301  # our own bytes
    module = pickle.loads(pickle.dumps(Norm(ops.rms_norm)))  # noqa: S301
    assert torch.equal(module(torch.ones(2, 8)), ops.rms_norm(torch.ones(2, 8), torch.ones(8)))


def test_modules_with_ops_are_copied() -> None:
    module = copy.deepcopy(Norm(torch.ops.rockiln.rms_norm))
    assert torch.equal(module(torch.ones(2, 8)), ops.rms_norm(torch.ones(2, 8), torch.ones(8)))


@pytest.mark.parametrize("namespace", ["rockiln", "aten"])
def test_packets_are_not_pickled_as_nowhere_in_torch(namespace: str) -> None:
    """The typed function is what to keep. torch 2.7 and 2.8 name the capsule, newer ones pybind11's record."""
    packet = torch.ops.rockiln.rms_norm if namespace == "rockiln" else torch.ops.aten.add
    message = r"pybind11_detail_function_record_.* is not pickleable|cannot pickle 'PyCapsule' object"
    with pytest.raises((RuntimeError, TypeError), match=message):
        pickle.dumps(packet)


def test_overload_is_not_pickled_and_torch_says_so() -> None:
    """torch's own overloads are not either: the typed function is what to keep."""
    with pytest.raises((RuntimeError, TypeError, AttributeError), match="pickle"):
        pickle.dumps(torch.ops.rockiln.rms_norm.default)


@pytest.mark.skipif("ROCKILN_TEST_PACKS" not in os.environ, reason="no packs: nox -s torch makes them")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_child_of_a_process_with_a_card_plans_anew() -> None:
    """HIP refuses a forked child, in its own words; the fake does not, so the child's cache is seen to work."""
    from fake_gpu.card import find_packs, use_card

    x, weight = torch.randn(4, 1024).bfloat16(), torch.randn(1024).bfloat16()
    with use_card("gfx942", find_packs() / "gfx942" / "pack", emulates=False) as card:
        ops.rms_norm(x, weight)
        launched = card.count("launches")
        child = os.fork()
        if not child:
            try:
                ops.rms_norm(x, weight)
                os._exit(0 if card.count("launches") == launched + 1 else 2)
            except BaseException:  # noqa: BLE001
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert card.count("launches") == launched
