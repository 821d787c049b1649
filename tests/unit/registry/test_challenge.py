"""What registries ask for in WWW-Authenticate, as they write it."""

from __future__ import annotations

import pytest

from rockiln.registry.challenge import Challenge, parse_challenges

GHCR = 'Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:user/image:pull"'


def test_bearer_names_realm_service_and_scopes() -> None:
    found = parse_challenges([GHCR])
    assert found is not None
    assert (found.scheme, found.realm, found.service) == ("bearer", "https://ghcr.io/token", "ghcr.io")
    assert found.scopes == ("repository:user/image:pull",)


@pytest.mark.parametrize(
    ("headers", "scheme"),
    [
        (['Basic realm="Registry Realm"'], "basic"),
        (["basic realm=here"], "basic"),
        (['Basic realm="here"', GHCR], "bearer"),
        ([f'{GHCR}, Basic realm="here"'], "bearer"),
        ([f'Basic realm="here", {GHCR}'], "bearer"),
        ([GHCR.lower()], "bearer"),
        (["Basic"], "basic"),
    ],
)
def test_bearer_goes_before_basic(headers: list[str], scheme: str) -> None:
    found = parse_challenges(headers)
    assert found is not None
    assert found.scheme == scheme


def test_quotes_and_commas_may_stand_in_a_value() -> None:
    found = parse_challenges([r'Bearer realm="https://a/t?x=1,2",scope="repository:a:pull,push",error="\"no\""'])
    assert found == Challenge(
        scheme="bearer",
        parameters={"realm": "https://a/t?x=1,2", "scope": "repository:a:pull,push", "error": '"no"'},
    )


@pytest.mark.parametrize("headers", [[], [""], ["Negotiate"], ['Digest realm="x"'], ["Bearerrealm"]])
def test_other_schemes_are_none_of_ours(headers: list[str]) -> None:
    assert parse_challenges(headers) is None
