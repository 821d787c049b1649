"""A target's GPU tier → the values of a Kubernetes Job that smokes the published image and attaches what it found.

The pod runs rockiln, and rockiln the image: in its embedded engine, since no Docker Engine is there. That makes
namespaces and mounts, for which the pod is privileged: only on nodes that one trusts it with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rockiln.checks import Check
from rockiln.export.pods import MEMORY_MOUNT, choose_nodes, limit_gpus, make_memory, make_name, wrap_pod
from rockiln.export.request import Attesting, Pod
from rockiln.plan import PlannedTarget

KEY_FOLDER, LOGIN_FOLDER, CACHE_FOLDER = "/run/rockiln/key", "/run/rockiln/docker", "/var/cache/rockiln"
KEY_FILE, PASSWORD_KEY = "cosign.key", "cosign.password"  # names
"""Keys of the Secret that `cosign generate-key-pair k8s://NAMESPACE/NAME` makes."""
LOGIN_KEY = ".dockerconfigjson"
"""Of a Secret of type kubernetes.io/dockerconfigjson, as `kubectl create secret docker-registry` makes it."""


def make_attesting_job(
    planned: PlannedTarget, arch: str, tier: str, checks: Sequence[Check], image: str, pod: Pod, attesting: Attesting
) -> dict[str, Any]:
    """One pod on a node with such GPUs; it is tried once, and fails where a check did, or found no GPU."""
    spec: dict[str, Any] = {
        **choose_nodes(arch, pod),
        "containers": [_make_container(tier, image, pod, attesting)],
        "volumes": _list_volumes(pod, attesting),
    }
    return wrap_pod(planned, make_name(planned.id, "attest", tier, arch), checks, spec)


def _make_container(tier: str, image: str, pod: Pod, attesting: Attesting) -> dict[str, Any]:
    seal = ["--key", f"{KEY_FOLDER}/{KEY_FILE}"] if attesting.key_secret else ["--unsigned"]
    env: list[dict[str, Any]] = []
    mounts = [{"name": "cache", "mountPath": CACHE_FOLDER}, MEMORY_MOUNT]
    if attesting.key_secret:
        reference = {"name": attesting.key_secret, "key": PASSWORD_KEY}
        env.append({"name": "COSIGN_PASSWORD", "valueFrom": {"secretKeyRef": reference}})
        mounts.append({"name": "key", "mountPath": KEY_FOLDER})
    if attesting.login_secret:
        env.append({"name": "DOCKER_CONFIG", "value": LOGIN_FOLDER})
        mounts.append({"name": "login", "mountPath": LOGIN_FOLDER})
    return {
        "name": "attest",
        "image": attesting.image,
        "command": ["rockiln", "--cache", CACHE_FOLDER, "smoke", image, "--tier", tier, "--engine", "embedded",
                    "--attest", *seal],
        **({"env": env} if env else {}),
        "securityContext": {"privileged": True},
        "resources": limit_gpus(tier, pod),
        "volumeMounts": mounts,
    }  # fmt: skip


def _list_volumes(pod: Pod, attesting: Attesting) -> list[dict[str, Any]]:
    """A Secret is readable by the container's root alone."""
    volumes: list[dict[str, Any]] = [{"name": "cache", "emptyDir": {}}, make_memory(pod)]
    if attesting.key_secret:
        volumes.append(_make_secret("key", attesting.key_secret, KEY_FILE, KEY_FILE))
    if attesting.login_secret:
        volumes.append(_make_secret("login", attesting.login_secret, LOGIN_KEY, "config.json"))
    return volumes


def _make_secret(name: str, secret: str, key: str, path: str) -> dict[str, Any]:
    return {
        "name": name,
        "secret": {"secretName": secret, "defaultMode": 0o400, "items": [{"key": key, "path": path}]},
    }
