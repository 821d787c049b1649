"""Manifests of kernel packs (docs/packs.md) → which ops an image has kernels for: arch → op → number of variants."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping

MANIFEST = re.compile(r"(?:.*/)?(?:site|dist)-packages/rockiln_kernels_[a-z0-9_]+/pack/manifest\.json")
"""Where packs lie: a distribution for each arch."""

Ops = Mapping[str, Mapping[str, int]]


def count_ops(manifests: Iterable[bytes]) -> dict[str, dict[str, int]]:
    """Sorted. A manifest that is none counts for nothing: the audit names it."""
    found: dict[str, Counter[str]] = {}
    for content in manifests:
        try:
            value = json.loads(content)
            arch, ops = str(value["arch"]), [str(variant["op"]) for variant in value["variants"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        found.setdefault(arch, Counter()).update(ops)
    return {arch: dict(sorted(ops.items())) for arch, ops in sorted(found.items())}
