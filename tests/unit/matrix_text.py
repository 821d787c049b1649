"""A small matrix.toml, as text, to vary in tests."""

from __future__ import annotations

from pathlib import Path

from rockiln.compatibility import read_compatibility
from rockiln.matrix import parse_matrix
from rockiln.plan import Plan, make_plan
from rockiln.recipe_file import read_recipes

ROOT = Path(__file__).parents[2]

TOP = """schema = 1

[sources.wheels]
kind = "wheel-index"

[sources.debs]  # a comment that must survive
kind = "debian-archive"
distribution = "debian"
suites = ["bookworm"]
keyring = "debian-archive-keyring.gpg"
check-valid-until = false

[mirrors]
wheels = ["https://mirror.example.com/simple"]

[candidates."jax-0.6.2-cpu"]
version = "0.6.2"
wheels = ["jax==0.6.2", "jaxlib==0.6.2"]
evidence = "proven"
evidence-source = "a test"

[candidates."torch-2.8.0-rocm7.0.2"]
version = "2.8.0"
wheels = ["torch===2.8.0+rocm7.0.2.lw.git245bf6ed"]
evidence = "conjectured"
evidence-source = "a guess"
"""

CPU_ROW = """
[[target]]
framework = "jax"
python = "3.11"
os = "debian-12"
sources = ["wheels", "debs"]
candidates = ["jax-0.6.2-cpu"]
"""

GPU_ROW = """
[[target]]
framework = "torch"
rocm = "7.0.2"
python = "3.12"
os = "ubuntu-24.04"
archs = ["gfx942", "gfx950"]
sources = ["wheels"]
candidates = ["torch-2.8.0-rocm7.0.2"]
"""

CPU_ID = "jax-0.6.2-cpu-py3.11-debian-12"
GPU_ID = "torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950"


def plan_text(text: str) -> Plan:
    """Plan a matrix given as text, with the repository's recipes and table."""
    return make_plan(parse_matrix(text, Path("matrix.toml")), read_recipes(ROOT / "images"), read_compatibility())


def add_candidate(name: str, version: str, *wheels: str) -> str:
    """A [candidates.NAME] table."""
    pins = ", ".join(f'"{wheel}"' for wheel in wheels)
    return f"""
[candidates."{name}"]
version = "{version}"
wheels = [{pins}]
evidence = "named"
evidence-source = "a test"
"""
