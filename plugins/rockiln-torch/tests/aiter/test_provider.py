"""AITER as one who runs calls: over a fake GPU, with the fake package. Who is called, with what, and who says so."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fake_aiter import references
from fake_aiter.write import MODULES, NEW, OLD, write_package
from fake_gpu.card import use_card
from rockiln_kernels.pack.manifest import FILE_NAME, SCHEMA, Manifest, dump_manifest
from rockiln_torch import aiter as names
from rockiln_torch import explain, profile
from rockiln_torch.aiter import installed, provider
from rockiln_torch.aiter.delegated import CALLERS
from rockiln_torch.aiter.rules import OTHERWISE, RULES
from rockiln_torch.op_table import OPS

FNUZ = torch.float8_e4m3fnuz
BF16 = torch.bfloat16
Folder = Callable[..., Path]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A torch for ROCm on a gfx942, in a process that has not met AITER."""
    monkeypatch.setattr(installed, "is_for_rocm", lambda: True)
    monkeypatch.setattr(provider, "find_arch", lambda _: "gfx942")
    monkeypatch.delenv("ROCKILN_AITER", raising=False)
    monkeypatch.delenv("AITER_JIT_DIR", raising=False)
    _forget_modules()
    installed.forget_state()
    references.calls.clear()
    references.failures.clear()
    yield
    _forget_modules()
    installed.forget_state()


def _forget_modules() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "aiter"]:
        del sys.modules[name]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Put a fake AITER in place."""

    def write(number: int = NEW, modules: tuple[str, ...] = MODULES) -> Path:
        package = write_package(tmp_path / "site", number, modules)
        monkeypatch.syspath_prepend(tmp_path / "site")
        installed.forget_state()
        return package

    return write


@pytest.fixture
def _card(tmp_path: Path) -> Iterator[None]:
    """A fake gfx942 whose memory is torch's, and whose pack has no kernel."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / FILE_NAME).write_text(
        dump_manifest(
            Manifest(schema=SCHEMA, arch="gfx942", wave_lanes=64, triton="", lld="", kernels={}, variants=(), absent=())
        )
    )
    with use_card("gfx942", pack, emulates=False):
        yield


def _codes(*shape: int) -> Tensor:
    return torch.randn(shape).to(FNUZ)


def _starts(*values: int) -> Tensor:
    return torch.tensor(values, dtype=torch.int32)


CALLS: dict[str, tuple[Callable[[], tuple[Tensor, ...]], dict[str, Any]]] = {
    "rms_norm": (lambda: (torch.randn(2, 3, 64).to(BF16), torch.randn(64).to(BF16)), {"eps": 1e-5}),
    "add_rms_norm": (lambda: (*torch.randn(2, 6, 64).to(BF16), torch.randn(64).to(BF16)), {}),
    "rms_norm_fp8": (lambda: (torch.randn(6, 64).to(BF16), torch.ones(64).to(BF16)), {"out_dtype": FNUZ}),
    "add_rms_norm_fp8": (lambda: (*torch.randn(2, 6, 64).to(BF16), torch.ones(64).to(BF16)), {"out_dtype": FNUZ}),
    "silu_and_mul": (lambda: (torch.randn(2, 3, 64).to(BF16),), {}),
    "gelu_and_mul": (lambda: (torch.randn(6, 64).to(BF16),), {}),
    "gelu_tanh_and_mul": (lambda: (torch.randn(6, 64).to(BF16),), {}),
    "quant_fp8_static": (lambda: (torch.randn(6, 64).to(BF16), torch.full((1,), 0.1)), {"out_dtype": FNUZ}),
    "quant_fp8_group": (lambda: (torch.randn(2, 3, 256).to(BF16),), {"out_dtype": FNUZ}),
    "gemm_fp8": (lambda: (_codes(6, 64), _codes(16, 64), torch.rand(6), torch.rand(16)), {}),
    "gemm_fp8_block": (lambda: (_codes(6, 128), _codes(128, 128), torch.rand(6, 1), torch.rand(1, 1)), {}),
    "topk_softmax": (lambda: (torch.randn(6, 16).to(BF16),), {"top": 2}),
    "attention_prefill": (
        lambda: (
            *torch.randn(1, 8, 4, 32).to(BF16), *torch.randn(2, 8, 2, 32).to(BF16), _starts(0, 3, 8), _starts(0, 3, 8)
        ),
        {"scale": 0.3, "max_seqlen_q": 5, "window_left": 2},
    ),
}  # fmt: skip


