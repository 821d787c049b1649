"""PCI ids by which Jobs choose nodes: held against the lists of pci.ids and libdrm, as Debian's sid has them today."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from real_debs import fetch_alone, unpack_deb
from rockiln.export.pods import DEVICE_IDS

pytestmark = [
    pytest.mark.network,
    pytest.mark.skipif(not os.environ.get("ROCKILN_NIGHTLY"), reason="sid moves: ROCKILN_NIGHTLY=1 runs it"),
]
NAMES = {
    "gfx908": r"Arcturus|Instinct MI100",
    "gfx90a": r"Aldebaran|Instinct MI2\d0",
    "gfx942": r"Instinct MI30[08]|Instinct MI325",
    "gfx950": r"Instinct MI35\d",
    "gfx1100": r"Navi 31|Radeon Pro W7[89]00|Radeon RX 7900",
    "gfx1101": r"Navi 32|Radeon Pro V710|Radeon Pro W7700|Radeon RX 7[78]00",
    "gfx1200": r"Navi 44|Radeon RX 9060|Radeon RX 9050",
    "gfx1201": r"Navi 48|Radeon RX 9070|Radeon AI PRO R9",
}
"""What the lists call devices of an arch, by chip or product: https://llvm.org/docs/AMDGPUUsage.html#processors."""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Device id of AMD's → all that both lists call it."""
    folder = tmp_path_factory.mktemp("ids")
    trees = {name: unpack_deb(fetch_alone(name, "sid", folder / name), folder / name / "tree") for name in SOURCES}
    found: dict[str, str] = {}
    for device_id, name in (*read_pci(trees["pci.ids"]), *read_libdrm(trees["libdrm-common"])):
        found[device_id] = f"{found.get(device_id, '')} {name}"
    return found


SOURCES = ("pci.ids", "libdrm-common")


def read_pci(tree: Path) -> list[tuple[str, str]]:
    text = (tree / "usr/share/misc/pci.ids").read_text("utf-8")
    ours = re.split(r"^(?=[0-9a-f]{4} )", text, flags=re.MULTILINE)
    (amd,) = (part for part in ours if part.startswith("1002 "))
    return re.findall(r"^\t([0-9a-f]{4})\s+(.*)$", amd, re.MULTILINE)


def read_libdrm(tree: Path) -> list[tuple[str, str]]:
    text = (tree / "usr/share/libdrm/amdgpu.ids").read_text("utf-8")
    rows = re.findall(r"^([0-9A-F]{4}),\s*[0-9A-F]+,\s*(.*)$", text, re.MULTILINE)
    return [(device_id.lower(), name) for device_id, name in rows]


@pytest.mark.parametrize("arch", DEVICE_IDS)
def test_each_id_is_a_device_of_its_arch(names: dict[str, str], arch: str) -> None:
    for device_id in DEVICE_IDS[arch]:
        assert re.search(NAMES[arch], names.get(device_id, "")), (device_id, names.get(device_id))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_no_accelerator_is_missing(names: dict[str, str], arch: str) -> None:
    listed = {device_id for device_id, name in names.items() if re.search(NAMES[arch], name)}
    assert listed == set(DEVICE_IDS[arch])
