"""nvcc's arguments → Translation: clang's arguments, and a note for each that did not stay as it was."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hipcompat.archs import read_archs
from hipcompat.errors import UsageError
from hipcompat.flags.option import Kind, Option, drop
from hipcompat.flags.table import BY_NAME

JOINED = tuple(sorted(name for name, option in BY_NAME.items() if option.joined and len(name) == 2))
CUDA_SOURCES = (".cu", ".cup")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One argument that was replaced, dropped or refused. `given` is as it stood, `became` what clang gets."""

    given: str
    kind: Kind
    became: tuple[str, ...]
    reason: str

    def explain(self) -> str:
        """What became of it, and why or by what."""
        return f"{self.given}: {self.kind} ({self.reason or 'by ' + ' '.join(self.became)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """`arguments` are for clang++ or hipcc; `notes` hold what is not simply the same."""

    arguments: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def refused(self) -> tuple[Note, ...]:
        """What the arguments ask for and cannot have."""
        return tuple(note for note in self.notes if note.kind == "refused")

    def explain_refused(self) -> str:
        """Each of them, and why; nothing where there is none."""
        refused = "; ".join(f"{note.given} ({note.reason})" for note in self.refused)
        return refused and f"nvcc's flags ask for what ROCm has not: {refused}"


def translate_flags(arguments: str | Sequence[str], *, archs: str | Sequence[str] = ()) -> Translation:
    """Arguments as nvcc gets them (without its name), or one text that a shell would split → Translation for clang++
    and hipcc.

    `archs` are LLVM's names (gfx942); without any, none is named, and clang takes gfx906. An argument that nvcc does
    not document is passed on: clang knows it or says so. Notes on equal arguments are given once. Raises UsageError
    for an option that lacks its value, and for a switch that has one.
    """
    became: list[str] = [f"--offload-arch={arch}" for arch in read_archs(archs, default="")]
    notes: dict[Note, None] = {}
    language = ""
    words = shlex.split(arguments) if isinstance(arguments, str) else arguments
    for given, option, values in _split_options(words):
        if option is None:
            language = _follow_language(given, language, became)
            became.append(given)
            continue
        language = "given" if "-x" in option.names else language
        for value in values:
            kind, clang, reason = option.translate(value)
            became += clang
            if kind != "kept" and clang != (given,):
                notes[Note(given=given, kind=kind, became=clang, reason=reason)] = None
    return Translation(arguments=_drop_repeats(became), notes=tuple(notes))


def _follow_language(word: str, language: str, became: list[str]) -> str:
    """clang takes .cu for CUDA: say HIP before it, and nothing before a file that is none."""
    if word.startswith("-") or language == "given":
        return language
    wanted = "hip" if word.endswith(CUDA_SOURCES) else ""
    if wanted != language:
        became += ["-x", wanted or "none"]
    return wanted


def _split_options(arguments: Sequence[str]) -> Iterator[tuple[str, Option | None, tuple[str, ...]]]:
    """Each argument as it stood, its option (None: a file, or not nvcc's) and its values."""
    rest = list(reversed(arguments))
    while rest:
        word = rest.pop()
        name, equals, value = word.partition("=")
        option = BY_NAME.get(name)
        if option is None:
            yield from _split_joined(word)
        elif not option.takes_value:
            yield word, _read_switch(option, word, value), ("",)
        elif equals:
            yield word, option, _split_values(option, _require_value(option, word, value))
        elif option.next_values and not (rest and _is_made_of(rest[-1], option)):
            yield option.names[-1], None, ()  # clang has it too, alone
        else:
            value = _require_value(option, word, rest.pop() if rest else None)
            yield f"{word} {value}", option, _split_values(option, value)


def _is_made_of(text: str, option: Option) -> bool:
    return set(text.split(",") if option.splits else (text,)) <= option.next_values


def _read_switch(option: Option, word: str, value: str) -> Option:
    """nvcc takes =true and =false after a switch. Raises UsageError for another value."""
    if value == "false":
        return drop(*option.names, reason="it is switched off, as it is in clang without it")
    if value not in {"", "true"}:
        raise UsageError(f"{word}: this option of nvcc is a switch", hint="leave out what follows =")
    return option


def _require_value(option: Option, word: str, value: str | None) -> str:
    """Raises UsageError where there is none, or an option stands in its place. A list may be empty."""
    hint = f"nvcc documents {option.names[-1]} with a value after it or after ="
    if value is None or (not value and not option.splits):
        raise UsageError(f"{word}: its value is missing", hint=hint)
    if not option.takes_options and len(value) > 1 and value.startswith("-"):
        raise UsageError(f"{word}: its value is missing, {value} follows", hint=hint)
    return value


def _split_joined(word: str) -> Iterator[tuple[str, Option | None, tuple[str, ...]]]:
    """-DNAME, -O3, -lfoo: letter and value in one word."""
    if word[:2] in JOINED and len(word) > 2:
        option = BY_NAME[word[:2]]
        yield word, option, _split_values(option, word[2:])
    else:
        yield word, None, ()


def _split_values(option: Option, text: str) -> tuple[str, ...]:
    """Values at the commas that no backslash and no quote protects; options of another program at blanks, too."""
    if not option.splits:
        return (text,)
    values, value, quote = [], "", ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            value += next(characters, "")
        elif character in "\"'" and quote in {"", character}:
            quote = "" if quote else character
        elif (character == "," or (option.takes_options and character.isspace())) and not quote:
            values.append(value)
            value = ""
        else:
            value += character
    return tuple(part for part in (*values, value) if part)


def _drop_repeats(arguments: list[str]) -> tuple[str, ...]:
    """-fgpu-rdc from both -dc and -rdc=true stands once; what else is repeated is the caller's."""
    seen: set[str] = set()
    once = {"-fgpu-rdc", "-foffload-lto", "-fgpu-flush-denormals-to-zero", "-ffp-contract=fast"}
    kept = []
    for argument in arguments:
        if argument in once and argument in seen:
            continue
        seen.add(argument)
        kept.append(argument)
    return tuple(kept)
