"""A path → the language that scan reads it in, and the words of which every finding in it needs one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath

CXX_SUFFIXES = frozenset((
    ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tpp",
    ".hip", ".cuinc",
))  # fmt: skip
_OTHER_SUFFIXES = {
    ".py": "python", ".pyi": "python", ".pyx": "cython", ".pxd": "cython", ".pxi": "cython",
    ".cmake": "cmake", ".sh": "shell", ".bash": "shell",
    ".mk": "shell", ".dockerfile": "docker", ".so": "binary", ".cubin": "binary",
    ".fatbin": "binary", ".ptx": "ptx", ".ipynb": "notebook", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip
_NAMES = (
    ("cmake", re.compile(r"CMakeLists\.txt$")),
    ("setup", re.compile(r"(?:setup|build|build_ext)\.py$")),
    ("pyproject", re.compile(r"(?:pyproject\.toml|setup\.cfg|Pipfile)$")),
    ("requirements", re.compile(r"(?:.*requirements?.*|constraints?.*)\.(?:txt|in)$")),
    ("conda", re.compile(r"(?:.*[_.-])?(?:environment|conda|env).*\.ya?ml$|meta\.ya?ml$")),
    ("meson", re.compile(r"meson\.build$")),
    ("docker", re.compile(r"(?:Dockerfile|Containerfile)(?:[.-].*)?$", re.IGNORECASE)),
    ("shell", re.compile(r"(?:GNU)?[mM]akefile(?:\..*)?$")),
    ("binary", re.compile(r".*\.so(?:\.\d+)+$")),
)  # fmt: skip

CXX_WORDS = (
    b"cuda", b"cu_", b"cub", b"cudnn", b"curand", b"cufft", b"cusolver", b"cusparse", b"nccl", b"nvtx", b"nvrtc",
    b"nvml", b"npp", b"nvjpeg", b"warp", b"__shfl", b"__ballot", b"_sync(", b"__global__", b"__device__", b"wavefront",
    b"__gfx", b"hip_", b"asm", b"<<<", b"__nv_", b"cooperative_groups", b"mma.h", b"cutlass", b"cumem", b"culaunch",
    b"nvshmem",
    b"cumodule", b"cuctx", b"cudevice", b"custream", b"cuinit", b"cuevent", b"cufunc", b"cugraph", b"culink", b"cuget",
    b"cucomplex", b"optix", b"cutensor", b"cute/", b"nvsci", b"__half2", b"cufile", b"float4", b"texture", b"culibrary",
    b"compute_", b"arch=sm_", b"cudriver", b"hipd", b"hipmem",
    b"hipruntimeget", b"libnv", b"libnccl", b"cukernel", b"cuarray", b"cutex", b"cusurf",
    b"nvinfer", b"nvonnx", b"nvuff", b"nvcaffe", b"cupti", b"nvperf", b"cudss", b"nvfatbin", b"nvcuvid", b"cuvid",
    b"nvencode", b"nvcomp", b"custatevec", b"hipcreate", b"hipbind",
    b"hiptex", b"hipevent", b"hipstream", b"hipfunc", b"hipgetlast", b"hipfilter", b"hipctx", b"hipblaslt", b"surface",
)  # fmt: skip
"""In small letters; a file without any of them is not read further."""
PYTHON_WORDS = (
    b"version.cuda", b"_capability", b".major", b"cuda_home", b"cuda_path", b"cuda_root", b"cuda_toolkit_root",
    b"/usr/local/cuda", b"visible_devices", b"nvidia", b"nvcc", b"nvcuda", b"nvml", b"nvtx", b"nvitop", b"nvmath",
    b"gpustat", b"import cuda", b"from cuda", b"cuda.bindings", b"is_built_with_cuda", b"libcud", b"libcublas",
    b"libcufft",
    b"libcusparse", b"libnvrtc", b"libnccl", b"_cuda_arch", b"__cuda_no", b"/whl/cu", b"hipify", b"float8", b"amdsmi",
    b"tensorrt", b"torch2trt", b"cudf", b"cuml", b"cugraph", b"cuquantum", b"cutlass", b"transformer_engine", b"pycuda",
    b"__global__", b"cuda.utilization", b"cuda.temperature", b"cuda.power_draw", b"cuda.clock_rate", b"dali", b"pynvml",
    b"cpp_extension", b"cudaextension", b"load_inline", b"cuda_flags", b"cuda_cflags", b"torch.version",
    b"import version", b"inline_asm",
    b"gpu-arch", b"-arch=", b"-gencode", b"numba", b"cupy", b"nvshmem", b"num_ctas", b"num_warps", b"extra.cuda",
    b"extra import cuda", b".ptx", b".cubin", b"compute-sanitizer", b"cuda-",
    b"nsys", b"nvprof", b"cuobjdump", b"nvdisasm", b"ptxas",
)  # fmt: skip


STEMS = (b"cud", b"nv", b"cu")
"""In most words. A file is searched once for each of these, and not once for each word, which is most of the time that
a file without any takes."""
_CLOSER = {
    b".major": re.compile(rb"device_?prop|prop\w*\s*(?:\(.{0,400}?\)\s*)?\.\s*major", re.DOTALL),
    b"float8": re.compile(rb"float8_?e"),
    b"dali": re.compile(rb"(?<![a-z0-9_])dali(?![a-z0-9_])"), b"cpp_extension": re.compile(rb"cpp_extension(?!s)"),
}  # fmt: skip
"""Of words that stand in other Python, too (versions, "specialization", pickle's opcodes), what they mean here."""
_PLATFORM = re.compile(rb"(?<![a-z0-9])cuda(?![a-z0-9])")
"""JAX's name of a platform, and no entity of HTML."""
YAML_WORDS = (b"cuda", b"nvidia", b"nvcc", b"nvcr.io", b"torch", b"gpu", b"cudnn", b"nccl", b"/cu1")
_WORDS = {
    "cuda": CXX_WORDS, "yaml": YAML_WORDS, "conda": YAML_WORDS, "python": PYTHON_WORDS,
    "setup": (b"cuda", b"-", *PYTHON_WORDS), "cython": (*PYTHON_WORDS, b"extern"),
    "notebook": (b"pip", b"cu", *PYTHON_WORDS),
}  # fmt: skip

OTHER_SUFFIXES = frozenset((
    ".cuf", ".f90", ".f", ".rs", ".jl", ".go", ".bzl", ".bazel", ".java", ".cs", ".m", ".mm", ".swift", ".lua", ".pl",
    ".rb", ".ps1", ".bat", ".cmd", ".nix", ".cl", ".metal", ".tcl", ".gradle", ".pyd", ".a", ".whl", ".dll", ".ltoir",
))  # fmt: skip
"""Files that may ask for CUDA, too, and that scan does not read: it says how many there are."""

TEXT_SUFFIXES = frozenset((
    ".md", ".rst", ".txt", ".json", ".jsonl", ".toml", ".xml", ".html", ".css", ".js", ".ts", ".csv", ".tsv", ".ini",
    ".cfg", ".conf", ".lock", ".log", ".diff", ".patch", ".tex", ".pdf", ".png", ".svg", ".zip", ".gz", ".sql",
))  # fmt: skip
"""Files that are no source: named by themselves, they are not C++ either."""


def find_language(path: PurePath) -> str:
    """cuda (also C and C++), python, setup, cython, notebook, ptx, binary, or a kind of build file; else nothing."""
    for language, pattern in _NAMES:
        if pattern.match(path.name):
            return language
    suffix = path.suffix.lower()
    return "cuda" if suffix in CXX_SUFFIXES else _OTHER_SUFFIXES.get(suffix, "")


def is_other(path: PurePath, *, is_named: bool = False) -> bool:
    """A kind of file that scan does not read, and that may ask for CUDA; of those named by themselves, text as well."""
    suffix = path.suffix.lower()
    if is_named and suffix in TEXT_SUFFIXES:
        return True
    return suffix in OTHER_SUFFIXES or path.name in {"BUILD", "WORKSPACE"}


@cache
def _group_words(language: str) -> tuple[tuple[re.Pattern[bytes], ...], tuple[bytes, ...]]:
    """A pattern for all words with one of STEMS, each of which begins with that stem; and the words without any."""
    rests: dict[bytes, list[bytes]] = {}
    others = []
    for word in _WORDS[language]:
        stem = next((stem for stem in STEMS if stem in word), b"")
        before, _, after = word.partition(stem) if stem else (word, b"", b"")
        if stem:
            behind = b"(?<=%s)" % re.escape(before + stem) if before else b""
            rests.setdefault(stem, []).append(behind + re.escape(after))
        else:
            others.append(word)
    found = (re.compile(b"%s(?:%s)" % (stem, b"|".join(parts))) for stem, parts in rests.items())
    return tuple(found), tuple(others)


def may_have_hits(content: bytes, language: str) -> bool:
    """False only where no rule of the language can find anything."""
    if language not in _WORDS or content[:2] in {b"\xff\xfe", b"\xfe\xff", b"\0\0"}:
        return True
    small = content.lower()
    patterns, words = _group_words(language)
    if any(pattern.search(small) for pattern in patterns) or any(_has_word(small, word) for word in words):
        return True
    return any(word in small for word in (b"jax", b"xla", b"platform")) and _PLATFORM.search(small) is not None


def _has_word(small: bytes, word: bytes) -> bool:
    return word in small and (word not in _CLOSER or _CLOSER[word].search(small) is not None)
