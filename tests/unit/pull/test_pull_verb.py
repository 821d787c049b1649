"""`rockiln pull --dry-run` of a signed layout: what it refuses, and with which exit code. No engine is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rockiln.cli import main
from signed_image import KEY, SignedImage, make_signed


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    path = tmp_path / "cosign.pub"
    path.write_text(KEY.public.to_pem())
    return path


def make_named(path: Path) -> SignedImage:
    """As rockiln's own writer names it: pull asks for the name."""
    signed = make_signed(path)
    index_path = path / "image/index.json"
    index = json.loads(index_path.read_text())
    named = {"io.containerd.image.name": "docker.io/rockiln/tiny:1", "org.opencontainers.image.ref.name": "1"}
    index["manifests"][0]["annotations"] = named
    index_path.write_text(json.dumps(index))
    return signed


def write_doctor(path: Path, *archs: str) -> Path:
    gpus = [{"arch": arch, "render_path": f"/dev/dri/renderD{128 + number}"} for number, arch in enumerate(archs)]
    renders = [gpu["render_path"] for gpu in gpus]
    devices = {"kfd": bool(gpus), "render_paths": renders, "gids": [992], "cdi_paths": []}
    path.write_text(json.dumps({"gpus": gpus, "devices": devices}))
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["--quiet", "pull", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_image_of_another_gpu_is_refused_with_its_own_code(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = make_named(tmp_path / "signed")
    host = write_doctor(tmp_path / "host.json", "gfx1100")
    words = (signed.path / "image", "--key", key_path, "--host", host, "--dry-run")
    code, _, said = run(capsys, *words)
    assert code == 27
    assert "the image has code for gfx942, and this host has gfx1100" in said


def test_unsigned_and_wrongly_signed_images_are_refused(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = make_named(tmp_path / "signed")
    host = write_doctor(tmp_path / "host.json", "gfx942")
    (signed.path / "attached").rename(tmp_path / "gone")
    words = (signed.path / "image", "--key", key_path, "--host", host, "--dry-run")
    code, _, said = run(capsys, *words)
    assert (code, "nothing is attached" in said) == (24, True)


def test_run_and_another_host_exclude_each_other(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = write_doctor(tmp_path / "host.json")
    assert run(capsys, tmp_path, "--key", key_path, "--host", host, "--run", "true")[0] == 2


def test_program_has_standard_output_to_itself(
    tmp_path: Path, key_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    docker = tmp_path / "bin/docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\necho from the program\nexit 7\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=":")
    monkeypatch.setattr("rockiln.verbs.pull._bring", lambda _source, _invocation: "rockiln/tiny:1")
    signed = make_named(tmp_path / "signed")
    words = ("pull", str(signed.path / "image"), "--key", str(key_path), "--any-gpu", "--run", "true")
    assert main(list(words)) == 13
    said = capfd.readouterr()
    assert said.out == "from the program\n"
    assert said.err.count("docker run --rm") == 1
    assert "the container ended with exit code 7" in said.err


def test_json_and_a_program_do_not_share_standard_output(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, said = run(capsys, tmp_path, "--key", key_path, "--json", "--run", "true")
    assert (code, "leave out --json" in said) == (2, True)


def test_host_that_is_not_there_is_named_once(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, said = run(capsys, tmp_path, "--key", key_path, "--host", tmp_path / "nope")
    assert (code, said.count("nope"), "Errno" in said) == (2, 1, False)
    assert "No such file" in said


@pytest.mark.parametrize("size", ["lots", "", "-1", "8 gigabytes", "8g\n"])
def test_shm_size_that_is_none_is_refused(
    tmp_path: Path, key_path: Path, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    code, _, said = run(capsys, tmp_path, "--key", key_path, f"--shm-size={size}")
    assert (code, "is no size" in said) == (2, True)
