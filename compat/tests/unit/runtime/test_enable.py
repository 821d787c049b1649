"""enable(): nothing but what was asked for, named in the handle, shared between handles, and gone after undo()."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hipcompat
from hipcompat.runtime import Hook, enable, hooks

SOURCE = str(Path(hipcompat.__file__).parents[1])


@pytest.fixture(autouse=True)
def unannounced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(hooks, "_announced", set())
    before = sys.excepthook, threading.excepthook, list(sys.meta_path), sys.modules.get("pynvml")
    yield
    assert (sys.excepthook, threading.excepthook, list(sys.meta_path), sys.modules.get("pynvml")) == before


@pytest.fixture
def amdsmi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", ModuleType("amdsmi"))


def test_alone_it_hooks_uncaught_exceptions_and_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.excepthook
    handle = enable()
    assert [hook.target for hook in handle.hooked] == ["sys.excepthook", "threading.excepthook"]
    assert handle.skipped == ()
    assert sys.excepthook is not before
    handle.undo()
    handle.undo()
    assert sys.excepthook is before
    assert not handle.is_active
    assert capsys.readouterr().err == ""


def test_nothing_asked_is_nothing_hooked() -> None:
    handle = enable(errors=False)
    assert (handle.hooked, handle.skipped, handle.is_active, handle.explain()) == ((), (), False, "")


@pytest.mark.usefixtures("amdsmi")
def test_a_part_stays_until_its_last_handle_is_undone_and_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = enable(pynvml=True), enable(errors=False, pynvml=True)
    shim = sys.modules["pynvml"]
    assert vars(shim)["__version__"] == "hipcompat"
    assert second.hooked == (Hook("pynvml", "sys.modules['pynvml']", second.hooked[0].what),)
    first.undo()
    assert sys.modules["pynvml"] is shim
    second.undo()
    assert capsys.readouterr().err == "hipcompat: pynvml is answered by amdsmi in this process\n"


@pytest.mark.usefixtures("amdsmi")
@pytest.mark.parametrize("before", [None, "module"])
def test_undo_gives_back_the_pynvml_that_was_there(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "pynvml", os)
    with enable(pynvml=True):
        assert vars(sys.modules["pynvml"])["__version__"] == "hipcompat"
    assert sys.modules.get("pynvml") is (os if before else None)
    monkeypatch.undo()


@pytest.mark.usefixtures("amdsmi")
def test_what_somebody_else_has_put_over_ours_is_left_alone() -> None:
    before = sys.excepthook, sys.modules.get("pynvml")
    handle = enable(pynvml=True)
    ours, other = sys.excepthook, ModuleType("pynvml")

    def shown(*args: Any) -> None:
        ours(*args)

    sys.excepthook, sys.modules["pynvml"] = shown, other
    handle.undo()
    try:
        assert sys.excepthook is shown
        assert sys.modules["pynvml"] is other
        error = RuntimeError("HIP error: invalid device ordinal")
        sys.excepthook(RuntimeError, error, None)
        assert not hasattr(error, "__notes__")
    finally:
        sys.excepthook = before[0]
        del sys.modules["pynvml"]
        sys.modules |= {"pynvml": before[1]} if before[1] else {}


def test_without_amdsmi_the_part_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", None)  # type: ignore[arg-type]  # as Python marks what must not be imported
    monkeypatch.delitem(sys.modules, "amdsmi")
    monkeypatch.setattr(sys, "path", [SOURCE])
    with enable(pynvml=True) as handle:
        assert [one.part for one in handle.skipped] == ["pynvml"]
        assert "pynvml: not in place: amdsmi is not installed" in handle.explain()


def _make_torch(folder: Path, hip: str | None) -> None:
    (folder / "torch" / "utils").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text("from torch import version\n")
    (folder / "torch" / "version.py").write_text(f"hip = {hip!r}\n")
    (folder / "torch" / "utils" / "__init__.py").write_text("")
    (folder / "torch" / "utils" / "cpp_extension.py").write_text(
        "def CUDAExtension(name, sources, **keywords):\n    return name, sources, keywords\n"
    )


@pytest.fixture
def torch_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path; a torch of its own is forgotten afterwards, and the real one remembered."""
    kept = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}
    for name in kept:
        del sys.modules[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield tmp_path / "site"
    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        del sys.modules[name]
    sys.modules.update(kept)


@pytest.mark.parametrize("is_early", [True, False], ids=["before the import", "after it"])
def test_cuda_extension_is_hipcompats_on_a_hip_build_and_torchs_again(is_early: bool, torch_path: Path) -> None:
    _make_torch(torch_path, "7.0.51831")
    Path("k.cu").write_text("void f() { cudaDeviceSynchronize(); }\n")
    if not is_early:
        import_module("torch.utils.cpp_extension")
    handle = enable(errors=False, extensions=True)
    assert ("torch.utils.cpp_extension" in sys.modules) is not is_early
    cpp_extension: Any = import_module("torch.utils.cpp_extension")
    name, sources, keywords = cpp_extension.CUDAExtension("k", ["k.cu"], extra_compile_args={"nvcc": ["-O2"]})
    assert (name, sources) == ("k", ["build/hipcompat/k.hip"])
    assert "-O2" in keywords["extra_compile_args"]["nvcc"]
    handle.undo()
    assert cpp_extension.CUDAExtension("k", ["k.cu"]) == ("k", ["k.cu"], {})


def test_undone_before_torch_is_imported_nothing_is_changed(torch_path: Path) -> None:
    _make_torch(torch_path, "7.0.51831")
    enable(errors=False, extensions=True).undo()
    cpp_extension: Any = import_module("torch.utils.cpp_extension")
    assert cpp_extension.CUDAExtension("k", ["k.cu"]) == ("k", ["k.cu"], {})


def test_a_torch_without_hip_keeps_its_own_and_says_why(torch_path: Path) -> None:
    _make_torch(torch_path, None)
    with enable(errors=False, extensions=True) as early:
        assert not early.skipped
        cpp_extension: Any = import_module("torch.utils.cpp_extension")
        assert cpp_extension.CUDAExtension("k", ["k.cu"]) == ("k", ["k.cu"], {})
    with enable(errors=False, extensions=True) as late:
        assert [one.reason for one in late.skipped] == [
            "this torch is no HIP build: its CUDAExtension stays what it is"
        ]


def test_importing_it_loads_nothing_that_a_framework_would_wait_for() -> None:
    code = "import sys, hipcompat.runtime\nprint(*sys.modules)"
    environment = {"PYTHONPATH": SOURCE, "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-S", "-c", code]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"dataclasses", "inspect", "ctypes", "json", "argparse", "subprocess", "tempfile", "csv"}
    assert {name for name in loaded if name.startswith("hipcompat")} == {
        "hipcompat", "hipcompat.runtime", "hipcompat.runtime.hooks", "hipcompat.runtime.notes",
    }  # fmt: skip


def test_import_and_enable_take_less_than_ten_milliseconds() -> None:
    code = (
        "import sys, time, typing, re, threading, contextlib  # which every framework has loaded\n"
        "before = time.process_time()\nfrom hipcompat.runtime import enable\nenable()\n"
        "print(1000 * (time.process_time() - before))"
    )
    environment = {"PYTHONPATH": SOURCE, "PATH": os.environ["PATH"]}
    argv = [sys.executable, "-S", "-c", code]
    runs = (subprocess.run(argv, env=environment, capture_output=True, text=True, check=True) for _ in range(5))
    assert min(float(done.stdout) for done in runs) < 10
