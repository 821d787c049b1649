"""What a hardware record vouches for is what runs: every byte that decides is compared before it decides."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.cli import EXIT_DAMAGED, main
from rockiln_kernels.pack.build import Pack, build_pack, hash_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.intact import INDEX_NAME
from rockiln_kernels.pack.manifest import FILE_NAME, dump_manifest
from rockiln_kernels.pack.parts import PARTS_NAME
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.selection import Host, Selection, explain, read_host
from rockiln_kernels.selection.call_text import parse_call
from rockiln_kernels.selection.explain_call import find_code_fault_once
from rockiln_kernels.selection.host import open_pack
from rockiln_kernels.selection.records import SCHEMA, HardwareRecord, write_record
from rockiln_kernels.table import make_family_variants

ARCH = ARCHS["gfx942"]
NAMES = ("rms_norm/bf16/row1024", "rms_norm/bf16/loop")
CALL = parse_call("rms_norm", ["x=bf16[4,512]", "weight=bf16[512]"], [], [])


@pytest.fixture(scope="module")
def pack() -> Pack:
    variants = [item for item in make_family_variants("rms_norm", ARCH) if item.key in NAMES]
    return build_pack(ARCH, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.fixture
def folder(pack: Pack, tmp_path: Path) -> Path:
    """A pack of which all was right on hardware, and the record of that beside it."""
    write_pack(pack, tmp_path / "pack")
    sha256 = hash_pack(tmp_path / "pack")
    record = HardwareRecord(schema=SCHEMA, arch=ARCH.name, pack_sha256=sha256, device="a card", passed=NAMES)
    write_record(record, tmp_path / "records")
    return tmp_path / "pack"


def _read(folder: Path) -> Host:
    open_pack.cache_clear()  # each is another process
    find_code_fault_once.cache_clear()
    return read_host(ARCH.name, {"ROCKILN_RECORDS": str(folder.parent / "records")}, folder)


def _explain(folder: Path) -> Selection:
    return explain(CALL, _read(folder))


def _flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def _find_code(pack: Pack, folder: Path, name: str) -> Path:
    [launch] = next(item for item in pack.manifest.variants if item.key == name).launches
    return folder / pack.manifest.kernels[launch.kernel].file


def test_code_that_is_not_what_was_right_is_not_chosen(pack: Pack, folder: Path) -> None:
    assert (_explain(folder).kernel, _explain(folder).reason[:17]) == (NAMES[0], "right on hardware")
    first, second = (_find_code(pack, folder, name) for name in NAMES)
    _flip(first, first.stat().st_size // 2)
    selection = _explain(folder)
    assert (selection.kernel, selection.reason[:17]) == (NAMES[1], "right on hardware")
    why = f"damaged pack {folder}: {first.name} has other bytes than its sha256 says"
    assert {item.candidate: item.reason for item in selection.rejected}[NAMES[0]] == why
    second.unlink()
    selection = _explain(folder)
    assert (selection.provider, selection.reason) == ("framework", why)
    assert f"{second.name} cannot be read (No such file or directory)" in selection.rejected[1].reason


@pytest.mark.parametrize("name", [FILE_NAME, PARTS_NAME, INDEX_NAME])
@pytest.mark.parametrize("place", [0, 50, 100, -3])
def test_a_pack_with_a_changed_byte_is_refused(
    folder: Path, name: str, place: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _flip(folder / name, place)
    with pytest.raises(ValueError, match=rf"{folder}\S* (is damaged: \S+ (is of|has) (another|other)|has other)"):
        _read(folder)
    monkeypatch.setenv("ROCKILN_RECORDS", str(folder.parent / "records"))
    words = ["explain", "rms_norm", "--arch", "gfx942", "--array", "x=bf16[4,512]", "--array", "weight=bf16[512]"]
    assert main([*words, "--pack", str(folder)]) == EXIT_DAMAGED
    [line] = capsys.readouterr().err.splitlines()
    assert str(folder) in line
    assert "damaged" in line


def test_garbage_for_a_manifest_is_refused(folder: Path) -> None:
    (folder / FILE_NAME).write_text("garbage")
    with pytest.raises(ValueError, match="install or build it anew"):
        _read(folder)
    (folder / FILE_NAME).unlink()
    with pytest.raises(FileNotFoundError, match=FILE_NAME):
        _read(folder)


def test_files_of_two_packs_do_not_go_together(pack: Pack, folder: Path) -> None:
    other = folder.parent / "other"
    write_pack(replace(pack, manifest=replace(pack.manifest, lld="22.9.9")), other)
    for name in (PARTS_NAME, INDEX_NAME):
        mixed = folder.parent / f"mixed-{name}"
        shutil.copytree(folder, mixed)
        shutil.copy(other / name, mixed / name)
        with pytest.raises(ValueError, match=f"{name} is of another {FILE_NAME}"):
            _read(mixed)


def test_a_pack_without_parts_is_held_against_its_hash_too(pack: Pack, folder: Path) -> None:
    (folder / PARTS_NAME).unlink()
    assert _explain(folder).reason.startswith("right on hardware")
    (folder / FILE_NAME).write_text(dump_manifest(pack.manifest) + " ")
    with pytest.raises(ValueError, match=f"{INDEX_NAME} is of another {FILE_NAME}"):
        _read(folder)
    (folder / INDEX_NAME).unlink()
    assert _read(folder).record is None  # of another pack
