"""Kernels for CPUs, at each level of instructions that this CPU has: right, the same in every layout, and told of."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from op_calls import make_call
from rockiln_kernels.golden import read_golden
from rockiln_torch import explain, native, ops, profile
from rockiln_torch.framework import compose

OPS = (
    "add_rms_norm", "gelu_and_mul", "gelu_tanh_and_mul", "quant_fp8_group", "quant_fp8_static", "quant_fp8_tensor",
    "quant_fp8_token", "rms_norm", "rope", "silu_and_mul", "swiglu_and_mul", "topk_sigmoid", "topk_softmax",
)  # fmt: skip
GATES = ("silu_and_mul", "gelu_and_mul", "gelu_tanh_and_mul", "swiglu_and_mul")
FP8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
EVERY_HALF = torch.arange(65536, dtype=torch.int32).to(torch.uint16)


def list_levels() -> list[str]:
    """Those that this CPU has."""
    found = []
    for level in ("baseline", "avx2", "avx512"):
        try:
            found.append(native.choose_cpu_level(level))
        except native.NativeError:
            continue
    native.choose_cpu_level("")
    return found


@pytest.fixture(params=list_levels(), autouse=True)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    yield native.choose_cpu_level(request.param)
    native.choose_cpu_level("")


def as_bits(tensor: torch.Tensor) -> torch.Tensor:
    """Whatever the dtype is, so that NaN, -0 and codes are compared, too."""
    return torch.empty(tensor.numel(), dtype=tensor.dtype).copy_(tensor.reshape(-1)).view(torch.uint8)


def run(op: str, *tensors: torch.Tensor | None, **words: Any) -> tuple[torch.Tensor, ...]:
    result = getattr(torch.ops.rockiln, op)(*tensors, **words)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("op", OPS)
def test_kernel_gives_golden_outputs(op: str, level: str) -> None:
    from golden_calls import name_outputs

    taken = 0
    for case in read_golden(op):
        call = make_call(case)
        with profile() as seen:
            outputs = call.call()
        assert not case.find_faults(name_outputs(case, outputs)), f"{case.cell}/{case.name}"
        if all(tensor is None or tensor.numel() for tensor in call.tensors):
            assert [item.kernel for item in seen.calls] == [f"cpu.{op}.{level}"]
            taken += 1
    assert taken


@pytest.mark.parametrize("dtype", FP8)
@pytest.mark.parametrize("own", [torch.float16, torch.bfloat16])
def test_every_half_has_the_code_of_the_composition(own: torch.dtype, dtype: torch.dtype) -> None:
    x, scale = EVERY_HALF.view(own).view(64, 1024), torch.tensor([0.37])
    (got,) = run("quant_fp8_static", x, scale, out_dtype=dtype)
    (want,) = compose("quant_fp8_static")(x, scale, out_dtype=dtype)
    is_nan = want.float().isnan().flatten()
    assert torch.equal(got.float().isnan().flatten(), is_nan)
    assert torch.equal(as_bits(got)[~is_nan], as_bits(want)[~is_nan])


@pytest.mark.parametrize("own", [torch.float16, torch.bfloat16])
def test_every_half_is_read_and_written_as_torch_does(own: torch.dtype) -> None:
    """x + -0 is x; x + x is rounded by torch's own conversions."""
    x = EVERY_HALF.view(own).view(64, 1024)
    for other in (torch.full_like(x, -0.0), x, x.flip(0)):
        got, want = run("add_rms_norm", x, other, torch.ones(1024).to(own))[1], x + other
        assert torch.equal(got.isnan(), want.isnan())
        assert torch.equal(as_bits(got.nan_to_num(7.0)), as_bits(want.nan_to_num(7.0)))


