"""nvcc's arguments → clang's: the cases of real build files, and clang-22 accepts what comes out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hipcompat.cli import main
from hipcompat.errors import UsageError
from hipcompat.flags import translate_flags
from hipcompat.flags.option import Option
from hipcompat.flags.table import BY_NAME, OPTIONS


def _notes(*arguments: str) -> dict[str, str]:
    return {note.given: note.kind for note in translate_flags(arguments).notes}


def test_a_torch_extension_compiles_for_the_asked_arch() -> None:
    given = [
        "-O3", "-gencode=arch=compute_80,code=sm_80", "--expt-relaxed-constexpr", "-D__CUDA_NO_HALF_OPERATORS__",
        "--compiler-options", "'-fPIC'", "-std=c++17", "-c", "k.cu", "-o", "k.o",
    ]  # fmt: skip
    translation = translate_flags(given, archs=["gfx942"])
    assert " ".join(translation.arguments) == (
        "--offload-arch=gfx942 -O3 -D__HIP_NO_HALF_OPERATORS__=1 -fPIC -std=c++17 -c -x hip k.cu -o k.o"
    )


@pytest.mark.parametrize("given", [["-arch", "sm_80"], ["-arch=sm_80"], ["--gpu-architecture", "sm_80"]])
def test_every_way_to_write_a_value_is_read(given: list[str]) -> None:
    translation = translate_flags(given)
    assert translation.arguments == ()
    assert [(note.given, note.kind) for note in translation.notes] == [(" ".join(given), "dropped")]


def test_lists_are_split_at_bare_commas_only() -> None:
    assert translate_flags(["-Xcompiler", "-fPIC,-DA='x,y'", "-I", "a,b"]).arguments == (
        "-fPIC", "-DA=x,y", "-I", "a", "-I", "b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "became"),
    [
        (["-Xcompiler", "-fPIC -O2"], ("-fPIC", "-O2")),
        (["-Xcompiler=-fPIC  '-DA=x y',-g"], ("-fPIC", "-DA=x y", "-g")),
        (["-Xlinker", "-rpath /a\\ b"], ("-Xlinker", "-rpath", "-Xlinker", "/a b")),
        (["-I", "a b,c"], ("-I", "a b", "-I", "c")),
    ],
)
def test_options_of_another_program_are_split_at_blanks_too(given: list[str], became: tuple[str, ...]) -> None:
    assert translate_flags(given).arguments == became


@pytest.mark.parametrize(
    ("name", "became", "told"),
    [
        ("cudnn", (), "refused"), ("cudnn_ops_infer", (), "refused"), ("cupti", (), "refused"),
        ("nvinfer", (), "refused"),
        ("nvptxcompiler_static", (), "refused"), ("culibos", (), "dropped"), ("cudadevrt", (), "dropped"),
        ("cublas_static", ("-lhipblas",), "replaced"), ("cufft_static_nocallback", ("-lhipfft",), "replaced"),
        ("nvToolsExt", ("-lrocprofiler-sdk-roctx",), "replaced"),
        ("pthread", ("-lpthread",), ""), ("png_static", ("-lpng_static",), ""),
    ],
)  # fmt: skip
def test_a_library_becomes_one_with_the_same_calls_only(name: str, became: tuple[str, ...], told: str) -> None:
    translation = translate_flags([f"-l{name}"])
    assert translation.arguments == became
    assert [note.kind for note in translation.notes] == [told] * bool(told)


@pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 is not installed")
def test_clang_takes_gfx906_by_itself(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_text("")
    command = ["clang-22", "-###", "-x", "hip", "-nogpulib", "-nogpuinc", "-c", str(tmp_path / "k.hip")]
    assert "gfx906" in subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_without_an_arch_it_is_said_what_clang_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flags", "--", "-c", "k.cu"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("# no --arch: for device code clang takes gfx906")
    assert main(["flags", "--arch", "gfx942", "--", "-c", "k.cu"]) == 0
    assert "--arch:" not in capsys.readouterr().out


def test_what_clang_calls_the_same_is_no_replacement(capsys: pytest.CaptureFixture[str]) -> None:
    assert _notes("--version", "--help", "-Werror=reorder", "-m64") == {}
    assert _notes("-V") == {"-V": "replaced"}
    assert main(["flags", "--", "--version"]) == 0
    assert capsys.readouterr().out == "--version\n"


def test_a_value_is_shown_as_the_console_shows_all() -> None:
    (note,) = translate_flags(["-ftz=\x1b"]).notes
    assert note.reason == "nvcc documents true and false for it, and '\\u001b' is neither"


def test_linking_an_object_is_not_compiled_as_hip() -> None:
    arguments = translate_flags(["a.cu", "b.o", "c.cu"]).arguments
    assert arguments == ("-x", "hip", "a.cu", "-x", "none", "b.o", "-x", "hip", "c.cu")


def test_a_claim_to_be_nvcc_is_refused() -> None:
    assert _notes("-D__CUDA_ARCH__=800", "-lnvidia-ml", "-lnppc") == {
        "-D__CUDA_ARCH__=800": "refused", "-lnvidia-ml": "refused", "-lnppc": "refused",
    }  # fmt: skip


def test_toolkit_headers_do_not_shadow_hip() -> None:
    assert translate_flags(["-I/usr/local/cuda/include", "-Iinclude/cuda"]).arguments == ("-I", "include/cuda")


def test_relocatable_code_is_asked_for_once() -> None:
    assert translate_flags(["-rdc=true", "-dc", "k.cu"]).arguments == ("-fgpu-rdc", "-c", "-x", "hip", "k.cu")


def test_unknown_arguments_are_left_to_clang() -> None:
    given = ("-Wall", "-fno-strict-aliasing", "-march=native", "-Werror")
    assert translate_flags(given).arguments == given


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (["-Werror", "k.o"], ("-Werror", "k.o")),
        (["-Werror"], ("-Werror",)),
        (["--Werror", "-c"], ("-Werror", "-c")),
        (["-Werror", "all-warnings", "k.o"], ("-Werror", "k.o")),
        (["-Werror", "reorder,default-stream-launch"], ("-Werror=reorder",)),
        (["-Werror=reorder,all-warnings"], ("-Werror=reorder", "-Werror")),
        (["-Werror", "return-type"], ("-Werror", "return-type")),
        (["-O", "k.o"], ("-O", "k.o")),
        (["-O", "2", "k.o"], ("-O2", "k.o")),
    ],
)
def test_a_kind_is_taken_from_the_next_word_where_it_is_one(given: list[str], arguments: tuple[str, ...]) -> None:
    assert translate_flags(given).arguments == arguments


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.takes_value and not option.next_values])
def test_a_value_that_is_missing_is_named(option: Option) -> None:
    for name in option.names:
        with pytest.raises(UsageError, match=f"^{name}: its value is missing$"):
            translate_flags(["-c", name])
        if not option.takes_options:
            with pytest.raises(UsageError, match=f"^{name}: its value is missing, -c follows$"):
                translate_flags([name, "-c", "k.cu"])
        if not option.splits:
            with pytest.raises(UsageError, match=f"^{name}=: its value is missing$"):
                translate_flags([f"{name}="])


@pytest.mark.parametrize("option", [option for option in OPTIONS if not option.takes_value])
def test_a_switch_may_be_off(option: Option) -> None:
    for name in option.names:
        assert translate_flags([f"{name}=true"]).arguments == translate_flags([name]).arguments
        off = translate_flags([f"{name}=false"])
        assert (off.arguments, [note.kind for note in off.notes]) == ((), ["dropped"])
        with pytest.raises(UsageError, match="is a switch"):
            translate_flags([f"{name}=1"])


@pytest.mark.parametrize("name", ["-rdc", "-ftz", "-prec-div", "-prec-sqrt", "-fmad", "-default-stream"])
def test_a_value_that_nvcc_does_not_document_is_refused(name: str) -> None:
    assert _notes(f"{name}=yes") == {f"{name}=yes": "refused"}


def test_options_for_another_program_keep_their_dashes() -> None:
    assert translate_flags(["-Xcompiler", "-fPIC", "-Xlinker", "-z,now", "-o", "-"]).arguments == (
        "-fPIC", "-Xlinker", "-z", "-Xlinker", "now", "-o", "-",
    )  # fmt: skip


def test_one_text_is_split_as_a_shell_splits() -> None:
    text = "-O3 -DNAME='a b' -lcudnn"
    assert translate_flags(text) == translate_flags(["-O3", "-DNAME=a b", "-lcudnn"])


def test_every_option_says_why_or_what() -> None:
    assert not [option.names for option in OPTIONS if option.kind in {"dropped", "refused"} and not option.reason]
    assert len(BY_NAME) == sum(len(option.names) for option in OPTIONS), "two options share a name"


VALUES = {"-std": "c++17", "-x": "cu", "-m": "64", "-O": "2", "-Xcompiler": "-fPIC", "-ftemplate-depth": "900",
          "-ftemplate-backtrace-limit": "5", "-Werror": "all-warnings", "-default-stream": "per-thread"}  # fmt: skip


@pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 is not installed")
@pytest.mark.parametrize("name", [option.names[-1] for option in OPTIONS if option.kind in {"kept", "replaced"}])
def test_clang_accepts_what_an_option_became(name: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("__attribute__((global)) void k() {}\n")
    value = [VALUES.get(name, "true")] if BY_NAME[name].takes_value else []
    arguments = translate_flags([name, *value, str(source)], archs=["gfx942"]).arguments
    command = ["clang-22", "-###", "-nogpulib", "-nogpuinc", "-Werror=unused-command-line-argument", *arguments]
    result = subprocess.run([*command, "-c"] if name == "-o" else command, capture_output=True, text=True, check=False)
    refusals = [line for line in result.stderr.splitlines() if "unknown argument" in line or "unsupported" in line]
    assert not refusals
    assert "argument unused" not in result.stderr or name in {"-MF", "-MT", "-MP"}
