"""A project of two rows, one of them for GPUs, both as if built: for tests of what a person types."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, TOP

from rockiln.audit.finding import AuditReport
from rockiln.built_values import BUILT, make_note
from rockiln.cli import main
from rockiln.folders import Folders
from rockiln.image import Image, Layer
from rockiln.image_config import encode, make_manifest
from rockiln.jsonable import write_value
from rockiln.readers import digest_of
from rockiln.sealed import write_sealed
from rockiln.write_image import write_layout

RECIPE = """\
schema = 1
cmd = ["python"]
layer-budget = 10
smoke-tiers = ["cpu", "gpu"]
required-tiers = ["cpu"]

[[packages]]
why = "something"
names = ["base-files"]
"""
CHECKS = {"imports": "cpu", "computes": "cpu", "kernels": "gpu"}


@dataclass(frozen=True, kw_only=True)
class Project:
    path: Path
    host: str

    def run(self, *words: str) -> int:
        """Exit code of a command in it."""
        folders = ("--project", str(self.path), "--cache", str(self.path / "cache"))
        return main([*folders, "--quiet", *words])

    def reference(self, target_id: str) -> str:
        """What `push` prints for a target."""
        name = target_id.partition("-")[0]
        return f"{self.host}/rk/{name}@{write_built(self.path, target_id).digest}"

    @property
    def to(self) -> tuple[str, str]:
        return "--to", f"{self.host}/rk/{{framework}}"


def make_project(path: Path, host: str) -> Project:
    """matrix.toml, recipes with three checks each, and an image in build/ of each row."""
    path.mkdir()
    (path / "matrix.toml").write_text(TOP + CPU_ROW + GPU_ROW)
    for name in ("jax", "torch"):
        smoke_path = path / "images" / name / "smoke"
        smoke_path.mkdir(parents=True)
        (smoke_path.parent / "image.toml").write_text(RECIPE)
        for check, tier in CHECKS.items():
            (smoke_path / f"check_{check}.py").write_text(f"# tier: {tier}\n# timeout-s: 5\n")
    for target_id in (CPU_ID, GPU_ID):
        write_built(path, target_id)
    return Project(path=path, host=host)


def write_built(path: Path, target_id: str) -> Image:
    """An image of two layers, one of them shared by all targets."""
    folders = Folders(project_path=path, cache_path=path / "cache", build_path=path / "build")
    layers = tuple(_write_layer(folders, text) for text in ("shared", target_id))
    config = encode({
        "architecture": "amd64", "os": "linux", "config": {"Labels": {"dev.rockiln.target": target_id}},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
    })  # fmt: skip
    manifest = make_manifest(config, layers)
    image = Image(
        target_id=target_id, layout_path=folders.target_path(target_id) / "image", digest=digest_of(manifest),
        config_digest=digest_of(config), layers=layers, reference=f"rockiln/{target_id.partition('-')[0]}:test",
    )  # fmt: skip
    write_layout(image, config, manifest, lambda digest: _blob_path(folders, digest))
    note_ended(image)
    return image


def note_ended(image: Image) -> None:
    """As a build that ended vouches for its image and a clean audit."""
    folder = image.layout_path.parent
    write_value(AuditReport(subject=image.target_id, archs=(), findings=(), counts={}), folder / "audit.json")
    write_value(image, folder / "image.json")
    files = ("audit.json", "image.json", "image/index.json")
    write_sealed(folder / BUILT, make_note(folder, files, digest=image.digest))


def _blob_path(folders: Folders, digest: str) -> Path:
    return folders.layers_path / "blobs" / digest.replace(":", "/")


def _write_layer(folders: Folders, text: str) -> Layer:
    content = text.encode() * 100
    path = _blob_path(folders, digest_of(content))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return Layer(
        digest=digest_of(content), diff_id=digest_of(text.encode()),
        size_bytes=len(content), unpacked_bytes=len(content),
        media_type="application/vnd.oci.image.layer.v1.tar+gzip", owners=("test",), title=text[:20],
    )  # fmt: skip
