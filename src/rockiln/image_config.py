"""Plan, lock and Layers → the image's config and manifest, as bytes. No clock, host or mirror in them."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping, Sequence

from rockiln.image import Layer
from rockiln.image_files import CONSTRAINTS_PATH, ENTRYPOINT_PATH, OVERRIDES_PATH, VENV, find_framework
from rockiln.locked import LockedTarget
from rockiln.media_types import CONFIG_TYPE, MANIFEST_TYPE
from rockiln.plan import PlannedTarget
from rockiln.readers import digest_of
from rockiln.tar_stream import EPOCH_S

CREATED = dt.datetime.fromtimestamp(EPOCH_S, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

LAYER_TITLE = "dev.rockiln.layer.title"
LAYER_OWNERS = "dev.rockiln.layer.owners"
LAYER_UNPACKED = "dev.rockiln.layer.unpacked-bytes"
TARGET_LABEL = "dev.rockiln.target"

GUARDS: Mapping[str, str] = {
    "PIP_CONSTRAINT": f"/{CONSTRAINTS_PATH}",
    "PIP_BUILD_CONSTRAINT": f"/{CONSTRAINTS_PATH}",
    "UV_CONSTRAINT": f"/{CONSTRAINTS_PATH}",
    "UV_BUILD_CONSTRAINT": f"/{CONSTRAINTS_PATH}",
    "UV_OVERRIDE": f"/{OVERRIDES_PATH}",
    "UV_PROJECT_ENVIRONMENT": f"/{VENV}",
}
"""What keeps pip and uv from swapping the framework; docs/image.md. A recipe's own value wins."""

FRAMEWORK_TITLES = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}


def encode(value: object) -> bytes:
    """JSON as bytes: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def make_config(planned: PlannedTarget, locked: LockedTarget, layers: Sequence[Layer], revision: str = "") -> bytes:
    """https://github.com/opencontainers/image-spec/blob/main/config.md"""
    recipe = planned.recipe
    env = {**GUARDS, **recipe.env}
    start = {
        "Cmd": list(recipe.cmd),
        "Entrypoint": [f"/{ENTRYPOINT_PATH}"],
        "Env": [f"{name}={env[name]}" for name in sorted(env)],
        "Labels": make_labels(planned, locked, revision),
        "User": recipe.user,
        "WorkingDir": recipe.workdir,
    }
    return encode(
        {
            "architecture": "amd64",
            "config": start,
            "created": CREATED,
            "history": [{"created": CREATED, "created_by": f"rockiln: {layer.title}"} for layer in layers],
            "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
    )


def make_manifest(config: bytes, layers: Sequence[Layer], annotations: Mapping[str, str] | None = None) -> bytes:
    """https://github.com/opencontainers/image-spec/blob/main/manifest.md"""
    manifest: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": describe(CONFIG_TYPE, config),
        "layers": [_describe_layer(layer) for layer in layers],
    }
    return encode({**manifest, "annotations": dict(annotations)} if annotations else manifest)


def describe(media_type: str, content: bytes) -> dict[str, object]:
    """A descriptor: https://github.com/opencontainers/image-spec/blob/main/descriptor.md"""
    return {"mediaType": media_type, "digest": digest_of(content), "size": len(content)}


def _describe_layer(layer: Layer) -> dict[str, object]:
    annotations = {
        LAYER_TITLE: layer.title,
        LAYER_OWNERS: " ".join(layer.owners),
        LAYER_UNPACKED: str(layer.unpacked_bytes),
    }
    return {
        "mediaType": layer.media_type,
        "digest": layer.digest,
        "size": layer.size_bytes,
        "annotations": annotations,
    }


def make_labels(planned: PlannedTarget, locked: LockedTarget, revision: str = "") -> dict[str, str]:
    """Standard labels, our own, and AMD's as aliases; the recipe's own win."""
    target, version = planned.target, str(planned.taken.version)
    labels = {
        "org.opencontainers.image.title": target.id,
        "org.opencontainers.image.description": _description(planned),
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": revision,
        TARGET_LABEL: target.id,
        "dev.rockiln.framework": target.framework,
        "dev.rockiln.framework.version": version,
        "dev.rockiln.rocm": str(target.rocm or ""),
        "dev.rockiln.rocm.origin": target.rocm_origin,
        "dev.rockiln.archs": " ".join(target.archs),
        "dev.rockiln.python": str(target.python),
        "dev.rockiln.os": target.os,
        "dev.rockiln.flavour": target.flavour,
        "dev.rockiln.evidence": planned.taken.evidence,
        "dev.rockiln.lock": hash_artifacts(locked),
        "com.amdgpu.rocm_version": str(target.rocm or ""),
        "com.amdgpu.python_version": str(target.python),
        f"com.amdgpu.{target.framework}_version": version,
    }
    labels |= {f"dev.rockiln.wheel.{name}": found for name, found in _framework_wheels(planned, locked).items()}
    return {name: text for name, text in sorted({**labels, **planned.recipe.labels}.items()) if text}


def hash_artifacts(locked: LockedTarget) -> str:
    """One hash for all that the image was made of: two images with the same value hold the same packages."""
    digests = sorted(artifact.sha256 for artifact in locked.artifacts)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _framework_wheels(planned: PlannedTarget, locked: LockedTarget) -> dict[str, str]:
    return {artifact.name: artifact.version for artifact in find_framework(planned, locked)}


def _description(planned: PlannedTarget) -> str:
    target = planned.target
    title = FRAMEWORK_TITLES.get(target.framework, target.framework)
    archs = f" for {', '.join(target.archs)}" if target.archs else ""
    platform = f"ROCm {target.rocm}{archs}" if target.rocm else "CPU"
    return f"{title} {planned.taken.version}, {platform}, Python {target.python}, {target.os}"
