"""facts.tsv → Fact: what HIP calls a CUDA name, who says so, and in which ROCm it is there."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipcompat.console import quote
from hipcompat.errors import UnknownNameError
from hipcompat.whole_file import write_whole

FACTS_PATH = Path(__file__).with_name("facts.tsv")

SOURCES = {
    "interop": "hip-python-interop 7.0.2, confirmed by the headers of HIP 7.2.4",
    "hipify": "torch.utils.hipify of torch 2.8.0, confirmed by the headers of ROCm 7.2.4",
    "prefix": "ROCm 7.2.4's headers hold the name under HIP's prefix",
    "headers": "ROCm 7.2.4's headers hold the same name",
    "hip-python": "torch.utils.hipify names it and hip-python 7.0.2 lists it; no header of it is in Debian",
    "unconfirmed": "a mapping names it, but the headers of ROCm 7.2.4 hold no such name",
    "absent": "a public name of CUDA 12.9 or 13.5 with no counterpart in the headers of ROCm 7.2.4",
}
_FLAGS = {"y": True, "n": False, "?": None}
_LETTERS = {value: letter for letter, value in _FLAGS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One public name of CUDA. `hip` is empty where HIP has nothing; `in_7_0` is None where no list of 7.0 says."""

    name: str
    hip: str
    api: str
    kind: str
    source: str
    in_7_0: bool | None
    in_7_2: bool

    @property
    def is_mapped(self) -> bool:
        """Some ROCm 7 is known to have it."""
        return self.in_7_2 or self.source == "hip-python"


@functools.cache
def read_facts() -> Mapping[str, Fact]:
    """The whole table, by CUDA name."""
    lines = FACTS_PATH.read_text(encoding="utf-8").splitlines()
    return {fact.name: fact for fact in map(_parse_line, lines)}


def lookup(name: str) -> Fact:
    """The fact about one CUDA name. Raises UnknownNameError with the names that look alike."""
    facts = read_facts()
    if name in facts:
        return facts[name]
    raise UnknownNameError(f"{quote(name)} is no public name of CUDA that the facts know", hint=_suggest(name, facts))


def _suggest(name: str, facts: Mapping[str, Fact]) -> str:
    if name and (of_cuda := [fact.name for fact in facts.values() if fact.hip == name]):
        return f"{name} is HIP's name of {', '.join(of_cuda[:3])}"
    if name.startswith(("thrust::cuda::", "thrust::system::cuda::")):
        return f"rocThrust has {name.replace('::cuda::', '::hip::')}, and thrust::device, which means either"
    if alike := difflib.get_close_matches(name, facts, n=3, cutoff=0.75):
        return f"did you mean {', '.join(alike)}?"
    return "hipcompat facts --stats says which interfaces are known"


def count_facts() -> tuple[tuple[str, int, int, int], ...]:
    """Per interface: names, names that HIP 7.2 has, names that HIP 7.0 is known to have."""
    counts: dict[str, list[int]] = {}
    for fact in read_facts().values():
        row = counts.setdefault(fact.api, [0, 0, 0])
        row[0] += 1
        row[1] += fact.in_7_2
        row[2] += bool(fact.in_7_0)
    return tuple((api, *row) for api, row in sorted(counts.items()))  # type: ignore[misc]  # three numbers each


def write_facts(facts: Iterable[Fact], path: Path) -> None:
    """One line a fact, tabs between the fields; the file appears whole or not at all."""
    lines = (
        "\t".join((fact.name, fact.hip, fact.api, fact.kind, fact.source, _LETTERS[fact.in_7_0], _LETTERS[fact.in_7_2]))
        for fact in facts
    )
    write_whole(path, ("\n".join(lines) + "\n").encode())


def _parse_line(line: str) -> Fact:
    name, hip, api, kind, source, in_7_0, in_7_2 = line.split("\t")
    return Fact(name=name, hip=hip, api=api, kind=kind, source=source, in_7_0=_FLAGS[in_7_0], in_7_2=in_7_2 == "y")
