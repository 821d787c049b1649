"""Paths of key files, and the environment's password → keys; a new pair of files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rockiln.console import printable
from rockiln.disk import write_whole
from rockiln.errors import UsageError
from rockiln.sign.keys import (
    PasswordError,
    PrivateKey,
    PublicKey,
    encrypt_key,
    generate_key,
    read_private_key,
    read_public_key,
)

PASSWORD = "COSIGN_PASSWORD"  # noqa: S105  # the name of the variable, as cosign has it
PROJECT_KEY = "cosign.pub"
"""In a project's folder: the key that its images are signed with."""
_MAX_BYTES = 1 << 16


def load_private_key(path: Path, environ: Mapping[str, str]) -> PrivateKey:
    """With the password of the environment; where none is set, an empty one, and what a person types at a terminal.

    Raises UsageError.
    """
    return _decrypt(_read(path), printable(str(path)), environ)


def load_key(path: Path, environ: Mapping[str, str]) -> PrivateKey | PublicKey:
    """Whichever the file holds; a private one as above. Raises UsageError."""
    text, name = _read(path), printable(str(path))
    return _decrypt(text, name, environ) if "PRIVATE KEY" in text else read_public_key(text, name)


def load_public_half(path: Path, environ: Mapping[str, str]) -> PublicKey:
    """Of whichever the file holds. Raises UsageError."""
    key = load_key(path, environ)
    return key.public if isinstance(key, PrivateKey) else key


def _decrypt(text: str, name: str, environ: Mapping[str, str]) -> PrivateKey:
    if PASSWORD in environ:
        return read_private_key(text, environ[PASSWORD].encode(), name)
    try:
        return read_private_key(text, b"", name)
    except PasswordError:
        return read_private_key(text, _ask_password(name), name)


@cache
def _ask_password(name: str) -> bytes:
    """Once a key: a verb that signs twice asks once."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{name} is encrypted, and {PASSWORD} is not set", hint=f"{PASSWORD}=… before the command")
    import getpass

    try:
        return getpass.getpass(f"password of {name}: ", sys.stderr).encode()
    except EOFError:
        raise UsageError(f"{name} is encrypted, and no password was given", hint=f"or set {PASSWORD}") from None


def load_public_key(given: Path | None, project_path: Path) -> PublicKey:
    """The key given, else the project's cosign.pub. Raises UsageError where there is neither."""
    path = given or project_path / PROJECT_KEY
    if given is None and not path.is_file():
        hint = "name the publisher's public key: --key cosign.pub"
        raise UsageError(f"no key is given, and there is no {printable(str(path))}", hint=hint)
    return read_public_key(_read(path), printable(str(path)))


def write_key_pair(prefix: Path, environ: Mapping[str, str]) -> tuple[Path, Path, PublicKey]:
    """PREFIX.key, encrypted with the password (an empty one, if none is set), and PREFIX.pub. Overwrites nothing."""
    if not prefix.parent.is_dir():
        raise UsageError(f"there is no folder {printable(str(prefix.parent))}", hint="make it first: mkdir -p")
    private_path, public_path = (prefix.with_name(f"{prefix.name}.{ending}") for ending in ("key", "pub"))
    for path in (private_path, public_path):
        if path.exists():
            hint = "a key that signed images is never replaced"
            raise UsageError(f"{printable(str(path))} is there already", hint=hint)
    private = generate_key()
    write_whole(private_path, encrypt_key(private, environ.get(PASSWORD, "").encode()).encode(), 0o600)
    write_whole(public_path, private.public.to_pem().encode())
    return private_path, public_path, private.public


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError as fault:
        raise UsageError(f"{printable(str(path))}: {fault.strerror}", hint="name a key file") from fault
