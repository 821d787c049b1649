# tier: cpu
# timeout-s: 60
"""jax is the record's version, and jaxlib, PJRT plugin and kernels plugin are of that same version."""

import importlib.metadata

import jax
import jaxlib
from record import read_record, require_from_venv

record = read_record()
require_from_venv(jax)
require_from_venv(jaxlib)
assert jax.__version__ == record["version"], (jax.__version__, record["version"])
assert jaxlib.__version__ == jax.__version__, (jaxlib.__version__, jax.__version__)
plugins = {
    item.name: item.version for item in importlib.metadata.distributions() if item.name.startswith(("jax-", "jax_"))
}
assert bool(plugins) == bool(record["rocm"]), plugins
assert set(plugins.values()) <= {jax.__version__}, plugins
print(jax.__version__, plugins)
