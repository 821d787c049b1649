"""push, smoke --attest, promote and publish as a person types them, over a registry in memory and a fake engine."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from matrix_text import CPU_ID, GPU_ID
from publish.project import Project

from fakes import FakeEngine, FakeProcess
from registry_server import RegistryServer
from rockiln.sign.keys import read_public_key

Said = pytest.CaptureFixture[str]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Check → exit code; 77 says that the machine lacks something. What is not named passes."""
    codes: dict[str, int] = {"kernels": 77}

    def python(process: FakeProcess) -> int:
        code = codes.get(Path(process.argv[2]).stem.removeprefix("check_"), 0)
        process.stdout += b"no AMD GPU here\n" if code == 77 else b""
        return code

    engine = FakeEngine(programs={"python": python})
    monkeypatch.setattr("rockiln.engines.choice.choose_engine", lambda _name, _host: engine)
    monkeypatch.setattr("rockiln.publish.results.find_archs", lambda: ())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796000000")
    return codes


@pytest.fixture
def on_node(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The GPUs of the machine that smokes."""
    return lambda *archs: monkeypatch.setattr("rockiln.publish.results.find_archs", lambda: archs)


def test_publish_pushes_smokes_and_tags(
    project: Project, server: RegistryServer, outcomes: dict[str, int], capsys: Said
) -> None:
    outcomes["kernels"] = 1  # a CPU row has no GPU tier
    assert project.run("publish", CPU_ID, *project.to, "--unsigned") == 0
    row = "cpu-py3.11-0.6.2-debian12-runtime"
    assert set(server.repo("rk/jax").tags) == {row, f"{row}-20261130"}
    text = capsys.readouterr().out
    assert "2 passed, 0 failed, 0 unavailable" in text
    assert "(unsigned)" in text
    assert project.run("publish", CPU_ID, *project.to, "--unsigned") == 0
    text = capsys.readouterr().out
    assert "nothing to send" in text
    assert "passed its required tiers on this digest before" in text
    assert f"no tag moves: {row} named this image already" in text


def test_gpu_row_needs_permission_where_there_is_no_gpu(
    project: Project, server: RegistryServer, outcomes: dict[str, int], capsys: Said
) -> None:
    del outcomes
    assert project.run("publish", GPU_ID, *project.to, "--unsigned") == 21
    said = capsys.readouterr()
    assert "gpu on gfx942: not tested: no AMD GPU here" in said.err
    assert "--allow-untested" in said.err
    assert "3 blobs" in said.out
    assert server.repo("rk/torch").tags == {}
    assert project.run("publish", GPU_ID, *project.to, "--unsigned", "--allow-untested") == 0
    assert "untested: gpu on gfx950: no AMD GPU here" in capsys.readouterr().out


def test_nodes_with_gpus_prove_their_own_archs(
    project: Project, outcomes: dict[str, int], on_node: Callable[..., None], capsys: Said
) -> None:
    reference = project.reference(GPU_ID)
    assert project.run("push", GPU_ID, *project.to) == 0
    assert project.run("smoke", reference, "--attest", "--unsigned", "--tier", "cpu") == 0
    assert project.run("promote", reference, "--allow-unsigned") == 21
    outcomes["kernels"] = 0
    for arch in ("gfx942", "gfx950"):
        on_node(arch)
        assert project.run("smoke", reference, "--attest", "--unsigned", "--tier", "gpu") == 0
        capsys.readouterr()
        assert project.run("promote", reference, "--allow-unsigned", "--json") == (21 if arch == "gfx942" else 0)
    (promotion,) = json.loads(capsys.readouterr().out)
    assert (promotion["tested"], promotion["untested"]) == (["cpu", "gpu on gfx942", "gpu on gfx950"], {})


def test_failed_check_is_attached_and_stops_promotion(
    project: Project, server: RegistryServer, outcomes: dict[str, int], capsys: Said
) -> None:
    outcomes["computes"] = 1
    reference = project.reference(CPU_ID)
    assert project.run("publish", CPU_ID, *project.to, "--unsigned") == 14
    assert "attached to" in capsys.readouterr().out
    assert project.run("promote", reference, "--allow-unsigned", "--allow-untested") == 21
    assert "cpu: failed: exit code 1" in capsys.readouterr().err
    assert server.repo("rk/jax").tags == {}


def test_signed_results_need_the_key(project: Project, outcomes: dict[str, int], capsys: Said) -> None:
    del outcomes
    prefix = project.path / "cosign"
    assert project.run("generate-key", "--output", str(prefix)) == 0
    reference = project.reference(CPU_ID)
    assert project.run("push", CPU_ID, *project.to) == 0
    assert project.run("smoke", reference, "--attest", "--key", f"{prefix}.key") == 0
    assert project.run("promote", reference) == 21
    assert "no key was given" in capsys.readouterr().err
    assert project.run("promote", reference, "--key", f"{prefix}.pub") == 0
    assert "tested: cpu" in capsys.readouterr().out


def test_private_key_signs_what_tags_name(
    project: Project, server: RegistryServer, outcomes: dict[str, int], capsys: Said
) -> None:
    del outcomes
    prefix = project.path / "cosign"
    assert project.run("generate-key", "--output", str(prefix)) == 0
    assert project.run("publish", CPU_ID, *project.to, "--key", f"{prefix}.key") == 0
    tags = dict(server.repo("rk/jax").tags)
    (index,) = {digest for tag, digest in tags.items() if not tag.startswith("sha256-")}
    signature = json.loads(server.repo("rk/jax").manifests[tags[f"{index.replace(':', '-')}.sig"]][0])
    payload = server.repo("rk/jax").blobs[signature["layers"][0]["digest"]]
    said = signature["layers"][0]["annotations"]["dev.cosignproject.cosign/signature"]
    public = read_public_key(prefix.with_suffix(".pub").read_text(), "cosign.pub")
    assert public.is_signed(base64.b64decode(said), payload)
    assert json.loads(payload)["critical"]["image"]["docker-manifest-digest"] == index
    assert project.run("publish", CPU_ID, *project.to, "--key", f"{prefix}.key") == 0
    assert server.repo("rk/jax").tags == tags
    assert "no tag moves" in capsys.readouterr().out


def test_layers_that_rows_share_go_once(project: Project, server: RegistryServer, capsys: Said) -> None:
    assert project.run("push", CPU_ID, GPU_ID, *project.to, "--json") == 0
    pushed = json.loads(capsys.readouterr().out)
    jax, torch = ({blob["digest"]: blob["way"] for blob in item["blobs"]} for item in pushed)
    (shared,) = jax.keys() & torch.keys()
    assert (jax[shared], torch[shared]) == ("uploaded", "mounted")
    assert server.count("PUT", "/blobs/") == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("push", CPU_ID), "nothing says where to publish"),
        (("push", CPU_ID, "--to", "jax"), "names no registry"),
        (("publish", CPU_ID, "--to", "127.0.0.1:1/jax"), "--key or --unsigned"),
        (("smoke", CPU_ID, "--attest", "--unsigned"), "is not published"),
        (("smoke", CPU_ID, "--unsigned"), "say how a result is attached"),
        (("promote", "127.0.0.1:1/jax:latest"), "names no digest"),
        (("promote", CPU_ID), "names no registry"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(
    project: Project, server: RegistryServer, capsys: Said, words: tuple[str, ...], message: str
) -> None:
    assert project.run(*words) == 2
    assert message in capsys.readouterr().err
    assert not server.asked


def test_image_of_another_project_is_refused(project: Project, outcomes: dict[str, int], capsys: Said) -> None:
    del outcomes
    reference = project.reference(CPU_ID)
    assert project.run("push", CPU_ID, *project.to) == 0
    matrix_path = project.path / "matrix.toml"
    matrix_path.write_text(matrix_path.read_text().replace('python = "3.11"', 'python = "3.11"\nflavour = "devel"'))
    for words in (("smoke", reference), ("promote", reference)):
        assert project.run(*words) == 2
        assert "no row of this matrix" in capsys.readouterr().err


def test_silent_registry_is_said_with_its_exit_code(project: Project, capsys: Said) -> None:
    assert project.run("push", CPU_ID, "--to", "127.0.0.1:1/jax") == 19
    said = capsys.readouterr().err
    assert "127.0.0.1:1/jax" in said
    assert "Connection refused" in said


def test_tags_stay_out_of_another_frameworks_repository(
    project: Project, server: RegistryServer, outcomes: dict[str, int], capsys: Said
) -> None:
    del outcomes
    matrix = project.path / "matrix.toml"
    matrix.write_text(f'{matrix.read_text()}\n[publish]\nrepository = "{server.host}/rk/{{framework}}"\n')
    wrong, digest = f"{server.host}/rk/torch", project.reference(CPU_ID).partition("@")[2]
    assert project.run("push", CPU_ID, "--to", wrong) == 0
    assert project.run("smoke", f"{wrong}@{digest}", "--attest", "--unsigned") == 0
    capsys.readouterr()
    assert project.run("promote", f"{wrong}@{digest}", "--allow-unsigned") == 21
    assert f"{wrong} is for torch, by [publish] of matrix.toml, and the image is of jax" in capsys.readouterr().err
    asked = len(server.asked)
    assert project.run("publish", CPU_ID, "--to", wrong, "--unsigned") == 21
    assert len(server.asked) == asked
    assert server.repo("rk/torch").tags.keys() <= {f"sha256-{digest.partition(':')[2]}"}
    assert project.run("publish", CPU_ID, "--to", f"{server.host}/elsewhere/jax", "--unsigned") == 0
