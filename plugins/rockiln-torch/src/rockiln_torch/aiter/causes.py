"""What importing or calling AITER raised → its first cause and what to do, in a sentence."""

from __future__ import annotations

import re

import torch

_KNOWN = (
    (
        r"(lib(?:amdhip64|hsa-runtime64|hipblaslt|hiprtc|rocblas|hipsolver)\.so[.\d]*): cannot open",
        "{0} is missing: ROCm's runtime is not installed, or not where the loader looks",
    ),
    (
        r"undefined symbol: (\S+)",
        "its module was built for another torch than this {torch}: it asks for {0}; install an AITER built for it",
    ),
    (
        (
            r"(hipcc|ninja|rocm_agent_enumerator|amdclang\+\+)\b.*(?:not found|No such file|required)|"
            r"No such file or directory: '([^']*(?:hipcc|ninja)[^']*)'|Error building extension '(\w+)'|"
            r"(ROCM_HOME|HIP_HOME|CUDA_HOME) environment variable is not set"
        ),
        (
            "it compiles its modules when they are first used, and that failed ({text}): it needs hipcc and ninja, "
            "which the devel flavour has, or a wheel built with PREBUILD_KERNELS"
        ),
    ),
    (r"rocminfo", "it asks rocminfo which GPU there is, and got no answer ({text})"),
    (r"No module named '([\w.]+)'", "it needs {0}, which is not installed"),
    (r"cannot import name '(\w+)' from '([\w.]+)'", "{1} has no {0}: not the version that it was written for"),
)


def explain_cause(error: BaseException) -> str:
    """The first cause that is known, from the bottom up; else what was raised first, in its own words."""
    chain = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None and before not in chain:
        chain.append(before)
    for item in reversed(chain):
        text = " ".join(str(item).split())
        for pattern, sentence in _KNOWN:
            if found := re.search(pattern, text):
                parts = [part for part in found.groups() if part]
                return sentence.format(*parts, torch=torch.__version__, text=_shorten(text))
    first = chain[-1]
    return f"{type(first).__name__}: {_shorten(' '.join(str(first).split()))}"


def _shorten(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:199]}…"
