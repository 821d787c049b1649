"""`nox -s gpu` without a card: it ends at once. Over a fake CUDA driver: its kernels are functions of this file."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fake_cuda.card import FakeCuda
from gpu import __main__ as program
from gpu.calls import list_calls, pick_models
from gpu.check import Checked, check_family, run_family
from gpu.machine import CudaError, CudaMachine
from gpu.probe import EXIT_NO_CARD, NoCard, find_card
from gpu.speed import measure_copy, measure_pack
from harness.execute import describe_call
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.call import Accepted, check_call
from rockiln_kernels.pack.build import build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_origins, read_table

TESTS = Path(__file__).parent
KEYS = ("silu_and_mul/f32/block256-halves", "silu_and_mul/bf16/block1024-halves")
NEVER_S = 4e9
SMALL = replace(pick_models()[0], hidden=64, intermediate=128, heads=2, kv_heads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two cubins."""
    variants = [item for item in make_family_variants("silu_and_mul", ARCHS["sm_90"]) if item.key in KEYS]
    pack = build_pack(ARCHS["sm_90"], variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    write_pack(pack, tmp_path_factory.mktemp("cubins") / "pack")
    return tmp_path_factory.getbasetemp() / "cubins0" / "pack"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    return _set_card(monkeypatch, FakeCuda(_play_silu))


def _set_card(monkeypatch: pytest.MonkeyPatch, card: FakeCuda) -> FakeCuda:
    monkeypatch.setenv("ROCKILN_CUDA_LIBRARY", str(card.path))
    return card


def _view(address: int, dtype: np.dtype, count: int) -> np.ndarray:
    return np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype)


def _play_silu(grid: tuple[int, int, int], threads: int, kernarg: bytes) -> bool:
    """The f32 kernel, of x [M, 2 D] with any stride; the bf16 one, of more threads, does nothing."""
    x, y, stride, columns, limit = struct.unpack_from("<QQiif", kernarg)
    if threads != 64:
        return True
    for row in range(grid[0]):
        values = _view(x + 4 * row * stride, np.dtype(np.float32), 2 * columns).astype(np.float64)
        gate, up = values[:columns], values[columns:]
        if limit > 0:
            gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
        with np.errstate(all="ignore"):
            _view(y + 4 * row * columns, np.dtype(np.float32), columns)[:] = gate * (1.0 / (1.0 + np.exp(-gate))) * up
    return True


def _run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    own = {**os.environ, **environ}
    return subprocess.run(command, cwd=TESTS, env=own, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [("-m", "gpu"), ("-S", "gpu/probe.py")])
def test_without_a_driver_the_program_ends_at_once(command: tuple[str, ...]) -> None:
    done = _run(*command, ROCKILN_CUDA_LIBRARY="libcuda-that-is-not-here.so.1")
    assert (done.returncode, done.stdout) == (EXIT_NO_CARD, "")
    assert done.stderr.startswith("no NVIDIA GPU: libcuda-that-is-not-here.so.1 cannot be opened")
    assert done.stderr.count("\n") == 1


def test_no_card_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_card(monkeypatch, FakeCuda(devices=0))
    with pytest.raises(NoCard, match=r"cuInit: no CUDA-capable device is detected \(100\)"):
        find_card()


def test_a_card_of_another_arch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_card(monkeypatch, FakeCuda(minor=1))
    with pytest.raises(NoCard, match="Fake H100 is sm_91, the cubins are for sm_90"):
        find_card()


def test_the_cards_name_names_the_result(card: FakeCuda) -> None:
    assert card.count("launches") == 0
    found = find_card()
    assert (found.arch, found.processors, found.driver) == ("sm_90", 132, "CUDA 12.9")
    assert program.name_result(found) == "gpu_fake_h100.json"


def _check(folder: Path, ends_at_s: float = NEVER_S) -> Checked:
    return check_family(folder, "silu_and_mul", ends_at_s)


def test_right_and_wrong_kernels_are_told_apart(card: FakeCuda, folder: Path) -> None:
    checked = _check(folder)
    assert checked.runs[KEYS[0]] > 3
    assert set(checked.wrong) == {KEYS[1]}
    assert not checked.not_run
    assert card.count("launches") > checked.runs[KEYS[0]]
    assert card.count("allocations") == 0


