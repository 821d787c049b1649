"""The same ABI over a fake CUDA driver, which writes down what it is asked; no NVIDIA GPU has run it here."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from fake_hip.libraries import FAKE, build_launcher, compile_cpp
from fake_hip.machine import FakeHip
from random_calls.planned import plan_manifest
from rockiln_kernels.launcher import Launcher, LaunchError, Status
from rockiln_kernels.pack.index import dump_index
from rockiln_kernels.pack.intact import INDEX_NAME

SHARED_BYTES = 100_000


@pytest.fixture
def cuda() -> ctypes.CDLL:
    library = ctypes.CDLL(str(compile_cpp("libcuda.so.1", (FAKE.with_name("fake_cuda.cc"),), ("-shared",))))
    library.fake_cuda_story.restype = ctypes.c_char_p
    library.fake_cuda_reset()
    return library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A pack for sm_90 with one kernel, that asks for much shared memory."""
    manifest = plan_manifest("gfx942")
    key = next(key for key, entry in manifest.kernels.items() if entry.source == "rms_norm")
    entry = replace(manifest.kernels[key], symbol="norm", file="norm.cubin", size_bytes=4, shared_bytes=SHARED_BYTES)
    entry = replace(entry, sha256=hashlib.sha256(b"CODE").hexdigest())
    (tmp_path / INDEX_NAME).write_bytes(dump_index(replace(manifest, arch="sm_90", kernels={"norm": entry})))
    (tmp_path / "norm.cubin").write_bytes(b"CODE")
    return tmp_path


def _open(cuda: ctypes.CDLL) -> Launcher:
    return Launcher("cuda", driver=cuda._name, library=build_launcher())


def _values(folder: Path) -> list[tuple[str, float]]:
    assert folder
    entry = next(entry for entry in plan_manifest("gfx942").kernels.values() if entry.source == "rms_norm")
    return [(arg.kind, 256 if arg.kind == "pointer" else 16) for arg in entry.args]


def test_a_kernel_is_loaded_and_launched_on_the_devices_primary_context(cuda: ctypes.CDLL, folder: Path) -> None:
    launcher = _open(cuda)
    assert launcher.count_devices() == 2
    assert launcher.read_device(1).arch == "sm_90"
    pack = launcher.open_pack(folder)
    kernel = pack.find_kernel("norm")
    for _ in range(2):
        kernel.launch((3, 2, 1), _values(folder), device=1)
    story = cuda.fake_cuda_story().decode().splitlines()
    assert story[:5] == ["init", "retain 1", "load on 1 CODE", "find norm", f"attribute 8 = {SHARED_BYTES}"]
    assert [line.rpartition(" bytes ")[0] for line in story[5:]] == [f"launch on 1 3 2 1 256 {SHARED_BYTES}"] * 2
    context = ctypes.c_void_p()
    cuda.cuCtxGetCurrent(ctypes.byref(context))
    assert context.value is None  # as it was before
    del kernel, pack
    assert cuda.fake_cuda_story().decode().splitlines()[-1] == "unload"


def test_a_device_that_is_not_there_is_named(cuda: ctypes.CDLL, folder: Path) -> None:
    with pytest.raises(LaunchError, match=r"cuDevicePrimaryCtxRetain: invalid device ordinal \(101\)") as caught:
        _open(cuda).open_pack(folder).find_kernel("norm").launch((1, 1, 1), _values(folder), device=2)
    assert caught.value.status is Status.NO_DEVICE


def test_a_pack_does_not_open_on_the_other_runtime(folder: Path) -> None:
    with pytest.raises(LaunchError, match="code for sm_90 cannot run on this runtime") as caught:
        FakeHip().open_launcher().open_pack(folder)
    assert caught.value.status is Status.WRONG_ARCH
