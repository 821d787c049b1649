# tier: cpu
# timeout-s: 120
"""Each package is installed in the version that the record names; dpkg and pip find nothing wrong."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

from record import read_record

record = read_record()
wheels = {item["name"]: item["version"] for item in record["packages"] if item["kind"] == "wheel"}
debs = {item["name"]: item["version"] for item in record["packages"] if item["kind"] == "deb"}
assert wheels, "the record names no wheel"
assert debs, "the record names no deb"

for name, version in wheels.items():
    assert importlib.metadata.version(name) == version, name

query = ["dpkg-query", "--show", "--showformat", "${Package} ${Version} ${db:Status-Abbrev}\n"]
rows = [line.split() for line in subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()]
installed = {name: version for name, version, status in rows if status == "ii"}
assert installed == debs, sorted(installed.items() ^ debs.items())

audit = subprocess.run(["dpkg", "--audit"], check=True, capture_output=True, text=True)
assert not audit.stdout, audit.stdout

subprocess.run([sys.executable, "-m", "pip", "check"], check=True)

distributions = list(importlib.metadata.distributions())
names = [distribution.name.lower() for distribution in distributions]
assert not [name for name in names if name.startswith("nvidia-")], "NVIDIA's libraries do not belong here"
assert not [path for path in sys.path if path and list(Path(path).glob("__editable__*"))], "editable installs"
for distribution in distributions:
    assert "editable" not in (distribution.read_text("direct_url.json") or ""), distribution.name
print(f"{len(debs)} debs, {len(wheels)} wheels")
