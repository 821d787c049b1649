"""What is looked for in build files, line by line → PATTERNS: CMake, Meson, pip, conda, Docker, YAML, shell."""

from __future__ import annotations

import re
from collections.abc import Mapping

Patterns = tuple[tuple[str, re.Pattern[str]], ...]

_SWAPPED = (
    r"xformers|flash[-_]attn|vllm|sglang|bitsandbytes|deepspeed|auto[-_]gptq|autoawq|torch[-_]scatter|torch[-_]sparse"
    r"|torch[-_]cluster|triton|pytorch[-_]triton|unsloth|lmdeploy|torchao|apex|mamba[-_]ssm|causal[-_]conv1d|exllamav2"
)
_WHEELS = (
    r"nvidia-(?!ml-py)[\w-]+|cupy-cuda\w+|cuda-python|cuda-bindings|tensorrt[\w-]*|pycuda|jax\[cuda\w*\]|jax-cuda\w+"
    r"|tensorflow\[and-cuda\]|onnxruntime-gpu|cudf-\w+|cuml-\w+|transformer[-_]engine[\w-]*|dgl-cu\w+|faiss-gpu[\w-]*"
    r"|nvshmem4py[\w-]*|numba-cuda[\w-]*|cuda-toolkit"
)
_CONDA = (
    r"cudatoolkit(?:-dev)?|cuda-toolkit|pytorch-cuda"
    r"|cuda-(?:nvcc|runtime|cudart|libraries|compiler|version|tools|nvrtc)[\w-]*|cudnn|cutensor|nccl"
    r"|libcu(?:blas|fft|rand|solver|sparse)[\w-]*|pytorch-gpu|tensorflow-gpu|cuda-nvtx|cuda"
)
TOOLS = r"nvidia-smi|nvcc|compute-sanitizer|cuda-memcheck|cuda-gdb|nsys|nvprof|cuobjdump|nvdisasm|ptxas"
"""NVIDIA's programs, by their names."""
_INDEX = re.compile(r"https?://\S+/(?:whl/)?cu\d{2,3}\b\S*")
_IMAGE = r"(?:\S+/)?(?:nvidia/\S+|nvcr\.io/\S+|pytorch/pytorch:\S*cuda\S*)"
_LIBRARIES = (
    r"cuda|cudart(?:_static)?|cudadevrt|cublas(?:Lt)?|cufft\w*|curand|cusolver\w*|cusparse\w*|cudnn\w*|nccl|nvrtc[\w-]*"
    r"|nvToolsExt|nvidia-ml|cupti|npp\w+|nvjpeg|nvblas|cutensor\w*|nvshmem\w*"
)
LIBRARY = re.compile(rf"(?:{_LIBRARIES})$")
"""A library of CUDA, as it is named to a linker."""
_LOCAL = r"(?:torch|torchvision|torchaudio)\s*={2,3}\s*[\w.]+\+cu\d+"
"""A build for CUDA, by its local version."""
_LINK = ("cuda-link", re.compile(rf"(?<![\w-])-l(?:{_LIBRARIES})(?![\w.-])"))
_PIP = (
    ("cuda-wheel", re.compile(rf"\bpip3?\s+install\b[^\n#]*?\s[\"']?{_LOCAL}")),
    ("cuda-index", re.compile(r"\b(?:conda|mamba|micromamba)\b[^\n#]*?\s(?:-c|--channel)[ =]\s*[\"']?nvidia\b")),
    ("torch-swap", re.compile(rf"\bpip3?\s+install\b[^\n#]*?\s[\"']?(?:torch|torchvision|torchaudio"
            rf"|{_SWAPPED})[\"']?(?=[=<>~!;\[\s\"']|$)")),
    ("cuda-wheel", re.compile(rf"\bpip3?\s+install\b[^\n#]*?\s[\"']?(?:{_WHEELS})(?=[=<>~!;\s\"']|$)")),
    ("cuda-wheel", re.compile(r"\bapt(?:-get)?\s+install\b[^\n#]*?\s(?:cuda-[\w-]+|libcudnn\w*|libnccl\w*"
            r"|nvidia-[\w-]+)")),
    ("cuda-wheel", re.compile(r"\b(?:conda|mamba|micromamba)\s+(?:install|create)\b[^\n#]*?\s[\"']?(?:\S+::)?"
            rf"(?:{_CONDA})(?=[=<>~!\s\"']|$)")),
)  # fmt: skip

