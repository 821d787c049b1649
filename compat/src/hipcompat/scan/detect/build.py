"""Text of a build file → hits, line by line: CMake, requirements and pyproject, Dockerfiles, shell and make."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hipcompat.scan.detect.nvcc import is_unknown_to_clang
from hipcompat.scan.rule import Hit, Hits

Patterns = tuple[tuple[str, re.Pattern[str]], ...]

_FLAG_WORD = re.compile(r"(?<![\w./=-])--?[A-Za-z][\w-]*(?:=[^\s\"';)]*)?")
_SWAPPED = (
    r"xformers|flash[-_]attn|vllm|sglang|bitsandbytes|deepspeed|auto[-_]gptq|autoawq|torch[-_]scatter|torch[-_]sparse"
    r"|torch[-_]cluster|triton|pytorch[-_]triton|unsloth|lmdeploy|torchao|apex|mamba[-_]ssm|causal[-_]conv1d|exllamav2"
)
_WHEELS = (
    r"nvidia-(?!ml-py)[\w-]+|cupy-cuda\w+|cuda-python|cuda-bindings|tensorrt[\w-]*|pycuda|jax\[cuda\w*\]|jax-cuda\w+"
    r"|tensorflow\[and-cuda\]|onnxruntime-gpu|cudf-\w+|cuml-\w+|transformer[-_]engine[\w-]*|dgl-cu\w+|faiss-gpu[\w-]*"
)
_INDEX = re.compile(r"https?://\S+/(?:whl/)?cu\d{2,3}\b\S*")

CMAKE: Patterns = (
    ("cmake-cuda", re.compile(r"\bfind_package\s*\(\s*(?:CUDA|CUDAToolkit|CUDNN|NCCL)\b", re.IGNORECASE)),
    ("cmake-cuda", re.compile(r"\benable_language\s*\(\s*CUDA\b"
            r"|\bproject\s*\([^)]*\bLANGUAGES\b[^)]*\bCUDA\b", re.IGNORECASE)),
    ("cmake-cuda", re.compile(r"\b(?:cuda_add_(?:library|executable)|CUDA::\w+)\b")),
    ("arch-list", re.compile(r"\b(?:CMAKE_CUDA_ARCHITECTURES|TORCH_CUDA_ARCH_LIST|CUDA_ARCHITECTURES"
            r"|CUDA_NVCC_FLAGS)\b")),
)  # fmt: skip
REQUIREMENTS: Patterns = (
    ("torch-swap", re.compile(rf"(?:^|[\"'\s])(?:torch|torchvision|torchaudio"
            rf"|{_SWAPPED})\s*(?=[=<>~!;\[@\"',]|$)", re.IGNORECASE)),
    ("cuda-wheel", re.compile(rf"(?:^|[\"'\s])(?:{_WHEELS})(?=[=<>~!;\[@\"',\s]|$)", re.IGNORECASE)),
    ("pynvml", re.compile(r"(?:^|[\"'\s])(?:pynvml|nvidia-ml-py\w*|gpustat|nvitop)(?=[=<>~!;\[@\"',\s]"
            r"|$)", re.IGNORECASE)),
    ("cuda-index", _INDEX),
)  # fmt: skip
SHELL: Patterns = (
    ("shell-tool", re.compile(r"(?<![\w./-])(?:[\w/.-]*/)?(?:nvidia-smi|nvcc)(?![\w.-])|--runtime[= ]nvidia"
            r"|--gpus[= ]\S+")),
    ("shell-environment", re.compile(
        r"\b(?:CUDA_HOME|CUDA_PATH|CUDA_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES"
        r"|NVIDIA_DRIVER_CAPABILITIES|CUDACXX)\b(?=\s*[:?]?=|\s+\S)")),
    ("arch-list", re.compile(r"\b(?:TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES)\b")),
    ("cuda-index", _INDEX),
)  # fmt: skip
DOCKER: Patterns = (
    ("cuda-image", re.compile(r"^\s*FROM\s+(?:--platform=\S+\s+)?(?:\S+/)?(?:nvidia/\S+|nvcr\.io/\S+"
            r"|pytorch/pytorch:\S*cuda\S*)", re.IGNORECASE)),
    ("torch-swap", re.compile(rf"\bpip3?\s+install\b[^\n#]*?\s[\"']?(?:torch|torchvision|torchaudio"
            rf"|{_SWAPPED})[\"']?(?=[=<>~!;\[\s\"']|$)")),
    ("cuda-wheel", re.compile(rf"\bpip3?\s+install\b[^\n#]*?\s[\"']?(?:{_WHEELS})(?=[=<>~!;\s\"']|$)")),
    ("cuda-wheel", re.compile(r"\bapt(?:-get)?\s+install\b[^\n#]*?\s(?:cuda-[\w-]+|libcudnn\w*|libnccl\w*"
            r"|nvidia-[\w-]+)")),
    *SHELL,
)  # fmt: skip

PATTERNS: Mapping[str, Patterns] = {
    "cmake": CMAKE, "requirements": REQUIREMENTS, "pyproject": REQUIREMENTS, "docker": DOCKER, "shell": (*DOCKER[1:],),
}  # fmt: skip
_ROCM_BUILD = re.compile(r"\+rocm|/rocm\d|whl/rocm|repo\.radeon\.com")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_BRACKET = re.compile(r"#\[(=*)\[.{0,2000}?\]\1\]", re.DOTALL)
_LONGEST_LINE = 4_000
_CONTINUED = re.compile(r"\\\r?\n")


def find_build_hits(raw: str, language: str) -> tuple[Hit, ...]:
    """`language` is a key of PATTERNS."""
    text = _BRACKET.sub(_blank, raw) if language == "cmake" else raw
    text = _COMMENT.sub(_blank, text)
    text = _CONTINUED.sub(lambda match: " " * len(match.group()), text)
    hits = [*_find_lines(text, PATTERNS[language])]
    if language in {"cmake", "shell"} and ("nvcc" in text or "CUDA" in text or "cuda" in text):
        hits += _find_flags(text)
    return tuple(sorted(hits, key=lambda hit: (hit.start, hit.rule)))


def _find_lines(text: str, patterns: Patterns) -> Hits:
    start = 0
    for line in text.split("\n"):
        for rule, pattern in patterns:
            match = pattern.search(line, 0, _LONGEST_LINE)
            if match and not (rule == "torch-swap" and _ROCM_BUILD.search(line)):
                yield Hit(
                    rule=rule, start=start + match.start(), end=start + match.end(), detail=match.group().strip(" \"'")
                )
        start += len(line) + 1


def _find_flags(text: str) -> Hits:
    for match in _FLAG_WORD.finditer(text):
        if is_unknown_to_clang(match.group()):
            yield Hit(rule="nvcc-flag", start=match.start(), end=match.end(), detail=match.group())


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
