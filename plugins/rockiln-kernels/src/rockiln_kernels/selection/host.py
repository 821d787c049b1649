"""A GPU's arch, an environment and what is installed → Host: all that a selection depends on besides the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from rockiln_kernels.call import Call
from rockiln_kernels.pack.intact import INDEX_NAME, find_index_fault, hash_file
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest, read_manifest
from rockiln_kernels.pack.parts import PARTS_NAME, ManifestParts
from rockiln_kernels.selection.records import SHIPPED, HardwareRecord, find_record, find_user_folder, read_records

SWITCHES = ("ROCKILN_EMULATED_OK", "ROCKILN_STRICT")
"""Variables that say yes or no."""
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"", "0", "false", "no", "off"})
JudgeAiter = Callable[[Call, str], str]
"""A call and an arch → why AITER does not run it, or "" if it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPack:
    """A pack on disk; `sha256` is that of manifest.json, which holds the hash of every code object."""

    folder: Path
    manifest: Manifest | ManifestParts
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine, as a value: any host can ask for any other."""

    arch: str
    pack: InstalledPack | None = None
    record: HardwareRecord | None = None
    """Of this pack on this arch."""
    emulated_ok: bool = False
    """Take what only gfxemu has run."""
    judge_aiter: JudgeAiter | None = None
    """Asked where the pack does not run a call; None unless a framework's adapter can call AITER."""
    is_strict: bool = False
    broken_records: tuple[tuple[Path, str], ...] = ()
    """Files among the records that are none, and why: they count for nothing."""


def read_host(arch: str, environ: Mapping[str, str], pack_folder: Path | None = None) -> Host:
    """The host as installed: the pack of `arch` (or the one in `pack_folder`), its record, and the variables.

    Raises ValueError for a damaged pack and for a variable that says neither yes nor no, OSError where `pack_folder`
    cannot be read. A broken record is left out, and named in `broken_records`.
    """
    emulated_ok, is_strict = (read_switch(environ, name) for name in SWITCHES)
    folder = pack_folder or find_pack(arch)
    pack = open_pack(folder) if folder else None
    found = read_records((SHIPPED, find_user_folder(environ)))
    return Host(
        arch=arch,
        pack=pack,
        record=find_record(found.records, arch, pack.sha256) if pack else None,
        emulated_ok=emulated_ok,
        is_strict=is_strict,
        broken_records=found.broken,
    )


def read_switch(environ: Mapping[str, str], name: str) -> bool:
    """Whether a variable says yes; unset and empty say no. Raises ValueError for what says neither."""
    word = environ.get(name, "").strip().lower()
    if word not in _YES | _NO:
        raise ValueError(f"{name} is {environ[name]!r}: 1, true, yes and on say yes; 0, false, no and off say no")
    return word in _YES


def find_pack(arch: str) -> Path | None:
    """The folder of the installed pack of `arch`, without importing it."""
    spec = find_spec(f"rockiln_kernels_{arch}")
    folder = Path(spec.origin).parent / "pack" if spec and spec.origin else None
    return folder if folder and folder.is_dir() else None


@lru_cache(maxsize=8)
def open_pack(folder: Path) -> InstalledPack:
    """A pack's manifest, read once in this process: op by op where it has parts.jsonl, else as a whole.

    The sha256 is computed of manifest.json; what is made of that and read instead of it has to be of the same.
    Raises ValueError for a damaged pack. Code objects are compared when a variant of theirs is chosen, and loaded.
    """
    digest = hash_file(folder / FILE_NAME)
    is_cut, index = (folder / PARTS_NAME).is_file(), folder / INDEX_NAME
    manifest = ManifestParts(folder) if is_cut else read_manifest(folder)
    fault = find_index_fault(index.read_bytes(), digest) if index.is_file() else ""
    if isinstance(manifest, ManifestParts) and manifest.sha256 != digest:
        fault = f"{PARTS_NAME} is of another {FILE_NAME}"
    if fault:
        raise ValueError(f"{folder} is damaged: {fault}; install or build it anew")
    return InstalledPack(folder=folder, manifest=manifest, sha256=digest)
