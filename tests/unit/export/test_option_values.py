"""What export is told: refused where the files' own jobs would refuse it, with exit code 2 and the option's name."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from export.requests import REF, ROOT, TO, export, invoke, load, parse

from rockiln import cli
from rockiln.errors import UsageError
from rockiln.verbs.export import make_documents

JAX = "jax-0.6.2-cpu-py3.11-debian-12"
CACHE = "registry.example/you/cache"
NAMES = (
    (("--to", "registry.example/x:tag"), "--to: registry.example/x:tag: a repository has no tag"),
    (("--to", "registry.example/{framewrk}"), "{framewrk} stands for nothing here"),
    (("--to", "Not a name"), "names no registry"),
    (("--to", TO, "--cache-repository", "registry.example/{framework}"), "--cache-repository: "),
    (("--to", TO, "--cache-repository", f"{CACHE}:tag"), "a repository has no tag"),
    (("--to", TO, "--cache-repository", "$(id)"), "names no registry"),
    (("--to", TO, "--cache-repository", "other.example/cache"), "jobs log in to registry.example only"),
    (("--to", TO, "--job-image", "debian 12"), '--job-image: "debian 12" is no image\'s name'),
    (("--to", TO, "--package", "a;rm -rf /"), '--package: "a;rm -rf /" is no Debian package'),
    (("--to", TO, "--branch", "a b;$(x)"), '--branch: "a b;$(x)" is no branch'),
    (("--to", TO, "--branch", "a..b"), '--branch: "a..b" is no branch'),
    (("--to", TO, "--build-runner", "big,,linux"), '--build-runner: "big,,linux" is not LABEL'),
    (("--to", TO, "--install", ""), "--install: nothing is named"),
    (("--to", TO, "--install", "'a"), "--install \"'a\": no closing quotation"),
)
BUILD_ARGS = (
    ('"unbalanced', '--build-args "\\"unbalanced": no closing quotation'),
    ("--nonsense", "--build-args: unrecognized arguments: --nonsense"),
    ("--help", "--build-args: unrecognized arguments: --help"),
    ("--jobs", "--build-args: argument --jobs: expected one argument"),
    ("--jobs 0", "--build-args: argument --jobs: 0 is not a number of at least 1"),
    ("--sandbox none", "--build-args: argument --sandbox: invalid choice"),
    ("jax-other --smoke", "--build-args: jax-other is no option of rockiln build"),
    ("--mirror a", "--mirror 'a' is not SOURCE=URL"),
    ("--cache-from a.example/a:tag", "--build-args: --cache-from a.example/a:tag: a repository has no tag"),
)


@pytest.mark.parametrize("form", ["github", "gitlab"])
@pytest.mark.parametrize(("words", "said"), NAMES)
def test_name_that_the_jobs_would_refuse_is_refused(form: str, words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export(form, JAX, *words)
    assert said in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("form", ["github", "gitlab", "bake"])
@pytest.mark.parametrize(("text", "said"), BUILD_ARGS)
def test_build_args_are_what_build_takes(form: str, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export(form, JAX, "--to", TO, f"--build-args={text}")
    assert said in caught.value.message


@pytest.mark.parametrize("name", ["$CI_REGISTRY_IMAGE/{framework}", "${CI_REGISTRY_IMAGE}/jax"])
def test_variable_that_holds_host_and_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="begins with a host and a name in one variable"):
        export("gitlab", JAX, "--to", name)


@pytest.mark.parametrize(
    ("form", "option"),
    [("bake", "--bundle"), ("bake", "--build-args"), ("github", "--package"), ("gitlab", "--install"),
     ("github", "--runner"), ("kubernetes", "--node-label")],
)  # fmt: skip
@pytest.mark.parametrize("text", ["a\nb", "a\x1b[1m"])
def test_text_of_an_option_is_one_line(form: str, option: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{option}: .* holds a line end or a control character$"):
        export(form, JAX, option, text)


def test_unbalanced_quotes_end_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", "github", JAX, "--to", TO, "--build-args", '"unbalanced']
    assert cli.main(["--project", str(ROOT), *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "registry.example/{framewrk}"), "--to: "),
        (("--to", "registry.example/x:tag"), "--to: "),
        (("--builder-image", "Foo Bar"), '--builder-image: "Foo Bar" is no image'),
        (("--bundle", "/nope"), "--bundle: /nope is not in the project"),
        (("--bundle", "parts/../../nope"), "is not in the project"),
    ],
)
def test_bake_refuses_what_buildkit_would(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export("bake", JAX, *words)
    assert said in caught.value.message


ROCM = "jax-0.6.0-rocm7.0.2-py3.12-ubuntu-24.04-gfx942+gfx950"
ATTESTING = ("--attest-image", "rockiln:1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shm-size", "lots"), '--shm-size: "lots" is no size'),
        (("--shm-size", "8g"), '--shm-size: "8g" is no size'),
        (("--attest-image", "Foo bar", "--unsigned"), '--attest-image: "Foo bar" is no image\'s name'),
        ((*ATTESTING, "--key-secret", "A_b"), '--key-secret: "A_b" is no Secret\'s name'),
        ((*ATTESTING, "--unsigned", "--login-secret", "a..b"), '--login-secret: "a..b" is no Secret'),
        ((*ATTESTING, "--unsigned", "--group", "44"), "--group: a pod that attests runs as root"),
        (("--unsigned",), "nothing is attached"),
        (("--node-label", "gfx90a=a=b"), "--node-label gfx90a: no target is made for it"),
        (("--node-label", "gfx942=a b=c"), '--node-label "gfx942=a b=c" is not ARCH=KEY=VALUE'),
        (("--node-label", "gfx942=a=b", "--node-label", "gfx942=a=c"), "--node-label: gfx942 is named twice"),
    ],
)
def test_jobs_refuse_what_a_cluster_would(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        export("kubernetes", ROCM, "--image", REF, *words)
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("form", ["kubernetes", "devcontainer", "apptainer"])
def test_image_is_a_name(form: str) -> None:
    with pytest.raises(UsageError, match=r'--image: "Foo bar" is no image\'s name'):
        export(form, ROCM, "--image", "Foo bar")


def test_result_is_attached_to_a_digest() -> None:
    with pytest.raises(UsageError, match=r"registry\.example/you/jax:1 has no digest"):
        export("kubernetes", ROCM, "--image", "registry.example/you/jax:1", *ATTESTING, "--unsigned")


@pytest.mark.parametrize(("size", "written"), [("8Gi", "8g"), ("512Mi", "512m"), ("16G", "16000000000b")])
def test_devcontainer_has_the_size_that_was_named(size: str, written: str) -> None:
    (document,) = export("devcontainer", ROCM, "--image", REF, "--shm-size", size)
    assert json.loads(document.text)["runArgs"][-2:] == ["--shm-size", written]


FOREIGN = {
    "github": ("--image", "--gpus", "--group", "--node-label", "--attest-image", "--key-secret", "--login-secret",
               "--shm-size", "--builder-image", "--bundle"),
    "bake": ("--shards", "--runner", "--build-runner", "--install", "--package", "--branch", "--job-image",
             "--cache-repository", "--image", "--gpus", "--shm-size"),
    "kubernetes": ("--to", "--shards", "--build-args", "--builder-image", "--bundle"),
    "devcontainer": ("--to", "--gpus", "--node-label", "--attest-image"),
    "apptainer": ("--to", "--group", "--shm-size", "--bundle"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "option"), [(form, option) for form in FOREIGN for option in FOREIGN[form]])
def test_option_of_another_format_is_refused(form: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"^{option} says nothing to {form}$"):
        export(form, ROCM, option, "7")


@pytest.mark.parametrize(("form", "option"), [("bake", "--unsigned"), ("bake", "--allow-untested"),
                                              ("devcontainer", "--unsigned")])  # fmt: skip
def test_flag_of_another_format_is_refused(form: str, option: str) -> None:
    with pytest.raises(UsageError, match=f"^{option} says nothing to {form}$"):
        export(form, ROCM, option)


@pytest.mark.parametrize("reference", ["5", '"foo bar"', '""', "null", '"registry.example/you/jax:1"', "{}"])
def test_damaged_note_of_a_push_is_said_to_be_damaged(tmp_path: Path, reference: str) -> None:
    (tmp_path / ROCM).mkdir()
    (tmp_path / ROCM / "push.json").write_text(f'{{"reference": {reference}}}')
    invocation = invoke()
    folders = replace(invocation.folders, build_path=tmp_path)
    for form in ("kubernetes", "devcontainer", "apptainer"):
        with pytest.raises(UsageError, match=r"push\.json is damaged: ") as caught:
            make_documents(parse("export", form, ROCM), replace(invocation, folders=folders))
        assert caught.value.hint == f"rockiln push {ROCM} writes it anew"


def test_missing_file_is_told_from_a_changed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--project", str(ROOT), "export", "bake", JAX, "--output", str(tmp_path)]
    assert cli.main(words) == 0
    (tmp_path / "docker-bake.json").unlink()
    (tmp_path / "bake" / f"{JAX}.Dockerfile").write_text("FROM scratch\n")
    assert cli.main([*words, "--check"]) == 28
    said = capsys.readouterr().err
    assert f"{tmp_path / 'docker-bake.json'} is missing" in said
    assert f"{tmp_path / 'bake' / f'{JAX}.Dockerfile'} is not what export writes" in said


def test_command_in_the_file_writes_the_same_again() -> None:
    (document,) = export("github", JAX, "--to", TO, "--build-args=--relock-own")
    words = shlex.split(document.text.partition("\n")[0].removeprefix("# Made by: rockiln "))
    assert "--build-args=--relock-own" in words
    assert export(*words[1:]) == (document,)


@pytest.mark.parametrize(
    ("form", "to", "cache"),
    [
        ("github", "ghcr.io/${{ github.repository }}/{framework}", "ghcr.io/${{ github.repository }}/cache"),
        ("github", "${{ vars.REGISTRY }}/you/{framework}", "${{ vars.REGISTRY }}/you/cache"),
        ("github", "localhost:5000/you", "localhost:5000/cache"),
        ("gitlab", "$CI_REGISTRY/$CI_PROJECT_PATH/{framework}", "$CI_REGISTRY/${CI_PROJECT_PATH}/cache"),
    ],
)
def test_variables_of_the_ci_system_may_stand_in_names(form: str, to: str, cache: str) -> None:
    more = ("--job-image", "localhost:5000/debian:12", "--package", "libc6:amd64", "--branch", "release/1.x")
    (value,) = load(export(form, JAX, "--to", to, "--cache-repository", cache, *more)[0].text)
    variables = value["env" if form == "github" else "variables"]  # type: ignore[index]
    assert (variables["ROCKILN_TO"], variables["ROCKILN_REMOTE_CACHE"]) == (to, cache)


@pytest.mark.parametrize(
    ("form", "text", "written"),
    [
        ("github", ".", "--quiet .\n"),
        ("github", "rockiln>=0.1 --no-deps", "--quiet 'rockiln>=0.1' --no-deps\n"),
        ("github", "rockiln==${{ vars.V }}", "--quiet rockiln==\"${{ vars.V }}\"\n"),
        ("gitlab", "'a b' x$CI_JOB_ID;y", "--quiet 'a b' x\"$CI_JOB_ID\"';y'\n"),
    ],
)
def test_pip_gets_words_and_no_shell(form: str, text: str, written: str) -> None:
    assert written in export(form, JAX, "--to", TO, "--install", text)[0].text


def test_every_command_of_the_page_is_one_that_export_takes() -> None:
    text = (ROOT / "docs" / "export.md").read_text("utf-8").split("```")[1].replace("\\\n", " ")
    lines = [line.partition("|")[0] for line in text.splitlines() if line.startswith("rockiln export ")]
    assert len(lines) == 6
    for line in lines:
        words = shlex.split(line)[2:]
        if words[0] in {"devcontainer", "apptainer"}:  # what was pushed last: nothing is here
            words += ["--image", REF]
        assert export(*(REF if word.endswith("@sha256:…") else word for word in words))
