# tier: cpu
# timeout-s: 120
"""jaxlib finds ROCm's plugin by name and registers its back end; a library that is missing is one declared absent."""

import ctypes
import importlib
import importlib.metadata
import os

from record import find_absent, read_record

os.environ["JAX_PLATFORMS"] = "cpu"  # discovery happens all the same; no GPU is asked for

from jax._src import xla_bridge
from jaxlib import plugin_support

KERNELS = ("_hybrid", "_linalg", "_prng", "_rnn", "_solver", "_sparse", "_triton", "rocm_plugin_extension")
record = read_record()
OWN = "rockiln_jax.plugin"
"""Ours registers kernels and no back end; check_own_packages looks after it."""
points = [point.value for point in importlib.metadata.entry_points(group="jax_plugins") if point.value != OWN]


def check_rocm() -> None:
    assert points == ["jax_plugins.xla_rocm7"], points
    found = plugin_support.import_from_plugin("rocm", "version")
    assert found is not None, "jaxlib looks for another plugin than the one installed"
    assert found.__name__ == "jax_rocm7_plugin.version", found
    for name in KERNELS:
        load(lambda name=name: importlib.import_module(f"jax_rocm7_plugin.{name}"), name)
    spec = importlib.util.find_spec("jax_plugins.xla_rocm7")
    library = os.path.join(os.path.dirname(spec.origin), "xla_rocm_plugin.so")  # noqa: PTH118, PTH120
    loaded = load(lambda: ctypes.CDLL(library), "xla_rocm_plugin.so")
    xla_bridge.discover_pjrt_plugins()
    registered = "rocm" in xla_bridge._backend_factories  # noqa: SLF001
    assert registered == loaded, f"the library {'loads' if loaded else 'does not load'}, registered: {registered}"


def load(action, name: str) -> bool:
    """Whether it loads; a failure must name a library that the image says it does not hold."""
    try:
        action()
    except (ImportError, OSError) as error:
        absent = find_absent(record, error)
        assert absent, f"{name}: {error}"
        print(f"{name} does not load, as declared: {absent}")
        return False
    return True


if record["rocm"]:
    check_rocm()
else:
    assert not points, points
    xla_bridge.discover_pjrt_plugins()
    assert xla_bridge.get_backend().platform == "cpu"
