"""Inside the finished image, in Docker: dpkg, apt, ldconfig, pip, TLS and accounts work as on any Debian."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from debian_tree import DebianTree
from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Completed, Loaded, Mount
from rockiln.image_files import image_entries
from rockiln.layers import split
from rockiln.slim import drop_paths
from rockiln.write_image import write_image

pytestmark = [pytest.mark.network, pytest.mark.docker, pytest.mark.userns, pytest.mark.slow]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """The base of the CPU rows: everything but the framework's wheels."""
    system = DebianTree("debian-12", tmp_path_factory.mktemp("package-tools"))
    planned, locked = system.planned, system.locked
    rootfs = system.assemble(image_entries(planned, locked, system.contents))
    slimmed = drop_paths(rootfs, planned.recipe.drops, system.contents)
    layers = split(slimmed, planned.recipe.layer_budget)
    image = write_image(planned, locked, layers, system.contents, system.folders, "gzip", 2, Console(None))
    engine = DockerEngine()
    loaded = engine.load(replace(image, reference="rockiln-test/package-tools:latest"))
    yield loaded
    engine.unload(loaded)


def run(loaded: Loaded, *argv: str, **rest: object) -> Completed:
    command = Command(argv=argv, timeout_s=120, **rest)  # type: ignore[arg-type]  # fields of Command
    return DockerEngine().run(loaded, command)


def say(loaded: Loaded, *argv: str, **rest: object) -> str:
    done = run(loaded, *argv, **rest)
    assert done.exit_code == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def test_dpkg_lists_all_packages_and_finds_nothing_wrong(loaded: Loaded) -> None:
    rows = say(loaded, "dpkg", "-l").splitlines()
    installed = [row for row in rows if row.startswith("ii ")]
    assert len(installed) > 90
    assert [row for row in rows[5:] if not row.startswith("ii ")] == []
    assert say(loaded, "dpkg", "--audit") == ""
    assert "no packages found" not in say(loaded, "dpkg", "-S", "/usr/bin/dpkg")


def test_files_are_what_dpkg_says_but_for_what_the_recipe_drops(loaded: Loaded) -> None:
    changed = [line for line in run(loaded, "dpkg", "-V").stdout.splitlines() if not line.startswith("missing ")]
    assert changed == []


def test_loader_cache_knows_the_libraries(loaded: Loaded) -> None:
    assert "libstdc++.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libstdc++.so.6" in say(loaded, "ldconfig", "-p")


def test_pip_check_finds_nothing_broken(loaded: Loaded) -> None:
    assert say(loaded, "pip", "check").strip() == "No broken requirements found."
    assert say(loaded, "python", "-c", "import sys; print(sys.prefix)").strip() == "/opt/venv"


def test_any_uid_works_on_a_read_only_root(loaded: Loaded) -> None:
    said = say(loaded, "python", "-c", "import json, ssl; print(json.dumps(1))", user="12345:678", read_only_root=True)
    assert said.strip() == "1"


def test_accounts_and_time_zone_are_known(loaded: Loaded) -> None:
    assert say(loaded, "getent", "passwd", "_apt").startswith("_apt:x:42:65534:")
    assert say(loaded, "su", "nobody", "-s", "/bin/sh", "-c", "id -un").strip() == "nobody"
    assert say(loaded, "date", "+%Z").strip() == "UTC"


def test_all_authorities_are_trusted(loaded: Loaded) -> None:
    count = "import ssl; print(ssl.create_default_context().cert_store_stats()['x509_ca'])"
    assert int(say(loaded, "python", "-c", count)) > 100


@pytest.fixture
def key_path(tmp_path: Path) -> Path:
    """A folder with a key and a certificate for localhost that nobody trusts."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key", "-out", "own.crt"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    return tmp_path


TALK = """
import http.server, ssl, subprocess, threading, urllib.error, urllib.request

def serve():
    server = http.server.HTTPServer(("127.0.0.1", 8443), http.server.SimpleHTTPRequestHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("/run/tls/own.crt", "/run/tls/key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()

def ask():
    try:
        return urllib.request.urlopen("https://localhost:8443/").status
    except urllib.error.URLError as error:
        return type(error.reason).__name__

serve()
print(ask())
subprocess.run(["cp", "/run/tls/own.crt", "/usr/local/share/ca-certificates/"], check=True)
print(subprocess.run(["update-ca-certificates"], check=True, capture_output=True, text=True).stdout.splitlines()[1])
print(ask())
"""


def test_tls_is_checked_and_the_images_tool_adds_an_authority(loaded: Loaded, key_path: Path) -> None:
    mount = Mount(host_path=key_path, image_path="/run/tls")
    said = say(loaded, "python", "-W", "ignore", "-c", TALK, mounts=(mount,)).splitlines()
    assert said == ["SSLCertVerificationError", "1 added, 0 removed; done.", "200"]


REINSTALL = """
set -e
apt-get update -qq
apt-get install -y -qq hello >/dev/null
hello
apt-get install -y -qq --reinstall ca-certificates base-passwd debianutils libpam-runtime dash >/tmp/log 2>&1
grep 'added.*removed' /tmp/log | sort -u
dpkg --audit
apt-get check -qq
apt-get -s -qq autoremove
"""


def test_apt_installs_and_the_real_scripts_find_nothing_to_do(loaded: Loaded) -> None:
    """The packages' own scripts run on top of ours: what they would make is there already."""
    import docker

    environ = {"DEBIAN_FRONTEND": "noninteractive"}
    with contextlib.closing(docker.from_env()) as client:
        said: bytes = client.containers.run(
            loaded.handle, ["sh", "-c", REINSTALL], remove=True, network_mode="host", environment=environ
        )
    assert said.decode().splitlines() == ["Hello, world!", "0 added, 0 removed; done."]
