"""Thousands of small changes to a deb and a wheel: only the errors that name the fault, and nothing left outside.

The random numbers have a fixed seed, so that a failure comes back; FUZZ_ROUNDS asks for more of them.
"""

from __future__ import annotations

import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import (
    CONTROL,
    DIST_INFO,
    Item,
    artifact_of,
    deb_of,
    files_below,
    folder,
    hardlink,
    symlink,
    tar_of,
    wheel_artifact,
    wheel_files,
    zip_of,
)  # fmt: skip
from packaging.version import Version

from rockiln.contents import Contents
from rockiln.errors import UnpackError
from rockiln.unpack.deb import unpack_deb
from rockiln.unpack.wheel import unpack_wheel

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "500"))

TREE = [
    folder("./"), folder("./bin"), Item(name="./bin/a", data=b"#!/bin/sh\n" * 50, mode=0o755), symlink("./bin/b", "a"),
    hardlink("./bin/c", "./bin/a"), Item(name="./" + "long/" * 30 + "x", data=b"x" * 600), symlink("./y", "z" * 150),
]  # fmt: skip

FILES = {
    "small/__init__.py": b"import os\n" * 20,
    "small/b.so": bytes(range(256)) * 8,
    "small-1.0.data/scripts/tool": b"#!python\n",
    "small-1.0.data/data/share/x": b"x",
    f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\nsmall = small:main\n",
}


def take_apart_deb(data: bytes, contents: Contents) -> None:
    unpack_deb(artifact_of(data), io.BytesIO(data), contents)


def take_apart_wheel(data: bytes, contents: Contents) -> None:
    unpack_wheel(wheel_artifact(data), io.BytesIO(data), contents, Version("3.11"))


