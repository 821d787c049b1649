"""Golden files through torch.ops.rockiln: functional, into outputs, strided, into strided outputs and into inputs."""

from __future__ import annotations

import pytest
import torch

from golden_calls import name_outputs
from op_calls import find_smallest, make_call
from rockiln_kernels.golden import read_golden
from rockiln_torch import explain, ops
from rockiln_torch.forms import read_forms
from rockiln_torch.op_table import OPS

X, WEIGHT = torch.randn(6, 64), torch.randn(64)


@pytest.mark.parametrize("op", OPS)
def test_op_gives_golden_outputs(op: str) -> None:
    faults = {}
    for case in read_golden(op):
        call = make_call(case)
        for how, outputs in (("functional", call.call()), ("out", call.call_out())):
            found = case.find_faults(name_outputs(case, outputs))
            faults.update({f"{case.cell}/{case.name} {how}": found} if found else {})
    assert not faults


@pytest.mark.parametrize("op", OPS)
def test_typed_op_is_the_op(op: str) -> None:
    call = find_smallest(op)
    words = dict(call.words)
    if "fp6_format" in words:
        words["fp6_format"] = call.form.formats[words["fp6_format"]]
    made = getattr(ops, op)(*call.tensors, **words)
    for one, other in zip(made if isinstance(made, tuple) else (made,), call.call(), strict=True):
        assert torch.equal(one.view(torch.uint8), other.view(torch.uint8))


@pytest.mark.parametrize("op", OPS)
def test_fake_outputs_have_the_forms_of_real_ones(op: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    for case in read_golden(op):
        call = make_call(case)
        with FakeTensorMode() as mode:
            fakes = [None if tensor is None else mode.from_tensor(tensor) for tensor in call.tensors]
            made = call.op(*fakes, **call.words)
        for fake, real in zip(made if isinstance(made, tuple) else (made,), call.call(), strict=True):
            assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())


def test_output_may_be_strided_or_the_input() -> None:
    expected = ops.rms_norm(X, WEIGHT)
    wide = torch.zeros(6, 128)
    ops.rms_norm(X, WEIGHT, out=wide[:, ::2])
    assert torch.equal(wide[:, ::2], expected)
    assert not wide[:, 1::2].any()
    own = X.clone()
    assert torch.equal(ops.rms_norm(own, WEIGHT, out=own), expected)


def test_wrong_outputs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rms_norm_out: y is \[5, 64\], not \[6, 64\]"):
        ops.rms_norm(X, WEIGHT, out=torch.empty(5, 64))
    with pytest.raises(TypeError, match=r"y is torch.float16, not torch.float32"):
        ops.rms_norm(X, WEIGHT, out=torch.empty(6, 64, dtype=torch.float16))
    with pytest.raises(ValueError, match="not on one device: x on cpu, y on meta"):
        ops.rms_norm(X, WEIGHT, out=torch.empty(6, 64, device="meta"))
    with pytest.raises(TypeError, match="y is sparse_coo, not strided"):
        ops.rms_norm(X, WEIGHT, out=X.to_sparse())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_outputs_that_share_memory_are_refused(dtype: torch.dtype) -> None:
    """Else the later output is all that is left. Rows of one tensor are two."""
    x, weight, both = X.to(dtype), WEIGHT.to(dtype), torch.zeros(12, 64, dtype=dtype)
    for one, other in ((both[:6], both[:6]), (both[:6], both[:12:2]), (both[:6], both[5:11]), (both[4:10], both[:6])):
        with pytest.raises(ValueError, match="add_rms_norm_out: y and residual_out share memory; hint: a tensor each"):
            ops.add_rms_norm(x, x, weight, out=(one, other))
    assert not both.any()
    want = ops.add_rms_norm(x, x, weight)
    for one, other in ((both[:6], both[6:]), (both[::2], both[1::2])):
        ops.add_rms_norm(x, x, weight, out=(one, other))
        assert torch.equal(one, want[0])
        assert torch.equal(other, want[1])


