"""A target's GPU checks → the values of Kubernetes objects that run them in a pod: ConfigMaps and Jobs.

API: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rockiln import run_check
from rockiln.checks import Check
from rockiln.errors import UsageError
from rockiln.export.request import Pod
from rockiln.plan import PlannedTarget
from rockiln.smoke import MOUNTED

RUNNER = "runner"
"""A volume of its own: no other volume can be mounted inside one that is read-only."""
RESOURCE = "amd.com/gpu"
DEVICE_ID = "amd.com/gpu.device-id"
"""What AMD's node labeller writes: https://github.com/ROCm/k8s-device-plugin/tree/master/cmd/k8s-node-labeller"""
DEVICE_IDS = {
    "gfx908": ("738c", "738e"),
    "gfx90a": ("7408", "740c", "740f"),
    "gfx942": ("74a0", "74a1", "74a2", "74a5", "74a8", "74a9", "74b5", "74b6", "74b9", "74bd"),
    "gfx950": ("75a0", "75a3", "75a8", "75b0", "75b3"),
    "gfx1100": ("7448", "7449", "744a", "744b", "744c", "745e"),
    "gfx1101": ("7460", "7461", "7470", "747e"),
    "gfx1200": ("7590",),
    "gfx1201": ("7550", "7551"),
}
"""Arch → PCI device ids, from two lists: https://pci-ids.ucw.cz/read/PC/1002 (Debian's pci.ids 0.0~2026.10.24) and
libdrm's data/amdgpu.ids (https://gitlab.freedesktop.org/mesa/libdrm, 2.4.134). Both have gfx950's 75a0 (MI350X) and
75a3 (MI355X); 75a8 (MI350P) is of the first, 75b0 and 75b3 (their virtual functions) are of the second.
tests/integration/test_device_ids.py holds all of them against both."""
MEMORY_MOUNT = {"name": "shm", "mountPath": "/dev/shm"}  # noqa: S108  # inside a pod
CONFIG_MAP_BYTES = 1_000_000
"""etcd takes one MiB, with names: https://kubernetes.io/docs/concepts/configuration/configmap/"""
NAME_LIMIT = 63
KEPT_S = 86400
"""How long a finished job can be read."""
STARTING_S = 1800
"""For finding a node and pulling the image."""


def make_name(target_id: str, *words: str) -> str:
    """A DNS label; what had to be cut or replaced is told apart by a hash."""
    whole = "-".join((target_id, *words))
    if re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", whole) and len(whole) <= NAME_LIMIT:
        return whole
    end = "-".join((*words, hashlib.sha256(whole.encode()).hexdigest()[:8]))
    label = re.sub(r"[^a-z0-9-]+", "-", target_id.lower())
    return f"{label[: NAME_LIMIT - 1 - len(end)].strip('-')}-{end}"


def make_config_maps(planned: PlannedTarget) -> Iterator[dict[str, Any]]:
    """The runner, and each folder of checks: as `rockiln smoke` mounts them. Raises UsageError where one is large."""
    runner = Path(run_check.__file__)
    yield _make_config_map(planned, RUNNER, (runner,))
    for folder in _list_folders(planned):
        yield _make_config_map(planned, folder.parent.name, sorted(folder.glob("*.py")))


def _list_folders(planned: PlannedTarget) -> tuple[Path, ...]:
    recipe = planned.recipe
    return tuple(path for path in recipe.smoke_paths or (recipe.smoke_path,) if path.is_dir())


def _make_config_map(planned: PlannedTarget, word: str, paths: Sequence[Path]) -> dict[str, Any]:
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths}
    if sum(map(len, texts.values())) > CONFIG_MAP_BYTES:
        hint = "Kubernetes takes 1 MiB; move what is no program to another folder"
        raise UsageError(f"{paths[0].parent} is too large for a ConfigMap", hint=hint)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": make_name(planned.id, word), "labels": _make_labels(planned)},
        "data": texts,
    }


def _make_labels(planned: PlannedTarget) -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "rockiln", "app.kubernetes.io/part-of": make_name(planned.id)}


