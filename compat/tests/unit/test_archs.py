"""Names of architectures: LLVM's, with what was meant where one is none; the same on every verb."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from hipcompat.archs import ARCHS, read_archs
from hipcompat.cli import main
from hipcompat.errors import UsageError

VERBS = (["scan", "."], ["translate", "."], ["translate", ".", "--mode", "shim"], ["check", "k.cu"], ["flags"])


@pytest.mark.parametrize(
    ("given", "archs"),
    [
        ([], ("gfx942",)),
        (["gfx90a,gfx942", "gfx90a"], ("gfx90a", "gfx942")),
        (["gfx942; gfx1100 ,"], ("gfx942", "gfx1100")),
        (["gfx90a:sramecc+:xnack-"], ("gfx90a:sramecc+:xnack-",)),
        (["gfx9-4-generic:xnack+"], ("gfx9-4-generic:xnack+",)),
    ],
)
def test_archs_are_given_together_or_one_each(given: list[str], archs: tuple[str, ...]) -> None:
    assert read_archs(given) == archs


@pytest.mark.parametrize(
    ("arch", "message", "hint"),
    [
        ("gfx492", "'gfx492' is no AMD architecture", "did you mean gfx942, "),
        ("GFX942", "'GFX942' is no AMD architecture", "did you mean gfx942? LLVM's names: gfx803, "),
        ("sm_80", "'sm_80' is no AMD architecture", "that is NVIDIA's"),
        ("compute_90", "'compute_90' is no AMD architecture", "that is NVIDIA's"),
        ("mi300", "'mi300' is no AMD architecture", "LLVM's names: gfx803, "),
        ("gfx942,gfx9420", "'gfx9420' is no AMD architecture", "did you mean gfx942"),
        ("gfx1100:xnack+", "gfx1100 has no feature 'xnack+'", "gfx1100 has no features to choose"),
        ("gfx942:xnack", "gfx942 has no feature 'xnack'", "gfx942:sramecc+ or gfx942:xnack+, or the sign -"),
        ("gfx942:", "gfx942 has no feature ''", "gfx942:sramecc+"),
        ("gfx942:xnack+:xnack-", "names a feature twice", "once"),
        (" , ", "' , ' names no architecture", "LLVM's names: gfx803, "),
        ("", "'' names no architecture", "LLVM's names: gfx803, "),
    ],
)
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_an_unknown_arch_is_one_message_on_every_verb(
    verb: list[str], arch: str, message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb, "--arch", arch, *(["--", "-c"] if verb == ["flags"] else [])]) == UsageError.exit_code
    out, err = capsys.readouterr()
    error, advice = err.splitlines()
    assert out == ""
    assert message in error
    assert hint in advice


@pytest.mark.parametrize("rocm", ["99", "99.0", "6.4", "5.2.1", "7.14"])
def test_a_rocm_of_which_no_rule_knows_is_refused(rocm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", ".", "--rocm", rocm]) == UsageError.exit_code
    assert "hint: --rocm takes ROCm 7 from 7.0 to 7.13" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 is not installed")
def test_the_names_are_clangs() -> None:
    """Of what clang-22 lists, gfx6 to gfx8 but gfx803 are older than ROCm; gfx940 and gfx941 it has dropped."""
    command = ["clang-22", "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    known = set(re.findall(r"^\s+(gfx\S+)$", listed.stdout + listed.stderr, re.MULTILINE))
    assert {arch for arch in known if not re.match(r"gfx[678]", arch) or arch == "gfx803"} == (
        set(ARCHS) - {"gfx940", "gfx941"}
    )


@pytest.mark.skipif(not shutil.which("clang-22"), reason="clang-22 is not installed")
@pytest.mark.parametrize("feature", ["sramecc+", "xnack-"])
def test_the_features_are_clangs(feature: str) -> None:
    for arch in sorted(set(ARCHS) - {"gfx940", "gfx941"}):
        command = ["clang-22", "-x", "hip", f"--offload-arch={arch}:{feature}", "--offload-device-only", "-nogpulib",
                   "-nogpuinc", "-###", "-c", "-"]  # fmt: skip
        accepted = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode == 0
        try:
            read_archs([f"{arch}:{feature}"])
        except UsageError:
            assert not accepted, arch
        else:
            assert accepted, arch
