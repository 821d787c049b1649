"""Code and its branches → uses of CUDA's version, which HIP does not define, and headers that it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hipcompat.facts import read_facts
from hipcompat.scan.conditions import Branch, compute
from hipcompat.scan.lexer import Code
from hipcompat.scan.regions import begins_line, is_directive

_VALUE = re.compile(r"\bCUDART_VERSION\b")
_VERSION = re.compile(r"\b(?:CUDART_VERSION|CUDA_VERSION|__CUDACC_VER_(?:MAJOR|MINOR)__)\b")
_UNKNOWN: Mapping[str, int | None] = {"CUDA_VERSION": 0}
"""A project may define it; nobody else does, and then it counts as zero."""
_OWN_INCLUDE = re.compile(r"#[ \t]*include[ \t]*+(?!<)")
_INCLUDE = re.compile(r'#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]')
_BRINGS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(header), re.compile(names))
    for header, names in (
        (r"cuda_bf16\.h", r"\b(?:__)?nv_bfloat16\w*\b|\b__\w+bfloat16\w*\b"), (r"cuda_fp16\.h", r"\b(?:__)?half2?\b"),
        (r"cuda_fp8\.h", r"\b__nv_fp8\w*\b"), (r"cublasLt\.h", r"\bcublasLt\w+\b"),
        (r"cublas_v2\.h", r"\bcublas[A-Z]\w*"),
        (r"cooperative_groups\.h", r"\bcooperative_groups\b"), (r"cub/.*", r"\bcub\s*::"),
        (r"thrust/.*", r"\bthrust\s*::"), (r"curand\w*\.h", r"\bcurand\w+\b"), (r"cufft\w*\.h", r"\bcufft\w+\b"),
        (r"cusparse\w*\.h", r"\bcusparse\w+\b"), (r"cusolver\w*\.h", r"\bcusolver\w+\b"),
        (r"nvrtc\.h", r"\bnvrtc\w+\b"), (r"nccl\.h", r"\bnccl[A-Z]\w+\b"),
    )
)  # fmt: skip
"""Headers, and the names that are unknown without them."""
_C_HEADER = re.compile(r"(?:std\w+|string|math|assert|float|limits|time|errno)\.h|[a-z_]+")


def find_version_uses(code: Code, whole: str, branches: tuple[Branch, ...]) -> tuple[tuple[int, int], ...]:
    """CUDART_VERSION outside of directives; an #include that its value leaves out: the file's own, or one it needs."""
    if not _VERSION.search(whole):
        return ()
    used: list[tuple[int, int]] = []
    if "CUDART_VERSION" in whole and not _is_defined(whole, "CUDART_VERSION"):
        used += _find_values(code)
        for branch in branches:
            if branch.is_dead and "CUDART_VERSION" in branch.words:
                match = _OWN_INCLUDE.search(whole, branch.start, branch.end)
                used += [match.span()] if match else []
    for branch in branches:
        if _VERSION.search(branch.words) and _is_left_out(branch, whole):
            used += _find_needed(code, whole, branch)
    return tuple(sorted(used))


def _find_values(code: Code) -> Iterator[tuple[int, int]]:
    for match in _VALUE.finditer(code.code):
        if not is_directive(code.code, match.start()):
            yield match.span()


def _is_defined(whole: str, name: str) -> bool:
    return re.search(rf"#[ \t]*define[ \t]+{name}\b", whole) is not None


def _is_left_out(branch: Branch, whole: str) -> bool:
    """Certainly, or where CUDA_VERSION decides and nobody defines it; of an #elif nobody knows."""
    if branch.is_dead:
        return True
    line = whole[whole.rfind("\n", 0, branch.start) + 1 : branch.start].lstrip("# \t")
    value = compute(branch.words, _UNKNOWN)
    if value is None or _is_defined(whole, "CUDA_VERSION") or line.startswith("elif"):
        return False
    return bool(value) if line.startswith("else") else not value


def _find_needed(code: Code, whole: str, branch: Branch) -> Iterator[tuple[int, int]]:
    """Headers of CUDA's in the branch whose names stand outside, where no other header may bring them."""
    outside = f"{code.code[: branch.start]}\n{code.code[branch.end :]}"
    live = [match for match in _INCLUDE.finditer(code.text) if code.code[match.start()] == "#"]
    others = [match for match in live if not branch.start <= match.start() < branch.end]
    if any(match[1] == '"' or not _brings_nothing(match[2]) for match in others):
        return
    for match in _INCLUDE.finditer(code.text, branch.start, branch.end):
        names = next((names for header, names in _BRINGS if header.fullmatch(match[2])), None)
        is_there = any(other[2] == match[2] for other in others)
        is_include = whole[match.start()] == "#" and begins_line(whole, match.start())
        if names and is_include and not is_there and names.search(outside):
            yield match.span()


def _brings_nothing(name: str) -> bool:
    """CUDA's own or C's and C++'s."""
    return name in read_facts() or _C_HEADER.fullmatch(name) is not None
