"""An image in a real Docker Engine weighs what its layout weighs, file by file."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rockiln.console import Console
from rockiln.engines.docker import DockerEngine
from rockiln.sizes.difference import compare
from rockiln.sizes.of_image import measure_archive, measure_layout, measure_stream
from tiny_image import make_tar, write_layout

pytestmark = [pytest.mark.docker]

REFERENCE = "rockiln-test/diff:latest"
QUIET = Console(None)


def test_docker_layout_and_saved_archive_are_the_same_image(tmp_path: Path) -> None:
    layers = ((("a/one", 0o644, b"1" * 500), ("a/two", 0o644, b"2" * 50)), (("a/.wh.two", 0o644, b""),))
    image = write_layout(tmp_path / "image", map(make_tar, layers), {}, REFERENCE)
    engine = DockerEngine(environ=os.environ)
    engine.load(image)
    try:
        held = measure_stream(engine.export(REFERENCE), f"docker:{REFERENCE}", tmp_path / "cache", QUIET)
        saved_path = tmp_path / "saved.tar"
        subprocess.run(["docker", "save", "-o", saved_path, REFERENCE], check=True)
    finally:
        subprocess.run(["docker", "rmi", "-f", REFERENCE], check=True, capture_output=True)
    layout, saved = measure_layout(tmp_path / "image", QUIET), measure_archive(saved_path, QUIET)
    for one in (held, saved):
        difference = compare(layout, one)
        assert (difference.files, difference.packages) == ((), ())
        assert len(difference.shared_layers) == 2
    assert layout.files is not None
    assert list(layout.files) == ["a/one"]
