"""Kinds of files: each that may ask for CUDA is read, or counted as not read."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from hipcompat.scan import Target, scan
from hipcompat.scan.finding import Skipped
from hipcompat.scan.kinds import _CLOSER, _PLATFORM, _WORDS, STEMS, may_have_hits
from hipcompat.scan.report.sarif import format_sarif
from hipcompat.scan.report.text import format_report, format_summary
from hipcompat.translate import translate_tree

COMPOSE = """\
a:
  image: nvidia/cuda:12.4
  runtime: nvidia
  environment: {NVIDIA_VISIBLE_DEVICES: all}
  devices:
    - driver: nvidia
      capabilities: [gpu]
"""
FLAGS = """\
string(APPEND CMAKE_CUDA_FLAGS " -arch=sm_80 -Xcompiler=-fPIC -G")
target_compile_options(b PRIVATE -arch=sm_80 -fmad=false)
execute_process(COMMAND cmake -G Ninja -t)
"""
FOUND = {
    "ARG of an image": (
        "Dockerfile",
        "ARG BASE=nvidia/cuda:12.4.1-devel\nFROM ${BASE} AS build\n",
        [("cuda-image", 2)],
    ),
    "ARG of an ARG": ("Dockerfile", "ARG TAG=12.4\nARG BASE=nvidia/cuda:$TAG\nFROM $BASE\n", [("cuda-image", 3)]),
    "ARG with another default": ("Dockerfile", "ARG BASE=debian:12\nFROM ${BASE}\n", []),
    "a default in place": ("Dockerfile", "FROM ${BASE:-nvcr.io/nvidia/pytorch:24.05-py3}\n", [("cuda-image", 1)]),
    "a copy out of an image": ("Dockerfile", "FROM debian\nCOPY --from=nvcr.io/x/y /a /b\n", [("cuda-image", 2)]),
    "a mount of an image": (
        "Dockerfile",
        "RUN --mount=type=bind,from=nvidia/cuda:12,target=/c ls\n",
        [("cuda-image", 1)],
    ),
    "conda": (
        "environment.yml",
        "channels:\n  - nvidia\ndependencies:\n  - pytorch-cuda=12.1\n  - cudatoolkit\n  - pytorch::pytorch=2.4\n",
        [("cuda-index", 2), ("cuda-wheel", 4), ("cuda-wheel", 5), ("torch-swap", 6)],
    ),
    "conda's pip": ("environment-dev.yaml", "- pip:\n  - cupy-cuda12x\n", [("cuda-wheel", 2)]),
    "a Makefile": (
        "Makefile",
        "CUDA_PATH ?= /usr/local/cuda\nNVCC := $(CUDA_PATH)/bin/nvcc\nLIBS = -L$(CUDA_PATH)/lib64 -lcudart -lm\n",
        [
            ("shell-environment", 1),
            ("shell-environment", 2),
            ("shell-tool", 2),
            ("shell-environment", 3),
            ("cuda-link", 3),
        ],
    ),
    "Meson": (
        "meson.build",
        "project('k', ['cpp',\n  'cuda'])\nd = dependency('cuda')\n",
        [("cmake-cuda", 2), ("cmake-cuda", 3)],
    ),
    "CMake over lines": ("CMakeLists.txt", "project(k\n  LANGUAGES CXX\n  CUDA)\n", [("cmake-cuda", 1)]),
    "CMake without LANGUAGES": ("CMakeLists.txt", "project(CUDA CXX)\nproject(k CXX CUDA)\n", [("cmake-cuda", 2)]),
    "flags in CMake": (
        "CMakeLists.txt",
        FLAGS,
        [("nvcc-flag", 1)] * 3 + [("nvcc-flag", 2)] * 2,
    ),
    "flags in a Makefile": (
        "Makefile",
        "NVCCFLAGS = -G -arch=sm_80 -t 4 -Xcompiler -Wall\nall:\n\tcmake -G Ninja\n\t$(NVCC) -keep a.cu\n",
        [("nvcc-flag", 1)] * 3 + [("nvcc-flag", 4)],
    ),
    "a platform of JAX": (
        "run.sh",
        "export JAX_PLATFORMS=cuda\nJAX_PLATFORM_NAME=\"cpu,cuda\" python m.py\nexport JAX_PLATFORMS=rocm\n",
        [("backend-name", 1), ("backend-name", 2)],
    ),
    "a platform of JAX in a Dockerfile": ("Dockerfile", "ENV JAX_PLATFORMS cuda\n", [("backend-name", 1)]),
    "a build for CUDA": (
        "requirements.txt",
        "torch==2.4.0+cu121\ntorchvision == 0.19.0+cu121\nnumpy==2.0\n",
        [("cuda-wheel", 1), ("torch-swap", 1), ("cuda-wheel", 2), ("torch-swap", 2)],
    ),
    "a channel of NVIDIA's": (
        "run.sh",
        "conda install -c nvidia x\npip install torch==2.4.0+cu121\n",
        [("cuda-index", 1), ("cuda-wheel", 2), ("torch-swap", 2)],
    ),
    "channels on one line": ("environment.yml", "channels: [nvidia, defaults]\n", [("cuda-index", 1)]),
    "tools of NVIDIA's": (
        "run.sh",
        "compute-sanitizer ./a\nnsys profile ./a\ncuda-gdb ./a\n",
        [("shell-tool", 1), ("shell-tool", 2), ("shell-tool", 3)],
    ),
    "compose": (
        "compose.yaml",
        COMPOSE,
        [
            ("cuda-image", 2),
            ("nvidia-runtime", 3),
            ("shell-environment", 4),
            ("nvidia-runtime", 6),
            ("nvidia-runtime", 7),
        ],
    ),
    "a workflow": (
        "ci.yml",
        "runs-on: [gpu]\nsteps:\n  - run: nvidia-smi && pip install torch==2.4\n",
        [("shell-tool", 3), ("torch-swap", 3)],
    ),
    "Kubernetes": ("pod.yaml", "resources:\n  limits:\n    nvidia.com/gpu: 1\n", [("nvidia-runtime", 3)]),
    "PTX": ("k.ptx", "//\n.version 8.0\n.target sm_90a\n", [("ptx-file", 3)]),
    "no PTX": ("theme.ptx", "hello", []),
    "Cython": (
        "m.pyx",
        'cdef extern from "cuda_runtime.h" nogil:\n    int cudaFree(void *)\nimport numba.cuda\n',
        [("cython-extern", 1), ("nvidia-package", 3)],
    ),
    "a library in setup.py": (
        "setup.py",
        "e = Extension('k', ['k.c'], libraries=['m', 'cudart'],\n  extra_link_args=['-lcublas'])\n",
        [("cuda-link", 1), ("cuda-link", 2)],
    ),
    "a word in setup.py": ("setup.py", "setup(name='nccl', keywords=['cuda'])\n", []),
    "a fat binary": ("k.fatbin", "\x50\xed\x55\xba\x01", [("cuda-binary", 1)]),
    "a cubin": ("k.cubin", "\x7fELF" + "\x01" * 14 + "\xbe\x00", [("cuda-binary", 1)]),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_file_of_this_kind_is_read(case: str, tmp_path: Path) -> None:
    name, text, expected = FOUND[case]
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    findings = scan([tmp_path], Target()).findings
    assert [(finding.rule, finding.line) for finding in findings] == expected


def _write_notebook(path: Path, *sources: object, indent: int | None = 1) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    cells.append({"cell_type": "markdown", "metadata": {}, "source": ["import pynvml\n"]})
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}, indent=indent))


def test_a_finding_names_the_cell_and_the_line_in_it(tmp_path: Path) -> None:
    """Against nbformat's own words: `cells`, their `id` and `source`."""
    path = tmp_path / "n.ipynb"
    cells = [
        {"cell_type": "markdown", "id": "intro", "source": ["import pynvml\n"]},
        {"cell_type": "code", "id": "b7-c_1", "source": ["import torch\n", "\n", "x = 1; import pynvml\n"]},
        {"cell_type": "raw", "source": "import pynvml"},
        {"cell_type": "code", "id": [1], "source": "y = 'é' + torch.version.cuda.split('.')\n\n!nvidia-smi"},
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}, indent=2, ensure_ascii=False))
    report = scan(path, Target())
    told = [(item.rule, item.place, item.excerpt, item.cell and item.cell.id) for item in report.findings]
    assert told == [
        ("pynvml", f"{path}:cell 2:3:8", "x = 1; import pynvml", "b7-c_1"),
        ("torch-version-none", f"{path}:cell 4:1:11", "y = 'é' + torch.version.cuda.split('.')", ""),
        ("shell-tool", f"{path}:cell 4:3:2", "!nvidia-smi", ""),
    ]
    assert f"{path}:cell 2:3:8: warning pynvml" in format_report(report)
    assert f"| {path}:cell 2:3:8 |" in format_summary(report)
    notebook = json.loads(path.read_text())
    for finding in report.findings:
        assert finding.cell is not None
        source = "".join(notebook["cells"][finding.cell.number - 1]["source"])
        assert source.split("\n")[finding.line - 1] == finding.excerpt


