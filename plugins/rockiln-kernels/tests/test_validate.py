"""`rockiln-kernels validate`: a record of what was right, through the fake HIP; without a GPU it says Unavailable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fake_hip.libraries import build_fake, build_launcher
from fake_hip.machine import FakeHip
from random_calls.planned import plan_manifest
from rockiln_kernels import launcher
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.call import Rejected
from rockiln_kernels.cli import EXIT_DAMAGED, EXIT_OK, EXIT_UNAVAILABLE, EXIT_USAGE, EXIT_WRONG, main
from rockiln_kernels.pack.build import Pack, build_pack, hash_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.intact import INDEX_NAME
from rockiln_kernels.pack.manifest import FILE_NAME
from rockiln_kernels.pack.parts import PARTS_NAME
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.selection import explain, read_host
from rockiln_kernels.selection.call_text import parse_call
from rockiln_kernels.table import make_family_variants, read_table
from rockiln_kernels.validation import validate
from rockiln_kernels.validation.compare import find_difference
from rockiln_kernels.validation.inputs import draw_inputs

ARCH = ARCHS["gfx942"]
KEYS = ("rms_norm/bf16/row1024", "rms_norm_fp8/f32-e4m3fnuz/row1024")


@pytest.fixture(scope="module")
def pack() -> Pack:
    variants = [item for item in make_family_variants("rms_norm", ARCH) if item.key in KEYS]
    return build_pack(ARCH, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)


@pytest.fixture
def words(tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(launcher, "open_library", lambda _path, own=launcher.open_library: own(build_launcher()))
    monkeypatch.setenv("ROCKILN_HIP_LIBRARY", str(build_fake()))
    write_pack(pack, tmp_path / "pack")
    output = str(tmp_path / "records")
    return ["validate", "--pack", str(tmp_path / "pack"), "--elements", "1024", "--output", output]


def test_without_a_gpu_it_is_unavailable(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    hip = FakeHip(devices=0)
    assert main(words) == EXIT_UNAVAILABLE
    assert "Unavailable: hipGetDeviceCount: no ROCm-capable device is detected" in capsys.readouterr().err
    assert hip.count("launches") == 0


def test_without_a_runtime_it_is_unavailable(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROCKILN_HIP_LIBRARY", "libnothing.so")
    assert main(words) == EXIT_UNAVAILABLE
    assert "Unavailable: no GPU runtime could be opened" in capsys.readouterr().err


def test_what_was_right_is_recorded_and_then_selected(words: list[str], tmp_path: Path) -> None:
    hip = FakeHip()
    assert main(words) == EXIT_OK
    assert hip.fault is None
    [path] = (tmp_path / "records").iterdir()
    record = json.loads(path.read_text(encoding="utf-8"))
    assert sorted(record["passed"]) == sorted(KEYS)
    assert (record["failed"], record["not_run"]) == ({}, {})
    assert set(record["times_us"]) == set(KEYS)
    host = read_host("gfx942", {"ROCKILN_RECORDS": str(tmp_path / "records")}, tmp_path / "pack")
    call = parse_call("rms_norm", ["x=bf16[4,512]", "weight=bf16[512]"], [], [])
    assert explain(call, host, strict=True).reason.startswith("right on hardware")


def test_wrong_outputs_are_recorded_as_wrong(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hip = FakeHip(emulates=False)  # launches that write nothing
    assert main([*words, "--only", KEYS[0]]) == EXIT_WRONG
    assert hip.count("launches") == 1
    [path] = (tmp_path / "records").iterdir()
    assert "are wrong" in json.loads(path.read_text(encoding="utf-8"))["failed"][KEYS[0]]
    assert f"wrong: {KEYS[0]}: y: " in capsys.readouterr().out


def test_another_gpu_than_the_packs_is_refused(words: list[str]) -> None:
    FakeHip("gfx90a")
    assert main(words) == EXIT_USAGE


def test_a_pattern_that_nothing_matches_is_refused(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hip = FakeHip(emulates=False)
    assert main([*words, "--only", "TYPO"]) == EXIT_USAGE
    assert "no variant is called TYPO" in capsys.readouterr().err
    assert (hip.count("launches"), (tmp_path / "records").exists()) == (0, False)


def test_a_part_keeps_what_an_earlier_run_proved(words: list[str], tmp_path: Path) -> None:
    hip = FakeHip()
    for key in KEYS:
        assert main([*words, "--only", key]) == EXIT_OK
    assert hip.fault is None
    [path] = (tmp_path / "records").iterdir()
    assert sorted(json.loads(path.read_text())["passed"]) == sorted(KEYS)
    FakeHip(emulates=False)
    assert main([*words, "--only", KEYS[0]]) == EXIT_WRONG
    record = json.loads(path.read_text())
    assert (record["passed"], list(record["failed"])) == ([KEYS[1]], [KEYS[0]])


def test_a_run_of_nothing_is_unavailable_and_writes_nothing(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeHip(emulates=False)
    assert main([*words, "--elements", "1"]) == EXIT_UNAVAILABLE
    assert "Unavailable: nothing was run; rms_norm" in capsys.readouterr().err
    assert not (tmp_path / "records").exists()


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_place_for_records_that_is_none_is_refused_before_anything_runs(
    words: list[str], tmp_path: Path, is_folder: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    hip, place = FakeHip(emulates=False), tmp_path / "records"
    if is_folder:
        place.mkdir()
        place /= f"gfx942-{hash_pack(tmp_path / 'pack')[:16]}.json"
    place.write_text("mine")
    assert main(words) == EXIT_USAGE
    assert f"no record can be written: {place}: no" in capsys.readouterr().err
    assert (hip.count("launches"), place.read_text()) == (0, "mine")


@pytest.mark.parametrize("what", ["manifest", "parts", "index", "code"])
def test_a_damaged_pack_is_refused_before_anything_runs(
    words: list[str], tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hip = FakeHip(emulates=False)
    names = {"manifest": FILE_NAME, "parts": PARTS_NAME, "index": INDEX_NAME}
    path = tmp_path / "pack" / names[what] if what in names else next((tmp_path / "pack").glob("*.hsaco"))
    content = path.read_bytes()
    path.write_bytes(content + b" " if what == "manifest" else content[:-1] + bytes([content[-1] ^ 1]))
    assert main(words) == EXIT_DAMAGED
    assert f"pack is damaged, nothing was run: {path.name} " in capsys.readouterr().err
    assert (hip.count("launches"), (tmp_path / "records").exists()) == (0, False)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_inputs_are_drawn_for_every_variant(arch: str) -> None:
    manifest = plan_manifest(arch)
    drawn = {item.key: draw_inputs(read_table()[item.op], manifest, item, 1 << 20) for item in manifest.variants}
    assert not {key: item.reason for key, item in drawn.items() if isinstance(item, Rejected)}


@pytest.mark.parametrize("family", ["attention_prefill", "paged_decode", "topk_gating", "fused_moe_narrow", "gemm_mx"])
def test_calls_with_indices_and_codes_are_validated(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "open_library", lambda _path, own=launcher.open_library: own(build_launcher()))
    monkeypatch.setenv("ROCKILN_HIP_LIBRARY", str(build_fake()))
    first = {item.op: item for item in reversed(make_family_variants(family, ARCH))}
    chosen = list(first.values())[-2:]
    cache = CompileCache(folder=find_cache_folder())
    write_pack(build_pack(ARCH, chosen, find_toolchain(), cache, jobs=1), tmp_path / "p")
    hip = FakeHip()
    monkeypatch.setattr(validate, "_BATCHES", 1)  # an emulator's time is nobody's
    monkeypatch.setattr(validate, "_LAUNCHES", 1)
    elements = "65536" if family == "paged_decode" else "16384"
    words = ["validate", "--pack", str(tmp_path / "p"), "--elements", elements, "--output", str(tmp_path / "records")]
    assert main(words) == EXIT_OK
    assert hip.fault is None
    [path] = (tmp_path / "records").iterdir()
    record = json.loads(path.read_text(encoding="utf-8"))
    assert (len(record["passed"]), record["failed"], record["not_run"]) == (len(chosen), {}, {})


def test_a_variant_of_an_op_that_is_not_known_is_not_run(words: list[str], tmp_path: Path, pack: Pack) -> None:
    first, *rest = pack.manifest.variants
    changed = [replace(first, op="newer_op"), replace(first, cell="bf16-bf17"), *rest]
    write_pack(replace(pack, manifest=replace(pack.manifest, variants=tuple(changed))), tmp_path / "pack")
    hip = FakeHip()
    assert main(words) == EXIT_OK
    assert hip.fault is None
    [path] = (tmp_path / "records").iterdir()
    record = json.loads(path.read_text())
    assert record["passed"] == [item.key for item in rest]
    assert record["not_run"]["newer_op/bf16/row1024"] == "newer_op for bf16 is no op that is known here"


def test_a_difference_beyond_the_tolerance_is_told() -> None:
    want = np.linspace(-2.0, 2.0, 64)
    near, far = want.astype(np.float32), want.astype(np.float32)
    far[7] += 1e-3
    assert not find_difference("y", "f32", near, want, 64)
    assert find_difference("y", "f32", far, want, 64).startswith("y: 1 of 64 are wrong, first (7,)")
    far[7] = np.nan
    assert find_difference("y", "f32", far, want, 64)
    codes = np.zeros(1000, np.uint8)
    assert not find_difference("q", "u8", codes, np.eye(1, 1000, 3, dtype=np.uint8)[0], 1)
    assert find_difference("q", "u8", codes, np.ones(1000, np.uint8), 1) == "q: 1000 of 1000 codes differ"
