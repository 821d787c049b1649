"""What a nightly run measured → proof/KIND.json, one entry a key, and those → docs/proof.md.

Kept only with ROCKILN_KEEP_FIGURES=1, which `nox -s proof` sets. `python -m harness.figures` writes the page.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rockiln_kernels.pack.build import Pack

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "proof"
PAGE = ROOT.parents[1] / "docs" / "proof.md"
OF_EACH_OP = ", a variant of each op"
"""Behind an arch's name: the figure is not of its whole pack."""
KINDS = ("mutation", "random", "reproducible", "decoding")

Figures = Mapping[str, Mapping[str, Any]]


def hash_pack(pack: Pack) -> str:
    """sha256 over the names and bytes of a pack's code objects."""
    digest = hashlib.sha256()
    for name, code in sorted(pack.code.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(code).digest())
    return digest.hexdigest()


def keep_figure(kind: str, key: str, value: Mapping[str, Any]) -> None:
    """Add to one entry, or replace what it says; several processes may do so at once."""
    if os.environ.get("ROCKILN_KEEP_FIGURES") != "1":
        return
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{kind}.json"
    lock = os.open(FOLDER, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        entries[key] = {**entries.get(key, {}), **value}
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        fresh.replace(path)
    finally:
        os.close(lock)


def read_figures() -> Mapping[str, Figures]:
    """Kind → key → entry; a kind without a file is empty."""
    paths = {kind: FOLDER / f"{kind}.json" for kind in KINDS}
    return {kind: json.loads(path.read_text(encoding="utf-8")) if path.exists() else {} for kind, path in paths.items()}


_HEAD = """\
# Proof

What the long runs of the kernels' tests measured, on a CPU: **emulated, not on a GPU.** Made by `nox -s proof` from the
entries in plugins/rockiln-kernels/proof; those of mutants and of decoding hold the sha256 of the code that they are of,
those of mutants every miss. CI runs a sample of each ([kernels](kernels.md)).

"""


def make_page(figures: Mapping[str, Figures]) -> str:
    """Four tables."""
    parts = (
        _list_mutation(figures["mutation"]),
        _list_random(figures["random"]),
        _list_reproducible(figures["reproducible"]),
        _list_decoding(figures["decoding"]),
    )
    return _HEAD + "\n\n".join("\n".join(part) for part in parts) + "\n"


def _tabulate(heads: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "| --- " * len(heads) + "|"
    yield from (f"| {' | '.join(map(str, row))} |" for row in rows)


_MUTATION = """\
Equivalent: not noticed, and of a class in tests/harness/equivalent.py, or proven from the code to store the same
(tests/harness/lockstep). Cases, classes and proofs were fixed on other mutants; these were drawn afterwards, with
another seed. Of the proven ones, none was noticed. gfx1200's are gfx1201's: its code is the same, byte for byte. Some
150 mutants of an arch are not equivalent, so the share of all mutants is within 5 points of the rate (95 %).
"""


_DECODING = """\
Of whole packs, where nothing else is said; CI compares some kernels of every arch. LLVM 19 knows neither gfx950 nor the
names of the 16-bit registers that code for gfx1100 and gfx1101 uses now.
"""


def _list_mutation(entries: Figures) -> Iterator[str]:
    yield "## Single instructions removed\n"
    yield _MUTATION
    heads = (
        "arch", "seed", "mutants", "noticed", "raw", "equivalent", "of them proven", "missed",
        "noticed of those that are not equivalent",
    )  # fmt: skip
    yield from _tabulate(heads, ((arch, *_count_mutants(item)) for arch, item in sorted(entries.items())))


def _count_mutants(item: Mapping[str, Any]) -> tuple[object, ...]:
    missed = item["mutants"] - item["noticed"] - item["equivalent"]
    return (
        item["seed"], item["mutants"], item["noticed"], f"{item['raw']:.1%}", item["equivalent"], item["proven"],
        missed, f"{item['rate']:.1%}",
    )  # fmt: skip


def _list_random(entries: Figures) -> Iterator[str]:
    yield "## Random shapes\n"
    yield "Every call got an answer, and every refusal a reason; every run was right.\n"
    heads = ("family", "calls through selection", "for the pack", "runs in gfxemu", "of")
    rows = ((k, v["calls"], v["pack"], v.get("runs", 0), v.get("of", "")) for k, v in sorted(entries.items()))
    yield from _tabulate(heads, rows)


def _list_reproducible(entries: Figures) -> Iterator[str]:
    yield "## Kernels compiled twice, in different folders: the same bytes\n"
    if not entries:
        yield "No arch was compiled twice as a whole yet; CI does a tenth of one arch, which the commit picks."
        return
    yield from _tabulate(("arch", "kernels", "of"), ((k, v["kernels"], v["of"]) for k, v in sorted(entries.items())))


def _list_decoding(entries: Figures) -> Iterator[str]:
    yield "## Instructions that gfxemu reads as LLVM does\n"
    yield _DECODING
    heads = ("arch", "kernels", "with LLVM 22", "with LLVM 19")
    rows = ((k, v["kernels"], v["llvm-22"], v.get("llvm-19", "not compared")) for k, v in sorted(entries.items()))
    yield from _tabulate(heads, rows)


if __name__ == "__main__":
    PAGE.write_text(make_page(read_figures()), encoding="utf-8")
