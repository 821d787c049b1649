"""A family and an arch → its pack for a test: one variant, by rotation; all of the family by night."""

from __future__ import annotations

from harness.rotation import NIGHTLY, read_rotation
from rockiln_kernels.archs import Arch
from rockiln_kernels.pack.build import Pack, build_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants


def build_family(family: str, arch: Arch) -> Pack:
    variants = make_family_variants(family, arch)
    chosen = variants if NIGHTLY else [variants[read_rotation() % len(variants)]]
    return build_pack(arch, chosen, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
