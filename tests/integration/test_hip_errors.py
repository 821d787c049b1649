"""hipcompat's HIP by ctypes over Debian's real runtime, without a GPU. It comes from suites that move: nightly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hip_runtime import LIBRARIES, unpack_hip
from real_debs import ROOT

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="moving suites: ROCKILN_NIGHTLY=1 runs it"),
]
ASK = """
import ctypes, hipcompat
from hipcompat.runtime.hip import HipError
hip = hipcompat.open_hip()
version = ctypes.c_int()
hip.hipRuntimeGetVersion(ctypes.byref(version))
print(version.value // 10_000_000)
address = ctypes.c_void_p()
for ask in (
    lambda: hip.hipGetDeviceCount(ctypes.byref(ctypes.c_int())),
    lambda: hip.hipMalloc(ctypes.byref(address), 64),
    lambda: hip.hipMemcpy(ctypes.c_void_p(), b"x", 1, 1),
    lambda: hip.hipDeviceSynchronize(),
    lambda: hip.load_kernel(b"no code object", "rms_norm"),
):
    try:
        print("answered", ask())
    except HipError as error:
        print(type(error).__name__, error.call, error.code, error.name, error.text, sep="|")
"""

PHRASES = """
import ctypes, json
library = ctypes.CDLL("libamdhip64.so.7")
library.hipGetErrorName.restype = library.hipGetErrorString.restype = ctypes.c_char_p
from hipcompat.runtime.notes import FAULTS
print(json.dumps([[library.hipGetErrorName(code).decode(), library.hipGetErrorString(code).decode()]
                  for code, _, _ in FAULTS.values()]))
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Debian's libamdhip64 and all that it needs, its own libc included."""
    return unpack_hip(tmp_path_factory.mktemp("hip") / "tree", ROOT / "build" / "hip-runtime").path / LIBRARIES


def ask(libraries: Path, script: str) -> str:
    """What the script prints, run over these libraries."""
    python = Path(sys.executable).resolve()
    done = subprocess.run(
        [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(python), "-c", script],
        env={"PYTHONPATH": str(ROOT / "compat/src"), "PYTHONHOME": str(python.parents[1]), "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return done.stdout


def test_names_and_phrases_by_which_errors_are_known_are_the_librarys(libraries: Path) -> None:
    sys.path.insert(0, str(ROOT / "compat" / "src"))
    try:
        from hipcompat.runtime.notes import FAULTS
    finally:
        sys.path.remove(str(ROOT / "compat" / "src"))
    wanted = [[name, phrase] for name, (_, phrase, _) in FAULTS.items()]
    assert json.loads(ask(libraries, PHRASES)) == wanted


def test_debians_runtime_says_no_device_for_each_call_and_blames_no_other(libraries: Path) -> None:
    version, *answers = ask(libraries, ASK).splitlines()
    calls = ("hipGetDeviceCount", "hipMalloc", "hipMemcpy", "hipDeviceSynchronize", "hipModuleLoadData")
    assert version == "7"
    assert answers == [
        f"HipError|{call}|100|hipErrorNoDevice|no ROCm-capable device is detected" for call in calls
    ]  # fmt: skip
