"""Listed instructions, read as text: operands, and what made or reads a register before any branch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

ENDS = ("s_cbranch", "s_branch", "s_endpgm")
"""What ends the code that is read without asking where it goes."""


class Item(Protocol):
    """What is asked of an instruction."""

    @property
    def base(self) -> str: ...
    def text(self) -> str: ...


def split(item: Item) -> list[str]:
    """Operands, in the order in which LLVM writes them."""
    _, _, rest = item.text().partition(" ")
    return re.findall(r"-?\|?[\w.]+(?:\[[\d:]+\])?\|?", rest)


def names_register(operand: str, register: str) -> bool:
    if found := re.fullmatch(r"-?\|?([vs])\[(\d+):(\d+)\]\|?", operand):
        return register[0] == found[1] and int(found[2]) <= int(re.sub(r"\D", "", register) or -1) <= int(found[3])
    return operand.strip("-|") == register


def walk_back(code: Sequence[Item], index: int) -> Iterator[Item]:
    """What comes before without a branch, the nearest first: compilers spread one expansion over many others."""
    for item in reversed(code[:index]):
        if item.base.startswith(ENDS):
            return
        yield item


def read_next(code: Sequence[Item], index: int, register: str) -> Item | None:
    """The next instruction that names `register`, which that one is before any branch."""
    for item in code[index + 1 :]:
        if item.base.startswith(ENDS):
            return None
        if any(names_register(operand, register) for operand in split(item)):
            return item
    return None


def find_maker(code: Sequence[Item], index: int, register: str) -> Item | None:
    return next((item for item in walk_back(code, index) if split(item)[:1] == [register]), None)


def list_makers(code: Sequence[Item], index: int, register: str) -> Iterator[int]:
    """Where the nearest maker of a register is, if there is one before any branch."""
    for place in range(index - 1, -1, -1):
        if code[place].base.startswith(ENDS):
            return
        if split(code[place])[:1] == [register]:
            yield place
            return


def find_writer(code: Sequence[Item], index: int, register: str) -> Item | None:
    """What wrote it, alone or as one of a range."""
    return next(
        (item for item in walk_back(code, index) if split(item) and names_register(split(item)[0], register)), None
    )


def reads_constant(code: Sequence[Item], index: int, constant: str) -> bool:
    """Whether an operand is a constant, or a scalar register that was last given it."""
    for operand in split(code[index])[1:]:
        if operand == constant:
            return True
        if operand.startswith("s") and "[" not in operand:
            place = find_last_writer(code, index, operand)
            if place is not None and code[place].base == "s_mov_b32" and split(code[place])[1] == constant:
                return True
    return False


def find_last_writer(code: Sequence[Item], index: int, register: str) -> int | None:
    """Where a scalar register was last written in the order of the code, whatever branches lie between."""
    for place in range(index - 1, -1, -1):
        if split(code[place]) and names_register(split(code[place])[0], register):
            return place
    return None


def find_only_maker(code: Sequence[Item], register: str) -> Item | None:
    """What writes a register, if one instruction alone does in the whole kernel."""
    makers = [item for item in code if split(item)[:1] and overlaps(split(item)[0], register)]
    return makers[0] if len(makers) == 1 and split(makers[0])[0] == register else None


def overlaps(operand: str, register: str) -> bool:
    """Whether two operands share a scalar register."""
    own = [re.fullmatch(r"s\[?(\d+)(?::(\d+)\])?", text) for text in (operand, register)]
    if own[0] is None or own[1] is None:
        return operand == register
    (first, last), (other, end) = ((int(found[1]), int(found[2] or found[1])) for found in own if found)
    return first <= end and other <= last
