"""A pack of one arch → mutants, each with one instruction removed, and how many of them the cases notice.

`python -m harness.mutate ARCH COUNT SEED` prints the rates. A mutant that cannot matter is of a class in equivalent.py,
or proven from the code to store the same (lockstep/); whatever else survives is a miss.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from harness.case import Case
from harness.compare import find_differences
from harness.equivalent import PROLOGUE, PROVEN, explain
from harness.execute import PLACES, Prepared, execute, prepare
from harness.judge import compute_reference, list_emulated_cases, make_cases
from harness.lockstep.flow import Program, does_nothing, read_program
from harness.lockstep.walk import prove_removal
from harness.results import find_results, make_key
from rockiln_kernels.archs import ARCHS, Arch
from rockiln_kernels.call import Rejected
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import VariantEntry
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_table
from rockiln_kernels.variant import Variant

STEP_LIMIT = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One instruction of one kernel, removed; `equivalent` names its class, empty if it should be noticed.

    `is_proven`: a run without it stores the same. `is_same`: the emulator would run the very same steps, as the
    instruction does nothing there or is never reached, so that it is not run.
    """

    variant: str
    file: str
    address: int
    text: str
    equivalent: str
    is_proven: bool
    is_same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What gave a mutant away; empty if nothing did."""

    mutant: Mutant
    noticed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A mutant, the variant that it is of, the pack that holds it, and the pack as it was."""

    mutant: Mutant
    variant: VariantEntry
    pack: Pack
    original: Pack


def draw_mutants(pack: Pack, count: int, seed: int) -> Iterator[Drawn]:
    """`count` mutants, each op in turn, variant and instruction at random."""
    from gfxemu.mutate import nop_out

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
        code, program = load_kernel(pack.code[file], *_describe_kernel(pack, variant, launch.kernel))
        last = max(index for index, item in enumerate(code.instructions) if item.mnemonic == "s_endpgm")
        place = int(generator.integers(last))
        patched = nop_out(code, code.instructions[place])
        mutant = make_mutant(variant, file, code, program, place)
        changed = replace(pack, code={**pack.code, file: patched})
        yield Drawn(mutant=mutant, variant=variant, pack=changed, original=pack)


def _describe_kernel(pack: Pack, variant: VariantEntry, name: str) -> tuple[str, frozenset[int], frozenset[int]]:
    """Its symbol, where its arguments lie that the op demands to be 1 at least, and those that are always 0."""
    kernel = pack.manifest.kernels[name]
    formulas = (constraint.formula for constraint in read_table()[variant.op].constraints)
    parts = (part for formula in formulas for part in formula.split(" and "))
    parts = (part.replace("KH * 2", "K") for part in parts)  # what kernels are given of rows of pairs
    positive = {match[1] for part in parts if (match := re.fullmatch(r"(\w+) >= [1-9]\d*", part))}
    numbers = [arg for arg in kernel.args if arg.kind == "i32"]
    zeros = frozenset(arg.offset for arg in numbers if arg.value == "0")
    return kernel.symbol, frozenset(arg.offset for arg in numbers if arg.name in positive), zeros


@lru_cache(maxsize=256)
def load_kernel(content: bytes, symbol: str, positive: frozenset[int], zeros: frozenset[int]) -> tuple[Any, Program]:
    """A code object, and its one kernel's program."""
    import gfxemu

    code = gfxemu.load(content)
    return code, read_program(code, code.kernels[symbol], positive, zeros)


def make_mutant(variant: VariantEntry, file: str, code: Any, program: Program, place: int) -> Mutant:
    """What is known before it is run of a mutant without instruction number `place`."""
    item = code.instructions[place]
    spec = read_table()[variant.op]
    own = spec.cell_dtypes(variant.cell)
    dtypes = {array.name: own.get(array.dtype, array.dtype) for array in spec.inputs}
    is_reached = program.block_of[place] in program.order
    is_proven = not prove_removal(program, place)
    why = explain(code.instructions, place, variant.op, dtypes) if is_reached else PROLOGUE
    return Mutant(
        variant=variant.key,
        file=file,
        address=item.address,
        text=item.text(),
        equivalent=why or (PROVEN if is_proven else ""),
        is_proven=is_proven,
        is_same=not is_reached or does_nothing(program, place),
    )


