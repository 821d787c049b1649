"""A fake GPU that executes nothing → microseconds of CPU a call of rms_norm, by each way to it; and of import torch.

`ROCKILN_TEST_PACKS=build/torch-packs python tests/bench/call_cost.py`. Differences within one run are what counts: the
machine is shared. "bare" is rockiln_run_plan alone, by ctypes, of a plan that is there already.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "framework")]
sys.path.append(str(HERE.parents[3] / "rockiln-kernels" / "tests"))

import torch  # noqa: E402

from fake_gpu.card import find_packs, use_card  # noqa: E402
from rockiln_kernels.dispatch import Argument, install  # noqa: E402
from rockiln_kernels.dispatch.abi import RunStruct  # noqa: E402
from rockiln_torch import ops  # noqa: E402

ROUNDS, CALLS = 15, 2000


def measure(call: Callable[[], object]) -> float:
    """Microseconds of CPU of this thread a call: the least of some rounds."""
    for _ in range(200):
        call()
    times = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(CALLS):
            call()
        times.append((time.thread_time() - start) / CALLS * 1e6)
    return min(times)


def make_bare(x: torch.Tensor, weight: torch.Tensor, y: torch.Tensor) -> Callable[[], object]:
    """The launch of a found plan, and nothing else."""
    arguments = [Argument(address=t.data_ptr(), shape=tuple(t.shape), dtype="bf16") for t in (x, weight)]
    plan = install().find_plan("rms_norm", arguments)
    inputs, outputs = (ctypes.c_void_p * 2)(x.data_ptr(), weight.data_ptr()), (ctypes.c_void_p * 1)(y.data_ptr())
    run = RunStruct(
        struct_bytes=ctypes.sizeof(RunStruct), input_count=2, output_count=1, inputs=inputs, outputs=outputs
    )
    launch, handle, place = plan.library.rockiln_run_plan, plan.handle, ctypes.byref(run)
    return lambda: (launch(handle, place), plan)


def make_custom_op() -> Callable[..., torch.Tensor]:
    """torch's own way to an op in Python, which does nothing but to make its output."""

    @torch.library.custom_op("rockiln_bench::rms_norm", mutates_args=())
    def norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:  # noqa: ARG001
        return torch.empty_like(x)

    norm.register_fake(lambda x, weight, eps: torch.empty_like(x))  # noqa: ARG005
    norm.register_autograd(lambda ctx, slope: (slope, None, None))  # noqa: ARG005
    return norm


def measure_calls() -> dict[str, float]:
    """Every way → microseconds."""
    x, weight, y = (torch.randn(4, 1024).bfloat16(), torch.randn(1024).bfloat16(), torch.zeros(4, 1024).bfloat16())
    room = torch.zeros(4 * 1024 * 2 + 256, dtype=torch.uint8)
    y = room[-room.data_ptr() % 256 :][: 4 * 1024 * 2].view(torch.bfloat16).view(4, 1024)
    custom, op, out = make_custom_op(), torch.ops.rockiln.rms_norm.default, torch.ops.rockiln.rms_norm_out.default
    with use_card("gfx942", find_packs() / "gfx942" / "pack", emulates=False) as card:
        times = {
            "bare launch": measure(make_bare(x, weight, y)),
            "torch.ops.rockiln.rms_norm_out": measure(lambda: out(x, weight, y=y)),
            "torch.ops.rockiln.rms_norm": measure(lambda: op(x, weight)),
            "rockiln_torch.ops.rms_norm": measure(lambda: ops.rms_norm(x, weight)),
            "an empty torch.library.custom_op": measure(lambda: custom(x, weight, 1e-6)),
        }
        assert card.count("launches") > 4 * ROUNDS * CALLS
    return times


def measure_import(count: int = 20) -> float:
    """Median milliseconds of CPU that torch's entry point spends in the plugin, after the rest of `import torch`."""
    code = (
        "import time, torch; start = time.thread_time()\n"
        "from rockiln_torch_autoload import autoload; autoload(); print((time.thread_time() - start) * 1e3)"
    )
    environ = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PATH": "/usr/bin:/bin"}
    times = []
    for _ in range(count):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
        times.append(float(done.stdout))
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    times = measure_calls()
    bare = times["bare launch"]
    lines = [f"torch {torch.__version__}", "", "| call | µs of CPU | over the bare launch |", "| --- | --- | --- |"]
    lines += [f"| {name} | {value:.1f} | {value - bare:+.1f} |" for name, value in times.items()]
    lines += ["", f"import torch: {measure_import():.1f} ms of CPU more with the plugin (median of 20)"]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
