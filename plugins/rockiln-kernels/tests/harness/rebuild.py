"""Arch, sample, place → a pack of that sample in a folder: `python -m harness.rebuild ARCH STEP PLACE DIR`.

The sample is every STEP-th kernel's variants, from PLACE on. Started in folders of their own by test_reproducible.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.pack.build import build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_arch_variants


def main(arch: str, step: str, place: str, folder: str) -> None:
    """Build the sample and write it."""
    variants = make_arch_variants(ARCHS[arch])[int(place) :: int(step)]
    cache = CompileCache(folder=find_cache_folder())
    write_pack(build_pack(ARCHS[arch], variants, find_toolchain(), cache, jobs=1), Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
