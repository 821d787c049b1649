"""Docker's registry lets in whom it should: passwords, tokens with scopes, helpers, private CAs; and nobody else."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from pushed_layout import make_layout, push
from real_registry import run_registry
from registry_proxy import Break, RegistryProxy
from rockiln.errors import CredentialsError, RegistryError, UsageError
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.registry.session import Access
from token_server import TokenServer, make_certificate, write_pem

pytestmark = pytest.mark.registry

HTPASSWD = "somebody:$2b$05$abcdefghijklmnopqrstuu8xaCxxL82bnl.UY74PMksDxIJShppPC\n"
"""bcrypt of "right", which is all that the registry takes."""
HELPER = """#!/bin/sh
[ "$1" = get ] && cat >> {asked} && printf '%s' '{answer}'
"""


@pytest.fixture(scope="module")
def basic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("basic")
    (folder / "htpasswd").write_text(HTPASSWD)
    with run_registry(folder, auth={"htpasswd": {"realm": "here", "path": str(folder / "htpasswd")}}) as host:
        yield host


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[tuple[TokenServer, str]]:
    with TokenServer(tmp_path) as server, run_registry(tmp_path / "registry", auth=server.auth) as host:
        yield server, host


def write_config(folder: Path, host: str, **entry: object) -> dict[str, str]:
    """Docker's config.json for one registry → the environment that names it."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"auths": {host: entry}}))
    return {"DOCKER_CONFIG": str(folder)}


def log_in(folder: Path, host: str, user: str = "somebody", password: str = "right") -> dict[str, str]:  # noqa: S107
    return write_config(folder, host, auth=base64.b64encode(f"{user}:{password}".encode()).decode())


def write_helper(folder: Path, answer: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "docker-credential-tests"
    path.write_text(HELPER.format(asked=folder / "asked", answer=answer))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_password_of_docker_login_lets_in(basic: str, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image", seed="basic")
    pushed = push(layout, f"{basic}/auth/basic", log_in(tmp_path / "docker", basic))
    assert {blob.way for blob in pushed.blobs} == {"uploaded"}


def test_wrong_password_is_said_once_and_not_tried_again(basic: str, tmp_path: Path) -> None:
    layout = make_layout(tmp_path / "image", layers=8)
    with RegistryProxy(basic) as proxy:
        environ = log_in(tmp_path / "docker", proxy.host, password="wrong")  # noqa: S106
        with pytest.raises(CredentialsError, match=r"refuses user name and password of somebody \(of .*config.json\)"):
            push(layout, f"{proxy.host}/auth/wrong", environ)
        assert len(proxy.asked) == 2  # without credentials, and with them


def test_nobody_is_told_to_log_in(basic: str, tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"Docker's config\.json has none") as caught:
        push(make_layout(tmp_path / "image"), f"{basic}/auth/nobody", {"HOME": str(tmp_path)})
    assert "docker login" in caught.value.hint
    assert caught.value.exit_code == 20


@pytest.mark.parametrize("key", ["credHelpers", "credsStore"])
def test_helper_is_asked(basic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    helper = write_helper(tmp_path / "bin", '{"ServerURL":"x","Username":"somebody","Secret":"right"}')
    monkeypatch.setenv("PATH", str(helper.parent), prepend=":")
    folder = tmp_path / "docker"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({key: {basic: "tests"} if key == "credHelpers" else "tests"}))
    push(make_layout(tmp_path / "image", seed=key), f"{basic}/auth/{key.lower()}", {"DOCKER_CONFIG": str(folder)})
    assert (helper.parent / "asked").read_text().split() == [basic]


def test_helper_that_is_missing_is_named(basic: str, tmp_path: Path) -> None:
    folder = tmp_path / "docker"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"credHelpers": {basic: "absent"}}))
    with pytest.raises(CredentialsError, match="docker-credential-absent not installed"):
        push(make_layout(tmp_path / "image"), f"{basic}/auth/absent", {"DOCKER_CONFIG": str(folder)})


@pytest.mark.parametrize("text", ["{", "[]", '{"auths": 5}', '{"auths": {"HOST": {"auth": "%%%"}}}'])
def test_damaged_config_is_named(basic: str, tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text.replace("HOST", basic))
    with pytest.raises(CredentialsError, match="no credentials"):
        push(make_layout(tmp_path / "image"), f"{basic}/auth/damaged", {"DOCKER_CONFIG": str(tmp_path)})


