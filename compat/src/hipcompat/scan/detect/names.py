"""A name in C++ → what the facts and the rules say of it, whatever stands around it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from hipcompat.facts import Fact, provided, read_facts

_TEXTURE = re.compile(r"tex(?:1D|2D|3D|Cubemap)\w*$|surf(?:1D|2D|3D|Cubemap)\w*(?:read|write)$")
_TEXTURE_OBJECTS = re.compile(
    r"cudaCreate(?:Texture|Surface)Object$|cudaBindTexture\w*$|cu(?:Tex|Surf)ObjectCreate$|cuTexRef\w+$"
)
_LIBRARY = re.compile(
    r"(?:npp[a-z]*[A-Z]|nppi|nvjpeg[A-Z]|cuFile[A-Z]|optix[A-Z]|nvJitLink[A-Z]|NvSci[A-Z]|NvMedia|cutensor[A-Z]|nvshmemx?_"
    r"|cupti[A-Z]|cudss[A-Z]|nvFatbin[A-Z]|nvcomp[A-Z]|custatevec[A-Z]|cutensornet[A-Z]|cuvid[A-Z])\w+$"
)
_CAPTURE = frozenset(("cudaEventQuery", "cudaStreamAddCallback", "cudaDeviceSetCacheConfig", "cudaFuncSetCacheConfig",
                      "cudaMemPoolCreate", "cudaMemPoolDestroy", "cudaMemPoolTrimTo"))  # fmt: skip
_MASKED = re.compile(r"__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|match_any|match_all|reduce_\w+)_sync$|__syncwarp$")
_FP8 = re.compile(r"__nv_fp8(?:x[24])?_e[45]m[32]$|__NV_E[45]M[32]$")
_EPILOGUE = re.compile(r"CUBLASLT_EPILOGUE_(?:\w*AUX\w*|D\w+|BGRAD\w+)$")
_OTHER = {
    "__AMDGCN_WAVEFRONT_SIZE": "wavefront-macro", "__AMDGCN_WAVEFRONT_SIZE__": "wavefront-macro",
    "__GFX9__": "wavefront-macro", "hip_bfloat16": "bf16-type", "nvcuda": "wmma",
    "__CUDA_ARCH__": "cuda-arch-guard", "__CUDACC__": "cudacc-guard", "__NVCC__": "cudacc-guard",
    "HIP_MEMSET_NODE_PARAMS": "hip7-removed",
    "warpSize": "warpsize", "cudaGetLastError": "last-error", "cudaStreamBeginCapture": "capture",
    "cudaFilterModeLinear": "texture-linear",
}  # fmt: skip
"""Names with a rule of their own, or a question that the surroundings answer."""
_NOT_ITS_OWN = frozenset(("cuda", "cub", "half", "half2"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a name is. `question` is a rule's id, or a key that detect.cuda answers by looking around."""

    question: str = ""
    hip: str = ""
    """What translation writes instead; empty where the name stays."""
    fact: Fact | None = None



@functools.lru_cache(maxsize=200_000)
def find_meaning(name: str) -> Meaning | None:
    """None for the names that mean nothing here, which are nearly all."""
    if name in provided.PROVIDED:
        return Meaning(hip=name)
    fact = read_facts().get(name) if name not in _NOT_ITS_OWN else None
    question = _ask(name) or _ask_translated(name, fact)
    if not question and fact is None and name in _find_newer_names():
        return Meaning(question="api-too-new", fact=_find_newer_names()[name])
    hip = fact.hip if fact and fact.is_mapped and fact.hip != name else ""
    if not question and fact is not None:
        question = _question_of(fact)
    return Meaning(question=question, hip=hip, fact=fact) if question or hip else None


def _ask(name: str) -> str:
    return _OTHER.get(name) or _match_patterns(name)


def _ask_translated(name: str, fact: Fact | None) -> str:
    """Of a name of HIP what is asked of CUDA's, so that no warning ends with translation alone; of CUDA's other names
    for the same (cuEventQuery), too."""
    if fact is None:
        return _find_translated().get(name, "")
    return _find_translated().get(fact.hip, "") if fact.is_mapped and not _question_of(fact) else ""


@functools.cache
def _find_translated() -> Mapping[str, str]:
    """Names of HIP that translation writes for a name of CUDA with a question, and the question."""
    facts = [fact for fact in read_facts().values() if fact.is_mapped and fact.hip and fact.hip != fact.name]
    return {fact.hip: question for fact in facts if (question := _ask(fact.name))}


@functools.cache
def _find_newer_names() -> Mapping[str, Fact]:
    """HIP's names that 7.0 lacks, so that translated source says so, too; each with the fact about a name of CUDA."""
    facts = [fact for fact in read_facts().values() if fact.hip and fact.hip != fact.name and fact.is_mapped]
    older = {fact.hip for fact in facts if fact.in_7_0 is not False}
    return {fact.hip: fact for fact in facts if _question_of(fact) == "api-too-new" and fact.hip not in older}


def _match_patterns(name: str) -> str:
    if name[0] not in "_tsncoNC":
        return ""
    for pattern, question in _PATTERNS:
        if pattern.match(name):
            return question
    return "capture-refused" if name in _CAPTURE else ""


_PATTERNS = (
    (_MASKED, "mask"), (_TEXTURE, "texture-fetch"), (_TEXTURE_OBJECTS, "texture-object"), (_LIBRARY, "library-missing"),
    (_FP8, "fp8-flavour"), (_EPILOGUE, "lt-epilogue"),
)  # fmt: skip
_MISSING = {
    "device": "device-function", "nvml": "nvml", "dnn": "cudnn", "nvtx": "nvtx", "cub": "", "include": "", "thrust": "",
    "libcu++": "", "nvjpeg": "library-missing",
}  # fmt: skip


def _question_of(fact: Fact) -> str:
    if fact.api == "nvtx":
        return "nvtx"
    if not fact.is_mapped:
        return _MISSING.get(fact.api, "api-missing")
    return "api-too-new" if fact.in_7_0 is False else ""
