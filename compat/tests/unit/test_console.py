"""Names of files and lines of source are anybody's: a terminal gets none of their control codes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from hipcompat.cli import main
from hipcompat.console import printable, printable_lines, say_count

NAME = "\x1b]0;owned\x07\x1b[31m\u202egnp\udcff.cu"
"""Sets a terminal's title, its colour, and the direction of writing; ends in a byte that is no UTF-8."""
SHOWN = "\\u001b]0;owned\\u0007\\u001b[31m\\u202egnp\\udcff.cu"


@pytest.mark.parametrize(
    ("text", "shown"),
    [(NAME, SHOWN), ("a\nb", "a\\nb"), ("a\tb", "a\\tb"), ("größe 字.cu", "größe 字.cu"), ("\x9b1m", "\\u009b1m")],
)
def test_a_line_has_no_control_codes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_text_keeps_its_lines_and_tabs() -> None:
    assert printable_lines("a\tb\n\x0cc\r\nd\re\r\r\n") == "a\tb\n\\fc\r\nd\\re\\r\r\n"


def test_counts_are_singular_and_plural() -> None:
    assert [say_count(count, "file") for count in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


@pytest.mark.parametrize("wanted", ["text", "json", "sarif", "summary"])
def test_scan_shows_names_and_excerpts_without_their_codes(
    wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / NAME).write_bytes(b"/* \x1b[2J */ void f() { nvmlInit(); }\n")
    (tmp_path / ("\x1b[1m.cu")).write_bytes(b"\0")  # is binary, and so named as not read
    assert main(["scan", str(tmp_path), "--format", wanted]) == 3
    out, err = capsys.readouterr()
    assert printable_lines(out + err) == out + err
    assert ("%1B%5D0" if wanted == "sarif" else "\\u001b]0;owned") in out


def test_the_underline_stands_below_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_bytes(b"/* \x1b[2J */\tvoid f() { nvmlInit(); }\n")
    main(["scan", str(tmp_path / "k.cu")])
    lines = capsys.readouterr().out.split("\n")
    place = next(number for number, line in enumerate(lines) if "nvmlInit();" in line)
    assert lines[place] == "    /* \\u001b[2J */\tvoid f() { nvmlInit(); }"
    start = lines[place].index("nvmlInit")
    assert lines[place + 1] == " " * 19 + "\t" + " " * (start - 20) + "^" * len("nvmlInit")


@pytest.mark.parametrize(
    "argv",
    [
        ["facts", f"cuda{NAME}"],
        ["scan", f"/nowhere/{NAME}"],
        ["scan", "k.cu", "--rocm", NAME],
        ["scan", "k.cu", "--arch", NAME],
        ["flags", "--", f"-D{NAME}", f"-lnpp{NAME}", f"{NAME}.cu"],
        ["flags", "--", f"-std={NAME}", f"-G={NAME}"],
        ["translate", f"/nowhere/{NAME}"],
        ["translate", NAME],
        ["check", f"/nowhere/{NAME}"],
        ["check", NAME, "--clang", f"/nowhere/{NAME}", "--rocm-path", "."],
        ["check", NAME, "--rocm-path", f"/nowhere/{NAME}"],
        ["check", NAME, f"--nvcc-flags=-lnpp{NAME}"],
        ["doctor", "--root", f"/nowhere/{NAME}"],
        ["run", f"/nowhere/{NAME}"],
        [NAME],
        ["scan", "--format", NAME, "k.cu"],
        ["facts", "x", f"--{NAME}"],
    ],
    ids=str,
)
def test_no_verb_repeats_control_codes(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_bytes(b"void f() { cudaDeviceSynchronize(); } // \x1b[5m\n")
    (tmp_path / "include" / "hip").mkdir(parents=True)
    (tmp_path / "include" / "hip" / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 7\n")
    with contextlib.suppress(SystemExit):  # argparse's own
        main(argv)
    out, err = capsys.readouterr()
    assert out + err
    assert printable_lines(out + err) == out + err
