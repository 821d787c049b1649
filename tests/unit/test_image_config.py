"""Config and manifest: what they say, and what must not be in them."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any

from imaging import make_locked, make_wheel, plan_jax

from rockiln.image import Layer
from rockiln.image_config import make_config, make_labels, make_manifest

LAYERS = tuple(
    Layer(
        digest=f"sha256:{number:064}", diff_id=f"sha256:{number + 5:064}", size_bytes=10 + number, unpacked_bytes=99,
        media_type="application/vnd.oci.image.layer.v1.tar+gzip", owners=("deb:a", "deb:b"), title=title,
    )
    for number, title in enumerate(("os: 2 packages", "image: what rockiln generates"))
)  # fmt: skip
WHEELS = (make_wheel("jax", "0.6.2"), make_wheel("jaxlib", "0.6.2"), make_wheel("numpy", "2.3.0"))


def read_config(*, rocm: bool = True, revision: str = "") -> dict[str, Any]:
    planned = plan_jax(rocm=rocm)
    value: dict[str, Any] = json.loads(make_config(planned, make_locked(planned, *WHEELS), LAYERS, revision))
    return value


def test_config_starts_the_recipes_command_through_the_entrypoint() -> None:
    start = read_config()["config"]
    assert start["Entrypoint"] == ["/usr/lib/rockiln/entrypoint"]
    assert start["Cmd"] == ["python"]
    assert start["WorkingDir"] == "/work"
    assert start["User"] == "root"


def test_config_names_each_layer_in_order() -> None:
    config = read_config()
    assert config["rootfs"] == {"type": "layers", "diff_ids": [layer.diff_id for layer in LAYERS]}
    assert [step["created_by"] for step in config["history"]] == [
        "rockiln: os: 2 packages", "rockiln: image: what rockiln generates",
    ]  # fmt: skip


def test_config_holds_no_time_of_the_build_and_no_host() -> None:
    text = json.dumps(read_config())
    assert read_config()["created"] == "1980-01-01T00:00:00Z"
    assert socket.gethostname() not in text
    assert "http" not in text


def test_environment_guards_the_framework_and_the_recipe_has_the_last_word() -> None:
    env = dict(pair.split("=", 1) for pair in read_config()["config"]["Env"])
    assert env["PIP_CONSTRAINT"] == env["UV_CONSTRAINT"] == "/etc/rockiln/constraints.txt"
    assert env["UV_OVERRIDE"] == "/etc/rockiln/overrides.txt"
    assert env["PATH"].startswith("/opt/venv/bin:")
    assert "LD_LIBRARY_PATH" not in env
    planned = plan_jax()
    recipe = replace(planned.recipe, env={"PIP_CONSTRAINT": "/mine"})
    planned = replace(planned, recipe=recipe)
    assert "PIP_CONSTRAINT=/mine" in json.loads(make_config(planned, make_locked(planned), LAYERS))["config"]["Env"]


def test_labels_are_standard_ours_and_amds() -> None:
    labels = read_config()["config"]["Labels"]
    assert labels["org.opencontainers.image.title"] == labels["dev.rockiln.target"]
    assert labels["org.opencontainers.image.description"] == (
        "JAX 1.0, ROCm 7.0.2 for gfx942, gfx950, Python 3.11, debian-12"
    )
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["dev.rockiln.archs"] == "gfx942 gfx950"
    assert labels["dev.rockiln.wheel.jaxlib"] == "0.6.2"
    assert labels["com.amdgpu.rocm_version"] == "7.0.2"
    assert labels["com.amdgpu.jax_version"] == "1.0"
    assert labels["com.amdgpu.python_version"] == "3.11"


def test_a_cpu_image_has_no_rocm_labels() -> None:
    labels = read_config(rocm=False)["config"]["Labels"]
    assert not [name for name in labels if "rocm" in name]


def test_revision_is_there_only_when_given() -> None:
    assert "org.opencontainers.image.revision" not in read_config()["config"]["Labels"]
    assert read_config(revision="abc123")["config"]["Labels"]["org.opencontainers.image.revision"] == "abc123"


def test_lock_label_follows_the_artifacts_and_not_their_order() -> None:
    planned = plan_jax()
    name = "dev.rockiln.lock"
    first = make_labels(planned, make_locked(planned, *WHEELS))[name]
    assert make_labels(planned, make_locked(planned, *reversed(WHEELS)))[name] == first
    changed = replace(WHEELS[0], sha256="b" * 64)
    assert make_labels(planned, make_locked(planned, changed, *WHEELS[1:]))[name] != first


def test_manifest_describes_config_and_layers() -> None:
    config = b"{}"
    manifest = json.loads(make_manifest(config, LAYERS))
    assert manifest["schemaVersion"] == 2
    assert manifest["config"]["size"] == 2
    assert [layer["digest"] for layer in manifest["layers"]] == [layer.digest for layer in LAYERS]
    assert manifest["layers"][0]["annotations"] == {
        "dev.rockiln.layer.title": "os: 2 packages",
        "dev.rockiln.layer.owners": "deb:a deb:b",
        "dev.rockiln.layer.unpacked-bytes": "99",
    }
