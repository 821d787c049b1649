"""Registries that bend the specification, or mean ill: they are refused in words, and nothing runs for ever."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pushed_layout import HASTY, make_layout, push
from registry_server import RegistryServer
from rockiln.errors import RegistryError
from rockiln.registry import client, session, uploads
from rockiln.registry.client import RegistryClient, open_repository
from rockiln.registry.reference import parse_reference

DIGEST = "sha256:" + "ab" * 32
Act = Callable[[Any], bool]


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(has_referrers=True) as server:
        yield server


@pytest.fixture
def repository(server: RegistryServer) -> Iterator[RegistryClient]:
    with open_repository(parse_reference(f"{server.host}/a/b"), {}, patience=HASTY) as repository:
        yield repository


def answer(status: int, body: bytes = b"", part: str = "", method: str = "", **headers: str) -> Act:
    """The same to every request whose path holds `part`."""

    def act(handler: Any) -> bool:
        is_meant = part in handler.path and method in {"", handler.command}
        if is_meant:
            handler.reply(status, body, **headers)
        return is_meant

    return act


def test_registry_that_takes_no_chunks_gets_the_blob_in_one_piece(
    server: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 10_000)
    server.before = answer(405, method="PATCH")
    layout = make_layout(tmp_path / "image", layers=2)
    assert push(layout, f"{server.host}/a/b", {}).manifests
    assert set(server.repo("a/b").blobs) == {source.digest for source in layout.blobs}


def test_upload_that_the_registry_forgets_is_begun_anew(server: RegistryServer, tmp_path: Path) -> None:
    """https://github.com/GoogleContainerTools/jib/issues/4301: BLOB_UPLOAD_UNKNOWN of a registry under load."""
    forgotten: set[str] = set()

    def forget(handler: Any) -> bool:
        is_new = handler.command == "PUT" and "digest=" in handler.path and len(forgotten) < 3
        if is_new:
            forgotten.add(handler.path)
            handler.refuse(404, "BLOB_UPLOAD_UNKNOWN")
        return is_new

    server.before = forget
    layout = make_layout(tmp_path / "image")
    assert push(layout, f"{server.host}/a/b", {}).manifests
    assert len(forgotten) == 3
    assert set(server.repo("a/b").blobs) == {source.digest for source in layout.blobs}


def test_registry_may_take_its_time_to_commit_a_blob(server: RegistryServer, tmp_path: Path) -> None:
    def think(handler: Any) -> bool:
        if handler.command == "PUT" and "digest=" in handler.path:
            time.sleep(0.8)
        return False

    server.before = think
    layout = make_layout(tmp_path / "image", layers=1)
    assert push(layout, f"{server.host}/a/b", {}, patience=replace(HASTY, stall_s=0.4)).manifests
    assert server.count("PUT", "/blobs/uploads/") == 2


def test_registry_that_wants_larger_chunks_gets_them(
    server: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 10_000)
    server.uploads["x"] = bytearray()
    location = "/v2/a/b/blobs/uploads/x"
    server.before = answer(202, part="/uploads/", method="POST", Location=location, OCI_Chunk_Min_Length="1000000")
    assert push(make_layout(tmp_path / "image", layers=0), f"{server.host}/a/b", {}).manifests
    assert server.count("PATCH") == 0


def test_registry_that_never_gets_on_is_given_up(
    server: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 10_000)
    server.before = answer(202, method="PATCH", Location="/v2/a/b/blobs/uploads/x", Range="0-0")
    with pytest.raises(RegistryError, match=r"asked 6 times|404"):
        push(make_layout(tmp_path / "image", layers=1), f"{server.host}/a/b", {}, threads=1)


