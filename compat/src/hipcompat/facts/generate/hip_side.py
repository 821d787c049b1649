"""Packages of ROCm's headers and of hip-python → which identifiers HIP has, in 7.2 and in 7.0."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hipcompat.facts.generate.c_names import find_identifiers, strip_comments

_HEADER = re.compile(r"^usr/include/(.+)$")
_PXD_COMMENT = re.compile(r"#[^\n]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ROUNDED = re.compile(r"#[ \t]*if[ \t]+defined[ \t]+OCML_BASIC_ROUNDED_OPERATIONS.*?#[ \t]*(?:else|endif)", re.DOTALL)
"""Directed rounding, which no compiler of ROCm 7 switches on."""
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]$")
_CUB_CLASS = re.compile(r"\b(?:struct|class)\s+([A-Z]\w*)")
_CUB_MEMBER = re.compile(r"\bstatic\s+(?:inline\s+)?hipError_t\s+(\w+)\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class HipSide:
    """What the headers and HIP 7.0's exact lists hold."""

    in_7_2: frozenset[str]
    in_7_0: frozenset[str]
    """Of runtime, rtc and the BLAS, SPARSE, SOLVER, FFT, RAND and RCCL interfaces only."""
    headers: frozenset[str]
    """Paths below usr/include."""
    cub: frozenset[str]
    """hipcub::Class and hipcub::Class::member."""


def read_hip_side(headers: Iterable[tuple[str, str]], pxd: Iterable[tuple[str, str]]) -> HipSide:
    """Members of the packages → HipSide."""
    identifiers: set[str] = set()
    paths: set[str] = set()
    cub: set[str] = set()
    for name, text in headers:
        identifiers |= find_identifiers(_ROUNDED.sub("", text))
        if match := _HEADER.match(name):
            paths.add(match[1])
            if match[1].startswith("hipcub/"):
                cub |= find_cub_names(text, "hipcub", _CUB_MEMBER)
                cub |= {f"hipcub::{word}" for word in find_identifiers(text)}  # some are `using` declarations
    identifiers |= {f"make_{name}" for name in identifiers if _VECTOR.match(name)}  # pasted: make_##type
    known_7_0 = {word for _, text in pxd for word in _WORD.findall(_PXD_COMMENT.sub("", text))}
    return HipSide(
        in_7_2=frozenset(identifiers), in_7_0=frozenset(known_7_0), headers=frozenset(paths), cub=frozenset(cub)
    )


def find_cub_names(text: str, namespace: str, member: re.Pattern[str]) -> set[str]:
    """Classes of one header, and the static members of its Device classes."""
    code = strip_comments(text)
    classes = _CUB_CLASS.findall(code)
    names = {f"{namespace}::{name}" for name in classes}
    devices = [name for name in classes if name.startswith("Device")]
    if len(devices) == 1:
        names |= {f"{namespace}::{devices[0]}::{name}" for name in member.findall(code)}
    return names
