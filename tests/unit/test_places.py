"""Places are listed best first, quoted as servers read them; index pages in either form say where a wheel is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fault_server import FaultServer, make_artifact, make_bytes
from fetching import make_fetcher, make_matrix

from rockiln.errors import FetchError, GoneError
from rockiln.places import find_in_page, find_places, hide_credentials
from rockiln.store import Store

BYTES = make_bytes(9, 5000)
WHEEL = make_artifact(BYTES, "torch-2.8.0+rocm7.0.2.lw.git245bf6ed-cp312-cp312-linux_x86_64.whl", source="rocm")
QUOTED = WHEEL.path.replace("+", "%2B")
DEB = make_artifact(BYTES, "pool/main/g/g++-12/libstdc++6_12.2.0-14+deb12u1_amd64.deb")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_deb_places_are_urls_then_snapshot_without_repeats() -> None:
    matrix = make_matrix(snapshots={"debian": "http://snapshot.test/archive"})
    urls = {"debian": ("http://mirror.test/debian/", "http://mirror.test/debian/", "http://archive.test/debian")}
    places = [place.url for place in find_places(DEB, matrix, urls)]
    path = "pool/main/g/g%2B%2B-12/libstdc%2B%2B6_12.2.0-14%2Bdeb12u1_amd64.deb"
    assert places == [
        f"http://mirror.test/debian/{path}",
        f"http://archive.test/debian/{path}",
        f"http://snapshot.test/archive/{path}",
    ]


def test_plus_in_a_wheel_name_is_quoted() -> None:
    (place,) = find_places(WHEEL, make_matrix(["rocm"], "wheel-directory"), {"rocm": ("https://rocm.test/7.0.2/",)})
    assert place.url == f"https://rocm.test/7.0.2/{QUOTED}"


def test_index_place_is_the_page_of_the_normalized_name() -> None:
    wheel = replace(WHEEL, name="Torch_Vision.Extra")
    (place,) = find_places(wheel, make_matrix(["rocm"], "wheel-index"), {"rocm": ("https://index.test/simple",)})
    assert place.url == "https://index.test/simple/torch-vision-extra/"
    assert place.is_index_page


def test_own_wheels_and_unknown_sources_have_no_place() -> None:
    assert find_places(replace(WHEEL, source="own"), make_matrix(), {}) == ()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://user:pass@host.test:8443/a/b?token=x#y", "https://host.test:8443/a/b"),
        ("https://host.test/a", "https://host.test/a"),
        ("file:///a/b", "file:///a/b"),
    ],
)
def test_credentials_are_hidden(url: str, said: str) -> None:
    assert hide_credentials(url) == said


def html_page(href: str) -> bytes:
    return f'<!DOCTYPE html><html><body><a href="other-1.tar.gz">o</a><a href="{href}">x</a></body></html>'.encode()



def json_page(url: str, sha256: str) -> bytes:
    files = [{"filename": WHEEL.file, "url": url, "hashes": {"sha256": sha256}}]
    return json.dumps({"meta": {"api-version": "1.0"}, "name": "torch", "files": files}).encode()


@pytest.mark.parametrize(
    ("page", "content_type"),
    [
        (html_page(f"../../files/{QUOTED}#sha256={WHEEL.sha256}"), "text/html"),
        (html_page(f"/files/{QUOTED}"), "application/vnd.pypi.simple.v1+html"),
        (json_page(f"../../files/{QUOTED}", WHEEL.sha256), "application/vnd.pypi.simple.v1+json"),
    ],
)
def test_relative_links_are_found(page: bytes, content_type: str) -> None:
    url, _sha256 = find_in_page(page, content_type, "http://index.test/simple/torch/", WHEEL)
    assert url == f"http://index.test/files/{QUOTED}"


def test_of_two_files_of_one_name_the_locked_hash_wins() -> None:
    page = html_page(f"bad/{QUOTED}#sha256={'0' * 64}").replace(
        b"</body>", f'<a href="good/{QUOTED}#sha256={WHEEL.sha256}">x</a></body>'.encode()
    )
    url, sha256 = find_in_page(page, "text/html", "http://index.test/simple/torch/", WHEEL)
    assert (url, sha256) == (f"http://index.test/simple/torch/good/{QUOTED}", WHEEL.sha256)


@pytest.mark.parametrize(
    ("page", "content_type"),
    [
        (b"<html>please log in</html>", "text/html"),
        (b"{not json", "application/json"),
        (b"[]", "application/json"),
        (b'{"meta": {"api-version": "9.0"}, "name": "x", "files": []}', "application/json"),
    ],
)
def test_no_index_page_is_no_answer(page: bytes, content_type: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the caller says what it means)
        find_in_page(page, content_type, "http://index.test/", WHEEL)


def serve_index(server: FaultServer, page: bytes, content_type: str = "text/html") -> None:
    server.files = {"/simple/torch/": page, f"/files/{QUOTED}": BYTES}
    server.types = {"/simple/torch/": content_type}


def test_wheel_is_found_through_an_index(server: FaultServer, store: Store) -> None:
    serve_index(server, html_page(f"/files/{QUOTED}#sha256={WHEEL.sha256}"))
    matrix = make_matrix(["rocm"], "wheel-index")
    make_fetcher(store, server.url + "/simple", matrix=matrix).fetch([WHEEL])
    assert store.holds(WHEEL)
    assert server.paths() == ["/simple/torch/", f"/files/{QUOTED}"]


def test_wheel_that_the_index_does_not_list_is_gone(server: FaultServer, store: Store) -> None:
    serve_index(server, html_page("torch-2.9-py3-none-any.whl"))
    with pytest.raises(GoneError, match="does not list the file") as caught:
        make_fetcher(store, server.url + "/simple", matrix=make_matrix(["rocm"], "wheel-index")).fetch([WHEEL])
    assert "rockiln lock --refresh wheels TARGET" in caught.value.hint


def test_login_page_does_not_mean_gone(server: FaultServer, store: Store) -> None:
    serve_index(server, b"<html><body>please log in</body></html>")
    with pytest.raises(FetchError, match="cannot be understood") as caught:
        make_fetcher(store, server.url + "/simple", matrix=make_matrix(["rocm"], "wheel-index")).fetch([WHEEL])
    assert not isinstance(caught.value, GoneError)


def test_other_hash_in_the_index_is_said_without_downloading(server: FaultServer, store: Store) -> None:
    serve_index(server, json_page(f"/files/{QUOTED}", "f" * 64), "application/vnd.pypi.simple.v1+json")
    with pytest.raises(FetchError, match=r"another sha256, f{64}"):
        make_fetcher(store, server.url + "/simple", matrix=make_matrix(["rocm"], "wheel-index")).fetch([WHEEL])
    assert server.paths() == ["/simple/torch/"]


def test_index_in_a_folder_of_this_machine(store: Store, tmp_path: Path) -> None:
    page = tmp_path / "simple" / "torch" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_bytes(html_page(f"../../files/{QUOTED}"))
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / WHEEL.path).write_bytes(BYTES)
    matrix = make_matrix(["rocm"], "wheel-index")
    make_fetcher(store, (tmp_path / "simple").as_uri(), matrix=matrix).fetch([WHEEL])
    assert store.holds(WHEEL)
