"""Arguments of the verbs that talk to a registry, declared once, and what they come to."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.registry.reference import Reference
from rockiln.sign.key_files import PASSWORD, load_key, load_private_key, load_public_half
from rockiln.sign.keys import PrivateKey

if TYPE_CHECKING:
    from rockiln.download.patience import Patience
    from rockiln.publish.attested import OpenSealed, Seal
    from rockiln.publish.promote import SignIndex
    from rockiln.registry.client import RegistryClient
    from rockiln.registry.session import Access

LEAST_THREADS = 4
"""Waiting for a registry costs no CPU."""


def add_registry_options(parser: argparse.ArgumentParser) -> None:
    """--plain-http, --ca."""
    parser.add_argument(
        "--plain-http", action="store_true", help="speak http with the registry (without it only with this machine's)"
    )
    parser.add_argument(
        "--ca", type=Path, metavar="FILE",
        help="PEM file with the CA that signed the registry's certificate; /etc/docker/certs.d is read anyway",
    )  # fmt: skip


def add_destination(parser: argparse.ArgumentParser) -> None:
    """--to, --dry-run."""
    parser.add_argument(
        "--to", type=_named, metavar="HOST/NAME",
        help="the repository, in which {framework} stands for the row's (default: [publish] of matrix.toml)",
    )  # fmt: skip
    add_dry_run(parser)


def _named(text: str) -> str:
    """An empty word is no word left out: a variable of a script may not be set."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: HOST/NAME, or leave it out for [publish] of matrix.toml")
    return text


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """--dry-run."""
    parser.add_argument("--dry-run", action="store_true", help="ask the registry what is there, and change nothing")


def add_signing(parser: argparse.ArgumentParser) -> None:
    """--key, --unsigned."""
    parser.add_argument(
        "--key", type=Path, metavar="FILE", help=f"private key that signs the result; its password is in ${PASSWORD}"
    )
    parser.add_argument("--unsigned", action="store_true", help="attach the result without a signature")


def add_promotion(parser: argparse.ArgumentParser) -> None:
    """--allow-untested, --date."""
    parser.add_argument(
        "--allow-untested", action="store_true",
        help="move tags although no GPU tier has passed; the image's index then says what is untested",
    )  # fmt: skip
    parser.add_argument(
        "--date", default="", metavar="YYYYMMDD", help="of the dated tag (default: $SOURCE_DATE_EPOCH, else today, UTC)"
    )


def read_access(args: argparse.Namespace, invocation: Invocation) -> Access:
    """What --plain-http and --ca say; the console is told of registries that keep us waiting."""
    from rockiln.registry.session import Access

    return Access(plain_http=args.plain_http, ca_path=args.ca, tell=invocation.console.say)


@contextmanager
def open_registry(
    reference: Reference, args: argparse.Namespace, invocation: Invocation, *, to_push: bool,
    patience: Patience | None = None,
) -> Iterator[RegistryClient]:  # fmt: skip
    """A client for the reference's repository, logged in. Cut uploads are remembered in the cache."""
    from rockiln.registry.client import open_repository
    from rockiln.registry.upload_notes import NotesFolder

    notes = NotesFolder(path=invocation.folders.cache_path / "uploads")
    access = read_access(args, invocation)
    opened = open_repository(reference, invocation.environ, access=access, patience=patience, notes=notes)
    with opened as repository:
        repository.log_in(to_push=to_push)
        yield repository


def count_threads(invocation: Invocation) -> int:
    """How many blobs move at once."""
    return max(invocation.jobs, LEAST_THREADS)


def read_seal(args: argparse.Namespace, environ: Mapping[str, str]) -> Seal | None:
    """What signs results; None where --unsigned says so. Raises UsageError where nothing was said."""
    if args.key and args.unsigned:
        raise UsageError("--key signs the result, and --unsigned says that nobody does", hint="leave out one of them")
    if not args.key and not args.unsigned:
        hint = "--key FILE signs with a key of `rockiln generate-key` or cosign; --unsigned attaches it as it is"
        raise UsageError("an attested result is signed, or it is said that it is not: --key or --unsigned", hint=hint)
    if args.unsigned:
        return None
    from rockiln.attest.envelope import seal

    private = load_private_key(args.key, environ)
    return lambda statement: seal(statement, private)


def read_index_signer(args: argparse.Namespace, environ: Mapping[str, str]) -> SignIndex | None:
    """What signs promoted indexes: where --key is a private key; None for a public one, and without --key."""
    key = load_key(args.key, environ) if args.key else None
    if not isinstance(key, PrivateKey):
        return None
    from rockiln.publish.signed_index import sign_index

    return lambda repository, index: sign_index(repository, index, key)


def read_opener(args: argparse.Namespace, environ: Mapping[str, str]) -> OpenSealed | None:
    """What checks signatures: with a public key, or with the public half of a private one; None without --key."""
    if not args.key:
        return None
    from rockiln.attest.envelope import open_envelope

    public = load_public_half(args.key, environ)
    return lambda envelope, said: open_envelope(envelope, public, said)
