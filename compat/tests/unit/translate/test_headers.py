"""The headers of shim mode: made from the facts, complete, and honest."""

from __future__ import annotations

import re
from pathlib import Path

from hipcompat.facts import provided, read_facts
from hipcompat.translate import SHIM_PATH
from hipcompat.translate.headers import make_headers, write_headers

NEVER = re.compile(r"#\s*define\s+(__CUDA_ARCH__|__CUDACC__|__NVCC__|CUDA_VERSION|CUDART_VERSION|warpSize)\b")


def test_headers_are_those_that_the_facts_make() -> None:
    made = make_headers()
    assert {name: (SHIM_PATH / name).read_text(encoding="utf-8") for name in made} == made


def test_nothing_is_claimed_to_be_nvidias() -> None:
    for path in SHIM_PATH.rglob("*.*"):
        if path.is_file():
            assert not NEVER.search(path.read_text(encoding="utf-8")), path


def test_every_header_that_hip_has_under_another_name_is_there() -> None:
    for fact in read_facts().values():
        if fact.kind == "include" and fact.in_7_2 and fact.hip != fact.name:
            assert (SHIM_PATH / fact.name).is_file(), fact.name


def test_what_is_provided_lies_where_it_is_said_to_lie() -> None:
    for name, header in provided.PROVIDED.items():
        text = (SHIM_PATH / header).read_text(encoding="utf-8")
        assert (SHIM_PATH / name).is_file() or re.search(rf"\b{name.rpartition(':')[2]}\b", text), name


def test_generated_headers_that_are_no_longer_made_go_away(tmp_path: Path) -> None:
    write_headers(tmp_path)
    old_path, own_path = tmp_path / "hipcompat" / "names" / "old.h", tmp_path / "own.h"
    old_path.write_text((tmp_path / "cuda.h").read_text())
    own_path.write_text("// by hand\n")
    write_headers(tmp_path)
    assert (old_path.exists(), own_path.exists()) == (False, True)


def test_hips_fp8_header_is_included_by_way_of_ours_wherever_it_comes_in() -> None:
    for name in ("cuda_fp8.h", "cuda_fp6.h", "cublasLt.h"):
        assert _list_included(SHIM_PATH / name)[:2] == ["hipcompat/runtime.h", "hipcompat/fp8.h"], name
    assert _list_included(SHIM_PATH / "cuda_fp4.h")[:2] == ["hipcompat/runtime.h", "hipcompat/fp4.h"]
    assert _list_included(SHIM_PATH / "hipcompat" / "fp4.h") == ["hipcompat/fp8.h", "hip/hip_fp4.h"]


def _list_included(path: Path) -> list[str]:
    return re.findall(r"#include <(\S+)>", path.read_text(encoding="utf-8"))
