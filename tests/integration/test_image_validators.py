"""An image with a shell in it, read by programs that are not ours: skopeo, umoci and Docker."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import Item, make_folders, make_locked, make_rootfs, make_wheel, plan_jax

from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command
from rockiln.errors import EngineError
from rockiln.image import Compression, Image
from rockiln.image_files import image_entries
from rockiln.layers import split
from rockiln.manifest import Entry
from rockiln.rootfs import Rootfs
from rockiln.write_image import write_image

LIBRARIES = ("/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6")
PROGRAMS = ("dash", "cat", "ls")

needs_skopeo = pytest.mark.skipif(not shutil.which("skopeo"), reason="skopeo is not installed")
needs_umoci = pytest.mark.skipif(not shutil.which("umoci"), reason="umoci is not installed")
needs_debian = pytest.mark.skipif(
    not all(Path(path).exists() for path in (*LIBRARIES, "/usr/bin/dash")),
    reason="takes dash and libc from a Debian host",
)


def make_tree(contents: Contents) -> Rootfs:
    """The host's dash, cat and ls with their libraries, and what rockiln adds."""
    planned = plan_jax(rocm=True)
    items: dict[str, Item] = {
        "bin": ("deb:base-files", "-> usr/bin"),
        "usr/bin/sh": ("deb:dash", "-> dash"),
        "etc/passwd": ("rockiln", b"root:x:0:0:root:/root:/bin/sh\n"), "etc/group": ("rockiln", b"root:x:0:\n"),
        "proc": ("deb:base-files", ""), "dev": ("deb:base-files", ""), "sys": ("deb:base-files", ""),
        "opt/venv/data/größe": ("wheel:jax", b"data" * 2_000_000),
        "opt/venv/again": ("wheel:jax", "=> opt/venv/data/größe"),
        f"opt/venv/{'long/' * 40}name": ("wheel:jax", b"deep"),
    }  # fmt: skip
    items |= {path.strip("/"): ("deb:libc6", Path(path).read_bytes()) for path in LIBRARIES}
    needed = subprocess.run(["ldd", "/usr/bin/ls"], check=True, capture_output=True, text=True).stdout
    paths = [word for word in needed.split() if word.startswith("/")]
    items |= {path.strip("/"): ("deb:libc6", Path(path).read_bytes()) for path in paths}
    items |= {f"usr/bin/{name}": ("deb:coreutils", Path(f"/usr/bin/{name}").read_bytes()) for name in PROGRAMS}
    tree = make_rootfs(contents, items, {"wheel:jax": "framework"})
    programs = {
        path: entry._replace(mode=0o755) for path, entry in tree.entries.items() if entry.owner == "deb:coreutils"
    }
    libraries = {path: entry._replace(mode=0o755) for path, entry in tree.entries.items() if entry.owner == "deb:libc6"}
    generated = {entry.path: entry for entry in image_entries(planned, make_locked(planned), contents)}
    entries = {**tree.entries, **programs, **libraries, **generated}
    for path in list(entries):
        while path := path.rpartition("/")[0]:
            entries.setdefault(path, Entry(path, "directory", 0o755, 0, 0, 0, "", "", "rockiln"))
    return Rootfs(entries=dict(sorted(entries.items())), owners=tree.owners)


def build(folder: Path, compression: Compression = "gzip") -> tuple[Image, Rootfs, Contents]:
    folders, planned = make_folders(folder), plan_jax(rocm=True)
    recipe = replace(planned.recipe, cmd=("sh", "-c", "echo default"), env={"PATH": "/usr/bin"})
    planned = replace(planned, recipe=recipe)
    contents = Contents(folders.contents_path)
    tree = make_tree(contents)
    locked = make_locked(planned, make_wheel("jax", "1.0"))
    image = write_image(planned, locked, split(tree, 20), contents, folders, compression, 2, Console(None))
    return image, tree, contents


