# tier: gpu
# timeout-s: 60
"""rocminfo, or the kernel's topology where the image has no rocminfo, lists GPUs for which the image is made."""

import shutil
import subprocess

from gpus import require_gpus
from record import read_record

archs = require_gpus(1)
if shutil.which("rocminfo"):
    listed = subprocess.run(["rocminfo"], check=True, capture_output=True, text=True).stdout
    for arch in archs:
        assert arch in listed, f"the kernel knows {arch}, rocminfo does not:\n{listed}"
else:
    assert read_record()["rocm-origin"] != "amd", "AMD's packages have rocminfo, this image does not"
print(", ".join(archs))