def make_job(
    planned: PlannedTarget, arch: str, tier: str, checks: Sequence[Check], image: str, pod: Pod
) -> dict[str, Any]:
    """One pod that runs the checks of a tier in turn on a node with such GPUs; it is tried once."""
    volumes = {word: f"{MOUNTED}/{word}" for word in (RUNNER, *(path.parent.name for path in _list_folders(planned)))}
    container = {
        "name": "smoke",
        "image": image,
        "command": ["/bin/sh", "-c", _make_script(planned, checks)],
        "resources": limit_gpus(tier, pod),
        "volumeMounts": [
            MEMORY_MOUNT,
            *({"name": make_name(name), "mountPath": place, "readOnly": True} for name, place in volumes.items()),
        ],
    }  # fmt: skip
    maps = [
        {"name": make_name(name), "configMap": {"name": make_name(planned.id, name)}} for name in volumes
    ]
    spec: dict[str, Any] = {
        **({"securityContext": {"supplementalGroups": [*pod.groups]}} if pod.groups else {}),
        **choose_nodes(arch, pod),
        "containers": [container],
        "volumes": [make_memory(pod), *maps],
    }
    return wrap_pod(planned, make_name(planned.id, tier, arch), checks, spec)


def make_memory(pod: Pod) -> dict[str, Any]:
    """The volume of MEMORY_MOUNT."""
    return {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": pod.shm_size}}


def limit_gpus(tier: str, pod: Pod) -> dict[str, Any]:
    """What a container of a tier asks its node for."""
    return {"limits": {RESOURCE: pod.gpus if tier == "multi-gpu" else 1}}


def wrap_pod(planned: PlannedTarget, name: str, checks: Sequence[Check], spec: Mapping[str, Any]) -> dict[str, Any]:
    """The Job that tries the pod of this `spec` once, for as long as the checks may take."""
    whole = {"restartPolicy": "Never", "automountServiceAccountToken": False, **spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": _make_labels(planned)},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": STARTING_S + round(sum(check.timeout_s for check in checks)),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {"metadata": {"labels": _make_labels(planned)}, "spec": whole},
        },
    }


def choose_nodes(arch: str, pod: Pod) -> dict[str, Any]:
    """By the label that was named, else by what AMD's labeller writes. Raises UsageError for an arch without either."""
    if arch in pod.node_labels:
        key, value = pod.node_labels[arch]
        return {"nodeSelector": {key: value}}
    if arch not in DEVICE_IDS:
        hint = f"--node-label {arch}=amd.com/gpu.product-name=NAME, as `kubectl get nodes --show-labels` has it"
        raise UsageError(f"nothing says which nodes have {arch}", hint=hint)
    match = {"key": DEVICE_ID, "operator": "In", "values": [*DEVICE_IDS[arch]]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [match]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def _make_script(planned: PlannedTarget, checks: Sequence[Check]) -> str:
    """All checks run; the pod fails where one failed, or had no GPU (77)."""
    places = {path: f"{MOUNTED}/{path.parent.name}" for path in _list_folders(planned)}
    folders = " ".join(map(shlex.quote, places.values()))
    lines = [
        "failed=0",
        "check() {",
        '  echo "== $1"',
        f'  timeout --kill-after=10 "$3" python {MOUNTED}/{RUNNER}/run_check.py "$2" "$4" {folders}',
        "  code=$?",
        "  case $code in",
        '    0) echo "$1: passed" ;;',
        '    77) echo "$1: unavailable"; failed=1 ;;',
        '    *) echo "$1: failed, exit code $code"; failed=1 ;;',
        "  esac",
        "}",
    ]
    for check in checks:
        path = f"{places[check.path.parent]}/{check.path.name}"
        dump_after_s = max(check.timeout_s * 0.8, check.timeout_s - 3)
        lines.append(f"check {shlex.quote(check.name)} {shlex.quote(path)} {check.timeout_s:g} {dump_after_s:g}")
    return "\n".join((*lines, 'exit "$failed"')) + "\n"
