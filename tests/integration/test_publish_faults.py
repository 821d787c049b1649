"""A bad line to Docker's registry: everything arrives, or the push says why not; no tag names what is half there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pushed_layout import HASTY, is_whole, make_layout, push
from real_registry import run_registry
from registry_proxy import Break, Judge, RegistryProxy
from rockiln.errors import RegistryError
from rockiln.publish.gate import Verdict
from rockiln.publish.promote import promote_images, read_published
from rockiln.publish.tags import Tags
from rockiln.registry import uploads
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference

pytestmark = pytest.mark.registry
TAGS = Tags(row="cpu-tiny1.0", date="20261130", moving=())
VERDICT = Verdict(tested=("cpu",), untested={}, failed={}, has_unsigned=False)
LIE = "sha256:" + "ee" * 32


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with run_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return "faults/" + hashlib.sha256(request.node.name.encode()).hexdigest()[:12]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that layers of 150 kB go in three."""
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 60_000)
    monkeypatch.setattr(uploads, "READ_BYTES", 16_000)


def publish(host: str, name: str, folder: Path) -> None:
    """Push and promote."""
    layout = make_layout(folder, layer_bytes=150_000, seed=name)
    push(layout, f"{host}/{name}", {}, patience=HASTY)
    with open_repository(parse_reference(f"{host}/{name}"), {}, patience=HASTY) as repository:
        promote_images(repository, read_published(repository, layout.digest), VERDICT, TAGS)


def require_no_half_image(upstream: str, name: str, folder: Path) -> tuple[str, ...]:
    """Whatever tag is there names an image that is whole → the tags."""
    layout = make_layout(folder / "again", layer_bytes=150_000, seed=name)
    with open_repository(parse_reference(f"{upstream}/{name}"), {}) as repository:
        tags = repository.list_tags()
        for tag in tags:
            index = repository.read_manifest(tag)
            assert index is not None
            assert [entry["digest"] for entry in index.document["manifests"]] == [layout.digest]  # type: ignore[attr-defined]
        if tags:
            assert is_whole(repository, layout)
    return tags


def every(number: int, fault: Break, *methods: str) -> Judge:
    """Each so-manieth request of these methods is broken."""
    return lambda method, _path, count: fault if count % number == 0 and method in methods else Break()


def once_a_path(fault: Break, *methods: str) -> Judge:
    """The first request of each method and path is broken (of uploads: of each method); the second one works."""
    seen: set[tuple[str, str]] = set()

    def judge(method: str, path: str, _number: int) -> Break:
        key = (method, re.sub("uploads/.*", "uploads", path))
        if method not in methods or key in seen:
            return Break()
        seen.add(key)
        return fault

    return judge


ALL = ("GET", "HEAD", "POST", "PATCH", "PUT")
SURVIVED: dict[str, Callable[[], Judge]] = {
    "500 now and then": lambda: every(6, Break(status=500), *ALL),
    "503 at first": lambda: once_a_path(Break(status=503), *ALL),
    "429 that says when": lambda: once_a_path(Break(status=429, retry_after="1"), "POST", "PUT"),
    "cut within a chunk": lambda: once_a_path(Break(cut_after=0.5), "PATCH"),
    "cut within the last chunk": lambda: once_a_path(Break(cut_after=0.4), "PUT"),
    "cut before anything": lambda: once_a_path(Break(cut_after=0), *ALL),
    "answers are lost": lambda: once_a_path(Break(loses_answer=True), *ALL),
    "answers are cut": lambda: once_a_path(Break(cuts_answer=True), "GET"),
    "silent at first": lambda: once_a_path(Break(silent_s=4), "POST", "PUT"),
    "slow": lambda: lambda _method, _path, _number: Break(bytes_per_s=1_000_000),
}


@pytest.mark.parametrize("case", SURVIVED)
def test_everything_arrives_over_a_bad_line(upstream: str, name: str, tmp_path: Path, case: str) -> None:
    with RegistryProxy(upstream, SURVIVED[case]()) as proxy:
        publish(proxy.host, name, tmp_path / "image")
    assert require_no_half_image(upstream, name, tmp_path) == ("cpu-tiny1.0", "cpu-tiny1.0-20261130")


