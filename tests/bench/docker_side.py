"""The peer: the same debs and wheels by a well-written Dockerfile (bind mounts, no caches left behind)."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from measure import Measured, measure

DOCKER = "/usr/bin/docker"
BASE = "rockiln-bench-base"
IMAGE = "rockiln-bench"

DOCKERFILE = f"""\
FROM {BASE}
RUN --mount=type=bind,source=debs,target=/debs \\
    apt-get install -y --no-install-recommends /debs/*.deb && rm -rf /var/cache/apt /var/lib/apt/lists/* /var/log/*
RUN --mount=type=bind,source=wheels,target=/wheels \\
    python3 -m venv --without-pip /opt/venv && \\
    python3 $(echo /wheels/pip-*.whl)/pip --python /opt/venv/bin/python \\
        install --no-cache-dir --no-index --no-deps /wheels/*.whl
ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerBuilder:
    """A build context of hardlinked debs and wheels."""

    context_path: Path

    @classmethod
    def prepare(cls, folder: Path, debs: dict[str, Path], wheels: dict[str, Path]) -> DockerBuilder:
        """Lay out the context (file name → path of the bytes) and import a minimal Debian as the base."""
        for name, files in (("debs", debs), ("wheels", wheels)):
            (folder / name).mkdir(parents=True)
            for file, path in files.items():
                shutil.copyfile(path, folder / name / file)
        (folder / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
        _import_base()
        return cls(context_path=folder)

    def build(self, *, cold: bool = False) -> Measured:
        """`docker build`; `cold` forgets BuildKit's cache first, outside the measurement."""
        if cold:
            subprocess.run([DOCKER, "builder", "prune", "-af"], check=True, capture_output=True)
        environ = {"DOCKER_BUILDKIT": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.context_path)}
        argv = [DOCKER, "build", "--quiet", "--network", "none", "--tag", IMAGE, "."]
        return measure(argv, cwd=self.context_path, environ=environ)

    def replace_wheel(self, old_name: str, changed_path: Path) -> None:
        """Put a changed wheel where the old one was."""
        shutil.copyfile(changed_path, self.context_path / "wheels" / old_name)


def _import_base() -> None:
    argv = ["mmdebstrap", "--variant=minbase", "--quiet", "bookworm", "-"]
    with tempfile.TemporaryFile() as tree:
        subprocess.run(argv, check=True, stdout=tree)
        tree.seek(0)
        subprocess.run([DOCKER, "import", "-", BASE], check=True, stdin=tree, capture_output=True)


def measure_sizes() -> tuple[int, int]:
    """Bytes of the image's layers as gzip -6 (what a push sends), and unpacked."""
    gzip_bytes = unpacked_bytes = 0
    with tempfile.NamedTemporaryFile() as saved:
        subprocess.run([DOCKER, "save", "--output", saved.name, IMAGE], check=True)
        with tarfile.open(saved.name) as archive:
            manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]  # docker writes it
            for name in manifest[0]["Layers"]:
                layer = archive.extractfile(name)
                assert layer is not None
                compressor = zlib.compressobj(6, wbits=31)
                for chunk in iter(lambda: layer.read(1 << 20), b""):  # noqa: B023  # used up within this turn
                    unpacked_bytes += len(chunk)
                    gzip_bytes += len(compressor.compress(chunk))
                gzip_bytes += len(compressor.flush())
    return gzip_bytes, unpacked_bytes
