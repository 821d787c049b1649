"""Any stage → one error tree: what went wrong, where, what to do; one exit code a kind."""

from __future__ import annotations

from typing import ClassVar


class RockilnError(Exception):
    """A fault a person can act on. Raised anywhere, printed once, by cli.py."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RockilnError):
    """The command line asks for something that does not exist (argparse uses 2 as well)."""

    exit_code = 2


class FileFaultsError(RockilnError):
    """matrix.toml, image.toml or another file written by people has faults; all of them are in the message."""

    exit_code = 3


class PlanError(RockilnError):
    """The plan rejects what was asked for, or knows no such target."""

    exit_code = 4


class LockError(RockilnError):
    """The lock is missing, stale, unresolved for this target, or has an entry without a hash."""

    exit_code = 5


class ResolveError(RockilnError):
    """A source could not be reached, verified or satisfied while resolving."""

    exit_code = 6


class FetchError(RockilnError):
    """An artifact could not be downloaded from any of its places."""

    exit_code = 7


class GoneError(FetchError):
    """Every place answered, and none has the file any more: the archive moved on, so re-lock."""

    exit_code = 8


class IntegrityError(RockilnError):
    """Bytes differ from the hash that names them; `sha256` is the hash they should have."""

    exit_code = 9

    def __init__(self, message: str, *, hint: str = "", sha256: str = "") -> None:
        super().__init__(message, hint=hint)
        self.sha256 = sha256


class UnpackError(RockilnError):
    """A deb or wheel is damaged or hostile; the message names the member."""

    exit_code = 10


class AssembleError(RockilnError):
    """Two owners claim one path, an edit does not apply, or a known effect lacks what it needs."""

    exit_code = 11


class ImageError(RockilnError):
    """A layer or the OCI layout could not be written."""

    exit_code = 12


class EngineError(RockilnError):
    """An engine that is present refused or failed an operation."""

    exit_code = 13


class SmokeFailedError(RockilnError):
    """A smoke check failed; its log is in the report."""

    exit_code = 14


class UnavailableError(RockilnError):
    """Something needed to give an answer is not here (engine, GPU, user namespaces)."""

    exit_code = 15


class DiskError(RockilnError):
    """The disk is full or not writable; nothing half-written was kept."""

    exit_code = 16


class BudgetError(RockilnError):
    """A finished image is larger than its recipe's budget allows; what grew is in the message."""

    exit_code = 17


class AuditFailedError(RockilnError):
    """The audit found what must not be in the image; the report has each finding with what to do."""

    exit_code = 18


class RegistryError(RockilnError):
    """A registry does not answer, refuses, or answers with something else than what was put there."""

    exit_code = 19


class CredentialsError(RockilnError):
    """A registry does not know the user name and password it was given, or does not let them do this."""

    exit_code = 20


class PromotionError(RockilnError):
    """Tags may not move: a required tier has not passed on this digest, or the tag is one that never moves."""

    exit_code = 21


class VerificationError(RockilnError):
    """An image, or what vouches for it, is not what was signed; the message names the thing."""

    exit_code = 24


class LicenceError(RockilnError):
    """An image holds what may not be redistributed, or of which nobody knows whether it may."""

    exit_code = 25


class VulnerableError(RockilnError):
    """A scanner names vulnerabilities for which there is no waiver, or one that has expired."""

    exit_code = 26


class UnfitError(RockilnError):
    """The image has no code for the GPU of this machine."""

    exit_code = 27


class DriftError(RockilnError):
    """Files on disk are not what `rockiln export` writes."""

    exit_code = 28