def test_registry_that_claims_to_have_more_than_there_is_is_begun_anew(
    server: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 10_000)
    lies = iter([True])

    def claim(handler: Any) -> bool:
        is_first = handler.command == "PATCH" and next(lies, False)
        if is_first:
            handler.reply(202, Location=handler.path, Range="0-99999999")
        return is_first

    server.before = claim
    layout = make_layout(tmp_path / "image", layers=1)
    assert push(layout, f"{server.host}/a/b", {}, threads=1).manifests
    assert set(server.repo("a/b").blobs) == {source.digest for source in layout.blobs}


def test_answer_without_end_is_not_read_to_its_end(
    server: RegistryServer, repository: RegistryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "MAX_BYTES", 1 << 20)
    server.before = answer(200, b" " * (2 << 20))
    with pytest.raises(RegistryError, match="more than 1 MiB"):
        repository.read_manifest("latest")


def test_list_without_end_is_not_followed_for_ever(
    server: RegistryServer, repository: RegistryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_PAGES", 5)
    server.before = answer(200, b'{"tags": ["a"]}', Link='</v2/a/b/tags/list>; rel="next"')
    assert repository.list_tags() == ("a",)
    assert len(server.asked) == 5


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"tags": 5}', b'{"tags": {"a": 1}}'])
def test_tags_that_are_no_list_are_refused(server: RegistryServer, repository: RegistryClient, body: bytes) -> None:
    server.before = answer(200, body)
    with pytest.raises(RegistryError):
        repository.list_tags()


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"manifests": 5}', b'{"manifests": [5]}', b'{"manifests": [{"digest": "x"}]}']
)
def test_referrers_that_are_no_list_are_refused(
    server: RegistryServer, repository: RegistryClient, body: bytes
) -> None:
    server.before = answer(200, body)
    with pytest.raises(RegistryError):
        repository.list_referrers(DIGEST)


def test_manifest_under_another_digest_is_refused(server: RegistryServer, repository: RegistryClient) -> None:
    server.before = answer(200, b"{}")
    with pytest.raises(RegistryError, match="asked for sha256:abab"):
        repository.read_manifest(DIGEST)


def test_digest_that_is_not_told_is_computed(server: RegistryServer, repository: RegistryClient) -> None:
    server.before = answer(200, b"{}")
    assert repository.find_digest("latest").startswith("sha256:44136fa355b3678a")


@pytest.mark.parametrize("location", ["", "http://[", "ftp://127.0.0.1/x"])
def test_place_to_upload_to_that_is_none_is_refused(server: RegistryServer, tmp_path: Path, location: str) -> None:
    server.before = answer(202, method="POST", **({"Location": location} if location else {}))
    with pytest.raises(RegistryError):
        push(make_layout(tmp_path / "image", layers=1), f"{server.host}/a/b", {}, threads=1)


def test_web_page_in_place_of_a_registry_is_said(server: RegistryServer, tmp_path: Path) -> None:
    server.before = answer(200, b"<html>", Content_Type="text/html")
    with pytest.raises(RegistryError):
        push(make_layout(tmp_path / "image", layers=1), f"{server.host}/a/b", {}, threads=1)


def test_download_that_differs_is_refused_and_not_kept(
    server: RegistryServer, repository: RegistryClient, tmp_path: Path
) -> None:
    server.before = answer(200, b"other bytes")
    with pytest.raises(RegistryError, match="other bytes than the digest names"):
        repository.save_blob(DIGEST, tmp_path / "blob")
    assert not list(tmp_path.iterdir())


def test_cut_download_goes_on_where_it_was(
    server: RegistryServer, repository: RegistryClient, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 4000
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    ranges: list[str] = []

    def cut(handler: Any) -> bool:
        ranges.append(handler.headers.get("Range", ""))
        start = int(ranges[-1].removeprefix("bytes=").removesuffix("-") or 0)
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start : start + 500_000])
        handler.close_connection = True
        return True

    server.before = cut
    told: list[int] = []
    repository.save_blob(digest, tmp_path / "blob", told.append)
    assert (tmp_path / "blob").read_bytes() == content
    assert len(ranges) == 3
    assert ranges[0] == ""
    assert sum(told) == len(content)
