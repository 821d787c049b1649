"""Programs as Python functions → FakeEngine: an Engine for tests of what stands above engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rockiln.engines.layout import read_start
from rockiln.engines.protocol import Command, Completed, Loaded, Mount
from rockiln.errors import EngineError
from rockiln.image import Image


class HangingError(Exception):
    """Raised by a program that would not end by itself."""


@dataclass(kw_only=True)
class FakeProcess:
    """What a program sees, and what it says."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    user: str
    mounts: tuple[Mount, ...]
    read_only_root: bool
    files: dict[str, bytes]
    """The image's own; changes vanish with the process."""
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    def read(self, path: str) -> bytes:
        """A file of a mount or of the image. Raises FileNotFoundError."""
        for mount in self.mounts:
            if PurePosixPath(path).is_relative_to(mount.image_path):
                return (mount.host_path / PurePosixPath(path).relative_to(mount.image_path)).read_bytes()
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def write(self, path: str, content: bytes) -> None:
        """Write where it is allowed. Raises PermissionError."""
        for mount in self.mounts:
            if PurePosixPath(path).is_relative_to(mount.image_path):
                if not mount.writable:
                    raise PermissionError(path)
                (mount.host_path / PurePosixPath(path).relative_to(mount.image_path)).write_bytes(content)
                return
        if self.user.partition(":")[0] not in {"", "0"} and not path.startswith(("/tmp/", "/cache/")):
            raise PermissionError(path)
        if self.read_only_root and not path.startswith("/tmp/"):
            raise PermissionError(path)
        self.files[path] = content


Program = Callable[[FakeProcess], int]


@dataclass(frozen=True, kw_only=True)
class FakeEngine:
    """Runs `programs`, by path inside the image. Reads the image's layout as the real engines do."""

    programs: Mapping[str, Program]
    files: Mapping[str, bytes] = field(default_factory=dict)
    trouble: str = ""
    """What `obstacle` answers."""
    commands: list[Command] = field(default_factory=list)
    """What was run, for tests to look at."""
    loaded: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return "fake"

    def obstacle(self) -> str:
        return self.trouble

    def load(self, image: Image) -> Loaded:
        read_start(image)
        for layer in image.layers:
            if not (image.layout_path / "blobs" / layer.digest.replace(":", "/")).is_file():
                raise EngineError(f"{image.reference}: layer {layer.digest} is missing")
        self.loaded.add(image.config_digest)
        return Loaded(image=image, handle=image.config_digest)

    def run(self, loaded: Loaded, command: Command) -> Completed:
        if loaded.handle not in self.loaded:
            raise EngineError(f"{loaded.image.reference}: not loaded")
        self.commands.append(command)
        start = read_start(loaded.image)
        argv = start.complete_argv(command)
        if argv[0] not in self.programs:
            raise EngineError(f"cannot start {argv[0]}: no such file")
        process = FakeProcess(
            argv=argv,
            env={**start.env, **command.env},
            workdir=command.workdir or start.workdir,
            user=command.user or start.user or "0",
            mounts=command.mounts,
            read_only_root=command.read_only_root,
            files=dict(self.files),
        )
        exit_code: int | None
        try:
            exit_code, duration_s = self.programs[argv[0]](process), 0.01
        except HangingError:
            exit_code, duration_s = None, command.timeout_s
        return Completed(
            exit_code=exit_code,
            stdout=process.stdout.decode(errors="replace"),
            stderr=process.stderr.decode(errors="replace"),
            duration_s=duration_s,
        )

    def unload(self, loaded: Loaded) -> None:
        self.loaded.discard(loaded.handle)
