"""Rules about Python → what asks for CUDA at import or run time, and decides by the answer."""

from __future__ import annotations

from hipcompat.scan.rule import FNUZ, Rule

PYTHON_RULES = (
    Rule(
        id="torch-version-cuda", severity="warning", language="python",
        title="torch.version.cuda is None in a ROCm build",
        advice="ask torch.version.hip as well; torch.cuda.is_available() is true on both",
        evidence="https://github.com/casper-hansen/AutoAWQ/issues/354",
        example="import torch\nif torch.version.cuda: pass",
    ),
    Rule(
        id="torch-version-none", severity="error", language="python",
        title="torch.version.cuda is None in a ROCm build, and what is done with it raises",
        advice="ask torch.version.hip first; where it is set there is no version of CUDA to compare with",
        evidence="https://github.com/casper-hansen/AutoAWQ/issues/354",
        example="import torch\nmajor = int(torch.version.cuda.split('.')[0])",
    ),
    Rule(
        id="python-capability", severity="warning", language="python",
        title="a decision by compute capability; AMD's (9, 4) and (9, 5) are no Hopper",
        advice="ask torch.version.hip first, then torch.cuda.get_device_properties(0).gcnArchName",
        evidence="https://github.com/huggingface/trl/pull/5917",
        example="import torch\nfast = torch.cuda.get_device_capability()[0] >= 9",
    ),
    Rule(
        id="build-gate", severity="warning", language="setup",
        title="setup.py asks torch.cuda.is_available(), which is false on a build machine: the wheel has no kernels",
        advice="decide by an environment variable, or by torch.version.hip and torch.version.cuda",
        evidence="https://github.com/rusty1s/pytorch_scatter/pull/512",
        example="import torch\nwith_gpu = torch.cuda.is_available()",
    ),
    Rule(
        id="cuda-home", severity="warning", language="python",
        title="CUDA_HOME or CUDA_PATH is asked for; it is None or empty where ROCm is",
        advice="ask ROCM_HOME of torch.utils.cpp_extension as well",
        evidence="https://github.com/facebookresearch/xformers/pull/978",
        example="import os\nhome = os.environ['CUDA_HOME']",
    ),
    Rule(
        id="nvidia-tool", severity="warning", language="python",
        title="nvcc or nvidia-smi is run, or looked for, to learn what there is",
        advice="ask the framework; no image of ours has a program of that name",
        evidence="https://github.com/PufferAI/PufferLib/pull/368",
        example="import shutil\nhas_gpu = shutil.which('nvidia-smi')",
    ),
    Rule(
        id="pynvml", severity="warning", language="python",
        title="pynvml, which loads NVIDIA's libnvidia-ml",
        advice="ask torch.cuda.mem_get_info, or amdsmi; hipcompat's opt-in shim has what AMD has",
        evidence="https://github.com/pytorch/pytorch/issues/133259",
        example="import pynvml",
    ),
    Rule(
        id="amdsmi-import", severity="note", language="python",
        title="amdsmi raises KeyError, not ImportError, where its library is missing",
        advice="keep the package and libamd_smi.so together, and catch both",
        evidence="https://github.com/pytorch/pytorch/pull/188724",
        example="import amdsmi",
    ),
    Rule(
        id="cuda-python", severity="warning", language="python",
        title="cuda-python's modules; hip-python-interop has modules of the same names, and each overwrites the other",
        advice="install hip-python and hip-python-interop alone, and never cuda-python beside them",
        evidence="https://github.com/ROCm/hip-python/issues/109",
        example="from cuda.bindings import runtime",
    ),
    Rule(
        id="nvidia-package", severity="error", language="python",
        title="a package that works on NVIDIA's GPUs only",
        advice="make it optional",
        evidence="https://rocm.docs.amd.com/en/latest/compatibility/compatibility-matrix.html",
        example="import tensorrt",
    ),
    Rule(
        id="cupy-import", severity="note", language="python",
        title="CuPy: its wheels for CUDA do not run here; sources in RawKernel are CUDA's, compiled at run time",
        advice="install the wheel for ROCm (cupy-rocm-7-0), alone, and translate what RawKernel compiles",
        evidence="https://docs.cupy.dev/en/stable/install.html",
        example="import cupy as cp",
    ),
    Rule(
        id="nvrtc-option", severity="error", language="python",
        title="compiler options name a GPU of NVIDIA's",
        advice="hipRTC and clang take --offload-arch=gfx942; without it hipRTC asks the GPU",
        evidence="https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_rtc.html",
        example="options = ['--gpu-architecture=compute_80']",
    ),
    Rule(
        id="cuda-library-name", severity="error", language="python",
        title="a library of CUDA is loaded by its file name",
        advice="load libamdhip64.so, or ask the framework for its handle",
        evidence="https://github.com/Dao-AILab/flash-attention/issues/631",
        example="import ctypes\nrt = ctypes.CDLL('libcudart.so')",
    ),
    Rule(
        id="cython-extern", severity="warning", language="cython",
        title="Cython declares names of a header of CUDA; translate leaves .pyx and .pxd as they are",
        advice="declare HIP's names from HIP's header (hipcompat facts NAME), by a second .pxd",
        evidence="https://cython.readthedocs.io/en/latest/src/userguide/external_C_code.html",
        example='cdef extern from "cuda_runtime.h":\n    int cudaGetDevice(int *device)',
    ),
    Rule(
        id="hipify-version", severity="note", language="python",
        title="torch.utils.hipify is called; its maps differ by torch's version, and it reports nothing unsupported",
        advice="pin torch where the result matters; hipcompat translate says what is left",
        evidence="https://github.com/ROCm/hipify_torch/pull/76",
        example="from torch.utils.hipify import hipify_python",
    ),
    Rule(
        id="fp8-dtype", severity="warning", language="python", archs=FNUZ,
        title="torch.float8_e4m3fn or e5m2 is named; gfx942 computes in the fnuz types, largest e4m3 240, not 448",
        advice="choose the type by gcnArchName, and take its limits from torch.finfo",
        evidence="https://github.com/uccl-project/uccl/pull/804",
        example="import torch\nkind = torch.float8_e4m3fn",
    ),
    Rule(
        id="visible-devices", severity="warning", language="python",
        title="CUDA_, HIP_ or ROCR_VISIBLE_DEVICES is read or set; ROCm applies ROCR's first, and the others inside it",
        advice="set HIP_VISIBLE_DEVICES alone, or leave all unset",
        evidence="https://github.com/ray-project/ray/issues/53737",
        example="import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'",
    ),
    Rule(
        id="backend-name", severity="warning", language="python",
        title="a backend is asked for as cuda where ROCm has a name of its own, or answers no",
        advice="JAX: jax.default_backend() is 'gpu'; TensorFlow: tf.test.is_built_with_gpu_support()",
        evidence="https://github.com/ROCm/jax/pull/694",
        example="import jax\ndevices = jax.devices('cuda')",
    ),
)  # fmt: skip