@pytest.mark.parametrize("op", GATES)
def test_gates_are_within_a_few_last_places_of_float64(op: str) -> None:
    """Of the value itself, far below 0, too, where 1 + erf and 1 + tanh have nothing left."""
    g = torch.cat((torch.linspace(-13, 13, 20011), torch.logspace(-38, 2, 4001), -torch.logspace(-38, 1, 4001)))
    pairs = torch.stack((g, torch.ones_like(g)))
    words = {"limit": 0.0, "up_offset": 0.0, "interleaved": True} if op == "swiglu_and_mul" else {"interleaved": True}
    (got,) = run(op, pairs.T.contiguous().view(1, -1), **words)
    exact = g.double()
    factors = {  # of what exp is taken of, and how many roundings that has
        "silu_and_mul": (torch.ones_like(exact), 0),
        "gelu_tanh_and_mul": ((8 / torch.pi) ** 0.5 * (1 + 0.044715 * exact**2), 3),
        "swiglu_and_mul": (torch.full_like(exact, 1.702), 1),
    }
    factor, roundings = factors.get(op, (torch.zeros_like(exact), 0))
    gelu = exact * torch.erfc(exact * -(0.5**0.5)) * 0.5
    want = gelu if op == "gelu_and_mul" else exact / (1 + torch.exp(-exact * factor))
    steps = 2.0**-24 * (8 + roundings * (exact * factor).abs())
    assert ((got[0].double() - want).abs() <= steps * want.abs() + 2.0**-126).all()


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_gates_of_what_is_not_finite_are_those_of_compositions(op: str, dtype: torch.dtype) -> None:
    special = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1.0, -1.0, 200.0, -200.0, 3e4, -3e4])
    pairs = torch.cartesian_prod(special, special).to(dtype)
    for words in ({}, {"limit": 2.5}, {"limit": 0.0, "interleaved": False}):
        got, want = run(op, pairs, **words)[0], compose(op)(pairs, **words)[0]
        assert torch.equal(got.isnan(), want.isnan()), words
        torch.testing.assert_close(got, want, equal_nan=True)
        has_sign = ((want.float().abs() > 1e-30) | (pairs[:, :1] == 0)) & ~want.isnan()
        assert torch.equal(got.signbit()[has_sign], want.signbit()[has_sign])


@pytest.mark.parametrize("op", GATES)
def test_far_negative_gates_make_no_subnormal_numbers(op: str) -> None:
    """Some CPUs take a hundred cycles for each."""
    pairs = torch.stack((torch.linspace(-120.0, 0.0, 4096), torch.ones(4096)), dim=1)
    got = run(op, pairs)[0].abs()
    assert torch.all((got == 0) | (got >= torch.finfo(torch.float32).tiny))
    assert torch.all(got[-40:-1] > 0)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 65, 130])
@pytest.mark.parametrize("dtype", DTYPES)
def test_widths_that_are_no_whole_vectors_are_right(width: int, dtype: torch.dtype) -> None:
    torch.manual_seed(width)
    x, weight = torch.randn(5, 2 * width).to(dtype), torch.randn(width).to(dtype)
    half = x[:, :width].contiguous()
    calls: list[tuple[str, tuple[torch.Tensor, ...], dict[str, Any]]] = [
        *((op, (x,), {"interleaved": turn}) for op in GATES for turn in (False, True)),
        ("rms_norm", (half, weight), {"weight_offset": 1.0}),
        ("add_rms_norm", (half, half.flip(0), weight), {}),
        *((f"quant_fp8_{by}", (half,), {"out_dtype": FP8[0]}) for by in ("token", "group", "tensor")),
        ("topk_softmax", (half,), {"top": min(width, 5), "renormalise": False}),
        ("topk_sigmoid", (half, torch.randn(width)), {"top": min(width, 5), "scaling": 2.5}),
    ]
    angles, places = torch.rand(5, width), torch.arange(5, dtype=torch.int32)
    wide = torch.randn(5, 3, 2 * width + 3).to(dtype)
    calls += [("rope", (wide, angles.cos(), angles.sin(), places), {"interleaved": turn}) for turn in (False, True)]
    for op, tensors, words in calls:
        for got, want in zip(run(op, *tensors, **words), compose(op)(*tensors, **words), strict=True):
            if got.element_size() == 1:
                assert torch.equal(as_bits(got), as_bits(want)), op
            else:
                torch.testing.assert_close(got, want), op


@pytest.mark.parametrize("op", OPS)
def test_layouts_do_not_change_a_bit(op: str) -> None:
    for case in read_golden(op):
        call = make_call(case)
        plain = call.call()
        strided = [None if tensor is None else spread(tensor) for tensor in call.tensors]
        wide = [spread(torch.zeros_like(value)) for value in plain]
        call.out_op(*strided, **call.words, **dict(zip(call.form.out_names, wide, strict=True)))
        for one, other in zip(plain, wide, strict=True):
            assert torch.equal(as_bits(one), as_bits(other)), f"{case.cell}/{case.name}"


