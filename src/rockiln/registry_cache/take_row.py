"""A signed record of a row → the row as a build would have left it: layout, values, note. No artifact is fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rockiln.build_key import compute_build_key, remember_image
from rockiln.console import Console
from rockiln.disk import require_room
from rockiln.download.threads import map_threads
from rockiln.errors import VerificationError
from rockiln.fetch import FetchReport
from rockiln.image import Compression, Image, Layer
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.layer_blobs import LayerCache
from rockiln.lock import require
from rockiln.locked import LockedTarget
from rockiln.names import image_reference
from rockiln.plan import PlannedTarget
from rockiln.registry.protocol import Repository
from rockiln.registry_cache.layer_records import FAULTS, SHAPE_FAULTS, Trust
from rockiln.registry_cache.row_records import RowRecord, find_row, unpack_values
from rockiln.shape_faults import name_shape_fault
from rockiln.sign.keys import PublicKey
from rockiln.write_image import describe_layout, write_layout

THREADS = 4
NOTHING_FETCHED = FetchReport(
    held_files=0, held_bytes=0, fetched_files=0, fetched_bytes=0, source_bytes={}, replaced=()
)


def take_row(
    planned: PlannedTarget, invocation: Invocation, compression: Compression, repository: Repository,
    public: PublicKey, trust: Trust,
) -> Image | None:  # fmt: skip
    """The row's image, as building it now would make it; None where the repository has no such row, or one that is not
    believed, which is said."""
    if trust.is_lost:
        return None
    locked = require(invocation.lock, planned, invocation.matrix)
    key = compute_build_key(planned, locked, compression)
    try:
        record = find_row(repository, key, public)
        return _take(planned, locked, key, record, repository, invocation) if record else None
    except FAULTS as fault:
        trust.give_up(fault)
    except (VerificationError, *SHAPE_FAULTS) as fault:
        trust.doubt(f"row {planned.id}", name_shape_fault(fault))
    return None


def _take(
    planned: PlannedTarget, locked: LockedTarget, key: str, record: RowRecord, repository: Repository,
    invocation: Invocation,
) -> Image:  # fmt: skip
    folders = invocation.folders
    folder = folders.target_path(planned.id)
    manifest = repository.read_manifest(record.image_digest)
    if manifest is None:
        raise ValueError(f"it has no {record.image_digest}")
    config = repository.read_blob(str(manifest.document["config"]["digest"]))
    reference = image_reference(planned)
    image = describe_layout(folder / "image", manifest.digest, manifest.document, json.loads(config), reference)
    if image.target_id != planned.id:
        raise ValueError(f"it is an image of {image.target_id}")
    values = repository.read_blob(record.values_digest)
    cache = LayerCache(path=folders.layers_path)
    _fetch_layers(image.layers, cache, repository, invocation.console)
    write_layout(image, config, manifest.content, cache.blob_path)
    unpack_values(values, folder)
    for name, value in {"plan": planned, "lock": locked, "fetch": NOTHING_FETCHED, "image": image}.items():
        write_value(value, folder / f"{name}.json")
    remember_image(folder, key, image)
    return image


def _fetch_layers(layers: Sequence[Layer], cache: LayerCache, repository: Repository, console: Console) -> None:
    absent = [layer for layer in {layer.digest: layer for layer in layers}.values() if not cache.is_whole(layer)]
    total_bytes = sum(layer.size_bytes for layer in absent)
    cache.path.mkdir(parents=True, exist_ok=True)
    require_room(cache.path, total_bytes)
    with console.progress(f"take {repository.name}", total_bytes, "bytes") as progress:

        def fetch(layer: Layer) -> None:
            with cache.scratch_file() as path:
                repository.save_blob(layer.digest, path, progress.advance)
                cache.adopt(path, layer.digest)

        for _ in map_threads(fetch, absent, THREADS):
            pass
