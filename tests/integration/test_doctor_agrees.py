"""`rockiln audit` and `hipcompat doctor` read distributions each in its own way, and on the same trees agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = "opt/venv/lib/python3.12/site-packages"
SHARED = {"torch-not-hip", "jax-versions-differ", "distribution-twice"}
"""Rules of one name in both. NVIDIA's packages are judged differently: the audit is stricter with an image."""

Dists = tuple[tuple[str, str], ...]
CASES: tuple[tuple[str, Dists, str, set[str]], ...] = (
    ("HIP", (("torch", "2.8.0"),), "hip: Optional[str] = '7.0.51831'\ncuda: Optional[str] = None\n", set()),
    ("bare HIP", (("torch", "2.8.0"),), "cuda = None\nhip = '7.0.51831'\n", set()),
    ("CUDA", (("torch", "2.8.0+rocm7.0"),), "hip: Optional[str] = None\ncuda = '13.0'\n", {"torch-not-hip"}),
    ("CPU", (("torch", "2.8.0+cpu"),), "cuda = None\nhip = None\n", {"torch-not-hip"}),
    ("one JAX", (("jax", "0.6.0"), ("jaxlib", "0.6.0"), ("jax_rocm7_plugin", "0.6.0")), "", set()),
    ("a post release", (("jax", "0.6.0"), ("jaxlib", "0.6.0.post1"), ("jax-rocm7-pjrt", "0.6.0+rocm7")), "", set()),
    ("two JAX", (("jax", "0.6.2"), ("jaxlib", "0.6.0")), "", {"jax-versions-differ"}),
    ("old plugin", (("jax", "0.6.0"), ("jaxlib", "0.6.0"), ("jax_rocm60_pjrt", "0.5.0")), "", {"jax-versions-differ"}),
    ("twice", (("triton", "3.4.0"), ("triton", "3.7.0")), "", {"distribution-twice"}),
    ("twice, spelled otherwise", (("Typing.Extensions", "1"), ("typing_extensions", "2")), "", {"distribution-twice"}),
)


def _write_tree(root: Path, dists: Dists, version_py: str) -> None:
    (root / "etc/rockiln").mkdir(parents=True)
    (root / "etc/rockiln/version.json").write_text('{"rocm": "7.0.2"}')  # by which the audit knows an image with ROCm
    for name, version in dists:
        folder = root / SITE / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (folder / "RECORD").write_text("")
    if version_py:
        (root / SITE / "torch").mkdir()
        (root / SITE / "torch/version.py").write_text(f"__version__ = '2.8.0'\n{version_py}")


def _ask(*argv: str) -> set[str]:
    """The rules that a program names, as JSON."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "compat/src")}
    done = subprocess.run(
        [sys.executable, "-m", *argv, "--json"], capture_output=True, text=True, check=False, env=env, timeout=120
    )
    value = json.loads(done.stdout)
    reports = value if isinstance(value, list) else [value]
    return {finding["rule"] for report in reports for finding in report["findings"]}


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_audit_and_doctor_say_the_same(case: tuple[str, Dists, str, set[str]], tmp_path: Path) -> None:
    _, dists, version_py, wanted = case
    _write_tree(tmp_path, dists, version_py)
    assert _ask("rockiln", "audit", str(tmp_path)) & SHARED == wanted
    assert _ask("hipcompat", "doctor", "--root", str(tmp_path)) & SHARED == wanted
