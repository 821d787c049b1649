"""Path and bytes of a file → Leaks: names and secrets of the machine that built the image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from rockiln.audit.secret_words import find_named_secret, find_set_secrets, find_tokens, find_told_secrets

LeakKind = Literal["mirror", "credentials", "secret", "token", "setting"]

_CREDENTIALS = re.compile(rb"\bhttps?://[^/\s:@\"'<>{}$%\[\]()|*\\,]{1,64}:([^/\s:@\"'<>{}$%\[\]()|*\\,]{3,256})@[\w.-]+")
_PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/=]{16}")
_SETTINGS = re.compile(
    r"(?:etc|root|home|run|srv|workspace|app|work|tmp|var/tmp|usr/local/etc|var/lib/apt|build)/.*"
    r"|(?:.*/)?(?:pip\.conf|pip\.ini|uv\.toml|direct_url\.json|sources\.list|Dockerfile[^/]*)"
    r"|[^/]+"
)
"""Where people and tools put settings; libraries' own tests and examples lie elsewhere."""
_SECRET_FILES = re.compile(
    r"(?:.*/)?(?:\.netrc|\.pypirc|\.git-credentials|\.npmrc|\.dockercfg|\.docker/config\.json|\.aws/credentials"
    r"|\.kube/config|\.ssh/id_[a-z0-9]+|\.config/gh/hosts\.yml|\.cache/huggingface/token|\.huggingface/token)"
)
_SETTINGS_ONLY = re.compile(r"usr/|opt/[^/]+/lib|.*/(?:site|dist)-packages/|nix/|var/lib/dpkg/")


class Leak(NamedTuple):
    """Something found; `evidence` never holds a password."""

    kind: LeakKind
    path: str
    evidence: str


def find_leaks(path: str, content: bytes, needles: tuple[str, ...]) -> Iterator[Leak]:
    """Mirrors' hosts anywhere; URLs with a password and private keys where settings are."""
    yield from (
        Leak("mirror", path, f"names {needle}: {_line_of(content, place)}")
        for needle in needles
        if (place := _find_host(content, needle.encode())) >= 0
    )
    if _SECRET_FILES.fullmatch(path) and content.strip() and not _SETTINGS_ONLY.match(path):
        yield Leak("secret", path, "a file that tools keep passwords or tokens in")
    elif _SETTINGS.fullmatch(path) and not _SETTINGS_ONLY.match(path) and _PRIVATE_KEY.search(content):
        yield Leak("secret", path, "holds a private key")
    yield from (Leak("token", path, f"{one.what}: {one.shown}") for one in find_tokens(content))
    if _SETTINGS.fullmatch(path):
        if found := _CREDENTIALS.search(content):
            yield Leak("credentials", path, "a URL with a password: " + _hide(found))
        yield from (Leak("setting", path, f"{one.what}: {one.shown}") for one in find_set_secrets(path, content))


def find_setting_leaks(name: str, text: str, needles: tuple[str, ...]) -> Iterator[Leak]:
    """The same for a variable, a label or a command in an image's history."""
    content = text.encode("utf-8", "replace")
    for needle in needles:
        if _find_host(content, needle.encode()) >= 0:
            yield Leak("mirror", "", f"{name} names {needle}")
    if found := _CREDENTIALS.search(content):
        yield Leak("credentials", "", f"{name} holds a URL with a password: {_hide(found)}")


def find_told_leaks(name: str, text: str, *, is_variable: bool) -> Iterator[Leak]:
    """Tokens and named secrets in a variable, or in a command of the history."""
    variable = name.rpartition(" ")[2]
    secrets = find_named_secret(variable, text) if is_variable else find_told_secrets(text)
    yield from (Leak("setting", "", f"{name}: {one.what}: {one.shown}") for one in secrets)
    tokens = find_tokens(text.encode("utf-8", "replace"))
    yield from (Leak("token", "", f"{name}: {one.what}: {one.shown}") for one in tokens)


def _find_host(content: bytes, needle: bytes) -> int:
    """Where the host stands, not as a part of a longer name; -1 for nowhere."""
    if needle not in content:
        return -1
    found = re.search(rb"(?<![\w.-])" + re.escape(needle) + rb"(?![\w-]|\.\w)", content)
    return found.start() if found else -1


def _line_of(content: bytes, place: int) -> str:
    start, end = content.rfind(b"\n", 0, place) + 1, content.find(b"\n", place)
    line = content[start : end if end >= 0 else len(content)].decode("utf-8", "replace").strip()
    shown = line if len(line) <= 160 else content[place : place + 80].decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "?" for letter in re.sub(r"//[^/@\s]*@", "//…@", shown))


def _hide(found: re.Match[bytes]) -> str:
    return found[0].replace(found[1], b"****").decode("utf-8", "replace")
