# tier: cpu
# timeout-s: 300
"""Triton compiles a kernel for each GPU of the image, links it, and gcc builds the launcher that HIP starts it with."""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from record import read_record

record = read_record()
if not importlib.util.find_spec("triton"):
    assert not record["rocm"], "a ROCm image without Triton"
    print("this image has no Triton")
    sys.exit()

folder = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = folder.name
if not record["rocm"]:  # the launcher's source names the HIP runtime; nothing is loaded from it here
    runtime = Path(folder.name) / "libamdhip64.so"
    runtime.write_bytes(b"")
    os.environ["TRITON_LIBHIP_PATH"] = str(runtime)

import triton
import triton.language as tl
from triton.backends.amd import driver
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.build import _build


@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):  # noqa: N803
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) * 2, mask=inside)


signature = {"source": "*fp32", "target": "*fp32", "count": "i32", "BLOCK": "constexpr"}
for arch in record["archs"] or ["gfx942", "gfx1100"]:
    lanes = 64 if arch.startswith("gfx9") else 32
    kernel = ASTSource(fn=double, signature=signature, constexprs={"BLOCK": 256})
    code = triton.compile(kernel, target=GPUTarget("hip", arch, lanes)).asm["hsaco"]
    assert code[:4] == b"\x7fELF", code[:4]
    text = driver.make_launcher({(3,): 256}, dict(enumerate(signature.values())), lanes)
    source = Path(folder.name) / f"launcher_{arch}.c"
    source.write_text(text)
    built = Path(_build(f"launcher_{arch}", str(source), folder.name, [], driver.include_dirs, []))
    assert built.read_bytes()[:4] == b"\x7fELF"
    print(f"{arch}: {len(code)} bytes of code, a launcher of {built.stat().st_size}")
