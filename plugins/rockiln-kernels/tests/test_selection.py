"""Selection as a value: who runs a call on which host, why, why nobody else; and what it costs to import."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from random_calls.planned import plan_manifest
from rockiln_kernels.bind import Bound
from rockiln_kernels.call import Call
from rockiln_kernels.cli import EXIT_NOT_SELECTED, EXIT_OK, EXIT_USAGE, main
from rockiln_kernels.pack.manifest import FILE_NAME, AbsentEntry, dump_manifest
from rockiln_kernels.selection import Host, InstalledPack, NotSelectedError, explain, read_host, supported
from rockiln_kernels.selection.call_text import parse_array, parse_call
from rockiln_kernels.selection.make_tuning import make_table
from rockiln_kernels.selection.records import SCHEMA, HardwareRecord, find_record, read_records, write_record
from rockiln_kernels.selection.tuning import TABLE, find_preferred, read_tuning

SHA = "a" * 64
CALL = parse_call("rms_norm", ["x=bf16[4,4096]", "weight=bf16[4096]"], [], [])
KEY = "rms_norm/bf16/row4096"
WORDS = ["explain", "rms_norm", "--arch", "gfx942", "--array", "x=bf16[4,4096]", "--array", "weight=bf16[4096]"]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> InstalledPack:
    """The planned one, with code objects as it plans them: empty ones."""
    folder, manifest = tmp_path_factory.mktemp("pack"), plan_manifest("gfx942")
    for entry in manifest.kernels.values():
        (folder / entry.file).touch()
    return InstalledPack(folder=folder, manifest=manifest, sha256=SHA)


@pytest.fixture
def record() -> HardwareRecord:
    return HardwareRecord(schema=SCHEMA, arch="gfx942", pack_sha256=SHA, device="a card", passed=(KEY,))


def test_without_a_hardware_record_the_framework_runs_it(pack: InstalledPack) -> None:
    selection = explain(CALL, Host(arch="gfx942", pack=pack))
    assert (selection.provider, selection.kernel) == ("framework", None)
    assert selection.reason.startswith("emulated only")
    assert "ROCKILN_EMULATED_OK=1" in selection.reason


def test_one_variable_opts_in(pack: InstalledPack) -> None:
    selection = explain(CALL, Host(arch="gfx942", pack=pack, emulated_ok=True))
    assert (selection.provider, selection.kernel) == ("pack", KEY)
    assert selection.reason.startswith("emulated only, taken on request")
    assert isinstance(selection.bound, Bound)


def test_a_variant_that_was_right_on_hardware_is_the_default(pack: InstalledPack, record: HardwareRecord) -> None:
    selection = explain(CALL, Host(arch="gfx942", pack=pack, record=record))
    assert selection.kernel == KEY
    assert selection.reason.startswith("right on hardware")
    reasons = {item.candidate: item.reason for item in selection.rejected}
    assert reasons["rms_norm/bf16/row1024"] == "rows are longer than 1024"
    assert "the hardware record does not cover it" in reasons["rms_norm/bf16/loop"]


def test_a_variant_that_was_wrong_on_hardware_is_never_taken(pack: InstalledPack, record: HardwareRecord) -> None:
    wrong = replace(record, passed=(), failed={KEY: "y differs"})
    selection = explain(CALL, Host(arch="gfx942", pack=pack, record=wrong, emulated_ok=True))
    assert selection.kernel != KEY
    reasons = {item.candidate: item.reason for item in selection.rejected}
    assert reasons[KEY] == "wrong on hardware: y differs"


def test_strict_mode_raises_with_the_reasons(pack: InstalledPack) -> None:
    host = Host(arch="gfx942", pack=pack)
    for asked, strict in ((host, True), (replace(host, is_strict=True), None)):
        with pytest.raises(NotSelectedError, match=r"would go to framework.*emulated only") as caught:
            explain(CALL, asked, strict=strict)
        assert caught.value.selection.provider == "framework"


def test_a_call_that_the_op_refuses_has_the_ops_reason(pack: InstalledPack) -> None:
    call = parse_call("rms_norm", ["x=bf16[4,4096]", "weight=bf16[4095]"], [], [])
    assert explain(call, Host(arch="gfx942", pack=pack)).reason == "rms_norm: weight has N = 4095, expected 4096"


def test_an_unknown_op_and_a_missing_or_foreign_pack_have_reasons(pack: InstalledPack) -> None:
    assert "there is no op called 'nothing'" in explain(replace(CALL, op="nothing"), Host(arch="gfx942")).reason
    assert "pip install rockiln-kernels-gfx942" in explain(CALL, Host(arch="gfx942")).reason
    assert "the pack is for gfx942, the device is gfx90a" in explain(CALL, Host(arch="gfx90a", pack=pack)).reason


def test_an_absent_variant_is_named_with_the_lints_reason(pack: InstalledPack) -> None:
    manifest = replace(pack.manifest, variants=(), absent=(AbsentEntry(key=KEY, reason="spills 3 registers"),))
    selection = explain(CALL, Host(arch="gfx942", pack=replace(pack, manifest=manifest)))
    assert selection.rejected[0].candidate == KEY
    assert selection.rejected[0].reason == "absent: spills 3 registers"


def test_aiter_runs_what_the_pack_does_not_if_its_judge_has_nothing_against_it(pack: InstalledPack) -> None:
    asked: list[tuple[str, str]] = []

    def judge(call: Call, arch: str) -> str:
        asked.append((call.op, arch))
        return ""

    selection = explain(CALL, Host(arch="gfx942", pack=pack, judge_aiter=judge))
    assert (selection.provider, selection.kernel) == ("aiter", None)
    assert "aiter" not in {item.candidate for item in selection.rejected}
    assert asked == [("rms_norm", "gfx942")]


def test_what_the_judge_has_against_aiter_is_told(pack: InstalledPack) -> None:
    selection = explain(CALL, Host(arch="gfx942", pack=pack, judge_aiter=lambda call, arch: f"not {call.op} on {arch}"))
    assert selection.provider == "framework"
    assert (selection.rejected[-1].candidate, selection.rejected[-1].reason) == ("aiter", "not rms_norm on gfx942")
    without = explain(CALL, Host(arch="gfx942", pack=pack)).rejected[-1]
    assert (without.candidate, without.reason[:28]) == ("aiter", "nobody here can call it: AIT")


def test_aiter_is_not_asked_where_the_pack_runs_it(pack: InstalledPack) -> None:
    def judge(call: Call, arch: str) -> str:
        raise AssertionError((call, arch))

    assert explain(CALL, Host(arch="gfx942", pack=pack, emulated_ok=True, judge_aiter=judge)).provider == "pack"


def test_supported_asks_for_ability_and_not_for_proof(pack: InstalledPack) -> None:
    assert supported(CALL, Host(arch="gfx942", pack=pack))
    assert not supported(CALL, Host(arch="gfx942"))


def test_a_record_is_read_back_and_belongs_to_one_pack(
    pack: InstalledPack, record: HardwareRecord, tmp_path: Path
) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / FILE_NAME).write_text(dump_manifest(pack.manifest), encoding="utf-8")
    environ = {"ROCKILN_RECORDS": str(tmp_path / "records"), "ROCKILN_STRICT": "1"}
    host = read_host("gfx942", environ, folder)
    assert host.pack
    assert (host.record, host.is_strict, host.emulated_ok) == (None, True, False)
    own = replace(record, pack_sha256=host.pack.sha256)
    write_record(own, tmp_path / "records")
    write_record(record, tmp_path / "records")
    assert read_host("gfx942", environ, folder).record == own


BROKEN = {
    "{": "Expecting property name",
    "[]": "no object",
    '{"schema": 2}': "schema 2",
    "{}": "it lacks 'schema'",
    "[" * 100_000: "recursion",
}
FIELDS = {
    "failed": ([], None, {"a": 1}),
    "not_run": ("x", {"a": None}),
    "times_us": ([], {"a": "1"}),
    "passed": (None, {}, "text", [1]),
    "pack_sha256": (None, 1),
    "arch": (7,),
    "more": (1,),
}


def _list_broken(record: HardwareRecord) -> list[tuple[str, str]]:
    fields = [(name, value) for name, values in FIELDS.items() for value in values]
    changed = [(name, json.dumps({**asdict(record), name: value})) for name, value in fields]
    return [*((words, text) for text, words in BROKEN.items()), *changed]


def test_a_broken_record_is_left_out_and_named(
    record: HardwareRecord, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = folder / "records"
    records.mkdir()
    sha = read_host("gfx942", {"ROCKILN_RECORDS": "/nowhere"}, folder).pack.sha256  # type: ignore[union-attr]
    write_record(replace(record, pack_sha256=sha), records)
    (records / "z.json").mkdir()
    for words, text in _list_broken(record):
        (records / "a.json").write_text(text, encoding="utf-8")
        host = read_host("gfx942", {"ROCKILN_RECORDS": str(records)}, folder)
        assert host.record
        assert host.record.passed == (KEY,)
        faults = {path.name: reason for path, reason in host.broken_records}
        assert set(faults) == {"a.json", "z.json"}
        assert words in faults["a.json"]
    monkeypatch.setenv("ROCKILN_RECORDS", str(records))
    assert main([*WORDS, "--pack", str(folder)]) == EXIT_OK
    assert f"not record {records / 'a.json'}: left out: not a hardware record" in capsys.readouterr().out


def test_records_in_no_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = read_records([tmp_path / "file", tmp_path / "absent"])
    assert found.broken == ((tmp_path / "file", "no folder of records"),)


def test_wrong_wins_over_right(pack: InstalledPack, record: HardwareRecord) -> None:
    both = replace(record, failed={KEY: "y differs"})
    for emulated_ok in (False, True):
        selection = explain(CALL, Host(arch="gfx942", pack=pack, record=both, emulated_ok=emulated_ok))
        assert selection.kernel != KEY
        reasons = {item.candidate: item.reason for item in selection.rejected}
        assert reasons[KEY] == "wrong on hardware: y differs"


def test_a_later_record_takes_nothing_back_of_what_it_did_not_run(record: HardwareRecord) -> None:
    former = replace(record, passed=("a", "b", "c"), failed={"d": "wrong", "e": "wrong"})
    former = replace(former, not_run={"f": "why", "g": "why"}, times_us={"a": 1.0, "b": 2.0})
    later = replace(record, device="another", passed=("d", "f"), failed={"b": "differs"}, not_run={"a": "no call"})
    merged = find_record([former, later, replace(later, arch="gfx90a")], "gfx942", SHA)
    assert merged
    assert merged.passed == ("a", "c", "d", "f")
    assert merged.failed == {"b": "differs", "e": "wrong"}
    assert merged.not_run == {"g": "why"}
    assert merged.times_us == {"a": 1.0}
    assert merged.device == "a card; another"
    assert find_record([former], "gfx942", "b" * 64) is None


def test_a_record_does_not_replace_another_file(record: HardwareRecord, tmp_path: Path) -> None:
    path = write_record(record, tmp_path)
    path.write_text("mine")
    with pytest.raises(ValueError, match="not a hardware record"):
        write_record(record, tmp_path)
    assert path.read_text() == "mine"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["ROCKILN_EMULATED_OK", "ROCKILN_STRICT"])
def test_a_variable_says_yes_or_no_or_is_refused(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, wanted in (("1 true YES On", True), ("0 false No off", False)):
        for word in words.split():
            host = read_host("gfx942", {name: word, "ROCKILN_RECORDS": "/nowhere"}, folder)
            assert {"ROCKILN_EMULATED_OK": host.emulated_ok, "ROCKILN_STRICT": host.is_strict}[name] is wanted
    assert not read_host("gfx942", {name: ""}, folder).is_strict
    monkeypatch.setenv(name, "2")
    assert main([*WORDS, "--pack", str(folder)]) == EXIT_USAGE
    assert f"{name} is '2': 1, true, yes and on say yes" in capsys.readouterr().err


def test_the_tuning_table_takes_precedence_over_ranks(pack: InstalledPack, tmp_path: Path) -> None:
    assert read_tuning(TABLE) is read_tuning(TABLE)
    path = tmp_path / "tuning.toml"
    row = '[[best]]\nop = "o"\narch = "gfx942"\ncell = "bf16"\nvariant = "wide"\ndims = { M = 1, N = 8 }\n'
    path.write_text(f"version = 1\n{row}", encoding="utf-8")
    assert find_preferred("o", "gfx942", "bf16", {"M": 1, "N": 8, "K": 3}, path) == "wide"
    assert not find_preferred("o", "gfx942", "bf16", {"M": 2, "N": 8}, path)
    (tmp_path / "other.toml").write_text("version = 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="version 2, not 1"):
        read_tuning(tmp_path / "other.toml")
    assert pack.manifest.variants


def test_the_tuning_table_is_the_made_one_and_names_variants_that_are() -> None:
    assert TABLE.read_text(encoding="utf-8") == make_table()  # else: python -m rockiln_kernels.selection.make_tuning
    for (op, arch, cell), entries in read_tuning().items():
        names = {item.name for item in plan_manifest(arch).variants if (item.op, item.cell) == (op, cell)}
        assert {variant for _, variant in entries} <= names


def test_few_tiles_for_many_units_are_cut_smaller(pack: InstalledPack) -> None:
    host = Host(arch="gfx942", pack=pack, emulated_ok=True)
    few = parse_call("gemm", ["a=bf16[256,4096]", "b=bf16[4096,4096]"], [], [])
    many = parse_call("gemm", ["a=bf16[257,4096]", "b=bf16[4096,4096]"], [], [])
    assert explain(few, host).kernel == "gemm/bf16/m64n64k64-aligned"
    assert "the tuning table prefers m64n64k64-aligned" in {item.reason for item in explain(few, host).rejected}
    assert explain(many, host).kernel == "gemm/bf16/m128n128k64-aligned"


def test_arrays_are_read_from_words() -> None:
    name, value = parse_array("x=bf16[4,8]:16,1@2")
    assert (name, value.shape, value.strides, value.dtype, value.alignment) == ("x", (4, 8), (16, 1), "bf16", 2)
    for text in ("x", "x=bf17[4]", "x=bf16[4]:1,2", "x=bf16[4"):
        with pytest.raises(ValueError, match="x"):
            parse_array(text)


@pytest.fixture
def folder(pack: InstalledPack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROCKILN_RECORDS", str(tmp_path / "none"))
    (tmp_path / FILE_NAME).write_text(dump_manifest(pack.manifest), encoding="utf-8")
    return tmp_path


def test_the_command_explains(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--scalar", "eps=1e-5", "--pack", str(folder)]
    assert main(words) == EXIT_OK
    assert capsys.readouterr().out.startswith("rms_norm on gfx942: framework\n  emulated only")
    assert main([*words, "--strict"]) == EXIT_NOT_SELECTED
    capsys.readouterr()
    assert main([*words, "--emulated-ok", "--strict", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out)["kernel"] == KEY
    assert main(["explain", "nothing", "--arch", "gfx942"]) == EXIT_USAGE
    assert main([*words, "--array", "x=what"]) == EXIT_USAGE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--array", "x=bf16[4,4096]"], "x is given twice"),
        (["--array", "residual=bf16[4,4096]@0"], "an address is aligned to 1 byte at least"),
        (["--scalar", "eps=abc"], "'eps=abc': abc is no number: eps=1e-5"),
        (["--scalar", "eps=x.1"], "'eps=x.1': x.1 is no number"),
        (["--scalar", "eps=1.0", "--scalar", "eps=2.0"], "eps is given twice"),
        (["--dtype", "Q=e4m3", "--dtype", "Q=e5m2"], "Q is given twice"),
    ],
)
def test_words_that_are_no_call_are_told(
    words: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--pack", str(folder), *words]) == EXIT_USAGE
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


def test_every_flag_and_variable_is_documented() -> None:
    docs = Path(__file__).parents[3] / "docs"
    if not docs.is_dir():
        pytest.skip("no docs beside this distribution")
    text = (docs / "selection.md").read_text(encoding="utf-8") + (docs / "launcher.md").read_text(encoding="utf-8")
    source = (Path(__file__).parents[1] / "src" / "rockiln_kernels" / "cli.py").read_text(encoding="utf-8")
    flags = [word for word in source.split('"') if word.startswith("--")]
    packs = (docs / "packs.md").read_text(encoding="utf-8")
    assert not [flag for flag in flags if flag != "--version" and f"`{flag}" not in text + packs]


PROBE = """
import sys
import dataclasses, ast, json, re, hashlib, importlib.resources, tomllib  # what any framework has imported
before = set(sys.modules)
from rockiln_kernels.selection import Host, explain
print(*sorted(set(sys.modules) - before))
"""


def test_import_brings_nothing_heavy() -> None:
    """tests/bench/first_call.py has what it takes."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert len(modules) < 30
    tops = {name.partition(".")[0] for name in modules}
    assert not tops & {"numpy", "triton", "torch", "pandas", "subprocess", "ctypes", "multiprocessing", "ml_dtypes"}
    assert "rockiln_kernels.launcher" not in modules
