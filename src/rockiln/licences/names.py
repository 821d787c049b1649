"""A package's own words (a deb's copyright file, a wheel's METADATA) → the names of its licences.

https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/ for copyright files that are machine-readable; of
others, what they refer to in /usr/share/common-licenses and texts that everybody knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

DEBIAN_NAMES: Mapping[str, str] = {
    "agpl-3": "AGPL-3.0-only", "agpl-3+": "AGPL-3.0-or-later", "apache-2": "Apache-2.0", "apache-2.0": "Apache-2.0",
    "artistic": "Artistic-1.0-Perl", "artistic-1": "Artistic-1.0", "artistic-2": "Artistic-2.0",
    "artistic-2.0": "Artistic-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause", "bsd-4-clause-uc": "BSD-4-Clause-UC", "illinois-ncsa": "NCSA",
    "bsl-1": "BSL-1.0", "bsl-1.0": "BSL-1.0", "cc0": "CC0-1.0", "cc0-1.0": "CC0-1.0",
    "curl": "curl", "expat": "MIT", "mit": "MIT", "gfdl-1.2": "GFDL-1.2-only", "gfdl-1.3": "GFDL-1.3-only",
    "gfdl-1.3+": "GFDL-1.3-or-later", "gfdl-niv-1.3+": "GFDL-1.3-no-invariants-or-later", "gpl-1": "GPL-1.0-only",
    "gpl-1+": "GPL-1.0-or-later", "gpl-2": "GPL-2.0-only", "gpl-2.0": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later",
    "gpl-2.0+": "GPL-2.0-or-later", "gpl-3": "GPL-3.0-only", "gpl-3+": "GPL-3.0-or-later", "gpl": "GPL-1.0-or-later",
    "isc": "ISC", "lgpl-2": "LGPL-2.0-only", "lgpl-2+": "LGPL-2.0-or-later", "lgpl-2.1": "LGPL-2.1-only",
    "lgpl-2.1+": "LGPL-2.1-or-later", "lgpl-3": "LGPL-3.0-only", "lgpl-3+": "LGPL-3.0-or-later",
    "lgpl": "LGPL-2.0-or-later", "mpl-1.1": "MPL-1.1", "mpl-2.0": "MPL-2.0", "ncsa": "NCSA", "ofl-1.1": "OFL-1.1",
    "openssl": "OpenSSL", "psf-2": "PSF-2.0", "python-2": "Python-2.0", "unicode": "Unicode-DFS-2016",
    "unlicense": "Unlicense", "zlib": "Zlib", "zlib/libpng": "Zlib",
}  # fmt: skip
"""Debian's short names (lower case) → SPDX's, https://spdx.org/licenses/."""
CLASSIFIERS: Mapping[str, str] = {
    "Apache Software License": "Apache-2.0", "BSD License": "BSD-3-Clause", "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "ISC License (ISCL)": "ISC",
    "The Unlicense (Unlicense)": "Unlicense",
    "Python Software Foundation License": "PSF-2.0", "GNU General Public License v3 (GPLv3)": "GPL-3.0-only",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only", "zlib/libpng License": "Zlib",
    "University of Illinois/NCSA Open Source License": "NCSA", "Boost Software License 1.0 (BSL-1.0)": "BSL-1.0",
}  # fmt: skip
"""Trove classifiers below License :: OSI Approved. "BSD License" says less than its name here."""
_COMMON = re.compile(r"/usr/share/common-licenses/([A-Z][A-Za-z]*(?:-[0-9]+(?:\.[0-9]+)*)?)")
_FIELD = re.compile(r"^License:[ \t]*(\S.*)$", re.MULTILINE)
_PARTS = re.compile(r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|and/or)\s+|\s+with\s.*", re.IGNORECASE)
"""Between names; the "or" in GPL-2.0-or-later is none."""
_TEXTS: tuple[tuple[str, str], ...] = (
    ("MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD-3-Clause", "redistribution and use in source and binary forms"),
    ("Apache-2.0", "apache license, version 2.0"),
    ("Apache-2.0", "apache license version 2.0"),
    ("GPL-2.0-or-later", "either version 2, or (at your option) any later version"),
    ("ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"),
)
_SHORT = 64
"""A License field that is longer is the text itself."""


def name_deb_licences(copyright_text: str) -> tuple[str, ...]:
    """SPDX names where there are, else Debian's; sorted."""
    if re.match(r"\s*Format:", copyright_text):
        found = {part for line in _FIELD.findall(copyright_text) for part in _split(line)}
        return tuple(sorted({translate(part) for part in found}))
    common = {translate(one) for one in _COMMON.findall(copyright_text)}
    return tuple(sorted(common or _recognise(copyright_text)))


def name_wheel_licences(
    fields: Mapping[str, str], classifiers: tuple[str, ...], texts: tuple[str, ...]
) -> tuple[str, ...]:
    """An SPDX expression, if METADATA has one; else classifiers, the License field, or what a text is known by."""
    if expression := fields.get("license-expression", ""):
        return (expression,)
    named = sorted(set(_read_classifiers(classifiers)))
    field = fields.get("license", "").strip()
    if named:
        return tuple(named)
    if field and len(field) <= _SHORT and "\n" not in field:
        return (translate(field),)
    return tuple(sorted({name for text in (field, *texts) for name in _recognise(text)}))


def translate(name: str) -> str:
    """A short name as SPDX has it; others stay."""
    return DEBIAN_NAMES.get(name.strip().lower()) or _FREE_WORDS.get(name.strip().lower(), name.strip())


_FREE_WORDS: Mapping[str, str] = {
    "apache 2.0": "Apache-2.0", "apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0",
    "apache": "Apache-2.0", "apache software license": "Apache-2.0", "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause", "new bsd": "BSD-3-Clause", "3-clause bsd": "BSD-3-Clause", "mit license": "MIT",
    "psf": "PSF-2.0", "python software foundation license": "PSF-2.0", "3-clause bsd license": "BSD-3-Clause",
}  # fmt: skip


def _split(line: str) -> Iterator[str]:
    yield from (part for part in _PARTS.split(line) if len(part) > 1 and part.lower() != "none")


def _read_classifiers(classifiers: tuple[str, ...]) -> Iterator[str]:
    for classifier in classifiers:
        parts = [part.strip() for part in classifier.split("::")]
        if parts[0] == "License" and len(parts) > 1 and parts[-1] != "OSI Approved":
            yield CLASSIFIERS.get(parts[-1], parts[-1])


def _recognise(text: str) -> set[str]:
    """Licences whose own words are in a text."""
    words = " ".join(text.lower().split())
    return {name for name, phrase in _TEXTS if phrase in words}
