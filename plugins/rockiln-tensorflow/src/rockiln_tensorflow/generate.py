"""The op table → native/*.inc: rows, REGISTER_OPs, types. `python make_tables.py` in a checkout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from rockiln_kernels.spec import ArraySpec, OpSpec, ScalarSpec
from rockiln_kernels.table import read_table
from rockiln_tensorflow.dtypes import TYPE_NAMES
from rockiln_tensorflow.forms import OpForm, describe_array, make_form, name_op_type
from rockiln_tensorflow.formulas import write_formula

ROOT = Path(__file__).parents[2]
_HEAD = "// Made by rockiln_tensorflow.generate of rockiln_kernels' specs; a test holds it against them.\n"
FLOAT8 = frozenset({"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"})


def make_files() -> Mapping[Path, str]:
    """Every generated file → its text."""
    forms = [make_form(op) for op in read_table()]
    rows = "".join(map(_write_row, forms))
    return {
        ROOT / "native" / "op_table.inc": f"{_HEAD}std::vector<OpRow> make_rows() {{\n  return {{\n{rows}  }};\n}}\n",
        ROOT / "native" / "registrations.inc": _HEAD + "".join(map(_write_registration, forms)),
        ROOT / "native" / "kernel_types.inc": _HEAD
        + "".join(f'ROCKILN_KERNEL("{name_op_type(form.spec.name)}")\n' for form in forms),
    }


def _list_names(spec: OpSpec) -> list[str]:
    """Dims, integer scalars, has_NAME: what formulas may say, each once."""
    dims = [dim for array in spec.arrays for dim in array.dims if dim.isidentifier()]
    numbers = [scalar.name for scalar in spec.scalars if scalar.kind != "f32"]
    present = [f"has_{array.name}" for array in spec.inputs if array.optional]
    return list(dict.fromkeys([*dims, *numbers, *present]))


def _write_row(form: OpForm) -> str:
    spec, names = form.spec, _list_names(form.spec)
    places = {name: place for place, name in enumerate(names)}
    texts = ", ".join(f'"{name}"' for name in names)
    arrays = [", ".join(_write_array(array, places) for array in own) for own in (spec.inputs, spec.outputs)]
    scalars = ", ".join(_write_scalar(scalar, places) for scalar in spec.scalars)
    axes = ", ".join(_write_axis(form, axis) for axis in form.open_axes)
    float8 = ", ".join(_write_float8(axis, members) for axis, members in spec.dtype_axes if has_float8(members))
    checks = ", ".join(
        f"{{{write_formula(item.formula, places)}, {json.dumps(item.reason)}}}" for item in spec.constraints
    )
    named = f"[] {{ static const char* const own[] = {{{texts}}}; return own; }}()"
    head = f'"{name_op_type(spec.name)}", "{spec.name}", {len(names)}, {named}'
    lines = (head, *(f"{{{item}}}" for item in (*arrays, scalars, axes, float8, checks)))
    return "    {" + ",\n     ".join(lines) + "},\n"


def _write_array(array: ArraySpec, places: Mapping[str, int]) -> str:
    dims = ", ".join(
        f"{{{places[dim]}, {{}}}}" if dim.isidentifier() else f"{{-1, {write_formula(dim, places)}}}"
        for dim in array.dims
    )
    folds, optional = (str(flag).lower() for flag in (array.folds_leading, array.optional))
    return f'{{"{array.name}", {{{dims}}}, {folds}, {optional}, {places.get(f"has_{array.name}", -1)}}}'


def _write_scalar(scalar: ScalarSpec, places: Mapping[str, int]) -> str:
    return f"{{\"{scalar.name}\", '{scalar.kind[0]}', {places.get(scalar.name, -1)}}}"


def _write_axis(form: OpForm, axis: str) -> str:
    fixed = dict(form.fixed).get(axis)
    return f'{{"{axis}", {_name_code(fixed) if fixed else 0}, {str(axis == form.format_axis).lower()}}}'


def has_float8(members: tuple[str, ...]) -> bool:
    """Types that REGISTER_OP's lists cannot spell, since its parser stops at the underscore."""
    return len(members) > 1 and bool(FLOAT8 & set(members))


def _write_float8(axis: str, members: tuple[str, ...]) -> str:
    return f'{{"{axis}", {{{", ".join(map(_name_code, members))}}}}}'


def _name_code(dtype: str) -> str:
    return f"ROCKILN_DTYPE_{dtype.upper()}"


def _write_registration(form: OpForm) -> str:
    spec, op_type = form.spec, name_op_type(form.spec.name)
    lines = [f'REGISTER_OP("{op_type}")', *_write_dtypes(form)]
    for array in spec.inputs:
        dtype = name_type(spec, array.dtype)
        lines += [f'    .Attr("{array.name}_count: int >= 0 = 0")'] if array.optional else []
        lines.append(f'    .Input("{array.name}: {f"{array.name}_count * {dtype}" if array.optional else dtype}")')
    lines += [f'    .Attr("{_write_attribute(scalar)}")' for scalar in spec.scalars]
    lines += [f'    .Output("{array.name}: {name_type(spec, array.dtype)}")' for array in spec.outputs]
    lines.append(f'    .SetShapeFn([](InferenceContext* context) {{ return infer("{op_type}", context); }})')
    return "\n".join(lines) + f'\n    .Doc(R"doc(\n{_write_doc(spec)})doc");\n\n'


def _write_dtypes(form: OpForm) -> list[str]:
    written = []
    for axis, members in form.spec.dtype_axes:
        if axis == form.format_axis:
            written.append(
                f'''    .Attr("{axis}: {{{", ".join(f"'{member}'" for member in members)}}} = '{members[0]}'")'''
            )
        elif has_float8(members):
            written.append(f'    .Attr("{axis}: type")')
        elif len(members) > 1:
            written.append(f'    .Attr("{axis}: {{{", ".join(TYPE_NAMES[member] for member in members)}}}")')
    return written


def name_type(spec: OpSpec, dtype: str) -> str:
    """How REGISTER_OP says an array's dtype: an attribute, or a type where there is no choice."""
    members = dict(spec.dtype_axes).get(dtype, (dtype,))
    return dtype if len(members) > 1 else TYPE_NAMES[members[0]]


def _write_attribute(scalar: ScalarSpec) -> str:
    kind = {"f32": "float", "i32": "int", "bool": "bool"}[scalar.kind]
    if scalar.default is None:
        return f"{scalar.name}: {kind}"
    return f"{scalar.name}: {kind} = {str(scalar.default).lower() if kind == 'bool' else scalar.default}"


def _write_doc(spec: OpSpec) -> str:
    arrays = "".join(f"\n{array.name}: {describe_array(array).partition(' ')[2]}" for array in spec.arrays)
    return f"{spec.summary}\n{arrays}\n"


def write_files() -> None:
    """Write every file."""
    for path, text in make_files().items():
        path.write_text(text, encoding="utf-8")