FATAL: dict[str, tuple[Callable[[], Judge], str]] = {
    "500 for ever": (lambda: every(1, Break(status=500), "PUT"), r"answers 500.*asked 6 times"),
    "429 that asks for an hour": (lambda: every(1, Break(status=429, retry_after="3600"), "PATCH"), "answers 429"),
    "wrong digest of a blob": (
        lambda: lambda method, path, _: Break(digest=LIE) if method == "PUT" and "/blobs/" in path else Break(),
        f"was sent, the registry has {LIE}",
    ),
    "wrong digest of a manifest": (
        lambda: lambda method, path, _: Break(digest=LIE) if method == "PUT" and "/manifests/" in path else Break(),
        f"was sent, the registry has {LIE}",
    ),
    "uploads are always cut": (lambda: every(1, Break(cut_after=0.3), "PATCH"), "asked 6 times"),
    "manifests are refused": (
        lambda: lambda method, path, _: Break(status=405) if method == "PUT" and "/manifests/" in path else Break(),
        "refuses uploads: 405",
    ),
}


@pytest.mark.parametrize("case", FATAL)
def test_nothing_moves_where_not_everything_arrives(upstream: str, name: str, tmp_path: Path, case: str) -> None:
    judge, message = FATAL[case]
    with RegistryProxy(upstream, judge()) as proxy, pytest.raises(RegistryError, match=message) as caught:
        publish(proxy.host, name, tmp_path / "image")
    assert caught.value.hint
    assert require_no_half_image(upstream, name, tmp_path) == ()
    publish(upstream, name, tmp_path / "image-2")
    assert len(require_no_half_image(upstream, name, tmp_path / "end")) == 2


def test_index_that_a_proxy_lies_about_gets_no_tag(upstream: str, name: str, tmp_path: Path) -> None:
    manifests = 0

    def judge(method: str, path: str, _number: int) -> Break:
        nonlocal manifests
        manifests += method == "PUT" and "/manifests/" in path
        return Break(digest=LIE) if manifests == 2 else Break()

    with RegistryProxy(upstream, judge) as proxy, pytest.raises(RegistryError, match="the registry has"):
        publish(proxy.host, name, tmp_path / "image")
    assert require_no_half_image(upstream, name, tmp_path) == ()


def test_blob_that_got_lost_stops_promotion(upstream: str, name: str, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image", layer_bytes=150_000, seed=name)
    push(layout, f"{upstream}/{name}", {})
    lost = layout.blobs[0].digest

    def judge(method: str, path: str, _number: int) -> Break:
        return Break(status=404) if method == "HEAD" and lost in path else Break()

    with (
        RegistryProxy(upstream, judge) as proxy,
        open_repository(parse_reference(f"{proxy.host}/{name}"), {}, patience=HASTY) as repository,
    ):
        images = read_published(repository, layout.digest)
        with pytest.raises(RegistryError, match=f"1 blobs of the image are missing: {lost}"):
            promote_images(repository, images, VERDICT, TAGS)
    assert require_no_half_image(upstream, name, tmp_path) == ()


def test_upload_goes_on_after_the_last_whole_chunk(upstream: str, name: str, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image", layers=1, layer_bytes=300_000, seed=name)
    notes_path = tmp_path / "notes"
    patches = 0

    def judge(method: str, _path: str, _number: int) -> Break:
        nonlocal patches
        patches += method == "PATCH"
        return Break(status=507) if method == "PATCH" and patches == 3 else Break()

    with RegistryProxy(upstream, judge) as proxy:
        with pytest.raises(RegistryError, match="507"):
            push(layout, f"{proxy.host}/{name}", {}, notes_path=notes_path, threads=1)
        assert list(notes_path.iterdir())
        push(layout, f"{proxy.host}/{name}", {}, notes_path=notes_path, threads=1)
        assert not list(notes_path.iterdir())
        assert patches == 2 + 1 + 3  # two, a refused one, and the other three of five
    with open_repository(parse_reference(f"{upstream}/{name}"), {}) as repository:
        assert is_whole(repository, layout)
