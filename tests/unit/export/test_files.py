"""Kubernetes, devcontainer, Apptainer and bake: valid, deterministic, honest about what is not known."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from export.requests import REF, ROOT, export, invoke, load, parse

from rockiln import cli
from rockiln.checks import find_checks
from rockiln.errors import UsageError

AMD = "jax-0.6.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950"
CPU = "jax-0.6.2-cpu-py3.11-debian-12"


def read_objects(*words: str) -> list[Any]:
    return load(export("kubernetes", AMD, "--image", REF, *words)[0].text)


@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_kubernetes_takes_every_object(version: str) -> None:
    objects = read_objects("--group", "44", "--node-label", "gfx950=amd.com/gpu.product-name=AMD_Instinct_MI355X")
    assert [item["kind"] for item in objects] == ["ConfigMap"] * 3 + ["Job"] * 4
    for item in objects:
        kubernetes_validate.validate(item, version, strict=True)
    names = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 63 for _, name in names)


ATTESTING = ("--attest-image", "registry.example/you/rockiln:1", "--key-secret", "cosign", "--login-secret", "login")


@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_jobs_that_attest_need_no_config_map_and_name_their_secrets(version: str) -> None:
    objects = read_objects(*ATTESTING)
    assert [item["kind"] for item in objects] == ["Job"] * 4
    for item in objects:
        kubernetes_validate.validate(item, version, strict=True)
    pod = objects[0]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    words = container["command"]
    assert words[: words.index("--tier")] == ["rockiln", "--cache", "/var/cache/rockiln", "smoke", REF]
    parse(*words[1:])
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes.keys()
    assert {name: volumes[name]["secret"]["secretName"] for name in ("key", "login")} == {
        "key": "cosign", "login": "login",
    }  # fmt: skip
    assert container["resources"] == {"limits": {"amd.com/gpu": 1}}


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--attest-image", "x"), "signed, or it is said"),
        (("--attest-image", "x", "--key-secret", "k", "--unsigned"), "signed, or it is said"),
        (("--key-secret", "k"), "nothing is attached"),
    ],
)
def test_half_an_attestation_is_refused(words: tuple[str, ...], fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        read_objects(*words)


def test_kubernetes_schema_notices_a_misspelt_key() -> None:
    job = read_objects()[-1]
    job["spec"]["template"]["spec"]["nodeSelectors"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, "1.33", strict=True)


def test_jobs_ask_for_gpus_memory_and_nodes() -> None:
    objects = read_objects("--gpus", "8", "--group", "44", "--shm-size", "16Gi")
    jobs = [item for item in objects if item["kind"] == "Job"]
    pods = [job["spec"]["template"]["spec"] for job in jobs]
    assert [pod["containers"][0]["resources"]["limits"]["amd.com/gpu"] for pod in pods] == [1, 8, 1, 8]
    assert all(pod["securityContext"] == {"supplementalGroups": [44]} for pod in pods)
    assert pods[0]["volumes"][0] == {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "16Gi"}}
    affinity = pods[0]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert "74a1" in affinity["nodeSelectorTerms"][0]["matchExpressions"][0]["values"]
    assert all(pod["containers"][0]["image"] == REF for pod in pods)


def test_every_mount_has_its_volume_and_every_volume_its_config_map() -> None:
    objects = read_objects()
    maps = {item["metadata"]["name"]: item["data"] for item in objects if item["kind"] == "ConfigMap"}
    for job in (item for item in objects if item["kind"] == "Job"):
        pod = job["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in pod["containers"][0]["volumeMounts"]:
            source = volumes[mount["name"]].get("configMap")
            assert source is None or source["name"] in maps


def run_script(tmp_path: Path, codes: dict[str, int]) -> tuple[int, str]:
    """The GPU job's own script, its paths below tmp_path and its Python one that ends as it is told."""
    script = next(item for item in read_objects() if item["kind"] == "Job")["spec"]["template"]["spec"]["containers"][0]
    (tmp_path / "bin").mkdir()
    cases = "".join(f"*check_{name}.py) exit {code} ;;\n" for name, code in codes.items())
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\ncase "$2" in\n{cases}esac\nexit 0\n')
    python.chmod(0o755)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    done = subprocess.run(script["command"], capture_output=True, text=True, check=False, env={"PATH": path})
    return done.returncode, done.stdout


