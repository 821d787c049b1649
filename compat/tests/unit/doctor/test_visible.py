"""Which GPUs a HIP program sees: the nested meaning of the three variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipcompat.doctor import Gpu, diagnose, list_gpus, resolve_visible
from recorded_hosts import make_mi300x, make_workstation

GPUS = tuple(
    Gpu(
        index=index,
        node=index + 1,
        arch="gfx942",
        uuid=f"GPU-{index:016x}",
        address="",
        render_path="",
        vram_bytes=0,
        simds=4,
    )
    for index in range(4)
)


@pytest.mark.parametrize(
    ("environ", "seen"),
    [
        ({}, (0, 1, 2, 3)),
        ({"HIP_VISIBLE_DEVICES": "2,0"}, (2, 0)),
        ({"CUDA_VISIBLE_DEVICES": "1"}, (1,)),
        ({"HIP_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "1"}, (2,)),
        ({"HIP_VISIBLE_DEVICES": "", "CUDA_VISIBLE_DEVICES": "1"}, (1,)),
        ({"HIP_VISIBLE_DEVICES": ""}, (0, 1, 2, 3)),
        ({"ROCR_VISIBLE_DEVICES": ""}, ()),
        ({"ROCR_VISIBLE_DEVICES": "2,3"}, (2, 3)),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, (3,)),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, ()),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000003,0"}, (3, 0)),
        ({"HIP_VISIBLE_DEVICES": "0,9,1"}, (0,)),
        ({"HIP_VISIBLE_DEVICES": "-1"}, ()),
        ({"HIP_VISIBLE_DEVICES": "0, 1"}, (0,)),  # HIP takes no blanks, ROCr does
        ({"HIP_VISIBLE_DEVICES": "0,01"}, (0,)),
        ({"ROCR_VISIBLE_DEVICES": "0, 1"}, (0, 1)),
        ({"ROCR_VISIBLE_DEVICES": "0x2"}, (2,)),
        ({"ROCR_VISIBLE_DEVICES": "1,1,2"}, (1,)),  # a repeated entry ends ROCr's list
        ({"ROCR_VISIBLE_DEVICES": "gpu-0000000000000002"}, (2,)),
        ({"ROCR_VISIBLE_DEVICES": "GPU-00"}, ()),  # four cards begin so
        ({"ROCR_VISIBLE_DEVICES": "-1"}, ()),
        ({"HIP_VISIBLE_DEVICES": "GPU-0000000000000002"}, (2,)),
        ({"HIP_VISIBLE_DEVICES": "1,1,2"}, (1, 2)),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, (1,)),
        ({"CUDA_VISIBLE_DEVICES": "MIG-1"}, ()),
    ],
)  # fmt: skip
def test_effective_set(environ: dict[str, str], seen: tuple[int, ...]) -> None:
    assert resolve_visible(GPUS, environ).gpus == seen


@given(st.text(alphabet="0123456789,-GPU ", max_size=12), st.text(alphabet="0123456789,- ", max_size=12))
def test_any_value_gives_a_subset_without_repetition(rocr: str, hip: str) -> None:
    visible = resolve_visible(GPUS, {"ROCR_VISIBLE_DEVICES": rocr, "HIP_VISIBLE_DEVICES": hip})
    assert len(set(visible.gpus)) == len(visible.gpus)
    assert set(visible.gpus) <= {0, 1, 2, 3}
    assert visible.explain()


def test_explanation_names_each_step() -> None:
    text = resolve_visible(GPUS, {"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1,7"}).explain()
    assert text.splitlines() == [
        "ROCR_VISIBLE_DEVICES=2,3: of GPUs 0, 1, 2, 3 it leaves 2, 3",
        "HIP_VISIBLE_DEVICES=1,7: of GPUs 2, 3 it leaves 3; its list ends at '7', which names none",
        "HIP sees GPU 3, as 0",
    ]


def test_clash_that_hides_all_is_the_first_cause(tmp_path: Path) -> None:
    found = diagnose(make_mi300x(tmp_path).host(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1"))
    assert [(one.rule, one.because) for one in found.findings] == [
        ("visible-hides-all", ""), ("visible-clash", "visible-hides-all"),
    ]  # fmt: skip
    assert found.findings[0].message == "HIP_VISIBLE_DEVICES=1 hides every GPU: it counts among 1"


@pytest.mark.parametrize(
    ("environ", "packages", "rule"),
    [
        ({"HIP_VISIBLE_DEVICES": "0,9"}, (), "visible-stops"),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, (), "visible-shadowed"),
        ({"ROCR_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "0"}, ("torch",), "visible-rocr-torch"),
        ({"ROCR_VISIBLE_DEVICES": "0"}, ("ray",), "visible-rocr-ray"),
        ({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, (), "arch-overridden"),
        ({"GPU_DEVICE_ORDINAL": "0"}, (), "visible-ordinal"),
    ],
)
def test_what_others_make_of_the_variables(
    tmp_path: Path, environ: dict[str, str], packages: tuple[str, ...], rule: str
) -> None:
    made = make_mi300x(tmp_path)
    for name in packages:
        made.add_torch() if name == "torch" else made.add_distribution(name, "2.50.0")
    assert [one.rule for one in diagnose(made.host(**environ)).findings] == [rule]


def test_override_is_a_note_where_it_says_the_truth(tmp_path: Path) -> None:
    found = diagnose(make_mi300x(tmp_path).host(HSA_OVERRIDE_GFX_VERSION="9.4.2"))
    assert [one.severity for one in found.findings] == ["note"]


def test_archs_are_named_as_llvm_does(tmp_path: Path) -> None:
    assert [gpu.arch for gpu in list_gpus(make_workstation(tmp_path).host())] == ["gfx1100", "gfx1100", "gfx1036"]
