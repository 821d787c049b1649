"""Notes on exceptions that tell of a HIP error: of any framework, with the launches that a plugin knows of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hipcompat
from hipcompat.runtime import enable, explain_error, note_errors
from hipcompat.runtime.hip import HipError
from hipcompat.runtime.notes import FAULTS

SAID = (
    ("HIP error: an illegal memory access was encountered\nHIP kernel errors might be ...", "hipErrorIllegalAddress"),
    ("INTERNAL: Failed to launch: HIP_ERROR_IllegalAddress", "hipErrorIllegalAddress"),
    ("HIP runtime error: no kernel image is available for execution on the device", "hipErrorNoBinaryForGpu"),
    ("hipErrorNoDevice", "hipErrorNoDevice"),
    ("No HIP GPUs; HIP error: no ROCm-capable device is detected", "hipErrorNoDevice"),
    ("HIP error: device-side assert triggered", "hipErrorAssert"),
    ("hipErrorUnknown, then hipErrorLaunchFailure", "hipErrorLaunchFailure"),
)


@pytest.mark.parametrize(("text", "name"), SAID)
def test_each_frameworks_words_are_understood(text: str, name: str) -> None:
    assert explain_error(RuntimeError(text)).startswith(f"hipcompat: {name} ({FAULTS[name][0]}, ")


@pytest.mark.parametrize(
    "text", ["", "CUDA error: an illegal memory access was encountered", "invalid argument", "HIP out of memory",
             "SHIP error: invalid argument", "hipErrorNotReady"],
)  # fmt: skip
def test_of_anything_else_nothing_is_said(text: str) -> None:
    assert explain_error(RuntimeError(text)) == ""


def test_an_exception_of_ours_says_it_all_already() -> None:
    assert explain_error(HipError("hipMalloc", 100, "hipErrorNoDevice", "no ROCm-capable device is detected")) == ""


def test_a_block_adds_the_note_to_the_same_exception_once_with_the_launches() -> None:
    error = ValueError("HIP error: unspecified launch failure")

    def fail() -> None:
        with note_errors(lambda: ["paged_attention on gfx942", "rms_norm on gfx942"]), note_errors():
            raise error

    with pytest.raises(ValueError, match="unspecified") as caught:
        fail()
    assert caught.value is error
    (note,) = error.__notes__
    assert "AMD_SERIALIZE_KERNEL=3" in note


def test_launches_are_asked_late_and_their_faults_swallowed() -> None:
    asked: list[str] = []

    def list_launches() -> list[str]:
        asked.append("asked")
        return ["rms_norm, grid (4096, 1, 1), at model.py:7"]

    def fail() -> list[str]:
        raise OSError("the plugin is gone")

    with enable(launches=list_launches), enable(launches=fail):
        assert asked == []
        told = explain_error(RuntimeError("hipErrorIllegalAddress"))
        assert explain_error(RuntimeError("hipErrorNoDevice")).count("\n") == 0
    assert told.endswith("kernels launched lately, the last one first:\n  rms_norm, grid (4096, 1, 1), at model.py:7")
    assert asked == ["asked"]
    assert "lately" not in explain_error(RuntimeError("hipErrorIllegalAddress"))


def test_a_strangers_exception_that_cannot_be_shown_is_no_fault_of_ours() -> None:
    class Odd(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert explain_error(Odd()) == ""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_uncaught_it_is_shown_with_the_note(where: str) -> None:
    fail = "def fail(): raise RuntimeError('HIP error: an illegal memory access was encountered')\n"
    run = {"main": "fail()\n", "thread": "t = threading.Thread(target=fail); t.start(); t.join()\n"}[where]
    code = f"import threading\nfrom hipcompat.runtime import enable\nenable(launches=lambda: ['softmax'])\n{fail}{run}"
    environment = {"PYTHONPATH": str(Path(hipcompat.__file__).parents[1]), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if where == "main" else 0)
    assert "Error: HIP error: an illegal memory access was encountered\nhipcompat: hipErrorIllegal" in done.stderr
    assert done.stderr.rstrip().endswith("softmax")
