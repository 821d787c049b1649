"""A folder → `sha256  path` of each C++ file below it, sorted, and one digest of the list: which corpus a figure is of.

    python bench/list_corpus.py FOLDER [--output LIST] [--suffix .cu]
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path


def list_files(root_path: Path, suffix: str) -> str:
    """Lines as sha256sum writes them."""
    files = sorted(path for path in root_path.rglob(f"*{suffix}") if path.is_file())
    digests = ((hashlib.sha256(path.read_bytes()).hexdigest(), path.relative_to(root_path)) for path in files)
    return "".join(f"{digest}  {path.as_posix()}\n" for digest, path in digests)


def main() -> None:
    """Write the list, print its digest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suffix", default=".cu")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    text = list_files(args.folder, args.suffix)
    if args.output:
        args.output.write_text(text)
    print(f"{text.count(chr(10))} files, sha256 of the list {hashlib.sha256(text.encode()).hexdigest()}")


if __name__ == "__main__":
    main()
