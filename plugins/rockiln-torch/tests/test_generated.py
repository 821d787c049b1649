"""What is generated is what the specs say, and typed ops say what they do."""

from __future__ import annotations

import inspect

import pytest
import torch

from rockiln_kernels.table import read_table
from rockiln_torch import native, ops
from rockiln_torch.forms import read_forms
from rockiln_torch.generate import make_files
from rockiln_torch.op_table import OPS


@pytest.mark.parametrize("path", make_files(), ids=lambda path: path.name)
def test_generated_file_is_up_to_date(path) -> None:  # type: ignore[no-untyped-def]
    assert path.read_text(encoding="utf-8") == make_files()[path], "run: python -m rockiln_torch.generate"


def test_native_table_is_the_op_table() -> None:
    library = native.open_library()
    names = [library.rockiln_torch_op_name(place).decode() for place in range(library.rockiln_torch_count_ops())]
    assert names == list(OPS) == list(read_table())


@pytest.mark.parametrize("op", OPS)
def test_typed_op_has_the_schema_of_the_op(op: str) -> None:
    function, schema = getattr(ops, op), getattr(torch.ops.rockiln, op).default._schema
    parameters = list(inspect.signature(function).parameters)
    assert parameters[:-1] == [argument.name for argument in schema.arguments]
    assert read_forms()[op].spec.summary.split()[0] in function.__doc__
    assert [line for line in function.__doc__.splitlines() if line.strip().startswith("In: ")]


@pytest.mark.parametrize("op", OPS)
def test_only_out_variants_write(op: str) -> None:
    functional, out = (getattr(torch.ops.rockiln, name).default._schema for name in (op, f"{op}_out"))
    assert not functional.is_mutable
    written = [argument.name for argument in out.arguments if argument.alias_info and argument.alias_info.is_write]
    assert tuple(written) == read_forms()[op].out_names
