"""A small tree → build/TARGET as a build leaves it, without debs, wheels or a network: what reports and diffs read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from imaging import make_rootfs, plan_jax

from rockiln.built_values import BUILT, has_value, make_note, note_smoke
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.folders import VALUES
from rockiln.image import Image, Layer
from rockiln.jsonable import write_value
from rockiln.layers import split
from rockiln.manifest import Entry
from rockiln.rootfs import Dropped, OwnerClass, Rootfs
from rockiln.sealed import write_sealed
from rockiln.sizes.of_rootfs import add_up_rootfs, complete_sizes
from rockiln.slim_rules import StripRule

CLASSES: Mapping[str, OwnerClass] = {"wheel:jax": "framework", "deb:rocblas": "rocm"}
DIGEST = "sha256:" + "ab" * 32
MARKUP = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
LIBRARY = "opt/rocm/lib/rocblas/library"


def small_tree(contents: Contents) -> Rootfs:
    """Two packages with code for two GPUs, and two without."""
    items: dict[str, tuple[str, str | bytes]] = {
        "usr/bin/tool": ("deb:tool", b"t" * 4000),
        "usr/share/doc/tool/copyright": ("deb:tool", b"c" * 500),
        "opt/venv/lib/python3.11/site-packages/jax/numpy.py": ("wheel:jax", b"n" * 9000),
        "opt/venv/lib/python3.11/site-packages/jax/core.py": ("wheel:jax", b"o" * 3000),
        f"{LIBRARY}/Kernels.so-000-gfx942.hsaco": ("deb:rocblas", b"k" * 7000),
        f"{LIBRARY}/Kernels.so-000-gfx950.hsaco": ("deb:rocblas", b"l" * 6000),
        "etc/motd": ("rockiln", b"hello"),
    }
    return make_rootfs(contents, items, CLASSES)


def add_files(rootfs: Rootfs, owner: str, files: Mapping[str, int]) -> Rootfs:
    """With files of that owner and size, whose bytes are nowhere: nobody looks into them, below 4 KiB or in Python."""
    added = {path: Entry(path, "file", 0o644, 0, 0, size, f"{size:064x}", "", owner) for path, size in files.items()}
    folders = {str(parent) for path in files for parent in Path(path).parents} - {".", *rootfs.entries}
    missing = {name: Entry(name, "directory", 0o755, 0, 0, 0, "", "", owner) for name in folders}
    return replace(rootfs, entries=dict(sorted({**rootfs.entries, **missing, **added}.items())))


def write_built(folder: Path, target_id: str, rootfs: Rootfs, contents: Contents) -> None:
    """plan, rootfs, dropped, slimmed and sizes; layers are half as large compressed."""
    planned = plan_jax(rocm=True)
    strip = StripRule(rule="symbols", owners=("deb:*",), keep=(), why="only debuggers read them")
    planned = replace(planned, recipe=replace(planned.recipe, strips=(strip,)))
    plans = split(rootfs, 10)
    layers = [
        Layer(
            digest=f"sha256:{plan.key}", diff_id=f"sha256:{plan.key}", size_bytes=plan.unpacked_bytes // 2,
            unpacked_bytes=plan.unpacked_bytes, media_type="", owners=plan.owners, title=plan.title,
        )
        for plan in plans
    ]  # fmt: skip
    image = Image(
        target_id=target_id, layout_path=folder / "image", digest=DIGEST, config_digest=DIGEST, layers=tuple(layers),
        reference="rockiln/tiny:1",
    )  # fmt: skip
    write_value(planned, folder / "plan.json")
    write_value(rootfs, folder / "rootfs.json")
    write_value(_dropped(), folder / "dropped.json")
    write_value(_slimmed(), folder / "slimmed.json")
    write_value(layers, folder / "layers.json")
    sizes = add_up_rootfs(target_id, rootfs, plans, contents, contents.path.parent / "cache", Console(None))
    write_value(complete_sizes(sizes, image), folder / "sizes.json")
    note_build(folder)


def note_build(folder: Path) -> None:
    """Vouch for all values that are there, as the end of a build does."""
    names = [f"{value}.json" for value in VALUES if has_value(folder, value)]
    write_sealed(folder / BUILT, make_note(folder, names))


def _dropped() -> Sequence[Dropped]:
    return tuple(
        Dropped(path=f"usr/share/man/man{number}/tool.{number}", size_bytes=number * 100, rule="docs", owner="deb:tool")
        for number in range(1, 9)
    )


def _slimmed() -> dict[str, object]:
    path = f"{LIBRARY}/Kernels.so-000-gfx942.hsaco"
    row = {
        "path": path, "owner": "deb:rocblas", "rule": "rocblas", "outcome": "slimmed", "before_bytes": 20_000,
        "after_bytes": 7000, "kept": {"gfx942": 7000}, "dropped": {"gfx90a": 13_000}, "reason": "", "missing": [],
    }  # fmt: skip
    sizes = {"before_bytes": 9000, "after_bytes": 4000}
    stripped = {"path": "usr/bin/tool", "owner": "deb:tool", "rule": "symbols", **sizes}
    shared = {"path": "srv/twin", "owner": "deb:tool", "size_bytes": 70_000, "rule": "twins", "link": "usr/bin/tool"}
    return {"stripped": [stripped], "files": [row], "shared": [shared]}


def write_smoke(folder: Path) -> None:
    """A check of each outcome."""
    outcomes = (
        {"status": "passed", "log": ""},
        {"status": "failed", "reason": "it says 3, not 4", "log": ""},
        {"status": "unavailable", "reason": "no /dev/kfd here", "log": ""},
    )
    checks = [
        {"name": name, "tier": "cpu", "outcome": outcome, "duration_s": 1.25}
        for name, outcome in zip(("imports", "adds", "gpu"), outcomes, strict=True)
    ]
    value = {"target_id": "tiny", "image_digest": DIGEST, "engine": "embedded", "checks": checks}
    write_value(value, folder / "smoke.json")
    note_smoke(folder)


def write_audit(folder: Path, path: str) -> None:
    """One error about `path`, which has markup in its evidence, and something expected."""
    findings = [
        {"rule": "needed-missing", "severity": "error", "path": path, "evidence": f"libnuma.so.1 {MARKUP}",
         "remedy": "add libnuma1", "reason": ""},
        {"rule": "needed-missing", "severity": "expected", "path": "/usr/bin/tool", "evidence": "libhsa is nowhere",
         "remedy": "", "reason": "the host brings it"},
    ]  # fmt: skip
    write_value({"subject": "tiny", "archs": ["gfx942"], "findings": findings, "counts": {}}, folder / "audit.json")
    note_build(folder)