def _run(op: str) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], dict[str, Any]]:
    """Inputs, outputs of torch.ops.rockiln, the words."""
    torch.manual_seed(3)
    make, words = CALLS[op]
    tensors = make()
    result = getattr(torch.ops.rockiln, op)(*tensors, **words)
    return tensors, result if isinstance(result, tuple) else (result,), words


def test_the_table_of_rules_is_whole() -> None:
    assert set(RULES) == set(CALLERS) == set(CALLS)
    assert not set(RULES) & set(OTHERWISE)
    assert set(RULES) | set(OTHERWISE) <= set(OPS)


@pytest.mark.usefixtures("_card")
@pytest.mark.parametrize("op", CALLS)
@pytest.mark.parametrize("number", [OLD, NEW], ids=["v0.1.6.post1", "e4048607"])
def test_aiter_runs_the_call_and_gives_what_torchs_ops_give(
    op: str, number: int, install: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(number)
    monkeypatch.setenv("ROCKILN_AITER", "jit" if op == "attention_prefill" else "1")
    monkeypatch.setattr(installed, "find_compiler", lambda _: "/opt/rocm/bin/hipcc")
    with profile() as seen:
        tensors, outputs, words = _run(op)
    function = RULES[op].function
    assert [name for name, _ in references.calls] == [function.rpartition(".")[2]]
    assert [(call.op, call.provider, call.kernel) for call in seen.calls] == [(op, "aiter", function)]
    assert seen.calls[0].reason.startswith("the pack for gfx942 has no")
    monkeypatch.setenv("ROCKILN_AITER", "0")
    expected = getattr(torch.ops.rockiln, op)(*tensors, **words)
    assert len(references.calls) == 1
    for one, other in zip(outputs, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert (one.shape, one.dtype, one.stride()) == (other.shape, other.dtype, other.stride())
        tolerance = {1: 0.13, 2: 1.6e-2, 4: 1e-4}[one.element_size()]
        torch.testing.assert_close(one.float(), other.float(), rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.usefixtures("_card")
def test_outputs_go_into_the_tensors_that_are_given(install: Folder) -> None:
    install()
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    wide = torch.zeros(4, 128, dtype=BF16)
    torch.ops.rockiln.rms_norm_out(x, weight, y=wide[:, :64])
    assert [name for name, _ in references.calls] == ["rms_norm"]
    assert torch.equal(wide[:, :64], torch.ops.rockiln.rms_norm(x, weight))
    assert not wide[:, 64:].any()


@pytest.mark.usefixtures("_card")
def test_nothing_is_imported_before_a_call_would_use_it(install: Folder) -> None:
    install()
    x = torch.randn(4, 64).to(BF16)
    assert explain("rms_norm", x, x[0].clone(), arch="gfx942").provider == "aiter"
    torch.ops.rockiln.rms_norm(x.float(), x[0].float())
    torch.ops.rockiln.quant_mxfp4(x)
    assert "aiter" not in sys.modules
    torch.ops.rockiln.rms_norm(x, x[0].clone())
    assert "aiter" in sys.modules


def test_explain_names_it_with_the_function_and_the_reason(install: Folder) -> None:
    x = torch.randn(4, 64).to(BF16)
    without = dict(explain("rms_norm", x, x[0].clone(), arch="gfx942").rejected)
    assert without["aiter"] == "not installed"
    install()
    found = explain("rms_norm", x, x[0].clone(), arch="gfx942")
    assert (found.provider, found.kernel) == ("aiter", "aiter.rms_norm")
    assert str(found).startswith("rms_norm on gfx942: aiter.rms_norm")
    assert "aiter" not in dict(found.rejected)
    other = explain("mla_decode", torch.randn(2, 1, 4, 576).to(BF16), torch.randn(4, 2, 576).to(BF16),
                    torch.zeros(2, 2, dtype=torch.int32), torch.ones(2, dtype=torch.int32), scale=1.0,
                    arch="gfx942")  # fmt: skip
    assert dict(other.rejected)["aiter"] == OTHERWISE["mla_decode"]


REJECTED: tuple[tuple[str, str, Callable[[], tuple[Any, ...]], dict[str, Any], str], ...] = (
    ("rms_norm", "gfx1100", lambda: (torch.ones(4, 64).to(BF16), torch.ones(64).to(BF16)), {},
     "aiter.rms_norm is for gfx942 and gfx950, this is gfx1100"),
    ("rms_norm", "gfx942", lambda: (torch.ones(4, 64), torch.ones(64)), {}, "takes f16 and bf16 on gfx942, not f32"),
    ("rms_norm", "gfx942", lambda: (torch.ones(4, 64).to(BF16), torch.ones(64).to(BF16)), {"weight_offset": 1.0},
     "it multiplies by weight, without an offset"),
    ("rms_norm", "gfx942", lambda: (torch.ones(4, 9000).to(BF16), torch.ones(9000).to(BF16)), {},
     "rows are more than 8192 values"),
    ("rms_norm", "gfx942", lambda: (torch.ones(4, 128).to(BF16)[:, :64], torch.ones(64).to(BF16)), {},
     "x is not contiguous"),
    ("rms_norm", "gfx942", lambda: (torch.ones(0, 64).to(BF16), torch.ones(64).to(BF16)), {}, "x is empty"),
    ("rms_norm", "gfx942", lambda: (torch.ones(257).to(BF16)[1:].view(4, 64), torch.ones(64).to(BF16)), {},
     "x is not aligned to 16 bytes"),
    ("silu_and_mul", "gfx942", lambda: (torch.ones(4, 64).to(BF16),), {"limit": 7.0}, "its cut is not in v0.1.6"),
    ("silu_and_mul", "gfx942", lambda: (torch.ones(4, 64).to(BF16),), {"interleaved": True}, "gate, then up"),
    ("quant_fp8_group", "gfx942", lambda: (torch.ones(4, 128).to(BF16),), {"out_dtype": torch.float8_e4m3fn},
     "takes e4m3fnuz on gfx942, not e4m3"),
    ("quant_fp8_group", "gfx950", lambda: (torch.ones(4, 128).to(BF16),), {"out_dtype": FNUZ},
     "takes e4m3 on gfx950, not e4m3fnuz"),
    ("quant_fp8_token", "gfx942", lambda: (torch.zeros(4, 64).to(BF16),), {"out_dtype": FNUZ},
     "of nothing but zeros it makes the scale 0, and codes of 0 / 0"),
    ("gemm_fp8", "gfx942", lambda: (_codes(6, 64), _codes(16, 64), torch.rand(6), torch.rand(16), torch.rand(16)), {},
     "aiter.gemm_a8w8 takes no bias"),
    ("gemm_fp8", "gfx942", lambda: (_codes(6, 64), _codes(16, 64), torch.rand(1), torch.rand(1)), {},
     "its scales are one a row of a and one a row of b"),
    ("topk_softmax", "gfx942", lambda: (torch.randn(6, 16).to(BF16),), {"top": 2, "scaling": 2.5}, "it does not scale"),
    ("attention_prefill", "gfx942", CALLS["attention_prefill"][0], {"scale": 0.3, "max_seqlen_q": 5},
     "whether its module is built cannot be told"),
)  # fmt: skip


@pytest.mark.parametrize(("op", "arch", "make", "words", "reason"), REJECTED)
def test_calls_that_it_does_not_take_are_rejected_with_the_reason(
    op: str, arch: str, make: Callable[[], tuple[Any, ...]], words: dict[str, Any], reason: str, install: Folder
) -> None:
    install()
    found = explain(op, *make(), arch=arch, **words)
    assert found.provider == "framework"
    assert reason in dict(found.rejected)["aiter"]


@pytest.mark.parametrize(
    ("value", "is_for_rocm", "modules", "reason"),
    [
        ("0", True, MODULES, "turned off: ROCKILN_AITER=0"),
        ("yes", True, MODULES, "ROCKILN_AITER=yes is none of 0, 1 and jit"),
        ("", False, MODULES, f"this torch, {torch.__version__}, is not for ROCm"),
        ("", True, (), "module_rmsnorm_quant or module_rmsnorm is not built, and AITER compiles for minutes at the"),
        ("jit", True, (), "module_rmsnorm_quant or module_rmsnorm is not built, and there is no hipcc to build it"),
    ],
)
def test_what_stands_in_the_way_here_is_told(
    value: str,
    is_for_rocm: bool,
    modules: tuple[str, ...],
    reason: str,
    install: Folder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(modules=modules)
    monkeypatch.setenv("ROCKILN_AITER", value)
    monkeypatch.setenv("ROCM_HOME", "/nowhere")
    monkeypatch.setattr(installed, "is_for_rocm", lambda: is_for_rocm)
    x = torch.randn(4, 64).to(BF16)
    assert dict(explain("rms_norm", x, x[0].clone(), arch="gfx942").rejected)["aiter"].startswith(reason)


def test_built_modules_are_looked_for_where_aiter_keeps_them(install: Folder, tmp_path: Path) -> None:
    install(modules=())
    (tmp_path / "module_activation.so").write_bytes(b"")
    assert installed.find_unbuilt(("module_activation",)).startswith("module_activation is not built")
    assert installed.find_unbuilt(("module_activation",), {"AITER_JIT_DIR": str(tmp_path)}) == ""


@pytest.mark.usefixtures("_card")
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            (
                "try:\n    raise OSError('libamdhip64.so.7: cannot open shared object file: No such file')\n"
                "except OSError as error:\n    raise ImportError('cannot load module_aiter_core') from error"
            ),
            "libamdhip64.so.7 is missing: ROCm's runtime is not installed, or not where the loader looks",
        ),
        (
            "raise ImportError('module_aiter_core.so: undefined symbol: _ZN3c105ErrorC2E')",
            f"its module was built for another torch than this {torch.__version__}: it asks for _ZN3c105ErrorC2E",
        ),
        (
            "raise FileNotFoundError(2, 'No such file or directory', '/opt/rocm/bin/hipcc')",
            "it compiles its modules when they are first used, and that failed",
        ),
        ("import a_module_that_is_not_there", "it needs a_module_that_is_not_there, which is not installed"),
        ("raise RuntimeError('Get GPU arch from rocminfo failed')", "it asks rocminfo which GPU there is, and got no"),
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("raise KeyError('gfx')", "KeyError: 'gfx'"),
    ],
)
def test_an_import_that_fails_is_explained_by_its_first_cause_once(
    source: str, reason: str, install: Folder, caplog: pytest.LogCaptureFixture
) -> None:
    package = install()
    init = package / "__init__.py"
    init.write_text(f"with open({str(package / 'imports')!r}, 'a') as log:\n    log.write('.')\n{source}\n")
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    with caplog.at_level(logging.WARNING, "rockiln_torch"), profile() as seen:
        for _ in range(3):
            torch.ops.rockiln.rms_norm(x, weight)
        torch.ops.rockiln.silu_and_mul(x)
    assert (package / "imports").read_text() == "."
    assert len(caplog.records) == 1
    assert f"AITER: aiter.rms_norm: it cannot be imported: {reason}" in caplog.text
    assert [call.provider for call in seen.calls] == ["framework"] * 4
    assert f"not AITER: it cannot be imported: {reason}" in seen.calls[3].reason
    assert reason in dict(explain("rms_norm", x, weight, arch="gfx942").rejected)["aiter"]


@pytest.mark.usefixtures("_card")
def test_a_call_that_fails_is_not_tried_again_and_others_are(install: Folder, caplog: pytest.LogCaptureFixture) -> None:
    install()
    references.failures["rms_norm"] = RuntimeError("this GEMM is not supported")
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    with caplog.at_level(logging.WARNING, "rockiln_torch"):
        expected = torch.ops.rockiln.rms_norm(x, weight)
        assert torch.equal(torch.ops.rockiln.rms_norm(x, weight), expected)
    assert len(references.calls) == 1
    assert "AITER: aiter.rms_norm: RuntimeError: this GEMM is not supported; torch's ops run it" in caplog.text
    del references.failures["rms_norm"]
    torch.ops.rockiln.rms_norm(x[:2].clone(), weight)
    assert len(references.calls) == 2
    rejected = dict(explain("rms_norm", x, weight, arch="gfx942").rejected)
    assert rejected["aiter"] == "RuntimeError: this GEMM is not supported"


@pytest.mark.usefixtures("_card")
def test_norms_in_fp8_are_not_asked_of_an_aiter_whose_module_makes_scales_of_zero(install: Folder) -> None:
    install(OLD, modules=("module_rmsnorm",))
    x, weight = torch.zeros(4, 64, dtype=BF16), torch.ones(64, dtype=BF16)
    torch.ops.rockiln.rms_norm_fp8(x, weight, out_dtype=FNUZ)
    torch.ops.rockiln.rms_norm(x, weight)
    assert [name for name, _ in references.calls] == ["rms_norm"]


@pytest.mark.usefixtures("_card")
def test_a_function_that_is_not_there_is_said(install: Folder, caplog: pytest.LogCaptureFixture) -> None:
    package = install()
    (package / "__init__.py").write_text("")
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    with caplog.at_level(logging.WARNING, "rockiln_torch"):
        torch.ops.rockiln.rms_norm(x, weight)
        torch.ops.rockiln.rms_norm(x[:2].clone(), weight)
    assert [record.getMessage() for record in caplog.records] == [
        "AITER: aiter.rms_norm: this AITER has no aiter.rms_norm; torch's ops run it"
    ]


@pytest.mark.usefixtures("_card")
def test_faults_of_the_gpu_are_raised(install: Folder) -> None:
    install()
    references.failures["rms_norm"] = RuntimeError("HIP error: an illegal memory access was encountered")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        torch.ops.rockiln.rms_norm(torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16))


