"""A parsed TOML file → typed values, each fault named by file, key path and value; all faults of a file at once."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from rockiln.errors import FileFaultsError

Value = TypeVar("Value")
TOML_TYPES: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "an array",
    dict: "a table",
}


class Faults:
    """The faults of one file, kept until the whole file has been read."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._lines: list[str] = []

    def add(self, key: str, message: str) -> None:
        """Remember a fault; `key` is a path such as target[2].archs[0], or "" for the file itself."""
        self._lines.append(f"{self.file}: {key}: {message}" if key else f"{self.file}: {message}")

    def raise_any(self, hint: str = "") -> None:
        """Raise them all as one FileFaultsError, in the order in which they were met; once each."""
        if self._lines:
            raise FileFaultsError("\n".join(dict.fromkeys(self._lines)), hint=hint)


def quote(value: object) -> str:
    """A value as a person wrote it, near enough: texts in double quotes, the rest by its TOML type."""
    if isinstance(value, str | int | float):
        return json.dumps(value, ensure_ascii=False)
    return TOML_TYPES.get(type(value), type(value).__name__)


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "…"?` where something close is known, else ""."""
    names = sorted(set(known))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return f"; did you mean {quote(close[0])}?" if close else ""


def list_words(words: Iterable[str]) -> str:
    """`"a", "b" or "c"`, in the order given."""
    quoted = [quote(word) for word in words]
    return " or ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:]))) or "nothing"


def read_toml(path: Path, file: str) -> Table:
    """Parse the file at `path`; a missing or malformed one is a FileFaultsError that names `file`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFaultsError(f"{file}: cannot be read: {error.strerror}", hint=f"expected at {path}") from error
    except UnicodeDecodeError as error:
        raise FileFaultsError(f"{file}: not UTF-8: {error}", hint="TOML files are UTF-8") from error
    return parse_toml(text, file)


def parse_toml(text: str, file: str) -> Table:
    """Parse TOML; a FileFaultsError names `file`, line and column."""
    try:
        return Table(tomllib.loads(text), "", Faults(file))
    except tomllib.TOMLDecodeError as error:
        raise FileFaultsError(f"{file}: not TOML: {error}", hint="see https://toml.io") from error


class Table:
    """One TOML table with its key path. A getter that meets a fault notes it and returns a stand-in."""

    def __init__(self, values: Mapping[str, object], key: str, faults: Faults) -> None:
        self.key = key
        self.faults = faults
        self._values = values
        self._read: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def has(self, key: str, kind: type) -> bool:
        """Whether a value of this type is given: what is wrong with another one is said already."""
        return type(self._values.get(key)) is kind

    def is_empty(self, key: str) -> bool:
        """Whether an empty text or array is given."""
        return self._values.get(key) in ("", [])

    def key_of(self, key: str, index: int | None = None) -> str:
        """The full path of one of this table's keys, as a person would look for it."""
        bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
        path = ".".join(filter(None, (self.key, key if bare else quote(key))))
        return path if index is None else f"{path}[{index}]"

    def fault(self, key: str, message: str, index: int | None = None) -> None:
        """Note a fault of one of this table's keys."""
        self.faults.add(self.key_of(key, index), message)

    def text(self, key: str, default: str | None = None, one_of: Collection[str] = ()) -> str:
        """A text; one of a closed set where `one_of` is given."""
        value = self._typed(key, str, default, "")
        if one_of and value not in one_of and self.has(key, str):
            self.fault(key, f"{quote(value)} is not {list_words(one_of)}{suggest(value, one_of)}")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """An array of texts, each given once."""
        values = self._typed(key, list, None if default is None else list(default), [])
        texts = []
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fault(key, f"{quote(value)} is not a text", index)
            elif value in texts:
                self.fault(key, f"{quote(value)} is given twice", index)
            else:
                texts.append(value)
        return tuple(texts)

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        return self._typed(key, int, default, 0)

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false."""
        return self._typed(key, bool, default, False)

    def version(self, key: str) -> Version:
        """A version, as PEP 440 has it, written as a text."""
        return self.parsed(key, self.text(key), _parse_version) or Version("0")

    def versions(self, key: str) -> tuple[Version, ...]:
        """An array of versions."""
        parsed = (self.parsed(key, text, _parse_version, index) for index, text in enumerate(self.texts(key)))
        return tuple(version for version in parsed if version is not None)

    def specifiers(self, key: str, default: str | None = None) -> SpecifierSet:
        """A version specifier, such as ">=2.7,<2.9"."""
        return self.parsed(key, self.text(key, default), _parse_specifiers) or SpecifierSet()

    def requirements(self, key: str, default: tuple[str, ...] | None = None) -> tuple[Requirement, ...]:
        """An array of requirements, each pinned to one exact version."""
        texts = enumerate(self.texts(key, default))
        parsed = (self.parsed(key, text, parse_pin, index) for index, text in texts)
        return tuple(requirement for requirement in parsed if requirement is not None)

    def parsed(self, key: str, text: str, parse: Callable[[str], Value], index: int | None = None) -> Value | None:
        """`parse(text)`; a ValueError becomes a fault. A text that is missing has its own fault already."""
        if not text:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.fault(key, str(error), index)
            return None

    def table(self, key: str) -> Table:
        """A table; empty where the key is missing."""
        return Table(self._typed(key, dict, {}, {}), self.key_of(key), self.faults)

    def tables(self, key: str) -> tuple[Table, ...]:
        """An array of tables ([[key]]); empty where the key is missing."""
        found = []
        for index, value in enumerate(self._typed(key, list, [], [])):
            if isinstance(value, dict):
                found.append(Table(value, self.key_of(key, index), self.faults))
            else:
                self.fault(key, f"{quote(value)} is not a table", index)
        return tuple(found)

    def named_tables(self, key: str) -> Mapping[str, Table]:
        """Tables by name ([key.NAME]); empty where the key is missing."""
        outer = self.table(key)
        return {name: outer.table(name) for name in self._typed(key, dict, {}, {})}

    def text_map(self, key: str) -> Mapping[str, str]:
        """A table whose values are all texts."""
        outer = self.table(key)
        return {name: outer.text(name) for name in self._typed(key, dict, {}, {})}

    def number_map(self, key: str) -> Mapping[str, int]:
        """A table whose values are all whole numbers."""
        outer = self.table(key)
        return {name: outer.number(name) for name in self._typed(key, dict, {}, {})}

    def texts_map(self, key: str) -> Mapping[str, tuple[str, ...]]:
        """A table whose values are all arrays of texts."""
        outer = self.table(key)
        return {name: outer.texts(name) for name in self._typed(key, dict, {}, {})}

    def refuse_others(self) -> None:
        """Note every key that no getter asked for."""
        for key in self._values:
            if key not in self._read:
                self.fault(key, f"no such key{suggest(key, self._read)}")

    def _typed(self, key: str, kind: type[Value], default: Value | None, stand_in: Value) -> Value:
        self._read.append(key)
        value = self._values.get(key, default)
        if value is None:
            self.fault(key, f"missing; it is {TOML_TYPES[kind]}")
        elif type(value) is kind:
            return value
        else:
            self.fault(key, f"{quote(value)} is not {TOML_TYPES[kind]}{_suggest_type(value, kind)}")
        return stand_in


def _suggest_type(value: object, kind: type) -> str:
    if kind is str and type(value) in {int, float}:
        return f'; write "{value}"'
    return f"; write [{quote(value)}]" if kind is list and isinstance(value, str) else ""


def _parse_version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise ValueError(f"{quote(text)} is not a version") from error


def _parse_specifiers(text: str) -> SpecifierSet:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{quote(text)} is not a version specifier") from error


def parse_pin(text: str) -> Requirement:
    """A requirement that names exactly one version: a loose one takes whichever build an index shows first."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{quote(text)} is not a requirement") from error
    pins = list(requirement.specifier)
    if len(pins) != 1 or pins[0].operator not in {"==", "==="} or pins[0].version.endswith("*"):
        raise ValueError(f"{quote(text)} is not pinned; write {quote(requirement.name + '==VERSION')}")
    return requirement
