"""The plugin's own shape: small modules, small functions, no import circle; the wheel's tag and what it holds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fake.cpu_route import load_hook
from rockiln_tensorflow.native import load_ops

SOURCES = sorted((Path(__file__).parents[1] / "src").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_modules_and_functions_are_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 40, node.name


def test_the_wheel_is_for_the_glibc_that_the_library_needs() -> None:
    tag = load_hook().name_platform(load_ops())
    assert tag.startswith("manylinux_2_")
    assert int(tag.split("_")[2]) <= 36  # Debian 12's, on which the images without a GPU stand


def test_headers_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"no rockiln_dispatch\.h: build it in a checkout, beside plugins/rockiln-kernels"
    ):
        load_hook().find_headers(tmp_path)


def test_a_compiler_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(
        SystemExit, match=r"no no-such-compiler to compile the library: apt-get install g\+\+, or set CXX"
    ):
        load_hook().compile_library(tmp_path, tmp_path / "out.so")


def test_the_tag_counts_libstdcxx_as_the_glibc_that_it_comes_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "readelf"
    tool.write_text("#!/bin/sh\necho 'Name: GLIBC_2.14  Name: GLIBCXX_3.4.29  Name: GLIBC_2.2.5'\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert load_hook().name_platform(tmp_path / "library.so").startswith("manylinux_2_34_")