@pytest.mark.usefixtures("_card")
def test_outputs_of_another_shape_are_not_taken(install: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    monkeypatch.setitem(references.REFERENCES, "rms_norm", lambda v: v.input.float())
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    assert torch.ops.rockiln.rms_norm(x, weight).dtype is BF16


@pytest.mark.usefixtures("_card")
def test_the_first_call_of_a_function_is_not_in_a_capture(install: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    install()
    x, weight = torch.randn(4, 64).to(BF16), torch.ones(64).to(BF16)
    monkeypatch.setattr(provider, "_is_capturing", lambda: True)
    with profile() as seen:
        torch.ops.rockiln.rms_norm(x, weight)
    assert not references.calls
    assert seen.calls[0].reason.endswith("not AITER: its first call would be in a graph capture")
    monkeypatch.setattr(provider, "_is_capturing", lambda: False)
    torch.ops.rockiln.rms_norm(x, weight)
    monkeypatch.setattr(provider, "_is_capturing", lambda: True)
    torch.ops.rockiln.rms_norm(x, weight)
    assert len(references.calls) == 2


def test_the_page_has_every_rule_and_every_name() -> None:
    page = (Path(__file__).parents[4] / "docs" / "aiter.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", page, re.MULTILINE))
    assert rows == {op: rule.function for op, rule in RULES.items()}
    functions = set(names.__all__) - {"ActivationType", "QuantType", "UnsupportedArgumentError"}
    missing = {name for name in functions if f"`{name}`" not in page and not name.startswith("rope_cached_")}
    assert not missing
    assert all(f"`{name}`" in page for name in names.NOT_PROVIDED)