@pytest.mark.parametrize(("code", "said"), [(0, "passed"), (77, "unavailable"), (1, "failed, exit code 1")])
def test_job_is_green_only_where_every_check_passed(tmp_path: Path, code: int, said: str) -> None:
    ended, printed = run_script(tmp_path, {"gpu_compute": code})
    assert ended == bool(code)
    assert f"gpu_compute: {said}" in printed
    planned = next(row for row in invoke().plan.targets if row.id == AMD)
    gpu = [check.name for check in find_checks(planned.recipe) if check.tier == "gpu"]
    assert [line.removeprefix("== ") for line in printed.splitlines() if line.startswith("== ")] == gpu


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck is here: apt-get install shellcheck")
def test_shellcheck_finds_nothing_in_job(tmp_path: Path) -> None:
    job = next(item for item in read_objects() if item["kind"] == "Job")
    path = tmp_path / "job.sh"
    path.write_text(job["spec"]["template"]["spec"]["containers"][0]["command"][2])
    done = subprocess.run(["shellcheck", "--shell=sh", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_row_without_gpu_has_no_job() -> None:
    with pytest.raises(UsageError, match="none of these targets has checks for a GPU"):
        export("kubernetes", CPU, "--image", REF)


def test_unknown_nodes_are_not_guessed() -> None:
    from rockiln.export.pods import choose_nodes
    from rockiln.export.request import Pod

    with pytest.raises(UsageError, match="nothing says which nodes have gfx1030"):
        choose_nodes("gfx1030", Pod())


def test_devcontainer_has_devices_only_with_rocm() -> None:
    gpu, cpu = (json.loads(export("devcontainer", row, "--image", REF, "--group", "44")[0].text) for row in (AMD, CPU))
    assert gpu["runArgs"] == [
        "--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", "44", "--shm-size", "8g",
    ]  # fmt: skip
    assert "runArgs" not in cpu
    assert cpu["image"] == REF


def test_apptainer_bootstraps_from_the_digest() -> None:
    (document,) = export("apptainer", AMD, "--image", REF)
    assert f"Bootstrap: docker\nFrom: {REF}\n" in document.text
    assert "apptainer run --rocm" in document.text
    with pytest.raises(UsageError, match="has no digest"):
        export("apptainer", AMD, "--image", "registry.example/you/jax:latest")


def test_image_is_the_one_that_was_pushed() -> None:
    if (ROOT / "build" / AMD / "push.json").exists():
        pytest.skip("this row was pushed here")
    with pytest.raises(UsageError, match=f"{AMD.replace('+', '.')} is not pushed"):
        export("kubernetes", AMD)


def test_bake_names_every_dockerfile_and_pulls_no_frontend() -> None:
    bake, dockerfile, ignored = export("bake", CPU)
    (target,) = json.loads(bake.text)["target"].values()
    assert target["dockerfile"] == dockerfile.path
    assert ignored.path == f"{dockerfile.path}.dockerignore"
    assert "syntax=" not in dockerfile.text
    assert "--sandbox chroot" in dockerfile.text
    assert 'ENTRYPOINT ["' in dockerfile.text


def test_check_tells_changed_and_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--project", str(ROOT), "export", "apptainer", CPU, "--image", REF, "--output", str(tmp_path)]
    assert cli.main([*words, "--check"]) == 28
    assert cli.main(words) == 0
    assert cli.main([*words, "--check"]) == 0
    (path,) = tmp_path.glob("apptainer/*.def")
    path.write_text(path.read_text() + "\n")
    assert cli.main([*words, "--check"]) == 28
    assert f"{path} is not what export writes" in capsys.readouterr().err


def test_nothing_is_written_where_a_folder_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "apptainer" / f"{CPU}.def").mkdir(parents=True)
    words = ["--project", str(ROOT), "export", "apptainer", CPU, "--image", REF, "--output", str(tmp_path)]
    assert cli.main(words) == 2
