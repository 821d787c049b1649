"""Secrets planted in layers, variables and history are found and never shown; examples are no findings."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from rockiln.audit.audit import audit_scan
from rockiln.audit.finding import AuditReport
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan_image import scan_layout
from rockiln.console import Console
from tiny_image import TarItem, make_tar, write_layout

DICE = random.Random(7)  # noqa: S311  # the same made-up tokens in each run


def draw(letters: str, length: int) -> str:
    """Random text, the same in each run; so no token stands in this file."""
    return "".join(DICE.choice(letters) for _ in range(length))


ALNUM = string.ascii_letters + string.digits
TOKENS = {
    "github": "ghp_" + draw(ALNUM, 36),
    "github-fine": "github_pat_" + draw(ALNUM + "_", 82),
    "gitlab": "glpat-" + draw(ALNUM, 20),
    "slack": "xoxb-" + draw(string.digits, 11) + "-" + draw(ALNUM, 24),
    "aws": "AKIA" + draw(string.ascii_uppercase + string.digits, 16),
    "google": "AIza" + draw(ALNUM, 35),
    "huggingface": "hf_" + draw(ALNUM, 34),
    "pypi": "pypi-AgEIcHlwaS5vcmc" + draw(ALNUM, 80),
    "npm": "npm_" + draw(ALNUM, 36),
    "docker": "dckr_pat_" + draw(ALNUM, 27),
}
PASSWORD = draw(ALNUM, 20) + "4x"


def audit(folder: Path, layers: list[list[TarItem]], start: dict[str, object] | None = None) -> AuditReport:
    write_layout(folder, [make_tar(items) for items in layers], start or {})
    return audit_scan(scan_layout(folder, "layout", Wanted(), 1, Console(None)))


def found(report: AuditReport) -> set[tuple[str, str]]:
    return {(one.rule, one.path) for one in report.findings if one.severity == "error"}


@pytest.mark.parametrize("name", TOKENS)
def test_token_in_any_file_is_found_and_not_shown(tmp_path: Path, name: str) -> None:
    path = "opt/venv/lib/python3.11/site-packages/thing/client.py"
    report = audit(tmp_path / "layout", [[(path, 0o644, f"TOKEN = '{TOKENS[name]}'\n".encode())]])
    assert found(report) == {("token-in-file", f"/{path}")}
    assert TOKENS[name][12:] not in report.findings[0].evidence


def test_token_that_a_later_layer_removes_is_found(tmp_path: Path) -> None:
    first: list[TarItem] = [("work/notes", 0o644, TOKENS["github"].encode())]
    report = audit(tmp_path / "layout", [first, [("work/.wh.notes", 0o644, b"")]])
    assert [one.rule for one in report.findings] == ["token-in-file"]
    assert "hidden by a later one" in report.findings[0].evidence


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/service.conf", f"password = {PASSWORD}\n"),
        ("root/.config/tool/settings.yaml", f"user: me\napi_key: '{PASSWORD}'\n"),
        ("etc/tool.json", f'{{\n "access_token": "{PASSWORD}"\n}}\n'),
        ("etc/npmrc", f"//registry.example.org/:_authToken={PASSWORD}\n"),
        ("etc/containers/auth.json", f'{{"auths": {{"example.org": {{"auth": "{PASSWORD}"}}}}}}'),
        ("etc/pip.conf", f"[global]\nindex-url = https://{PASSWORD}@example.org/simple\n"),
    ],
)
def test_secret_that_a_settings_file_holds_is_found_and_not_shown(tmp_path: Path, path: str, text: str) -> None:
    report = audit(tmp_path / "layout", [[(path, 0o644, text.encode())]])
    assert found(report) == {("secret-set", f"/{path}")}
    assert PASSWORD not in "".join(one.evidence for one in report.findings)


def test_variables_and_history_that_hold_secrets_are_found(tmp_path: Path) -> None:
    start: dict[str, object] = {"Env": [f"HF_TOKEN={PASSWORD}", "PATH=/bin", f"DB_PASSWORD={PASSWORD}"]}
    report = audit(tmp_path / "layout", [[("etc/", 0o755, "")]], start)
    assert sorted(one.evidence for one in report.findings if one.rule == "secret-set") == [
        "variable DB_PASSWORD: a secret: DB_PASSWORD is set", "variable HF_TOKEN: a secret: HF_TOKEN is set",
    ]  # fmt: skip


def test_build_argument_in_the_history_is_found() -> None:
    from rockiln.audit.leak_words import find_told_leaks

    step = f"|1 NPM_TOKEN={PASSWORD} MODE=fast /bin/sh -c npm install"
    (leak,) = find_told_leaks("step 3 of the history", step, is_variable=False)
    assert leak.evidence == "step 3 of the history: a secret: NPM_TOKEN is set"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("work/readme.md", "export GITHUB_TOKEN=ghp_" + "x" * 36),
        ("work/readme.md", "AKIAIOSFODNN7" + "EXAMPLE"),
        ("etc/pam.d/common-password", "password\t[success=1 default=ignore]\tpam_unix.so obscure yescrypt\n"),
        ("etc/ssl/openssl.cnf", "# input_password = secret\nchallengePassword\t= A challenge password\n"),
        ("etc/debconf.conf", "Name: passwords\nFilename: /var/cache/debconf/passwords.dat\n"),
        ("etc/login.defs", "PASS_MAX_DAYS 99999\nENCRYPT_METHOD SHA512\n"),
        ("etc/app.yaml", "token: ${APP_TOKEN}\npassword: <your-password-1234>\nsecret: /run/secrets/app-1234\n"),
        ("opt/venv/lib/python3.11/site-packages/x/test_auth.py", f"password = '{PASSWORD}'\n"),
    ],
)
def test_examples_and_ordinary_settings_are_no_findings(tmp_path: Path, path: str, text: str) -> None:
    assert found(audit(tmp_path / "layout", [[(path, 0o644, text.encode())]])) == set()


def test_variables_that_hold_no_secret_are_no_findings(tmp_path: Path) -> None:
    names = ["GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D", "TOKENIZERS_PARALLELISM=false", "DB_PASSWORD=",
             "DB_PASSWORD_FILE=/run/secrets/db", "SECRET_NAME=app-config-1", "HF_TOKEN_PATH=/cache/token"]  # fmt: skip
    report = audit(tmp_path / "layout", [[("etc/", 0o755, "")]], {"Env": names})
    assert found(report) == set()
