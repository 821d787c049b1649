"""Formulas of manifests: what they can say, and that nothing else is run."""

from __future__ import annotations

import pytest

from rockiln_kernels.expressions import evaluate_expression, read_names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cdiv(M, 64) * H", 6),
        ("min(M, 3) + max(H, 7)", 10),
        ("pow2(M)", 128),
        ("M % 7 == 2", True),
        ("not (M > 5 and H < 1)", True),
        ("M < 5 or H == 3", True),
        ("-M // 3", -34),
    ],
)
def test_formulas_have_values(text: str, value: float) -> None:
    assert evaluate_expression(text, {"M": 100, "H": 3}) == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "M.real", "[M]", "M ** 2", "M if M else 1", "'a'", "cdiv(M", "1 < M < 3"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed|formula"):
        evaluate_expression(text, {"M": 2})


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(KeyError, match="K"):
        evaluate_expression("M + K", {"M": 2})


def test_names_are_read_without_functions() -> None:
    assert read_names("cdiv(M, 64) * H") == {"M", "H"}
