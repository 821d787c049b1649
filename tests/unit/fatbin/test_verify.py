"""The verifier finds each way in which a new file is wrong, told apart from the program that makes it."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from rockiln.fatbin.slim_file import slim_file
from rockiln.fatbin.verify.__main__ import main
from rockiln.fatbin.verify.files import Verification, verify_files

ARCHS = frozenset({"gfx942"})
MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"


@pytest.fixture(scope="module")
def slimmed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slimmed") / "slim.so"
    result = slim_file(built, path, ARCHS)
    assert result is not None
    assert result.outcome == "slimmed"
    return path


def verify(old: Path, new: Path, archs: frozenset[str] = ARCHS) -> Verification:
    with old.open("rb") as before, new.open("rb") as after:
        return verify_files(before.fileno(), after.fileno(), archs)


def test_good_cut_is_proven(built: Path, slimmed: Path) -> None:
    found = verify(built, slimmed)
    assert found == Verification(faults=(), wrappers=2, kept_objects=2, dropped_objects=8, kernels=4)


def test_unchanged_file_is_not_what_a_cut_should_be(built: Path) -> None:
    assert any("a bundle holds" in fault for fault in verify(built, built).faults)


def test_cut_for_other_archs_is_found(built: Path, slimmed: Path) -> None:
    assert verify(built, slimmed, frozenset({"gfx942", "gfx1100"})).faults
    assert verify(built, slimmed, frozenset({"gfx1100"})).faults


def section(content: bytes, name: str) -> tuple[int, int]:
    """Offset and size."""
    from io import BytesIO

    found = ELFFile(BytesIO(content)).get_section_by_name(name)
    return found["sh_offset"], found["sh_size"]


def flip(content: bytearray, place: int) -> None:
    content[place] ^= 1


def flip_code_object(content: bytearray) -> None:
    flip(content, content.index(MAGIC) + 4096 + 2000)


def drop_entry(content: bytearray) -> None:
    struct.pack_into("<Q", content, content.index(MAGIC) + 24, 1)


def rename_entry(content: bytearray) -> None:
    place = content.index(b"gfx942", content.index(MAGIC))
    content[place : place + 6] = b"gfx950"


def break_magic(content: bytearray) -> None:
    flip(content, content.rindex(MAGIC))


def swap_wrappers(content: bytearray) -> None:
    places = _wrapper_addends(content)
    one, other = (content[place : place + 8] for place in places)
    content[places[0] : places[0] + 8], content[places[1] : places[1] + 8] = other, one


def share_bundle(content: bytearray) -> None:
    places = _wrapper_addends(content)
    content[places[0] : places[0] + 8] = content[places[1] : places[1] + 8]


def lead_into_a_bundle(content: bytearray) -> None:
    place = _wrapper_addends(content)[0]
    content[place : place + 8] = (int.from_bytes(content[place : place + 8], "little") + 4096).to_bytes(8, "little")


def _wrapper_addends(content: bytearray) -> list[int]:
    """Where the relocations of the wrappers' pointers hold their targets."""
    start, size = section(content, ".hip_fatbin")
    rows, length = section(content, ".rela.dyn")
    places = [rows + 24 * number + 16 for number in range(length // 24)]
    return [place for place in places if start <= int.from_bytes(content[place : place + 8], "little") < start + size]


def flip_text(content: bytearray) -> None:
    flip(content, section(content, ".text")[0] + 9)


def flip_data(content: bytearray) -> None:
    flip(content, section(content, ".dynamic")[0] + 24)


def flip_wrapper(content: bytearray) -> None:
    flip(content, section(content, ".hipFatBinSegment")[0] + 25)


def flip_debug(content: bytearray) -> None:
    start, size = section(content, ".debug_info")
    flip(content, start + size // 2)


def flip_symbol(content: bytearray) -> None:
    start, size = section(content, ".symtab")
    flip(content, start + size - 24 + 8)


def cut_short(content: bytearray) -> None:
    del content[-70_000:]


def _segments(content: bytearray, kind: int) -> list[int]:
    start, count = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 56)[0]
    places = [start + 56 * number for number in range(count)]
    return [place for place in places if struct.unpack_from("<I", content, place)[0] == kind]


def change_rights(content: bytearray) -> None:
    content[_segments(content, 1)[1] + 4] |= 2


def move_segment(content: bytearray) -> None:
    place = _segments(content, 1)[2]
    struct.pack_into("<Q", content, place + 8, struct.unpack_from("<Q", content, place + 8)[0] + 4096)


def shorten_segment(content: bytearray) -> None:
    place = _segments(content, 1)[1]
    struct.pack_into("<Q", content, place + 32, 16)


def lose_stack_header(content: bytearray) -> None:
    struct.pack_into("<I", content, _segments(content, 0x6474E551)[0], 0)


def lengthen_segment(content: bytearray) -> None:
    place = _segments(content, 1)[-1]
    struct.pack_into("<Q", content, place + 40, 1 << 30)


def move_dynamic(content: bytearray) -> None:
    place = _segments(content, 2)[0]
    struct.pack_into("<Q", content, place + 8, struct.unpack_from("<Q", content, place + 8)[0] + 8)


def other_entry_point(content: bytearray) -> None:
    struct.pack_into("<Q", content, 24, 64)


def other_flags(content: bytearray) -> None:
    struct.pack_into("<I", content, 48, 1)


DAMAGES = [
    flip_code_object, drop_entry, rename_entry, break_magic, swap_wrappers, share_bundle, lead_into_a_bundle, flip_text,
    flip_data, flip_wrapper, flip_debug, flip_symbol, cut_short, change_rights, move_segment, shorten_segment,
    lose_stack_header, lengthen_segment, move_dynamic, other_entry_point, other_flags,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found(built: Path, slimmed: Path, tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    content = bytearray(slimmed.read_bytes())
    damage(content)
    assert content != slimmed.read_bytes()
    (tmp_path / "damaged.so").write_bytes(content)
    assert verify(built, tmp_path / "damaged.so").faults


def test_program_exits_with_the_verdict(
    built: Path, slimmed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(built), str(slimmed), "--archs", "gfx942", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kept_objects"] == 2
    shutil.copy(slimmed, tmp_path / "damaged.so")
    with (tmp_path / "damaged.so").open("r+b") as file:
        file.truncate(10_000)
    assert main([str(built), str(tmp_path / "damaged.so"), "--archs", "gfx942"]) == 1
    assert main([str(built), str(built), "--archs", "gfx942"]) == 1
    assert "a bundle holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "archs", "told"),
    [
        (("nope", "built"), "gfx942", "nope: No such file or directory"),
        (("built", "built"), "junk", "'junk' is no arch"),
        (("built", "built"), "GFX942", 'did you mean "gfx942"?'),
        (("built", "built"), ",", "names no GPU"),
    ],
)
def test_wrong_command_line_is_told(
    built: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str], archs: str, told: str
) -> None:
    paths = [str(built) if name == "built" else name for name in names]
    with pytest.raises(SystemExit) as ended:
        main([*paths, "--archs", archs])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_result_is_a_sentence_and_each_fault_is_told_once(
    built: Path, slimmed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(built), str(slimmed), "--archs", "gfx942"]) == 0
    assert capsys.readouterr().out == (
        "proven: 2 wrappers, 2 code objects kept with 4 kernels, 8 gone, all else equal\n"
    )
    assert main([str(built), str(built), "--archs", "gfx942"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(set(lines))
    assert lines[0].endswith("(2 times)")
