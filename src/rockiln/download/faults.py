"""What every place said about every missing file → one error: gone, damaged or unreachable, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rockiln.artifact import OWN, Artifact
from rockiln.download.transfer import FaultKind
from rockiln.errors import FetchError, GoneError, IntegrityError, RockilnError
from rockiln.lock import mirror_setting
from rockiln.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFault:
    """A place's last answer, and how often it was asked."""

    place: Place
    kind: FaultKind
    reason: str
    tries: int

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFault:
    """A file that no place gave; no places at all means that there is no address to ask."""

    artifact: Artifact
    places: tuple[PlaceFault, ...]

    @property
    def is_gone(self) -> bool:
        """Every place answered, and none has it."""
        return bool(self.places) and all(fault.kind == "gone" for fault in self.places)

    @property
    def is_damaged(self) -> bool:
        """Some place sends other bytes, and no place could be better tomorrow."""
        kinds = {fault.kind for fault in self.places}
        return "damaged" in kinds and kinds <= {"damaged", "gone"}

    @property
    def said(self) -> tuple[str, ...]:
        """Each place's answer, one line each."""
        if self.places:
            return tuple(str(fault) for fault in self.places)
        if self.artifact.source == OWN:
            return ("built from this repository, and not in the store",)
        return (f"source {self.artifact.source!r}: matrix.toml has no such source, or knows no address for it",)

    @property
    def tries(self) -> tuple[int, ...]:
        """As `said`: how often each place was asked."""
        return tuple(fault.tries for fault in self.places) or (0,)


def make_error(faults: Sequence[ArtifactFault], asked_files: int) -> RockilnError:
    """The error to raise: GoneError or IntegrityError where that is so of all the files, else FetchError."""
    message, hint = "\n".join([_headline(faults, asked_files), *_group_lines(faults)]), "; ".join(_hints(faults))
    if all(fault.is_gone for fault in faults):
        return GoneError(message, hint=hint)
    if all(fault.is_damaged for fault in faults):
        sha256 = faults[0].artifact.sha256 if len(faults) == 1 else ""
        return IntegrityError(message, hint=hint, sha256=sha256)
    return FetchError(message, hint=hint)


def _headline(faults: Sequence[ArtifactFault], asked_files: int) -> str:
    if all(fault.is_gone for fault in faults):
        return f"{len(faults)} of {asked_files} files are gone: every place answered, and none has them any more"
    if all(fault.is_damaged for fault in faults):
        return f"{len(faults)} of {asked_files} files are not those that were locked"
    return f"{len(faults)} of {asked_files} files could not be fetched"


def _group_lines(faults: Sequence[ArtifactFault]) -> list[str]:
    """Files that failed alike stand together; every file is named."""
    groups: dict[tuple[str, ...], list[ArtifactFault]] = {}
    for fault in sorted(faults, key=lambda fault: fault.artifact):
        groups.setdefault(fault.said, []).append(fault)
    lines = []
    for said, alike in groups.items():
        lines.append("  " + ", ".join(fault.artifact.file for fault in alike))
        for place, line in enumerate(said):
            tries = max(fault.tries[place] for fault in alike)
            lines.append(f"    {line}" + (f" (asked {tries} times)" if tries > 1 else ""))
    return lines


def _hints(faults: Sequence[ArtifactFault]) -> list[str]:
    """What to do: one entry for each kind of trouble."""
    own = [fault for fault in faults if fault.artifact.source == OWN]
    stale = [fault for fault in faults if fault.is_gone or fault.is_damaged]
    sources = sorted({fault.artifact.source for fault in faults if fault not in own and fault not in stale})
    hints = ["build and lock it: rockiln lock"] if own else []
    if stale:
        options = " ".join(f"--refresh {kind}s" for kind in sorted({fault.artifact.kind for fault in stale}))
        hints.append(f"lock what the archive has now: rockiln lock {options} TARGET")
    if sources:
        others = f", and likewise {', '.join(sources[1:])}" if sources[1:] else ""
        hints.append(f"check the network, or name a copy of {sources[0]}: {mirror_setting(sources[0])}{others}")
    return hints
