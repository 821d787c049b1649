"""Rules about build files → CMake, requirements, Dockerfiles, shell and make."""

from __future__ import annotations

from hipcompat.scan.rule import Rule

BUILD_RULES = (
    Rule(
        id="nvcc-flag", severity="error", language="cmake",
        title="a flag of nvcc that clang does not know",
        advice="hipcompat flags -- FLAG says what takes its place; give it to nvcc only",
        evidence="https://github.com/vllm-project/vllm-gguf-plugin/pull/85",
        example='set(CMAKE_CUDA_FLAGS "-O3 --expt-relaxed-constexpr")',
    ),
    Rule(
        id="half-operators", severity="note", language="python",
        title="half's operators are switched off or on by macro; torch switches HIP's off too",
        advice="-U__HIP_NO_HALF_OPERATORS__ -U__HIP_NO_HALF_CONVERSIONS__ beside CUDA's own",
        evidence="https://github.com/ROCm/aiter/pull/5563",
        example="flags = ['-U__CUDA_NO_HALF_OPERATORS__']",
    ),
    Rule(
        id="arch-list", severity="warning", language="cmake",
        title="the GPUs are named by NVIDIA's list; ROCm reads PYTORCH_ROCM_ARCH and CMAKE_HIP_ARCHITECTURES",
        advice="set those beside it",
        evidence="https://github.com/pytorch/pytorch/issues/164346",
        example="set(CMAKE_CUDA_ARCHITECTURES 80 90)",
    ),
    Rule(
        id="cmake-cuda", severity="error", language="cmake",
        title="CMake or Meson looks for the CUDA toolkit or compiler",
        advice="enable_language(HIP) and find_package(hip) beside it, by an option; Meson: hipcc as its C++ compiler",
        evidence="https://github.com/vllm-project/vllm/pull/43881",
        example="find_package(CUDAToolkit REQUIRED)",
    ),
    Rule(
        id="torch-swap", severity="warning", language="requirements",
        title="pip would replace ROCm's torch by another: a pin, or a package that pins it",
        advice="install with a constraints file that names the ROCm build, or with --no-deps",
        evidence="https://github.com/YanWenKun/ComfyUI-Docker/issues/187",
        example="torch==2.4.0",
    ),
    Rule(
        id="requirements-unread", severity="warning", language="requirements",
        title="a file that pip reads as well was not read: it is not there, or is no local file",
        advice="put it there, or scan what it holds: pip stops without it, and it may bring CUDA's packages",
        evidence="https://pip.pypa.io/en/stable/reference/requirements-file-format/",
        example="-r requirements/missing.txt",
    ),
    Rule(
        id="cuda-index", severity="error", language="requirements",
        title="packages come from an index of CUDA builds",
        advice="name ROCm's index there, or none",
        evidence="https://github.com/YanWenKun/ComfyUI-Docker/issues/187",
        example="--extra-index-url https://download.pytorch.org/whl/cu121",
    ),
    Rule(
        id="cuda-wheel", severity="error", language="requirements",
        title="a package of CUDA libraries, or one built for them",
        advice="leave it out on ROCm: an environment marker cannot tell, so keep two lists",
        evidence="https://github.com/sgl-project/sglang/issues/4778",
        example="nvidia-cublas-cu12==12.1.3.1",
    ),
    Rule(
        id="cuda-image", severity="error", language="docker",
        title="the image starts from NVIDIA's, or copies out of it",
        advice="start from an image with ROCm; rockiln makes them",
        evidence="https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html",
        example="FROM nvidia/cuda:12.4.1-devel-ubuntu22.04",
    ),
    Rule(
        id="nvidia-runtime", severity="warning", language="yaml",
        title="a container asks for NVIDIA's runtime or devices",
        advice="devices /dev/kfd and /dev/dri, and their group; in Kubernetes amd.com/gpu",
        evidence="https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html",
        example="services: {trainer: {runtime: nvidia}}",
    ),
    Rule(
        id="cuda-link", severity="error", language="shell",
        title="a library of CUDA is linked",
        advice="hipcompat flags -- -lcudart says which of ROCm's has the same purpose",
        evidence="https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html",
        example="g++ main.o -lcudart -o main",
    ),
    Rule(
        id="shell-tool", severity="warning", language="shell",
        title="nvcc, nvidia-smi, another tool of NVIDIA's or its runtime is called",
        advice="call hipcc, amd-smi and docker run --device /dev/kfd --device /dev/dri where ROCm is",
        evidence="https://github.com/vllm-project/vllm/issues/17445",
        example="nvidia-smi --query-gpu=name --format=csv",
    ),
    Rule(
        id="shell-environment", severity="warning", language="shell",
        title="a variable that only CUDA's tools read, or that hides GPUs",
        advice="set ROCM_PATH and HIP_VISIBLE_DEVICES for ROCm",
        evidence="https://github.com/vllm-project/vllm/issues/12572",
        example="export CUDA_VISIBLE_DEVICES=0",
    ),
)  # fmt: skip
