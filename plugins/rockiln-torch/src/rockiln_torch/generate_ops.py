"""OpForms → the modules of rockiln_torch.ops: a typed function an op, its docstring of the spec. Pure text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

from rockiln_kernels.spec import ArraySpec, OpSpec
from rockiln_kernels.table import read_origins
from rockiln_torch.forms import OpForm, read_forms

_HEAD = '''"""{names} → torch.ops.rockiln, by name. Made by rockiln_torch.generate of the specs."""

# fmt: off
from __future__ import annotations
{imports}
from torch import Tensor, ops{later}

__all__ = [{exported}]
'''
_INDEX = '''"""Every op of rockiln as a typed function → the outputs. Made by rockiln_torch.generate of the specs.

Each calls torch.ops.rockiln.NAME; with `out=` it writes into your tensors, and calls torch.ops.rockiln.NAME_out.
Wrong dtypes raise TypeError, wrong shapes and numbers ValueError, both with the rule that is broken.
"""

from __future__ import annotations

{imports}

__all__ = [
{exported}
]
'''
_TYPES = {"f32": "float", "i32": "int", "bool": "bool"}


def make_op_modules() -> Mapping[str, str]:
    """File name in ops/ → text: a module a family, and __init__.py."""
    origins = read_origins()
    families: dict[str, list[OpForm]] = {}
    for name, form in read_forms().items():
        families.setdefault(origins[name], []).append(form)
    modules = {f"{family}.py": _make_module(forms) for family, forms in sorted(families.items())}
    return {"__init__.py": _make_index(families), **modules}


def _make_index(families: Mapping[str, list[OpForm]]) -> str:
    lines = []
    for family, forms in sorted(families.items()):
        names = [form.spec.name for form in forms]
        line = f"from rockiln_torch.ops.{family} import {', '.join(names)}"
        if len(line) > 120:
            line = f"from rockiln_torch.ops.{family} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
        lines.append(line)
    exported = "\n".join(f'    "{name}",' for name in read_forms())
    return _INDEX.format(imports="\n".join(lines), exported=exported)


def _make_module(forms: list[OpForm]) -> str:
    names = [form.spec.name for form in forms]
    exported = ", ".join(f'"{name}"' for name in names)
    if len(exported) > 105:
        lines = textwrap.wrap(f"{exported},", 115)
        exported = "\n" + "".join(f"    {line}\n" for line in lines)
    imports = "\nimport torch" if any(form.dtype_axis for form in forms) else ""
    later = "\n\nfrom rockiln_torch.formats import find_format" if any(form.format_axis for form in forms) else ""
    listed = ", ".join(names) if len(names) < 2 else f"{names[0]} and {len(names) - 1} more"
    head = _HEAD.format(names=listed, imports=imports, later=later, exported=exported)
    return head + "".join(f"\n\n{_make_function(form)}" for form in forms)


def _make_function(form: OpForm) -> str:
    spec = form.spec
    many = len(spec.outputs) > 1
    result = f"tuple[{', '.join('Tensor' for _ in spec.outputs)}]" if many else "Tensor"
    parameters = [*_list_parameters(form), f"{_name_target(form)}: {result} | None = None"]
    head = _fold_head(f"def {spec.name}(", parameters, f") -> {result}:")
    return "\n".join([head, _make_docstring(form), _make_body(form, many=many), ""])


def _name_target(form: OpForm) -> str:
    """The keyword of the tensors to write into: out, unless an input is called so."""
    return "into" if any(array.name == "out" for array in form.spec.inputs) else "out"


def _fold_head(start: str, parameters: list[str], end: str) -> str:
    """A signature in one line, in three, or a line a parameter."""
    joined = ", ".join(parameters)
    if len(start + joined + end) <= 120:
        return start + joined + end
    if len(joined) <= 116:
        return f"{start}\n    {joined}\n{end}"
    return "\n".join([start, *(f"    {parameter}," for parameter in parameters), end])


def _write_texts(texts: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{text}"' for text in texts) + ")"


def _list_parameters(form: OpForm) -> Iterator[str]:
    for array in form.spec.inputs:
        yield f"{array.name}: Tensor | None = None" if array.optional else f"{array.name}: Tensor"
    yield "*"
    for scalar in form.spec.scalars:
        default = "" if scalar.default is None else f" = {scalar.default!r}"
        yield f"{scalar.name}: {_TYPES[scalar.kind]}{default}"
    if form.dtype_axis:
        yield "out_dtype: torch.dtype"
    if form.format_axis:
        yield f'fp6_format: str = "{form.formats[0]}"'


def _make_body(form: OpForm, *, many: bool) -> str:
    tensors = [array.name for array in form.spec.inputs]
    words = [f"{scalar.name}={scalar.name}" for scalar in form.spec.scalars]
    words += ["out_dtype=out_dtype"] if form.dtype_axis else []
    words += [f"fp6_format=find_format(fp6_format, {_write_texts(form.formats)})"] if form.format_axis else []
    target = _name_target(form)
    outputs = [f"{name}={target}[{place}]" if many else f"{name}={target}" for place, name in enumerate(form.out_names)]
    name = form.spec.name
    lines = [
        f"    if {target} is None:",
        f"        return ops.rockiln.{name}({', '.join([*tensors, *words])})  # type: ignore[no-any-return]",
        f"    ops.rockiln.{name}_out({', '.join([*tensors, *words, *outputs])})",
        f"    return {target}",
    ]
    return "\n".join(_fold_call(line) for line in lines)


def _fold_call(line: str) -> str:
    """A call that is too long, with its arguments on lines of their own."""
    if len(line) <= 120:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    code, mark, comment = line.partition("  # type")
    start, _, rest = code.partition("(")
    arguments = rest.removesuffix(")")
    return f"{start}({mark}{comment}\n{_wrap(_split_arguments(arguments), indent)}\n{indent})"


def _wrap(parts: list[str], indent: str) -> str:
    """Arguments in as few lines as they fit into; none is broken."""
    lines = [""]
    for part in parts:
        if len(indent) + 4 + len(lines[-1]) + len(part) + 2 > 120:
            lines.append("")
        lines[-1] += f" {part}," if lines[-1] else f"{part},"
    lines[-1] = lines[-1] if len(lines) > 1 else lines[-1].removesuffix(",")
    return "\n".join(f"{indent}    {line}" for line in lines)


def _split_arguments(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _make_docstring(form: OpForm) -> str:
    spec = form.spec
    texts = [spec.summary, *_list_arguments(form), *_list_rules(spec)]
    lines = [line for text in texts for line in textwrap.wrap(text, 112, break_long_words=False)]
    first, *rest = lines
    body = "\n".join(f"    {line}" for line in rest)
    quote = 'r"""' if "\\" in "".join(lines) else '"""'
    return f"    {quote}{first}\n{body}\n    " + '"""'


def _list_arguments(form: OpForm) -> Iterator[str]:
    spec = form.spec
    outputs = "; ".join(_describe_array(array) for array in spec.outputs)
    yield "In: " + "; ".join(_describe_array(array) for array in spec.inputs) + f". Out: {outputs}, contiguous."
    chosen = {form.dtype_axis: " (out_dtype)", form.format_axis: " (fp6_format)"}
    axes = [f"{axis}{chosen.get(axis, '')} is {' or '.join(members)}" for axis, members in spec.dtype_axes]
    yield "; ".join(axes) + "."


def _describe_array(array: ArraySpec) -> str:
    dims = ", ".join((*(("...",) if array.folds_leading else ()), *array.dims))
    return f"{array.name} {array.dtype}[{dims}]{' or None' if array.optional else ''}"


def _list_rules(spec: OpSpec) -> Iterator[str]:
    if spec.constraints:
        yield "ValueError: " + "; ".join(rule.reason for rule in spec.constraints) + "."
    if spec.gradient:
        yield f"Differentiable, by {spec.gradient.op}."
    if spec.source:
        yield f"Source: {spec.source}"
