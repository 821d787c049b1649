"""Bytes of a file, or a variable → secrets in it, by the form that services give their tokens and by what settings say.

A token's form is its issuer's: a prefix and a length. What has the form and no randomness (ghp_xxxx…) is an example.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple


class Secret(NamedTuple):
    """Something found; `shown` says what and where, and never the secret."""

    what: str
    shown: str


_TOKENS: tuple[tuple[str, bytes, bytes], ...] = (
    ("GitHub token", b"ghp_", rb"ghp_[A-Za-z0-9]{36,}"),
    ("GitHub token", b"gho_", rb"gho_[A-Za-z0-9]{36,}"),
    ("GitHub token", b"ghs_", rb"ghs_[A-Za-z0-9]{36,}"),
    ("GitHub token", b"ghu_", rb"ghu_[A-Za-z0-9]{36,}"),
    ("GitHub token", b"github_pat_", rb"github_pat_[A-Za-z0-9_]{60,}"),
    ("GitLab token", b"glpat-", rb"glpat-[A-Za-z0-9_-]{20,}"),
    ("Slack token", b"xox", rb"xox[abeprs]-[0-9]{6,}-[0-9A-Za-z-]{20,}"),
    ("AWS access key", b"AKIA", rb"AKIA[0-9A-Z]{16}"),
    ("AWS access key", b"ASIA", rb"ASIA[0-9A-Z]{16}"),
    ("Google API key", b"AIza", rb"AIza[0-9A-Za-z_-]{35}"),
    ("Hugging Face token", b"hf_", rb"hf_[A-Za-z0-9]{34,}"),
    ("PyPI token", b"pypi-AgE", rb"pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("npm token", b"npm_", rb"npm_[A-Za-z0-9]{36}"),
    ("Docker token", b"dckr_pat_", rb"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", b"sk-proj-", rb"sk-proj-[A-Za-z0-9_-]{40,}"),
    ("Anthropic key", b"sk-ant-", rb"sk-ant-[A-Za-z0-9_-]{40,}"),
    ("Stripe key", b"sk_live_", rb"sk_live_[A-Za-z0-9]{24,}"),
    ("age key", b"AGE-SECRET-KEY-1", rb"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
)
_FORMS = tuple(
    (what, prefix, re.compile(rb"(?<![A-Za-z0-9_-])" + form + rb"(?![A-Za-z0-9_])")) for what, prefix, form in _TOKENS
)
_MIN_BITS = 3.0
"""Entropy a character; text over a small alphabet and repeated letters stay below."""
_MIN_SETTING_BITS = 3.2
_EXAMPLES = re.compile(rb"EXAMPLE|example|0123456789|abcdefgh|ABCDEFGH")
_WORD = (
    r"(?:pass(?:word|wd|phrase)|secret|token|credentials?|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|_auth(?:token)?)"
)
_ASSIGNMENT = re.compile(
    rb"""^[ \t]*["']?(?P<name>[\w.:/@-]*?"""
    + _WORD.encode()
    + rb"""[\w.-]*)["']?[ \t]*(?:=|:[ \t])[ \t]*["']?(?P<value>[^\s"'#;,]{8,})""",
    re.MULTILINE | re.IGNORECASE,
)
_DOCKER_AUTH = re.compile(rb'"(?:auth|identitytoken)"\s*:\s*"(?P<value>[A-Za-z0-9+/=_.-]{8,})"')
_DOCKER_FILES = re.compile(r"(?:.*/)?(?:config\.json|\.dockerconfigjson|\.dockercfg|auth\.json)")
_BARE_USER = re.compile(rb"https?://(?P<value>[A-Za-z0-9_-]{20,})@[\w.-]+")
"""A token in the place of the user, as package indexes take it."""
_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_KEY(?:_ID)?|SECRET_KEY|PRIVATE_KEY|CREDENTIALS?)"
    r"(?:$|_(?!FILE|PATH|DIR|URL|TTL|NAME|TYPE))",
    re.IGNORECASE,
)
_PAIR = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>\"[^\"]*\"|'[^']*'|\S+)")
_NO_SECRET = re.compile(r"(?:true|false|yes|no|none|null|\d{1,5}|/.*|\$.*|<.*>|\*+|x+|\.\.\.)?", re.IGNORECASE)


def find_tokens(content: bytes) -> Iterator[Secret]:
    """Tokens of known services, anywhere."""
    for what, prefix, form in _FORMS:
        if prefix in content:
            for found in form.finditer(content):
                if not _EXAMPLES.search(found[0]) and _measure_bits(found[0][len(prefix) :]) >= _MIN_BITS:
                    yield Secret(f"a {what}", f"{prefix.decode()}…, {len(found[0])} characters")
                    break


def find_set_secrets(path: str, content: bytes) -> Iterator[Secret]:
    """Passwords and tokens that a settings file assigns: random text under a name that says so."""
    for found in _ASSIGNMENT.finditer(content):
        if _is_random(found["value"]):
            yield Secret("a password or token", f"{found['name'].decode('utf-8', 'replace')} is set")
            break
    if _DOCKER_FILES.fullmatch(path) and _DOCKER_AUTH.search(content):
        yield Secret("a registry's credentials", "auth is set")
    if (bare := _BARE_USER.search(content)) and _is_random(bare["value"]):
        yield Secret("a token in a URL", "in the place of the user")


def find_named_secret(name: str, value: str) -> Iterator[Secret]:
    """A variable whose name says that it is secret, and that has a value."""
    if _NAME.search(name) and not _NO_SECRET.fullmatch(value.strip("\"'")):
        yield Secret("a secret", f"{name} is set")


def find_told_secrets(text: str) -> Iterator[Secret]:
    """The same for NAME=VALUE in a command of the history: what ARG and --build-arg leave there."""
    for found in _PAIR.finditer(text):
        yield from find_named_secret(found["name"], found["value"])


def _is_random(value: bytes) -> bool:
    has_kinds = re.search(rb"[0-9]", value) and re.search(rb"[A-Za-z]", value)
    is_example = _EXAMPLES.search(value) or value.startswith((b"$", b"<", b"/", b"{", b"%"))
    return bool(has_kinds) and not is_example and len(value) >= 12 and _measure_bits(value) >= _MIN_SETTING_BITS


def _measure_bits(text: bytes) -> float:
    """Shannon's entropy, bits a character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts) if text else 0.0
