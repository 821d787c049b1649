"""Words of the command line → checked as the jobs that get them would: a file that cannot work is not written.

A CI system's own variables may stand in a name; each is read as a word that is right there.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from rockiln.errors import UsageError
from rockiln.publish.destinations import find_destination
from rockiln.registry.reference import Reference, parse_reference
from rockiln.tables import quote

VARIABLES = {
    "github": re.compile(r"\$\{\{[^{}\n]*\}\}"),
    "gitlab": re.compile(r"\$\w+|\$\{\w+\}"),
    "bake": re.compile(r"\$\{\w+\}"),
}
"""Format → what it fills in: GitHub's expressions, GitLab's and bake's variables."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+|/[a-z0-9.-]+)?")
"""https://www.debian.org/doc/debian-policy/ch-controlfields.html#source, and what apt-get takes behind a name."""
_BRANCH = re.compile(r"\w[\w./-]*")
_NO_BRANCH = re.compile(r"\.\.|//|/\.|[./]$|\.lock(/|$)")
"""https://git-scm.com/docs/git-check-ref-format"""


SIZE = re.compile(r"([1-9][0-9]*)(Ki|Mi|Gi|Ti|k|M|G|T)")
"""Whole numbers only, of what https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/ has."""
_SECRET = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names"""
SECRET_LIMIT = 253


_WHOLE_NAME = re.compile(r"\$(\{CI_REGISTRY_IMAGE\}|CI_REGISTRY_IMAGE\b)")
"""https://docs.gitlab.com/ci/variables/predefined_variables/: HOST/NAME of the project."""


def fill_variables(text: str, form: str) -> str:
    """A name without variables, as right as the real one: a host where the name begins, else a digit."""
    pattern = VARIABLES.get(form)
    return pattern.sub(lambda found: "1" if found.start() else "x.example", text) if pattern else text


def require_repository(template: str, frameworks: Iterable[str], form: str, option: str) -> None:
    """As push checks it, for each framework. Raises UsageError."""
    plain = fill_variables(template, form)
    if form == "gitlab" and _WHOLE_NAME.match(template):
        hint = "$CI_REGISTRY/$CI_PROJECT_PATH is the same in two words: jobs log in to what stands before the first /"
        raise UsageError(f"{option}: {template} begins with a host and a name in one variable", hint=hint)
    for framework in dict.fromkeys(frameworks):
        try:
            find_destination(plain, framework)
        except UsageError as fault:
            raise UsageError(f"{option}: {fault.message}" if template else fault.message, hint=fault.hint) from None


def require_cache(name: str, repository: str, form: str) -> None:
    """As push and build check it, on the host that jobs log in to. Raises UsageError."""
    option, hint = "--cache-repository", "HOST/NAME alone: tags in it are keys, and all frameworks share it"
    try:
        reference = parse_reference(fill_variables(name, form))
    except UsageError as fault:
        raise UsageError(f"{option}: {fault.message}", hint=hint) from None
    if reference.tag or reference.digest:
        raise UsageError(f"{option} {name}: a repository has no tag", hint=hint)
    host, cache_host = repository.partition("/")[0], name.partition("/")[0]
    if host != cache_host:
        message = f"{option}: it is on {cache_host}, and jobs log in to {host} only, where the images go"
        raise UsageError(message, hint=f"a repository on {host}")


def require_image(name: str, option: str, form: str = "") -> Reference:
    """As a container engine reads it: the host may be left out. Raises UsageError."""
    plain = fill_variables(name, form)
    first, slash, _ = plain.partition("/")
    has_host = slash and (set(".:") & set(first) or first == "localhost")
    try:
        return parse_reference(plain if has_host else f"docker.io/{plain}")
    except UsageError:
        hint = "such as debian:12, HOST/NAME:TAG or HOST/NAME@sha256:…"
        raise UsageError(f"{option}: {quote(name)} is no image's name", hint=hint) from None


def require_packages(names: Iterable[str]) -> None:
    """Names as apt-get takes them. Raises UsageError."""
    for name in names:
        if not _PACKAGE.fullmatch(name):
            message = f"--package: {quote(name)} is no Debian package's name"
            raise UsageError(message, hint="such as g++ or python3-venv")


def require_branch(name: str, form: str) -> None:
    """A name that git has; on GitHub `*` may stand in it for others. Raises UsageError."""
    plain = name.replace("*", "x") if form == "github" else name
    if not _BRANCH.fullmatch(plain) or _NO_BRANCH.search(plain):
        hint = "letters, digits, and . _ - / between them"
        raise UsageError(f"--branch: {quote(name)} is no branch's name", hint=hint)


def require_size(text: str, option: str) -> None:
    """Raises UsageError."""
    if not SIZE.fullmatch(text):
        raise UsageError(f"{option}: {quote(text)} is no size", hint="a whole number with its unit: 8Gi, 512Mi, 16G")


def require_secret(name: str, option: str) -> None:
    """Name of a Kubernetes Secret. Raises UsageError."""
    if not _SECRET.fullmatch(name) or len(name) > SECRET_LIMIT:
        hint = "small letters, digits, and - . between them, as `kubectl get secrets` lists them"
        raise UsageError(f"{option}: {quote(name)} is no Secret's name", hint=hint)


def split_labels(text: str, option: str) -> tuple[str, ...]:
    """"A,B"; nothing for "". Raises UsageError for a label without a name."""
    labels = tuple(text.split(",")) if text else ()
    if not all(label.strip() for label in labels):
        raise UsageError(f"{option}: {quote(text)} is not LABEL,...", hint=f"{option} self-hosted,big")
    return labels


def split_words(text: str, option: str) -> tuple[str, ...]:
    """As a shell takes them apart. Raises UsageError."""
    try:
        return tuple(shlex.split(text))
    except ValueError as fault:
        reason = str(fault).lower()
        raise UsageError(f"{option} {quote(text)}: {reason}", hint="quotes in it come in pairs") from None


def quote_install(text: str, form: str) -> str:
    """What pip gets, for a shell: only the CI system's variables are left to be filled in. Raises UsageError."""
    pattern = VARIABLES[form]
    found = pattern.findall(text)
    words = split_words(pattern.sub(_HELD, text), "--install")
    if not words:
        raise UsageError("--install: nothing is named", hint="--install rockiln, or what else has it: --install .")
    variables = iter(found)
    return " ".join("".join(_quote_part(part, variables) for part in _split_held(word)) for word in words)


_HELD = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for a variable while a text is taken apart: a GitHub expression holds blanks."""


def _split_held(word: str) -> list[str]:
    return [part for part in re.split(f"({_HELD})", word) if part] or [""]


def _quote_part(part: str, variables: Iterable[str]) -> str:
    return f'"{next(iter(variables))}"' if part == _HELD else shlex.quote(part)
