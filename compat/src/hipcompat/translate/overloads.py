"""Unit → edits of calls by signatures that CUDA's C++ interface has and HIP's function of that name has not.

CUDA's runtime takes kernels as they are, and has defaults, where HIP has C's functions only: a kernel becomes a
const void *, a default is written out, an overload becomes the function that HIP has for it. Each does what CUDA
documents: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__HIGHLEVEL.html. What HIP's headers have as
templates stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hipcompat.scan.detect.calls import find_calls
from hipcompat.scan.detect.signatures import find_locations, takes_location
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import trim
from hipcompat.translate.edit import Edit
from hipcompat.translate.names import find_hip_name

_KERNELS: Mapping[str, tuple[int, frozenset[int]]] = {
    "cudaFuncSetAttribute": (0, frozenset((3,))), "cudaFuncSetCacheConfig": (0, frozenset((2,))),
    "cudaFuncSetSharedMemConfig": (0, frozenset((2,))), "cudaFuncGetAttributes": (1, frozenset((2,))),
    "cudaGetFuncBySymbol": (1, frozenset((2,))), "cudaLaunchKernel": (0, frozenset((4, 5, 6))),
    "cudaLaunchKernelExC": (1, frozenset((3,))),
}  # fmt: skip
"""Which argument is a kernel, and how many there are."""
_SUFFIXES: Mapping[str, Mapping[int, str]] = {
    "cudaEventCreate": {2: "WithFlags"}, "cudaGraphInstantiate": {2: "WithFlags", 3: "WithFlags"},
    "cudaStreamGetCaptureInfo": {2: "_v2", 4: "_v2", 5: "_v2", 6: "_v2"},
}  # fmt: skip
"""What HIP's name ends with for so many arguments."""
_DEFAULTS: Mapping[str, Mapping[int, str]] = {
    "cudaMemcpyToSymbolAsync": {3: ", 0, hipMemcpyHostToDevice", 4: ", hipMemcpyHostToDevice"},
    "cudaMemcpyFromSymbolAsync": {3: ", 0, hipMemcpyDeviceToHost", 4: ", hipMemcpyDeviceToHost"},
    "cudaLaunchCooperativeKernel": {4: ", 0, nullptr", 5: ", nullptr"}, "cudaGraphInstantiate": {2: ", 0"},
    "cudaMalloc3DArray": {3: ", 0"},
}  # fmt: skip
_SYMBOLS: Mapping[str, int] = {
    "cudaGraphAddMemcpyNodeToSymbol": 4, "cudaGraphAddMemcpyNodeFromSymbol": 5,
    "cudaGraphMemcpyNodeSetParamsToSymbol": 1,
    "cudaGraphMemcpyNodeSetParamsFromSymbol": 2, "cudaGraphExecMemcpyNodeSetParamsToSymbol": 2,
    "cudaGraphExecMemcpyNodeSetParamsFromSymbol": 3,
}  # fmt: skip
"""Which argument is a variable of the device; HIP's takes its address."""
_NAMES = frozenset((
    *_KERNELS, *_SUFFIXES, *_DEFAULTS, *_SYMBOLS, "cudaHostGetDevicePointer", "cudaUserObjectCreate", "cudaMemAdvise",
    "cudaMemPrefetchAsync",
))  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}", re.ASCII)
_VOID = r"(?:const\s+)?void(?:\s+const)?\s*\*\s*"
_IS_POINTER = re.compile(rf"\(\s*{_VOID}\)|(?:reinterpret|static)_cast\s*<\s*{_VOID}>")
_IS_HANDLE = re.compile(r"\(\s*void\s*\*\s*\*\s*\)|reinterpret_cast\s*<\s*void\s*\*\s*\*\s*>")
_OWNED = 4
"""Arguments of cudaUserObjectCreate with an object, which it deletes."""


def find_overload_edits(unit: Unit) -> Iterator[Edit]:
    """Offsets are those of unit.text. Names get their new prefix elsewhere: here they get an ending."""
    locations = find_locations(unit)
    for call in find_calls(unit, _NAMES):
        count = len(call.arguments)
        suffix = "_v2" if takes_location(call, unit, locations) else _SUFFIXES.get(call.name, {}).get(count)
        if suffix:
            yield Edit(start=call.end, end=call.end, text=suffix)
        if default := _DEFAULTS.get(call.name, {}).get(count):
            yield Edit(start=call.arguments[-1][1], end=call.arguments[-1][1], text=default)
        if call.name in _KERNELS and count in _KERNELS[call.name][1]:
            yield from _cast(unit, call.arguments[_KERNELS[call.name][0]], "const void *", _IS_POINTER)
        elif call.name == "cudaHostGetDevicePointer":
            yield from _cast(unit, call.arguments[0], "void **", _IS_HANDLE)
        elif call.name in _SYMBOLS and count > _SYMBOLS[call.name]:
            symbol = call.arguments[_SYMBOLS[call.name]]
            if not _is_pointer(unit, unit.text[slice(*symbol)].strip()):
                yield from _cast(unit, symbol, "const void *", _IS_POINTER, sign="&")
        elif call.name == "cudaUserObjectCreate" and count == _OWNED:
            yield _delete_object(unit, call.arguments[1])


def _is_pointer(unit: Unit, name: str) -> bool:
    """The file declares it as the address of something: HIP takes it as it is."""
    return name.isidentifier() and re.search(rf"\bvoid\s*\*\s*(?:const\s+)?{name}\b", unit.text) is not None


def _cast(
    unit: Unit, argument: tuple[int, int], kind: str, done: re.Pattern[str], sign: str = ""
) -> Iterator[Edit]:
    start, end = trim(unit.text, *argument)
    if start < end and not done.match(unit.text, start, end) and not (sign and unit.text[start] == sign):
        yield Edit(start=start, end=start, text=f"reinterpret_cast<{kind}>({sign}")
        yield Edit(start=end, end=end, text=")")


def _delete_object(unit: Unit, argument: tuple[int, int]) -> Edit:
    """The destructor that CUDA's overload makes; + drops the reference of a variable's type."""
    start, end = trim(unit.text, *argument)
    held = _IDENTIFIER.sub(lambda match: find_hip_name(match.group()) or match.group(), unit.code.text[start:end])
    kind = f"decltype(+({held}))"
    return Edit(start=end, end=end, text=f", [](void *object) {{ delete static_cast<{kind}>(object); }}")
