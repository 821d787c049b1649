"""Recorded site-packages and library folders → whose builds they are and what conflicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipcompat.doctor import diagnose
from hipcompat.doctor.packages import list_distributions, read_identities
from recorded_hosts import SITE, RecordedHost, make_mi300x


@pytest.fixture
def made(tmp_path: Path) -> RecordedHost:
    return make_mi300x(tmp_path, gpus=1)


def _rules(made: RecordedHost, **environ: str) -> list[str]:
    return [one.rule for one in diagnose(made.host(**environ)).findings]


@pytest.mark.parametrize(
    ("hip", "cuda", "version", "rules"),
    [
        ("7.0.51831", None, "2.8.0+gitc497508", []),
        (None, "13.0", "2.12.0+rocm7.0", ["torch-not-hip"]),  # the name lies; the build says so
        (None, None, "2.8.0+cpu", ["torch-not-hip"]),
    ],
)
def test_torch_is_what_its_build_says(
    made: RecordedHost, hip: str | None, cuda: str | None, version: str, rules: list[str]
) -> None:
    made.add_torch(hip=hip, cuda=cuda, version=version)
    assert _rules(made) == rules


def test_cuda_torch_explains_nvidia_wheels(made: RecordedHost) -> None:
    made.add_torch(hip=None, cuda="13.0")
    made.add_distribution("nvidia-cudnn-cu13", "9.0")
    found = diagnose(made.host()).findings
    assert [(one.rule, one.because) for one in found] == [("torch-not-hip", ""), ("nvidia-wheels", "torch-not-hip")]
    assert "built for CUDA 13.0" in found[0].message


def test_jax_needs_a_plugin_of_its_version(made: RecordedHost) -> None:
    made.add_distribution("jax", "0.6.0")
    made.add_distribution("jaxlib", "0.6.0")
    assert _rules(made) == ["jax-without-rocm"]
    made.add_distribution("jax-rocm7-plugin", "0.6.0.post1")
    made.add_distribution("jax-rocm7-pjrt", "0.6.0")
    assert _rules(made) == []
    made.add_distribution("jax-rocm60-pjrt", "0.5.0")
    assert _rules(made) == ["jax-versions-differ"]


@pytest.mark.parametrize(("flag", "rules"), [("True", []), ("False", ["tensorflow-not-rocm"])])
def test_tensorflow_is_what_its_build_says(made: RecordedHost, flag: str, rules: list[str]) -> None:
    text = f"build_info = collections.OrderedDict([('is_rocm_build', {flag}), ('is_cuda_build', False)])\n"
    made.add_distribution("tensorflow-rocm", "2.19.1", {"tensorflow/python/platform/build_info.py": text})
    assert _rules(made) == rules
    host = made.host()
    assert read_identities(host, list_distributions(host))[0].version == "2.19.1"


def test_amdsmi_without_its_library_breaks_torch(made: RecordedHost) -> None:
    made.add_torch()
    made.add_distribution("amdsmi", "7.0.2")
    found = diagnose(made.host()).findings
    assert [(one.rule, one.severity) for one in found] == [("amdsmi-without-library", "error")]
    made.write("/opt/rocm-7.0.2/lib/libamd_smi.so.26")
    assert _rules(made) == []


def test_two_runtimes_are_told_and_a_variable_makes_it_an_error(made: RecordedHost) -> None:
    made.write(f"{SITE}/torch/lib/libamdhip64.so")
    made.write("/opt/rocm-7.0.2/lib/libamdhip64.so.7")
    (made.path / "opt/rocm").symlink_to("rocm-7.0.2")
    found = diagnose(made.host()).findings
    assert [(one.rule, one.severity) for one in found] == [("rocm-copies", "warning")]
    assert found[0].message.startswith("2 copies of libamdhip64: ")  # and not three: a link is no copy
    found = diagnose(made.host(LD_LIBRARY_PATH="/opt/rocm/lib")).findings
    assert [(one.rule, one.because) for one in found] == [("library-path-set", ""), ("rocm-copies", "library-path-set")]


def test_apptainers_bound_libraries_are_the_cause(made: RecordedHost) -> None:
    made.write("/.singularity.d/libs/libamdhip64.so.6")
    made.write("/opt/rocm/lib/libamdhip64.so.7")
    found = diagnose(made.host(LD_LIBRARY_PATH="/.singularity.d/libs")).findings
    assert found[0].rule == "host-libraries-bound"
    assert {one.because for one in found[1:]} == {"host-libraries-bound"}


def test_two_owners_of_one_file_are_told(made: RecordedHost) -> None:
    made.add_distribution("cuda-bindings", "12.9.0", {"cuda/bindings/driver.py": "a", "same.py": "s"})
    made.add_distribution("hip-python-interop", "7.0.2", {"cuda/bindings/driver.py": "b", "same.py": "s"})
    found = diagnose(made.host()).findings
    assert [(one.rule, one.severity) for one in found] == [("record-collision", "error")]
    assert found[0].message == "cuda-bindings and hip-python-interop both own 1 files: cuda/bindings/driver.py"


def test_path_of_any_length_hides_no_collision(made: RecordedHost) -> None:
    for name in ("cuda-bindings", "hip-python-interop"):
        made.add_distribution(name, "1.0", {"cuda/bindings/driver.py": name})
        record = next(one for one in made.path.rglob("RECORD") if name.split("-")[0] in one.parent.name)
        record.write_text(f"{'x' * 140_000}.py,,\n{record.read_text()}")
    assert [one.rule for one in diagnose(made.host()).findings] == ["record-collision"]


def test_one_distribution_twice_is_told(made: RecordedHost) -> None:
    made.add_distribution("triton", "3.4.0")
    made.add_distribution("triton", "3.7.0")
    assert _rules(made) == ["distribution-twice"]
