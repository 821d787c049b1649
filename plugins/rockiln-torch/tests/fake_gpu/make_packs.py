"""Families and archs → packs of a few variants, and of each a call with the bytes that gfxemu alone computes.

`python -m fake_gpu.make_packs FOLDER`, where triton and gfxemu are installed; torch is not needed. A folder an arch:
FOLDER/gfx942/pack and FOLDER/gfx942/calls/N.npz. What is there already is kept.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness.case import Array, Case
from harness.execute import Prepared, describe_call, execute, prepare
from harness.judge import make_cases
from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.archs import ARCHS, Arch
from rockiln_kernels.call import Accepted
from rockiln_kernels.pack.build import Pack, build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.index import VERSION
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_table
from rockiln_kernels.variant import Variant

FOUR = ("gfx942", "gfx950", "gfx1100", "gfx1201")
OFTEN_USED = "gfx942"
ALWAYS = tuple(
    f"{op}{direction}/bf16/{form}"
    for op, forms in (("rms_norm", ("row1024",)), ("silu_and_mul", ("block256-halves", "block1024-halves")))
    for direction in ("", "_backward")
    for form in forms
)
"""Variants in the pack of OFTEN_USED: the tests of gradients, streams and speed use them."""
MAGIC = "made.json"


def pick_variants(arch: Arch) -> tuple[Variant, ...]:
    """By day a variant of every third family, by the commit's rotation; by night three of each; and ALWAYS."""
    rotation, families = read_rotation(), read_families()
    first = (rotation + FOUR.index(arch.name)) % 3
    chosen: list[Variant] = []
    for index, family in enumerate(families):
        variants = make_family_variants(family, arch)
        count = min(len(variants), 3) if NIGHTLY else int(index % 3 == first)
        chosen += [variants[(rotation // 3 + place * 7) % len(variants)] for place in range(count)]
        if arch.name == OFTEN_USED:
            chosen += [item for item in variants if item.key in ALWAYS]
    return tuple({item.key: item for item in chosen}.values())


def make_pack(arch: Arch, folder: Path) -> None:
    """The pack, and a call a variant of the first case that is given to it."""
    pack = build_pack(arch, pick_variants(arch), find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    folder.mkdir(parents=True, exist_ok=True)
    write_pack(pack, folder / "pack")
    calls = folder / "calls"
    calls.mkdir()
    for number, content in enumerate(_make_calls(pack)):
        np.savez(calls / f"{number:03}.npz", **content)
    (folder / MAGIC).write_text(json.dumps(_describe_packs()))


def _describe_packs() -> dict[str, object]:
    """What packs that are kept must be of."""
    return {"rotation": read_rotation(), "nightly": NIGHTLY, "index": VERSION}


def _make_calls(pack: Pack) -> Iterator[dict[str, Any]]:
    for variant in pack.manifest.variants:
        spec = read_table()[variant.op]
        for case in make_cases(variant.op, variant.cell):
            prepared = None if case.is_misaligned else prepare(spec, variant.cell, case, pack, variant)
            if isinstance(prepared, Prepared) and _is_small(prepared, case):
                yield _store_call(variant.key, prepared, case, execute(prepared, case, pack))
                break


def _is_small(prepared: Prepared, case: Case) -> bool:
    return isinstance(prepared.accepted, Accepted) and sum(array.size for array in case.arrays.values()) < 200_000


def _store_call(key: str, prepared: Prepared, case: Case, outputs: dict[str, Array] | Any) -> dict[str, Any]:
    call = describe_call(prepared.spec, prepared.accepted.cell, case)
    facts = {
        "op": prepared.spec.name,
        "variant": key,
        "case": case.name,
        "scalars": {name: value.item() if hasattr(value, "item") else value for name, value in case.scalars.items()},
        "dtypes": prepared.spec.cell_dtypes(prepared.accepted.cell),
        "strides": {name: value.strides for name, value in call.arrays.items()},
        "shapes": {name: value.shape for name, value in call.arrays.items()},
    }
    arrays = {f"in_{name}": _read_bytes(array) for name, array in case.arrays.items()}
    arrays |= {f"out_{name}": _read_bytes(array) for name, array in outputs.items()}
    return {"facts": np.array(json.dumps(facts)), **arrays}


def _read_bytes(array: Array) -> Array:
    """The values as unsigned numbers, without gaps."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}") if array.size else np.zeros(array.shape, "u1")


def main(folder: Path) -> None:
    """Every arch that is wanted and not there."""
    archs = os.environ.get("ROCKILN_FAKE_ARCHS", ",".join(FOUR)).split(",")
    for name in archs:
        made = folder / name / MAGIC
        if not made.is_file() or json.loads(made.read_text()) != _describe_packs():
            import shutil

            shutil.rmtree(folder / name, ignore_errors=True)
            make_pack(ARCHS[name], folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
