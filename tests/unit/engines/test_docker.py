"""Where the engine is looked for, and the archive that it is sent."""

from __future__ import annotations

import io
import json
import socket
import tarfile
import threading
from pathlib import Path

import pytest

from rockiln.engines.archive import stream_archive
from rockiln.engines.docker import SOCKETS, DockerEngine, find_host
from rockiln.engines.protocol import Command, Loaded
from rockiln.errors import EngineError
from rockiln.image import Image
from tiny_image import make_tar, write_layout


@pytest.fixture
def image(tmp_path: Path) -> Image:
    tars = [make_tar([("file", 0o644, b"x" * 5000)]), make_tar([("other", 0o644, b"")])]
    return write_layout(tmp_path / "image", tars, {})


def test_docker_host_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert find_host({"DOCKER_HOST": "tcp://builder:2375"}) == "tcp://builder:2375"


def test_current_context_is_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text('{"currentContext": "far"}')
    from docker.context import Context

    Context("far", host="tcp://far:2375").save()
    assert find_host({}) == "http://far:2375"  # as the client library spells it


def test_podman_socket_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("rockiln.engines.docker.SOCKETS", SOCKETS[1:])
    (tmp_path / "podman").mkdir()
    (tmp_path / "podman/podman.sock").touch()
    assert find_host({"XDG_RUNTIME_DIR": str(tmp_path)}) == f"unix://{tmp_path}/podman/podman.sock"


def test_archive_is_layout_and_docker_manifest_in_one(image: Image) -> None:
    told: list[int] = []
    content = b"".join(stream_archive(image, told.append))
    assert sum(told) == image.size_bytes
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = {member.name: archive.extractfile(member) for member in archive}
        files = {name: file.read() for name, file in members.items() if file}
    (entry,) = json.loads(files["manifest.json"])
    assert entry["RepoTags"] == [image.reference]
    assert [f"sha256:{name.rpartition('/')[2]}" for name in entry["Layers"]] == [item.digest for item in image.layers]
    on_disk = {str(path.relative_to(image.layout_path)) for path in image.layout_path.rglob("*") if path.is_file()}
    assert files.keys() == on_disk | {"manifest.json"}
    assert all(files[name] == (image.layout_path / name).read_bytes() for name in on_disk)


def test_engine_that_hangs_up_is_an_engine_error(image: Image, tmp_path: Path) -> None:
    path = tmp_path / "rude.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = threading.Thread(target=lambda: [server.accept()[0].close() for _ in range(3)], daemon=True)
        thread.start()
        engine = DockerEngine(environ={"DOCKER_HOST": f"unix://{path}"})
        assert "no Docker Engine answers" in engine.obstacle()
        with pytest.raises(EngineError, match="docker"):
            engine.run(Loaded(image=image, handle="x"), Command(argv=("true",), timeout_s=1))


@pytest.mark.docker
def test_nothing_of_a_container_stays_behind(image: Image, tmp_path: Path) -> None:
    import docker

    from tiny_image import compile_probe, probe_items

    probe = compile_probe(tmp_path).read_bytes()
    tiny = write_layout(tmp_path / "tiny", [make_tar(probe_items(probe))], {}, "rockiln-test/behind:latest")
    engine = DockerEngine()
    loaded = engine.load(tiny)
    for words in (("exit", "3"), ("sleep", "100")):
        engine.run(loaded, Command(argv=("/probe", *words), timeout_s=1))
    with pytest.raises(EngineError):
        engine.run(loaded, Command(argv=("/none",), timeout_s=1))
    engine.unload(loaded)
    client = docker.from_env()
    try:
        assert client.containers.list(all=True, filters={"label": f"rockiln.target={image.target_id}"}) == []
        assert client.images.list(name=tiny.reference) == []
    finally:
        client.close()
