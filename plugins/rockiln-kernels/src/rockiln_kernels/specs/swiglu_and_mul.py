"""swiglu_and_mul, gpt-oss's gate, and what is derived from it → SPECS."""

from __future__ import annotations

from rockiln_kernels.gate_specs import make_gate_specs
from rockiln_kernels.spec import ScalarSpec

SPECS = make_gate_specs(
    "swiglu_and_mul",
    "g * sigmoid(alpha * g) * (u + up_offset)",
    scalars=(
        ScalarSpec(name="limit", kind="f32", default=7.0),
        ScalarSpec(name="alpha", kind="f32", default=1.702),
        ScalarSpec(name="up_offset", kind="f32", default=1.0),
        ScalarSpec(name="interleaved", kind="bool", default=True),
    ),
    source="https://github.com/openai/gpt-oss, gpt_oss/torch/model.py, swiglu",
)
