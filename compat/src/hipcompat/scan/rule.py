"""What a rule is: an id, how bad, since when and where it applies, what to do, and who says so → Rule, Target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hipcompat.archs import read_archs
from hipcompat.errors import UsageError

Severity = Literal["error", "warning", "note"]
"""error: it does not build or does not run; warning: it may compute or decide wrongly; note: translation or advice."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

WAVE64 = ("gfx9",)
"""Wavefronts of 64 lanes; gfx10 and later run HIP code in wavefronts of 32."""
NO_IMAGES = ("gfx94", "gfx95")
"""No image instructions: HIP's headers leave the texture functions out."""
LDS_64 = ("gfx90", "gfx94", "gfx10", "gfx11", "gfx120")
"""64 KB of shared memory for a block."""
LDS_160 = ("gfx950",)
"""160 KB."""
FNUZ = ("gfx94",)
"""fp8 without infinities and negative zero, largest e4m3 value 240; gfx950 and gfx12 have OCP's, 448."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of breakage."""

    id: str
    severity: Severity
    title: str
    """What is wrong, in one sentence without names of the place."""
    advice: str
    evidence: str
    """A public page that shows it."""
    example: str
    """A line that the rule finds, in `language`."""
    language: str = "cuda"
    archs: tuple[str, ...] = ()
    """Prefixes of LLVM's names; empty: all."""
    fixed_in: tuple[int, ...] = ()
    """The first ROCm without it; empty: none yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What the code is to run on."""

    archs: tuple[str, ...] = ("gfx942",)
    rocm: tuple[int, ...] = (7, 0, 2)

    def __post_init__(self) -> None:
        """UsageError for an architecture that LLVM lacks, and a version that is text: rules would not concern it."""
        object.__setattr__(self, "archs", read_archs(self.archs, default=""))
        if not all(isinstance(part, int) for part in self.rocm):  # of a text none is
            raise UsageError(f"{self.rocm!r} is no version of ROCm", hint="whole numbers: (7, 0, 2)")

    def concerns(self, rule: Rule, archs: tuple[str, ...] = ()) -> bool:
        """One of the architectures has the problem, and this ROCm does. `archs` stand in place of the rule's."""
        prefixes = archs or rule.archs
        has_arch = not prefixes or any(arch.startswith(prefixes) for arch in self.archs)
        return has_arch and not (rule.fixed_in and self.rocm >= rule.fixed_in)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Where a rule found something: offsets into the text that was given to it."""

    rule: str
    start: int
    end: int
    detail: str = ""
    """The name or opcode that this place is about."""
    archs: tuple[str, ...] = ()
    """Prefixes of GPUs with this problem, where they are others than the rule's."""


Hits = Iterator[Hit]
