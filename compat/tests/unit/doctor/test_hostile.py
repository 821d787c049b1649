"""Whatever stands in /sys, /proc, site-packages or the environment, the doctor answers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hipcompat.doctor import diagnose, look_quickly
from hipcompat.doctor.report import format_diagnosis, format_quickly
from recorded_hosts import NODES, SITE, RecordedHost, make_workstation

PATHS = (
    f"{NODES}/1/properties",
    f"{NODES}/1/mem_banks/0/properties",
    "/proc/mounts",
    "/proc/self/cgroup",
    "/proc/1/cgroup",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/pids.max",
    "/sys/fs/cgroup/cpu.max",
    "/sys/bus/pci/devices/0000:03:00.0/vendor",
    "/sys/bus/pci/devices/0000:03:00.0/class",
    "/sys/module/amdgpu/version",
    "/etc/cdi/amd.yaml",
    "/etc/ld.so.conf.d/rocm.conf",
    f"{SITE}/torch/version.py",
    f"{SITE}/a-1.dist-info/RECORD",
    f"{SITE}/rockiln_kernels_gfx942/pack/manifest.json",
)
WORDS = (
    "simd_count", "gfx_target_version", "location_id", "heap_type 1\nsize_in_bytes", " ", "\n", ",", "0::/", "..",
    "max",
    "/dev/shm", "size=", "k", "9" * 5000, "-1", "²", "٣", "\0", '"', "[" * 100_000, "hip = '", "tmpfs", "1",
)  # fmt: skip


def _join(words: list[str]) -> bytes:
    return "".join(words).encode()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.sampled_from(PATHS),
    content=st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(WORDS), max_size=12).map(_join)),
)
def test_any_content_is_survived(path: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        host = _make(folder, path, content)
        found = diagnose(host.host())
        assert format_diagnosis(found)
        format_quickly(look_quickly(host.host()))


@pytest.mark.parametrize("word", WORDS, ids=range(len(WORDS)))
def test_each_word_everywhere_is_survived(word: str, tmp_path: Path) -> None:
    for content in (word, f"simd_count {word}\ngfx_target_version {word}\n", f"x /dev/shm tmpfs size={word}k 0 0\n"):
        for path in PATHS:
            host = _make(str(tmp_path), path, content.encode())
        assert format_diagnosis(diagnose(host.host()))


def _make(folder: str, path: str, content: bytes) -> RecordedHost:
    root = Path(folder)
    if not (root / "dev/kfd").exists():
        make_workstation(root).add_torch()
    made = RecordedHost.__new__(RecordedHost)
    made.path, made.recorded = root, {}
    place = Path(f"{root}{path}")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return made


@given(st.dictionaries(
    st.sampled_from(["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
                     "HSA_OVERRIDE_GFX_VERSION", "LD_LIBRARY_PATH", "ROCM_PATH"]),
    st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
))  # fmt: skip
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_environment_is_survived(tmp_path: Path, environ: dict[str, str]) -> None:
    if not (tmp_path / "dev").exists():
        make_workstation(tmp_path)
    made = RecordedHost.__new__(RecordedHost)
    made.path, made.recorded = tmp_path, {}
    assert format_diagnosis(diagnose(made.host(**environ)))
