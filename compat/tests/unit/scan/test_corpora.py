"""What other people's code has shown: fixtures that imitate the places where scan was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.scan import Target, scan


def _rules(folder: Path, name: str, text: str) -> list[str]:
    (folder / name).write_text(text)
    return [finding.rule for finding in scan([folder], Target()).findings]


@pytest.mark.parametrize(
    "text",
    ['flags = {"cxx": ["-O3"], "nvcc": ["-O3"]}\n', 'flags["nvcc"] += ["-O3"]\n', "args = {'nvcc' : []}\n"],
)
def test_torchs_key_for_flags_is_no_call_of_nvcc(text: str, tmp_path: Path) -> None:
    assert _rules(tmp_path, "setup.py", text) == []


@pytest.mark.parametrize("text", ['subprocess.run(["nvcc", "-V"])\n', 'which("nvcc")\n', 'x = cuda + "/bin/nvcc"\n'])
def test_a_call_of_nvcc_is_still_told(text: str, tmp_path: Path) -> None:
    assert _rules(tmp_path, "setup.py", text) == ["nvidia-tool"]


@pytest.mark.parametrize(
    "text",
    [
        "#if defined(CUBLAS_VERSION) && CUBLAS_VERSION >= 11600\nint x;\n#endif\n",
        "#ifdef CUBLAS_VERSION\n#elif CUBLAS_VERSION \\\n > 3\n#endif\n",
    ],
)
def test_a_macro_that_is_only_asked_for_is_not_missing(text: str, tmp_path: Path) -> None:
    assert _rules(tmp_path, "k.cu", text) == []


def test_as_a_value_it_is_missing(tmp_path: Path) -> None:
    assert _rules(tmp_path, "k.cu", "int version = CUBLAS_VERSION;\n") == ["api-missing"]


WARPS = "#define NUM_WARPS (1024 / warpSize)\n__global__ void k(float *x) {{ {} }}\n"


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("__shared__ float sums[NUM_WARPS];", ["warpsize-constant"]),
        ("float sums[32 * NUM_WARPS];", ["warpsize-constant"]),
        ("int n = NUM_WARPS;", []),
        ("x[NUM_WARPS] = 1.0f;", []),
    ],
)
def test_warpsize_behind_a_macro_is_no_constant_either(body: str, rules: list[str], tmp_path: Path) -> None:
    assert _rules(tmp_path, "k.cu", WARPS.format(body)) == rules