def mutate(data: bytes, dice: random.Random) -> bytes:
    """One to four changes: a byte, a run of bytes, a cut, a piece twice or gone, a number made extreme."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(changed) or 1)
        length = dice.choice((1, 1, 2, 4, 8, 60, 512))
        match dice.randrange(6):
            case 0:
                changed[at : at + 1] = dice.randbytes(1)
            case 1:
                changed[at : at + length] = dice.choice((b"\0", b"\xff", b"/", b"-", b"9", b" ")) * length
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[at : at + length]
            case 4:
                other = dice.randrange(len(changed) or 1)
                changed[at : at + length] = changed[other : other + length]
            case _:
                if not dice.randrange(10):
                    del changed[at:]
    return bytes(changed)


def outcomes(
    make: Callable[[random.Random], bytes], take_apart: Callable[[bytes, Contents], None], tmp_path: Path, seed: int
) -> set[str]:
    """What the rounds ended in: "fine" or the kind of error. Anything but UnpackError escapes."""
    contents = Contents(tmp_path / "contents")
    found = set()
    for number in range(ROUNDS):
        dice = random.Random(seed * 1_000_003 + number)  # noqa: S311 - not a secret
        data = make(dice)
        try:
            take_apart(data, contents)
            found.add("fine")
        except UnpackError as fault:
            found.add("refused" if fault.message.isascii() and fault.hint else f"unprintable: {fault.message!a}")
        except Exception as fault:
            fault.add_note(f"seed {seed}, round {number}, in {tmp_path}")
            (tmp_path / "culprit").write_bytes(data)
            raise
    return found


def assert_only_contents(tmp_path: Path) -> None:
    for path in files_below(tmp_path):
        assert path.parent.parent == tmp_path / "contents"
        assert len(path.name) == 64
        assert path.parent.name == path.name[:2]


@pytest.mark.parametrize("suffix", ["", ".xz", ".zst", ".gz", ".bz2"])
def test_changed_debs_are_refused_or_read(tmp_path: Path, suffix: str) -> None:
    deb = deb_of(tar_of(TREE), CONTROL, suffix)
    assert outcomes(lambda dice: mutate(deb, dice), take_apart_deb, tmp_path, len(suffix)) <= {"fine", "refused"}
    assert_only_contents(tmp_path)


def test_changed_tar_archives_are_refused_or_read(tmp_path: Path) -> None:
    """With checksums made right again, so that the change reaches what comes behind them."""
    whole = tar_of(TREE)

    def make(dice: random.Random) -> bytes:
        changed = bytearray(mutate(whole, dice))
        for start in range(0, len(changed) - 512, 512):
            header = changed[start : start + 512]
            if header[257:262] == b"ustar":
                total = sum(header[:148]) + sum(header[156:]) + 8 * 32
                changed[start + 148 : start + 156] = b"%06o\0 " % total
        return deb_of(bytes(changed), CONTROL, "")

    assert outcomes(make, take_apart_deb, tmp_path, 11) == {"fine", "refused"}
    assert_only_contents(tmp_path)


def test_changed_headers_are_refused_or_read(tmp_path: Path) -> None:
    """Every field of a header gets every kind of value."""
    values = [
        b"",
        b"\0" * 12,
        b"\xff" * 12,
        b"\x80" + b"\xff" * 11,
        b"777777777777",
        b"-1",
        b"/../",
        b"\xc3(",
        b"9" * 12,
    ]
    fields = [(0, 100), (100, 8), (108, 8), (116, 8), (124, 12), (136, 12), (156, 1), (157, 100), (345, 155)]
    whole = tar_of(TREE)
    starts = [start for start in range(0, len(whole), 512) if whole[start + 257 : start + 262] == b"ustar"]

    def make(dice: random.Random) -> bytes:
        changed = bytearray(whole)
        start = dice.choice(starts)
        place, width = dice.choice(fields)
        value = dice.choice([*values, bytes([dice.randrange(256)])])[:width]
        changed[start + place : start + place + len(value)] = value
        header = changed[start : start + 512]
        total = sum(header[:148]) + sum(header[156:]) + 8 * 32
        changed[start + 148 : start + 156] = b"%06o\0 " % total
        return deb_of(bytes(changed), CONTROL, "")

    assert outcomes(make, take_apart_deb, tmp_path, 12) == {"fine", "refused"}
    assert_only_contents(tmp_path)


def test_changed_control_archives_are_refused_or_read(tmp_path: Path) -> None:
    data_tar = tar_of(TREE[:2])

    def make(dice: random.Random) -> bytes:
        control = mutate(CONTROL.encode(), dice)
        return deb_of(data_tar, [Item(name="./control", data=control), Item(name="./postinst", data=control)], "")

    assert outcomes(make, take_apart_deb, tmp_path, 13) == {"fine", "refused"}


def test_changed_wheels_are_refused_or_read(tmp_path: Path) -> None:
    wheel = zip_of(wheel_files(FILES))
    assert outcomes(lambda dice: mutate(wheel, dice), take_apart_wheel, tmp_path, 21) <= {"fine", "refused"}
    assert_only_contents(tmp_path)


def test_changed_metadata_is_refused_or_read(tmp_path: Path) -> None:
    """One file of .dist-info changed, RECORD true to it or itself the changed one."""
    names = [name for name in wheel_files(FILES) if name.startswith(DIST_INFO)]

    def make(dice: random.Random) -> bytes:
        name = dice.choice(names)
        changed = {**FILES, name: mutate(wheel_files(FILES)[name], dice)}
        return zip_of(wheel_files(changed))

    assert outcomes(make, take_apart_wheel, tmp_path, 22) == {"fine", "refused"}
    assert_only_contents(tmp_path)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    deb, wheel = deb_of(tar_of(TREE[:3], tarfile.GNU_FORMAT)), zip_of(wheel_files({"a.py": b"x"}))
    for data, take_apart in ((deb, take_apart_deb), (wheel, take_apart_wheel)):
        for length in range(len(data) - 4):
            with pytest.raises(UnpackError):
                take_apart(data[:length], contents)
