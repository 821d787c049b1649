"""Names that leave the repository: tags and bake names, one to one with ids."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matrix_text import CPU_ROW, GPU_ROW, TOP, plan_text

from rockiln.errors import UsageError
from rockiln.names import ID_PATTERN, escape_bake_name, escape_tag, image_reference

IDS = st.from_regex(ID_PATTERN, fullmatch=True).filter(lambda text: len(text) <= 128)


@given(IDS)
def test_tag_is_one_that_registries_take(target_id: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}", escape_tag(target_id))


@given(IDS)
def test_bake_name_is_one_that_bake_takes(target_id: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]+", escape_bake_name(target_id))


@given(IDS)
def test_escapes_lose_nothing(target_id: str) -> None:
    assert escape_tag(target_id).replace("_", "+") == target_id
    assert escape_bake_name(target_id).replace("__", "+").replace("_", ".") == target_id


@pytest.mark.parametrize("bad", ["", "Torch-2.8", "torch_2.8", "torch-2.8-", "torch..2", "a/b", "a:b", "-a"])
def test_what_is_no_id_is_refused(bad: str) -> None:
    with pytest.raises(UsageError, match="is not a target id"):
        escape_tag(bad)


def test_tag_that_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="make no tag"):
        escape_tag("-".join(["gfx942"] * 20))


def test_reference_holds_framework_and_id() -> None:
    assert [image_reference(planned) for planned in plan_text(TOP + CPU_ROW + GPU_ROW).targets] == [
        "rockiln/jax:jax-0.6.2-cpu-py3.11-debian-12",
        "rockiln/torch:torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942_gfx950",
    ]
