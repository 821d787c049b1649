"""An image's name + Fit + HostFacts → RunLine: the arguments of `docker run` for this host, with notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rockiln.pull.fit import Fit, describe_gpus
from rockiln.pull.host import DRI, KFD, HostFacts

CDI_DEVICE = "amd.com/gpu=all"
SHM_SIZE = "8g"
"""Docker's 64 MB break collectives and data loaders; ROCm's pages ask for 8 or 16 GB."""
SECCOMP = "--security-opt seccomp=unconfined"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """`argv` begins with "docker"."""

    argv: tuple[str, ...]
    notes: tuple[str, ...]


def make_run_line(
    image: str, fit: Fit, host: HostFacts, *, has_cdi: bool = False, shm_size: str = SHM_SIZE,
    command: Sequence[str] = (), is_terminal: bool = True,
) -> RunLine:  # fmt: skip
    """With CDI where engine and host both have it, and all GPUs are served; else device nodes and numeric groups."""
    uses_cdi = has_cdi and bool(host.cdi_paths) and not fit.left_out
    devices = () if not fit.served else ("--device", CDI_DEVICE) if uses_cdi else tuple(_name_devices(fit, host))
    shared = ("--shm-size", shm_size) if fit.served else ()
    argv = ("docker", "run", "--rm", *(("-it",) if is_terminal else ()), *devices, *shared, image, *command)
    return RunLine(argv=argv, notes=tuple(_make_notes(fit, host, uses_cdi=uses_cdi)))


def _name_devices(fit: Fit, host: HostFacts) -> Iterator[str]:
    """Only the render nodes of GPUs that the image serves: what a program cannot use it should not see."""
    renders = dict.fromkeys(gpu.render_path for gpu in fit.served if gpu.render_path in host.render_paths)
    for path in (KFD, *(renders or {DRI: None})):
        yield from ("--device", path)
    for gid in host.gids:
        if gid:
            yield from ("--group-add", str(gid))


def _make_notes(fit: Fit, host: HostFacts, *, uses_cdi: bool) -> Iterator[str]:
    if fit.served:
        yield f"serves {describe_gpus(fit.served)}"
    if fit.left_out:
        yield f"has no code for {describe_gpus(fit.left_out)}: left out"
    if fit.served and not host.has_kfd:
        yield f"{KFD} is not here: is this a container, or the driver not loaded? hipcompat doctor tells"
    if fit.served and host.cdi_paths and not uses_cdi:
        yield f"with an engine that knows CDI: --device {CDI_DEVICE} instead of devices and groups"
    if fit.served and not uses_cdi and any(host.gids):
        yield "groups are numbers of this host: on another one they may differ"
    if fit.served:
        yield f"profilers and debuggers may need {SECCOMP}; Docker's default profile is kept"
