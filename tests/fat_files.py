"""Device code compiled here → bundles and ELF files that hold them, well-made or wrong in one way."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
import zstandard

HOST_ID = "host-x86_64-unknown-linux-gnu-"
PAGE = 4096
KERNELS = """
#define KERNEL __attribute__((global)) void
KERNEL scale(float *x) { *x *= FACTOR; }
KERNEL shift(float *x) { *x += FACTOR; }
"""
LIBRARY_C = """
extern void **__hipRegisterFatBinary(const void *) __attribute__((weak));
extern char wrappers[] __attribute__((visibility("hidden")));
extern char wrappers_end[] __attribute__((visibility("hidden")));
__attribute__((constructor)) static void register_all(void) {
  for (char *one = wrappers; one < wrappers_end; one += 24)
    if (__hipRegisterFatBinary) __hipRegisterFatBinary(one);
}
int big[5000];
const char *text = "still here";
int answer(int x) { big[x] = x; return big[x] + 42; }
const char *get_text(void) { return text; }
"""


def entry_id(target: str) -> str:
    """gfx942 → the id that clang gives it."""
    return f"hipv4-amdgcn-amd-amdhsa--{target}"


@cache
def find_clang() -> str:
    """A clang that compiles for AMD GPUs, with lld; skips where there is none."""
    for version in ("-22", "-21", "-20", "-19", ""):
        if shutil.which(f"clang{version}") and shutil.which(f"ld.lld{version}"):
            return f"clang{version}"
    pytest.skip("no clang with lld is here: apt-get install clang-19 lld-19")


@cache
def compile_kernels(target: str, factor: int = 2) -> bytes:
    """A real code object."""
    folder = Path(mkdtemp(prefix="rockiln-test-"))
    (folder / "kernels.hip").write_text(KERNELS)
    command = [
        find_clang(), "-x", "hip", "-nogpuinc", "-nogpulib", "-O2", "--offload-device-only", "--no-gpu-bundle-output",
        "-w", f"--offload-arch={target}", f"-DFACTOR={factor}.0f", "kernels.hip", "-o", "kernels.co",
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=folder)
    content = (folder / "kernels.co").read_bytes()
    shutil.rmtree(folder)
    return content


def make_bundle(entries: Sequence[tuple[str, bytes]]) -> bytes:
    """A raw bundle as clang-offload-bundler lays it out."""
    rows, body = b"", b""
    for name, content in entries:
        body += bytes(-len(body) % PAGE)
        rows += struct.pack("<QQQ", PAGE + len(body), len(content), len(name)) + name.encode()
        body += content
    head = b"__CLANG_OFFLOAD_BUNDLE__" + len(entries).to_bytes(8, "little") + rows
    return head.ljust(PAGE, b"\0") + body


def compress_bundle(raw: bytes, version: int, method: str = "zstd") -> bytes:
    """A compressed bundle of any version."""
    body = zstandard.compress(raw) if method == "zstd" else zlib.compress(raw)
    digest = int.from_bytes(hashlib.md5(raw).digest()[:8], "little")  # noqa: S324 - the format's own
    number = 1 if method == "zstd" else 0
    if version == 1:
        return struct.pack("<4sHHIQ", b"CCOB", 1, number, len(raw), digest) + body
    if version == 2:
        return struct.pack("<4sHHIIQ", b"CCOB", 2, number, 24 + len(body), len(raw), digest) + body
    return struct.pack("<4sHHQQQ", b"CCOB", 3, number, 32 + len(body), len(raw), digest) + body


def bundle_for(targets: Sequence[str], factor: int = 2) -> bytes:
    """A raw bundle of real code objects. Variants of one arch are compiled for each."""
    return make_bundle([(HOST_ID, b""), *((entry_id(target), compile_kernels(target, factor)) for target in targets)])


@dataclass(frozen=True, kw_only=True)
class FatLibrary:
    """What to link. `wrapped` are offsets in the section that wrappers lead to; None: each bundle's start."""

    bundles: Sequence[bytes]
    wrapped: Sequence[int] | None = None
    section_flags: str = "a"
    linker: str = "bfd"
    link_flags: Sequence[str] = ()
    magic: int = 0x48495046
    extra_assembly: str = ""
    is_program: bool = False

    def section(self) -> bytes:
        return b"".join(bundle.ljust(-(-len(bundle) // PAGE) * PAGE, b"\0") for bundle in self.bundles)

    def starts(self) -> list[int]:
        starts, place = [], 0
        for bundle in self.bundles:
            starts.append(place)
            place += -(-len(bundle) // PAGE) * PAGE
        return starts

    def build(self, path: Path) -> Path:
        """Link the library at `path`."""
        work = path.with_name(f"{path.name}.build")
        work.mkdir(parents=True)
        (work / "section.bin").write_bytes(self.section())
        (work / "fat.s").write_text(self._assembly())
        (work / "library.c").write_text(LIBRARY_C)
        output = () if self.is_program else ("-shared",)
        flags = ("-g", "-O1", "-w", "-fPIC", f"-fuse-ld={self.linker}", *output, *self.link_flags)
        command = [find_clang(), *flags, "fat.s", "library.c", "-o", str(path.absolute())]
        subprocess.run(command, check=True, cwd=work)
        shutil.rmtree(work)
        return path

    def replaced(self, **changes: object) -> FatLibrary:
        return replace(self, **changes)  # type: ignore[arg-type]

    def _assembly(self) -> str:
        wrapped = self.starts() if self.wrapped is None else self.wrapped
        wrappers = "\n".join(f".long {self.magic:#x}, 1\n.quad .Lfat + {place}\n.quad 0" for place in wrapped)
        return f"""
            .section .hip_fatbin,"{self.section_flags}",@progbits
            .p2align 12
            .Lfat: .incbin "section.bin"
            .section .hipFatBinSegment,"aw",@progbits
            .p2align 3
            .hidden wrappers
            .globl wrappers
            wrappers:
            {wrappers}
            .hidden wrappers_end
            .globl wrappers_end
            wrappers_end:
            .section .note.GNU-stack,"",@progbits
            {self.extra_assembly}
        """
