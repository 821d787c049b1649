"""torch.ops.rockiln on a fake GPU: the bytes that the kernels' own suite gets, on four archs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from fake_gpu.card import find_packs, use_card
from fake_gpu.stored import read_stored

pytestmark = pytest.mark.skipif("ROCKILN_TEST_PACKS" not in os.environ, reason="no packs: nox -s torch makes them")
ARCHS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


def _list_calls() -> list[Path]:
    """What make_packs.py took by rotation: executing machine code takes a second or two a call."""
    folder = Path(os.environ.get("ROCKILN_TEST_PACKS", "/nowhere"))
    return sorted(path for arch in ARCHS for path in (folder / arch / "calls").glob("*.npz"))


@pytest.mark.parametrize("path", _list_calls(), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_op_gives_the_kernels_bytes(path: Path) -> None:
    stored = read_stored(path)
    arch = path.parts[-3]
    with use_card(arch, path.parents[1] / "pack") as card:
        outputs = stored.call()
        launches = card.count("launches")
        assert card.fault is None
    assert launches, f"{stored.variant} was not launched"
    for output, value in zip(stored.form.spec.outputs, outputs, strict=True):
        got = value.contiguous().view(torch.uint8).flatten().numpy().tobytes()
        assert got == stored.expected[output.name], output.name


def test_every_arch_has_packs() -> None:
    for arch in ARCHS:
        assert (find_packs() / arch / "pack").is_dir()
        assert any(find_packs().glob(f"{arch}/calls/*.npz"))
