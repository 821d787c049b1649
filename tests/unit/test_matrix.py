"""matrix.toml is read into values; ids are built from rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, ROOT, TOP
from packaging.version import Version

from rockiln.archs import LLVM_TARGETS
from rockiln.errors import FileFaultsError
from rockiln.matrix import Matrix, parse_matrix, read_matrix

PATH = Path("matrix.toml")


def parse(text: str) -> Matrix:
    return parse_matrix(text, PATH)


def fault_of(text: str) -> str:
    with pytest.raises(FileFaultsError) as caught:
        parse(text)
    return caught.value.message


def test_ids_name_what_the_row_says() -> None:
    matrix = parse(TOP + CPU_ROW + GPU_ROW + GPU_ROW + 'flavour = "devel"\n')
    assert [target.id for target in matrix.targets] == [CPU_ID, GPU_ID, f"{GPU_ID}-devel"]


def test_runtime_flavour_is_not_shown() -> None:
    assert parse(TOP + CPU_ROW + 'flavour = "runtime"\n').targets[0].id == CPU_ID


def test_values_of_the_file_arrive() -> None:
    matrix = parse(TOP + CPU_ROW)
    (row,) = matrix.targets
    assert matrix.mirrors == {"wheels": ("https://mirror.example.com/simple",)}
    assert not matrix.sources["debs"].check_valid_until
    assert matrix.sources["debs"].components == ("main",)
    assert (row.rocm, row.rocm_origin, row.recipe, row.sources) == (None, "", "jax", ("wheels", "debs"))
    assert [str(wheel) for wheel in row.candidates[0].wheels] == ["jax==0.6.2", "jaxlib==0.6.2"]


def test_rocm_is_amds_unless_said_otherwise() -> None:
    (row,) = parse(TOP + GPU_ROW).targets
    assert (row.rocm, row.rocm_origin) == (Version("7.0.2"), "amd")


def test_rocm_row_needs_archs() -> None:
    text = TOP + GPU_ROW.replace('archs = ["gfx942", "gfx950"]\n', "")
    assert fault_of(text) == "matrix.toml: target[0].archs: missing; it is an array"
    assert "an image without GPU code is a CPU row" in fault_of(text + "archs = []\n")
    assert fault_of(text + 'archs = "gfx942"\n').splitlines() == [
        'matrix.toml: target[0].archs: "gfx942" is not an array; write ["gfx942"]'
    ]


def test_xnack_suffix_is_not_a_target() -> None:
    assert 'target[0].archs[0]: "gfx90a:xnack+" is not' in fault_of(TOP + GPU_ROW.replace("gfx942", "gfx90a:xnack+"))


def test_version_in_an_id_must_not_hold_an_underscore() -> None:
    assert "cannot be part of an id" in fault_of(TOP + CPU_ROW.replace("debian-12", "debian_12"))


def test_wheel_directory_needs_a_url() -> None:
    assert "sources.more.url: missing" in fault_of(TOP + '[sources.more]\nkind = "wheel-directory"\n' + CPU_ROW)


def test_source_of_one_kind_has_no_keys_of_another() -> None:
    text = TOP.replace('kind = "wheel-index"', 'kind = "wheel-index"\nsuites = ["sid"]') + CPU_ROW
    assert fault_of(text) == "matrix.toml: sources.wheels.suites: no such key"


def test_host_is_an_url() -> None:
    text = TOP.replace("https://mirror.example.com/simple", "mirror.example.com") + CPU_ROW
    assert fault_of(text) == 'matrix.toml: mirrors.wheels[0]: "mirror.example.com" is not an https, http or file URL'


def test_the_repositorys_own_matrix_holds_its_rows() -> None:
    ids = {target.id for target in read_matrix(ROOT / "matrix.toml").targets}
    amd = "rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950"
    assert ids >= {
        f"torch-2.8.0-{amd}", f"torch-2.7.1-{amd}", f"tensorflow-2.19.1-{amd}", f"jax-0.6.0-{amd}",
        f"torch-2.8.0-{amd}-devel", "torch-2.8.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx1100+gfx1201",
        "jax-0.6.0-rocm7.2.4-py3.13-debian-sid-gfx942+gfx1100", "jax-0.6.2-cpu-py3.11-debian-12",
        "tensorflow-2.19.1-cpu-py3.11-debian-12", "torch-2.8.0-cpu-py3.11-debian-12",
        "torch-2.7.1-cpu-py3.11-debian-12",
    }  # fmt: skip


def test_public_hosts_stand_in_the_matrix_and_nowhere_else() -> None:
    hosts = re.compile(r"repo\.radeon\.com|download\.pytorch\.org")
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.toml"), *(ROOT / "images").rglob("*.toml")]
    assert not [path.name for path in files if hosts.search(path.read_text(encoding="utf-8"))]
    assert hosts.search((ROOT / "matrix.toml").read_text(encoding="utf-8"))


def test_targets_are_llvms_names() -> None:
    assert all(re.fullmatch(r"gfx(8|9|1[0-2])[0-9a-f]{2,3}", arch) for arch in LLVM_TARGETS)
