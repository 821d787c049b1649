"""PlannedTarget → Image → SmokeReport: the stages, called in order. Each value lands in build/TARGET/ as JSON."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rockiln.assemble.rootfs import assemble
from rockiln.audit.of_build import audit_build
from rockiln.build_key import compute_build_key, remember_image
from rockiln.chroot_sandbox import ChrootSandbox
from rockiln.contents import Contents
from rockiln.errors import GoneError, IntegrityError
from rockiln.fetch import FetchReport, fetch_artifacts, require_held
from rockiln.image import Compression, Image
from rockiln.image_files import image_entries
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.layer_source import LayerSource
from rockiln.layers import split
from rockiln.lock import LockedTarget, require
from rockiln.plan import PlannedTarget
from rockiln.resolve.own_wheels import bring_own_wheels
from rockiln.sandbox import NamespaceSandbox
from rockiln.share_equal import share_equal
from rockiln.sizes.annotation import annotate
from rockiln.sizes.of_rootfs import add_up_rootfs, complete_sizes
from rockiln.slim import drop_paths
from rockiln.slim_archs import slim_archs
from rockiln.stage_times import Stopwatch, write_times
from rockiln.store import Store
from rockiln.strip_symbols import strip_symbols
from rockiln.unpack.artifacts import unpack_artifacts
from rockiln.write_image import write_image


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """What a person may choose about a build without changing what the image holds."""

    compression: Compression = "gzip"
    relock_gone: bool = False
    """Re-lock a target's debs when some of them have left their archive, instead of stopping."""
    bundle_path: Path | None = None
    """Take artifacts from this bundle; no network."""
    is_chrooted: bool = False
    """The image's own programs run behind chroot, where the kernel's namespaces are forbidden."""
    verify: bool = False
    """Read every byte that is kept of artifacts and layers, and replace what is damaged."""
    layer_source: LayerSource | None = None
    """Where finished layers may be had that the cache lacks."""


def build_image(planned: PlannedTarget, invocation: Invocation, options: BuildOptions) -> Image:
    """Build one target, whatever an earlier build left; `find_current_image` says whether that is needed."""
    locked = require(invocation.lock, planned, invocation.matrix)
    watch, folder = Stopwatch(), invocation.folders.target_path(planned.id)
    locked, image = _fetch_and_make(planned, locked, invocation, options, watch)
    key = compute_build_key(planned, locked, options.compression)
    remember_image(folder, key, image)
    if options.layer_source is None:  # layers that others wrote say nothing of how long that takes
        write_times(folder, watch)
    return image


def _fetch_and_make(
    planned: PlannedTarget, locked: LockedTarget, invocation: Invocation, options: BuildOptions, watch: Stopwatch
) -> tuple[LockedTarget, Image]:
    """What turns out to be damaged on the way is fetched and unpacked again, each file once."""
    discarded: set[str] = set()
    while True:
        with watch.stage("fetch"):
            locked = fetch_target(planned, locked, invocation, options)
        try:
            return locked, _make_image(planned, locked, invocation, options, watch)
        except IntegrityError as fault:
            if not fault.sha256 or fault.sha256 in discarded:
                raise
            discarded.add(fault.sha256)
            _discard(fault, invocation)


def fetch_target(
    planned: PlannedTarget, locked: LockedTarget, invocation: Invocation, options: BuildOptions
) -> LockedTarget:
    """Have every artifact of the target in the store; returns what was fetched, re-locked where that was allowed."""
    store = Store(invocation.folders.store_path)
    folder = invocation.folders.target_path(planned.id)
    if options.bundle_path:
        from rockiln.bundle import read_bundle

        read_bundle(options.bundle_path, store, invocation.console)
    try:
        report = _fetch(locked, store, invocation, options)
    except GoneError as gone:
        if not options.relock_gone:
            raise
        from rockiln.relock import relock_debs  # all of resolving, which a build can do without

        invocation.console.warn(gone.message)
        locked = relock_debs(planned, invocation)
        report = _fetch(locked, store, invocation, options)
    write_value(locked, folder / "lock.json")
    write_value(report, folder / "fetch.json")
    return locked


def _fetch(locked: LockedTarget, store: Store, invocation: Invocation, options: BuildOptions) -> FetchReport:
    if options.bundle_path:
        return require_held(locked.artifacts, store)
    bring_own_wheels(
        locked.artifacts, invocation.matrix, store, invocation.folders.cache_path, invocation.environ,
        invocation.console,
    )  # fmt: skip
    return fetch_artifacts(
        locked.artifacts, invocation.matrix, store, invocation.environ, invocation.jobs, invocation.console,
        verify=options.verify,
    )  # fmt: skip


def _make_image(
    planned: PlannedTarget, locked: LockedTarget, invocation: Invocation, options: BuildOptions, watch: Stopwatch
) -> Image:
    folders, jobs, console = invocation.folders, invocation.jobs, invocation.console
    store, contents = Store(folders.store_path), Contents(folders.contents_path)
    with watch.stage("unpack"):
        unpacked = unpack_artifacts(
            locked.artifacts, store, contents, folders.unpacked_path, planned.target.python, jobs, console
        )
    with watch.stage("assemble"):
        sandbox = ChrootSandbox() if options.is_chrooted else NamespaceSandbox()
        generated = image_entries(planned, locked, contents)
        rootfs = assemble(planned, locked, unpacked, contents, sandbox, folders.cache_path, generated, jobs, console)
    with watch.stage("slim"):
        dropped = drop_paths(rootfs, planned.recipe.drops, contents)
        stripped = strip_symbols(dropped, planned.recipe.strips, contents, folders.cache_path)
        slimmed = slim_archs(stripped.rootfs, planned.target.archs, contents, folders.cache_path, jobs, console)
        shared = share_equal(slimmed.rootfs, planned.recipe.shares)
    with watch.stage("layers"):
        layers = split(shared.rootfs, planned.recipe.layer_budget)
        sizes = add_up_rootfs(planned.id, shared.rootfs, layers, contents, folders.cache_path, console)
        image = write_image(
            planned, locked, layers, contents, folders, options.compression, jobs, console,
            annotations=annotate(sizes), source=options.layer_source,
        )  # fmt: skip
    with watch.stage("audit"):
        report = audit_build(planned, shared.rootfs, contents, image, invocation)
    values = {
        "plan": planned, "rootfs": replace(shared.rootfs, dropped=()), "dropped": shared.rootfs.dropped,
        "slimmed": {"stripped": stripped.files, "files": slimmed.files, "shared": shared.files},
        "layers": image.layers, "sizes": complete_sizes(sizes, image), "audit": report, "image": image,
    }  # fmt: skip
    for name, value in values.items():
        write_value(value, folders.target_path(planned.id) / f"{name}.json")
    return image


def _discard(fault: IntegrityError, invocation: Invocation) -> None:
    """Forget the bytes that a hash disowned, so that they are fetched and unpacked again."""
    invocation.console.warn(f"{fault.message}; it is fetched and unpacked again")
    Store(invocation.folders.store_path).discard(fault.sha256)
    Contents(invocation.folders.contents_path).discard(fault.sha256)
