"""shapes.toml: models with their public source; a pack has a variant for each of their row lengths."""

from __future__ import annotations

import pytest

from rockiln_kernels.archs import AMD_ARCHS, Arch
from rockiln_kernels.expressions import evaluate_expression
from rockiln_kernels.model_shapes import ModelShape, read_models
from rockiln_kernels.table import make_family_variants
from rockiln_kernels.variant import Variant

MODELS = read_models()


def test_the_models_that_are_promised_are_there() -> None:
    names = {model.name for model in MODELS}
    assert {"deepseek-r1", "llama-3.3-70b", "qwen3-235b", "gpt-oss-20b", "gpt-oss-120b"} <= names
    assert any(name.startswith("llama-4") for name in names)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_numbers_fit_each_other(model: ModelShape) -> None:
    assert model.source.startswith("https://huggingface.co/")
    assert model.heads % model.kv_heads == 0
    assert bool(model.experts) == bool(model.top_k) == bool(model.expert_intermediate) == bool(model.gating)
    assert model.top_k <= model.experts


def _takes(variant: Variant, length: int) -> bool:
    """Whether aligned rows of `length` satisfy the variant, divisibility included."""
    args = [arg for launch in variant.launches for arg in launch.kernel.args if arg.value == "N"]
    rules = all(evaluate_expression(rule.formula, {"N": length}) for rule in variant.requires)
    return rules and all(length % arg.divisible_by == 0 for arg in args)


@pytest.mark.parametrize("arch", AMD_ARCHS, ids=lambda arch: arch.name)
def test_every_row_of_a_model_has_wide_loads(arch: Arch) -> None:
    variants = [item for item in make_family_variants("rms_norm", arch) if (item.op, item.cell) == ("rms_norm", "bf16")]
    for model in MODELS:
        for length in (model.hidden, model.head_dim):
            taken = next(variant for variant in variants if _takes(variant, length))
            assert taken.launches[0].kernel.args[0].divisible_by == 16, f"{model.name}, {length}: {taken.key}"
