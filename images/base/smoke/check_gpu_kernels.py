# tier: gpu
# timeout-s: 3600
"""Every kernel of a GPU's pack loads on it; rockiln-kernels validate finds each right, where there is ml_dtypes."""

import importlib.util
import subprocess
import tempfile

from gpus import require_gpus
from own_packages import find_pack, list_pack_archs, read_manifest
from record import VENV, say_unavailable

archs = sorted({arch for arch in require_gpus(1) if arch in list_pack_archs()})
if not archs:
    say_unavailable(f"no pack for these GPUs; there are {', '.join(list_pack_archs()) or 'none'}")

from rockiln_kernels.launcher import Launcher

launcher = Launcher()
for number in range(launcher.count_devices()):
    arch = launcher.read_device(number).arch
    if arch in archs:
        pack = launcher.open_pack(find_pack(arch))
        for key in read_manifest(arch)["kernels"]:
            pack.find_kernel(key).preload(number)
        print(f"GPU {number}, {arch}: every kernel loads")

if not importlib.util.find_spec("ml_dtypes"):
    print("not validated: rockiln-kernels validate needs ml_dtypes, which this image has not")
else:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([VENV / "bin/rockiln-kernels", "validate", "--output", folder], check=True)
