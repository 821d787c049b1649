"""Given paths, the environment and PATH → Toolchain: a clang that knows HIP, HIP's headers, device libraries if any."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipcompat.errors import ToolchainError
from hipcompat.paths import AnyPath, make_path

_NAMES = ("clang-22", "clang-21", "clang-20", "clang-19", "amdclang++", "clang")
"""gfx950 needs clang 22, or AMD's own."""
_ROOTS = ("/opt/rocm", "/usr")
_VERSION = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR|PATCH) (\d+)", re.MULTILINE)
_BITCODE = ("amdgcn/bitcode", "lib/llvm/lib/clang/*/lib/amdgcn/bitcode", "lib/clang/*/amdgcn/bitcode",
            "lib/*/amdgcn/bitcode", "lib/llvm-*/lib/clang/*/amdgcn/bitcode")  # fmt: skip
_OLDEST_HIP = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What compiles. `device_libs_path` is None where no ockl.bc is there: compiling needs none, linking does."""

    clang_path: Path
    rocm_path: Path
    hip_version: str
    device_libs_path: Path | None

    def arguments(self, arch: str) -> tuple[str, ...]:
        """clang's arguments that choose HIP, the architecture, the headers and the device libraries."""
        libs = self.device_libs_path
        library = f"--rocm-device-lib-path={libs}" if libs else "-nogpulib"
        return (
            "-x", "hip", f"--offload-arch={arch}", "--offload-device-only", f"--rocm-path={self.rocm_path}", library,
            f"-I{self.rocm_path / 'include'}",
        )  # fmt: skip


def find_toolchain(
    environment: Mapping[str, str], *, clang_path: AnyPath | None = None, rocm_path: AnyPath | None = None
) -> Toolchain:
    """The first of each that is there: what was given, ROCM_PATH, /opt/rocm, /usr; ROCm's clang, then those in PATH.

    Raises ToolchainError that says what was looked for.
    """
    root = find_rocm(environment, rocm_path)
    return Toolchain(
        clang_path=_find_clang(environment, clang_path, root),
        rocm_path=root,
        hip_version=read_hip_version(root) or "",
        device_libs_path=_find_device_libs(root),
    )


def read_hip_version(root: Path) -> str | None:
    """7.2.53211, from include/hip/hip_version.h; None where it is missing or not readable."""
    try:
        text = (root / "include" / "hip" / "hip_version.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    parts = dict(_VERSION.findall(text))
    return ".".join(parts.get(name, "0") for name in ("MAJOR", "MINOR", "PATCH")) if "MAJOR" in parts else None


def find_rocm(environment: Mapping[str, str], given: AnyPath | None) -> Path:
    """The folder that holds include/hip: `given`, ROCM_PATH, /opt/rocm, /usr. Raises ToolchainError."""
    named = environment.get("ROCM_PATH") or None if given is None else given
    for root in map(make_path, _ROOTS if named is None else (named,)):
        version = read_hip_version(root)
        if version and int(version.partition(".")[0]) >= _OLDEST_HIP:
            return _find_true_root(root.absolute())
    looked = " and ".join(_ROOTS) if named is None else str(named)
    raise ToolchainError(
        f"no headers of HIP {_OLDEST_HIP} or newer below {looked} (include/hip/hip_version.h)",
        hint="--rocm-path DIR, or install libamdhip64-dev or ROCm's hip-dev",
    )


def _find_true_root(root: Path) -> Path:
    """clang knows ROCm by share/hip/version; where only links lead to it from here, the folder behind them."""
    linked = (root / "include" / "hip").resolve().parents[1]
    has_mark = (root / "share" / "hip" / "version").exists()
    return linked if not has_mark and (linked / "share" / "hip" / "version").exists() else root


def _find_clang(environment: Mapping[str, str], given: AnyPath | None, root: Path) -> Path:
    if given is not None:
        found = shutil.which(make_path(given), path=environment.get("PATH"))
        if found is None:
            raise ToolchainError(f"{given} is no program", hint="--clang PATH of clang 19 or newer")
        return Path(found)
    for name in ("lib/llvm/bin/clang++", "llvm/bin/clang++"):
        if (root / name).is_file() and root != Path("/usr"):
            return root / name
    for name in _NAMES:
        if found := shutil.which(name, path=environment.get("PATH")):
            return Path(found)
    raise ToolchainError("no clang is in PATH", hint="apt-get install clang-22 lld-22, or --clang PATH")


def _find_device_libs(root: Path) -> Path | None:
    for pattern in _BITCODE:
        for folder_path in sorted(root.glob(pattern)):
            if (folder_path / "ockl.bc").is_file():
                return folder_path
    return None
