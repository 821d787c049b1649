"""One file + the archs to keep → FileResult: slimmed and verified, unchanged, or refused with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from rockiln.fatbin.bundle import Entry
from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.compressed import make_spool
from rockiln.fatbin.cut import Cut, plan_cut
from rockiln.fatbin.cut_bundle import plan_bundle_cut
from rockiln.fatbin.cut_rows import plan_rows_cut
from rockiln.fatbin.entry_ids import GENERICS, is_host, target_of
from rockiln.fatbin.refusal import RefusedError, require
from rockiln.fatbin.verify.bundle_files import verify_bundle_files
from rockiln.fatbin.verify.database_files import verify_database_files
from rockiln.fatbin.verify.files import verify_files
from rockiln.fatbin.verify.verification import Verification
from rockiln.fatbin.write_cut import finish, open_partial, write_cut

Outcome = Literal["slimmed", "dropped", "unchanged", "refused"]

Form = Literal["elf", "bundle", "database"]
"""Device code lies in sections of an ELF file, or the file is a bundle itself, or it has rows in a database."""

_PLANS: Mapping[Form, Callable[[ByteSource, AbstractSet[str], BinaryIO], Cut | None]] = {
    "elf": plan_cut, "bundle": plan_bundle_cut, "database": plan_rows_cut,
}  # fmt: skip
_VERIFIERS: Mapping[Form, Callable[[int, int, AbstractSet[str]], Verification]] = {
    "elf": verify_files, "bundle": verify_bundle_files, "database": verify_database_files,
}  # fmt: skip

Announce = Callable[[int], None]
"""Told a descriptor of the new file before it is in place."""

FAT_BINARY = "fat-binary"
"""Rule of ELF files that hold bundles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """What became of one file with device code."""

    path: Path
    outcome: Outcome
    before_bytes: int
    after_bytes: int
    kept: Mapping[str, int] = field(default_factory=dict)
    """Target → bytes of code, unpacked. A target may be `gfx90a:xnack+` or `gfx11-generic`."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Archs that were asked for and that the file never held code for, generic code included."""
    reason: str = ""
    rule: str = FAT_BINARY
    """Kind of data, as in rockiln.kernel_data."""


def slim_file(
    path: Path, output_path: Path, archs: AbstractSet[str], *, form: Form = "elf", dry_run: bool = False,
    announce: Announce | None = None,
) -> FileResult | None:  # fmt: skip
    """Write the smaller file to `output_path`, which may be `path`; None for a file without device code.

    Where nothing is to do or the file is refused, nothing is written. `announce` is told of the new file, when it is
    proven and just before it takes its name.
    """
    with path.open("rb") as file:

        def write(cut: Cut) -> None:
            _replace(cut, file, output_path, archs, form, announce)

        return slim_open_file(path, file, archs, None if dry_run else write, form)


def slim_open_file(
    path: Path, file: BinaryIO, archs: AbstractSet[str], write: Callable[[Cut], None] | None, form: Form = "elf"
) -> FileResult | None:
    """What becomes of an open file, called `path` in the report; `write` is given the cut where there is one."""
    size_bytes = os.fstat(file.fileno()).st_size
    with make_spool() as spool:
        try:
            cut = _PLANS[form](ByteSource(file.fileno()), archs, spool)
            if cut is None:
                return None
            if cut.pieces and write:
                write(cut)
        except RefusedError as fault:
            return FileResult(
                path=path, outcome="refused", before_bytes=size_bytes, after_bytes=size_bytes, reason=fault.reason
            )
        return _describe(path, cut, archs)


def write_proven(cut: Cut, old: int, new: int, archs: AbstractSet[str], form: Form = "elf") -> None:
    """Write the cut at the descriptor `new`. Raises RefusedError unless the verifier finds no fault in it."""
    write_cut(cut, new)
    verification = _VERIFIERS[form](old, new, archs)
    require(not verification.faults, f"the cut did not verify: {'; '.join(verification.faults[:3])}")


def _replace(
    cut: Cut, file: BinaryIO, output_path: Path, archs: AbstractSet[str], form: Form, announce: Announce | None
) -> None:
    before = os.fstat(file.fileno())
    with open_partial(output_path) as output:
        write_proven(cut, file.fileno(), output.fileno(), archs, form)
        after = os.fstat(file.fileno())
        is_same = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
        require(is_same, "the file changed while it was read")
        if announce:
            announce(output.fileno())
        finish(output, output_path, file.fileno())


def _describe(path: Path, cut: Cut, archs: AbstractSet[str]) -> FileResult:
    kept = _sum_by_target(entry for bundle in cut.bundles for entry in bundle.kept)
    dropped = _sum_by_target(entry for bundle in cut.bundles for entry in bundle.dropped)
    return FileResult(
        path=path,
        outcome="slimmed" if cut.pieces else "unchanged",
        before_bytes=cut.before_bytes,
        after_bytes=cut.after_bytes,
        kept=kept,
        dropped=dropped if cut.pieces else {},
        missing=tuple(sorted(arch for arch in archs if not _is_served(arch, kept))),
        reason="" if cut.pieces or not dropped else "no whole page would be freed",
    )


def _sum_by_target(entries: Iterable[Entry]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for entry in entries:
        if not is_host(entry.id):
            target = target_of(entry.id) or entry.id
            sums[target] = sums.get(target, 0) + entry.size_bytes
    return dict(sorted(sums.items()))


def _is_served(arch: str, kept: Iterable[str]) -> bool:
    processors = {target.partition(":")[0] for target in kept}
    return any(arch == processor or arch in GENERICS.get(processor, ()) for processor in processors)
