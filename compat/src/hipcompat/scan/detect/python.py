"""Text of a Python file → hits: imports, attributes, strings; and the CUDA source that strings hold."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from hipcompat.facts import read_facts
from hipcompat.scan.detect.build_patterns import LIBRARY, TOOLS
from hipcompat.scan.detect.cuda import find_hits
from hipcompat.scan.detect.events import Event, read_events
from hipcompat.scan.detect.literals import LIBRARY_FILE, PTX_FILE
from hipcompat.scan.detect.nvcc import find_flags, find_refused, names_gpu
from hipcompat.scan.detect.ptx import is_ptx
from hipcompat.scan.detect.unit import make_unit
from hipcompat.scan.rule import WAVE64, Hit, Hits

_IMPORTS = (
    ("pynvml", re.compile(r"(?:pynvml|py3nvml|nvidia_smi|nvitop|gpustat|pynvml_utils)\b")),
    ("cuda-python", re.compile(r"cuda(?:\.(?:cuda|cudart|nvrtc|bindings|core)\b|$)")),
    ("amdsmi-import", re.compile(r"amdsmi\b")),
    ("nvidia-package", re.compile(
        r"(?:tensorrt|pycuda|nvidia|cuml|cudf|cugraph|dali|transformer_engine|torch2trt|nvtx|cutlass|nvmath|cuquantum"
        r"|torch_tensorrt|tensorrt_llm|nvshmem|numba\.cuda|numba_cuda|cuda_python)\b")),
    ("triton-cuda", re.compile(r"triton\.language\.extra\.cuda\b")),
    ("cupy-import", re.compile(r"cupyx?\b")),
    ("hipify-version", re.compile(r"torch\.utils\.hipify\b")),
    ("cuda-home", re.compile(r"torch\.utils\.cpp_extension\.CUDA_HOME$")),
)  # fmt: skip
_NAMES = (
    ("triton-cuda", re.compile(r"(?:triton\.language|tl)\.extra\.cuda\.")),
    ("torch-version-cuda", re.compile(r"torch\.version\.cuda(?:\.|$)")),
    ("nvidia-package", re.compile(r"numba\.cuda\.")),
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
    ("nvidia-tool", re.compile(rf"(?:\S*/)?(?:{TOOLS})(?:\s|$)")),
    ("cuda-library-name", LIBRARY_FILE),
    ("half-operators", re.compile(r"-[UD]__CUDA_NO_(?:HALF|BFLOAT16)\w*__")),
    ("cuda-index", re.compile(r"https?://\S+/whl/cu\d+")),
)  # fmt: skip
_JAX_CALL = re.compile(
    r"(?:jax|xb|xla_bridge)\.(?:devices|local_devices|device_count|default_backend)\s*\(\s*$|backend\s*==\s*$|platform\s*==\s*$"
    r"|jax_platform(?:s|_name)[\"']\]?\s*[=,]\s*$",
    re.IGNORECASE,
)
_CUDA_AMONG = re.compile(r"(?:[\w:]+,)*(?:gpu:)?cuda(?:,[\w:]+)*$")
_LOADS_PTX = re.compile(
    r"(?:RawModule|module_from_file|ModuleLoad\w*|LibraryLoadFromFile|ObjectCode\.from_\w+)\s*\((?:[^()]{0,40}=)?\s*b?$"
)
_MOST_WARPS = 16
"""Of 64 lanes, in the 1024 threads of a block."""
_BUILDS = re.compile(r"cuda_c?flags|cpp_extension|CUDAExtension|load_inline|[\"']nvcc[\"']")
"""Some string of the file is a flag for nvcc."""
_HELPER = re.compile(r"\bhipcompat\.(?:setuptools|torch)_extension\b|from\s+hipcompat\s+import\s[^\n]*_extension\b")
"""hipcompat's own extension modules translate nvcc's flags."""
_AS_KEY = re.compile(r"\s*[:\]]")
"""What comes after {"nvcc": [...]} and flags["nvcc"]: torch's name for a list of flags, and no program."""
_KERNEL = "__global__"
_LONGEST_WORDS = 1_000
_LIBRARIES = re.compile(r"\blibraries\b[\"']?\s*(?:=|\+=|:)\s*[\[(][^\])=]*$|\blibraries\.(?:append|extend)\(\[?\s*$")
"""What stands before the name of a library in setup.py."""
_ON_WINDOWS = re.compile(r"[\])]?\s+if\s+[^\n]{0,40}(?:win|nt)", re.IGNORECASE)


