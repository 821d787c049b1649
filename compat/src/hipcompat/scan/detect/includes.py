"""Unit → hits of its #include lines, by the facts about headers."""

from __future__ import annotations

import re
from collections import Counter

from hipcompat.facts import provided, read_facts
from hipcompat.scan.detect.unit import Include, Unit
from hipcompat.scan.rule import Hit, Hits

_KINDS = (
    ("cg-algorithm", re.compile(r"cooperative_groups/(?:reduce|scan|memcpy_async)\.h$")),
    ("thrust-cuda", re.compile(r"thrust/(?:system/)?cuda/")),
    ("wmma", re.compile(r"(?:crt/)?mma\.h$")),
    ("libcu++", re.compile(r"cuda/(?:std/)?\w+$|cuda_(?:pipeline|awbarrier)\w*\.h$")),
    ("cudnn", re.compile(r"cudnn\w*\.h$")),
    ("nvml", re.compile(r"nvml\.h$")),
    ("nvtx", re.compile(r"(?:nvtx3/)?nv(?:Tools|tx)\w*\.h(?:pp)?$")),
    ("library-missing", re.compile(
        r"nvshmem\w*\.h$|npp\w*\.h$|nvjpeg\w*\.h$|cufile\.h$|nvJitLink\.h$|optix\w*\.h$|nvsci\w+\.h$|nvmedia\w*\.h$|cutensor\w*\.h$"
        r"|Nv(?:Infer|OnnxParser|UffParser|CaffeParser)\w*\.h$|cupti\w*\.h$|nvperf_\w+\.h$|cudss\w*\.h$|nvfatbin\.h$"
        r"|cudaProfiler\.h$|nvcuvid\.h$|cuviddec\.h$|nvEncodeAPI\.h$|nvcomp(?:\.h$|/)|cu(?:statevec|tensornet)\w*\.h$"
        r"|cu(?:blas|solver)M[gp]\.h$|cu(?:blas|fft|solver|rand)dx\.hpp$"
        r"|cudaEGL\.h$|cuda_egl_interop\.h$|cuda_vdpau_interop\.h$|cudla\.h$|nvPTXCompiler\.h$|cutlass/|cute/|flashinfer/"
    )),
)  # fmt: skip


def find_include_hits(unit: Unit, renamed: Counter[str]) -> Hits:
    """Each header that ROCm lacks; those that it has under another name are counted in `renamed`."""
    facts = read_facts()
    for include in unit.includes:
        fact = facts.get(include.name)
        rule = _choose_rule(include)
        if include.name in provided.PROVIDED or (fact and fact.is_mapped and fact.hip != include.name):
            renamed[include.name] += 1
        elif rule:
            yield Hit(rule=rule, start=include.start, end=include.end, detail=include.name)
        elif fact and not fact.is_mapped and not include.is_quoted:
            yield Hit(rule="library-missing", start=include.start, end=include.end, detail=include.name)


def _choose_rule(include: Include) -> str:
    return next((rule for rule, pattern in _KINDS if pattern.match(include.name)), "")
