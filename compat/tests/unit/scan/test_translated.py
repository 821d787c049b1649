"""Findings after translation: what it did not mend is still told, and nothing is told that was not told before."""

from __future__ import annotations

import pytest

from hipcompat.facts import read_facts
from hipcompat.scan.detect.names import find_meaning
from hipcompat.scan.kinds import may_have_hits
from hipcompat.translate.rename import rename
from scanned import find_in

CAPTURE = "cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);"
KEPT = {
    "texture-object": "void f() { cudaCreateTextureObject(&t, &r, &d, 0); }\n",
    "texture-linear": "void f() { d.filterMode = cudaFilterModeLinear; }\n",
    "capture-call": f"void f() {{ {CAPTURE} cudaEventQuery(e); }}\n",
    "sticky-error": "void f() { cudaGetLastError(); }\n",
    "fp8-flavour": "__device__ __nv_fp8_e4m3 x;\n",
    "lt-epilogue": "int e = CUBLASLT_EPILOGUE_BGRADA;\n",
}  # fmt: skip


def _find(text: str) -> set[tuple[str, int]]:
    return {(finding.rule, finding.line) for finding in find_in(text, "cuda", "gfx942", "gfx90a", "gfx1100")}


@pytest.mark.parametrize(("rule", "text"), KEPT.items())
def test_a_warning_does_not_end_with_translation(rule: str, text: str) -> None:
    translated = rename(text.encode(), "k.cu").content.decode()
    assert "cuda" not in translated.lower()
    assert (rule, 1) in _find(text)
    assert rule in {found for found, _ in _find(translated)}


@pytest.mark.parametrize("call", ["cuEventQuery(e)", "cudaEventQuery(e)", "hipEventQuery(e)", "cuStreamAddCallback(s)"])
def test_the_drivers_names_are_refused_in_a_capture_as_well(call: str) -> None:
    assert ("capture-call", 1) in _find(f"void f() {{ {CAPTURE} {call}; }}\n")


def test_no_name_has_a_question_after_translation_that_it_had_not_before() -> None:
    asked = 0
    for name, fact in read_facts().items():
        if not fact.is_mapped or not fact.hip or fact.hip == name or not name.isidentifier():
            continue
        before, after = find_meaning(name), find_meaning(fact.hip)
        question = after.question if after else ""
        asked += bool(question)
        assert question in {"", before.question if before else ""}, (name, fact.hip)
    assert asked > 50


@pytest.mark.parametrize("name", ["hipEventQuery", "hipCreateTextureObject", "hipGetLastError", "hipTexRefSetArray"])
def test_a_file_with_hips_names_alone_is_read(name: str) -> None:
    assert may_have_hits(f"void f() {{ {name}(); }}".encode(), "cuda")
