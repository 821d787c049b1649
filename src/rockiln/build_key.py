"""Plan, lock and rockiln's own sources → build key: tells in milliseconds that nothing has to be done."""

from __future__ import annotations

import hashlib
from pathlib import Path

import rockiln
from rockiln.built_values import BUILT, make_note
from rockiln.errors import ImageError
from rockiln.folders import VALUES
from rockiln.image import Compression, Image
from rockiln.invocation import Invocation
from rockiln.jsonable import dump
from rockiln.lock import LockedTarget, require
from rockiln.plan import PlannedTarget
from rockiln.sealed import read_sealed, write_sealed
from rockiln.write_image import read_image

FILES = (*(f"{value}.json" for value in VALUES), "image/index.json")
"""Of the note, besides what the digest covers."""


def compute_build_key(planned: PlannedTarget, locked: LockedTarget, compression: Compression) -> str:
    """Hash of everything that decides an image's bytes: what is planned, what is locked, and the builder itself."""
    key = hashlib.sha256()
    key.update(_hash_sources().encode())
    if planned.target.archs:
        from rockiln.fatbin.writer_versions import list_writer_versions  # slow to load; rows without a GPU do without

        key.update(dump(list_writer_versions()).encode())
    for value in (planned.target, planned.taken, _strip_host_paths(planned), locked, compression):
        key.update(dump(value).encode())
    return key.hexdigest()


def find_current_image(planned: PlannedTarget, invocation: Invocation, compression: Compression) -> Image | None:
    """The image that building the target now would make again, if it is there."""
    locked = require(invocation.lock, planned, invocation.matrix)
    key = compute_build_key(planned, locked, compression)
    return find_finished_image(invocation.folders.target_path(planned.id), key)


def find_finished_image(folder: Path, key: str) -> Image | None:
    """The image that an earlier build left in `folder` under the same key, if it is still there.

    Everything but the layers is hashed; of these, which may be gigabytes, it looks at the sizes.
    """
    noted = read_sealed(folder / BUILT)
    if noted is None:
        return None
    try:
        image = read_image(folder / "image")
        return image if noted == _make_note(folder, key, image) else None
    except (ImageError, FileNotFoundError):
        return None


def remember_image(folder: Path, key: str, image: Image) -> None:
    """Note that `image`, and the values beside it, were made under `key`."""
    write_sealed(folder / BUILT, _make_note(folder, key, image))


def _make_note(folder: Path, key: str, image: Image) -> bytes:
    return make_note(folder, FILES, key=key, digest=image.digest)


NO_BYTE = frozenset({"path", "budget", "smoke_paths", "smoke_data"})
"""Of a recipe, what decides no byte of an image: where its files lie on this machine, and how large it may become."""


def _strip_host_paths(planned: PlannedTarget) -> dict[str, object]:
    """The recipe without the folders it lies in: moving a checkout changes nothing, nor does another machine."""
    recipe = planned.recipe
    return {name: getattr(recipe, name) for name in recipe.__dataclass_fields__ if name not in NO_BYTE}


def _hash_sources() -> str:
    """Hash of rockiln's own files: a changed builder builds anew."""
    folder = Path(rockiln.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()
