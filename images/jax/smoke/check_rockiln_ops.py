# tier: cpu
# timeout-s: 900
"""rockiln_jax.ops has every op of the table, and each gives on the CPU what the golden files say."""

import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

from own_packages import find_plugin

if not find_plugin():
    print("this image has no rockiln-jax")
    sys.exit()

from golden_ops import check_cases, check_table

from rockiln_jax import ops
from rockiln_kernels.table import read_table

check_table(ops)
check_cases(ops)
print(f"{len(read_table())} ops: {', '.join(read_table())}; a golden case of each is right on the CPU")
