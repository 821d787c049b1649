"""python -m rockiln.fatbin.verify OLD NEW --archs gfx942 → a line, JSON with --json, and exit code 0 or 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rockiln.fatbin.verify.files import verify_files
from rockiln.jsonable import dump


def main(argv: Sequence[str] | None = None) -> int:
    """Compare two files and say whether the new one is proven."""
    parser = argparse.ArgumentParser(prog="python -m rockiln.fatbin.verify", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--archs", required=True, help="what was kept, as gfx942,gfx950")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    with args.old.open("rb") as old, args.new.open("rb") as new:
        verification = verify_files(old.fileno(), new.fileno(), frozenset(args.archs.split(",")))
    if args.json:
        print(dump(verification).rstrip())
    else:
        print("\n".join(verification.faults) or f"proven: {verification}")
    return 1 if verification.faults else 0


if __name__ == "__main__":
    sys.exit(main())
