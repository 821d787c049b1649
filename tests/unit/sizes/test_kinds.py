"""What a path is called."""

from __future__ import annotations

import pytest

from rockiln.sizes.kinds import find_kind, find_named_arch

SITE = "opt/venv/lib/python3.12/site-packages"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("usr/lib/x86_64-linux-gnu/libc.so.6", "library"),
        (f"{SITE}/numpy/_core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so", "library"),
        ("opt/rocm-7.0.2/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat", "kernel data"),
        ("opt/rocm-7.0.2/lib/rocblas/library/Kernels.so-000-gfx942.hsaco", "kernel data"),
        ("usr/bin/python3.12", "program"),
        ("usr/lib/git-core/libexec/thing", "program"),
        (f"{SITE}/jax/numpy.py", "python"),
        (f"{SITE}/jax/__pycache__/numpy.cpython-312.pyc", "byte code"),
        (f"{SITE}/tensorflow/include/a.h", "header"),
        ("usr/lib/python3.12/config/libpython3.12.a", "static library"),
        ("usr/share/doc/libc6/copyright", "docs"),
        (f"{SITE}/jax-0.6.2.dist-info/RECORD", "metadata"),
        ("var/lib/dpkg/status", "metadata"),
        ("usr/share/zoneinfo/UTC", "data"),
        ("etc/notes.so.txt", "data"),
    ],
)
def test_kind_comes_from_the_name(path: str, kind: str) -> None:
    assert find_kind(path) == kind


@pytest.mark.parametrize(
    ("path", "arch"),
    [
        ("opt/rocm/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a"),
        ("opt/rocm/share/miopen/db/gfx90a68.kdb", "gfx90a"),
        ("opt/rocm/share/miopen/db/gfx942130.kdb", "gfx942"),
        ("opt/rocm/share/miopen/db/gfx110030.kdb", "gfx1100"),
        ("aiter/hsa/gfx950/fmha_fwd.co", "gfx950"),
        ("opt/rocm/share/miopen/db/gfx942_metadata.tn.model", "gfx942"),
        ("opt/rocm/lib/rocblas/library/TensileLibrary_gfx942_gfx950.co", ""),
        ("opt/rocm/lib/rocblas/library/TensileManifest.txt", ""),
    ],
)
def test_arch_of_kernel_data_is_in_its_name(path: str, arch: str) -> None:
    assert find_named_arch(path) == arch
