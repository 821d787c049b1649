"""Text of a Python file → hits: imports, attributes, strings; and the CUDA source that strings hold."""

from __future__ import annotations

import re
from collections import Counter

from hipcompat.scan.detect.cuda import find_hits
from hipcompat.scan.detect.events import Event, read_events
from hipcompat.scan.detect.nvcc import is_unknown_to_clang
from hipcompat.scan.detect.unit import make_unit
from hipcompat.scan.rule import Hit, Hits

_IMPORTS = (
    ("pynvml", re.compile(r"(?:pynvml|py3nvml|nvidia_smi|nvitop|gpustat|pynvml_utils)\b")),
    ("cuda-python", re.compile(r"cuda(?:\.(?:cuda|cudart|nvrtc|bindings|core)\b|$)")),
    ("amdsmi-import", re.compile(r"amdsmi\b")),
    ("nvidia-package", re.compile(
        r"(?:tensorrt|pycuda|nvidia|cuml|cudf|cugraph|dali|transformer_engine|torch2trt|nvtx|cutlass|nvmath|cuquantum"
        r"|torch_tensorrt|tensorrt_llm)\b")),
    ("hipify-version", re.compile(r"torch\.utils\.hipify\b")),
    ("cuda-home", re.compile(r"torch\.utils\.cpp_extension\.CUDA_HOME$")),
)  # fmt: skip
_NAMES = (
    ("torch-version-cuda", re.compile(r"torch\.version\.cuda$")),
    ("fp8-dtype", re.compile(r"(?:torch|jnp|jax\.numpy|ml_dtypes|tl)\.float8_?e(?:4m3fn|5m2|4m3)$"
            r"|tl\.float8(?:e4nv|e5)$")),
    ("cuda-home", re.compile(r"(?:\w+\.)*cpp_extension\.CUDA_HOME$")),
    ("hipify-version", re.compile(r"torch\.utils\.hipify\b")),
    ("backend-name", re.compile(r"(?:tf|tensorflow)\.test\.is_built_with_cuda$")),
    ("cuda-python", re.compile(r"cuda\.bindings\.")),
    ("pynvml", re.compile(r"torch\.cuda\.(?:utilization|temperature|power_draw|clock_rate)$")),
)  # fmt: skip
_GATE = re.compile(r"torch\.cuda\.is_available$")
_CAPABILITY = re.compile(r"(?:device|compute|cuda)_capability|prop\w*(?:\(.*\))?\.major\b")
_ORDERING = re.compile(r"[<>]=?|==")
_WORDS = (
    ("visible-devices", re.compile(r"(?:CUDA|HIP|ROCR)_VISIBLE_DEVICES$")),
    ("cuda-home", re.compile(r"CUDA_(?:HOME|PATH|ROOT|TOOLKIT_ROOT_DIR)$|(?:/usr/local/cuda)\b")),
    ("arch-list", re.compile(r"TORCH_CUDA_ARCH_LIST$|CMAKE_CUDA_ARCHITECTURES\b")),
    ("nvidia-tool", re.compile(r"(?:\S*/)?(?:nvidia-smi|nvcc)(?:\s|$)")),
    ("cuda-library-name", re.compile(r"(?:lib(?:cudart|cuda|nvrtc|cublas|cudnn|nvidia-ml|cusparse|cufft"
            r"|nccl)\.so[\d.]*|nvcuda\.dll)$")),
    ("half-operators", re.compile(r"-[UD]__CUDA_NO_(?:HALF|BFLOAT16)\w*__")),
    ("cuda-index", re.compile(r"https?://\S+/whl/cu\d+")),
)  # fmt: skip
_JAX_CALL = re.compile(
    r"(?:jax|xb|xla_bridge)\.(?:devices|local_devices|device_count|default_backend)\s*\(\s*$|backend\s*==\s*$|platform\s*==\s*$"
)
_AS_KEY = re.compile(r"\s*[:\]]")
"""What comes after {"nvcc": [...]} and flags["nvcc"]: torch's name for a list of flags, and no program."""
_KERNEL = "__global__"


def find_python_hits(raw: str, *, is_setup: bool) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Hits in the order of the text, and what the CUDA sources in strings would have renamed."""
    renamed: Counter[str] = Counter()
    hits: list[Hit] = []
    for event in read_events(raw):
        hits += _judge(event, raw, renamed, is_setup=is_setup)
    unique = {(hit.rule, hit.start): hit for hit in hits}
    return tuple(sorted(unique.values(), key=lambda hit: (hit.start, hit.rule))), renamed


def _judge(event: Event, raw: str, renamed: Counter[str], *, is_setup: bool) -> Hits:
    if event.kind == "import":
        yield from _match(event, _IMPORTS)
    elif event.kind == "name":
        yield from _match(event, _NAMES)
        if is_setup and _GATE.match(event.text):
            yield _hit("build-gate", event)
    elif event.kind == "compare":
        if _CAPABILITY.search(event.text) and _ORDERING.search(event.text):
            yield _hit("python-capability", event)
    else:
        yield from _judge_string(event, raw, renamed, is_setup=is_setup)


def _judge_string(event: Event, raw: str, renamed: Counter[str], *, is_setup: bool) -> Hits:
    if len(event.text) < 200:
        if not (event.text == "nvcc" and _AS_KEY.match(raw, event.end)):
            yield from _match(event, _WORDS)
        if event.text in {"cuda", "gpu:cuda"} and _JAX_CALL.search(raw[max(0, event.start - 60) : event.start]):
            yield _hit("backend-name", event)
        if is_setup and is_unknown_to_clang(event.text):
            yield Hit(rule="nvcc-flag", start=event.start, end=event.end, detail=event.text)
    if _KERNEL in event.text and event.body >= 0:
        yield _hit("kernel-string", event)
        hits, names = find_hits(make_unit(raw[event.body : event.end]))
        renamed.update(names)
        for hit in hits:
            yield Hit(rule=hit.rule, start=hit.start + event.body, end=hit.end + event.body, detail=hit.detail)


def _match(event: Event, table: tuple[tuple[str, re.Pattern[str]], ...]) -> Hits:
    for rule, pattern in table:
        if pattern.match(event.text):
            yield _hit(rule, event)


def _hit(rule: str, event: Event) -> Hit:
    return Hit(rule=rule, start=event.start, end=event.end, detail="" if rule == "kernel-string" else event.text[:80])
