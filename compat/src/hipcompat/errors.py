"""Any capability → one error tree: what went wrong, where, what to do; one exit code a kind (docs/compat.md)."""

from __future__ import annotations

from typing import ClassVar


class CompatError(Exception):
    """A fault a person can act on. Raised anywhere, printed once, by cli.py."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CompatError):
    """The command line asks for something that does not exist (argparse uses 2 as well)."""

    exit_code = 2


class FindingsError(CompatError):
    """The answer is printed, and it holds findings that were asked to count as failure."""

    exit_code = 3


class FileError(CompatError):
    """A file is missing, unreadable, or not of the format it should have."""

    exit_code = 4


class FactsError(CompatError):
    """An input of the facts table is missing, or differs from the hash that names it."""

    exit_code = 5


class UnknownNameError(CompatError):
    """The facts table has no such name."""

    exit_code = 6


class ToolchainError(CompatError):
    """No clang or no headers of HIP where they were looked for, or they do not compile an empty kernel."""

    exit_code = 7
