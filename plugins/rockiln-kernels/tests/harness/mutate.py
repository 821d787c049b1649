"""A pack of one arch → mutants, each with one instruction removed, and how many of them the cases notice.

`python -m harness.mutate ARCH COUNT` prints the rates. A mutant that cannot matter is of a class in equivalent.py,
fixed beforehand; whatever else survives is a miss.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.case import Case
from harness.compare import find_differences
from harness.equivalent import PROLOGUE, PROLOGUE_BYTES, explain
from harness.execute import execute, prepare
from harness.judge import compute_reference, make_cases
from rockiln_kernels.archs import ARCHS, Arch
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.spec import Rejected
from rockiln_kernels.table import make_family_variants, read_families, read_table
from rockiln_kernels.variant import Variant

S_NOP = bytes.fromhex("000080bf")
STEP_LIMIT = 2_000_000

@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One instruction of one kernel, removed; `equivalent` names its class, empty if it should be noticed."""

    variant: str
    file: str
    address: int
    text: str
    equivalent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What gave a mutant away; empty if nothing did."""

    mutant: Mutant
    noticed: str


def draw_mutants(pack: Pack, count: int, seed: int) -> Iterator[tuple[Mutant, VariantEntry, Pack]]:
    """`count` mutants, each op in turn, variant and instruction at random; with the pack that holds the mutant."""
    import gfxemu

    generator = np.random.default_rng(seed)
    by_op: dict[str, list[VariantEntry]] = {}
    for variant in pack.manifest.variants:
        by_op.setdefault(variant.op, []).append(variant)
    ops = sorted(by_op)
    for number in range(count):
        choices = by_op[ops[number % len(ops)]]
        variant = choices[generator.integers(len(choices))]
        launch = variant.launches[generator.integers(len(variant.launches))]
        file = pack.manifest.kernels[launch.kernel].file
        code = gfxemu.load(pack.code[file])
        last = max(index for index, item in enumerate(code.instructions) if item.mnemonic == "s_endpgm")
        place = int(generator.integers(last))
        item = code.instructions[place]
        start = code.text_offset + item.address
        patched = pack.code[file][:start] + S_NOP * (item.size // 4) + pack.code[file][start + item.size :]
        preloads = code.kernels[pack.manifest.kernels[launch.kernel].symbol].preload
        in_prologue = preloads and item.address < PROLOGUE_BYTES
        why = PROLOGUE if in_prologue else explain(code.instructions, place, variant.op)
        mutant = Mutant(variant=variant.key, file=file, address=item.address, text=item.text(), equivalent=why)
        yield mutant, variant, replace(pack, code={**pack.code, file: patched})


def try_mutant(mutant: Mutant, variant: VariantEntry, pack: Pack) -> Outcome:
    """Run the cases until one notices."""
    for case in make_cases(variant.op, variant.cell):
        if noticed := _notice(variant, case, pack):
            return Outcome(mutant=mutant, noticed=f"{case.name}: {noticed}")
    return Outcome(mutant=mutant, noticed="")


def _notice(variant: VariantEntry, case: Case, pack: Pack) -> str:
    import gfxemu

    spec = read_table()[variant.op]
    prepared = prepare(spec, variant.cell, case, pack, variant)
    if isinstance(prepared, Rejected):
        return ""
    try:
        got = execute(prepared, case, pack, step_limit=STEP_LIMIT)
    except gfxemu.GfxemuError as error:
        return f"{type(error).__name__}: {error}"
    want = compute_reference(spec, variant.cell, case)
    with np.errstate(invalid="ignore"):  # outputs that were never written are NaN of a kind that NumPy warns of
        return "; ".join(find_differences(spec, variant.cell, case, got, want))


def build_sample(arch: Arch, count: int, seed: int) -> Pack:
    """A pack of one variant of each of `count` ops, picked at random: what so many mutants can reach at most."""
    generator = np.random.default_rng(seed)
    variants: dict[str, list[Variant]] = {}
    for family in read_families():
        for variant in make_family_variants(family, arch):
            variants.setdefault(variant.op, []).append(variant)
    ops = list(generator.permutation(sorted(variants)))[:count]
    picked = [variants[op][generator.integers(len(variants[op]))] for op in sorted(ops)]
    return build_pack(arch, picked, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


def measure(arch: Arch, count: int, seed: int) -> tuple[Outcome, ...]:
    """The outcomes of `count` mutants."""
    pack = build_sample(arch, count, seed)
    return tuple(try_mutant(*drawn) for drawn in draw_mutants(pack, count, seed))


def count_rates(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Raw rate, the rate without equivalent classes, and both counts."""
    counted = [outcome for outcome in outcomes if not outcome.mutant.equivalent or outcome.noticed]
    noticed = sum(bool(outcome.noticed) for outcome in outcomes)
    return {
        "mutants": len(outcomes),
        "noticed": noticed,
        "equivalent": len(outcomes) - len(counted),
        "raw": round(noticed / len(outcomes), 3),
        "rate": round(noticed / max(1, len(counted)), 3),
    }


def describe(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Which mutants were missed, and how many of each class were equivalent."""
    quiet = [outcome.mutant for outcome in outcomes if not outcome.noticed]
    missed = sorted(f"{item.variant} +{item.address:#x} {item.text}" for item in quiet if not item.equivalent)
    classes = Counter(item.equivalent for item in quiet if item.equivalent)
    return {"misses": missed, "classes": dict(classes)}


def main(arch: str, count: str) -> None:
    """Print the rates, and every miss."""
    outcomes = measure(ARCHS[arch], int(count), 0)
    print(arch, count_rates(outcomes))  # a program
    for outcome in outcomes:
        if not outcome.noticed and not outcome.mutant.equivalent:
            print(f"  missed {outcome.mutant.variant} +{outcome.mutant.address:#x} {outcome.mutant.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
