"""Files are laid over others for the compiler; the files themselves stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipcompat.translate.overlay import VECTOR_TYPES, find_included, relax_members, widen_guards, write_overlay

HEADER = """\
struct HIP_vector_type {
  __HOST_DEVICE__ HIP_vector_type& operator+=(const HIP_vector_type& x) noexcept {
  template <typename U>
  __HOST_DEVICE__ HIP_vector_type& operator+=(U x) noexcept {
  __HOST_DEVICE__ HIP_vector_type& operator=(const HIP_vector_type& x);
"""
CHANGED = {
    "ifdef": "#ifdef __CUDACC__\n__host__ __device__\n#endif\nint f();\n",
    "defined": "#if defined(__NVCC__)  // nvcc\n#define HD __host__ __device__\n#else\n#define HD\n#endif\n",
    "comment": "  # if defined __CUDACC__\n// both\n__device__ inline\n#endif\n",
}
KEPT = {
    "a function": "#ifdef __CUDACC__\n__device__ int f() { return 1; }\n#endif\n",
    "another macro": "#ifdef USE_CUDA\n__device__\n#endif\n",
    "an include": "#ifdef __CUDACC__\n#include <mma.h>\n#endif\n",
    "negated": "#ifndef __CUDACC__\n#define __device__\n#endif\n",
    "already": "#if defined(__CUDACC__) || defined(__HIPCC__)\n__device__\n#endif\n",
}


def test_plain_member_operators_become_templates() -> None:
    relaxed = relax_members(HEADER.encode()).decode().splitlines()
    assert relaxed[1].strip() == "template <typename = void>"
    assert [line for line in relaxed if line != relaxed[1]] == HEADER.splitlines()


@pytest.mark.parametrize("source", CHANGED.values(), ids=CHANGED)
def test_guard_of_qualifiers_asks_for_hip_too(source: str) -> None:
    widened = widen_guards(source.encode()).decode()
    assert "|| defined(__HIPCC__)" in widened
    assert widened.count("\n") == source.count("\n")
    assert widen_guards(widened.encode()).decode() == widened


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
def test_other_guards_stay(source: str) -> None:
    assert widen_guards(source.encode()).decode() == source


def test_included_files_are_found_once_though_they_include_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text('#include "b.h"\n#include <c.h>\n')
    (tmp_path / "b.h").write_text('#include "a.cu"\n#include "nowhere.h"\n')
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "c.h").write_text("")
    found = [path.name for path in find_included([tmp_path / "a.cu"], [tmp_path / "inc"])]
    assert sorted(found) == ["a.cu", "b.h", "c.h"]


def test_overlay_names_what_changes_and_leaves_the_source(tmp_path: Path) -> None:
    header_path = tmp_path / "rocm" / "include" / VECTOR_TYPES
    header_path.parent.mkdir(parents=True)
    header_path.write_text(HEADER)
    source_path = tmp_path / "k.cu"
    source_path.write_text(CHANGED["ifdef"])
    option, path = write_overlay(tmp_path / "over", rocm_path=tmp_path / "rocm", sources=[source_path])
    roots = json.loads(Path(path).read_text())["roots"]
    assert option == "-ivfsoverlay"
    assert [root["name"] for root in roots] == sorted([str(source_path), str(header_path)])
    assert (source_path.read_text(), header_path.read_text()) == (CHANGED["ifdef"], HEADER)


def test_nothing_to_lay_over_needs_no_argument(tmp_path: Path) -> None:
    assert write_overlay(tmp_path / "over", rocm_path=tmp_path) == ()
    assert not (tmp_path / "over").exists()
