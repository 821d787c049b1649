"""torch.compile, export and AOTInductor: one graph, dynamic shapes, gradients, the eager bytes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from rockiln_torch import ops

HAS_COMPILER = pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")
WEIGHT = torch.randn(64)


def block(x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
    """Norm, product and gate, as in a model."""
    hidden = ops.rms_norm(x, weight)
    return ops.silu_and_mul(ops.gemm(hidden, up)) + 1


def make_inputs(rows: int, *, grad: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(rows)
    tensors = torch.randn(rows, 64), torch.randn(64), torch.randn(32, 64)
    return tuple(tensor.requires_grad_(grad) for tensor in tensors)  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=[HAS_COMPILER, pytest.mark.slow])])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_model_compiles_to_one_graph_for_all_sizes(backend: str) -> None:
    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=backend)
    for rows in (3, 8, 17):
        inputs = make_inputs(rows)
        torch.testing.assert_close(compiled(*inputs), block(*inputs))


def test_sizes_do_not_recompile() -> None:
    graphs: list[Any] = []

    def count(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(block, fullgraph=True, dynamic=True, backend=count)
    for rows in (3, 8, 17):
        compiled(*make_inputs(rows))
    assert len(graphs) == 1


def test_gradients_are_compiled() -> None:
    eager, compiled = make_inputs(5, grad=True), make_inputs(5, grad=True)
    block(*eager).sum().backward()
    torch.compile(block, fullgraph=True, dynamic=True, backend="aot_eager")(*compiled).sum().backward()
    for one, other in zip(eager, compiled, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_out_variant_is_made_functional() -> None:
    def write(x: Tensor) -> Tensor:
        y = torch.empty_like(x)
        ops.rms_norm(x, WEIGHT, out=y)
        return y * 2

    x = torch.randn(3, 64)
    compiled = torch.compile(write, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), ops.rms_norm(x, WEIGHT) * 2)


def test_wrong_call_fails_while_it_is_traced() -> None:
    with pytest.raises(Exception, match="weight has N = 64, expected 32"):
        torch.compile(lambda x: ops.rms_norm(x, WEIGHT), fullgraph=True, backend="aot_eager")(torch.randn(2, 32))


def test_exported_program_holds_the_ops() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
            return block(x, weight, up)

    rows = torch.export.Dim("rows", min=2, max=100)
    program = torch.export.export(Model(), make_inputs(4), dynamic_shapes=({0: rows}, None, None))
    named = [str(node.target) for node in program.graph.nodes if "rockiln" in str(node.target)]
    assert named == ["rockiln.rms_norm.default", "rockiln.gemm.default", "rockiln.silu_and_mul.default"]
    torch.testing.assert_close(program.module()(*make_inputs(9)), block(*make_inputs(9)))


@HAS_COMPILER
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_aot_inductor_package_calls_the_ops(tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor, weight: Tensor, up: Tensor) -> Tensor:
            return block(x, weight, up)

    program = torch.export.export(Model(), make_inputs(4))
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "model.pt2"))
    loaded: Callable[..., Tensor] = torch._inductor.aoti_load_package(package)
    torch.testing.assert_close(loaded(*make_inputs(4)), block(*make_inputs(4)))
