"""Unit → calls by a signature that HIP's function of that name lacks, and that no other function of HIP has."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hipcompat.scan.detect.calls import Call, find_calls
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.rule import Hit, Hits

_LOCATIONS: Mapping[str, int] = {"cudaMemAdvise": 3, "cudaMemPrefetchAsync": 2}
"""Which argument is a cudaMemLocation in CUDA 13, and a device before; HIP has both since 7.1, one as ..._v2."""
_LONGER_PREFETCH = 5
_WITH_EDGES: Mapping[str, int] = {
    "cudaStreamGetCaptureInfo": 7, "cudaStreamUpdateCaptureDependencies": 5, "cudaGraphAddDependencies": 5,
    "cudaGraphRemoveDependencies": 5, "cudaGraphGetEdges": 5, "cudaGraphNodeGetDependencies": 4,
    "cudaGraphNodeGetDependentNodes": 4,
}  # fmt: skip
"""How many arguments CUDA 13's functions have, which take or give data of a graph's edges."""
_ENTRY_POINTS = frozenset((
    "cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion", "cuGetProcAddress", "cuGetProcAddress_v2",
))  # fmt: skip
"""HIP's function for them has other arguments, or takes HIP's names, which are in strings."""
_OTHER_TYPES = frozenset(("cuFuncSetAttribute", "cublasLtGetVersion"))
"""HIP's takes the runtime's enumeration; a handle, and a pointer for the answer."""
_LINKER = re.compile(r"(?<![\w.>])(?:cuLink(?:Create|Add\w+|Complete|Destroy)|CUlinkState)\b")
_HIPRTC = frozenset(("nvrtc.h", "hip/hiprtc.h"))
_NAMES = frozenset((*_LOCATIONS, *_WITH_EDGES, *_ENTRY_POINTS, *_OTHER_TYPES))
_LOCATION = re.compile(r"\b(?:cuda|hip)MemLocation\s+(\w+)")


def find_signature_hits(unit: Unit) -> Hits:
    """The arguments decide."""
    yield from _find_linker(unit)
    if not any(name in unit.text for name in _NAMES):
        return
    locations = find_locations(unit)
    for call in find_calls(unit, _NAMES):
        if takes_location(call, unit, locations):
            yield Hit(rule="api-too-new", start=call.start, end=call.end, detail=f"{call.name} of a location")
        elif call.name in _ENTRY_POINTS | _OTHER_TYPES or _WITH_EDGES.get(call.name) == len(call.arguments):
            yield Hit(rule="api-signature", start=call.start, end=call.end, detail=call.name)


def _find_linker(unit: Unit) -> Hits:
    """HIP's linker is hipRTC's, whose header hip_runtime.h does not bring; a header of the project's may."""
    names = {include.name for include in unit.includes}
    may_bring = any(include.is_quoted for include in unit.includes) or names & _HIPRTC
    if "cuda.h" in names and not may_bring and (match := _LINKER.search(unit.text)):
        yield Hit(rule="api-signature", start=match.start(), end=match.end(), detail=f"{match.group()} without nvrtc.h")


def find_locations(unit: Unit) -> frozenset[str]:
    """Variables of the type cudaMemLocation."""
    return frozenset(match[1] for match in _LOCATION.finditer(unit.text)) if "MemLocation" in unit.text else frozenset()


def takes_location(call: Call, unit: Unit, locations: frozenset[str]) -> bool:
    """The call is one of CUDA 13."""
    place = _LOCATIONS.get(call.name)
    if place is None or len(call.arguments) <= place:
        return False
    if call.name == "cudaMemPrefetchAsync" and len(call.arguments) == _LONGER_PREFETCH:
        return True
    return unit.text[slice(*call.arguments[place])].strip() in locations
