"""Which wheels fit an image follows from its own Python and C library."""

from __future__ import annotations

import pytest
from packaging.version import Version

from rockiln.resolve.wheel_tags import WheelPlatform, best_wheel, parse_wheel_name

NOBLE = WheelPlatform(python=Version("3.12.3"), glibc=Version("2.39"))


def _fits(*files: str, platform: WheelPlatform = NOBLE) -> str:
    best = best_wheel([wheel for file in files if (wheel := parse_wheel_name(file))], platform)
    return best.file if best else ""


@pytest.mark.parametrize(
    "file",
    [
        "torch-2.8.0+rocm7.0.2.lw.git245bf6ed-cp312-cp312-linux_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_39_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "a-1-cp38-abi3-manylinux2010_x86_64.whl",
        "a-1-py2.py3-none-any.whl",
        "a-1-py3-none-manylinux_2_28_x86_64.whl",
    ],
)
def test_wheel_for_this_image_fits(file: str) -> None:
    assert _fits(file) == file


@pytest.mark.parametrize(
    "file",
    [
        "a-1-cp311-cp311-linux_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_40_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_28_aarch64.whl",
        "a-1-cp312-cp312-musllinux_1_2_x86_64.whl",
        "a-1-cp312-cp312t-manylinux_2_28_x86_64.whl",
        "a-1-cp313-abi3-manylinux_2_28_x86_64.whl",
        "a-1-cp312-cp312-win_amd64.whl",
    ],
)
def test_wheel_for_another_system_does_not_fit(file: str) -> None:
    assert _fits(file) == ""


def test_most_specific_wheel_wins() -> None:
    native = "a-1-cp312-cp312-manylinux_2_28_x86_64.whl"
    assert _fits("a-1-py3-none-any.whl", native, "a-1-cp312-cp312-manylinux_2_17_x86_64.whl") == native


@pytest.mark.parametrize(("glibc", "expected"), [("2.36", 36), ("2.29", 28), ("2.44", 40), ("2.17", 17)])
def test_uv_is_told_the_nearest_platform_that_it_knows(glibc: str, expected: int) -> None:
    platform = WheelPlatform(python=Version("3.12"), glibc=Version(glibc))
    assert platform.uv_platform == f"x86_64-manylinux_2_{expected}"


@pytest.mark.parametrize("file", ["torch.whl", "torch-2.8.0.tar.gz", "index.html", "a-1-cp312.whl", ""])
def test_what_is_no_wheel_has_no_wheel_name(file: str) -> None:
    assert parse_wheel_name(file) is None


def test_architecture_stands_in_the_name() -> None:
    names = [parse_wheel_name("a-1-py3-none-any.whl"), parse_wheel_name("a-1-cp312-cp312-linux_x86_64.whl")]
    assert [name.architecture for name in names if name] == ["any", "x86_64"]
