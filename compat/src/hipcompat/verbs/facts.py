"""hipcompat facts: a CUDA name → what HIP calls it, with source and version; or how many names there are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from hipcompat.answer import Answer, tabulate
from hipcompat.console import quote
from hipcompat.errors import UnknownNameError, UsageError
from hipcompat.facts import SOURCES, Fact, count_facts, lookup, provided

_IN_7_0 = {True: "yes", False: "no", None: "no list says"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """NAME..., --stats, --json."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="cudaMemcpyAsync, cub::DeviceScan, nccl.h")
    parser.add_argument("--stats", action="store_true", help="how many names of each interface HIP has")
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")


def answer(args: argparse.Namespace) -> Answer:
    """Exit 6 where a name is not known; those that are known are told all the same."""
    if args.stats and args.names:
        raise UsageError(f"--stats counts all names, not {quote(args.names[0])} alone", hint="names, or --stats")
    if args.stats:
        rows = count_facts()
        heading = ("interface", "names of CUDA", "in ROCm 7.2.4", "in HIP 7.0.2's lists")
        return Answer(text=tabulate([heading, *((api, *map(str, numbers)) for api, *numbers in rows)]), value=rows)
    if not args.names:
        raise UsageError("no name was given", hint="hipcompat facts cudaMemcpyAsync, or --stats")
    facts: list[Fact] = []
    faults: dict[str, UnknownNameError] = {}
    for name in args.names:
        try:
            facts.append(lookup(name))
        except UnknownNameError as fault:
            faults[name] = fault
    return Answer(text="\n\n".join(map(_describe, facts)), value=tuple(facts), fault=_join(faults))


def _join(faults: Mapping[str, UnknownNameError]) -> UnknownNameError | None:
    """One error for all names that are not known."""
    if len(faults) < 2:  # none, or one that says it all
        return next(iter(faults.values()), None)
    names = ", ".join(map(quote, faults))
    hints = "\n      ".join(f"{name}: {fault.hint}" for name, fault in faults.items())
    return UnknownNameError(f"{names} are no public names of CUDA that the facts know", hint=hints)


def _describe(fact: Fact) -> str:
    header = provided.PROVIDED.get(fact.name, "")
    rows = [
        ("HIP", fact.hip if fact.is_mapped else "none" + (f" ({fact.hip} is claimed)" if fact.hip else "")),
        ("interface", f"{fact.api}, {fact.kind}"),
        ("ROCm 7.2.4", "yes" if fact.in_7_2 else "no"),
        ("HIP 7.0.2", _IN_7_0[fact.in_7_0]),
        ("source", SOURCES[fact.source]),
    ]
    if header and not fact.is_mapped:
        rows.append(("hipcompat", f"has it, in <{header}>"))
    return f"{fact.name}\n" + tabulate([(f"  {name}", value) for name, value in rows])
