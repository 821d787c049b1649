"""A file's path → Named: the kind of data that it is by where it lies, and the GPUs that its name tells.

One grammar a kind of folder. Sources: the trees of ROCm 7.2.4 as Debian packages them (rocBLAS, hipBLASLt, hipSPARSELt,
MIOpen's models); MIOpen's ai_heuristics.cpp; TheRock's rules for splitting packages by GPU; PyTorch's
cmake/External/aotriton.cmake; AITER's hsa folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rockiln.kernel_data.targets import KNOWN_ARCHS, expand, find_targets


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a path tells."""

    rule: str
    targets: frozenset[str] = frozenset()
    """Archs, generic targets or families in the name; empty: it tells none."""
    doubt: str = ""
    """Why the name is not understood; "" where it is."""
    is_code: bool = False
    """A file of this name must hold code, and its content must agree; other names are the only key to their data."""
    is_database: bool = False
    """One file for all archs, with rows for each."""
    heirs: frozenset[str] = frozenset()
    """Archs that use this file although its name does not tell them."""
    root: str = ""
    """The folder of the whole tree, e.g. …/rocblas/library: what a library would look for its data in."""


Grammar = Callable[[re.Match[str]], Named]


def name_file(path: str) -> Named | None:
    """What `path` tells; None for one that lies in no folder of kernel data."""
    for pattern, grammar in _GRAMMARS:
        if matched := pattern.match(path):
            return grammar(matched)
    return None


def find_root(path: Path) -> Path:
    """The folder of the library's data in which `path` lies; `path` itself outside of such folders."""
    named = name_file(str(path))
    return Path(named.root) if named and named.root else path


_TENSILE = re.compile(
    r"(?P<root>(?:^|.*/)(?P<rule>rocblas|hipblaslt|hipsparselt)/(?:[0-9.]+/)?library)/(?:(?P<folder>gfx[^/]+)/)?(?P<name>[^/]+)$"
)
_TENSILE_ENDING = re.compile(r".*\.(?:co|hsaco|dat)")


def _name_tensile(matched: re.Match[str]) -> Named:
    """TensileLibrary_…_gfx942.co, …_fallback_gfx90a-xnack+.hsaco, Kernels.so-000-gfx942.hsaco, extop_gfx942.co."""
    rule, name, folder, root = matched["rule"], matched["name"], matched["folder"] or "", matched["root"]
    targets = find_targets(folder) | find_targets(name)
    if not _TENSILE_ENDING.fullmatch(name) and not folder:
        return Named(rule=rule, doubt="a file of an unknown kind", root=root)
    if folder and find_targets(folder) == frozenset():
        return Named(rule=rule, doubt=f"a folder {folder} of no known GPU", root=root)
    is_code = name.endswith((".co", ".hsaco"))
    return _one_target(Named(rule=rule, targets=targets, is_code=is_code, root=root))


_MIOPEN = re.compile(r"(?P<root>(?:^|.*/)miopen/db)/(?P<name>[^/]+)$")
_MIOPEN_ARCHS = "|".join(
    sorted((arch.removeprefix("gfx") for arch in KNOWN_ARCHS), key=lambda arch: (-len(arch), arch))
)
_MIOPEN_NAME = re.compile(
    rf"gfx(?P<arch>{_MIOPEN_ARCHS})"
    r"(?:(?P<units>_[0-9]{1,3}|[0-9a-f]{1,3})?(?:\.(?:HIP|OpenCL))?\.(?:f?db\.txt|u?kdb)|(?P<model>(?:_[A-Za-z0-9_]+)?\.k?tn\.model))"
)
_MODEL_HEIRS = {"gfx942": frozenset({"gfx950"})}
"""MIOpen asks gfx942's models for gfx950 (ai_heuristics.cpp, tuning::GetModel)."""
_DEFAULT_MODEL = re.compile(r"gfx908(?:_metadata)?\.tn\.model")
"""What MIOpen up to 3.5 takes for every arch that has no model of its own (ai_heuristics.cpp, immed_mode::GetModel)."""


