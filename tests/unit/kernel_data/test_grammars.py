"""Names that ROCm's packages really have → what they tell. From the file lists of ROCm 7.2.4, MIOpen, AITER."""

from __future__ import annotations

import pytest

from rockiln.kernel_data.grammars import name_file
from rockiln.kernel_data.targets import expand

ROCBLAS = "/usr/lib/x86_64-linux-gnu/rocblas/5/library"
HIPBLASLT = "/opt/rocm-7.0.2/lib/hipblaslt/library"
HIPSPARSELT = "/usr/lib/x86_64-linux-gnu/hipsparselt/library"
MIOPEN = "/opt/rocm/share/miopen/db"
AOTRITON = "/opt/venv/lib/python3.12/site-packages/torch/lib/aotriton.images"
AITER = "/opt/venv/lib/python3.12/site-packages/aiter_meta/hsa"

UNDERSTOOD = [
    (f"{ROCBLAS}/TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx942.co", "rocblas", "gfx942"),
    (f"{ROCBLAS}/TensileLibrary_Type_BB_HPA_Contraction_l_Alik_Bljk_Cijk_Dijk_CU80_XPU_gfx942.dat",
     "rocblas", "gfx942"),
    (f"{ROCBLAS}/TensileLibrary_Type_SS_Contraction_l_Ailk_Bjlk_Cijk_Dijk_CU104_gfx90a-xnack+.hsaco",
     "rocblas", "gfx90a"),
    (f"{ROCBLAS}/TensileLibrary_Type_4xi8I_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx1201.hsaco",
     "rocblas", "gfx1201"),
    (f"{ROCBLAS}/TensileLibrary_Type_4xi8I_HPA_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback.dat", "rocblas", ""),
    (f"{ROCBLAS}/TensileLibrary_lazy_gfx1201.dat", "rocblas", "gfx1201"),
    (f"{ROCBLAS}/Kernels.so-000-gfx90a-xnack-.hsaco", "rocblas", "gfx90a"),
    (f"{ROCBLAS}/TensileLibrary.dat", "rocblas", ""),
    ("/opt/rocm/lib/rocblas/library/gfx950/TensileManifest.txt", "rocblas", "gfx950"),
    ("/opt/rocm/lib/rocblas/library/gfx950/TensileLibrary_Type_SS_fallback.dat", "rocblas", "gfx950"),
    (f"{HIPBLASLT}/extop_gfx1100.co", "hipblaslt", "gfx1100"),
    (f"{HIPBLASLT}/hipblasltTransform.hsaco", "hipblaslt", ""),
    (f"{HIPBLASLT}/hipblasltExtOpLibrary.dat", "hipblaslt", ""),
    (f"{HIPBLASLT}/TensileLiteLibrary_lazy_Mapping.dat", "hipblaslt", ""),
    (f"{HIPSPARSELT}/TensileLibrary_HH_HH_A_Bias_SAV_SPA_Type_HH_HPA_Contraction_l_Alik_Bljk_Cijk_Dijk_gfx950.co",
     "hipsparselt", "gfx950"),
    (f"{MIOPEN}/gfx90878.HIP.fdb.txt", "miopen", "gfx908"),
    (f"{MIOPEN}/gfx90a6e.db.txt", "miopen", "gfx90a"),
    (f"{MIOPEN}/gfx90a68.OpenCL.fdb.txt", "miopen", "gfx90a"),
    (f"{MIOPEN}/gfx94250.db.txt", "miopen", "gfx942"),
    (f"{MIOPEN}/gfx942130.HIP.fdb.txt", "miopen", "gfx942"),
    (f"{MIOPEN}/gfx942e4.db.txt", "miopen", "gfx942"),
    (f"{MIOPEN}/gfx906_60.OpenCL.fdb.txt", "miopen", "gfx906"),
    (f"{MIOPEN}/gfx1030_36.db.txt", "miopen", "gfx1030"),
    (f"{MIOPEN}/gfx103024.HIP.fdb.txt", "miopen", "gfx1030"),
    (f"{MIOPEN}/gfx942.kdb", "miopen", "gfx942"),
    (f"{MIOPEN}/gfx90a6e.kdb", "miopen", "gfx90a"),
    (f"{MIOPEN}/gfx90a.tn.model", "miopen", "gfx90a"),
    (f"{MIOPEN}/gfx90a_metadata.tn.model", "miopen", "gfx90a"),
    (f"{MIOPEN}/gfx942_ConvHipIgemmGroupFwdXdlops_decoder.ktn.model", "miopen", "gfx942"),
    (f"{MIOPEN}/gfx950_ConvHipImplicitGemm3DGroupWrwXdlops_kernel_config_encoder.tn.model", "miopen", "gfx950"),
    (f"{MIOPEN}/miopen.db", "miopen", ""),
    (f"{AOTRITON}/amd-gfx942/flash/attn_fwd/FONLY__\uff0abf16@16_256_F_F_3_0___gfx942.aks2", "aotriton", "gfx942"),
    (f"{AOTRITON}/amd-gfx11xx/flash/bwd_kernel_dk_dv/FONLY__16_64___gfx11xx.aks2", "aotriton", "gfx11xx"),
    (f"{AITER}/gfx942/fmoe/silu/fmoe_bf16_pertokenFp8_g1u1.co", "aiter", "gfx942"),
    (f"{AITER}/gfx1201/sage_attention/attention_sol.hsaco", "aiter", "gfx1201"),
    (f"{AITER}/gfx1250/f4gemm/f4gemm.csv", "aiter", "gfx1250"),
    ("/usr/share/rccl/msccl-algorithms/allreduce-allpairs-8n-ll-32tb.xml", "rccl", ""),
    ("/opt/rocm/lib/rocfft/rocfft_kernel_cache.db", "rocfft", ""),
]  # fmt: skip


