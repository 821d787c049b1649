# tier: cpu
# timeout-s: 120
"""torch is the locked build: for HIP where the image is for ROCm, else not. Names lie; torch.version does not."""

import importlib
import importlib.metadata

import torch
from record import read_record, require_from_venv

record = read_record()
require_from_venv(torch)
locked = {item["name"]: item["version"] for item in record["packages"] if item["kind"] == "wheel"}
assert torch.__version__ == locked["torch"], (torch.__version__, locked["torch"])
assert torch.version.cuda is None, f"a CUDA build: {torch.version.cuda}"
if record["rocm"]:
    release = ".".join(record["rocm"].split(".")[:2])
    assert torch.version.hip, "not a HIP build"
    assert torch.version.hip.startswith(release), (torch.version.hip, record["rocm"])
    assert set(record["archs"]) <= set(torch.cuda.get_arch_list() or record["archs"]), torch.cuda.get_arch_list()
else:
    assert torch.version.hip is None, torch.version.hip
for name in sorted(locked.keys() & {"torchvision", "torchaudio"}):
    require_from_venv(importlib.import_module(name))
print(torch.__version__, torch.version.hip)
