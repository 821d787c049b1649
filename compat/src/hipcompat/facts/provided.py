"""Names and headers that HIP lacks and hipcompat's own headers provide → what provides them.

Translation adds a line here when its headers come to define a name; scan then counts it as translated, not missing.
"""

from __future__ import annotations

from collections.abc import Mapping

_BY_HEADER = {
    "cooperative_groups/memcpy_async.h": (
        "cooperative_groups/memcpy_async.h cooperative_groups::memcpy_async cooperative_groups::wait "
        "cooperative_groups::wait_prior"
    ),
    "hipcompat/async_copy.h": "cuda::aligned_size_t cuda::memcpy_async",
    "hipcompat/barrier.h": "cuda/barrier cuda::barrier cuda::thread_scope cuda::thread_scope_block "
    "cuda::thread_scope_device cuda::thread_scope_system cuda::thread_scope_thread",
    "hipcompat/bf16.h": "__float2bfloat162_rn __float2bfloat16_rn __floats2bfloat162_rn make_bfloat162",
    "hipcompat/blas.h": "CUBLAS_STATUS_LICENSE_ERROR",
    "hipcompat/block_tiles.h": "block_tile_memory",
    "hipcompat/cache_hints.h": "__ldcv __ldlu __stcg __stcs __stwb __stwt __trap",
    "hipcompat/fft.h": (
        "CUFFT_MISSING_DEPENDENCY CUFFT_NVJITLINK_FAILURE CUFFT_NVRTC_FAILURE CUFFT_NVSHMEM_FAILURE "
        "cufftCallbackLoadC cufftCallbackLoadD cufftCallbackLoadR cufftCallbackLoadZ cufftCallbackStoreC "
        "cufftCallbackStoreD cufftCallbackStoreR cufftCallbackStoreZ"
    ),
    "hipcompat/group_algorithms.h": (
        "cooperative_groups/reduce.h cooperative_groups/scan.h cooperative_groups::bit_and "
        "cooperative_groups::bit_or cooperative_groups::bit_xor cooperative_groups::exclusive_scan "
        "cooperative_groups::greater cooperative_groups::inclusive_scan cooperative_groups::less "
        "cooperative_groups::plus cooperative_groups::reduce"
    ),
    "hipcompat/integer_extremes.h": "llmax llmin ullmax ullmin umax umin",
    "hipcompat/overloads.h": (
        "CUDART_CB __grid_constant__ atomicDec_system atomicInc_system cudaCtxResetPersistingL2Cache "
        "cudaGraphicsMapFlagsNone cudaGraphicsMapFlagsReadOnly cudaGraphicsMapFlagsWriteDiscard "
        "cudaGraphicsResourceSetMapFlags cudaLimitPersistingL2CacheSize make_cudaExtent make_cudaPitchedPtr "
        "make_cudaPos"
    ),
    "hipcompat/nan_extremes.h": "__hmax2_nan __hmax_nan __hmin2_nan __hmin_nan",
    "hipcompat/pipeline.h": (
        "cuda/pipeline cuda::make_pipeline cuda::pipeline cuda::pipeline_consumer_wait_prior cuda::pipeline_role "
        "cuda::pipeline_shared_state"
    ),
    "hipcompat/rounding.h": (
        "__dadd_rd __dadd_ru __dadd_rz __dmul_rd __dmul_ru __dmul_rz __dsub_rd __dsub_ru __dsub_rz __fadd_rd "
        "__fadd_ru __fadd_rz __fma_rd __fma_ru __fma_rz __fmaf_rd __fmaf_ru __fmaf_rz __fmul_rd __fmul_ru "
        "__fmul_rz __fsub_rd __fsub_ru __fsub_rz"
    ),
    "hipcompat/standard.h": (
        "cuda/std/array cuda/std/climits cuda/std/cstddef cuda/std/cstdint cuda/std/functional "
        "cuda/std/initializer_list cuda/std/limits cuda/std/tuple cuda/std/type_traits cuda/std/utility"
    ),
}

PROVIDED: Mapping[str, str] = {name: header for header, names in _BY_HEADER.items() for name in names.split()}
"""A name of CUDA, or a header as it is included → the header of hipcompat that holds it."""

STANDALONE = frozenset({
    "hipcompat/bf16.h", "hipcompat/block_tiles.h", "hipcompat/cache_hints.h", "hipcompat/fft.h",
    "hipcompat/integer_extremes.h", "hipcompat/nan_extremes.h", "hipcompat/overloads.h", "hipcompat/rounding.h",
})  # fmt: skip
"""Headers that stand over HIP's own alone, so that renamed source may include them."""

BEFORE: Mapping[str, str] = {
    "cuda_fp4.h": "hipcompat/fp4.h", "cuda_fp6.h": "hipcompat/fp8.h", "cuda_fp8.h": "hipcompat/fp8.h",
}  # fmt: skip
"""A header of CUDA → the header of hipcompat that must come before HIP's header of that purpose."""

HEADERS = frozenset((*_BY_HEADER, *BEFORE.values(), *(name for name in PROVIDED if "/" in name)))
"""All of them by the names under which they are included."""
