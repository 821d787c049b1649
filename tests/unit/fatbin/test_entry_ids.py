"""Which entries of a bundle serve an arch: own code, its variants and its generics; all that is unknown stays."""

from __future__ import annotations

import pytest

from rockiln.archs import LLVM_TARGETS
from rockiln.fatbin.entry_ids import GENERICS, is_host, serves, target_of

KEPT = frozenset({"gfx942", "gfx90a"})


@pytest.mark.parametrize(
    "entry_id",
    [
        "host-x86_64-unknown-linux-gnu-",
        "host-x86_64-unknown-linux--",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
        "hip-amdgcn-amd-amdhsa-gfx942",
        "hipv4-amdgcn-amd-amdhsa-unknown-gfx942",
        "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
        "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
        "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
        "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-",
        "hip-spirv64-amd-amdhsa--amdgcnspirv",
        "hipv4-amdgcn-amd-amdhsa--amdgcnspirv",
        "hipv4-amdgcn-amd-amdhsa--gfx13-generic",
        "hipv4-amdgcn-amd-amdhsa--gfxfuture",
        "openmp-amdgcn-amd-amdhsa--gfx906",
        "something else",
    ],
)
def test_entry_is_kept(entry_id: str) -> None:
    assert serves(entry_id, KEPT)


@pytest.mark.parametrize(
    "target",
    ["gfx906", "gfx908:xnack+", "gfx90c", "gfx950", "gfx1100", "gfx9-generic", "gfx11-generic", "gfx12-generic"],
)
def test_code_for_another_gpu_goes(target: str) -> None:
    assert not serves(f"hipv4-amdgcn-amd-amdhsa--{target}", KEPT)
    assert not serves(f"hip-amdgcn-amd-amdhsa-{target}", KEPT)


def test_target_is_read_with_its_features() -> None:
    assert target_of("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == "gfx90a:sramecc+:xnack-"
    assert target_of("hip-amdgcn-amd-amdhsa-gfx10-3-generic") == "gfx10-3-generic"
    assert target_of("host-x86_64-unknown-linux-gnu-") == ""


def test_host_entry_is_told_by_its_kind() -> None:
    assert is_host("host-x86_64-unknown-linux-gnu-")
    assert not is_host("hipv4-amdgcn-amd-amdhsa--gfx942")


def test_no_arch_has_two_generics() -> None:
    members = [arch for archs in GENERICS.values() for arch in archs]
    assert len(members) == len(set(members))
    assert LLVM_TARGETS - set(members) == {"gfx803", "gfx908", "gfx90a"}
