"""What is looked for → RULES: every rule, by id. docs/compat-rules.md is made from this table."""

from __future__ import annotations

from collections.abc import Mapping

from hipcompat.scan.rule import Rule
from hipcompat.scan.rules.build import BUILD_RULES
from hipcompat.scan.rules.cuda import CUDA_RULES
from hipcompat.scan.rules.kernels import KERNEL_RULES
from hipcompat.scan.rules.python import PYTHON_RULES

RULES: Mapping[str, Rule] = {rule.id: rule for rule in (*KERNEL_RULES, *CUDA_RULES, *PYTHON_RULES, *BUILD_RULES)}
