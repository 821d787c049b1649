"""The entry point: what JAX's first look for devices does, with a PJRT plugin for ROCm beside it and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROBE = """
import sys, jax
jax.devices()
loaded = [name for name in sys.modules if name.startswith("rockiln_kernels")]
routed = "rockiln_jax.lowering" in sys.modules and sys.modules["rockiln_jax.lowering"].has_route("rocm")
print(len(loaded), routed)
"""


def _ask(path: Path) -> tuple[int, str]:
    """How many modules of rockiln-kernels there are once JAX has looked for devices, and whether `rocm` has a route."""
    environ = {**os.environ, "PYTHONPATH": str(path), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, env=environ)
    assert done.stderr == ""
    count, routed = done.stdout.split()
    return int(count), routed


def test_without_a_rocm_plugin_nothing_is_imported(tmp_path: Path) -> None:
    assert _ask(tmp_path) == (0, "False")


def test_with_a_rocm_plugin_the_kernels_are_registered_quietly(tmp_path: Path) -> None:
    plugin = tmp_path / "jax_plugins" / "xla_rocm_demo"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text("def initialize():\n    pass\n", encoding="utf-8")
    count, routed = _ask(tmp_path)
    assert count > 0
    assert routed == "True"


def test_dir_lists_what_is_imported_on_first_use() -> None:
    import rockiln_jax

    listed = dir(rockiln_jax)
    assert set(rockiln_jax.__all__) <= set(listed)
    assert all(hasattr(rockiln_jax, name) for name in listed)
