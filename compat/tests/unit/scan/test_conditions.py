"""#if as HIP's compiler sees it: taken, dead, or unknown; expressions with macros that are not known."""

from __future__ import annotations

import pytest

from hipcompat.scan.conditions import drop_dead_code, evaluate
from hipcompat.scan.lexer import lex


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("1", 1), ("!0", 1), ("2 > 1 && 3", 1), ("0x10 == 16", 1), ("010 == 8", 1), ("(1 + 2) * 3 == 9", 1),
        ("1 << 3 == 8", 1), ("-1 < 0", 1), ("7 % 4 == 3", 1), ("1 / 0", None), ("", None), ("(", None), ("1 1", None),
        ("defined(__HIPCC__)", 1), ("defined __CUDACC__", 0), ("__CUDA_ARCH__ >= 700", 0),
        ("!defined(__CUDA_ARCH__)", 1),
        ("defined(MINE)", None), ("MINE", None), ("MINE && 0", 0), ("MINE || 1", 1), ("0 && 1 / 0", 0),
        ("__has_include(<x>) || 1", 1), ("MINE(1, 2)", None), ("defined(__GNUC__) && __GNUC__ >= 4", 1),
        ("1ull << 70", None), ("9" * 5000, None), ("(" * 5000, None),
    ],
)  # fmt: skip
def test_expressions_have_three_values(text: str, value: int | None) -> None:
    assert evaluate(text, {}) == value


def _seen(text: str) -> tuple[list[str], list[str]]:
    seen = drop_dead_code(lex(text))
    unknown = "".join(seen.code.code[start:end] for start, end in seen.unknown)
    return _words(seen.code.code), _words(unknown)


def _words(text: str) -> list[str]:
    return [word for word in "abcdef" if f"{word};" in text]


@pytest.mark.parametrize(
    ("text", "alive", "unknown"),
    [
        ("#if 0\na;\n#else\nb;\n#endif\nc;", "bc", ""),
        ("#if 1\na;\n#elif 1\nb;\n#else\nc;\n#endif", "a", ""),
        ("#ifdef __CUDACC__\na;\n#elif defined(__HIPCC__)\nb;\n#else\nc;\n#endif", "b", ""),
        ("#ifdef MINE\na;\n#else\nb;\n#endif", "ab", "ab"),
        ("#ifndef GUARD_H\n#define GUARD_H\na;\n#endif", "a", ""),
        ("#define MINE 0\n#if MINE\na;\n#endif\nb;", "b", ""),
        ("#define MINE\n#ifdef MINE\na;\n#else\nb;\n#endif", "a", ""),
        ("#define MINE\n#undef MINE\n#ifdef MINE\na;\n#endif\nb;", "ab", "a"),
        ("#if 0\n#if 1\na;\n#endif\nb;\n#endif\nc;", "c", ""),
        ("#if MINE\na;\n#elif 0\nb;\n#else\nc;\n#endif", "ac", "ac"),
        ("#if 0\na;", "", ""),
        ("#endif\n#else\na;", "a", ""),
        ("#if 0 // #endif\na;\n/*\n#endif\n*/\nb;\n#endif\nc;", "c", ""),
        ("#if \\\n 0\na;\n#endif\nb;", "b", ""),
    ],
)
def test_branches_are_alive_dead_or_unknown(text: str, alive: str, unknown: str) -> None:
    assert _seen(text) == (list(alive), list(unknown))


UNFINISHED = ["'", '"', "/*", "//", 'R"x(', "\\", "#if", "#", '"\\', "'\\", "1'000'000 + 'a' + u8'b'"]


@pytest.mark.parametrize("text", UNFINISHED)
def test_unfinished_text_keeps_its_length(text: str) -> None:
    code = lex(f"before; {text}")
    assert code.code.startswith("before; ")
    assert len(code.code) == len(code.text)
