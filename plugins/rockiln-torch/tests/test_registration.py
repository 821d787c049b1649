"""register names what it did and takes it back; explain and profile say who runs a call; ranges reach roctx."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from rockiln_torch import Registration, explain, ops, profile, register
from rockiln_torch.op_table import OPS

X, WEIGHT = torch.randn(4, 64), torch.randn(64)
UNDO = """
import sys, threading, torch
from rockiln_torch import register, ops
hooks = sys.excepthook, threading.excepthook
first, second = register(), register()
assert len(first.registered) == 168 and {hook.target for hook in first.hooked} >= {"sys.excepthook"}
first.undo(); first.undo()
assert ops.rms_norm(torch.ones(1, 8), torch.ones(8)).shape == (1, 8)
second.undo()
assert hooks == (sys.excepthook, threading.excepthook)
assert not hasattr(torch.ops.rockiln, "rms_norm")
register(compat=False)
assert ops.rms_norm(torch.ones(1, 8), torch.ones(8)).shape == (1, 8)
x = torch.ones(1, 8, requires_grad=True)
ops.gemm(x, torch.ones(4, 8)).sum().backward()
assert x.grad.tolist() == [[4.0] * 8]
"""


@pytest.fixture
def registration() -> Registration:
    return register()


def test_registration_names_ops_hooks_and_rejections(registration: Registration) -> None:
    assert set(registration.registered) >= {f"rockiln::{op}" for op in OPS} | {f"rockiln::{op}_out" for op in OPS}
    assert "sys.excepthook" in {hook.target for hook in registration.hooked}
    assert [item.part for item in registration.rejected] == ["packs"]
    assert "not packs: no pack is installed" in registration.explain()


def test_compat_parts_are_off_until_asked_for() -> None:
    before = dict(sys.modules)
    registration = register(kernels=False)
    assert registration.registered == ()
    assert {hook.target for hook in registration.hooked} == {"sys.excepthook", "threading.excepthook"}
    assert sys.modules.get("pynvml") is before.get("pynvml")
    registration.undo()


def test_without_hipcompat_compat_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hipcompat", None)
    (missing,) = register(kernels=False).rejected
    assert missing.part == "compat"
    assert "not installed" in missing.reason


def test_undone_registration_leaves_no_trace() -> None:
    subprocess.run([sys.executable, "-c", UNDO], check=True)


def test_explain_says_who_runs_a_call_and_why_nobody_else() -> None:
    here = explain("rms_norm", X, WEIGHT, eps=1e-5)
    assert (here.provider, here.arch, here.reason.split(",")[0]) == ("cpu", "cpu", "rockiln's kernel for CPUs")
    assert here.outputs[0].shape == (4, 64)
    there = explain("rms_norm", X, WEIGHT, arch="gfx942")
    assert (there.provider, there.arch) == ("framework", "gfx942")
    assert "no pack for gfx942 is installed" in str(there)


def test_explain_raises_for_what_is_no_call() -> None:
    with pytest.raises(KeyError, match="no op called 'rms'"):
        explain("rms", X)
    with pytest.raises(ValueError, match="expected 64"):
        explain("rms_norm", X, WEIGHT[:3])
    assert "x is f64" in explain("silu_and_mul", X.double(), arch="gfx942").reason.replace("float64", "f64")


def test_profile_counts_equal_calls(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rockiln_torch")
    with profile() as outer:
        ops.rms_norm(X, WEIGHT)
        with profile() as inner:
            ops.rms_norm(X, WEIGHT)
            thread = threading.Thread(target=ops.silu_and_mul, args=(X,))
            thread.start()
            thread.join()
    assert [call.op for call in inner.calls] == ["rms_norm", "silu_and_mul"]
    head, first, _ = str(outer).splitlines()
    assert head.split() == ["calls", "op", "provider", "kernel", "reason", "arguments"]
    assert first.split()[:3] == ["2", "rms_norm", "cpu"]
    assert "rockiln::silu_and_mul cpu" in caplog.text
    ops.rms_norm(X, WEIGHT)
    assert len(outer.calls) == 3


def test_calls_have_ranges_where_roctx_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, library = tmp_path / "roctx.c", tmp_path / "libroctx64.so"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        "static void note(const char *text) {\n"
        "  FILE *f = fopen(getenv(\"ROCTX_LOG\"), \"a\"); fprintf(f, \"%s\\n\", text); fclose(f); }\n"
        "int roctxRangePushA(const char *name) { note(name); return 0; }\n"
        "int roctxRangePop(void) { note(\"pop\"); return 0; }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    monkeypatch.setenv("ROCTX_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("ROCKILN_ROCTX_LIBRARY", str(library))
    with profile() as result:
        ops.rms_norm(X, WEIGHT)
    ops.rms_norm(X, WEIGHT)
    assert result.has_ranges
    assert (tmp_path / "log").read_text().splitlines() == ["rockiln::rms_norm", "pop"]


def test_without_roctx_there_are_no_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockiln_torch.ranges.LIBRARIES", ())
    with profile() as result:
        ops.rms_norm(X, WEIGHT)
    assert not result.has_ranges
