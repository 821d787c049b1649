"""ImageSource → CheckedImage: manifest, config and layers, each byte held against the digest that names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from rockiln.console import Console
from rockiln.errors import ImageError, VerificationError
from rockiln.image_config import LAYER_TITLE, TARGET_LABEL
from rockiln.readers import CountedReader, HashedReader, Readable, digest_of
from rockiln.sbom.installed import Installed, find_installed
from rockiln.sbom.layer_texts import LayerTexts, read_layer_texts
from rockiln.shape_faults import name_shape_fault
from rockiln.verification.sources import ImageSource, LayoutSource, name_blob, parse_json

_CHUNK_BYTES = 1 << 20
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedImage:
    """An image whose parts are what they are called."""

    digest: str
    manifest_bytes: int
    config: Mapping[str, Any]
    names: tuple[str, ...]
    layers: int
    layer_bytes: int
    installed: Installed | None
    """None where the layers were not read."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Of the config."""
        said = self.config.get("config")
        labels = said.get("Labels") if isinstance(said, dict) else None
        return {str(key): str(value) for key, value in labels.items()} if isinstance(labels, dict) else {}

    @property
    def target(self) -> str:
        """The row that the image says it is of."""
        return self.labels.get(TARGET_LABEL, "")


def check_image(source: ImageSource, console: Console, *, with_layers: bool) -> CheckedImage:
    """Read it all. Raises VerificationError, which names the part."""
    content, digest = source.read_manifest()
    if digest_of(content) != digest:
        raise VerificationError(f"{source.name}: the manifest is {digest_of(content)}, not {digest}")
    manifest = parse_json(content, f"{source.name}: the manifest")
    try:
        config_row, rows = manifest["config"], list(manifest["layers"])
        config = parse_json(_read_small(source, config_row, "the config"), f"{source.name}: the config")
        diff_ids = [str(one) for one in config["rootfs"]["diff_ids"]]
        sizes = [int(row["size"]) for row in rows if name_blob(str(row["digest"]))]
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        what = name_shape_fault(fault)
        raise VerificationError(f"{source.name}: not an image's manifest and config: {what}") from fault
    if len(diff_ids) != len(rows):
        raise VerificationError(f"{source.name}: {len(rows)} layers, and {len(diff_ids)} diff_ids in the config")
    checked = CheckedImage(
        digest=digest, manifest_bytes=len(content), config=config, names=source.read_names(), layers=len(rows),
        layer_bytes=sum(sizes), installed=None,
    )  # fmt: skip
    require_row(source, "says that it is", checked.target)
    if not with_layers:
        return checked
    texts = _check_layers(source, rows, diff_ids, console)
    return replace(checked, installed=find_installed(texts, source.name))


def require_row(source: ImageSource, says: str, found: str) -> None:
    """What a person asked for by a row's id is that row's image, and not another one whose tag it was given."""
    if source.row and found != source.row.id:
        message = f"{source.name}: {source.row.id} was asked for, and the image {says} {found or 'of no row'}"
        raise VerificationError(message, hint="was its tag moved to another row's image? Name an image by its digest")


def _check_layers(
    source: ImageSource, rows: Sequence[Mapping[str, Any]], diff_ids: Sequence[str], console: Console
) -> list[LayerTexts]:
    total = sum(int(row["size"]) for row in rows)
    built = source.row if isinstance(source, LayoutSource) else None
    hint = f"rockiln build --verify {built.id} writes it anew" if built else ""
    with console.progress(f"verify {source.name}", total, "bytes") as progress:
        layers = []
        for number, (row, diff_id) in enumerate(zip(rows, diff_ids, strict=True), 1):
            said = row.get("annotations")
            title = said.get(LAYER_TITLE, "") if isinstance(said, dict) else ""
            name = f"{source.name}: layer {number}{f' ({title})' if title else ''}"
            with source.open_blob(str(row["digest"]), int(row["size"])) as stream:
                counted = CountedReader(stream, progress.advance)
                layers.append(_check_layer(counted, str(row["digest"]), diff_id, name, hint))
    return layers


def _check_layer(stream: Readable, digest: str, diff_id: str, name: str, hint: str) -> LayerTexts:
    hashed = HashedReader(stream)
    try:
        texts = read_layer_texts(hashed, name)
    except ImageError as fault:
        raise VerificationError(f"{fault.message}: it is not {digest}", hint=hint) from fault
    while hashed.read(_CHUNK_BYTES):
        pass
    if hashed.digest != digest:
        raise VerificationError(f"{name}: the blob is {hashed.digest}, not {digest}", hint=hint)
    if texts.diff_id != diff_id:
        raise VerificationError(f"{name}: holds {texts.diff_id}, and the config says {diff_id}")
    return texts


def _read_small(source: ImageSource, row: Mapping[str, Any], what: str) -> bytes:
    if int(row["size"]) > _MAX_BYTES:
        raise VerificationError(f"{source.name}: {what} has {row['size']} bytes, of {_MAX_BYTES >> 20} MiB at most")
    with source.open_blob(str(row["digest"]), int(row["size"])) as stream:
        content = cast("bytes", stream.read(_MAX_BYTES))
    if digest_of(content) != row["digest"]:
        raise VerificationError(f"{source.name}: {what} is {digest_of(content)}, not {row['digest']}")
    return content
