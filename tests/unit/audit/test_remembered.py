"""What a build's audit saw of unchanged files is not looked at again, and says the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rockiln.audit.inspect_file import NOTHING, FileFacts, Wanted, inspect_file
from rockiln.audit.leak_words import Leak
from rockiln.audit.remembered import read_remembered, write_remembered
from rockiln.sealed import read_sealed, write_sealed

LOOKED_FOR = Wanted(needles=("mirror.example",), hashes=False)
PROGRAM = Path("/bin/ls")


def inspect_program() -> FileFacts:
    with PROGRAM.open("rb") as opened:
        return inspect_file("usr/bin/ls", PROGRAM.stat().st_size, opened, LOOKED_FOR)


def test_facts_come_back_as_they_were(tmp_path: Path) -> None:
    program = inspect_program()
    assert program.elf is not None
    assert program.elf.needed
    leak = Leak("mirror", "etc/pip.conf", "names mirror.example: \udcff")
    facts = {
        "usr/bin/ls": program,
        "etc/pip.conf": FileFacts(text=bytes(range(256)), leaks=(leak,)),
        "empty": FileFacts(text=b"x", targets=("gfx942", "gfx90a:xnack+")),
    }
    hashes = {**{path: f"hash of {path}" for path in facts}, "usr/share/nothing": "d"}
    write_remembered(tmp_path / "inspected", LOOKED_FOR, hashes, facts)
    assert read_remembered(tmp_path / "inspected", LOOKED_FOR) == {
        (path, sha256): facts.get(path, NOTHING) for path, sha256 in hashes.items()
    }


def test_unreadable_file_is_tried_again(tmp_path: Path) -> None:
    facts = {"a": FileFacts(fault="cannot be read: Input/output error")}
    write_remembered(tmp_path / "inspected", LOOKED_FOR, {"a": "1", "b": "2"}, facts)
    assert list(read_remembered(tmp_path / "inspected", LOOKED_FOR)) == [("b", "2")]


def test_other_things_to_look_for_forget_all(tmp_path: Path) -> None:
    write_remembered(tmp_path / "inspected", LOOKED_FOR, {"a": "1"}, {})
    assert read_remembered(tmp_path / "inspected", replace(LOOKED_FOR, needles=("other.example",))) == {}


@pytest.mark.parametrize("damage", [b"", b"[]", b"{", b'{"key": 1}', b"\xff\xfe"])
def test_damage_is_nothing_remembered(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "inspected").write_bytes(damage)
    assert read_remembered(tmp_path / "inspected", LOOKED_FOR) == {}


def test_changed_byte_forgets_all(tmp_path: Path) -> None:
    path = tmp_path / "inspected"
    write_remembered(path, LOOKED_FOR, {"a": "1"}, {"a": FileFacts(text=b"original")})
    path.write_bytes(path.read_bytes().replace(b"original", b"0riginal"))
    assert read_remembered(path, LOOKED_FOR) == {}


def test_damaged_row_is_nothing_remembered(tmp_path: Path) -> None:
    path = tmp_path / "inspected"
    write_remembered(path, LOOKED_FOR, {"a": "1"}, {})
    value = json.loads(read_sealed(path) or b"")
    write_sealed(path, json.dumps({**value, "files": [["a", "1", {"elf": {"needed": 3}}]]}).encode())
    assert read_remembered(path, LOOKED_FOR) == {}
    assert read_remembered(tmp_path / "none.json", LOOKED_FOR) == {}
