"""Recorded hosts → what the doctor says first, and what it says follows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hipcompat.answer import dump
from hipcompat.doctor import Diagnosis, Finding, diagnose
from hipcompat.doctor.finding import EXPLAINED_BY, order_findings
from hipcompat.doctor.report import format_diagnosis
from recorded_hosts import RENDER_GID, SITE, USER, make_bare, make_mi300x, make_workstation, put_into_container

DOCTOR = Path(__file__).parents[3] / "src/hipcompat/doctor"


def _rules(diagnosis: Diagnosis) -> list[str]:
    return [finding.rule for finding in diagnosis.findings]


def _find(diagnosis: Diagnosis, rule: str) -> Finding:
    return next(finding for finding in diagnosis.findings if finding.rule == rule)


def test_healthy_mi300x_has_no_findings_and_exact_flags(tmp_path: Path) -> None:
    found = diagnose(make_mi300x(tmp_path).host())
    assert found.findings == ()
    assert [gpu.arch for gpu in found.gpus] == ["gfx942"] * 8
    assert found.gpus[1].address == "0000:15:00.0"
    assert found.gpus[1].render_path == "/dev/dri/renderD136"
    assert found.gpus[0].vram_bytes == 192 << 30
    assert found.devices.make_flags() == f"--device /dev/kfd --device /dev/dri --group-add {RENDER_GID}"
    assert found.driver == "6.14.14"
    assert found.visible.gpus == tuple(range(8))


def test_workstation_warns_of_the_cpus_own_gpu(tmp_path: Path) -> None:
    found = diagnose(make_workstation(tmp_path).host())
    assert _rules(found) == ["integrated-gpu"]
    assert _find(found, "integrated-gpu").advice == ("export HIP_VISIBLE_DEVICES=0,1",)
    assert not diagnose(make_workstation(tmp_path / "b").host(HIP_VISIBLE_DEVICES="0,1")).findings


def test_machine_without_gpu_names_the_hardware_first(tmp_path: Path) -> None:
    found = diagnose(make_bare(tmp_path).host())
    assert _rules(found) == ["no-amd-gpu", "driver-not-loaded", "no-kfd"]
    assert [finding.because for finding in found.findings] == ["", "no-amd-gpu", "no-amd-gpu"]
    assert format_diagnosis(found).startswith("first cause: error [no-amd-gpu]")


def test_gpu_without_driver_names_the_driver_first(tmp_path: Path) -> None:
    made = make_bare(tmp_path)
    made.add_pci(0x05, driver="")
    found = diagnose(made.host())
    assert _rules(found) == ["driver-not-loaded", "no-kfd"]
    assert _find(found, "no-kfd").because == "driver-not-loaded"


def test_gpu_of_a_virtual_machine_is_told(tmp_path: Path) -> None:
    made = make_bare(tmp_path)
    made.add_driver()
    made.add_pci(0x05, driver="vfio-pci")
    found = diagnose(made.host())
    assert _rules(found)[0] == "driver-not-bound"
    assert "0000:05:00.0 (vfio-pci)" in found.findings[0].message


def test_kernel_without_kfd_is_told(tmp_path: Path) -> None:
    made = make_bare(tmp_path)
    made.add_driver()
    made.add_pci(0x05)
    assert _rules(diagnose(made.host())) == ["kfd-not-built", "no-kfd"]


def test_container_without_dri_asks_for_it(tmp_path: Path) -> None:
    made = put_into_container(make_mi300x(tmp_path, gpus=1))
    made.remove("/dev/dri/renderD128")
    found = diagnose(made.host())
    assert found.container == "docker"
    assert _rules(found) == ["no-render-node", "shm-small"]
    assert "docker run --device /dev/dri" in found.findings[0].message


def test_container_without_kfd_gets_the_preflights_words(tmp_path: Path) -> None:
    made = put_into_container(make_mi300x(tmp_path, gpus=1))
    made.remove("/dev/kfd")
    found = diagnose(made.host())
    assert found.findings[0].message == (
        "no GPU: /dev/kfd is not in this container (ROCKILN_PREFLIGHT=off silences this)"
    )


def test_wrong_group_names_the_number(tmp_path: Path) -> None:
    found = diagnose(put_into_container(make_mi300x(tmp_path, gpus=2)).host(gids=frozenset({USER, 44})))
    assert _rules(found)[:2] == ["kfd-refused", "render-refused"]
    assert f"docker run --group-add {RENDER_GID}" in found.findings[0].message
    assert found.findings[0].advice == (f"in Kubernetes: securityContext.supplementalGroups: [{RENDER_GID}]",)


def test_bind_mount_without_device_rule_is_told(tmp_path: Path) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    made.add_device("/dev/dri/renderD128", fault="EPERM")
    found = diagnose(made.host())
    assert _rules(found) == ["device-denied"]
    assert "says EPERM" in found.findings[0].message


def test_nodes_hidden_by_device_rules_are_told(tmp_path: Path) -> None:
    made = put_into_container(make_mi300x(tmp_path, gpus=1))
    made.write("/sys/class/kfd/kfd/topology/nodes/2/properties", "")
    assert "1 nodes are hidden" in _find(diagnose(made.host()), "no-gpu-in-topology").message


def test_one_of_two_gpus_in_the_container_is_a_note(tmp_path: Path) -> None:
    made = make_mi300x(tmp_path, gpus=2)
    made.remove("/dev/dri/renderD136")
    found = diagnose(made.host())
    assert [(one.rule, one.severity) for one in found.findings] == [("gpu-without-node", "note")]


@pytest.mark.parametrize(("limit", "warns"), [("4294967296", True), ("max", False), ("274877906944", False)])
def test_memory_limit_below_the_gpus_memory_is_told(tmp_path: Path, limit: str, warns: bool) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    made.write("/proc/self/cgroup", "0::/kubepods/pod1/c1\n")
    made.write("/sys/fs/cgroup/kubepods/memory.max", f"{limit}\n")
    made.write("/sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n")
    assert ("memory-limit" in _rules(diagnose(made.host()))) is warns


def test_old_control_groups_are_read(tmp_path: Path) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    made.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n")
    made.write("/sys/fs/cgroup/pids/pids.max", "100\n")
    made.write("/sys/fs/cgroup/cpu.max", "150000 100000\n")
    found = diagnose(made.host())
    assert {"memory-limit", "process-limit"} <= set(_rules(found))
    assert found.limits.cpus == 1.5
    made.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    assert "memory-limit" not in _rules(diagnose(made.host()))


def test_stale_cdi_specification_is_told(tmp_path: Path) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    node = '{"containerEdits": {"deviceNodes": [{"path": "/dev/dri/renderD200"}]}}'
    made.write("/etc/cdi/amd.json", f'{{"kind": "amd.com/gpu", "devices": [{node}]}}\n')
    assert "renderD200" in _find(diagnose(made.host()), "cdi-stale").message
    made.remove("/etc/cdi/amd.json")
    assert _find(diagnose(made.host()), "cdi-missing").severity == "note"


def test_packs_are_held_against_the_gpus(tmp_path: Path) -> None:
    made = make_workstation(tmp_path)
    made.add_distribution("rockiln-kernels-gfx942", "0.1.0")
    made.write(f"{SITE}/rockiln_kernels_gfx942/pack/manifest.json", '{"arch": "gfx942", "kernels": {"a": {}}}')
    found = diagnose(made.host(HIP_VISIBLE_DEVICES="0"))
    assert found.packs[0].kernels == 1
    missing = [one.message for one in found.findings if one.rule == "pack-missing"]
    assert missing[0].startswith("no kernel pack for gfx1100")
    assert "pack-for-no-gpu-here" in _rules(found)


def test_damaged_pack_counts_as_none(tmp_path: Path) -> None:
    made = make_mi300x(tmp_path, gpus=1)
    made.write(f"{SITE}/rockiln_kernels_gfx942/pack/manifest.json", '{"arch": ')
    assert diagnose(made.host()).packs == ()


def test_every_diagnosis_is_json_and_text(tmp_path: Path) -> None:
    for name, make in (("a", make_bare), ("b", make_mi300x), ("c", make_workstation)):
        found = diagnose(make(tmp_path / name).host(ROCR_VISIBLE_DEVICES="0", HIP_VISIBLE_DEVICES="5"))
        assert json.loads(dump(found))["visible"]["gpus"] == []
        assert "\x1b" not in format_diagnosis(found)


def test_every_rule_that_is_raised_has_a_rank_and_a_line_in_the_page() -> None:
    source = "".join(path.read_text() for path in sorted(DOCTOR.glob("*.py")))
    raised = set(re.findall(r'rule="([a-z-]+)"', source)) | set(re.findall(r'\{"torch": .*\}', source) and []) | {
        "kfd-refused", "render-refused", "torch-not-hip", "tensorflow-not-rocm", "jax-without-rocm",
    }  # fmt: skip
    assert raised == set(EXPLAINED_BY)
    page = (DOCTOR.parents[3] / "docs/compat-doctor.md").read_text()
    assert not [rule for rule in EXPLAINED_BY if f"`{rule}`" not in page]


def test_causes_exist_and_come_before_what_they_explain() -> None:
    order = list(EXPLAINED_BY)
    for rule, causes in EXPLAINED_BY.items():
        assert all(cause in order and order.index(cause) < order.index(rule) for cause in causes), rule


def test_unexplained_error_goes_before_explained_one() -> None:
    def make(rule: str) -> Finding:
        return Finding(rule=rule, severity="error", message="")

    ordered = order_findings([make("no-kfd"), make("torch-not-hip"), make("driver-not-loaded")])
    assert [(one.rule, one.because) for one in ordered] == [
        ("driver-not-loaded", ""), ("torch-not-hip", ""), ("no-kfd", "driver-not-loaded"),
    ]  # fmt: skip