def run(*argv: object) -> str:
    done = subprocess.run([str(arg) for arg in argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_debian
@needs_skopeo
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_skopeo_copies_every_blob_and_agrees_on_digests(tmp_path: Path, compression: Compression) -> None:
    image, _, _ = build(tmp_path, compression)
    source = f"oci:{image.layout_path}:{image.reference.rpartition(':')[2]}"
    manifest = json.loads(run("skopeo", "inspect", "--raw", source))
    config = json.loads(run("skopeo", "inspect", "--config", source))
    assert [layer["digest"] for layer in manifest["layers"]] == [layer.digest for layer in image.layers]
    assert config["rootfs"]["diff_ids"] == [layer.diff_id for layer in image.layers]
    run("skopeo", "copy", "--preserve-digests", source, f"dir:{tmp_path}/copied")
    copied = {path.name for path in (tmp_path / "copied").iterdir()}
    assert {layer.digest.removeprefix("sha256:") for layer in image.layers} <= copied


@needs_debian
@needs_umoci
def test_umoci_unpacks_the_tree_that_went_in(tmp_path: Path) -> None:
    image, tree, contents = build(tmp_path)
    rootless = ["--rootless"] if os.geteuid() else []
    source = f"{image.layout_path}:{image.reference.rpartition(':')[2]}"
    run("umoci", "unpack", *rootless, "--image", source, tmp_path / "bundle")
    root = tmp_path / "bundle" / "rootfs"
    found = {str(path.relative_to(root)) for path in root.rglob("*")}
    assert found == set(tree.entries)
    for path, entry in tree.entries.items():
        place = root / path
        status = place.lstat()
        assert status.st_mtime == 315532800, path
        if entry.kind == "symlink":
            assert os.readlink(place) == entry.link  # noqa: PTH115  # Path would normalise it
        elif entry.kind == "directory":
            assert status.st_mode & 0o7777 == entry.mode, path
        elif entry.kind == "hardlink":
            assert place.samefile(root / entry.link)
        else:
            assert status.st_mode & 0o7777 == entry.mode, path
            assert place.read_bytes() == contents.read_bytes(entry.sha256), path


@needs_debian
@pytest.mark.docker
def test_docker_loads_zstd_or_says_what_to_do(tmp_path: Path) -> None:
    image, _, _ = build(tmp_path, "zstd")
    engine = DockerEngine(environ=os.environ)
    version = run("docker", "version", "--format", "{{.Server.Version}}")
    if int(version.partition(".")[0]) < 23:
        with pytest.raises(EngineError, match="docker load") as caught:
            engine.load(image)
        assert "--compression gzip" in caught.value.hint
    else:
        engine.unload(engine.load(image))


@needs_debian
@pytest.mark.docker
def test_docker_loads_the_same_config_and_diff_ids_and_runs_it(tmp_path: Path) -> None:
    image, _, _ = build(tmp_path)
    engine = DockerEngine(environ=os.environ)
    loaded = engine.load(image)
    try:
        inspected = json.loads(run("docker", "inspect", image.reference))[0]
        assert inspected["Id"] in {image.config_digest, image.digest}
        assert inspected["RootFS"]["Layers"] == [layer.diff_id for layer in image.layers]
        started = engine.run(loaded, Command(argv=("sh", "-c", "cat /etc/motd; ls -n /opt/venv"), timeout_s=60))
        assert started.exit_code == 0
        assert started.stdout.startswith("hello\n")
        assert "no GPU: /dev/kfd is not in this container" in started.stderr
        assert "/dev/shm holds 64 MiB" in started.stderr
        default = engine.run(loaded, Command(argv=(), timeout_s=60, user="12345:0", env={"ROCKILN_PREFLIGHT": "off"}))
        assert (default.stdout, default.stderr) == ("default\n", "")
        anyone = Command(argv=("sh", "-c", "echo x > /work/f && cat /work/f"), timeout_s=60, user="12345:54321")
        assert engine.run(loaded, anyone).stdout == "x\n"
    finally:
        engine.unload(loaded)
