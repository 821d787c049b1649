"""Every op on every arch: the compiled code, run in gfxemu, against the float64 reference.

One cell (dtypes) of each, rotated by commit; all of them with ROCKILN_NIGHTLY=1. The cases are in docs/kernels.md.
"""

from __future__ import annotations

import pytest

from harness.rotation import pick_wishes
from harness.support import judge_wish
from rockiln_kernels.table import read_origins
from rockiln_kernels.wanted_table import Wish


@pytest.mark.parametrize("wish", pick_wishes(), ids=lambda wish: f"{wish.op}-{wish.arch}-{wish.cell}")
def test_compiled_code_agrees_with_the_reference(wish: Wish) -> None:
    record = judge_wish(read_origins()[wish.op], wish.arch, wish.op, wish.cell)
    assert not record["faults"], "\n".join(record["faults"][:20])
    assert record["variants"], f"every variant is absent: {record['absent']}"
