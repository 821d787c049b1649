"""One contract for every engine: the fake, the embedded one, Docker, and Podman where its socket answers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fakes import FakeEngine, FakeProcess, HangingError
from rockiln.engines.docker import DockerEngine
from rockiln.engines.embedded import EmbeddedEngine
from rockiln.engines.protocol import Command, Completed, Engine, Loaded, Mount
from rockiln.errors import EngineError
from rockiln.image import Image
from tiny_image import compile_probe, make_tar, probe_items, write_layout

START = {"Env": ["COLOUR=blue", "SHAPE=round"], "Entrypoint": ["/entry"], "WorkingDir": "/work", "Cmd": ["exit", "9"]}


def imitate_probe(process: FakeProcess) -> int:
    """tests/probe.c for the fake engine."""
    words = list(process.argv[1:])
    if process.argv[0] == "/entry":
        process.stdout += b"/entry"
    for word, value in zip(words[::2], words[1::2], strict=False):
        code = _act(process, word, value)
        if code is not None:
            return code
    return 0


def _act(process: FakeProcess, word: str, value: str) -> int | None:
    if word in {"show", "put"}:
        return _touch(process, word, value)
    if word == "exit":
        return int(value)
    if word == "sleep":
        raise HangingError
    process.stdout += _say(process, word, value)
    process.stderr += {"err": value.encode(), "big": b"0" * (int(value) if value.isdecimal() else 0)}.get(word, b"")
    return None


def _say(process: FakeProcess, word: str, value: str) -> bytes:
    said = {
        "out": value,
        "env": process.env.get(value, "(unset)") + "\n",
        "id": (process.user if ":" in process.user else f"{process.user}:0") + "\n",
        "cwd": process.workdir + "\n",
        "big": "0" * (int(value) if value.isdecimal() else 0),
    }
    return b"\xff\x00\xfe" if word == "bytes" else said.get(word, "").encode()


def _touch(process: FakeProcess, word: str, path: str) -> int | None:
    try:
        if word == "put":
            process.write(path, b"written\n")
        else:
            process.stdout += process.read(path)
    except OSError as error:
        process.stdout += f"cannot {'write' if word == 'put' else 'read'} {path}: {type(error).__name__}\n".encode()
        return 3
    return None


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("tiny")
    probe = compile_probe(folder).read_bytes()
    late = make_tar([("late", 0o644, b"second layer\n"), ("again", 0o755, "=> late")])
    return write_layout(folder / "image", [make_tar(probe_items(probe)), late], START)


def make_engine(name: str, folder: Path) -> Engine:
    if name == "embedded":
        return EmbeddedEngine(trees_path=folder / "trees")
    if name == "fake":
        files = {"/late": b"second layer\n", "/again": b"second layer\n"}
        return FakeEngine(programs={"/probe": imitate_probe, "/entry": imitate_probe}, files=files)
    return DockerEngine(environ=dict(os.environ))


ENGINES = [
    "fake",
    pytest.param("embedded", marks=pytest.mark.userns),
    pytest.param("docker", marks=pytest.mark.docker),
]


@dataclass(frozen=True, kw_only=True)
class Bench:
    """An engine with the probe's image in it."""

    engine: Engine
    loaded: Loaded

    def run(self, *words: str, timeout_s: float = 20, **others: object) -> Completed:
        command = Command(argv=("/probe", *words), timeout_s=timeout_s, use_entrypoint=False)
        return self.engine.run(self.loaded, replace(command, **others))  # type: ignore[arg-type]


