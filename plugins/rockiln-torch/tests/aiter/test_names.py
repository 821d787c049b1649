"""rockiln_torch.aiter against a fake AITER with the real signatures of two commits: names, order, targets, values."""

from __future__ import annotations

import copy
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fake_aiter.cases import CASES, Values
from fake_aiter.write import NEW, OLD, read_functions, write_package
from rockiln_torch import aiter as names

DEFAULTS = {"dtypes.bf16": torch.bfloat16, "dtypes.fp32": torch.float32, "dtypes.i8": torch.int8,
            "ActivationType.Silu": names.ActivationType.Silu, "QuantType.No": names.QuantType.No,
            "GateMode.SEPARATED.value": "separated"}  # fmt: skip
FUNCTIONS = sorted(set(names.__all__) - {"ActivationType", "QuantType", "UnsupportedArgumentError"})
MOVED = {
    "rmsnorm2d_fwd_with_add": "gemma_norm",
    "flash_attn_func": "how_v3_bf16_cvt",
    "flash_attn_varlen_func": "how_v3_bf16_cvt",
    "mla_decode_fwd": "page_size",
}
"""Where AITER has put a new argument before others: by position, callers of the old one mean something else."""


@pytest.fixture(params=[OLD, NEW], ids=["v0.1.6.post1", "e4048607"])
def commit(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def fake(commit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """A function of the fake package of a commit, by name."""
    write_package(tmp_path, commit)
    monkeypatch.syspath_prepend(tmp_path)
    saved = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "aiter"}
    functions = read_functions(commit)
    yield lambda name: getattr(importlib.import_module(functions[name]["module"]), name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "aiter"]:
        del sys.modules[name]
    sys.modules.update(saved)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_signature_is_the_newest_aiters(name: str) -> None:
    parameters = list(inspect.signature(getattr(names, name)).parameters.values())
    known = read_functions(NEW)[name]["parameters"]
    assert [item.name for item in parameters] == [item[0] for item in known]
    for ours, (_, *default) in zip(parameters, known, strict=True):
        if default:
            assert ours.default == DEFAULTS.get(default[0], None if default[0] in DEFAULTS else _read(default[0]))
        else:
            assert ours.default is inspect.Parameter.empty, ours.name


def _read(text: str) -> Any:
    return DEFAULTS[text] if text in DEFAULTS else eval(text, {"torch": torch})  # noqa: S307  # ours: signatures.json


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) & set(read_functions(OLD))))
def test_arguments_of_the_older_aiter_have_kept_their_places(name: str) -> None:
    ours = [item[0] for item in read_functions(NEW)[name]["parameters"]]
    theirs = [item[0] for item in read_functions(OLD)[name]["parameters"]]
    assert set(theirs) <= set(ours)
    kept = ours[: len(theirs)] == theirs
    assert kept == (name not in MOVED), name
    if not kept:
        assert ours[: ours.index(MOVED[name])] == theirs[: ours.index(MOVED[name])]


@pytest.mark.parametrize(("name", "make"), CASES, ids=[f"{place}-{name}" for place, (name, _) in enumerate(CASES)])
def test_results_are_written_and_returned_as_by_aiter(
    name: str, make: Callable[[], Values], commit: int, fake: Callable[[str], Any]
) -> None:
    known = read_functions(commit)
    if name not in known:
        pytest.skip("that AITER has no such function")
    torch.manual_seed(7)
    required = [item[0] for item in known[name]["parameters"] if len(item) == 1]
    values = make()
    if values.keys() - _names(known[name]):
        pytest.skip("that AITER has no such argument")
    theirs, ours = values, copy.deepcopy(values)
    for key, value in values.items():
        if hasattr(value, "plain"):
            ours[key].plain = value.plain
    returned = _call(fake(name), required, theirs), _call(getattr(names, name), required, ours)
    _compare(*returned)
    for key, value in theirs.items():
        _compare(value, ours[key])
    if isinstance(returned[0], Tensor):
        written = [key for key, value in theirs.items() if value is returned[0]]
        assert written == [key for key, value in ours.items() if value is returned[1]]


def _names(function: Any) -> set[str]:
    return {item[0] for item in function["parameters"]}


def _call(function: Callable[..., Any], required: list[str], values: Values) -> Any:
    """What must be given by position, the rest by name."""
    return function(
        *(values[name] for name in required), **{name: value for name, value in values.items() if name not in required}
    )


def _compare(theirs: Any, ours: Any) -> None:
    if isinstance(theirs, tuple | list):
        assert len(theirs) == len(ours)
        for one, other in zip(theirs, ours, strict=True):
            _compare(one, other)
    elif isinstance(theirs, Tensor):
        assert (theirs.shape, theirs.dtype, theirs.stride()) == (ours.shape, ours.dtype, ours.stride())
        if not theirs.is_floating_point():
            assert torch.equal(ours, theirs)
            return
        tolerance = {1: 0.13, 2: 1.6e-2, 4: 1e-4}[theirs.element_size()]  # two steps of fp8, bf16; f32 after sums
        largest = float(theirs.float().abs().max()) if theirs.numel() else 0.0
        torch.testing.assert_close(ours.float(), theirs.float(), rtol=tolerance, atol=tolerance * largest / 4)
    else:
        assert theirs == ours or theirs is ours


def test_every_function_has_a_case() -> None:
    assert {name for name, _ in CASES} == set(FUNCTIONS) - {"get_hip_quant"}


@pytest.mark.parametrize("name", names.NOT_PROVIDED)
def test_what_is_not_provided_says_what_to_call(name: str) -> None:
    assert name in read_functions(NEW)
    with pytest.raises(AttributeError, match=rf"has no {name}: .*(gemm_a8w8_blockscale|paged_attention_v1)"):
        getattr(names, name)
