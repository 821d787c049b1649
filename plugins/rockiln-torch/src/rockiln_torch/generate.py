"""The op table → native/op_table.inc and op_table.py. `python -m rockiln_torch.generate` in a checkout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rockiln_torch.forms import OpForm, read_forms
from rockiln_torch.generate_ops import make_op_modules

ROOT = Path(__file__).parents[2]
_HEAD = "made by rockiln_torch.generate of rockiln_kernels' specs; a test holds it against them"
_DTYPE_CODES = {"": 0, "bf16": 3}
"""rockiln_dtype of the dtypes that are ever fixed."""


def make_files() -> Mapping[Path, str]:
    """Every generated file → its text."""
    package = ROOT / "src" / "rockiln_torch"
    modules = {package / "ops" / name: text for name, text in make_op_modules().items()}
    return {
        ROOT / "native" / "op_table.inc": _make_native_table(),
        package / "op_table.py": _make_python_table(),
        **modules,
    }


def _make_native_table() -> str:
    rows = "".join(_make_row(form) for form in read_forms().values())
    return f"// {_HEAD}\n{rows}"


def _make_row(form: OpForm) -> str:
    texts = ",\n ".join(f'"{text}"' for text in (form.spec.name, form.schema, form.out_schema, form.kinds))
    return f"{{{texts}, {len(form.spec.outputs)}, {_DTYPE_CODES[form.fixed_dtype]}}},\n"


def _make_python_table() -> str:
    names = "".join(f'    "{name}",\n' for name in read_forms())
    head = '"""The native table\'s order → OPS, names. Made by rockiln_torch.generate of the specs."""'
    return f"{head}\n\nOPS = (\n{names})\n"


def write_files() -> None:
    """Write every file, and remove op modules that are no more."""
    files = make_files()
    for path in (ROOT / "src" / "rockiln_torch" / "ops").glob("*.py"):
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_files()