@pytest.fixture(params=ENGINES, scope="module")
def bench(request: pytest.FixtureRequest, image: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    engine = make_engine(request.param, tmp_path_factory.mktemp("engine"))
    assert engine.obstacle() == ""
    loaded = engine.load(image)
    yield Bench(engine=engine, loaded=loaded)
    engine.unload(loaded)


@pytest.mark.parametrize("code", [0, 1, 77, 255])
def test_exit_code_is_the_programs_own(bench: Bench, code: int) -> None:
    assert bench.run("exit", str(code)).exit_code == code


def test_streams_are_kept_apart(bench: Bench) -> None:
    completed = bench.run("out", "to stdout", "err", "to stderr")
    assert (completed.stdout, completed.stderr) == ("to stdout", "to stderr")


def test_time_limit_ends_a_program_and_keeps_its_output(bench: Bench) -> None:
    completed = bench.run("out", "so far\n", "err", "noise", "sleep", "1000", timeout_s=1)
    assert 1 <= completed.duration_s < 1 + 2
    assert (completed.exit_code, completed.stdout, completed.stderr) == (None, "so far\n", "noise")


def test_child_left_behind_does_not_outlive_the_program(bench: Bench) -> None:
    start_s = time.monotonic()
    completed = bench.run("child", "", "out", "done", timeout_s=15)
    assert (completed.exit_code, completed.stdout) == (0, "done")
    assert time.monotonic() - start_s < 10


def test_environment_is_the_images_and_the_commands(bench: Bench) -> None:
    env = {"SHAPE": "ünïcode ✓", "EXTRA": "a=b c"}
    completed = bench.run("env", "COLOUR", "env", "SHAPE", "env", "EXTRA", "env", "PYTHONPATH", env=env)
    assert completed.stdout.splitlines() == ["blue", "ünïcode ✓", "a=b c", "(unset)"]


def test_working_folder_is_the_images_unless_told(bench: Bench) -> None:
    assert bench.run("cwd", "").stdout == "/work\n"
    assert bench.run("cwd", "", workdir="/etc").stdout == "/etc\n"


def test_entrypoint_comes_first(bench: Bench) -> None:
    completed = bench.run(use_entrypoint=True, argv=("exit", "4"))
    assert (completed.exit_code, completed.stdout) == (4, "/entry")


def test_image_says_what_to_run_when_the_command_does_not(bench: Bench) -> None:
    assert bench.run(use_entrypoint=True, argv=()).exit_code == 9


def test_read_only_mount_cannot_be_written(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("from the host")
    mounts = (Mount(host_path=tmp_path, image_path="/mnt/given"),)
    completed = bench.run("show", "/mnt/given/given", "put", "/mnt/given/new", mounts=mounts)
    assert completed.stdout.startswith("from the hostcannot write /mnt/given/new")
    assert not (tmp_path / "new").exists()


def test_writable_mount_reaches_the_host(bench: Bench, tmp_path: Path) -> None:
    mounts = (Mount(host_path=tmp_path, image_path="/work/out", writable=True),)
    assert bench.run("put", "/work/out/new", mounts=mounts).exit_code == 0
    assert (tmp_path / "new").read_text() == "written\n"


def test_single_file_can_be_mounted(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("only this")
    mounts = (Mount(host_path=tmp_path / "one", image_path="/etc/one"),)
    assert bench.run("show", "/etc/one", mounts=mounts).stdout == "only this"


def test_user_is_the_one_asked_for(bench: Bench) -> None:
    assert bench.run("id", "").stdout == "0:0\n"
    assert bench.run("id", "", user="12345:678").stdout == "12345:678\n"
    assert bench.run("id", "", user="12345").stdout == "12345:0\n"


def test_any_user_may_write_to_caches_and_nowhere_else(bench: Bench) -> None:
    assert bench.run("put", "/cache/file", "show", "/cache/file", user="12345").stdout == "written\n"
    assert bench.run("put", "/tmp/file", "show", "/tmp/file", user="12345").stdout == "written\n"
    assert bench.run("put", "/etc/file", user="12345").stdout.startswith("cannot write /etc/file")


def test_read_only_root_refuses_writes_but_below_tmp(bench: Bench) -> None:
    completed = bench.run("put", "/tmp/file", "put", "/work/file", read_only_root=True)
    assert completed.stdout.startswith("cannot write /work/file")


def test_writes_are_gone_with_the_command(bench: Bench) -> None:
    assert bench.run("put", "/work/file", "show", "/work/file").stdout == "written\n"
    assert bench.run("show", "/work/file").stdout.startswith("cannot read /work/file")


def test_layers_lie_on_each_other(bench: Bench) -> None:
    assert bench.run("show", "/late", "show", "/again").stdout == "second layer\nsecond layer\n"


def test_odd_bytes_become_text(bench: Bench) -> None:
    assert bench.run("bytes", "", "out", "→ ok").stdout == "\ufffd\0\ufffd→ ok"


def test_ten_megabytes_on_both_streams_do_not_block(bench: Bench) -> None:
    completed = bench.run("big", "10000000", timeout_s=60)
    assert (completed.exit_code, len(completed.stdout), len(completed.stderr)) == (0, 10**7, 10**7)


def test_missing_program_is_an_engine_error(bench: Bench) -> None:
    with pytest.raises(EngineError, match="no-such-program"):
        bench.run(argv=("/no-such-program",))


def test_loading_twice_is_cheap(bench: Bench) -> None:
    start_s = time.monotonic()
    assert bench.engine.load(bench.loaded.image) == bench.loaded
    assert time.monotonic() - start_s < 2  # Podman takes one to answer; a second load would take longer


def break_blob(image: Image, folder: Path, digest: str) -> Image:
    """A copy of the layout in which one blob has a flipped byte."""
    for path in sorted(item for item in image.layout_path.rglob("*") if item.is_file()):
        copy_path = folder / path.relative_to(image.layout_path)
        copy_path.parent.mkdir(parents=True, exist_ok=True)
        copy_path.write_bytes(path.read_bytes())
    broken_path = folder / "blobs" / digest.replace(":", "/")
    content = bytearray(broken_path.read_bytes())
    content[len(content) // 2] ^= 1
    broken_path.write_bytes(content)
    return replace(image, layout_path=folder)


@pytest.mark.parametrize("part", ["manifest", "config"])
def test_damaged_json_is_refused(bench: Bench, image: Image, tmp_path: Path, part: str) -> None:
    digest = {"manifest": image.digest, "config": image.config_digest}[part]
    with pytest.raises(EngineError, match="another hash than its name"):
        bench.engine.load(break_blob(image, tmp_path, digest))


@pytest.mark.parametrize("name", ENGINES[1:])
def test_damaged_layer_is_refused(tmp_path: Path, name: str) -> None:
    engine = make_engine(name, tmp_path / "engine")
    changed = write_layout(tmp_path / "other", [make_tar([("only-here", 0o644, os.urandom(5000))])], START)
    broken = break_blob(changed, tmp_path / "broken", changed.layers[0].digest)
    with pytest.raises(EngineError):
        engine.load(broken)


def test_unloaded_image_does_not_run(image: Image, tmp_path: Path) -> None:
    engine = make_engine("fake", tmp_path)
    loaded = engine.load(image)
    engine.unload(loaded)
    with pytest.raises(EngineError, match="not loaded"):
        engine.run(loaded, Command(argv=("exit", "0"), timeout_s=1))
