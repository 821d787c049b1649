"""Op families → support/FAMILY.json (what passed in gfxemu), and those → docs/support.md.

`python -m harness.support FAMILY ...` runs the families' wanted cells on every arch and writes both.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from harness.inputs import hash_derived, hash_inputs
from harness.judge import judge_cell
from harness.results import hash_emulator
from rockiln_kernels.archs import AMD_ARCHS, ARCHS
from rockiln_kernels.pack.build import build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants, read_families, read_origins
from rockiln_kernels.wanted_table import Wish, read_wishes

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "support"
PAGE = ROOT.parents[1] / "docs" / "support.md"

Record = Mapping[str, Any]


def judge_wish(family: str, arch: str, op: str, cell: str) -> Record:
    """One cell: how many variants and runs, which variants are absent and why, and every fault."""
    variants = [v for v in make_family_variants(family, ARCHS[arch]) if (v.op, v.cell) == (op, cell)]
    cache = CompileCache(folder=find_cache_folder())
    pack = build_pack(ARCHS[arch], variants, find_toolchain(), cache, jobs=1)
    findings = judge_cell(pack, op, cell)
    return {
        "variants": len(pack.manifest.variants),
        "runs": len(findings),
        "decoded": any(variant.decoded for variant in pack.manifest.variants),
        "absent": {absent.key.rpartition("/")[2]: absent.reason for absent in pack.manifest.absent},
        "faults": sorted(f"{item.variant}, {item.case}: {item.fault}" for item in findings if item.fault),
    }


def make_record(family: str, jobs: int) -> Record:
    """Every wanted cell of a family on every arch, in parallel."""
    import gfxemu

    wishes = [wish for wish in read_wishes() if read_origins()[wish.op] == family and not wish.gap]
    context = multiprocessing.get_context("spawn")
    cells: dict[str, Record] = {}
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {wish: pool.submit(judge_wish, family, wish.arch, wish.op, wish.cell) for wish in wishes}
        for wish, future in futures.items():
            cells[_name_cell(wish)] = future.result()
            cell = cells[_name_cell(wish)]
            print(f"{_name_cell(wish)}: {cell['variants']} variants, {len(cell['faults'])} faults", file=sys.stderr)
    hashes = {"inputs": hash_inputs(family), "derived": hash_derived(family), "emulator": hash_emulator()}
    return {"family": family, **hashes, "gfxemu": gfxemu.__version__, "cells": cells}


def _name_cell(wish: Wish) -> str:
    return f"{wish.op}/{wish.arch}/{wish.cell}"


def write_record(record: Record) -> None:
    """support/FAMILY.json, sorted."""
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    (RECORDS / f"{record['family']}.json").write_text(text, encoding="utf-8")


def read_records() -> Mapping[str, Record]:
    """Family → record, for those that have one."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("*.json"))}


_HEAD = """\
# Support

What each kernel's compiled code did in gfxemu, a program that executes AMD code objects on a CPU, against the float64
reference: **emulated, not measured on a GPU.** Made by `nox -s support` from the records in
plugins/rockiln-kernels/support.

`emulated 3/24`: three variants passed in 24 runs. `decode`: narrow inputs are widened before they are multiplied, for
want of an instruction. `faults`: at least one run was wrong. `absent`: no variant passed the lint. `gap`: not wanted,
for the reason below. `not run`: no record yet.

"""


def make_page(records: Mapping[str, Record]) -> str:
    """The table, and what is absent or wrong in it."""
    archs = [arch.name for arch in AMD_ARCHS]
    lines = [f"| op, dtypes | {' | '.join(archs)} |", "| --- |" + " --- |" * len(archs)]
    wishes = {_name_cell(wish): wish for wish in read_wishes()}
    for op, cell in sorted({(wish.op, wish.cell) for wish in wishes.values()}):
        entries = [_describe(records, wishes.get(f"{op}/{arch}/{cell}")) for arch in archs]
        lines.append(f"| {op} {cell} | {' | '.join(entries)} |")
    return _HEAD + "\n".join([*lines, "", *_list_notes(records, list(wishes.values()))])


def _describe(records: Mapping[str, Record], wish: Wish | None) -> str:
    if wish is None:
        return ""
    if wish.gap:
        return "gap"
    record = records.get(read_origins()[wish.op], {"cells": {}})["cells"].get(_name_cell(wish))
    if record is None:
        return "not run"
    if record["faults"] or not record["variants"]:
        return "faults" if record["faults"] else "absent"
    return f"emulated {record['variants']}/{record['runs']}{' decode' if record['decoded'] else ''}"


def _list_notes(records: Mapping[str, Record], wishes: Sequence[Wish]) -> Iterator[str]:
    gaps = sorted({(wish.gap, wish.op) for wish in wishes if wish.gap})
    yield "## Gaps\n"
    yield from (f"- {op}: {reason}" for reason, op in gaps)
    yield "\n## Variants that the lint or the compiler kept out\n"
    for record in records.values():
        for cell, entry in record["cells"].items():
            yield from (f"- {cell}, {name}: {reason}" for name, reason in entry["absent"].items())
    yield "\n## Faults\n"
    for record in records.values():
        yield from (f"- {fault}" for entry in record["cells"].values() for fault in entry["faults"])
    yield "\n## Made before the newest derived cases\n"
    yield "Of the cases that only the emulator runs, these records may lack some; those that are not listed have all.\n"
    yield from (f"- {family}" for family, record in records.items() if record.get("derived") != hash_derived(family))
    yield "\n## Emulator\n"
    yield "The hash is of its sources: gfxemu may have changed since. CI runs a part of each family in today's.\n"
    yield from (f"- {name}: gfxemu {record['gfxemu']}, {record['emulator'][:12]}" for name, record in records.items())
    yield ""


def list_failed(record: Record) -> list[str]:
    """The cells of a record that are wrong somewhere, or that no variant serves."""
    return [name for name, cell in record["cells"].items() if cell["faults"] or not cell["variants"]]


def main(families: Sequence[str]) -> int:
    """Run the families (all of them if none is named), then write the page of all records. 1: a cell did not pass."""
    failed: list[str] = []
    for family in families or read_families():
        record = make_record(family, int(os.environ.get("ROCKILN_JOBS", os.cpu_count() or 1)))
        write_record(record)
        failed += list_failed(record)
    PAGE.write_text(make_page(read_records()), encoding="utf-8")
    print(f"{len(failed)} cells did not pass" + "".join(f"\n{name}" for name in failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
