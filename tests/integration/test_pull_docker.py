"""A signed image from a real registry into a real engine, run with the line that was printed; two readers of hosts."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from real_registry import run_registry
from recorded_gpus import write_host
from rockiln.attest.attached import read_attached
from rockiln.attest.push_attached import push_attachments
from rockiln.pull.host import parse_doctor, read_host
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.sign.keys import generate_key
from signed_image import KEY, OS, WHEELS, SignedImage, push_signed, sign_image
from tiny_image import compile_probe, make_tar, write_layout

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> SignedImage:
    """A CPU image whose only program says what it was given."""
    folder = tmp_path_factory.mktemp("pull")
    probe = compile_probe(folder).read_bytes()
    tars = (make_tar(OS), make_tar((*WHEELS, ("probe", 0o755, probe))))
    image = write_layout(folder / "image", tars, {"Cmd": ["/probe", "out"]}, "rockiln/tiny:1")
    return sign_image(folder, image)


def push(signed: SignedImage, host: str) -> str:
    reference = parse_reference(f"{host}/rk/tiny")
    with open_repository(reference, os.environ) as repository:
        push_signed(signed, repository)
        push_attachments(repository, read_attached(signed.path / "attached"))
    return f"{host}/rk/tiny@{signed.image.digest}"


def rockiln(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "rockiln", *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.docker
@pytest.mark.registry
def test_published_image_is_verified_pulled_and_run(signed: SignedImage, tmp_path: Path) -> None:
    key_path = tmp_path / "cosign.pub"
    key_path.write_text(KEY.public.to_pem())
    with run_registry(tmp_path / "registry") as host:
        name = push(signed, host)
        said = rockiln("verify", name, "--key", key_path).stdout
        assert "layers" in said
        try:
            pulled = json.loads(rockiln("pull", name, "--key", key_path, "--json").stdout)
            assert pulled["name"] == name
            assert pulled["argv"] == ["docker", "run", "--rm", "-it", name]
            done = rockiln("pull", name, "--key", key_path, "--run", "/probe", "exit", "0")
            assert shlex.join(["docker", "run", "--rm", name, "/probe", "exit", "0"]) in done.stderr
            rockiln("pull", name, "--key", key_path, "--run", "/probe", "exit", "7", code=13)
        finally:
            subprocess.run(["docker", "image", "rm", "-f", name], capture_output=True, check=False)


@pytest.mark.registry
def test_two_signers_keep_each_others_signature(signed: SignedImage, tmp_path: Path) -> None:
    """cosign looks under one tag for all of them; ours are referrers besides."""
    other_key = generate_key()
    keys = {"ours": KEY.public, "other": other_key.public}
    for name, public in keys.items():
        (tmp_path / f"{name}.pub").write_text(public.to_pem())
    with run_registry(tmp_path / "registry") as host:
        reference = push(signed, host)
        shutil.copytree(signed.path / "image", tmp_path / "again/image")
        again = sign_image(tmp_path / "again", signed.image, key=other_key)
        with open_repository(parse_reference(reference), os.environ) as repository:
            for _ in range(2):
                push_attachments(repository, read_attached(again.path / "attached"))
            tag = f"{signed.image.digest.replace(':', '-')}.sig"
            tagged = repository.read_manifest(tag)
            assert tagged is not None
            assert len(tagged.document["layers"]) == 2  # type: ignore[arg-type]  # a list
        for name in keys:
            rockiln("verify", reference, "--no-layers", "--key", tmp_path / f"{name}.pub")


@pytest.mark.parametrize("versions", [(), (90402,), (90402, 90402), (110000, 120001), (90010,)])
def test_doctor_and_pull_see_the_same_host(tmp_path: Path, versions: tuple[int, ...]) -> None:
    host = write_host(tmp_path, *versions, cdi=bool(versions))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "compat/src")}
    argv = [sys.executable, "-m", "hipcompat", "doctor", "--json", "--fail-on", "never", "--root", str(host)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=env, timeout=60)
    assert parse_doctor(done.stdout, "doctor") == read_host(host)
