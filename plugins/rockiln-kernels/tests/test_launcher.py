"""librockiln against a fake HIP: what it refuses before a launch, what it says, what it loads and when."""

from __future__ import annotations

import ctypes
import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fake_hip.libraries import build_launcher
from fake_hip.machine import FakeHip
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.launcher import Launcher, LaunchError, LoadedKernel, LoadedPack, Status, open_library
from rockiln_kernels.pack.build import Pack, build_pack, hash_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.index import dump_index
from rockiln_kernels.pack.intact import INDEX_NAME, seal_index
from rockiln_kernels.pack.manifest import Manifest
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants

ARCH = ARCHS["gfx942"]
STREAM = 0x5000


@pytest.fixture(scope="module")
def pack() -> Pack:
    variants = [item for item in make_family_variants("rms_norm", ARCH) if item.key == "rms_norm/bf16/row1024"]
    return build_pack(ARCH, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.fixture
def folder(pack: Pack, tmp_path: Path) -> Path:
    write_pack(pack, tmp_path / "pack")
    return tmp_path / "pack"


@pytest.fixture
def hip() -> FakeHip:
    return FakeHip(devices=2, emulates=False)


@pytest.fixture
def kernel(hip: FakeHip, folder: Path, pack: Pack) -> LoadedKernel:
    [key] = pack.manifest.kernels
    return hip.open_launcher().open_pack(folder).find_kernel(key)


@pytest.fixture
def values(pack: Pack) -> list[tuple[str, float]]:
    [entry] = pack.manifest.kernels.values()
    return [(arg.kind, 4096 if arg.kind == "pointer" else 16) for arg in entry.args if arg.kind != "null"]


def _refuse(kernel: LoadedKernel, values: list[tuple[str, float]], grid: tuple[int, ...] = (1, 1, 1)) -> LaunchError:
    with pytest.raises(LaunchError) as caught:
        kernel.launch(grid, values, op="rms_norm", shapes="x=bf16[4,1024]", device=0)
    return caught.value


def _place(pack: Pack, name: str) -> int:
    [entry] = pack.manifest.kernels.values()
    return [arg.name for arg in entry.args].index(name)


def test_a_launch_reaches_the_driver_once(hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    kernel.launch((3, 1, 1), values)
    kernel.launch((3, 1, 1), values)
    assert (hip.count("loads"), hip.count("launches")) == (1, 2)


def test_no_workgroups_launch_nothing(hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    kernel.launch((3, 0, 1), values)
    assert hip.count("launches") == 0


def test_a_wrong_number_of_arguments_is_refused(kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    error = _refuse(kernel, values[:-1])
    assert error.status is Status.BAD_ARGUMENT
    assert f"{len(values) - 1} arguments, not {len(values)}" in str(error)


def test_a_refusal_names_op_kernel_arch_device_and_shapes(
    kernel: LoadedKernel, values: list[tuple[str, float]]
) -> None:
    start = f"rms_norm ({kernel.key}, gfx942, device 0) [x=bf16[4,1024]]: "
    assert str(_refuse(kernel, values[1:])).startswith(start)


def test_an_argument_of_another_kind_is_refused(
    pack: Pack, kernel: LoadedKernel, values: list[tuple[str, float]]
) -> None:
    place = _place(pack, "x")
    values[place] = ("i64", 4096)
    assert f"argument {place} (x) is i64, not pointer" in str(_refuse(kernel, values))


def test_a_misaligned_pointer_is_refused(pack: Pack, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    values[_place(pack, "x")] = ("pointer", 4098)
    assert "(x): address 4098 is no multiple of 16, which the code relies on" in str(_refuse(kernel, values))


def test_a_ragged_length_is_refused(pack: Pack, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    values[_place(pack, "N")] = ("i32", 24)
    assert "(N): value 24 is no multiple of 16" in str(_refuse(kernel, values))


@pytest.mark.parametrize("value", [2**31, -(2**31) - 16, 2**40])
def test_a_number_beyond_32_bits_is_refused(
    pack: Pack, kernel: LoadedKernel, values: list[tuple[str, float]], value: int
) -> None:
    values[_place(pack, "N")] = ("i32", value)
    assert f"{value} does not fit into 32 bits" in str(_refuse(kernel, values))


@pytest.mark.parametrize("grid", [(2**31, 1, 1), (1, 65537, 1), (1, 1, 65537), (2**25, 1, 1)])
def test_a_grid_beyond_the_devices_limits_is_refused(
    kernel: LoadedKernel, values: list[tuple[str, float]], grid: tuple[int, ...]
) -> None:
    assert _refuse(kernel, values, grid).status is Status.LIMIT


@pytest.mark.parametrize("grid", [(2**32 + 1, 1, 1), (1, 2**33, 1), (1, 1, -1)])
def test_a_grid_beyond_32_bits_is_refused_and_not_cut(
    hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]], grid: tuple[int, int, int]
) -> None:
    with pytest.raises(LaunchError, match=f"a grid of {grid[0]} x {grid[1]} x {grid[2]} workgroups") as caught:
        kernel.launch(grid, values)
    assert caught.value.status == Status.LIMIT
    assert hip.count("launches") == 0


def test_more_lds_or_threads_than_the_device_has_are_refused(
    hip: FakeHip, pack: Pack, folder: Path, values: list[tuple[str, float]]
) -> None:
    [(key, entry)] = pack.manifest.kernels.items()
    for change, words in (({"shared_bytes": 65537}, "65537 bytes of LDS"), ({"threads": 2048}, "2048 threads")):
        manifest = replace(pack.manifest, kernels={key: replace(entry, **change)})
        (folder / INDEX_NAME).write_bytes(dump_index(manifest))
        error = _refuse(hip.open_launcher().open_pack(folder).find_kernel(key), values)
        assert error.status is Status.LIMIT
        assert words in str(error)


def test_a_pack_for_another_arch_is_refused_by_name(folder: Path, pack: Pack, values: list[tuple[str, float]]) -> None:
    [key] = pack.manifest.kernels
    error = _refuse(FakeHip("gfx90a").open_launcher().open_pack(folder).find_kernel(key), values)
    assert error.status is Status.WRONG_ARCH
    assert "the pack is for gfx942, the device is gfx90a" in str(error)


def test_each_device_loads_a_kernel_for_itself_and_the_current_one_stays(
    hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]
) -> None:
    for device in (1, 0, 1):
        kernel.launch((1, 1, 1), values, device=device)
    assert hip.count("loads") == 2
    current = ctypes.c_int(-1)
    hip.library.hipGetDevice(ctypes.byref(current))
    assert current.value == 0


def test_a_device_that_is_not_there_is_named(kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    with pytest.raises(LaunchError, match="invalid device ordinal") as caught:
        kernel.launch((1, 1, 1), values, device=2)
    assert caught.value.status is Status.NO_DEVICE


def test_no_gpu_is_said(folder: Path) -> None:
    launcher = FakeHip(devices=0).open_launcher()
    with pytest.raises(LaunchError, match="no ROCm-capable device is detected") as caught:
        launcher.count_devices()
    assert caught.value.status is Status.NO_DEVICE
    launcher.open_pack(folder)  # a pack can be read without one


def test_a_first_launch_while_capturing_is_refused_with_what_to_do(
    hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]
) -> None:
    hip.begin_capture(STREAM)
    with pytest.raises(LaunchError, match="call rockiln_preload, or run once, before the capture") as caught:
        kernel.launch((1, 1, 1), values, stream=STREAM)
    assert caught.value.status is Status.CAPTURING
    hip.end_capture(STREAM)


def test_a_preloaded_kernel_is_captured(hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    kernel.preload()
    hip.begin_capture(STREAM)
    kernel.launch((1, 1, 1), values, stream=STREAM)
    hip.end_capture(STREAM)
    assert (hip.count("loads"), hip.count("launches")) == (1, 1)


def test_a_failed_load_is_told_and_tried_again(
    hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]
) -> None:
    hip.library.fake_hip_fail_loads(1)
    error = _refuse(kernel, values)
    assert error.status is Status.DRIVER
    assert "hipModuleLoadData: " in str(error)
    kernel.launch((1, 1, 1), values)


def test_many_threads_load_a_kernel_once(hip: FakeHip, kernel: LoadedKernel, values: list[tuple[str, float]]) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: kernel.launch((1, 1, 1), values), range(64)))
    assert (hip.count("loads"), hip.count("launches")) == (1, 64)


def test_a_closed_pack_unloads_its_modules(hip: FakeHip, folder: Path, values: list[tuple[str, float]]) -> None:
    before = hip.count("modules")
    opened = hip.open_launcher().open_pack(folder)
    key = next(iter(folder.glob("*.hsaco"))).stem
    opened.find_kernel(key).launch((1, 1, 1), values)
    assert hip.count("modules") == before + 1
    del opened
    assert hip.count("modules") == before


def test_an_opened_pack_names_its_arch_and_hash(hip: FakeHip, folder: Path) -> None:
    opened: LoadedPack = hip.open_launcher().open_pack(folder)
    assert (opened.arch, opened.sha256) == ("gfx942", hash_pack(folder))
    with pytest.raises(LaunchError, match="has no kernel nothing") as caught:
        opened.find_kernel("nothing")
    assert caught.value.status is Status.UNKNOWN_KERNEL


def test_a_damaged_code_object_is_refused(hip: FakeHip, folder: Path, values: list[tuple[str, float]]) -> None:
    [code] = folder.glob("*.hsaco")
    code.write_bytes(code.read_bytes()[:-1])
    error = _refuse(hip.open_launcher().open_pack(folder).find_kernel(code.stem), values)
    assert error.status is Status.BAD_PACK
    assert "the pack is damaged" in str(error)


def test_code_with_a_changed_byte_is_refused_by_name(
    hip: FakeHip, folder: Path, values: list[tuple[str, float]]
) -> None:
    [code] = folder.glob("*.hsaco")
    whole = code.read_bytes()
    for place in range(0, len(whole), 501):
        code.write_bytes(_flip(whole, place))
        error = _refuse(hip.open_launcher().open_pack(folder).find_kernel(code.stem), values)
        assert error.status is Status.BAD_PACK
        assert f"{code} has other bytes than its sha256 says: the pack is damaged" in str(error)
    assert hip.count("loads") == 0
    code.write_bytes(whole)
    hip.open_launcher().open_pack(folder).find_kernel(code.stem).launch((1, 1, 1), values)


@pytest.mark.parametrize("size", [1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 100_003])
def test_a_files_sha256_is_that_of_any_length(
    hip: FakeHip, pack: Pack, folder: Path, values: list[tuple[str, float]], size: int
) -> None:
    [(key, entry)] = pack.manifest.kernels.items()
    code = b"\xa5" * size
    for digest, status in ((hashlib.sha256(code), Status.DRIVER), (hashlib.sha256(b""), Status.BAD_PACK)):
        changed = replace(entry, size_bytes=size, sha256=digest.hexdigest())
        (folder / INDEX_NAME).write_bytes(dump_index(replace(pack.manifest, kernels={key: changed})))
        (folder / entry.file).write_bytes(code)
        assert _refuse(hip.open_launcher().open_pack(folder).find_kernel(key), values).status is status


def test_every_cut_and_every_changed_byte_of_an_index_are_refused(hip: FakeHip, folder: Path) -> None:
    launcher = hip.open_launcher()
    whole = (folder / INDEX_NAME).read_bytes()
    for length in range(0, len(whole), 7):
        (folder / INDEX_NAME).write_bytes(whole[:length])
        with pytest.raises(LaunchError):
            launcher.open_pack(folder)
    for place in range(len(whole)):
        (folder / INDEX_NAME).write_bytes(_flip(whole, place))
        with pytest.raises(LaunchError) as caught:
            launcher.open_pack(folder)
        assert caught.value.status is Status.BAD_PACK


def test_an_index_with_a_sha256_that_fits_is_not_trusted_either(hip: FakeHip, folder: Path) -> None:
    launcher = hip.open_launcher()
    whole = (folder / INDEX_NAME).read_bytes()
    cut = [whole[:length] for length in range(104, len(whole), 7)]
    for content in (*cut, *(_flip(whole, place) for place in range(len(whole)))):
        (folder / INDEX_NAME).write_bytes(seal_index(content[:72], content[104:]))
        with suppress(LaunchError):  # a changed name or number can be valid; nothing else may come of it
            launcher.open_pack(folder)


def _flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def test_the_index_is_the_manifests(pack: Pack) -> None:
    manifest: Manifest = pack.manifest
    assert dump_index(manifest) != dump_index(replace(manifest, lld="1"))  # it holds the manifest's hash


def test_a_missing_runtime_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKILN_HIP_LIBRARY", "libnothing.so.7")
    with pytest.raises(LaunchError, match=r"libnothing\.so\.7.*name it in ROCKILN_HIP_LIBRARY") as caught:
        Launcher(library=build_launcher())
    assert caught.value.status is Status.NO_RUNTIME


def test_the_environment_names_the_runtime(monkeypatch: pytest.MonkeyPatch, hip: FakeHip) -> None:
    monkeypatch.setenv("ROCKILN_HIP_LIBRARY", str(hip.path))
    assert Launcher(library=build_launcher()).read_device(1).arch == "gfx942"


def test_a_library_that_is_no_driver_is_refused() -> None:
    with pytest.raises(LaunchError, match="has no hipInit"):
        Launcher(driver=str(build_launcher()), library=build_launcher())


def test_a_missing_librockiln_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"pip install -e plugins/rockiln-kernels needs g\+\+"):
        open_library(tmp_path / "librockiln.so")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ValueError, match="backend 'rocm' is not one of hip, cuda"):
        Launcher(backend="rocm")  # type: ignore[arg-type]  # what is tested
