"""Command line → ExportRequest: what a format may need, checked once. Values only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from rockiln.archs import LLVM_TARGETS
from rockiln.errors import UsageError
from rockiln.plan import PlannedTarget
from rockiln.tables import quote, suggest

GPU_TIERS = ("gpu", "multi-gpu")
_LABEL_WORD = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_WORD}")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Machines of a CI system, by the labels that choose them."""

    arch: str
    tier: str
    """"gpu" or "multi-gpu"."""
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """How a GPU is asked for where images are run."""

    gpus: int = 2
    """Of a multi-gpu job."""
    groups: tuple[int, ...] = ()
    """Numeric supplemental groups of the nodes."""
    shm_size: str = "8Gi"
    node_labels: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Arch → key and value, instead of what AMD's node labeller writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attesting:
    """Who attaches the results of GPU checks to an image, from a pod."""

    image: str
    """Has rockiln on its path, and the project in its working directory."""
    key_secret: str = ""
    """Name of the Secret with the key that signs; "" attaches results unsigned."""
    login_secret: str = ""
    """Name of the Secret with the registry's password; "" for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What to write, for which rows."""

    targets: tuple[PlannedTarget, ...]
    shards: tuple[tuple[str, ...], ...]
    """Ids of the targets that one machine builds, in turn."""
    repository: str
    """HOST/NAME with {framework}; "" where nothing named it."""
    images: Mapping[str, str]
    """Target id → HOST/NAME@sha256:…, for what runs images."""
    command: str
    """The command line that writes the same again; stands in the files."""
    install: str = "rockiln"
    """Words after `pip install`."""
    packages: tuple[str, ...] = ()
    """Debian packages that jobs need on their machines."""
    build_args: tuple[str, ...] = ()
    build_labels: tuple[str, ...] = ()
    runners: tuple[Runner, ...] = ()
    job_image: str = ""
    cache: str = ""
    """HOST/NAME that builds take finished layers from and leave them in; "" for none."""
    branch: str = "main"
    is_signed: bool = True
    allow_untested: bool = False
    builder_image: str = "rockiln-builder"
    bundle: str = ""
    pod: Pod = field(default_factory=Pod)
    attesting: Attesting | None = None
    """None: Jobs run the checks in the image itself, and attach nothing."""


def parse_runners(words: Sequence[str]) -> tuple[Runner, ...]:
    """"gfx942=self-hosted,mi300" or "gfx942/multi-gpu=…" → Runner. Raises UsageError."""
    runners = [_parse_runner(word) for word in words]
    places = [(runner.arch, runner.tier) for runner in runners]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"--runner: {'/'.join(place)} is named twice", hint="labels of one kind go together: A,B")
    return tuple(sorted(runners, key=lambda runner: (runner.arch, runner.tier)))


def _parse_runner(word: str) -> Runner:
    place, equals, labels = word.partition("=")
    arch, _, tier = place.partition("/")
    if not equals or not all(labels.split(",")):
        raise UsageError(f"--runner {quote(word)} is not ARCH=LABEL,...", hint="gfx942=self-hosted,mi300")
    require_arch(arch, "--runner")
    if (tier := tier or "gpu") not in GPU_TIERS:
        raise UsageError(f"--runner: no tier {quote(tier)}{suggest(tier, GPU_TIERS)}", hint="gfx942/multi-gpu=LABEL")
    return Runner(arch=arch, tier=tier, labels=tuple(labels.split(",")))


def parse_node_labels(words: Sequence[str], archs: Collection[str]) -> Mapping[str, tuple[str, str]]:
    """"gfx942=KEY=VALUE" → by arch. Raises UsageError, also for an arch that no target has."""
    found: dict[str, tuple[str, str]] = {}
    for word in words:
        arch, _, label = word.partition("=")
        key, equals, value = label.partition("=")
        if not (_LABEL_KEY.fullmatch(key) and equals and re.fullmatch(_LABEL_WORD, value)):
            hint = "gfx942=amd.com/gpu.product-name=NAME, as `kubectl get nodes --show-labels` has it"
            raise UsageError(f"--node-label {quote(word)} is not ARCH=KEY=VALUE", hint=hint)
        require_arch(arch, "--node-label")
        if arch in found:
            raise UsageError(f"--node-label: {arch} is named twice", hint="one label an arch")
        if arch not in archs:
            hint = "rockiln plan lists the targets, with their archs"
            raise UsageError(f"--node-label {arch}: no target is made for it", hint=hint)
        found[arch] = (key, value)
    return found


def require_arch(arch: str, option: str) -> None:
    """Raises UsageError for a name that LLVM does not have."""
    if arch not in LLVM_TARGETS:
        message = f"{option}: {quote(arch)} is no GPU{suggest(arch, LLVM_TARGETS)}"
        raise UsageError(message, hint="LLVM's names: gfx942, gfx1100")
