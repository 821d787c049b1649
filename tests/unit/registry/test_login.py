"""Logging in to a registry in memory: what is asked how often, and where passwords go."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import certifi
import pytest

from pushed_layout import HASTY, make_layout, push
from registry_server import Gate, RegistryServer
from rockiln.errors import CredentialsError, RegistryError
from rockiln.registry import uploads
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.registry.session import Access


@contextmanager
def serve(scheme: str, **changes: object) -> Iterator[RegistryServer]:
    with RegistryServer(gate=Gate(scheme=scheme, **changes)) as server:  # type: ignore[arg-type]  # of tests
        yield server


def log_in(folder: Path, host: str, password: str = "right") -> dict[str, str]:  # noqa: S107  # of a test
    folder.mkdir(exist_ok=True)
    auth = base64.b64encode(f"somebody:{password}".encode()).decode()
    (folder / "config.json").write_text(json.dumps({"auths": {host: {"auth": auth}}}))
    return {"DOCKER_CONFIG": str(folder)}


def count_refused(server: RegistryServer) -> int:
    """Requests without what lets in."""
    return sum(not asked.authorization for asked in server.asked if "/token" not in asked.path)


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_one_request_learns_how_to_log_in(tmp_path: Path, scheme: str) -> None:
    with serve(scheme) as server:
        environ = log_in(tmp_path / "docker", server.host)
        assert push(make_layout(tmp_path / "image", layers=8), f"{server.host}/a/b", environ).manifests
        assert count_refused(server) == 1
        assert server.count("GET", "/token") == (1 if scheme == "bearer" else 0)


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_wrong_password_is_tried_once(tmp_path: Path, scheme: str) -> None:
    with serve(scheme) as server:
        environ = log_in(tmp_path / "docker", server.host, password="wrong")  # noqa: S106
        with pytest.raises(CredentialsError, match="refuses user name and password of somebody"):
            push(make_layout(tmp_path / "image", layers=8), f"{server.host}/a/b", environ, threads=8)
        assert len(server.asked) == 2


@pytest.mark.parametrize(("lifetime", "threads"), [(2, 1), (3, 1), (8, 2)])
def test_token_that_expires_in_the_middle_of_a_push_is_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lifetime: int, threads: int
) -> None:
    monkeypatch.setattr(uploads, "CHUNK_BYTES", 20_000)
    with serve("bearer", lifetime=lifetime) as server:
        environ = log_in(tmp_path / "docker", server.host)
        layout = make_layout(tmp_path / "image", layer_bytes=100_000)
        assert push(layout, f"{server.host}/a/b", environ, threads=threads).manifests
        assert set(server.repo("a/b").blobs) == {source.digest for source in layout.blobs}
        assert server.count("GET", "/token") > 4


def test_token_that_never_lets_in_ends_the_push(tmp_path: Path) -> None:
    with serve("bearer", lifetime=0) as server:
        with pytest.raises(CredentialsError, match="does not let somebody"):
            push(make_layout(tmp_path / "image"), f"{server.host}/a/b", log_in(tmp_path / "docker", server.host))
        assert len(server.asked) < 8


def test_who_may_not_push_is_told_so(tmp_path: Path) -> None:
    with serve("bearer", may_push=False) as server:
        with pytest.raises(CredentialsError, match=r"does not let somebody \(of .*config\.json\) do this: 401"):
            push(make_layout(tmp_path / "image"), f"{server.host}/a/b", log_in(tmp_path / "docker", server.host))
        assert server.count("POST") < 16


def test_neighbour_that_may_not_be_read_holds_nothing_for_us(tmp_path: Path) -> None:
    with serve("basic") as server:

        def hide(handler: object) -> bool:
            is_hidden = "/secret/" in getattr(handler, "path", "")
            if is_hidden:
                handler.refuse(403, "DENIED")  # type: ignore[attr-defined]
            return is_hidden

        server.before = hide
        environ = log_in(tmp_path / "docker", server.host)
        pushed = push(make_layout(tmp_path / "image"), f"{server.host}/a/b", environ, siblings=("a/secret/b",))
        assert {blob.way for blob in pushed.blobs} == {"uploaded"}
        assert server.count("HEAD", "/secret/") == 1


def test_password_goes_to_no_token_server_in_the_clear(tmp_path: Path) -> None:
    with RegistryServer() as server:

        def challenge(handler: object) -> bool:
            said = 'Bearer realm="http://tokens.example.com/token",service="x"'
            handler.refuse(401, "UNAUTHORIZED", WWW_Authenticate=said)  # type: ignore[attr-defined]
            return True

        server.before = challenge
        reference = parse_reference(f"{server.host}/a/b")
        environ = log_in(tmp_path / "docker", server.host)
        with open_repository(reference, environ, access=Access(plain_http=True), patience=HASTY) as repository:
            repository._session._tokens._is_secure = True  # as where the registry speaks https
            with pytest.raises(RegistryError, match="no https address"):
                repository.log_in(to_push=False)


def test_upload_that_is_sent_elsewhere_takes_no_password_along(tmp_path: Path) -> None:
    with RegistryServer() as storage, serve("basic") as server:
        storage.uploads["there"] = bytearray()

        def send_away(handler: object) -> bool:
            is_start = getattr(handler, "command", "") == "POST" and handler._is_let_in()  # type: ignore[attr-defined]
            if is_start:
                handler.reply(202, Location=f"http://{storage.host}/v2/a/b/blobs/uploads/there")  # type: ignore[attr-defined]
            return is_start

        server.before = send_away
        environ = log_in(tmp_path / "docker", server.host)
        with pytest.raises(RegistryError, match=r"took sha256:.* does not have it"):
            push(make_layout(tmp_path / "image", layers=1), f"{server.host}/a/b", environ, threads=1)
        assert storage.asked
        assert {asked.authorization for asked in storage.asked} == {""}


def test_proxy_of_the_environment_is_not_asked_for_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with RegistryServer() as server:
        assert push(make_layout(tmp_path / "image"), f"{server.host}/a/b", {}).manifests


def test_https_with_a_registry_that_speaks_none_is_said_at_once(tmp_path: Path) -> None:
    access = Access(ca_path=Path(certifi.where()))
    with RegistryServer() as server, pytest.raises(RegistryError, match="WRONG_VERSION_NUMBER") as caught:
        push(make_layout(tmp_path / "image"), f"{server.host}/a/b", {}, access=access)
    assert "--plain-http" in caught.value.hint


def test_http_is_spoken_with_this_machine_or_where_it_is_said() -> None:
    def find_url(name: str, access: Access) -> str:
        with open_repository(parse_reference(name), {}, access=access) as repository:
            return repository._session.url

    assert find_url("localhost:5000/a", Access()) == "http://localhost:5000"
    assert find_url("ghcr.io/a/b", Access()) == "https://ghcr.io"
    assert find_url("registry:5000/a", Access(plain_http=True)) == "http://registry:5000"
    assert find_url("docker.io/a/b", Access()) == "https://registry-1.docker.io"