def _name_miopen(matched: re.Match[str]) -> Named:
    """gfx94250.HIP.fdb.txt: arch and number of compute units, in hexadecimal, without anything in between."""
    name, root = matched["name"], matched["root"]
    if not name.startswith("gfx"):
        return Named(rule="miopen", root=root)
    if _DEFAULT_MODEL.fullmatch(name):
        return Named(rule="miopen", targets=frozenset({"gfx908"}), heirs=KNOWN_ARCHS, root=root)
    parts = _MIOPEN_NAME.fullmatch(name)
    if parts is None:
        return Named(rule="miopen", doubt="a name that is not ARCH, compute units and a known ending", root=root)
    arch = f"gfx{parts['arch']}"
    heirs = _MODEL_HEIRS.get(arch, frozenset()) if parts["model"] else frozenset()
    return Named(rule="miopen", targets=frozenset({arch}), heirs=heirs, root=root)


_AOTRITON = re.compile(
    r"(?P<root>(?:^|.*/)aotriton\.images)/amd-(?P<target>gfx[0-9a-z]+)(?:_mod[0-9]+)?/(?:.*/)?(?P<name>[^/]+)$"
)
_AOTRITON_TARGET = re.compile(r"(?<![0-9A-Za-z])gfx[0-9a-fx]+")


def _name_aotriton(matched: re.Match[str]) -> Named:
    """amd-gfx942/flash/attn_fwd/FONLY__….aks2; amd-gfx11xx is for a family. The name may repeat the folder's target."""
    target, name, root = matched["target"], matched["name"], matched["root"]
    if not name.endswith((".aks2", ".aks1", ".hsaco.zst", ".hsaco", ".json.zst", ".json")):
        return Named(rule="aotriton", doubt="a file of an unknown kind", root=root)
    if set(_AOTRITON_TARGET.findall(name)) - {target}:
        return Named(rule="aotriton", doubt=f"name and folder amd-{target} differ", root=root)
    is_code = name.endswith(".hsaco")
    return _one_target(Named(rule="aotriton", targets=frozenset({target}), is_code=is_code, root=root))


_AITER = re.compile(r"(?P<root>(?:^|.*/)hsa)/(?P<target>gfx[0-9a-f]+)/(?:.*/)?(?P<name>[^/]+\.(?:co|hsaco|csv))$")


def _name_aiter(matched: re.Match[str]) -> Named:
    """hsa/gfx942/fmoe/silu/fmoe_bf16.co, and the tables that say which of them to take."""
    targets = frozenset({matched["target"]}) | find_targets(matched["name"])
    is_code = not matched["name"].endswith(".csv")
    return _one_target(Named(rule="aiter", targets=targets, is_code=is_code, root=matched["root"]))


_RCCL = re.compile(r"(?P<root>(?:^|.*/)rccl/msccl[a-z-]*)/(?P<name>[^/]+)$")


def _name_rccl(matched: re.Match[str]) -> Named:
    """Algorithms by number of GPUs and message size: they serve every arch."""
    targets = find_targets(matched["name"])
    return _one_target(Named(rule="rccl", targets=targets, root=matched["root"]))


_ROCFFT = re.compile(r"(?:^|.*/)(?P<name>rocfft_kernel_cache\.db)$")


def _name_rocfft(_: re.Match[str]) -> Named:
    """Kernels that rocFFT compiled when it was built, in one table."""
    return Named(rule="rocfft", is_database=True)


def _one_target(named: Named) -> Named:
    """The same, or in doubt where the name tells several targets or an unknown one."""
    if len(named.targets) > 1:
        return Named(rule=named.rule, doubt=f"its name tells {' and '.join(sorted(named.targets))}", root=named.root)
    unknown = [target for target in named.targets if not expand(target)]
    if unknown:
        return Named(rule=named.rule, doubt=f"{unknown[0]} is no known GPU", root=named.root)
    return named


_GRAMMARS: tuple[tuple[re.Pattern[str], Grammar], ...] = (
    (_TENSILE, _name_tensile),
    (_MIOPEN, _name_miopen),
    (_AOTRITON, _name_aotriton),
    (_AITER, _name_aiter),
    (_RCCL, _name_rccl),
    (_ROCFFT, _name_rocfft),
)