def spread(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, every second of a buffer."""
    wide = torch.zeros((*tensor.shape, 2), dtype=torch.float32).to(tensor.dtype)
    wide[..., 0] = tensor
    return wide[..., 0]


def test_rows_may_lie_apart_and_leading_dims_fold(level: str) -> None:
    wide = torch.randn(2, 3, 200)
    with profile() as seen:
        got = ops.silu_and_mul(wide[..., :64])
    assert [item.provider for item in seen.calls] == ["cpu"]
    assert torch.equal(got, ops.silu_and_mul(wide[..., :64].contiguous()))
    assert explain("silu_and_mul", wide[..., ::2]).kernel == f"cpu.silu_and_mul.{level}", "of a contiguous copy"


def test_output_that_is_an_input_is_right() -> None:
    x, weight = torch.randn(6, 64), torch.randn(64)
    want = ops.rms_norm(x, weight)
    ops.rms_norm(x, weight, out=x)
    assert torch.equal(x, want)


@pytest.mark.parametrize("op", ["rms_norm", "quant_fp8_tensor", "topk_softmax"])
def test_more_threads_give_the_same_bits(op: str) -> None:
    """As many as OpenMP allows; the work is large enough to be split."""
    x = torch.randn(600, 512)
    tensors = (x, x[0].clone()) if op == "rms_norm" else (x,)
    words = {"rms_norm": {}, "quant_fp8_tensor": {"out_dtype": FP8[0]}, "topk_softmax": {"top": 8}}[op]
    one = run(op, *tensors, **words)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for _ in range(20):
            for got, want in zip(run(op, *tensors, **words), one, strict=True):
                assert torch.equal(as_bits(got), as_bits(want))
    finally:
        torch.set_num_threads(threads)


def test_large_work_is_split_over_torchs_threads() -> None:
    """CPU time of other threads than the caller's: in a process of its own, since torch keeps its threads."""
    code = (
        "import time, torch, rockiln_torch\n"
        "x = torch.randn(2048, 4096); torch.set_num_threads(2); torch.ops.rockiln.gelu_and_mul(x)\n"
        "before = time.process_time() - time.thread_time()\n"
        "for _ in range(20): torch.ops.rockiln.gelu_and_mul(x)\n"
        "print(time.process_time() - time.thread_time() - before > 0.005)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_equal_choices_go_to_the_lower_expert_and_nan_is_last() -> None:
    logits = torch.tensor([[1.0, 2.0, 2.0, torch.nan], [-0.0, 0.0, -torch.inf, torch.nan], [torch.nan] * 4])
    assert ops.topk_softmax(logits, top=4)[1].tolist() == [[1, 2, 0, 3], [0, 1, 2, 3], [0, 1, 2, 3]]
    weights, ids = ops.topk_sigmoid(torch.tensor([[0.0, 1.0, torch.nan, 3.0, 1.0, 1.0]]), top=2, groups=3, keep=1)
    assert ids.tolist() == [[4, 5]], "of groups whose sums are 1.23, NaN counting as nothing, and 1.46"
    assert weights.tolist() == [[0.5, 0.5]]


def test_position_outside_the_tables_is_refused_before_anything_is_read() -> None:
    x, tables = torch.randn(2, 1, 8), torch.ones(3, 4)
    with pytest.raises(IndexError):
        ops.rope(x, tables, tables, torch.tensor([0, 3], dtype=torch.int32))


@pytest.mark.parametrize("op", OPS)
def test_other_dtypes_are_composed(op: str) -> None:
    case = next(
        case for case in read_golden(op) if case.cell.startswith("f32") and all(a.size for a in case.inputs.values())
    )
    call = make_call(case)
    wide = [None if t is None or not t.is_floating_point() else t.double() for t in call.tensors]
    tensors = [own if own is None or other is None else other for own, other in zip(call.tensors, wide, strict=True)]
    with profile() as seen:
        call.op(*tensors, **call.words)
    assert [item.provider for item in seen.calls] == ["framework"]
    assert explain(op, *tensors, **call.words).provider == "framework"


def test_wrong_calls_name_the_rule() -> None:
    x = torch.randn(4, 16)
    with pytest.raises(ValueError, match="weight has N = 3, expected 16"):
        ops.rms_norm(x, x[0, :3])
    with pytest.raises(ValueError, match="odd"):
        ops.silu_and_mul(x[:, :5])
    with pytest.raises(ValueError, match="top is not within"):
        ops.topk_softmax(x, top=17)
    with pytest.raises(ValueError, match="rms_norm_out: y is"):
        ops.rms_norm(x, x[0], out=torch.zeros(4, 15))


def test_level_that_there_is_not_is_refused(level: str) -> None:
    with pytest.raises(native.NativeError, match="sse9"):
        native.choose_cpu_level("sse9")
    assert native.choose_cpu_level() == level


PRODUCTS = ("gemm", "gemm_gelu", "gemm_gelu_tanh", "gemm_silu", "gemm_swiglu")


@pytest.mark.parametrize("op", PRODUCTS)
@pytest.mark.parametrize("rows", [1, 4, 5, 16, 33, 70])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_rounded_once(op: str, rows: int, dtype: torch.dtype) -> None:
    """Of sizes that are no whole tiles, with a bias, gate and up in turn or not; against float64."""
    generator = torch.Generator().manual_seed(rows)
    for n, k, turn in ((2, 1, False), (46, 67, True), (130, 64, False)):
        a, b = (torch.randn(size, k, generator=generator).to(dtype) for size in (rows, n))
        bias = torch.randn(n, generator=generator).to(dtype)
        words = {"interleaved": turn} if op == "gemm_swiglu" else {}
        (got,) = run(op, a, b, bias, **words)
        (want,) = compose(op)(a.double(), b.double(), bias.double(), **words)
        step = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
        slack = (
            2.0**-24 * (16 + 4 * k**0.5) * (a.double().abs() @ b.double().abs().T + bias.double().abs() + 1).max() ** 2
        )
        assert ((got.double() - want).abs() <= 1.03 * step * want.abs() + slack).all(), (n, k)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(3, 64, 96), (9, 1500, 1500), (600, 34, 1024), (300, 96, 32)])
