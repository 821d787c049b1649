# tier: cpu
# timeout-s: 120
"""Each pack holds every op, arch and dtype that is promised, the launcher reads it, and nothing of ours compiles."""

import os
import subprocess
import sys

from own_packages import find_pack, list_pack_archs, read_manifest, read_own

archs = list_pack_archs()
if "rockiln-kernels" not in read_own():
    assert not archs, "a pack, and nothing that reads it"
    print("this image has no kernels of ours")
    sys.exit()

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

from rockiln_kernels.launcher import Launcher, LaunchError, Status, find_library, open_library

open_library(find_library())  # librockiln.so is there, and of this version
try:
    launcher = Launcher()
except LaunchError as error:
    assert error.status == Status.NO_RUNTIME, error
    print(f"the launcher: {error}")
else:
    for arch in archs:
        launcher.open_pack(find_pack(arch))
    print(f"the launcher opens the packs of {', '.join(archs) or 'no GPU'} over this image's HIP")

# What is left to compile at run time, of ours: nothing. No compiler is started and no Triton imported by the package.
script = "import rockiln_kernels.selection as s, sys; s.explain; assert 'triton' not in sys.modules"
environ = {**os.environ, "PATH": "/nowhere"}
subprocess.run([sys.executable, "-c", script], check=True, env=environ)