def find_python_hits(raw: str, *, is_setup: bool) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Hits in the order of the text, and what the CUDA sources in strings would have renamed."""
    renamed: Counter[str] = Counter()
    hits: list[Hit] = []
    has_flags = is_setup or _BUILDS.search(raw) is not None
    has_asm = "inline_asm_elementwise" in raw
    is_sure = has_flags and "cmake" not in raw.lower()
    is_helped = _HELPER.search(raw) is not None
    for event in read_events(raw):
        hits += _judge(event, raw, renamed, is_setup=is_setup)
        if event.kind == "string":
            hits += _judge_words(event, raw, has_flags=has_flags, has_asm=has_asm, is_sure=is_sure, is_helped=is_helped)
    unique = {(hit.rule, hit.start if hit.detail[:10] != "numba.cuda" else "once"): hit for hit in reversed(hits)}
    return tuple(sorted(unique.values(), key=lambda hit: (hit.start, hit.rule))), renamed


_EXTERN = re.compile(r"\bextern[ \t]+from[ \t]+[\"']<?([\w./+-]+)>?[\"']")


def find_cython_hits(raw: str) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Those of Python, and headers of CUDA of which Cython declares names."""
    hits, renamed = find_python_hits(raw, is_setup=False)
    facts = read_facts()
    declared = (
        Hit(rule="cython-extern", start=match.start(1), end=match.end(1), detail=match[1])
        for match in _EXTERN.finditer(raw)
        if match[1] in facts and facts[match[1]].kind == "include"
    )
    return tuple(sorted((*hits, *declared), key=lambda hit: (hit.start, hit.rule))), renamed


def _judge(event: Event, raw: str, renamed: Counter[str], *, is_setup: bool) -> Hits:
    if event.kind == "import":
        yield from _match(event, _IMPORTS)
    elif event.kind == "name":
        yield from _match(event, _NAMES)
        if is_setup and _GATE.match(event.text):
            yield _hit("build-gate", event)
    elif event.kind == "version":
        rule = "torch-version-none" if event.text else "torch-version-cuda"
        yield Hit(rule=rule, start=event.start, end=event.end, detail=event.text or "torch.version.cuda")
    elif event.kind == "capability":
        yield _hit("python-capability", event)
    elif event.kind == "keyword":
        if "triton" in raw:
            yield from _judge_launch(event)
    elif event.kind == "compare":
        if _CAPABILITY.search(event.text) and _ORDERING.search(event.text):
            yield _hit("python-capability", event)
    else:
        yield from _judge_string(event, raw, renamed)


def _judge_launch(event: Event) -> Hits:
    """num_ctas=2, num_warps=32."""
    name, _, value = event.text.partition("=")
    count = int(value) if value.isdigit() else 0
    if name == "num_ctas" and count > 1:
        yield _hit("triton-launch", event)
    elif name == "num_warps" and count > _MOST_WARPS:
        yield replace(_hit("triton-launch", event), archs=WAVE64)


def _judge_words(
    event: Event, raw: str, *, has_flags: bool, has_asm: bool, is_sure: bool, is_helped: bool
) -> Hits:  # fmt: skip
    """What a string is in some files only: flags of nvcc, options of NVRTC, PTX for Triton."""
    if len(event.text) < _LONGEST_WORDS:
        found = find_refused(event.text) if is_helped else find_flags(event.text, is_sure=is_sure)
        flags = tuple(found) if has_flags else ()
        # Where the string stands as it is read, its words have places; one with escapes, or of an f-string, has one.
        start = event.body if event.body >= 0 and raw.startswith(event.text, event.body) else -1
        for at, flag in flags:
            first, last = (start + at, start + at + len(flag)) if start >= 0 else (event.start, event.end)
            yield Hit(rule="nvcc-flag", start=first, end=last, detail=flag)
        if not flags and not is_helped and names_gpu(event.text):
            yield Hit(rule="nvrtc-option", start=event.start, end=event.end, detail=event.text[:80])
    if has_flags and LIBRARY.match(event.text.removeprefix("-l")) and not _ON_WINDOWS.match(raw, event.end) and (
        event.text.startswith("-l") or _LIBRARIES.search(raw[max(0, event.start - 300) : event.start])
    ):
        yield Hit(rule="cuda-link", start=event.start, end=event.end, detail=event.text)
    if has_asm and (opcodes := is_ptx(event.text)):
        yield Hit(rule="inline-ptx", start=event.start, end=event.end, detail=", ".join(opcodes)[:80])


def _judge_string(event: Event, raw: str, renamed: Counter[str]) -> Hits:
    if len(event.text) < 200:
        if not (event.text == "nvcc" and _AS_KEY.match(raw, event.end)):
            yield from _match(event, _WORDS)
        if PTX_FILE.match(event.text) and _LOADS_PTX.search(raw[max(0, event.start - 60) : event.start]):
            yield _hit("ptx-load", event)
        if _CUDA_AMONG.match(event.text) and _JAX_CALL.search(raw[max(0, event.start - 60) : event.start]):
            yield _hit("backend-name", event)
    if _KERNEL in event.text and event.body >= 0:
        yield _hit("kernel-string", event)
        hits, names = find_hits(make_unit(raw[event.body : event.end]))
        renamed.update(names)
        for hit in hits:
            yield replace(hit, start=hit.start + event.body, end=hit.end + event.body)


def _match(event: Event, table: tuple[tuple[str, re.Pattern[str]], ...]) -> Hits:
    for rule, pattern in table:
        if pattern.match(event.text):
            yield _hit(rule, event)


def _hit(rule: str, event: Event) -> Hit:
    return Hit(rule=rule, start=event.start, end=event.end, detail="" if rule == "kernel-string" else event.text[:80])
