"""torch/version.py, and the names and versions of JAX's packages → what a framework was built for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

JAX_ROCM = re.compile(r"jax-rocm\d+-(?:plugin|pjrt)")
JAX_CUDA = re.compile(r"jax-cuda\d+-(?:plugin|pjrt)")
"""Normalized names of the packages that make JAX use a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """What torch's build has written into torch/version.py; "" for None, and for what is not there."""

    version: str
    hip: str
    """HIP's version: the only place that says it, whatever the distribution's version is called."""
    cuda: str


def read_torch_build(text: str) -> TorchBuild:
    """The text of torch/version.py; with and without annotations."""
    return TorchBuild(
        version=_read_assigned(text, "__version__"), hip=_read_assigned(text, "hip"), cuda=_read_assigned(text, "cuda")
    )


def find_differing_jax(installed: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """jax, jaxlib and their ROCm packages, where their public versions differ; else nothing. Post releases are equal.

    `installed`: normalized name and version of everything in one site-packages. Source of the rule: jaxlib's
    plugin_support.py, which does not load a plugin of another version.
    """
    family = tuple(one for one in installed if one[0] in {"jax", "jaxlib"} or JAX_ROCM.fullmatch(one[0]))
    versions = {version.partition("+")[0].partition(".post")[0] for _, version in family}
    return family if len(versions) > 1 else ()


def _read_assigned(text: str, name: str) -> str:
    """`hip: Optional[str] = '7.0.51831'` → 7.0.51831."""
    match = re.search(rf"^{name}\s*(?::[^=\n]+)?=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE)
    return match[1] if match else ""
