"""Recorded hosts and images: which GPUs are served, and the exact line that gives them to a container."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recorded_gpus import NODES, write_host
from rockiln.archs import name_arch
from rockiln.errors import UsageError
from rockiln.pull.fit import fit_image
from rockiln.pull.host import HostFacts, HostGpu, parse_doctor, read_host
from rockiln.pull.run_line import make_run_line

RENDERS = ("/dev/dri/renderD128", "/dev/dri/renderD136")
MI300 = HostFacts(
    gpus=tuple(HostGpu(arch="gfx942", render_path=path) for path in RENDERS),
    has_kfd=True, render_paths=RENDERS, gids=(44, 992),
)  # fmt: skip
MIXED = replace(MI300, gpus=(MI300.gpus[0], HostGpu(arch="gfx1100", render_path="/dev/dri/renderD136")))
NAME = "ghcr.io/user/jax@sha256:ab"


def line(archs: tuple[str, ...], host: HostFacts, **options: object) -> str:
    return " ".join(make_run_line(NAME, fit_image(archs, host), host, **options).argv)  # type: ignore[arg-type]  # named


@pytest.mark.parametrize(
    ("version", "arch"),
    [(90402, "gfx942"), (90010, "gfx90a"), (90500, "gfx950"), (110000, "gfx1100"), (120001, "gfx1201")],
)
def test_arch_is_named_as_llvm_names_it(version: int, arch: str) -> None:
    assert name_arch(version) == arch


def test_recorded_host_is_read(tmp_path: Path) -> None:
    host = read_host(write_host(tmp_path, 90402, 110000, cdi=True))
    assert host.gpus == (
        HostGpu(arch="gfx942", render_path="/dev/dri/renderD128"),
        HostGpu(arch="gfx1100", render_path="/dev/dri/renderD129"),
    )
    assert (host.has_kfd, host.cdi_paths) == (True, ("/etc/cdi/amd.json",))


def test_host_without_gpu_and_damaged_topology_have_none(tmp_path: Path) -> None:
    assert read_host(tmp_path) == HostFacts()
    host = write_host(tmp_path, 90402)
    (host / NODES / "1/properties").write_text("gfx_target_version many\nsimd_count\n\xff")
    assert read_host(host).gpus == ()


def test_line_names_nodes_and_numbers_of_groups() -> None:
    assert line(("gfx942",), MI300) == (
        "docker run --rm -it --device /dev/kfd --device /dev/dri/renderD128 --device /dev/dri/renderD136"
        f" --group-add 44 --group-add 992 --shm-size 8g {NAME}"
    )


def test_gpu_that_is_not_served_is_left_out() -> None:
    fit = fit_image(("gfx942:xnack-",), MIXED)
    run = make_run_line(NAME, fit, MIXED)
    assert "/dev/dri/renderD136" not in run.argv
    assert "has no code for gfx1100: left out" in run.notes


def test_image_for_other_gpus_says_both() -> None:
    assert fit_image(("gfx950", "gfx1201"), MIXED).reason == (
        "the image has code for gfx950, gfx1201, and this host has gfx942, gfx1100"
    )
    assert fit_image(("gfx950",), HostFacts()).reason.endswith("no AMD GPU is to be seen on this host")


def test_image_for_cpus_fits_everywhere_and_gets_no_device() -> None:
    for host in (HostFacts(), MI300):
        assert fit_image((), host).reason == ""
        assert line((), host, command=("python", "-V"), is_terminal=False) == f"docker run --rm {NAME} python -V"


def test_cdi_is_used_where_engine_and_host_have_it() -> None:
    host = replace(MI300, cdi_paths=("/etc/cdi/amd.json",))
    assert line(("gfx942",), host, has_cdi=True) == (
        f"docker run --rm -it --device amd.com/gpu=all --shm-size 8g {NAME}"
    )
    assert "--device /dev/kfd" in line(("gfx942",), host)
    assert "--device /dev/kfd" in line(("gfx942",), MI300, has_cdi=True)
    mixed = replace(MIXED, cdi_paths=host.cdi_paths)
    assert "amd.com/gpu" not in line(("gfx942",), mixed, has_cdi=True)


def test_host_whose_render_nodes_are_hidden_gets_the_folder() -> None:
    host = replace(MI300, render_paths=())
    assert "--device /dev/kfd --device /dev/dri --group-add" in line(("gfx942",), host)


def test_seccomp_is_a_note_and_no_flag() -> None:
    run = make_run_line(NAME, fit_image(("gfx942",), MI300), MI300)
    assert not any("seccomp" in word for word in run.argv)
    assert any("seccomp" in note for note in run.notes)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"gpus": [{}], "devices": {}}'])
def test_what_is_no_doctors_report_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a doctor's report"):
        parse_doctor(text, "host.json")
