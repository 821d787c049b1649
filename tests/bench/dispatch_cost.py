"""What a dispatched call costs beyond the bare launch, over the fake HIP, nothing executed → lines on stdout.

    python tests/bench/dispatch_cost.py    # where rockiln-kernels[build,test] is installed, with a compiler
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from ctypes import byref, c_double, c_int64, c_void_p
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "plugins" / "rockiln-kernels"
sys.path.insert(0, str(KERNELS / "tests"))

from fake_hip.dispatching import EMULATED  # noqa: E402
from fake_hip.libraries import build_launcher  # noqa: E402
from fake_hip.machine import FakeHip  # noqa: E402
from rockiln_kernels.archs import ARCHS  # noqa: E402
from rockiln_kernels.dispatch import Argument, Dispatcher, Settings, install, read_api_address  # noqa: E402
from rockiln_kernels.dispatch.abi import ArrayStruct, CallStruct, RunStruct  # noqa: E402
from rockiln_kernels.launcher import CallStruct as LaunchStruct  # noqa: E402
from rockiln_kernels.launcher import ValueStruct, make_value  # noqa: E402
from rockiln_kernels.pack.build import build_pack, write_pack  # noqa: E402
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder  # noqa: E402
from rockiln_kernels.pack.manifest import read_manifest  # noqa: E402
from rockiln_kernels.pack.toolchain import find_toolchain  # noqa: E402
from rockiln_kernels.table import make_family_variants  # noqa: E402

NAMES = ("bare launch", "find a plan", "run a plan", "find and run")
SHAPE = (4, 1024)
ADDRESSES = (0x10000, 0x20000, 0x30000)


def build_program(folder: Path) -> ctypes.CDLL:
    """dispatch_cost.cc as a library."""
    source, built = Path(__file__).with_suffix(".cc"), folder / "dispatch_cost.so"
    subprocess.run(["g++", "-std=c++17", "-O2", "-fPIC", "-shared", str(source), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def measure_native(program: ctypes.CDLL, dispatcher: Dispatcher, hip: FakeHip, pack: Path) -> list[float]:
    """Nanoseconds, in the order of NAMES."""
    kernel = hip.open_launcher().open_pack(pack).find_kernel(next(pack.glob("*.hsaco")).stem)
    numbers = {"pointer": 0x10000, "f32": 1.0}
    [entry] = read_manifest(pack).kernels.values()
    values = [make_value(arg.kind, numbers.get(arg.kind, 1024)) for arg in entry.args if arg.kind != "null"]
    array = (ValueStruct * len(values))(*values)
    bare = LaunchStruct(
        struct_bytes=ctypes.sizeof(LaunchStruct), device=0, kernel=kernel.handle, grid=(4, 1, 1),
        value_count=len(values), values=array,
    )  # fmt: skip
    op = c_void_p()
    dispatcher.library.rockiln_find_op(b"rms_norm", byref(op))
    inputs = (ArrayStruct * 2)(
        ArrayStruct(data=ADDRESSES[0], shape=(c_int64 * 2)(*SHAPE), rank=2, dtype=3),
        ArrayStruct(data=ADDRESSES[1], shape=(c_int64 * 1)(SHAPE[1]), rank=1, dtype=3),
    )
    call = CallStruct(struct_bytes=ctypes.sizeof(CallStruct), device=0, op=op, inputs=inputs, input_count=2)
    run = RunStruct(
        struct_bytes=ctypes.sizeof(RunStruct), input_count=2, output_count=1,
        inputs=(c_void_p * 2)(*ADDRESSES[:2]), outputs=(c_void_p * 1)(ADDRESSES[2]),
    )  # fmt: skip
    out = (c_double * len(NAMES))()
    launch = ctypes.cast(dispatcher.library.rockiln_launch, c_void_p)
    status = program.measure_dispatch(
        c_void_p(read_api_address()), launch, byref(bare), byref(call), byref(run), out
    )
    assert status == 0, dispatcher.library.rockiln_last_error()
    return list(out)


def measure_python(work: Callable[[], object], calls: int = 2000) -> float:
    """Microseconds a call, the best of ten batches."""
    best = 1e9
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls * 1e6)
    return best


def main() -> None:
    """Build, measure, print."""
    arch = ARCHS["gfx942"]
    variants = [item for item in make_family_variants("rms_norm", arch) if item.key == "rms_norm/bf16/row1024"]
    pack = build_pack(arch, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "pack"
        write_pack(pack, folder)
        hip = FakeHip(emulates=False)
        settings = Settings(driver=str(hip.path), library=build_launcher(), packs={"gfx942": folder}, environ=EMULATED)
        dispatcher = install(settings)
        natives = measure_native(build_program(Path(temporary)), dispatcher, hip, folder)
        for name, taken_ns in zip(NAMES, natives, strict=True):
            sys.stdout.write(f"{name}: {taken_ns / 1000:.3f} us\n")
        x = Argument(address=ADDRESSES[0], shape=SHAPE, dtype="bf16")
        inputs = [x, Argument(address=ADDRESSES[1], shape=SHAPE[1:], dtype="bf16")]
        plan = dispatcher.find_plan("rms_norm", inputs)
        found = measure_python(lambda: dispatcher.find_plan("rms_norm", inputs))
        ran = measure_python(lambda: plan.run(ADDRESSES[:2], ADDRESSES[2:]))
        sys.stdout.write(f"find a plan by ctypes: {found:.1f} us\nrun a plan by ctypes: {ran:.1f} us\n")

        def miss() -> None:
            dispatcher.library.rockiln_clear_plans()
            dispatcher.find_plan("rms_norm", inputs)

        sys.stdout.write(f"plan anew: {measure_python(miss, 200):.0f} us\n")


if __name__ == "__main__":
    main()
