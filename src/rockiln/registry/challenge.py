"""A WWW-Authenticate header → Challenge: what a registry asks for. https://www.rfc-editor.org/rfc/rfc9110#section-11."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

_SCHEME = re.compile(r"(?:^|,)\s*(basic|bearer)(?:\s+|$)", re.IGNORECASE)
_PARAMETER = re.compile(r'([A-Za-z_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """Basic: user and password with each request. Bearer: a token from `realm`."""

    scheme: Literal["basic", "bearer"]
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def realm(self) -> str:
        return self.parameters.get("realm", "")

    @property
    def service(self) -> str:
        return self.parameters.get("service", "")

    @property
    def scopes(self) -> tuple[str, ...]:
        return tuple(self.parameters.get("scope", "").split())

    @property
    def error(self) -> str:
        """Such as "insufficient_scope"."""
        return self.parameters.get("error", "")


def parse_challenges(headers: Sequence[str]) -> Challenge | None:
    """The strongest of what is asked for: bearer goes before basic. None for anything else."""
    found: dict[str, Challenge] = {}
    for header in headers:
        starts = list(_SCHEME.finditer(header))
        ends = (*(start.start() for start in starts[1:]), len(header))
        for start, end in zip(starts, ends, strict=False):  # no scheme at all: no pair
            parameters = {
                name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
                for name, quoted, bare in _PARAMETER.findall(header[start.end() : end])
            }
            if start[1].lower() == "bearer":
                found["bearer"] = Challenge(scheme="bearer", parameters=parameters)
            else:
                found["basic"] = Challenge(scheme="basic", parameters=parameters)
    return found.get("bearer") or found.get("basic")
