"""The generator on small packages of the real shapes: a deb's headers, wheels' .pxd, hipify's maps, CUDA's headers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hipcompat.errors import FactsError
from hipcompat.facts.generate.c_names import find_names
from hipcompat.facts.generate.cuda_side import read_c_headers, read_cccl, read_mapped_names
from hipcompat.facts.generate.hip_side import read_hip_side
from hipcompat.facts.generate.inputs import Input, read_inputs, read_members
from hipcompat.facts.generate.mappings import read_hipify, read_interop, rename_by_prefix
from hipcompat.facts.generate.merge import Sides, merge_facts

HEADER = """
/* cudaCommented */
#define cudaFlag 0x1  // cudaAlsoCommented
typedef enum cudaKind { cudaOne = 0, cudaTwo } cudaKind_t;
struct cudaThing { int a; };
extern __host__ int CUDARTAPI cudaGo(struct cudaThing *thing, const char *text);
"""


def test_names_have_kinds_and_comments_have_none() -> None:
    names = find_names(HEADER)
    wanted = {
        "cudaFlag": "macro", "cudaKind": "type", "cudaKind_t": "type", "cudaOne": "enum", "cudaTwo": "enum",
        "cudaThing": "type", "cudaGo": "function",
    }  # fmt: skip
    assert {name: kind for name, kind in names.items() if name.startswith("cuda")} == wanted


def test_interop_and_hipify_are_read_as_data() -> None:
    assert read_interop("from hip.chip cimport hipGo as cudaGo\nfrom hip.chip cimport hipGo\n") == {"cudaGo": "hipGo"}
    pairs = '("cudaGo", ("hipGo", CONV, API)), ("a", ("b", C, A, HIP_UNSUPPORTED))'
    text = f"raise SystemExit\nCUDA_IDENTIFIER_MAP = f([{pairs}])"
    assert read_hipify(text) == {"cudaGo": "hipGo", "a": "b"}


def test_the_header_has_the_last_word() -> None:
    header = ("usr/include/hip/h.h", "int hipGo(); /* hipThing */ int hipOne;")
    hip = read_hip_side([header], [("hip/c.pxd", "int hipGo()")])
    sides = Sides(
        cuda=read_c_headers([("nvidia/x/include/cuda_runtime_api.h", HEADER)]),
        hip=hip,
        interop={"cudaGo": "hipGo", "cudaThing": "hipThing"},
        hipify={"cudaTwo": "cudaTwo"},
    )
    facts = {fact.name: (fact.hip, fact.source, fact.in_7_0, fact.in_7_2) for fact in merge_facts(sides)}
    assert facts["cudaGo"] == ("hipGo", "interop", True, True)
    assert facts["cudaThing"] == ("hipThing", "unconfirmed", None, False)
    assert facts["cudaOne"] == ("hipOne", "prefix", None, True)
    assert facts["cudaTwo"] == ("", "absent", False, False)


def test_enumerators_of_device_headers_are_names_of_cuda() -> None:
    text = "typedef enum __nv_sat_t { __NV_NOSAT, __NV_SATFINITE, } __nv_sat_t;\n#define __NV_SILENCE 1\n"
    cuda = read_c_headers([("nvidia/x/include/cuda_fp8.h", text)])
    assert {name: cuda[name] for name in cuda if name.startswith("__NV_")} == {
        "__NV_NOSAT": ("device", "enum"), "__NV_SATFINITE": ("device", "enum"),
    }  # fmt: skip
    hip = read_hip_side([("usr/include/hip/h.h", "enum s { __HIP_SATFINITE };")], [])
    facts = {fact.name: fact.hip for fact in merge_facts(Sides(cuda=cuda, hip=hip, interop={}, hipify={}))}
    assert (facts["__NV_SATFINITE"], facts["__NV_NOSAT"]) == ("__HIP_SATFINITE", "")


def test_an_include_guard_is_no_name_and_an_enumerator_that_ends_like_one_is() -> None:
    text = "#define CUDNN_X_H\nenum e { CUDNN_KNOB_TYPE_SPLIT_H, LIB_XT_COPY_HOST_TO_DEVICE };\n"
    names = read_c_headers([("nvidia/x/include/cudnn_x.h", text)])
    assert {name for name in names if name.isupper()} == {"CUDNN_KNOB_TYPE_SPLIT_H", "LIB_XT_COPY_HOST_TO_DEVICE"}


def test_cub_members_are_found_and_template_parameters_are_not() -> None:
    text = "struct DeviceScan { template <typename KeyT, class F> static cudaError_t Sum(int); };"
    names = read_cccl([("nvidia/cuda_cccl/include/cub/device/device_scan.cuh", text)])
    assert {"cub::DeviceScan", "cub::DeviceScan::Sum"} <= names.keys()
    assert "cub::F" not in names


def test_a_removed_call_stays_known() -> None:
    assert read_mapped_names({"cudaBindTexture": "hipBindTexture"}) == {"cudaBindTexture": ("runtime", "function")}


def test_v2_is_the_same_call_for_cublas_only() -> None:
    known = frozenset({"hipblasSgemm", "hipGraphAddNode"})
    assert rename_by_prefix("cublasSgemm_v2", known) == "hipblasSgemm"
    assert rename_by_prefix("cudaGraphAddNode_v2", known) == ""


def test_another_package_is_refused(tmp_path: Path) -> None:
    item = Input(role="nvml", package="p", version="1", file="p-1.whl", sha256="0" * 64, members=("*",))
    with pytest.raises(FactsError, match="is not in"):
        list(read_members(item, tmp_path))
    (tmp_path / "p-1.whl").write_bytes(b"x")
    with pytest.raises(FactsError, match="has sha256"):
        list(read_members(item, tmp_path))


@pytest.mark.parametrize("name", ["fetch_rocm", "fetch_inputs"])
def test_a_script_that_fetches_runs_where_hipcompat_is_not_installed(name: str) -> None:
    script = Path(__file__).parents[3] / f"{name}.py"
    code = f"import runpy; runpy.run_path({str(script)!r}, run_name='imported')"
    bare = [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(script.parent)!r}); {code}"]
    done = subprocess.run(bare, capture_output=True, text=True, check=False, cwd=script.parents[1])
    assert done.returncode == 0, done.stderr


def test_every_input_is_named_by_version_and_hash() -> None:
    assert {item.role for item in read_inputs()} == {
        "hip-headers", "hip-7.0", "interop", "hipify", "nvml", "cccl", "cuda-headers"
    }  # fmt: skip
    for item in read_inputs():
        assert len(item.sha256) == 64
        assert item.version.rpartition(":")[2] in item.file
