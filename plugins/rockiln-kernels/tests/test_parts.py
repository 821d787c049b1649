"""parts.jsonl: the manifest, op by op; what a first call costs with it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from random_calls.planned import plan_manifest, write_planned
from rockiln_kernels.pack.intact import seal_lines
from rockiln_kernels.pack.manifest import FILE_NAME, Manifest
from rockiln_kernels.pack.parts import PARTS_NAME, ManifestParts, dump_parts
from rockiln_kernels.selection.host import open_pack
from rockiln_kernels.table import read_table


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return plan_manifest("gfx942")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    write_planned(folder, "gfx942")
    return folder


def test_every_part_is_the_manifests(manifest: Manifest, folder: Path) -> None:
    parts = ManifestParts(folder)
    for op in read_table():
        part, whole = parts.find_part(op), manifest.find_part(op)
        assert part.variants == whole.variants
        assert part.absent == whole.absent
        used = {launch.kernel for variant in part.variants for launch in variant.launches}
        assert part.kernels == {key: manifest.kernels[key] for key in used}
    assert sum(len(parts.find_part(op).variants) for op in read_table()) == len(manifest.variants)


def test_the_head_names_arch_and_hash_of_the_manifest(manifest: Manifest, folder: Path) -> None:
    pack = open_pack(folder)
    assert pack.manifest.arch == manifest.arch
    assert pack.sha256 == hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()


def test_an_op_that_the_pack_does_not_know_has_an_empty_part(folder: Path) -> None:
    part = ManifestParts(folder).find_part("nothing")
    assert (part.variants, part.absent, dict(part.kernels)) == ((), (), {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]\n", r"parts\.jsonl: line 1 is no object"),
        ("{}\n", "line 1 lacks 'arch'"),
        ("{\n", "line 1 is missing or damaged"),
    ],
)
def test_damaged_parts_are_named(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / PARTS_NAME).write_bytes(seal_lines(text.encode()))
    with pytest.raises(ValueError, match=message):
        ManifestParts(tmp_path)


def test_every_changed_byte_and_every_cut_are_seen(tmp_path: Path) -> None:
    whole = dump_parts(plan_manifest("gfx942", "rms_norm")).encode()
    changed = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(0, len(whole), 997)]
    for content in (*changed, *(whole[:length] for length in range(0, len(whole), 997)), whole + b"\n", b""):
        (tmp_path / PARTS_NAME).write_bytes(content)
        with pytest.raises(ValueError, match=r"parts\.jsonl has other bytes than its sha256 says"):
            ManifestParts(tmp_path)
    (tmp_path / PARTS_NAME).write_bytes(whole)
    assert ManifestParts(tmp_path).arch == "gfx942"


PROBE = """
import ctypes, dataclasses, ast, json, re, hashlib, sys  # what any framework has imported
from pathlib import Path
parsed, before, loads = [], set(sys.modules), json.loads
json.loads = lambda text: parsed.append(len(text)) or loads(text)
from rockiln_kernels.selection import explain, read_host
from rockiln_kernels.selection.call_text import parse_call
host = read_host("gfx942", {"ROCKILN_EMULATED_OK": "1"}, Path(sys.argv[1]))
explain(parse_call("rms_norm", ["x=bf16[4,4096]", "weight=bf16[4096]"], [], []), host)
print(sum(parsed), *sorted(name for name in set(sys.modules) - before if not name.startswith("rockiln_kernels")))
"""
HEAVY = {"numpy", "triton", "subprocess", "multiprocessing", "asyncio", "email", "http", "urllib", "ml_dtypes"}


def test_a_first_call_reads_its_ops_part_and_imports_nothing_heavy(folder: Path) -> None:
    """Of a whole pack. tests/bench/first_call.py has what that takes."""
    command = [sys.executable, "-c", PROBE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    parsed, *modules = done.stdout.split()
    assert 0 < int(parsed) < (folder / PARTS_NAME).stat().st_size / 20
    assert not {name.partition(".")[0] for name in modules} & HEAVY
