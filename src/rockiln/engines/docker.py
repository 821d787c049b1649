"""Image → running commands in a Docker Engine, or in Podman through its socket. Only this module imports `docker`."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rockiln.console import Console
from rockiln.engines.archive import stream_archive
from rockiln.engines.layout import read_start
from rockiln.engines.protocol import Command, Completed, Loaded
from rockiln.errors import EngineError, UsageError
from rockiln.image import Image

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

ANSWER_TIMEOUT_S = 600
"""An engine that says nothing for so long (it may be unpacking a layer of gigabytes) is given up."""
PROBE_TIMEOUT_S = 5
SOCKETS = ("/var/run/docker.sock", "{runtime}/docker.sock", "{runtime}/podman/podman.sock", "/run/podman/podman.sock")
GPU_PATHS = ("/dev/kfd", "/dev/dri")
FRESH = {"/tmp": "1777", "/var/tmp": "1777", "/run": "755"}  # noqa: S108 - paths of the image
"""Writable in memory below a read-only root, with their modes."""
EXIT_GRACE_S = 10
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerEngine:
    """A Docker Engine, found as the docker command finds it: DOCKER_HOST, the current context, the usual sockets."""

    environ: Mapping[str, str] = field(default_factory=dict)
    console: Console = field(default_factory=lambda: Console(None))

    @property
    def name(self) -> str:
        return "docker"

    def obstacle(self) -> str:
        try:
            import docker.errors
        except ImportError:
            return "the Python package `docker` is not installed; pip install docker"
        host = find_host(self.environ)
        if not host:
            return "no Docker Engine: DOCKER_HOST is not set, there is no context and no socket; start one"
        try:
            _try_socket(host)
            with _connect(host, self.environ, PROBE_TIMEOUT_S) as client:
                client.ping()
        except (docker.errors.DockerException, OSError) as error:
            return f"no Docker Engine answers ({host}: {_shorten(error)}); start one, or use --engine embedded"
        return ""

    def load(self, image: Image) -> Loaded:
        """Stream the layout in, unless the engine has it; then compare what arrived."""
        read_start(image)
        with self._client() as client:
            handle = _find_image(client, image)
            if not handle:
                with self.console.progress(f"load {image.reference}", image.size_bytes, "bytes") as progress:
                    _send(client, image, progress.advance)
                handle = _find_image(client, image)
            if not handle:
                raise EngineError(
                    f"{image.reference}: the engine's image has another config digest or other diff_ids than "
                    f"{image.config_digest}", hint="report the engine's version: `docker version`",
                )  # fmt: skip
            repository, _, tag = image.reference.rpartition(":")
            client.images.get(handle).tag(repository, tag)
        return Loaded(image=image, handle=handle)

    def run(self, loaded: Loaded, command: Command) -> Completed:
        with self._client() as client:
            container = client.containers.create(**_describe_container(loaded, command))
            try:
                return _run_container(container, command)
            finally:
                container.remove(force=True, v=True)

    def unload(self, loaded: Loaded) -> None:
        """Take our name away; the engine frees the layers that nothing else uses."""
        import docker.errors

        with self._client() as client:
            try:
                client.images.remove(loaded.image.reference)
            except docker.errors.ImageNotFound:
                return

    def pull(self, reference: str, identities: Collection[str]) -> None:
        """Pull HOST/NAME@sha256:… with the credentials that Docker has. Raises EngineError where another image arrives
        than one of `identities` (config digest, or manifest digest with containerd's store)."""
        repository, _, digest = reference.partition("@")
        with self._client() as client, self.console.progress(f"pull {reference}", 0, "bytes") as progress:
            done: dict[str, int] = {}
            for message in client.api.pull(repository, tag=digest, stream=True, decode=True):
                if error := message.get("error"):
                    raise EngineError(f"{reference}: docker pull: {error}", hint=_advise(error))
                current = (message.get("progressDetail") or {}).get("current", 0)
                if message.get("status") == "Downloading":
                    progress.advance(max(0, current - done.get(message["id"], 0)))
                    done[message["id"]] = current
            found = str(client.images.get(reference).id)
        if found not in identities:
            hint = "report the engine's version: `docker version`"
            raise EngineError(f"{reference}: the engine has {found}", hint=hint)

    def has_cdi(self) -> bool:
        """Whether the engine gives out devices by CDI (Docker 25 and newer, where it is switched on)."""
        with self._client() as client:
            return bool(client.info().get("CDISpecDirs"))

    def export(self, name: str) -> Iterator[bytes]:
        """What `docker save NAME` writes, piece by piece. Raises UsageError for an image that the engine lacks."""
        import docker.errors

        with self._client() as client:
            try:
                found = client.images.get(name)
            except docker.errors.ImageNotFound:
                raise UsageError(f"docker has no image {name!r}", hint="docker image ls; docker pull") from None
            yield from found.save(chunk_size=PIECE_BYTES)

    @contextmanager
    def _client(self) -> Iterator[DockerClient]:
        import docker.errors
        import requests.exceptions

        host = find_host(self.environ)
        try:
            with _connect(host, self.environ, ANSWER_TIMEOUT_S) as client:
                yield client
        except docker.errors.APIError as error:
            raise EngineError(f"docker: {error.explanation or error}", hint=_advise(str(error))) from error
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise EngineError(f"docker ({host}): {_shorten(error)}", hint="does the engine still run?") from error


def find_host(environ: Mapping[str, str]) -> str:
    """URL of the engine: DOCKER_HOST, the current context, or the first socket that exists. "" if there is none."""
    from docker.context import ContextAPI

    if host := environ.get("DOCKER_HOST", ""):
        return host
    context = ContextAPI.get_current_context()
    if context and context.name != "default" and context.Host:
        return str(context.Host)
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    paths = [Path(place.format(runtime=runtime)) for place in SOCKETS]
    return next((f"unix://{path}" for path in paths if path.exists()), "")


def _try_socket(host: str) -> None:
    """Raises OSError where nobody listens. The client library would leave its own socket open then."""
    scheme, _, path = host.partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as trial:
            trial.settimeout(PROBE_TIMEOUT_S)
            trial.connect(path)


@contextmanager
def _connect(host: str, environ: Mapping[str, str], timeout_s: int) -> Iterator[DockerClient]:
    import docker
    from docker.context import ContextAPI

    if environ.get("DOCKER_HOST"):
        client = docker.from_env(environment=dict(environ), timeout=timeout_s)
    else:
        context = ContextAPI.get_current_context()
        is_context = context and context.Host == host
        tls = context.TLSConfig if is_context else False
        client = docker.DockerClient(base_url=host or None, tls=tls, timeout=timeout_s)
    try:
        yield client
    finally:
        client.close()


def _find_image(client: DockerClient, image: Image) -> str:
    """The engine's id of exactly this image: its own ids are config digests, or manifest digests (containerd)."""
    import docker.errors

    expected = [layer.diff_id for layer in image.layers]
    for name in (image.config_digest, image.digest, image.reference):
        try:
            found = client.images.get(name)
        except docker.errors.ImageNotFound:
            continue
        identity = str(found.id)
        identity = identity if identity.startswith("sha256:") else f"sha256:{identity}"
        same = identity in {image.config_digest, image.digest}
        if same and found.attrs["RootFS"]["Layers"] == expected:
            return identity
    return ""


def _send(client: DockerClient, image: Image, tell: Callable[[int], None]) -> None:
    for message in client.api.load_image(stream_archive(image, tell)):
        if error := message.get("error"):
            raise EngineError(f"{image.reference}: docker load: {error}", hint=_advise(error))


def _describe_container(loaded: Loaded, command: Command) -> dict[str, Any]:
    """Arguments of containers.create."""
    from docker.types import LogConfig, Mount

    mounts = [
        Mount(target=item.image_path, source=str(item.host_path.resolve()), type="bind", read_only=not item.writable)
        for item in command.mounts
    ]
    described: dict[str, Any] = {
        "image": loaded.handle,
        "command": list(command.argv),
        "environment": dict(command.env),
        "working_dir": command.workdir or None,
        "user": command.user or None,
        "mounts": mounts,
        "read_only": command.read_only_root,
        "tmpfs": {path: f"rw,exec,nosuid,nodev,mode={mode}" for path, mode in FRESH.items()}
        if command.read_only_root else None,
        "network_mode": "none",
        "log_config": LogConfig(type="none"),
        "detach": True,
        "labels": {"rockiln.target": loaded.image.target_id},
    }  # fmt: skip
    if not command.use_entrypoint:
        described |= {"entrypoint": list(command.argv[:1]), "command": list(command.argv[1:])}
    return described | (_describe_gpus() if command.gpus else {})


def _describe_gpus() -> dict[str, Any]:
    """What AMD's documentation asks for, as far as the host has it."""
    present = [Path(path) for path in GPU_PATHS if Path(path).exists()]
    nodes = [node for path in present for node in ([path] if path.is_char_device() else sorted(path.glob("renderD*")))]
    return {
        "devices": [f"{path}:{path}:rwm" for path in present],
        "group_add": sorted({str(node.stat().st_gid) for node in nodes}),
        "shm_size": "8g",
        "security_opt": ["seccomp=unconfined"],
    }


def _run_container(container: Container, command: Command) -> Completed:
    """Attach first, so that no output is lost; then start, and wait no longer than allowed."""
    with closing(_Output(container)) as output:
        container.start()
        start_s = time.monotonic()
        ended = output.wait(command.timeout_s)
        left_s = command.timeout_s - (time.monotonic() - start_s)
        exit_code = _wait_for_exit(container, max(left_s, EXIT_GRACE_S)) if ended else None
        if exit_code is None:
            _kill(container)
            output.wait(EXIT_GRACE_S)
        return Completed(
            exit_code=exit_code,
            stdout=output.stdout.decode(errors="replace"),
            stderr=output.stderr.decode(errors="replace"),
            duration_s=time.monotonic() - start_s,
        )


def _wait_for_exit(container: Container, timeout_s: float) -> int | None:
    """The exit code; None for a program that closed its output and runs on."""
    import requests.exceptions

    try:
        return int(container.wait(timeout=timeout_s)["StatusCode"])
    except (requests.exceptions.ReadTimeout, requests.exceptions.ConnectionError):
        return None


def _kill(container: Container) -> None:
    import docker.errors

    try:
        container.kill()
    except docker.errors.APIError:
        return  # it ended in this very moment


class _Output:
    """Collects both streams in a thread of its own. They end when the container's processes have ended."""

    def __init__(self, container: Container) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._socket = container.attach_socket(params={"stdout": 1, "stderr": 1, "stream": 1})
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def wait(self, timeout_s: float) -> bool:
        """→ whether both streams have ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Close the connection, which the client library leaves to its caller."""
        getattr(self._socket, "_response", self._socket).close()

    def _collect(self) -> None:
        from docker.utils.socket import STDERR, frames_iter

        for stream, content in frames_iter(self._socket, tty=False):
            if stream == STDERR:
                self.stderr += content
            else:
                self.stdout += content


def _shorten(error: object) -> str:
    return str(error).partition("\n")[0][:300]


def _advise(message: str) -> str:
    advice = {
        "bind source path does not exist": "an engine on another machine does not see this machine's files",
        "no space left": "free space in the engine: `docker system prune`",
        "permission denied": "may this user reach the socket? `sudo usermod -aG docker $USER`, or --engine embedded",
        "executable file not found": "is it in the image, and for this machine's architecture?",
        "invalid tar header": "engines before Docker 23 read no zstd layers: rockiln build --compression gzip TARGET",
        "no such file or directory": "is it in the image, and for this machine's architecture?",
    }
    return next((hint for part, hint in advice.items() if part in message), "")