@pytest.mark.parametrize("programs", [0, -1, -(2**31)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_programs_that_are_not_positive_are_refused(device: str, dtype: torch.dtype, programs: int) -> None:
    """The CPU's products need none, but a call is one of the op everywhere or nowhere."""
    a, b = torch.ones(3, 32, dtype=dtype, device=device), torch.ones(5, 32, dtype=dtype, device=device)
    for out in (None, torch.empty(3, 5, dtype=dtype)) if device == "cpu" else (None,):
        with pytest.raises(ValueError, match="stream_k_gemm: programs is not positive; got a="):
            ops.stream_k_gemm(a, b, programs=programs, out=out)
    assert ops.stream_k_gemm(a, b, programs=1).shape == (3, 5)


@pytest.mark.parametrize("op", [name for name, form in read_forms().items() if "f" in form.kinds])
def test_numbers_that_are_nan_are_refused(op: str) -> None:
    call = find_smallest(op, with_gradient=True)
    outputs = dict(zip(call.form.out_names, find_smallest(op).call(), strict=True))
    for scalar in call.form.spec.scalars:
        if scalar.kind == "f32":
            words = call.words | {scalar.name: float("nan")}
            with pytest.raises(ValueError, match=f"{op}: {scalar.name} is NaN; got "):
                call.op(*call.tensors, **words)
            with pytest.raises(ValueError, match=f"{op}: {scalar.name} is NaN; got "):
                call.out_op(*[None if t is None else t.detach() for t in call.tensors], **words, **outputs)


def test_wrong_arguments_name_the_rule_and_the_shapes() -> None:
    with pytest.raises(ValueError, match=r"weight has N = 3, expected 64; got x=f32\[6,64\] weight=f32\[3\]"):
        ops.rms_norm(X, WEIGHT[:3])
    with pytest.raises(TypeError, match="x is i64, not one of f32, f16, bf16"):
        ops.rms_norm(X.long(), WEIGHT)
    with pytest.raises(ValueError, match=r"not on one device: x on cpu, weight on meta"):
        torch.ops.rockiln.rms_norm(X, WEIGHT.to("meta"))
    with pytest.raises(ValueError, match="no multiple of 32"):
        ops.quant_mxfp4(X[:, :33])
    with pytest.raises(ValueError, match="fp6_format 'e2m1' is not one of e2m3, e3m2"):
        ops.quant_mxfp6(X, fp6_format="e2m1")
    with pytest.raises(ValueError, match="does not fit into 32 bits"):
        ops.moe_align(torch.zeros(2, 2, dtype=torch.int32), experts=2**40, block_size=16)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "_mkldnn"])
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_tensors_without_strides_are_refused(layout: str) -> None:
    made = {"sparse_coo": X.to_sparse, "sparse_csr": X.to_sparse_csr, "_mkldnn": X.to_mkldnn}[layout]()
    with pytest.raises(TypeError, match=f"x is {layout}, not strided; hint: to_dense"):
        ops.rms_norm(made, WEIGHT)
    with pytest.raises(TypeError, match=f"residual is {layout}, not strided"):
        ops.add_rms_norm(X, made, WEIGHT)


def test_messages_have_the_dtypes_and_shapes_that_were_given() -> None:
    """Compositions take f32 and f64 where kernels take f16 and bf16; other dtypes have torch's names."""
    q, starts = torch.randn(6, 2, 16), torch.tensor([0, 6], dtype=torch.int32)
    with pytest.raises(TypeError, match=r"cu_seqlens_q is i64, not i32; got q=f32\[6,2,16\]"):
        ops.attention_prefill(q, q, q, starts.long(), starts, scale=0.25, max_seqlen_q=6)
    with pytest.raises(TypeError, match=r"x is bool, not one of f32, f16, bf16; got x=bool\[6,64\] weight=bool\[64\]"):
        ops.rms_norm(X.bool(), WEIGHT.bool())
    with pytest.raises(TypeError, match="x is a list, not a tensor"):
        explain("rms_norm", [1.0, 2.0], WEIGHT)  # type: ignore[arg-type]


def test_autocast_narrows_products_and_widens_the_rest() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.gemm(X, X).dtype is torch.bfloat16
        assert ops.rms_norm(X.bfloat16(), WEIGHT).dtype is torch.float32
        assert ops.silu_and_mul(X.half()).dtype is torch.float16


@pytest.mark.parametrize("op", ["rms_norm", "add_rms_norm_fp8", "quant_mxfp4", "quant_fp8_token", "gemm", "rope"])
def test_vmap_is_a_loop(op: str) -> None:
    call = find_smallest(op)
    batch = (torch.stack([call.tensors[0]] * 3), *call.tensors[1:])
    dims = (0, *(None for _ in call.tensors[1:]))
    made = torch.vmap(lambda *tensors: call.op(*tensors, **call.words), in_dims=dims)(*batch)
    for batched, one in zip(made if isinstance(made, tuple) else (made,), call.call(), strict=True):
        assert batched.shape == (3, *one.shape)
        assert torch.equal(batched[2].float(), one.float())
