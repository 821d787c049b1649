# tier: cpu
# timeout-s: 120
"""Each pack holds every op, arch and dtype that is promised, the launcher reads it, and nothing of ours compiles."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from own_packages import find_pack, list_pack_archs, read_manifest, read_own

archs = list_pack_archs()
if "rockiln-kernels" not in read_own():
    assert not archs, "a pack, and nothing that reads it"
    print("this image has no kernels of ours")
    sys.exit()

import rockiln_kernels
from rockiln_kernels.table import read_table
from rockiln_kernels.wanted_table import read_wishes

wishes = [wish for wish in read_wishes() if not wish.gap]
for arch in archs:
    manifest = read_manifest(arch)
    promised = {(wish.op, wish.cell) for wish in wishes if wish.arch == arch}
    held = {(variant["op"], variant["cell"]) for variant in manifest["variants"]}
    assert promised <= held, f"the pack of {arch} lacks {sorted(promised - held)[:5]} of what is promised"
    launched = {launch["kernel"] for variant in manifest["variants"] for launch in variant["launches"]}
    assert launched == manifest["kernels"].keys(), f"{arch}: {sorted(launched ^ manifest['kernels'].keys())[:5]}"
    ops = {op for op, _ in held}
    assert ops <= read_table().keys(), f"{arch}: {sorted(ops - read_table().keys())} are no ops of this version"
    print(f"{arch}: {len(ops)} ops, {len(held)} of {len(promised)} promised cells, {len(manifest['kernels'])} kernels")

library = ctypes.CDLL(str(Path(rockiln_kernels.__file__).parent / "librockiln.so"))
library.rockiln_last_error.restype = ctypes.c_char_p
from rockiln_kernels import launcher

assert library.rockiln_abi_version() == launcher.ABI_VERSION
runtime = ctypes.c_void_p()
if library.rockiln_open_runtime(0, None, ctypes.byref(runtime)) == launcher.Status.OK:
    library.rockiln_pack_arch.restype = ctypes.c_char_p
    library.rockiln_pack_arch.argtypes = [ctypes.c_void_p]
    for arch in archs:
        pack = ctypes.c_void_p()
        status = library.rockiln_open_pack(runtime, str(find_pack(arch)).encode(), ctypes.byref(pack))
        assert status == launcher.Status.OK, library.rockiln_last_error().decode()
        assert library.rockiln_pack_arch(pack).decode() == arch
    print("the launcher opens every pack over this image's HIP")
else:
    print(f"the launcher: {library.rockiln_last_error().decode()}")

# What is left to compile at run time, of ours: nothing. No compiler is started and no Triton imported by the package.
script = "import rockiln_kernels.selection as s, sys; s.explain; assert 'triton' not in sys.modules"
environ = {**os.environ, "PATH": "/nowhere"}
subprocess.run([sys.executable, "-c", script], check=True, env=environ)