def test_sarif_of_a_notebook_has_the_files_line_and_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    _write_notebook(path, ["import torch\n", "import pynvml\n"])
    (result,) = json.loads(format_sarif(scan(path, Target())))["runs"][0]["results"]
    (location,) = result["locations"]
    region = location["physicalLocation"]["region"]
    line = path.read_text().split("\n")[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "import pynvml"
    assert location["logicalLocations"] == [{"name": "cell 1:2:1", "fullyQualifiedName": "cells[0].source"}]


def test_marks_in_a_notebook_are_of_their_cell(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    _write_notebook(path, "import pynvml  # hipcompat: ignore", "# hipcompat: ignore\nimport pynvml", indent=None)
    assert (scan(path, Target()).findings, scan(path, Target()).suppressed) == ((), 2)
    _write_notebook(path, "import pynvml", "# hipcompat: ignore[pynvml]", "import pynvml", indent=None)
    assert [item.cell and item.cell.number for item in scan(path, Target()).findings] == [1, 3]
    _write_notebook(path, "import pynvml", "# hipcompat: ignore-file[pynvml]", "import pynvml", indent=None)
    assert scan(path, Target()).findings == ()


def test_code_cells_of_a_notebook_are_read_at_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    lines = ["import torch\n", "s = \"é\\t\"; x = torch.version.cuda.split('.')"]
    more = ("!pip install torch==2.4", "%%bash\nnvidia-smi", "%%writefile k.cu\nvoid f() { nvmlInit(); }")
    _write_notebook(path, lines, *more)
    findings = scan([tmp_path], Target()).findings
    assert [finding.rule for finding in findings] == ["torch-version-none", "torch-swap", "shell-tool", "nvml"]
    raw = path.read_text().split("\n")
    words = ("torch.version.cuda", "pip install torch", "nvidia-smi", "nvmlInit")
    for finding, word in zip(findings, words, strict=True):
        assert finding.cell is not None
        assert raw[finding.cell.file_line - 1][finding.cell.file_column - 1 :].startswith(word)


def test_a_notebook_on_one_line_and_magic_in_a_block(tmp_path: Path) -> None:
    _write_notebook(tmp_path / "n.ipynb", "if True:\n    !nvidia-smi\nimport pynvml", indent=None)
    assert [finding.rule for finding in scan([tmp_path], Target()).findings] == ["shell-tool", "pynvml"]


@pytest.mark.parametrize("text", ["", "cuda {", '{"cells": 3, "a": "cuda"}', "[" * 100_000 + '"cuda"', '["cuda"]',
                                  '{"cells": [}', "[1, 2]", '{"a": 1}'])  # fmt: skip
def test_what_is_no_notebook_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    report = scan([tmp_path], Target())
    assert [skipped.reason for skipped in report.skipped] == (["no notebook"] if text else [])


@pytest.mark.parametrize("language", sorted(_WORDS))
def test_a_file_is_read_if_and_only_if_it_has_a_word(language: str) -> None:
    words = _WORDS[language]
    draw = random.Random(7)  # noqa: S311  # the same texts each time, and no secret
    for word in set(words) - set(_CLOSER):
        assert may_have_hits(b"x " + word.upper() + b" y", language), word
    for _ in range(2000):
        stems = (*STEMS, b"nv", b"lib", b"_", b".", b" ")
        text = b"".join(draw.choice((draw.choice(words)[:-1], draw.choice(words)[1:], draw.choice(stems)))
                        for _ in range(draw.randrange(5)))  # fmt: skip
        is_platform = _PLATFORM.search(text) is not None and any(word in text for word in (b"jax", b"xla", b"platform"))
        found = [word for word in words if word in text and (word not in _CLOSER or _CLOSER[word].search(text))]
        assert may_have_hits(text, language) == (is_platform or bool(found)), text


MEANT = (
    "ok = torch.cuda.get_device_properties(0).major >= 9", "ok = props.major >= 9", "ok = prop(\n 0\n).major >= 9",
    "p = device_prop(0)\nok = p.major >= 9", "kind = torch.float8_e4m3fn", "kind = tl.float8e4nv", "import dali",
    "cpp_extension.CUDA_HOME", "from torch.utils import cpp_extension as c",
    'jax.config.update("jax_platforms", "cuda,cpu")',
)  # fmt: skip
OTHER = (
    "ok = sys.version_info.major >= 3  # properly",
    "class Mime:\n    @property\n    def major(self): return self.major",
    "specialization", "FLOAT8 opcode", "self._cpp_extensions", 'xlarr = 1; cudarrl = platform',
)  # fmt: skip


@pytest.mark.parametrize("text", MEANT)
def test_words_that_other_python_has_too_are_read_where_they_count(text: str) -> None:
    assert may_have_hits(text.encode(), "python")


@pytest.mark.parametrize("text", OTHER)
def test_words_that_other_python_has_too_are_not_read_elsewhere(text: str) -> None:
    assert not may_have_hits(text.encode(), "python")


def test_what_is_called_like_source_and_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("void f() { cudaFree(0); }")
    (tmp_path / "link.cu").symlink_to("k.cu")
    (tmp_path / "gone.cu").symlink_to("nowhere.cu")
    (tmp_path / "self.py").symlink_to("self.py")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe.h")
    report = scan(tmp_path, Target())
    assert report.scanned == 1
    assert {Path(item.path).name: item.reason for item in report.skipped} == {
        "gone.cu": "No such file or directory", "self.py": "Too many levels of symbolic links",
        "pipe.h": "no regular file",
    }  # fmt: skip
    left: list[Skipped] = []
    assert len(list(translate_tree(tmp_path, Target(), on_left=left.append))) == 1
    assert sorted(Path(item.path).name for item in left) == ["gone.cu", "pipe.h"]


def test_files_of_other_kinds_are_counted(tmp_path: Path) -> None:
    for name in ("a.rs", "b.rs", "BUILD", "c.jl", "notes.md", "picture.png", "k.cu"):
        (tmp_path / name).write_text("")
    report = scan([tmp_path], Target())
    assert (report.scanned, report.unread) == (1, {".jl": 1, ".rs": 2, "BUILD": 1})
    line = "not read: 4 files of other kinds (.jl 1, .rs 2, BUILD 1)"
    assert line in format_report(report).splitlines()
    assert line in format_summary(report).splitlines()


@pytest.mark.parametrize("name", ["BUILD.bazel", "a.rs", "BUILD", "k.jl", "README.md", "notes.txt", "package.json"])
def test_a_file_of_another_kind_is_not_read_where_it_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("void f() { cudaFree(p); }")
    report = scan([tmp_path / name], Target())
    assert (report.scanned, sum(report.unread.values())) == (0, 1)


@pytest.mark.parametrize("name", ["kernel", "kernel.glsl", "k.cu.in"])
def test_a_named_file_is_cxx_where_its_name_says_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("void f() { cudaFree(p); }")
    assert scan([tmp_path / name], Target()).verdict == "translate"