def try_mutant(drawn: Drawn) -> Outcome:
    """Run the cases until one notices, with a multiple of 4 GiB at every place in arrays (at one, if it should not be).

    Raises RuntimeError where the kernel itself fails what noticed its mutant.
    """
    mutant, variant = drawn.mutant, drawn.variant
    if mutant.is_same:
        return Outcome(mutant=mutant, noticed="")
    for place, case in _list_runs(drawn):
        if noticed := _notice(variant, case, drawn.pack, place):
            if fault := _notice(variant, case, drawn.original, place):
                raise RuntimeError(f"{variant.key} itself fails {case.name}, {place}: {fault}")
            return Outcome(mutant=mutant, noticed=f"{case.name}, {place}: {noticed}")
    return Outcome(mutant=mutant, noticed="")


def _list_runs(drawn: Drawn) -> list[tuple[str, Case]]:
    """Every case at one place, the small ones first; an op's own at the other places, if it should be noticed."""
    op, cell = drawn.variant.op, drawn.variant.cell
    cases = sorted(list_emulated_cases(op, cell), key=lambda case: sum(item.nbytes for item in case.arrays.values()))
    if drawn.mutant.equivalent:
        return [(PLACES[0], case) for case in cases]
    names = {case.name for case in make_cases(op, cell)}
    others = [(place, case) for place in PLACES[1:] for case in cases if case.name in names]
    return [*((PLACES[0], case) for case in cases), *others]


def _notice(variant: VariantEntry, case: Case, pack: Pack, place: str) -> str:
    """What gives the code away; a run that did not is remembered, as archs share code."""
    prepared = prepare(read_table()[variant.op], variant.cell, case, pack, variant)
    if isinstance(prepared, Rejected):
        return ""
    results, parts = find_results(), (make_key(pack, variant, case), place, STEP_LIMIT)
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    noticed = "" if results.has_passed(key) else _run(prepared, case, pack, place)
    if not noticed:
        results.keep_pass(key)
    return noticed


def _run(prepared: Prepared, case: Case, pack: Pack, place: str) -> str:
    import gfxemu

    spec, cell = prepared.spec, prepared.accepted.cell
    try:
        got = execute(prepared, case, pack, step_limit=STEP_LIMIT, place=place)
    except gfxemu.GfxemuError as error:
        return f"{type(error).__name__}: {error}"
    want = compute_reference(spec, cell, case)
    with np.errstate(invalid="ignore"):  # outputs that were never written are NaN of a kind that NumPy warns of
        return "; ".join(find_differences(spec, cell, case, got, want))


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
    return tuple(try_mutant(drawn) for drawn in draw_mutants(pack, count, seed))


def count_rates(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Raw rate, the rate without equivalent classes, and the counts; `proven` counts all that are, noticed or not."""
    counted = [outcome for outcome in outcomes if not outcome.mutant.equivalent or outcome.noticed]
    noticed = sum(bool(outcome.noticed) for outcome in outcomes)
    return {
        "mutants": len(outcomes),
        "noticed": noticed,
        "equivalent": len(outcomes) - len(counted),
        "proven": sum(outcome.mutant.is_proven for outcome in outcomes),
        "raw": round(noticed / len(outcomes), 3),
        "rate": round(noticed / max(1, len(counted)), 3),
    }


def list_wrong_proofs(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Mutants that were proven to store the same, and were noticed: there must be none."""
    return [outcome for outcome in outcomes if outcome.mutant.is_proven and outcome.noticed]


def describe(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Which mutants were missed, and how many of each class were equivalent."""
    quiet = [outcome.mutant for outcome in outcomes if not outcome.noticed]
    missed = sorted(f"{item.variant} +{item.address:#x} {item.text}" for item in quiet if not item.equivalent)
    classes = Counter(item.equivalent for item in quiet if item.equivalent)
    return {"misses": missed, "classes": dict(classes)}


def main(arch: str, count: str, seed: str = "0") -> None:
    """Print the rates, and every miss."""
    outcomes = measure(ARCHS[arch], int(count), int(seed))
    print(arch, count_rates(outcomes))  # a program
    for outcome in outcomes:
        if not outcome.noticed and not outcome.mutant.equivalent:
            print(f"  missed {outcome.mutant.variant} +{outcome.mutant.address:#x} {outcome.mutant.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
