"""Decisions about single files of a tree → the same, where one file of the tree speaks for another.

Two things cannot be seen in a file alone: an index of a kept arch may name a file of another one, and PATH may hold
nothing for the archs at all, which is more likely a mistake than a wish.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rockiln.kernel_data.decision import CutBundle, Decision, Drop, Kept
from rockiln.kernel_data.grammars import name_file

COMPLETE = frozenset({"rocblas", "hipblaslt", "hipsparselt"})
"""Rules of libraries that do not work on a GPU without data for it; others only lose speed, or take another way."""

_LAZY_INDEX = re.compile(r".*/TensileLibrary_lazy_[^/]+\.dat")
_NAME = re.compile(rb"(?:TensileLibrary|Kernels\.so)[A-Za-z0-9_.+-]*")
_ENDING = re.compile(r"\.(?:co|hsaco|dat)$")


def settle(decisions: Mapping[str, Decision], read: Callable[[str], bytes]) -> dict[str, Decision]:
    """By path. `read` gives a whole file; it is asked for indexes of kept archs only."""
    settled = {**decisions, **_drop_nameless(decisions)}
    for path, decision in decisions.items():
        if isinstance(decision, Kept) and decision.archs and _LAZY_INDEX.fullmatch(path):
            settled |= _keep_named(path, read(path), settled)
    if not any(_serves(decision) for decision in settled.values()):
        reason = "nothing here is for any of the archs"
        settled = {path: _keep(one, reason) if isinstance(one, Drop) else one for path, one in settled.items()}
    return settled


def _drop_nameless(decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """Code for other GPUs under a name that tells none, where all that lies beside it goes for the same reason."""
    roots = {path: named.root for path in decisions if (named := name_file(path)) and named.root}
    serving = {root for path, root in roots.items() if _serves(decisions[path])}
    going = {root for path, root in roots.items() if isinstance(decisions[path], Drop)} - serving
    reason = "its code, and nothing beside it is for a kept arch"
    return {
        path: Drop(rule=decision.rule, reason=reason, targets=decision.foreign)
        for path, decision in decisions.items()
        if isinstance(decision, Kept) and decision.foreign and roots.get(path, "") in going
    }


def _keep_named(index_path: str, index: bytes, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
    """What the index names, with or without an ending, beside it."""
    folder, _, index_name = index_path.rpartition("/")
    names = {name.decode("ascii") for name in _NAME.findall(index)}
    return {
        path: _keep(decision, f"{index_name} names it")
        for path, decision in decisions.items()
        if isinstance(decision, Drop)
        and path.rpartition("/")[0] == folder
        and _ENDING.sub("", path.rpartition("/")[2]) in names
    }


def _keep(decision: Drop, reason: str) -> Kept:
    return Kept(rule=decision.rule, reason=reason, is_doubt=True)


def _serves(decision: Decision) -> bool:
    return isinstance(decision, CutBundle) or (isinstance(decision, Kept) and bool(decision.archs))
