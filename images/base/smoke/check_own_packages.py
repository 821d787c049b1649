# tier: cpu
# timeout-s: 120
"""Our own packages are those of the record and whole: hipcompat, the plugin with its entry point, and each pack."""

import hashlib
import importlib
import json
import subprocess
from collections import Counter
from importlib.metadata import version

from own_packages import (
    find_pack,
    find_plugin,
    list_entry_points,
    list_missing,
    list_pack_archs,
    read_manifest,
    read_own,
)
from record import VENV, read_record, require_from_venv

GROUPS = {"rockiln-torch": "torch.backends", "rockiln-jax": "jax_plugins"}
"""Entry points by which a framework finds its plugin; TensorFlow has none."""

record, own = read_record(), read_own()
assert "hipcompat" in own, "the record names no hipcompat"
assert set(record["archs"]) == set(list_pack_archs()) or not record["archs"], (record["archs"], list_pack_archs())
for name, locked in own.items():
    assert version(name) == locked, name
    missing = list_missing(name)
    assert not missing, f"{name}: {missing[0]} is missing" + (f", with {len(missing) - 1} more" if missing[1:] else "")

require_from_venv(importlib.import_module("hipcompat"))
assert ("console_scripts", "hipcompat") in list_entry_points("hipcompat"), "hipcompat has lost its command"
asked = [VENV / "bin/hipcompat", "doctor", "--fail-on", "never", "--json"]
diagnosis = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
seen = sorted(pack["arch"] for pack in diagnosis["packs"])
archs = list_pack_archs()
assert seen == archs, f"the record names packs of {archs}, hipcompat doctor sees those of {seen}"
fact = subprocess.run([VENV / "bin/hipcompat", "facts", "cudaMalloc"], check=True, capture_output=True, text=True)
assert "hipMalloc" in fact.stdout, fact.stdout

plugin = find_plugin()
if plugin:
    require_from_venv(importlib.import_module(plugin.replace("-", "_")))
    group = GROUPS.get(plugin)
    found = {entry for entry, _ in list_entry_points(plugin)}
    assert group is None or group in found, f"{plugin} has no entry point in {group}: it has {found or 'none'}"

for arch in list_pack_archs():
    manifest, folder = read_manifest(arch), find_pack(arch)
    for key, kernel in manifest["kernels"].items():
        code = folder / kernel["file"]
        assert code.is_file(), f"{arch}: {key}: {kernel['file']} is missing"
        assert hashlib.sha256(code.read_bytes()).hexdigest() == kernel["sha256"], f"{arch}: {kernel['file']} is damaged"
    ops = Counter(variant["op"] for variant in manifest["variants"])
    print(f"pack of {arch}: {len(manifest['kernels'])} kernels of {len(ops)} ops: {', '.join(sorted(ops))}")
print(f"{', '.join(f'{name} {own[name]}' for name in sorted(own))}; plugin: {plugin or 'none'}")