def test_products_of_every_size_are_right(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    """By BLAS, oneDNN and kernels of ours, in blocks of rows, too, and in layouts that they read as they lie."""
    m, n, k = shape
    generator = torch.Generator().manual_seed(m)
    a, b, bias = (torch.randn(size, generator=generator).to(dtype) for size in ((m, 2 * k), (n, 2 * k), (n,)))
    own = a[:, :k], b[:, k:], bias
    exact = own[0].double() @ own[1].double().T
    for epilogue, tensors in (("gemm", own[:2]), ("gemm", own), ("gemm_swiglu", own)):
        want = exact + bias if len(tensors) == 3 else exact
        want = torch.nn.functional.silu(want[:, ::2]) * want[:, 1::2] if epilogue == "gemm_swiglu" else want
        words = {"interleaved": True} if epilogue == "gemm_swiglu" else {}
        (got,) = run(epilogue, *tensors, **words)
        torch.testing.assert_close(got.double(), want, rtol=2.0**-8 if dtype == torch.bfloat16 else 1e-5, atol=4e-3)


@pytest.mark.parametrize("op", PRODUCTS)
@pytest.mark.parametrize("rows", [2, 9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_not_finite_stays_in_its_row(op: str, rows: int, dtype: torch.dtype) -> None:
    a, b = torch.randn(rows, 40).to(dtype), torch.randn(6, 40).to(dtype)
    want = run(op, a, b)[0]
    a[0, 3], a[1, 39] = torch.nan, torch.inf
    (got,) = run(op, a, b)
    assert got[0].isnan().all()
    torch.testing.assert_close(got[2:], want[2:], rtol=0, atol=0)
    exact = compose(op)(a.double(), b.double())[0]
    assert torch.equal(got[1].isnan(), exact[1].isnan())
    assert torch.equal(got[1].isposinf(), exact[1].isposinf())


def test_products_of_slices_and_strided_biases_are_right() -> None:
    wide, b = torch.randn(2, 3, 100).bfloat16(), torch.randn(12, 100).bfloat16()
    bias = torch.randn(24).bfloat16()
    for a, weight in ((wide[..., :50], b[:, 50:]), (wide.mT.contiguous().mT, b), (wide, b.T.contiguous().T)):
        (got,) = run("gemm_silu", a, weight, bias[::2])
        (want,) = run("gemm_silu", a.contiguous(), weight.contiguous(), bias[::2].contiguous())
        torch.testing.assert_close(got, want)
    out = torch.zeros(2, 3, 24).bfloat16()[..., ::2]
    ops.gemm_silu(wide, b, out=out)
    torch.testing.assert_close(out, run("gemm_silu", wide, b)[0])
