"""Unit → hits in C, C++ and CUDA: names first, then what stands in patterns; and how often translation renames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from hipcompat.scan.detect import patterns, surroundings
from hipcompat.scan.detect.assembly import find_asm_hits
from hipcompat.scan.detect.includes import find_include_hits
from hipcompat.scan.detect.lanes import find_lane_hits
from hipcompat.scan.detect.literals import find_file_hits, find_option_hits, read_kernel_strings
from hipcompat.scan.detect.names import Meaning, find_meaning
from hipcompat.scan.detect.overloads import find_overload_hits
from hipcompat.scan.detect.shared_memory import find_shared_memory_hits
from hipcompat.scan.detect.signatures import find_signature_hits
from hipcompat.scan.detect.unit import Unit, defines_itself
from hipcompat.scan.detect.values import find_value_hits
from hipcompat.scan.detect.waves import find_wave_hits
from hipcompat.scan.rule import Hit, Hits

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}", re.ASCII)
_MEMBER = re.compile(r"(?:\.|->|\w\s*::)\s*$")
"""x.name, x->name, space::name: somebody else's, of the same name."""
_CALL = re.compile(r"\s*[(<]")

Answer = Callable[[Unit, int, int], Iterator[Hit]]

ANSWERS: dict[str, Answer] = {
    "mask": surroundings.judge_mask, "warpsize": surroundings.judge_warpsize,
    "last-error": surroundings.judge_last_error,
    "texture-fetch": surroundings.judge_texture_fetch,
}  # fmt: skip
_MISSING = frozenset(("api-missing", "device-function", "nvml", "cudnn", "nvtx", "library-missing", "api-too-new"))
_CONDITION = re.compile(r"[ \t]*#[ \t]*(?:el)?if")
_CAPTURING = frozenset(("capture", "capture-refused"))


def find_hits(unit: Unit) -> tuple[tuple[Hit, ...], Counter[str]]:
    """Hits in the order of the text, and the renamed names with their counts; also in kernels that strings hold."""
    hits, renamed = _find_code_hits(unit)
    strings = (*find_option_hits(unit), *find_file_hits(unit), *read_kernel_strings(unit, _find_code_hits, renamed))
    return tuple(sorted((*hits, *strings), key=lambda hit: (hit.start, hit.rule))), renamed


def _find_code_hits(unit: Unit) -> tuple[tuple[Hit, ...], Counter[str]]:
    renamed: Counter[str] = Counter()
    left_out = (Hit(rule="cudacc-qualifier", start=start, end=end) for start, end in unit.left_out)
    twice = (Hit(rule="cudacc-fallback", start=a, end=b, detail=unit.text[a:b]) for a, b in unit.defined_twice)
    version = (Hit(rule="cuda-version", start=start, end=end) for start, end in unit.version_uses)
    hits = [*left_out, *twice, *version, *find_include_hits(unit, renamed), *_find_names(unit, renamed)]
    hits += patterns.find_pattern_hits(unit, renamed)
    hits += find_wave_hits(unit)
    hits += find_lane_hits(unit)
    hits += find_signature_hits(unit)
    hits += find_overload_hits(unit)
    hits += find_shared_memory_hits(unit)
    hits += find_asm_hits(unit)
    hits += find_value_hits(unit)
    return tuple(hits), renamed


def _find_names(unit: Unit, renamed: Counter[str]) -> Hits:
    own: dict[str, bool] = {}
    captures: list[Hit] = []
    is_capturing = False
    for match in _IDENTIFIER.finditer(unit.text):
        meaning = find_meaning(match.group())
        if meaning is None:
            continue
        name = match.group()
        if meaning.hip:
            renamed[name] += 1
        question = meaning.question
        if question in _CAPTURING:
            is_capturing = is_capturing or question == "capture"
            if question == "capture-refused":
                captures.append(Hit(rule="capture-call", start=match.start(), end=match.end(), detail=name))
        elif question in ANSWERS:
            yield from ANSWERS[question](unit, match.start(), match.end())
        elif question and _stands(unit, meaning, match, own):
            yield Hit(rule=question, start=match.start(), end=match.end(), detail=name)
    if is_capturing:
        yield from captures


def _stands(unit: Unit, meaning: Meaning, match: re.Match[str], own: dict[str, bool]) -> bool:
    """A missing name counts where it is CUDA's own: no member, not asked for by #if, not defined here, called."""
    if meaning.question not in _MISSING:
        return True
    text = unit.text
    if _MEMBER.search(text, max(0, match.start() - 6), match.start()) or _is_asked_for(text, match.start()):
        return False
    fact = meaning.fact
    if fact and fact.kind == "function" and not _CALL.match(text, match.end()):
        return False
    name = match.group()
    if name not in own:
        own[name] = defines_itself(unit, name)
    return not own[name]


def _is_asked_for(text: str, start: int) -> bool:
    """Inside of #if, #elif, #ifdef: what is not defined counts as zero there, and breaks nothing."""
    return _CONDITION.match(text, text.rfind("\n", 0, start) + 1) is not None
