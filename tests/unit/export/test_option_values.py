"""What export is told: refused where the files' own jobs would refuse it, with exit code 2 and the option's name."""

from __future__ import annotations

import pytest
from export.requests import ROOT, TO, export, load

from rockiln import cli
from rockiln.errors import UsageError

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