@pytest.mark.parametrize(("path", "rule", "target"), UNDERSTOOD, ids=[path for path, _, _ in UNDERSTOOD])
def test_real_name_is_understood(path: str, rule: str, target: str) -> None:
    named = name_file(path)
    assert named is not None
    assert (named.rule, named.doubt) == (rule, "")
    assert named.targets == ({target} if target else frozenset())


DOUBTFUL = [
    f"{ROCBLAS}/TensileLibrary_gfx90a_gfx942.co",
    f"{ROCBLAS}/notes.txt",
    f"{ROCBLAS}/gfx9zz/TensileLibrary.dat",
    f"{MIOPEN}/gfx777_30.db.txt",
    f"{MIOPEN}/gfx90a6e.db.txt.bak",
    f"{MIOPEN}/gfx90a6e7f.db.txt",
    f"{AOTRITON}/amd-gfx942/flash/attn_fwd/FONLY___gfx950.aks2",
    f"{AOTRITON}/amd-gfx77xx/flash/attn_fwd/FONLY.aks2",
    f"{AOTRITON}/amd-gfx942/flash/README",
    f"{AITER}/gfx942/fmoe/kernel_gfx950.co",
]


@pytest.mark.parametrize("path", DOUBTFUL)
def test_other_name_in_a_known_folder_is_a_doubt(path: str) -> None:
    named = name_file(path)
    assert named is not None
    assert named.doubt


@pytest.mark.parametrize("path", [
    "/usr/lib/python3/dist-packages/hsa/README", "/usr/lib/libgfx942.so", "/home/x/gfx942.txt",
    "/opt/rocm/share/rocblas/gfx942.dat",
])  # fmt: skip
def test_name_outside_of_known_folders_tells_nothing(path: str) -> None:
    assert name_file(path) is None


def test_models_of_gfx942_and_the_default_one_have_heirs() -> None:
    inherited = name_file(f"{MIOPEN}/gfx942_ConvHipIgemmGroupWrwXdlops_encoder.ktn.model")
    default = name_file(f"{MIOPEN}/gfx908.tn.model")
    database = name_file(f"{MIOPEN}/gfx942130.db.txt")
    assert inherited
    assert default
    assert database
    assert inherited.heirs == {"gfx950"}
    assert {"gfx1100", "gfx90a"} <= default.heirs
    assert database.heirs == frozenset()


@pytest.mark.parametrize(("family", "held", "not_held"), [
    ("gfx11xx", "gfx1151", "gfx1201"), ("gfx120x", "gfx1201", "gfx1151"), ("gfx9-4-generic", "gfx950", "gfx90a"),
    ("gfx942", "gfx942", "gfx950"),
])  # fmt: skip
def test_family_stands_for_its_archs(family: str, held: str, not_held: str) -> None:
    assert held in expand(family)
    assert not_held not in expand(family)


def test_unknown_name_stands_for_nothing() -> None:
    assert expand("gfx77xx") == expand("gfx777") == expand("mi300") == frozenset()
