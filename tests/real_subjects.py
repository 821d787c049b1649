"""Published ROCm libraries that slimming is measured on, brought from the package archives, and what was promised."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from real_debs import BOOKWORM, ROCM_7, fetch_debs, unpack_deb

ARCH_SETS = (("gfx942",), ("gfx942", "gfx950"), ("gfx1100",))
WHEEL_PLATFORMS = tuple(
    f"manylinux{suffix}_x86_64" for suffix in ("_2_35", "_2_34", "_2_31", "_2_28", "_2_27", "_2_24", "2014", "_2_17")
)

Amounts = tuple[float, float, float]
"""MB on disk, as gzip -6, as zstd -19."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A wheel or a deb, or some files of it."""

    name: str
    wheel: str = ""
    """A requirement with ==."""
    python: str = "3.12"
    deb: str = ""
    sources: tuple[str, ...] = ROCM_7
    file: str = ""
    """The one file that is measured; "": the whole tree."""
    arch_sets: tuple[tuple[str, ...], ...] = ARCH_SETS
    promised: Mapping[str, Amounts] = field(default_factory=dict)
    """Archs, joined by a comma → at most this, rounded as written."""

    def bring(self, folder: Path, cache_path: Path) -> Path:
        """Unpack it into `folder`; where the file or tree lies there."""
        if self.deb:
            deb = fetch_debs([self.deb], self.sources, cache_path / "debs", is_alone=True)[self.deb]
            unpack_deb(deb, folder)
        else:
            with zipfile.ZipFile(download_wheel(self.wheel, self.python, cache_path / "wheels")) as archive:
                archive.extractall(folder)
        return folder / self.file if self.file else folder


def download_wheel(requirement: str, python: str, folder: Path) -> Path:
    """The wheel, from wherever this machine's pip downloads from; once."""
    stem = requirement.replace("==", "-").replace("-", "_").lower()
    known = [path for path in folder.glob("*.whl") if path.name.replace("-", "_").lower().startswith(stem + "_")]
    if known:
        return known[0]
    platforms = [f"--platform={platform}" for platform in (*WHEEL_PLATFORMS, "any")]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*command, f"--python-version={python}", "--dest", str(folder), requirement], check=True)
    return download_wheel(requirement, python, folder)


SUBJECTS = (
    Subject(
        name="bitsandbytes 0.50.2, tree", wheel="bitsandbytes==0.50.2",
        promised={"gfx942": (124, 38.3, 24.9), "gfx942,gfx950": (124, 38.4, 25.0), "gfx1100": (124, 38.4, 25.0)},
    ),
    Subject(
        name="jax-rocm7-plugin 0.6.0, tree", wheel="jax_rocm7_plugin==0.6.0",
        promised={"gfx942": (23.1, 7.8, 5.0), "gfx942,gfx950": (23.2, 7.8, 5.0), "gfx1100": (23.1, 7.8, 5.0)},
    ),
    Subject(
        name="petit-kernel 0.0.5, ops", wheel="petit-kernel==0.0.5",
        file="petit_kernel/ops.cpython-312-x86_64-linux-gnu.so",
        promised={"gfx942": (14.2, 3.3, 1.7), "gfx942,gfx950": (29.4, 6.8, 2.9)},
    ),
    Subject(
        name="cupy-rocm-7-0 14.2.0, thrust", wheel="cupy-rocm-7-0==14.2.0",
        file="cupy/cuda/thrust.cpython-312-x86_64-linux-gnu.so",
        promised={"gfx942": (12.3, 1.8, 0.9), "gfx942,gfx950": (20.4, 2.7, 1.0), "gfx1100": (12.2, 1.7, 0.9)},
    ),
    Subject(
        name="cupy-rocm-7-0 14.2.0, cub", wheel="cupy-rocm-7-0==14.2.0",
        file="cupy/cuda/cub.cpython-312-x86_64-linux-gnu.so",
        promised={"gfx942": (24.1, 4.3, 1.6), "gfx942,gfx950": (40.6, 6.9, 2.3), "gfx1100": (18.1, 2.6, 1.1)},
    ),
    Subject(
        name="onnxruntime-rocm 1.22.2.post3, ROCm provider", wheel="onnxruntime-rocm==1.22.2.post3",
        file="onnxruntime/capi/libonnxruntime_providers_rocm.so",
        promised={"gfx942": (88.7, 7.7, 4.2), "gfx942,gfx950": (88.7, 7.7, 4.2), "gfx1100": (82.4, 8.0, 4.2)},
    ),
    Subject(
        name="jax-rocm7-pjrt 0.6.0, xla_rocm_plugin.so", wheel="jax_rocm7_pjrt==0.6.0",
        file="jax_plugins/xla_rocm7/xla_rocm_plugin.so",
        promised={"gfx942": (347, 86.8, 59.2), "gfx942,gfx950": (374, 90.7, 59.9), "gfx1100": (348, 87.2, 59.4)},
    ),
    Subject(name="libmiopen1 7.2.4, tree", deb="libmiopen1"),
    Subject(name="libhipsparselt0 7.2.4, tree", deb="libhipsparselt0"),
    Subject(name="librccl1 7.2.4, tree", deb="librccl1"),
    Subject(name="libhipblaslt1 7.2.4, tree", deb="libhipblaslt1"),
    Subject(name="librocblas5 7.2.4, tree", deb="librocblas5"),
    Subject(
        name="librocsparse0 5.3.0, tree", deb="librocsparse0", sources=BOOKWORM, arch_sets=(*ARCH_SETS, ("gfx90a",)),
    ),
    Subject(
        name="tensorflow-rocm 2.14.0.600, libtensorflow_cc.so.2", wheel="tensorflow-rocm==2.14.0.600", python="3.11",
        file="tensorflow/libtensorflow_cc.so.2", arch_sets=(*ARCH_SETS, ("gfx90a",)),
        promised={"gfx90a": (880, 192, 161), "gfx1100": (891, 194, 161)},
    ),
)  # fmt: skip
