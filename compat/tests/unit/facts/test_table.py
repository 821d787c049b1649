"""facts.tsv: what it says of names that a person can check, and that it is well-formed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.errors import UnknownNameError
from hipcompat.facts import SOURCES, count_facts, lookup, read_facts
from hipcompat.facts.table import FACTS_PATH, write_facts


@pytest.mark.parametrize(
    ("cuda", "hip", "source"),
    [
        ("cudaMemcpyAsync", "hipMemcpyAsync", "interop"),
        ("cuMemcpyHtoD_v2", "hipMemcpyHtoD", "interop"),
        ("cublasSgemm_v2", "hipblasSgemm", "prefix"),
        ("cublasLtMatmul", "hipblasLtMatmul", "hipify"),
        ("ncclSend", "ncclSend", "headers"),
        ("__shfl_down_sync", "__shfl_down_sync", "headers"),
        ("__nv_bfloat16", "__hip_bfloat16", "hipify"),
        ("cub::DeviceReduce::Sum", "hipcub::DeviceReduce::Sum", "headers"),
        ("cuda_runtime.h", "hip/hip_runtime.h", "headers"),
        ("nvtxRangePushA", "roctxRangePushA", "hip-python"),
        ("__NV_SATFINITE", "__HIP_SATFINITE", "prefix"),
        ("__NV_E4M3", "__HIP_E4M3", "prefix"),
        ("__NV_E2M1", "__HIP_E2M1", "prefix"),
    ],
)
def test_known_names_are_mapped(cuda: str, hip: str, source: str) -> None:
    fact = lookup(cuda)
    assert (fact.hip, fact.source, fact.is_mapped) == (hip, source, True)


@pytest.mark.parametrize(
    "name",
    ["cudaGraphConditionalHandleCreate", "cudaGetParameterBuffer", "__nanosleep", "cooperative_groups/reduce.h",
     "cuda/pipeline", "nvmlInit", "cudnnCreate", "cuGreenCtxCreate", "cublasXtSgemm"],
)  # fmt: skip
def test_what_hip_lacks_is_not_mapped(name: str) -> None:
    assert not lookup(name).is_mapped


@pytest.mark.parametrize("name", ["cudaMemcpyBatchAsync", "cudaStreamGetId", "cudaLibraryLoadData"])
def test_what_came_after_7_0_says_so(name: str) -> None:
    fact = lookup(name)
    assert (fact.in_7_0, fact.in_7_2) == (False, True)


def test_an_unknown_name_suggests_its_neighbours() -> None:
    with pytest.raises(UnknownNameError) as caught:
        lookup("cudaMemcpyAsynch")
    assert "cudaMemcpyAsync" in caught.value.hint


def test_thrusts_cuda_leads_to_its_hip() -> None:
    with pytest.raises(UnknownNameError) as caught:
        lookup("thrust::cuda::par")
    assert "thrust::hip::par" in caught.value.hint


def test_every_row_is_sound() -> None:
    facts = read_facts()
    assert list(facts) == sorted(facts)
    assert not [fact for fact in facts.values() if fact.source not in SOURCES]
    assert not [fact.name for fact in facts.values() if fact.in_7_2 and not fact.hip]
    assert not [fact.name for fact in facts.values() if fact.source == "absent" and fact.hip]
    assert len(facts) > 11_000


def test_counts_add_up() -> None:
    counts = count_facts()
    assert sum(row[1] for row in counts) == len(read_facts())
    assert all(row[1] >= row[2] for row in counts)


def test_writing_gives_the_same_bytes(tmp_path: Path) -> None:
    write_facts(read_facts().values(), tmp_path / "facts.tsv")
    assert (tmp_path / "facts.tsv").read_bytes() == FACTS_PATH.read_bytes()