def test_token_has_the_scope_of_what_is_done(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    server, host = tokens
    layout = make_layout(tmp_path / "image")
    push(layout, f"{host}/auth/bearer", log_in(tmp_path / "docker", host))
    assert [query.get("scope") for query in server.asked] == [["repository:auth/bearer:pull,push"]]


def test_blob_is_mounted_with_a_token_for_both_repositories(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    server, host = tokens
    layout, environ = make_layout(tmp_path / "image"), log_in(tmp_path / "docker", host)
    push(layout, f"{host}/auth/one", environ)
    pushed = push(layout, f"{host}/auth/two", environ, siblings=("auth/one",))
    assert {blob.way for blob in pushed.blobs} == {"mounted"}
    assert ["repository:auth/two:pull,push", "repository:auth/one:pull"] in [q.get("scope") for q in server.asked]


def test_identity_token_gets_a_token(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    _, host = tokens
    environ = write_config(tmp_path / "docker", host, identitytoken="refresh")
    assert push(make_layout(tmp_path / "image"), f"{host}/auth/identity", environ).manifests


def test_wrong_password_at_the_token_server_is_said_once(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    server, host = tokens
    environ = log_in(tmp_path / "docker", host, password="wrong")  # noqa: S106
    with pytest.raises(CredentialsError, match="refuses user name and password of somebody"):
        push(make_layout(tmp_path / "image", layers=8), f"{host}/auth/wrong", environ)
    assert len(server.asked) == 1


def test_who_may_only_pull_is_told_so(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    server, host = tokens
    server.may = {"pull"}
    with pytest.raises(CredentialsError, match=r"does not let somebody .* do this: 401"):
        push(make_layout(tmp_path / "image"), f"{host}/auth/reader", log_in(tmp_path / "docker", host))
    assert len(server.asked) < 12


def test_token_that_expires_in_the_middle_is_renewed(tokens: tuple[TokenServer, str], tmp_path: Path) -> None:
    server, host = tokens
    server.lifetime_s = 1  # registries allow a minute of leeway, so this is about what we do by the clock
    layout = make_layout(tmp_path / "image", layers=6)

    def judge(_method: str, _path: str, _number: int) -> Break:
        return Break(bytes_per_s=60_000)

    with RegistryProxy(host, judge) as proxy:
        pushed = push(layout, f"{proxy.host}/auth/short", log_in(tmp_path / "docker", proxy.host), threads=1)
    assert pushed.manifests
    assert len(server.asked) > 3


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A registry behind a certificate of a private CA: HOST:PORT, and the CA's file."""
    folder = tmp_path_factory.mktemp("tls")
    ca_key, key = generate_private_key(SECP256R1()), generate_private_key(SECP256R1())
    ca = make_certificate(ca_key, "a private CA")
    certificate = make_certificate(key, "registry", addresses=("127.0.0.1",), issuer=(ca, ca_key))
    files = {"certificate": str(write_pem(folder / "crt", certificate)), "key": str(write_pem(folder / "key", key))}
    with run_registry(folder / "registry", tls=files) as host:
        yield host, write_pem(folder / "ca.pem", ca)


def test_private_ca_is_trusted_where_it_is_named(secure: tuple[str, Path], tmp_path: Path) -> None:
    host, ca_path = secure
    pushed = push(make_layout(tmp_path / "image"), f"{host}/auth/tls", {}, access=Access(ca_path=ca_path))
    assert pushed.manifests


def test_private_ca_is_found_where_docker_has_it(
    secure: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, ca_path = secure
    folder = tmp_path / "certs.d" / host
    folder.mkdir(parents=True)
    (folder / "ca.crt").write_bytes(ca_path.read_bytes())
    monkeypatch.setattr("rockiln.registry.session.CERTIFICATES_PATH", tmp_path / "certs.d")
    assert push(make_layout(tmp_path / "image", seed="docker"), f"{host}/auth/certs", {}).manifests


def test_unknown_ca_is_refused_at_once(secure: tuple[str, Path], tmp_path: Path) -> None:
    host, _ = secure
    other = write_pem(tmp_path / "other.pem", make_certificate(generate_private_key(SECP256R1()), "another CA"))
    with pytest.raises(RegistryError, match="certificate verify failed") as caught:
        push(make_layout(tmp_path / "image"), f"{host}/auth/unknown", {}, access=Access(ca_path=other))
    assert "--ca FILE" in caught.value.hint


def test_registry_of_this_machine_that_speaks_https_is_recognised(secure: tuple[str, Path]) -> None:
    """Docker's registry answers 400 to http, and to HEAD without a word."""
    reference = parse_reference(f"{secure[0]}/auth/spoken")
    with open_repository(reference, {}) as repository:
        for ask in (lambda: repository.find_digest("latest"), lambda: repository.log_in(to_push=True)):
            with pytest.raises(RegistryError, match="speaks https, and was asked over http") as caught:
                ask()
            assert "--ca FILE" in caught.value.hint


def test_file_without_certificates_is_named(secure: tuple[str, Path], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(UsageError, match="no certificates"):
        push(make_layout(tmp_path / "image"), f"{secure[0]}/a", {}, access=Access(ca_path=tmp_path / "ca.pem"))
