"""HIP's errors as exceptions, over a fake runtime with HIP 7's rules that is compiled here; and over Debian's own."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hipcompat.errors import FileError
from hipcompat.runtime.hip import HipError, KernelFaultError, PendingError, open_hip
from hipcompat.runtime.hip.memory import Memory

SOURCE = Path(__file__).parents[2] / "fake_hip/fake_hip.c"
SIZE = 256
TO_DEVICE = 1

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")


@pytest.fixture
def hip(tmp_path: Path) -> Iterator[Any]:
    """A library of its own for each test, since its state is global."""
    library = tmp_path / "libfake.so"
    subprocess.run(
        ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE)],
        check=True,
    )
    return open_hip(str(library))  # type: ignore[return-value]


def _allocate(hip: Any, size: int = SIZE) -> ctypes.c_void_p:
    address = ctypes.c_void_p()
    hip.hipMalloc(ctypes.byref(address), size)
    return address


def test_good_calls_return_0(hip: Any) -> None:
    number = ctypes.c_int(-1)
    assert hip.hipGetDeviceCount(ctypes.byref(number)) == 0
    assert number.value == 1
    address = _allocate(hip)
    assert hip.hipMemcpy(address, b"x" * SIZE, SIZE, TO_DEVICE) == 0
    assert hip.hipStreamQuery(0) == 600  # not ready is an answer
    assert hip.hipFree(address) == 0


def test_failed_call_names_itself_its_arguments_and_what_is_wrong(hip: Any) -> None:
    address = _allocate(hip)
    with pytest.raises(HipError) as raised:
        hip.hipMemcpy(address, b"x" * 300, 300, TO_DEVICE)
    error = raised.value
    assert (error.call, error.code, error.name) == ("hipMemcpy", 1, "hipErrorInvalidValue")
    assert f"hipMemcpy(dst={address.value:#x}, src=<bytes>, sizeBytes=300, kind=1): hipErrorInvalidValue (1" in str(
        error
    )
    assert "dst = " in str(error)
    assert "only 256 bytes are allocated from there, 300 are used" in str(error)


@pytest.mark.parametrize(("target", "note"), [(None, "it is null"), ("freed", "this memory was freed at test_hip.py:")])
def test_null_and_freed_memory_are_recognized(hip: Any, target: str | None, note: str) -> None:
    address = _allocate(hip)
    hip.hipFree(address)
    with pytest.raises(HipError, match="hipErrorInvalidValue") as raised:
        hip.hipMemcpy(address if target else ctypes.c_void_p(), b"xy", 2, TO_DEVICE)
    assert raised.value.arguments[0].note.startswith(note)


def test_error_is_told_once_and_the_next_call_is_not_blamed(hip: Any) -> None:
    with pytest.raises(HipError, match=r"hipSetDevice\(deviceId=7\): hipErrorInvalidDevice"):
        hip.hipSetDevice(7)
    assert hip.hipPeekAtLastError() == 0
    assert hip.hipSetDevice(0) == 0


def test_error_of_unchecked_code_is_not_blamed_on_the_next_call(hip: Any) -> None:
    hip.hipSetDevice(0)
    hip._library.leave_an_error(1)
    with pytest.raises(PendingError) as raised:
        _allocate(hip)
    assert "was left unchecked by something after hipSetDevice at test_hip.py:" in str(raised.value)
    assert "before hipMalloc, which has not been called" in str(raised.value)
    assert _allocate(hip).value


def test_faulting_kernel_is_named_where_it_was_launched(hip: Any) -> None:
    code = b"gfx942 code object"
    kernel = hip.load_kernel(code, "saxpy")
    address = _allocate(hip)
    hip.hipFree(address)
    hip.launch(kernel, (1,), (64,), {"x": address, "n": ctypes.c_uint(16)})
    with pytest.raises(KernelFaultError) as raised:
        hip.hipDeviceSynchronize()
    text = str(raised.value)
    assert raised.value.name == "hipErrorIllegalAddress"
    assert raised.value.call == "hipDeviceSynchronize"
    assert "in kernel saxpy, launched at test_hip.py:" in text
    assert "grid (1, 1, 1), block (64, 1, 1)" in text
    assert f"argument 0 x = {address.value:#x}: this memory was freed at test_hip.py:" in text
    assert "argument 1 n = 16" in text


def test_of_several_kernels_the_suspect_is_told_first(hip: Any) -> None:
    code = b"gfx942 code object"
    good, bad = _allocate(hip), _allocate(hip)
    hip.hipFree(bad)
    for symbol, address in (("first", good), ("second", bad), ("third", good)):
        hip.launch(hip.load_kernel(code, symbol), (1,), (64,), {"x": address, "n": ctypes.c_uint(16)})
    with pytest.raises(KernelFaultError) as raised:
        hip.hipStreamSynchronize(0)
    assert [launch.kernel for launch in raised.value.launches] == ["second", "first", "third"]
    assert "in one of 3 kernels (AMD_SERIALIZE_KERNEL=3 tells which)" in str(raised.value)


def test_kernels_that_have_ended_are_no_suspects(hip: Any) -> None:
    kernel = hip.load_kernel(b"gfx942 code object", "old")
    address = _allocate(hip)
    hip.launch(kernel, (1,), (64,), {"x": address, "n": ctypes.c_uint(16)})
    hip.hipDeviceSynchronize()
    hip.launch(hip.load_kernel(b"gfx942 code object", "newer"), (1,), (64,), {"x": address, "n": ctypes.c_uint(999)})
    with pytest.raises(KernelFaultError) as raised:
        hip.hipDeviceSynchronize()
    assert [launch.kernel for launch in raised.value.launches] == ["newer"]


@pytest.mark.parametrize(
    ("stream", "kind", "is_suspect"),
    [(0, 2, False), (7, 2, True), (0, 1, True)],
    ids=["ended", "other-stream", "to-device"],
)
def test_a_copy_ends_only_what_it_waits_for(hip: Any, stream: int, kind: int, *, is_suspect: bool) -> None:
    """A copy to the host waits for the null stream; the kernel that fails afterwards runs in another one."""
    address, host = _allocate(hip), ctypes.create_string_buffer(SIZE)
    kernel, bad = (hip.load_kernel(b"gfx942 code object", name) for name in ("before", "bad"))
    hip.launch(kernel, (1,), (64,), {"x": address, "n": ctypes.c_uint(16)}, stream=stream)
    hip.hipMemcpy(*((host, address) if kind == 2 else (address, host)), SIZE, kind)
    hip.launch(bad, (1,), (64,), {"x": address, "n": ctypes.c_uint(999)}, stream=9)
    with pytest.raises(KernelFaultError) as raised:
        hip.hipDeviceSynchronize()
    assert ("before" in [launch.kernel for launch in raised.value.launches]) == is_suspect


def test_calls_after_a_fault_name_the_fault_as_their_cause(hip: Any) -> None:
    address = _allocate(hip)
    hip.launch(hip.load_kernel(b"gfx942 code object", "k"), (1,), (64,), {"x": address, "n": ctypes.c_uint(999)})
    with pytest.raises(KernelFaultError) as first:
        hip.hipDeviceSynchronize()
    with pytest.raises(KernelFaultError) as second:
        _allocate(hip)
    assert second.value.call == "hipMalloc"
    assert second.value.__cause__ is first.value


def test_launch_that_is_refused_raises_at_once(hip: Any) -> None:
    kernel = hip.load_kernel(b"gfx942 code object", "k")
    with pytest.raises(HipError, match=r"hipModuleLaunchKernel\(.*blockDimX=2048.*hipErrorInvalidValue"):
        hip.launch(kernel, (1,), (2048,), {"x": _allocate(hip), "n": ctypes.c_uint(1)})


def test_code_for_another_gpu_is_told(hip: Any) -> None:
    with pytest.raises(HipError, match="hipErrorNoBinaryForGpu"):
        hip.load_kernel(b"gfx1100 code object", "k")


def test_names_that_hip_does_not_have_are_attribute_errors(hip: Any) -> None:
    with pytest.raises(AttributeError, match="hipNoSuchCall"):
        _ = hip.hipNoSuchCall


def test_missing_runtime_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no HIP runtime"):
        open_hip(str(tmp_path / "libamdhip64.so.7"))


def test_addresses_inside_blocks_are_known() -> None:
    memory = Memory()
    memory.add(4096, 256)
    memory.add(8192, 16)
    assert memory.describe(4096 + 255, 1) == ""
    assert memory.describe(4096 + 256) == "this is the end of a block of 256 bytes"
    assert memory.describe(4096 + 128, 200) == "only 128 bytes are allocated from there, 200 are used"
    assert memory.describe(100_000) == ""  # others may have allocated it
    memory.remove(4096, "a.py:1")
    assert memory.describe(4096 + 8) == "this memory was freed at a.py:1"
    memory.add(4096, 64)
    assert memory.describe(4096 + 8) == ""


def test_debians_runtime_without_a_gpu_raises_no_device() -> None:
    try:
        hip: Any = open_hip()
    except FileError as fault:
        pytest.skip(f"{fault.message}; Debian's libamdhip64-7 has one")
    number = ctypes.c_int(-1)
    if hip._library.hipGetDeviceCount(ctypes.byref(number)) == 0:
        pytest.skip("there is a GPU")
    with pytest.raises(HipError, match=r"hipGetDeviceCount\(count=<CArgObject>\): hipErrorNoDevice \(100"):
        hip.hipGetDeviceCount(ctypes.byref(number))
    with pytest.raises(HipError, match=r"hipMalloc\(.*size=64\): hipErrorNoDevice"):  # and not a PendingError
        _allocate(hip, 64)
    version = ctypes.c_int()
    hip.hipRuntimeGetVersion(ctypes.byref(version))
    assert version.value >= 60_000_000
