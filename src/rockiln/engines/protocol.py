"""Image → running commands: the Protocol that Docker, the embedded engine and the test fake implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rockiln.image import Image


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A host file or folder made visible inside, read-only unless `writable`."""

    host_path: Path
    image_path: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run. `env` is added to the image's own; "" for `workdir` means the image's own."""

    argv: tuple[str, ...]
    timeout_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    mounts: tuple[Mount, ...] = ()
    use_entrypoint: bool = True
    read_only_root: bool = False
    user: str = ""
    """uid[:gid], numeric; "" means the image's own."""
    gpus: bool = False
    """Pass /dev/kfd and /dev/dri when the host has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a command ended. `exit_code` is None when the time limit ended it; output until then is kept."""

    exit_code: int | None
    stdout: str
    stderr: str
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """An image inside an engine. Config digest and diff_ids were compared with the layout's after loading."""

    image: Image
    handle: str
    """Engine's own name: an image id, or the path of an unpacked tree."""


class Engine(Protocol):
    """Runs commands in a finished image. Methods raise EngineError; only `obstacle` says an engine is not there."""

    @property
    def name(self) -> str:
        """"docker", "embedded", "fake"."""

    def obstacle(self) -> str:
        """Why this engine cannot work here, with what would help; "" when it can."""

    def load(self, image: Image) -> Loaded:
        """Take the image in, verified; loading twice is cheap."""

    def run(self, loaded: Loaded, command: Command) -> Completed:
        """Run one command to its end or its time limit; nothing of it stays behind."""

    def unload(self, loaded: Loaded) -> None:
        """Forget the image."""
