"""Plan, lock and rockiln's own sources → build key: tells in milliseconds that nothing has to be done."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import rockiln
from rockiln.image import Compression, Image, Layer
from rockiln.jsonable import dump, write_value
from rockiln.lock import LockedTarget
from rockiln.plan import PlannedTarget


def compute_build_key(planned: PlannedTarget, locked: LockedTarget, compression: Compression) -> str:
    """Hash of everything that decides an image's bytes: what is planned, what is locked, and the builder itself."""
    key = hashlib.sha256()
    key.update(_hash_sources().encode())
    for value in (planned.target, planned.taken, _strip_host_path(planned), locked, compression):
        key.update(dump(value).encode())
    return key.hexdigest()


def find_finished_image(folder: Path, key: str) -> Image | None:
    """The image that an earlier build left in `folder` under the same key, if all its blobs are still there."""
    try:
        record = json.loads((folder / "built.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    if record.get("key") != key:
        return None
    image = _image_from_json(record["image"])
    digests = (image.digest, image.config_digest, *(layer.digest for layer in image.layers))
    present = all((image.layout_path / "blobs" / digest.replace(":", "/")).is_file() for digest in digests)
    return image if present else None


def remember_image(folder: Path, key: str, image: Image) -> None:
    """Note that `image` was built under `key`."""
    write_value({"key": key, "image": image}, folder / "built.json")


def _image_from_json(record: dict[str, object]) -> Image:
    layers = tuple(
        Layer(**{**layer, "owners": tuple(layer["owners"])})
        for layer in record["layers"]  # type: ignore[attr-defined]  # written by remember_image
    )
    return Image(**{**record, "layers": layers, "layout_path": Path(str(record["layout_path"]))})  # type: ignore[arg-type]


def _strip_host_path(planned: PlannedTarget) -> dict[str, object]:
    """The recipe without the folder it lies in: moving a checkout changes no key."""
    recipe = planned.recipe
    return {name: getattr(recipe, name) for name in recipe.__dataclass_fields__ if name != "path"}


def _hash_sources() -> str:
    """Hash of rockiln's own files: a changed builder builds anew."""
    folder = Path(rockiln.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()
