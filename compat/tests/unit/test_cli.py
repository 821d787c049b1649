"""The command line: exit codes, JSON, hints, and no traceback for what a person can get wrong."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hipcompat import errors
from hipcompat.cli import main, make_parser
from hipcompat.verbs.table import VERBS, Verb


def _call(capsys: pytest.CaptureFixture[str], *argv: object) -> tuple[int, str, str]:
    code = main([str(part) for part in argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_known_name_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "facts", "cudaMemcpyAsync")
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == ["cudaMemcpyAsync", "  HIP         hipMemcpyAsync"]


def test_a_name_that_hipcompat_has_names_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _call(capsys, "facts", "__fadd_rz", "__fdiv_rz")
    assert out.count("  HIP         none") == 2
    assert out.count("  hipcompat   has it, in <hipcompat/rounding.h>") == 1


def test_paths_stand_on_both_sides_of_an_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("void f() { cudaFree(p); }")
    first, second = (str(tmp_path / name) for name in ("a.cu", "b.cu"))
    _, out, err = _call(capsys, "scan", first, "--arch", "gfx942", second, "--rocm", "7")
    assert err == ""
    assert out.splitlines()[-1] == "needs translation: 2 files read for gfx942 and ROCm 7.0"


def test_an_unknown_name_exits_6_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "facts", "cudaMemcpyAsink")
    assert (code, out) == (6, "")
    assert "hint: did you mean cudaMemcpyAsync" in err


def test_of_several_names_the_known_are_told_and_the_others_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "facts", "cudaMallok", "cudaMalloc", "hipMemcpyAsync", "--json")
    assert code == 6
    assert [fact["name"] for fact in json.loads(out)] == ["cudaMalloc"]
    assert "'cudaMallok', 'hipMemcpyAsync' are no public names of CUDA" in err
    assert "hint: cudaMallok: did you mean cudaMalloc, " in err
    assert "hipMemcpyAsync: hipMemcpyAsync is HIP's name of cuMemcpyAsync, cudaMemcpyAsync" in err


def test_stats_and_names_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "facts", "--stats", "cudaMalloc")
    assert (code, out) == (2, "")
    assert "--stats counts all names" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_one_message() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "hipcompat", "facts", "--stats"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.splitlines()[0].endswith("written to standard output: No space left on device")
    assert len(done.stderr.splitlines()) == 2


def test_a_reader_that_leaves_early_does_not_change_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    for words, code in ((["facts", "--stats"], 0), (["scan", str(tmp_path)], 3)):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "hipcompat", *words]
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False)


def test_stats_count_every_interface(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _call(capsys, "facts", "--stats", "--json")
    rows = {row[0]: row[1:] for row in json.loads(out)}
    assert code == 0
    wanted = "runtime driver blas blaslt sparse solver fft rand dnn nccl nvrtc nvml nvtx cub thrust device"
    assert set(wanted.split()) <= rows.keys()


def test_flags_that_cannot_be_had_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "flags", "--arch", "gfx942", "--", "-O2", "-optix-ir", "k.cu")
    assert code == 3
    assert out.splitlines()[0] == "--offload-arch=gfx942 -O2 -x hip k.cu"
    assert "cannot be had here: -optix-ir" in err


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 3), ("note", 3), ("never", 0)])
def test_fail_on_decides_the_exit_code(
    fail_on: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.py").write_text("import pynvml\n")
    assert _call(capsys, "scan", tmp_path, "--fail-on", fail_on)[0] == code


def test_scan_has_json_as_every_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    assert json.loads(_call(capsys, "scan", tmp_path, "--json")[1])["verdict"] == "blocked"


@pytest.mark.parametrize("wanted", ["text", "json", "sarif", "summary"])
def test_every_format_is_printed(wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    code, out, err = _call(capsys, "scan", tmp_path, "--format", wanted)
    assert code == 3
    assert "nvml" in out
    assert "blocked by 1" in err
    if wanted in {"json", "sarif"}:
        json.loads(out)


def test_a_baseline_is_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    known = tmp_path / "known.json"
    assert _call(capsys, "scan", tmp_path / "k.cu", "--write-baseline", known)[0] == 3
    code, out, _ = _call(capsys, "scan", tmp_path / "k.cu", "--baseline", known)
    assert code == 0
    assert "1 known finding not told" in out


def test_a_baseline_that_is_read_and_written_holds_what_is_there_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, known = tmp_path / "k.cu", tmp_path / "known.json"
    source.write_text("void f() { nvmlInit(); }\nvoid g() { cuGreenCtxCreate(); }\n")
    _call(capsys, "scan", source, "--write-baseline", known)
    before = json.loads(known.read_text())["findings"]
    source.write_text("void f() { nvmlInit(); }\nvoid h() { __nanosleep(1); }\n")
    code, out, _ = _call(capsys, "scan", source, "--baseline", known, "--write-baseline", known)
    assert (code, "__nanosleep" in out, "nvmlInit" in out) == (3, True, False)
    after = json.loads(known.read_text())["findings"]
    assert len(before) == len(after) == 2
    assert len(before.keys() & after.keys()) == 1, "the one that stayed is kept, the one that went is not"
    code, out, _ = _call(capsys, "scan", source, "--baseline", known)
    assert (code, "2 known findings not told" in out) == (0, True)


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"schema": 1, "findings": {"a": 1e999}}', "\xff"])
def test_what_is_no_baseline_is_one_message(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "known.json").write_bytes(text.encode("latin-1"))
    code, _, err = _call(capsys, "scan", __file__, "--baseline", tmp_path / "known.json")
    assert code == 4
    assert "is no baseline" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["scan", "/nowhere"], 4, "is not there"),
        (["scan", ".", "--arch", "h100"], 2, "is no AMD architecture"),
        (["scan", ".", "--rocm", "seven"], 2, "is no version"),
        (["scan", ".", "--baseline", "/nowhere"], 4, "No such file"),
        (["facts"], 2, "no name was given"),
        (["facts", "\x1b[31mX"], 6, "'\\u001b[31mX' is no public name"),
        (["facts", "\x1b[31mX", "\x07"], 6, "'\\u001b[31mX', '\\u0007' are no public names"),
        (["scan", ".", "--arch", "\x1b"], 2, "'\\u001b' is no AMD architecture"),
        (["scan", ".", "--rocm", "\x1b"], 2, "'\\u001b' is no version"),
        (["facts", ""], 6, "'' is no public name"),
        (["translate", __file__], 4, "nothing to translate: no C, C++ or CUDA file in"),
        (["run", str(Path(__file__).parent)], 4, "can't find '__main__' module in"),
        (["run", "-m", "no_such_module"], 4, "No module named no_such_module"),
        (["flags"], 2, "no argument of nvcc was given"),
        (["flags", "--", "-gencode"], 2, "-gencode: its value is missing"),
        (["check", "k.cu", "--nvcc-flags=-std="], 2, "-std=: its value is missing"),
        (["check", "k.cu", "--nvcc-flags", '"'], 2, "No closing quotation"),
        (["check", "k.cu", "--nvcc-flags", "-O2 \\"], 2, "No escaped character"),
    ],
)
def test_a_mistake_is_one_message(argv: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, err = _call(capsys, *argv)
    assert (found, out) == (code, "")
    assert words in err
    assert "hint: " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("wanted", ["text", "json", "sarif", "summary"])
def test_binary_files_alone_give_no_verdict(wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in "abcde":
        (tmp_path / f"{name}.cu").write_bytes(b"cuda\0" * 9)
    code, out, err = _call(capsys, "scan", tmp_path, "--format", wanted, "--fail-on", "never")
    assert (code, out) == (4, "")
    assert f"nothing was read: {tmp_path}/a.cu (binary), " in err
    assert "and 2 more" in err


def test_a_folder_without_source_gives_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys, "scan", tmp_path)
    assert (code, out) == (4, "")
    assert "nothing was read: no regular file there" in err


def _refuse(path: object, *_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_an_unreadable_folder_gives_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.scandir", _refuse)
    code, out, err = _call(capsys, "scan", tmp_path)
    monkeypatch.undo()
    assert (code, out) == (4, "")
    assert f"nothing was read: {tmp_path} (Permission denied)" in err


def test_an_unreadable_file_gives_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.cu").write_text("int k;\n")
    monkeypatch.setattr(Path, "read_bytes", _refuse)
    code, out, err = _call(capsys, "scan", tmp_path)
    monkeypatch.undo()
    assert (code, out) == (4, "")
    assert f"nothing was read: {tmp_path}/k.cu (Permission denied)" in err


def test_output_has_no_escape_codes_in_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    assert "\x1b" not in "".join(map(str, _call(capsys, "scan", tmp_path)))


def test_no_argument_at_all_shows_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _call(capsys)
    assert (code, out) == (2, "")
    assert all(f"\n    {verb.name}" in err for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_help_has_examples_and_exit_codes(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb.name, "--help"])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert verb.examples
    for example in verb.examples:
        assert f"\n  {example}\n" in out
        words = shlex.split(example.partition(" > ")[0])[1:]
        assert make_parser(verb.name).parse_args(words).verb == verb.name
    known = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")} | {0, 130}
    assert set(verb.exits) <= known
    codes = [line.split()[0] for line in out.partition("exit codes:\n")[2].splitlines()]
    assert codes == sorted({"2", "130", *map(str, verb.exits)}, key=int)


@pytest.mark.parametrize("words", [("scan", "--debug", "/nowhere"), ("--debug", "scan", "/nowhere")])
def test_debug_shows_the_traceback_and_keeps_the_exit_code(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == errors.FileError.exit_code
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last)")
    assert "hipcompat: error: /nowhere is not there" in said


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full"])
def test_a_closed_or_full_standard_error_changes_no_exit_code(closing: str) -> None:
    command = f"exec {sys.executable} -c 'import sys; from hipcompat.cli import main; sys.exit(main())' scan /nowhere"
    done = subprocess.run(["sh", "-c", f"{command} {closing}"], check=False, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (errors.FileError.exit_code, b"")


def test_arguments_of_nvcc_without_two_dashes_are_told_where_they_stand(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["flags", "-O3", "k.cu"])
    assert ended.value.code == 2
    assert "hint: nvcc's arguments stand after --" in capsys.readouterr().err


def test_a_value_with_a_dash_is_told_how_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "k.cu", "--nvcc-flags", "-O3"])
    assert ended.value.code == 2
    assert "hint: a value that begins with a dash stands after =, as in --nvcc-flags=-O3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run"], "the following arguments are required: SCRIPT\n"),
        (["scan", ".", "--format", "\x1b[1m\\x1b"], "invalid choice: '\\u001b[1m\\\\x1b' "),
    ],
)
def test_what_argparse_says_is_as_all_else(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(argv)
    assert told in capsys.readouterr().err


def test_shim_mode_gives_clang_its_arguments_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.cu").write_text("void f() { nvmlInit(); }\n")
    code, out, err = _call(capsys, "translate", "--mode", "shim", tmp_path / "k.cu")
    assert code == 3
    assert shlex.split(out)[-2:] == ["-include", "cuda_runtime.h"]
    assert out.count("\n") == 1
    assert f"{tmp_path}/k.cu:1:12: error nvml" in err
