"""Every place of a name is a finding, so that a guard, a mark or a baseline at one hides no other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hipcompat.scan import Target, scan
from scanned import find_in, scan_text

CALLS = {
    "cudnn": "cudnnCreate(0);", "nvml": "nvmlInit();", "api-too-new": "cudaStreamGetId(s, &i);",
    "library-missing": "nppiAbs_8u_C1R(a, 1, b, 1, c);",
}  # fmt: skip


@pytest.mark.parametrize(("rule", "call"), CALLS.items())
def test_a_guarded_mention_hides_no_bare_one(rule: str, call: str) -> None:
    text = f"#include <cuda_runtime.h>\n#ifdef FOO\nvoid a() {{ {call} }}\n#endif\nvoid b() {{ {call} }}\n"
    scanned = scan_text(text, "cuda")
    found = [(finding.rule, finding.line, finding.is_certain) for finding in scanned.report.findings]
    assert found == [(rule, 3, False), (rule, 5, True)]
    assert scanned.report.verdict == "blocked"


@pytest.mark.parametrize(("rule", "call"), CALLS.items())
def test_a_mark_at_one_mention_silences_that_line_alone(rule: str, call: str) -> None:
    found = find_in(f"void a() {{ {call} }}  // hipcompat: ignore[{rule}]\nvoid b() {{ {call} }}\n")
    assert [(finding.rule, finding.line) for finding in found] == [(rule, 2)]


@pytest.mark.parametrize("call", CALLS.values())
def test_a_baseline_lets_no_new_use_through(call: str, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(f"void a() {{ {call} }}\n")
    known = Counter(finding.fingerprint for finding in scan([source], Target()).findings)
    source.write_text(f"void a() {{ {call} }}\nvoid b() {{ if (x) {call} }}\n")
    assert [finding.line for finding in scan([source], Target(), baseline=known).findings] == [2]


MARKED = {
    "#include <cudnn.h> // hipcompat: ignore[cudnn]": "cudnn",
    "#include <mma.h> /* hipcompat: ignore[wmma] */": "wmma",
    "#  include <nvml.h>  // hipcompat: ignore": "nvml",
    "#define N nvmlInit() // hipcompat: ignore[nvml]": "nvml",
    "/* hipcompat: ignore[nvml] */ void f() { nvmlInit(); }": "nvml",
    "#if __CUDA_ARCH__ >= 800 // hipcompat: ignore[cuda-arch-guard]\n#endif": "cuda-arch-guard",
}  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), MARKED.items())
def test_a_mark_behind_a_directive_silences_its_own_line(text: str, rule: str) -> None:
    assert rule in [finding.rule for finding in find_in(text.replace("hipcompat:", ""))]
    assert [finding.rule for finding in find_in(text)] == []


def test_and_not_the_line_below() -> None:
    found = find_in("#include <cuda_runtime.h> // hipcompat: ignore[nvml]\nvoid f() { nvmlInit(); }\n")
    assert [(finding.rule, finding.line) for finding in found] == [("nvml", 2)]


@pytest.mark.parametrize("mark", ["// {}", "/* {} */", "/* a */ // {}", "  /* {} */  "])
def test_a_mark_alone_silences_the_line_below(mark: str) -> None:
    text = mark.format("hipcompat: ignore[nvml]")
    assert find_in(f"{text}\nvoid f() {{ nvmlInit(); }}\n") == ()


def test_a_comment_of_python_is_no_directive() -> None:
    assert find_in("# hipcompat: ignore[pynvml]\nimport pynvml\n", "python") == ()