CMAKE: Patterns = (
    ("cmake-cuda", re.compile(r"\bfind_package\s*\(\s*(?:CUDA|CUDAToolkit|CUDNN|NCCL)\b", re.IGNORECASE)),
    ("cmake-cuda", re.compile(r"\b(?:cuda_add_(?:library|executable)|CUDA::\w+)\b")),
    ("arch-list", re.compile(r"\b(?:CMAKE_CUDA_ARCHITECTURES|TORCH_CUDA_ARCH_LIST|CUDA_ARCHITECTURES"
            r"|CUDA_NVCC_FLAGS)\b")),
    _LINK,
)  # fmt: skip
CMAKE_COMMAND = re.compile(r"\b(?:project|enable_language|check_language)\s*\(([^()#]{0,2000})\)", re.IGNORECASE)
"""Over any number of lines; CUDA among its words."""
MESON: Patterns = (
    ("cmake-cuda", re.compile(r"['\"](?:unstable-)?cuda['\"]")),
    _LINK,
)
REQUIREMENTS: Patterns = (
    ("cuda-wheel", re.compile(rf"(?:^|[\"'\s]){_LOCAL}", re.IGNORECASE)),
    ("torch-swap", re.compile(rf"(?:^|[\"'\s])(?:torch|torchvision|torchaudio"
            rf"|{_SWAPPED})\s*(?=[=<>~!;\[@\"',]|$)", re.IGNORECASE)),
    ("cuda-wheel", re.compile(rf"(?:^|[\"'\s])(?:{_WHEELS})(?=[=<>~!;\[@\"',\s]|$)", re.IGNORECASE)),
    ("pynvml", re.compile(r"(?:^|[\"'\s])(?:pynvml|nvidia-ml-py\w*|gpustat|nvitop)(?=[=<>~!;\[@\"',\s]"
            r"|$)", re.IGNORECASE)),
    ("cuda-index", _INDEX),
)  # fmt: skip
CONDA: Patterns = (
    *REQUIREMENTS,
    ("torch-swap", re.compile(r"(?:^|[\"'\s])(?:[\w.-]+::)?pytorch(?=[=<>~!\s\"']|$)")),
    ("cuda-wheel", re.compile(rf"^\s*-\s*[\"']?(?:[\w./-]+::)?(?:{_CONDA})(?=[=<>~!\s\"'\[]|$)")),
    ("cuda-index", re.compile(r"^\s*channels\s*:\s*\[[^\]\n]*\bnvidia\b")),
    ("cuda-index", re.compile(r"^\s*-\s*[\"']?nvidia(?:/label/\S+)?[\"']?\s*$|\bnvidia(?:/label/\S+)?::\S+")),
)
SHELL: Patterns = (
    ("shell-tool", re.compile(rf"(?<![\w./-])(?:[\w/.-]*/)?(?:{TOOLS})(?![\w.-])"
            r"|--runtime[= ]nvidia"
            r"|--gpus[= ]\S+")),
    ("shell-environment", re.compile(
        r"\b(?:CUDA_HOME|CUDA_PATH|CUDA_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|NVIDIA_VISIBLE_DEVICES"
        r"|NVIDIA_DRIVER_CAPABILITIES|CUDACXX)\b(?=\s*[:?]?=|\s+\S|\s*:\s|[)}/])")),
    ("backend-name", re.compile(r"\bJAX_PLATFORM(?:S|_NAME)\s*[:=]?[=\s]\s*[\"']?(?:\w+,)*cuda\b")),
    ("arch-list", re.compile(r"\b(?:TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES)\b")),
    ("cuda-index", _INDEX),
    _LINK,
)  # fmt: skip
DOCKER: Patterns = (*_PIP, *SHELL)
IMAGE = re.compile(rf"^\s*FROM\s+(?:--platform=\S+\s+)?{_IMAGE}|(?:--|[=,])from={_IMAGE}", re.IGNORECASE)
"""FROM, COPY --from and RUN --mount=...,from, after the values of ARG are in their places."""
YAML: Patterns = (
    ("cuda-image", re.compile(rf"\b(?:image|container|base|from)\s*:\s*[\"']?{_IMAGE}", re.IGNORECASE)),
    ("nvidia-runtime", re.compile(r"\b(?:runtime|driver|runtimeClassName)\s*:\s*[\"']?nvidia\b|\bnvidia\.com/gpu\b"
            r"|\bgpus\s*:\s*[\"']?all\b|\bcapabilities\s*:\s*\[[^\]\n]*\bgpu\b")),
    *DOCKER,
)  # fmt: skip

PATTERNS: Mapping[str, Patterns] = {
    "cmake": CMAKE, "meson": MESON, "requirements": REQUIREMENTS, "pyproject": REQUIREMENTS, "conda": CONDA,
    "docker": DOCKER, "yaml": YAML, "shell": DOCKER,
}  # fmt: skip
