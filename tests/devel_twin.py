"""This checkout → an image to build extensions in: Debian's sid, its HIP 7.2.4 with hipcc, and a Python with hipcompat.

A twin of the `devel` flavour of AMD's rows, which nobody without AMD's hosts can build: the same base recipe, Debian's
packages in place of AMD's. The row needs a framework; the wheel of it is empty.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from small_wheels import make_wheel

from rocm_mirror_folder import ROOT_PATH, Project

TARGET = "jax-0.6.0-rocm7.2.4-py3.13-debian-sid-gfx942-devel"
MATRIX = """\
schema = 1

[sources.own-wheels]
kind = "wheel-directory"
url = "{wheels_url}"
packages = ["jax"]

[sources.wheels]
kind = "wheel-index"

[sources.debian-sid]
kind = "debian-archive"
distribution = "debian"
suites = ["sid"]
keyring = "debian-archive-keyring.gpg"
check-valid-until = false

[sources.debian-experimental]
kind = "debian-archive"
distribution = "debian"
suites = ["experimental"]
keyring = "debian-archive-keyring.gpg"
check-valid-until = false
pinned-packages = [
  "hipcc", "libamd-comgr*", "libamdhip64-*", "libhipcub-dev", "libhiprand*", "libhiprtc*", "libhsa-amd-aqlprofile64-*",
  "libhsa-runtime*", "librocm-*", "librocprim-dev", "librocprofiler-register*", "librocrand*", "librocthrust-dev",
  "rocm-*", "rocminfo",
]

[candidates.empty]
version = "0.6.0"
wheels = ["jax==0.6.0"]
evidence = "proven"
evidence-source = "the tests make it"

[[target]]
framework = "jax"
recipe = "devel-twin"
rocm = "7.2.4"
rocm-origin = "debian"
python = "3.13"
os = "debian-sid"
archs = ["gfx942"]
flavour = "devel"
sources = ["own-wheels", "wheels", "debian-sid", "debian-experimental"]
candidates = ["empty"]
"""
RECIPE = """\
schema = 1
extends = "base"

[[packages]]
why = "Debian's compiler for HIP and its headers, as AMD's rows have theirs"
names = ["hipcc", "libamdhip64-dev", "libhipcub-dev", "libhiprand-dev", "librocthrust-dev", "python3.13-dev"]

[[packages]]
why = "what `pip install --no-build-isolation` builds with"
wheels = ["setuptools==80.9.0"]

[[env]]
why = "Debian's hipcc looks for clang below ROCM_PATH, in a folder that its own packages do not have"
values = { HIP_CLANG_PATH = "/usr/lib/llvm-22/bin" }

[[link]]
path = "opt/rocm/include"
target = "/usr/include"
why = "headers and the compiler, where AMD's packages have them"

[[link]]
path = "opt/rocm/share"
target = "/usr/share"
why = "as above: without share/hip/version clang does not know HIP there"

[[link]]
path = "opt/rocm/bin"
target = "/usr/bin"
why = "as above"
"""


def make_twin_project(folder: Path, cache_path: Path) -> Project:
    """The test-only matrix, the real base recipe, and the real hipcompat."""
    folder.mkdir(parents=True)
    wheels_path = make_wheel(folder / "wheels", "jax", "0.6.0").parent
    (folder / "matrix.toml").write_text(MATRIX.format(wheels_url=wheels_path.as_uri()))
    shutil.copytree(ROOT_PATH / "images" / "base", folder / "images" / "base")
    recipe_path = folder / "images" / "base" / "image.toml"
    recipe_path.write_text(_leave_out_kernels(recipe_path.read_text()))
    (folder / "images" / "devel-twin").mkdir()
    (folder / "images" / "devel-twin" / "image.toml").write_text(RECIPE)
    for name in ("compat", "plugins/rockiln-installed"):
        ignored = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(ROOT_PATH / name, folder / name, symlinks=True, ignore=ignored)
    return Project(path=folder, cache_path=cache_path)


def _leave_out_kernels(recipe: str) -> str:
    """The base recipe without our kernels, which would be compiled first, and are no part of what is tested."""
    sections = recipe.split("\n\n")
    kept = (text for text in sections if not (text.startswith("[[own-wheels]]") and "rockiln-" in text))
    return re.sub(r"^smoke-data = .*\n", "", "\n\n".join(kept), flags=re.MULTILINE)
