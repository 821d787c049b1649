"""A good file + a random generator → the same file with a few bytes changed where it matters."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

INTERESTING = (0, 1, 7, 0x7F, 0x80, 0xFF)
_MAGICS = (b"__CLANG", b"CCOB", b"FPIH")
_HEADER_BYTES = 64


def damage(seed: bytes, random: Random) -> bytes:
    """Bytes changed near headers, tables and magics, or the file cut short."""
    content = bytearray(seed)
    places = [0, 64, *(place for magic in _MAGICS for place in _find_all(seed, magic))]
    places += [len(seed) - _HEADER_BYTES * number for number in range(1, 40)]
    for _ in range(random.choice((1, 1, 2, 4))):
        place = max(0, min(len(seed) - 1, random.choice(places) + random.randrange(600)))
        if random.random() < 0.7:
            content[place] = random.choice(INTERESTING) if random.random() < 0.5 else random.randrange(256)
        else:
            content[place : place + 8] = random.randbytes(8)[: len(content) - place]
    if random.random() < 0.05:
        del content[random.randrange(len(content)) :]
    return bytes(content)


def _find_all(content: bytes, text: bytes) -> Iterator[int]:
    place = content.find(text)
    while place >= 0:
        yield place
        place = content.find(text, place + 1)
