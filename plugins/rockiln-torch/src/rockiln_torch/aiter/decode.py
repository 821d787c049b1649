"""AITER's paged attention and MLA decode → paged_decode, mla_decode. ROCm/aiter e4048607, ops/attention.py, mla.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rockiln_torch import ops
from rockiln_torch.aiter.options import Options
from rockiln_torch.aiter.unsupported import refuse, refuse_others

_FP8 = frozenset({"fp8", "fp8_e4m3"})
_MLA = Options(
    function="mla_decode_fwd",
    required=8,
    defaults={
        "page_size": 1, "nhead_kv": 1, "sm_scale": None, "logit_cap": 0.0, "num_kv_splits": None,
        "num_kv_splits_indptr": None, "work_meta_data": None, "work_indptr": None, "work_info_set": None,
        "reduce_indptr": None, "reduce_final_map": None, "reduce_partial_map": None, "q_scale": None,
        "kv_scale": None, "intra_batch_mode": False, "return_logits": False, "return_lse": False, "g_kv_indptr": None,
        "cp_world_size": 1, "cp_rank": 0, "causal": True,
    },
    used=frozenset({"page_size", "sm_scale", "kv_scale", "return_lse", "causal"}),
    hints=frozenset(
        {
            "num_kv_splits", "num_kv_splits_indptr", "work_meta_data", "work_indptr", "work_info_set", "reduce_indptr",
            "reduce_final_map", "reduce_partial_map", "intra_batch_mode",
        }
    ),
)  # fmt: skip


def paged_attention_v1(
    out: Tensor,
    workspace_buffer: Tensor,
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    scale: float,
    block_tables: Tensor,
    cu_query_lens: Tensor | None,
    context_lens: Tensor,
    max_context_len: int,
    alibi_slopes: Tensor | None,
    kv_cache_dtype: str,
    kv_cache_layout: str,
    logits_soft_cap: float,
    k_scale: Tensor,
    v_scale: Tensor,
    fp8_out_scale: Tensor | None = None,
    partition_size: int = 256,
    mtp: int = 1,
    sliding_window: int = 0,
) -> Tensor:
    """query [B, HQ, D], one a sequence, over caches NHD [blocks, size, HK, D] or HND [blocks, HK, size, D] → `out`.

    workspace_buffer, max_context_len and partition_size have no meaning here.
    """
    name = "paged_attention_v1"
    refuse_others(name, cu_query_lens=(cu_query_lens, None), alibi_slopes=(alibi_slopes, None), mtp=(mtp, 1))
    refuse_others(name, logits_soft_cap=(logits_soft_cap, 0.0), fp8_out_scale=(fp8_out_scale, None))
    refuse_others(name, sliding_window=(sliding_window, 0))
    caches = _read_caches(name, key_cache, value_cache, kv_cache_layout)
    scales = (k_scale, v_scale) if _is_fp8(name, kv_cache_dtype) else ()
    return _decode(out, query, caches, (block_tables, context_lens), scales, scale)


def paged_attention_ragged(
    out: Tensor,
    workspace_buffer: Tensor,
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    scale: float,
    kv_indptr: Tensor,
    kv_page_indices: Tensor,
    kv_last_page_lens: Tensor,
    block_size: int,
    max_num_partitions: int,
    alibi_slopes: Tensor | None,
    kv_cache_dtype: str,
    kv_cache_layout: str,
    logits_soft_cap: float,
    k_scale: Tensor,
    v_scale: Tensor,
    fp8_out_scale: Tensor | None = None,
    partition_size: int = 256,
    mtp: int = 1,
) -> Tensor:
    """The same with the blocks of sequence b in kv_page_indices[kv_indptr[b]:kv_indptr[b + 1]].

    A table of them is made for each call, which waits for the GPU once: not in a graph capture.
    """
    name = "paged_attention_ragged"
    refuse_others(name, alibi_slopes=(alibi_slopes, None), mtp=(mtp, 1), logits_soft_cap=(logits_soft_cap, 0.0))
    refuse_others(name, fp8_out_scale=(fp8_out_scale, None))
    caches = _read_caches(name, key_cache, value_cache, kv_cache_layout)
    pages = make_table(name, kv_indptr, kv_page_indices, kv_last_page_lens, block_size)
    scales = (k_scale, v_scale) if _is_fp8(name, kv_cache_dtype) else ()
    return _decode(out, query, caches, pages, scales, scale)


@_MLA.describe
def mla_decode_fwd(
    q: Tensor,
    kv_buffer: Tensor,
    o: Tensor,
    qo_indptr: Tensor,
    kv_indptr: Tensor,
    kv_indices: Tensor,
    kv_last_page_lens: Tensor,
    max_seqlen_q: int,
    *args: Any,
    **words: Any,
) -> tuple[None, Tensor | None]:
    """q [B L, H, 576], L = max_seqlen_q, over kv_buffer [pages, page_size, 1, 576] → `o` [B L, H, 512].

    Returns None for AITER's scratch logits, and lse f32[B L, H] with return_lse. An fp8 kv_buffer needs kv_scale. A
    table of the pages is made for each call, which waits for the GPU once: not in a graph capture.
    """
    values = _MLA.bind(args, words)
    batch = qo_indptr.shape[0] - 1
    if q.shape[0] != batch * max_seqlen_q:
        raise refuse("mla_decode_fwd", f"{q.shape[0]} queries are not {max_seqlen_q} for each of {batch} sequences")
    if max_seqlen_q > 1:
        refuse_others("mla_decode_fwd", causal=(values["causal"], True))
    cache = kv_buffer.view(-1, values["page_size"], q.shape[-1])
    pages = make_table("mla_decode_fwd", kv_indptr, kv_indices, kv_last_page_lens, values["page_size"])
    queries, scale = q.view(batch, max_seqlen_q, *q.shape[1:]), values["sm_scale"]
    scale = float(q.shape[-1] ** -0.5 if scale is None else scale)
    if values["kv_scale"] is None:
        result, lse = ops.mla_decode(queries, cache, *pages, scale=scale)
    else:
        result, lse = ops.mla_decode_fp8(queries, cache, *pages, values["kv_scale"].view(1), scale=scale)
    o.copy_(result.view(o.shape))
    return None, lse.view(q.shape[:2]) if values["return_lse"] else None


def make_table(
    function: str, indptr: Tensor, indices: Tensor, last_lens: Tensor, page_size: int
) -> tuple[Tensor, Tensor]:
    """Ragged lists of pages → block_tables i32[B, most pages], context_lens i32[B]."""
    if indptr.is_cuda and torch.cuda.is_current_stream_capturing():
        raise refuse(function, "lists of pages cannot be read in a graph capture; paged_attention_v1 takes a table")
    starts, counts = indptr[:-1].long(), (indptr[1:] - indptr[:-1]).long()
    most = max(int(counts.max()), 1) if counts.numel() else 1
    places = torch.arange(most, device=indptr.device)
    inside = places < counts[:, None]
    picked = torch.where(inside, starts[:, None] + places, 0)
    padded = indices if indices.numel() else indices.new_zeros(1)
    lens = torch.where(counts > 0, (counts - 1) * page_size + last_lens[: counts.shape[0]], 0)
    return torch.where(inside, padded[picked], 0).int(), lens.int()


def _decode(
    out: Tensor,
    query: Tensor,
    caches: tuple[Tensor, Tensor],
    pages: tuple[Tensor, Tensor],
    scales: tuple[Tensor, ...],
    scale: float,
) -> Tensor:
    decode = ops.paged_decode_fp8 if scales else ops.paged_decode
    result, _ = decode(query[:, None], *caches, *pages, *(item.view(1) for item in scales), scale=scale)
    return out.copy_(result.view(out.shape))


def _read_caches(function: str, keys: Tensor, values: Tensor, layout: str) -> tuple[Tensor, Tensor]:
    if layout not in {"NHD", "HND"}:
        raise refuse(function, f"kv_cache_layout = {layout!r} is not supported, only 'NHD' and 'HND'")
    return (keys, values) if layout == "NHD" else (keys.transpose(1, 2), values.transpose(1, 2))


def _is_fp8(function: str, name: str) -> bool:
    if name not in {"auto", *_FP8}:
        raise refuse(function, f"kv_cache_dtype = {name!r} is not supported, only 'auto', 'fp8' and 'fp8_e4m3'")
    return name in _FP8
