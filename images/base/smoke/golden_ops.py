"""The golden files in the image's checks → that the op table is theirs, and a case of an op, called in Python's form.

For frameworks whose ops are written as rockiln_kernels.forms says, and whose arrays NumPy reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from own_packages import list_pack_archs, read_manifest

from rockiln_kernels.forms import make_form
from rockiln_kernels.golden import read_golden
from rockiln_kernels.table import read_table

if TYPE_CHECKING:
    from types import ModuleType

    from rockiln_kernels.golden import GoldenCase

GOLDEN = Path("/run/rockiln/smoke/data/golden")


def check_table(ops: ModuleType) -> None:
    """The table, the golden files, the module's functions and the packs have the same ops."""
    table = read_table()
    golden = {path.stem for path in GOLDEN.glob("*.safetensors")}
    assert golden == table.keys(), f"the op table and the golden files differ by {sorted(golden ^ table.keys())}"
    missing = sorted(name for name in table if not callable(getattr(ops, name, None)))
    assert not missing, f"{ops.__name__} lacks {missing}"
    for arch in list_pack_archs():
        packed = {variant["op"] for variant in read_manifest(arch)["variants"]}
        assert packed <= table.keys(), (arch, sorted(packed - table.keys()))


def check_cases(ops: ModuleType) -> None:
    """A case of each op gives what its file says."""
    table = read_table()
    faults = []
    for case in (_pick_case(place, op) for place, op in enumerate(table)):
        faults += [f"{case.op} {case.cell}/{case.name}: {fault}" for fault in case.find_faults(_call_op(ops, case))]
    assert not faults, "\n".join([f"of {len(table)} cases these are wrong", *faults[:20]])


def _pick_case(place: int, op: str) -> GoldenCase:
    """The smallest; of the first dtypes or, every other op, of the last: XLA compiles each, which takes time."""
    cases = [case for case in read_golden(op, GOLDEN) if all(array.size for array in case.inputs.values())]
    cells = list(dict.fromkeys(case.cell for case in cases))
    mine = [case for case in cases if case.cell == cells[-(place % 2)]]
    return min(mine, key=lambda case: sum(array.size for array in case.inputs.values()))


def _call_op(ops: ModuleType, case: GoldenCase) -> dict[str, np.ndarray[Any, Any]]:
    """Outputs by name."""
    form = make_form(case.op)
    words: dict[str, Any] = dict(case.scalars)
    if form.dtype_axis:
        words["out_dtype"] = case.dtypes[form.dtype_axis]
    if form.format_axis:
        words["fp6_format"] = case.dtypes[form.format_axis]
    result = getattr(ops, case.op)(*(case.inputs.get(one.name) for one in form.spec.inputs), **words)
    result = result if isinstance(result, tuple) else (result,)
    return {one.name: np.asarray(value) for one, value in zip(form.spec.outputs, result, strict=True)}
