"""python -m rockiln.fatbin.verify OLD NEW --archs gfx942 → a line, JSON with --json, and exit code 0 or 1."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rockiln.archs import LLVM_TARGETS
from rockiln.console import printable
from rockiln.fatbin.verify.files import verify_files
from rockiln.fatbin.verify.verification import Verification
from rockiln.jsonable import dump
from rockiln.tables import suggest


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two files and say whether the new one is proven. Exits with 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="python -m rockiln.fatbin.verify", description=__doc__)
    parser.add_argument("old", type=Path, metavar="OLD", help="the file before it was cut")
    parser.add_argument("new", type=Path, metavar="NEW", help="the file that was made of it")
    parser.add_argument("--archs", required=True, type=_parse_archs, help="what was kept, as gfx942,gfx950")
    parser.add_argument("--json", action="store_true", help="print the value itself as JSON")
    args = parser.parse_args(argv)
    try:
        old, new = (os.open(path, os.O_RDONLY) for path in (args.old, args.new))
        verification = verify_files(old, new, args.archs)
    except OSError as fault:
        parser.error(printable(f"{fault.filename}: {fault.strerror}" if fault.filename else str(fault)))
    print(dump(verification).rstrip() if args.json else _describe(verification))
    return 1 if verification.faults else 0


def _parse_archs(text: str) -> frozenset[str]:
    archs = frozenset(filter(None, (name.strip() for name in text.split(","))))
    for arch in sorted(archs - LLVM_TARGETS):
        raise argparse.ArgumentTypeError(printable(f"{arch!r} is no arch{suggest(arch.lower(), LLVM_TARGETS)}"))
    if not archs:
        raise argparse.ArgumentTypeError("names no GPU")
    return archs


def _describe(found: Verification) -> str:
    """Each fault once, with its number; or what was looked at."""
    if found.faults:
        counts = Counter(found.faults).items()
        return "\n".join(printable(fault) + (f" ({count} times)" if count > 1 else "") for fault, count in counts)
    return (
        f"proven: {found.wrappers} wrappers, {found.kept_objects} code objects kept with {found.kernels} kernels,"
        f" {found.dropped_objects} gone, all else equal"
    )


if __name__ == "__main__":
    sys.exit(main())