def test_kernels_that_write_nothing_are_wrong(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _set_card(monkeypatch, FakeCuda(lambda _grid, _threads, _kernarg: True))
    assert set(_check(folder).wrong) == set(KEYS)


def test_a_fault_ends_the_family(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    _set_card(monkeypatch, FakeCuda(lambda _grid, _threads, _kernarg: False))
    checked = _check(folder)
    assert [text for text in checked.wrong.values() if "illegal memory access" in text]
    assert list(checked.not_run.values()) == [f"after the fault of {next(iter(checked.wrong))}"]


def test_what_there_is_no_time_for_is_listed(card: FakeCuda, folder: Path) -> None:
    checked = _check(folder, 0.0)
    assert checked.not_run == dict.fromkeys(KEYS, "out of time")
    assert card.count("launches") == 0


def test_times_are_of_one_launch(card: FakeCuda, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.speed.pick_models", lambda: (SMALL,))
    found = measure_pack(CudaMachine(folder), folder, (), NEVER_S, lambda _: None)
    assert {row["variant"] for row in found["calls"]} == {KEYS[1]}
    assert found["calls"][0]["us"] == 1000.0  # the fake's 2 ms are of two launches, each at most half of a batch
    assert found["calls"][0]["framework_us"]
    assert "silu_and_mul" not in found["not_timed"]
    assert card.count("allocations") == 0


def test_wrong_variants_are_not_timed(card: FakeCuda, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.speed.pick_models", lambda: (SMALL,))
    found = measure_pack(CudaMachine(folder), folder, KEYS, NEVER_S, lambda _: None)
    assert (found["calls"], card.count("launches")) == ([], 0)


def test_a_fault_ends_the_timing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _set_card(monkeypatch, FakeCuda(lambda _grid, _threads, _kernarg: False))
    monkeypatch.setattr("gpu.speed.pick_models", lambda: (SMALL,))
    found = measure_pack(CudaMachine(folder), folder, (), NEVER_S, lambda _: None)
    assert "illegal memory access" in found["fault"]
    assert found["calls"] == []


def test_a_family_runs_in_its_own_process(card: FakeCuda, folder: Path) -> None:
    checked = run_family(folder, "silu_and_mul", time.time() + 60.0)  # there the fake has no kernels
    assert set(checked.wrong) == set(KEYS)
    assert all("wrong, first at" in fault for fault in checked.wrong.values())
    assert card.count("launches") == 0


def test_a_process_that_dies_makes_its_family_wrong(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKILN_CUDA_LIBRARY", "libcuda-that-is-not-here.so.1")
    checked = run_family(folder, "silu_and_mul", time.time() + 60.0)
    assert set(checked.wrong) == set(KEYS)
    assert all("libcuda-that-is-not-here" in fault for fault in checked.wrong.values())


def test_a_process_that_hangs_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.check.GRACE_S", -1e9)
    monkeypatch.setattr("gpu.check.LEAST_S", 0.001)  # Python takes longer to start
    checked = run_family(folder, "silu_and_mul", time.time())
    assert checked.wrong == dict.fromkeys(KEYS, "its process hung, and was killed")


def test_a_copy_beyond_an_allocation_fails(card: FakeCuda, folder: Path) -> None:
    machine = CudaMachine(folder)
    address = machine.allocate(b"1234", "x")
    assert machine.read(address, 4) == b"1234"
    with pytest.raises(CudaError, match="cuMemcpyDtoH_v2"):
        machine.read(address, 5)
    machine.free()
    assert card.count("allocations") == 0


def test_copies_are_counted_twice(card: FakeCuda, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.speed.COPIED_BYTES", 1 << 16)
    assert measure_copy(CudaMachine(folder)) == pytest.approx(2 * (1 << 16) / 1e-3)
    assert card.count("allocations") == 0


def test_every_timed_call_is_accepted() -> None:
    small = replace(pick_models()[0], hidden=256, intermediate=512, heads=4, kv_heads=2, experts=16, top_k=2)
    calls = list(list_calls((small,), (8,)))
    for call in calls:
        spec = read_table()[call.op]
        assert isinstance(check_call(spec, describe_call(spec, call.cell, call.case)), Accepted), call.op
    left = {read_origins()[op] for op in set(read_table()) - {call.op for call in calls}}
    assert left == {"fused_moe", "fused_moe_narrow", "mla_decode", "moe_align", "paged_decode"}


def test_results_hold_the_card(card: FakeCuda, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.check.check_pack", lambda *_: _check(folder))
    monkeypatch.setattr("gpu.speed.pick_models", lambda: ())
    monkeypatch.setattr("gpu.speed.COPIED_BYTES", 1 << 16)
    output = tmp_path / "gpu.json"
    assert program.main(["--pack", str(folder), "--output", str(output)]) == program.EXIT_WRONG
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["card"]["name"] == "Fake H100"
    assert set(found["checked"]["wrong"]) == {KEYS[1]}
    assert found["ceilings"]["copy_bytes_per_s"] > 0
    assert card.count("allocations") == 0
