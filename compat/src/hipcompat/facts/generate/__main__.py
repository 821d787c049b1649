"""`python -m hipcompat.facts.generate --inputs DIR` → facts.tsv beside the package's table.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from hipcompat.errors import CompatError
from hipcompat.facts.generate.cuda_side import read_c_headers, read_cccl, read_mapped_names, read_nvml
from hipcompat.facts.generate.hip_side import read_hip_side
from hipcompat.facts.generate.inputs import read_inputs, read_members
from hipcompat.facts.generate.mappings import read_hipify, read_interop
from hipcompat.facts.generate.merge import Sides, merge_facts
from hipcompat.facts.table import FACTS_PATH, write_facts


def read_sides(folder_path: Path) -> Sides:
    """All packages of inputs.toml, read from one folder."""
    inputs = read_inputs()

    def members(role: str) -> Iterator[tuple[str, str]]:
        for item in inputs:
            if item.role == role:
                yield from read_members(item, folder_path)

    interop = {cuda: hip for _, text in members("interop") for cuda, hip in read_interop(text).items()}
    hipify = {cuda: hip for _, text in members("hipify") for cuda, hip in read_hipify(text).items()}
    return Sides(
        cuda=read_mapped_names(interop, hipify)
        | read_cccl(members("cccl"))
        | read_nvml(members("nvml"))
        | read_c_headers(members("cuda-headers")),
        hip=read_hip_side(members("hip-headers"), members("hip-7.0")),
        interop=interop,
        hipify=hipify,
    )


def main(argv: list[str] | None = None) -> int:
    """Write the table, whole or not at all."""
    parser = argparse.ArgumentParser(prog="python -m hipcompat.facts.generate", description="Make facts.tsv anew.")
    parser.add_argument("--inputs", type=Path, required=True, metavar="DIR", help="where the packages are")
    parser.add_argument("--output", type=Path, default=FACTS_PATH, metavar="FILE", help="default: the own table")
    args = parser.parse_args(argv)
    try:
        facts = merge_facts(read_sides(args.inputs))
    except CompatError as error:
        sys.stderr.write(f"hipcompat: error: {error.message}\nhint: {error.hint}\n")
        return error.exit_code
    write_facts(facts, args.output)
    sys.stderr.write(f"{args.output}: {len(facts)} names\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
