"""A row's id and what lies under its tag: another row's image is refused, though the same key signed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from matrix_text import CPU_ID, CPU_ROW, GPU_ID, GPU_ROW, TOP

from registry_server import RegistryServer
from rockiln.cli import main
from rockiln.console import Console
from rockiln.errors import VerificationError
from rockiln.lock_file import write_lock
from rockiln.locked import Lock, LockedTarget
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.verification.sources import AskedRow, LayoutSource
from rockiln.verification.verify_image import verify_image
from signed_image import KEY, OS, WHEELS, SignedImage, make_provenance, push_signed, sign_image
from tiny_image import make_tar, write_layout

Said = pytest.CaptureFixture[str]
OTHER_ID = GPU_ID.replace("gfx942+gfx950", "gfx950")
"""The same framework for another arch."""
OTHER_ROW = GPU_ROW.replace('["gfx942", "gfx950"]', '["gfx950"]')
TAG = "rocm7.0.2_ubuntu24.04_py3.12_pytorch_release_2.8.0-gfx942-gfx950-runtime"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(has_referrers=True) as server:
        yield server


@pytest.fixture
def project(server: RegistryServer, tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    shape = "rocm7.0.2_ubuntu24.04_py3.12_pytorch_release_{version}"
    publish = f'\n[publish]\nrepository = "{server.host}/rk/{{framework}}"\ntags.torch = "{shape}"\n'
    (path / "matrix.toml").write_text(TOP + publish + CPU_ROW + GPU_ROW + OTHER_ROW)
    (path / "cosign.pub").write_text(KEY.public.to_pem())
    for name in ("jax", "torch"):
        (path / "images" / name).mkdir(parents=True)
        recipe = 'schema = 1\ncmd = ["python"]\nlayer-budget = 10\n[[packages]]\nwhy = "it"\nnames = ["base-files"]\n'
        (path / "images" / name / "image.toml").write_text(recipe)
    rows = [LockedTarget(target_id=one, inputs_sha256="0" * 64, artifacts=(), requested=()) for one in (CPU_ID, GPU_ID)]
    write_lock(Lock(targets={row.target_id: row for row in rows}, unresolved={}), path / "matrix.lock")
    return path


def make_image(path: Path, target_id: str, *, named: str = "", built: str = "") -> SignedImage:
    """Of the row, unless the name that is signed or the provenance says otherwise."""
    labels = {"dev.rockiln.target": target_id}
    tag = (named or target_id).replace("+", "_")
    reference = f"rockiln/{(named or target_id).partition('-')[0]}:{tag}"
    image = write_layout(path / "image", (make_tar(OS), make_tar(WHEELS)), {"Labels": labels}, reference)
    return sign_image(path, image, make_provenance(externalParameters={"target": built or target_id}))


def push_tagged(signed: SignedImage, server: RegistryServer, tag: str = TAG) -> None:
    """Under the tag of the torch row for two archs, unless another is named."""
    with open_repository(parse_reference(f"{server.host}/rk/torch"), {}) as repository:
        push_signed(signed, repository, tag)


def run(project: Path, *words: str) -> int:
    return main(["--project", str(project), "--cache", str(project / "cache"), "--quiet", *words])


def test_row_under_its_own_tag_is_taken(project: Path, server: RegistryServer, capsys: Said) -> None:
    push_tagged(make_image(project / "made", GPU_ID), server)
    assert run(project, "pull", GPU_ID, "--dry-run", "--any-gpu") == 0
    assert "signed with key" in capsys.readouterr().out


@pytest.mark.parametrize("other", [CPU_ID, OTHER_ID])
@pytest.mark.parametrize("words", [(), ("--unverified",)])
def test_tag_moved_to_another_rows_image_is_refused(
    project: Path, server: RegistryServer, capsys: Said, other: str, words: tuple[str, ...]
) -> None:
    push_tagged(make_image(project / "made", other), server)
    assert run(project, "pull", GPU_ID, "--dry-run", "--any-gpu", *words) == 24
    said = capsys.readouterr().err
    assert f"{GPU_ID} was asked for" in said
    assert f"says that it is {other}" in said


@pytest.mark.parametrize("tag", [TAG, f"{TAG}-20261201", f"{TAG}-20261201.2", "newest"])
def test_name_with_a_tag_of_a_row_means_that_row(
    project: Path, server: RegistryServer, capsys: Said, tag: str
) -> None:
    """As `rockiln verify HOST/NAME:TAG` has it, where matrix.toml says what the tag stands for."""
    matrix_path, name = project / "matrix.toml", f"{server.host}/rk/torch:{tag}"
    moving = f'\n[publish.moving.newest]\nrows = "{GPU_ID}"\nmeaning = "the newest"\n'
    matrix_path.write_text(matrix_path.read_text() + moving)
    push_tagged(make_image(project / "right", GPU_ID), server, tag)
    assert run(project, "verify", name) == 0
    assert re.search(rf"row +{re.escape(GPU_ID)}: its label", capsys.readouterr().out)
    push_tagged(make_image(project / "wrong", OTHER_ID), server, tag)
    capsys.readouterr()
    assert run(project, "verify", name) == 24
    assert f"{GPU_ID} was asked for, and the image says that it is {OTHER_ID}" in capsys.readouterr().err
    assert run(project, "pull", name, "--dry-run", "--any-gpu") == 24


@pytest.mark.parametrize("tag", ["anything", f"{TAG}-more"])
def test_tag_that_matrix_toml_does_not_know_means_no_row(project: Path, server: RegistryServer, tag: str) -> None:
    push_tagged(make_image(project / "made", OTHER_ID), server, tag)
    assert run(project, "verify", f"{server.host}/rk/torch:{tag}") == 0


def test_name_that_is_none_is_told_once(project: Path, capsys: Said) -> None:
    words = ("--project", str(project), "--cache", str(project / "cache"), "verify", "127.0.0.1:1/rk/torch:a:b")
    assert main(list(words)) == 2
    assert "not held against" not in capsys.readouterr().err


def test_broken_matrix_keeps_nobody_from_verifying(project: Path, server: RegistryServer, capsys: Said) -> None:
    push_tagged(make_image(project / "made", OTHER_ID), server)
    (project / "matrix.toml").write_text("schema = 99\n")
    words = ("--project", str(project), "--cache", str(project / "cache"), "verify", f"{server.host}/rk/torch:{TAG}")
    assert main([*words, "--key", str(project / "cosign.pub")]) == 0
    assert "not held against a row" in capsys.readouterr().err


def test_label_alone_does_not_vouch_for_the_row(project: Path, server: RegistryServer, capsys: Said) -> None:
    push_tagged(make_image(project / "named", GPU_ID, named=OTHER_ID), server)
    assert run(project, "pull", GPU_ID, "--dry-run", "--any-gpu") == 24
    assert f"was signed as rockiln/torch:{OTHER_ID.replace('+', '_')}" in capsys.readouterr().err


def test_provenance_of_another_row_is_refused(project: Path, server: RegistryServer, capsys: Said) -> None:
    push_tagged(make_image(project / "built", GPU_ID, built=OTHER_ID), server)
    assert run(project, "pull", GPU_ID, "--dry-run", "--any-gpu") == 24
    assert f"was built as {OTHER_ID}" in capsys.readouterr().err


def test_built_row_holds_its_own_image(tmp_path: Path) -> None:
    """As `rockiln verify ROW-ID` opens what lies in the row's folder of build/."""
    made = make_image(tmp_path, GPU_ID)
    rows = {one: AskedRow(id=one, reference=f"rockiln/torch:{one.replace('+', '_')}") for one in (GPU_ID, OTHER_ID)}
    sources = {one: LayoutSource(made.path / "image", made.path / "attached", row) for one, row in rows.items()}
    assert verify_image(sources[GPU_ID], KEY.public, Console(None)).target == GPU_ID
    with pytest.raises(VerificationError, match=f"{re.escape(OTHER_ID)} was asked for.*{re.escape(GPU_ID)}"):
        verify_image(sources[OTHER_ID], KEY.public, Console(None))
