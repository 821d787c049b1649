"""A name from the command line → Engine: Docker where one answers, else the embedded one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.engines.protocol import Engine
from rockiln.errors import UnavailableError, UsageError
from rockiln.folders import Folders


class Host(Protocol):
    """What an engine needs to know of the machine; an Invocation is one."""

    @property
    def folders(self) -> Folders: ...

    @property
    def environ(self) -> Mapping[str, str]: ...

    @property
    def console(self) -> Console: ...

    @property
    def jobs(self) -> int: ...


def choose_engine(name: str, host: Host) -> Engine:
    """The engine called "docker" or "embedded"; for "auto" the first of them that can work. Raises UnavailableError."""
    engines: dict[str, Engine] = {
        "docker": DockerEngine(environ=host.environ, console=host.console),
        "embedded": EmbeddedEngine(
            trees_path=host.folders.cache_path / "trees", jobs=host.jobs, console=host.console
        ),
    }
    if name not in {"auto", *engines}:
        raise UsageError(f"no engine {name!r}", hint=f"one of: auto, {', '.join(engines)}")
    obstacles = []
    for engine in engines.values() if name == "auto" else [engines[name]]:
        obstacle = engine.obstacle()
        if not obstacle:
            return engine
        obstacles.append(f"{engine.name}: {obstacle}")
    raise UnavailableError("no engine can run an image here:\n" + "\n".join(f"  {line}" for line in obstacles))
