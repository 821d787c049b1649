"""Text of a command line or a variable → LLVM's names of AMD's GPU architectures; a name that LLVM lacks is a fault."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from hipcompat.console import quote
from hipcompat.errors import UsageError

ARCHS = (
    "gfx803", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909", "gfx90a", "gfx90c", "gfx940", "gfx941",
    "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx1030", "gfx1031", "gfx1032", "gfx1033",
    "gfx1034", "gfx1035", "gfx1036", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152",
    "gfx1153", "gfx1200", "gfx1201", "gfx1250", "gfx1251", "gfx9-generic", "gfx9-4-generic", "gfx10-1-generic",
    "gfx10-3-generic", "gfx11-generic", "gfx12-generic",
)  # fmt: skip
"""https://llvm.org/docs/AMDGPUUsage.html#processors of LLVM 22, from gfx803 on; gfx940 and gfx941, which LLVM 20 has
dropped, are those of early MI300."""

_ECC = frozenset({"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"})
_RETRY = _ECC | {
    "gfx900", "gfx902", "gfx904", "gfx909", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013", "gfx9-generic",
    "gfx10-1-generic",
}  # fmt: skip
_SUPPORTS = {"sramecc": _ECC, "xnack": _RETRY}
"""Target features, which may follow a name: gfx90a:sramecc+:xnack-."""

DEFAULT = "gfx942"
ARCH_LIST = "several with commas, or repeated"
ARCH_HELP = f"default: {DEFAULT}; {ARCH_LIST}"
"""For --arch of a verb."""
_SEPARATORS = re.compile(r"[,;\s]+")


def read_archs(given: str | Iterable[str], *, default: str = DEFAULT) -> tuple[str, ...]:
    """Names, several in one text (commas, semicolons or blanks between them) or one each, each once.

    Without any, `default`, or none where that is empty. Raises UsageError for a name or feature that is unknown, and
    for texts without a name.
    """
    given = (given,) if isinstance(given, str) else tuple(given)
    archs = tuple(dict.fromkeys(arch for text in given for arch in _SEPARATORS.split(text) if arch))
    for arch in archs:
        require_arch(arch)
    if given and not archs:
        raise UsageError(f"{quote(given[-1])} names no architecture", hint=f"LLVM's names: {', '.join(ARCHS)}")
    return archs or ((default,) if default else ())


def require_arch(arch: str) -> str:
    """The name without features. Raises UsageError for what LLVM does not know, with the names that look alike."""
    name, *features = arch.split(":")
    if name not in ARCHS:
        raise UsageError(f"{quote(arch)} is no AMD architecture", hint=_suggest(name))
    kinds = [feature[:-1] for feature in features]
    if len(kinds) != len(set(kinds)):
        raise UsageError(f"{quote(arch)} names a feature twice", hint="each feature once, with + or -")
    for feature, kind in zip(features, kinds, strict=True):
        if feature[-1:] not in {"+", "-"} or name not in _SUPPORTS.get(kind, ()):
            known = [f"{name}:{one}+" for one, names in _SUPPORTS.items() if name in names]
            hint = f"{' or '.join(known)}, or the sign -" if known else f"{name} has no features to choose"
            raise UsageError(f"{quote(arch)} is no AMD architecture: {name} has no feature {quote(feature)}", hint=hint)
    return name


def _suggest(name: str) -> str:
    known = f"LLVM's names: {', '.join(ARCHS)}"
    if re.match(r"(?:sm|compute)_?\d", name):
        return f"that is NVIDIA's; name the GPU that the code is to run on. {known}"
    small = name.lower()
    alike = [small] if small in ARCHS else difflib.get_close_matches(small, ARCHS, n=len(ARCHS), cutoff=0.8)
    alike.sort(key=lambda one: sorted(one) != sorted(small))  # gfx492: digits that changed places come first
    return f"did you mean {', '.join(alike[:3])}? {known}" if alike else known
