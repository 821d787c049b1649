"""JSON of an image that anybody made → values of the shape that is needed. Nothing is taken on trust.

Each function raises ImageError, with `name` (which image) and the place in the document, where the shape is another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from rockiln.errors import ImageError

IMAGE_HINT = "is this an OCI layout, an OCI archive, or the output of docker save?"

MAX_BYTES = 16 << 20
"""Of one document; the specification asks for 4 MiB: https://github.com/opencontainers/distribution-spec."""

Object = Mapping[str, object]


def parse_json(content: bytes, name: str) -> object:
    """Any value; size and nesting that no image needs count as damage."""
    if len(content) > MAX_BYTES:
        raise ImageError(f"{name}: JSON of more than {MAX_BYTES >> 20} MiB", hint=IMAGE_HINT)
    try:
        value: object = json.loads(content)
    except (ValueError, RecursionError) as fault:
        raise ImageError(f"{name}: damaged JSON: {fault}", hint=IMAGE_HINT) from fault
    return value


def parse_object(content: bytes, name: str) -> Object:
    """A JSON object."""
    return require_object(parse_json(content, name), name, "a document")


def require_object(value: object, name: str, where: str) -> Object:
    """The value itself."""
    if not isinstance(value, dict):
        raise _fault(name, where, "an object")
    return value


def take_object(source: Object, key: str, name: str) -> Object:
    """Under `key`; what is null or not there is empty, as https://github.com/opencontainers/image-spec allows."""
    value = source.get(key)
    return {} if value is None else require_object(value, name, key)


def take_objects(source: Object, key: str, name: str) -> tuple[Object, ...]:
    """A list of objects under `key`; null or not there is empty."""
    return tuple(require_object(item, name, f"{key}[{index}]") for index, item in enumerate(_list(source, key, name)))


def take_texts(source: Object, key: str, name: str) -> tuple[str, ...]:
    """A list of texts under `key`; null or not there is empty."""
    items = _list(source, key, name)
    if not all(isinstance(item, str) for item in items):
        raise _fault(name, key, "a list of texts")
    return tuple(map(str, items))


def take_text(source: Object, key: str, name: str) -> str:
    """Text under `key`; null or not there is ""."""
    value = source.get(key)
    if value is not None and not isinstance(value, str):
        raise _fault(name, key, "text")
    return value or ""


def _list(source: Object, key: str, name: str) -> list[object]:
    value = source.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _fault(name, key, "a list")
    return value


def _fault(name: str, where: str, what: str) -> ImageError:
    return ImageError(f"{name}: not an image's JSON: {where} is not {what}", hint=IMAGE_HINT)
