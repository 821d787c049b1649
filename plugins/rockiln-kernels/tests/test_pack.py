"""Packs, really compiled: reproducible in any folder, cached by content, whole or absent with a reason."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rockiln_kernels.archs import ARCHS
from rockiln_kernels.cli import EXIT_DAMAGED, EXIT_OK, EXIT_USAGE, main
from rockiln_kernels.pack import build
from rockiln_kernels.pack.build import Pack, build_pack, find_damage, write_pack
from rockiln_kernels.pack.cache import CompileCache, hash_source, make_cache_key
from rockiln_kernels.pack.compile_kernel import Compiled, NotCompiled, compile_kernel
from rockiln_kernels.pack.manifest import FILE_NAME, dump_manifest, parse_manifest, read_manifest
from rockiln_kernels.pack.toolchain import Toolchain, ToolchainError, find_toolchain
from rockiln_kernels.table import make_family_variants
from rockiln_kernels.variant import Variant

ARCH = ARCHS["gfx942"]


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain()


def _variants() -> list[Variant]:
    return [item for item in make_family_variants("rms_norm", ARCH) if item.key == "rms_norm/bf16/row1024"]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> Pack:
    cache = CompileCache(folder=tmp_path_factory.mktemp("cache"))
    return build_pack(ARCH, _variants(), toolchain, cache, jobs=1)


def test_a_compiled_kernel_is_described(pack: Pack) -> None:
    [entry] = pack.manifest.kernels.values()
    assert entry.symbol == "rms_norm_row"
    assert entry.threads == 256
    assert [arg.name for arg in entry.args][:3] == ["x", "residual", "weight"]
    assert entry.args[-1].kind == "null"
    assert entry.args[-1].offset + 8 == entry.kernarg_bytes
    assert hashlib.sha256(pack.code[entry.file]).hexdigest() == entry.sha256
    assert pack.code[entry.file][:4] == b"\x7fELF"


def test_another_cache_and_folder_give_the_same_bytes(
    pack: Pack, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    again = build_pack(ARCH, _variants(), toolchain, CompileCache(folder=tmp_path / "other"), jobs=1)
    assert again.code == pack.code
    assert dump_manifest(again.manifest) == dump_manifest(pack.manifest)


def test_code_holds_no_path_of_this_machine(pack: Pack) -> None:
    [code] = pack.code.values()
    assert str(Path(build.__file__).parents[2]).encode() not in code
    assert b"/tmp" not in code  # the folder of the compiler's own cache


def test_a_second_build_compiles_nothing(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CompileCache(folder=tmp_path)
    build_pack(ARCH, _variants(), toolchain, cache, jobs=1)
    monkeypatch.setattr(build, "compile_apart", None)
    assert build_pack(ARCH, _variants(), toolchain, cache, jobs=1).code


def test_a_damaged_cache_entry_counts_as_absent(tmp_path: Path) -> None:
    cache = CompileCache(folder=tmp_path)
    [kernel] = [launch.kernel for launch in _variants()[0].launches]
    cache.store("ab" * 32, NotCompiled(reason="no"))
    assert cache.load("ab" * 32) == NotCompiled(reason="no")
    outcome = compile_kernel(kernel, ARCH, find_toolchain())
    assert isinstance(outcome, Compiled)
    cache.store("cd" * 32, outcome)
    assert cache.load("cd" * 32) == outcome
    [file] = tmp_path.rglob("*.hsaco")
    file.write_bytes(file.read_bytes()[:-1])
    assert cache.load("cd" * 32) is None


def test_a_compiler_that_died_is_asked_again(tmp_path: Path) -> None:
    cache = CompileCache(folder=tmp_path)
    cache.store("ab" * 32, NotCompiled(reason="its process ended", is_lasting=False))
    assert cache.load("ab" * 32) is None


def test_the_cache_key_depends_on_tools_arch_and_constants(toolchain: Toolchain) -> None:
    kernel = _variants()[0].launches[0].kernel
    keys = {
        make_cache_key(kernel, ARCH, toolchain),
        make_cache_key(replace(kernel, warps=8), ARCH, toolchain),
        make_cache_key(kernel, ARCHS["gfx950"], toolchain),
        make_cache_key(kernel, ARCH, replace(toolchain, lld="22.9")),
    }
    assert len(keys) == 4


def test_a_source_is_hashed_with_what_it_imports() -> None:
    assert len({hash_source("rms_norm"), hash_source("rows"), hash_source("narrow")}) == 3


def test_what_the_compiler_refuses_is_absent_with_the_reason(toolchain: Toolchain, tmp_path: Path) -> None:
    variant = _variants()[0]
    broken = build_pack(ARCH, [_set_constants(variant, BLOCK=1000)], toolchain, CompileCache(folder=tmp_path), jobs=1)
    assert not broken.code
    assert broken.manifest.absent[0].key == variant.key
    assert broken.manifest.absent[0].reason.startswith("rms_norm_row: the compiler fails: ")


def _set_constants(variant: Variant, **constants: int) -> Variant:
    kernel = variant.launches[0].kernel
    changed = replace(kernel, constants=tuple({**dict(kernel.constants), **constants}.items()))
    return replace(variant, launches=(replace(variant.launches[0], kernel=changed),))


def test_a_variant_that_disagrees_with_its_source_is_our_mistake(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"ops/rms_norm.py, rms_norm_row: .* disagree on \['WIDTH'\]"):
        build_pack(ARCH, [_set_constants(_variants()[0], WIDTH=1)], toolchain, CompileCache(folder=tmp_path), jobs=1)


def test_a_manifest_is_read_as_it_was_written(pack: Pack, tmp_path: Path) -> None:
    write_pack(pack, tmp_path / "pack")
    assert read_manifest(tmp_path / "pack") == pack.manifest
    assert not find_damage(tmp_path / "pack", pack.manifest)
    assert [path.name for path in tmp_path.iterdir()] == ["pack"]


def test_sm_90_gives_a_cubin_of_the_same_source(toolchain: Toolchain, tmp_path: Path) -> None:
    arch = ARCHS["sm_90"]
    variants = [item for item in make_family_variants("rms_norm", arch) if item.key == "rms_norm/bf16/row1024"]
    cubins = build_pack(arch, variants, toolchain, CompileCache(folder=tmp_path), jobs=1)
    [entry] = cubins.manifest.kernels.values()
    assert entry.file.endswith(".cubin")
    assert entry.threads == 128
    assert entry.vgprs > 0
    assert [arg.kind for arg in entry.args] == ["pointer"] * 5 + ["i32"] * 3 + ["f32"] * 2 + ["null"]
    assert entry.kernarg_bytes == 72


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema 99"):
        parse_manifest({"schema": 99})


def test_inspect_finds_damage(pack: Pack, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "pack"
    write_pack(pack, folder)
    assert main(["inspect", str(folder)]) == EXIT_OK
    assert "rms_norm/bf16/row1024: rms_norm_row 256 threads" in capsys.readouterr().out
    [file] = folder.glob("*.hsaco")
    file.write_bytes(b"\x7fELF")
    assert main(["inspect", str(folder)]) == EXIT_DAMAGED
    assert "has other bytes than its sha256 says" in capsys.readouterr().err
    (folder / FILE_NAME).write_text("{}")
    assert main(["inspect", str(folder)]) == EXIT_DAMAGED
    assert "not a pack manifest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": -5}, "threads is '-5', not a natural number below 2^32"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": True}, "threads is 'True', not a natural number"),
        ({"shared_bytes": 2**32}, "shared_bytes is '4294967296', not a natural number"),
        ({"symbol": None}, "symbol is 'None', not a text"),
        ({"file": "../x"}, "file is '../x'"),
        ({"args": {}}, "args is no list"),
        ({"constants": []}, "constants is '[]', not an object"),
        ({"more": 1}, "more"),
    ],
)
def test_a_manifest_with_a_wrong_field_is_told_in_a_line(
    pack: Pack, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], message: str
) -> None:
    write_pack(pack, tmp_path / "pack")
    tree = json.loads((tmp_path / "pack" / FILE_NAME).read_text())
    [kernel] = tree["kernels"].values()
    kernel |= change
    (tmp_path / "pack" / FILE_NAME).write_text(json.dumps(tree))
    assert main(["inspect", str(tmp_path / "pack")]) == EXIT_DAMAGED
    [line] = capsys.readouterr().err.splitlines()
    assert "not a pack manifest of schema 1" in line
    assert message in line


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("arch",), "gfx1", "a pack for gfx1, which is not among"),
        (("wave_lanes",), "64", "wave_lanes is '64'"),
        (("variants", 0, "launches", 0, "kernel"), "none", "launches none, which is not among the kernels"),
        (("variants", 0, "launches", 0, "grid"), ["1"], "grid is ('1',), not three formulas"),
        (("variants", 0, "rank"), 1, "rank is '1', not a text"),
        (("absent",), [[]], "must be a mapping"),
        (("kernels",), [], "kernels is no object"),
    ],
)
def test_a_manifest_that_leads_nowhere_is_told_in_a_line(
    pack: Pack, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: tuple[Any, ...], value: Any, message: str
) -> None:
    write_pack(pack, tmp_path / "pack")
    tree = inner = json.loads((tmp_path / "pack" / FILE_NAME).read_text())
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    (tmp_path / "pack" / FILE_NAME).write_text(json.dumps(tree))
    assert main(["inspect", str(tmp_path / "pack")]) == EXIT_DAMAGED
    [line] = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize("words", [("inspect",), ("list",), ("list", "--arch", "gfx942")])
def test_a_reader_that_ends_early_changes_nothing(pack: Pack, tmp_path: Path, words: tuple[str, ...]) -> None:
    write_pack(pack, tmp_path / "pack")
    own = [*words, str(tmp_path / "pack")] if words == ("inspect",) else words
    command = [sys.executable, "-c", "import sys; from rockiln_kernels.cli import main; sys.exit(main())", *own]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (EXIT_OK, "")


def test_a_full_disk_behind_stdout_is_told() -> None:
    command = [sys.executable, "-c", "import sys; from rockiln_kernels.cli import main; sys.exit(main())", "list"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == EXIT_DAMAGED
    assert done.stderr.startswith("rockiln-kernels: the result could not be written to standard output: No space left")


def test_an_unknown_variant_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-pack", "--arch", "gfx942", "--output", str(tmp_path / "p"), "--only", "nothing"]) == EXIT_USAGE
    assert "no variant is called nothing" in capsys.readouterr().err


def test_a_missing_linker_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TRITON_HIP_LLD_PATH", raising=False)
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    assert caught.value.hint == "install Debian's lld-22"


def test_list_names_ops_and_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == EXIT_OK
    assert "rms_norm: y = x / sqrt(mean(x^2) + eps)" in capsys.readouterr().out
    assert main(["list", "--arch", "gfx942"]) == EXIT_OK
    assert "rms_norm_fp8/bf16-e4m3fnuz" in capsys.readouterr().out
