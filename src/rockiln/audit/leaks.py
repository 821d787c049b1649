"""Scan + Promises → findings about what the machine that built the image left in it, hidden layers included."""

from __future__ import annotations

from collections.abc import Iterator

from rockiln.audit.finding import Finding
from rockiln.audit.leak_words import find_setting_leaks, find_told_leaks
from rockiln.audit.promises import Promises
from rockiln.audit.rules import find
from rockiln.audit.scan import Scan

_RULES = {
    "mirror": "mirror-named", "credentials": "url-with-password", "secret": "secret-file", "token": "token-in-file",
    "setting": "secret-set",
}  # fmt: skip


def audit_leaks(scan: Scan, _promises: Promises) -> Iterator[Finding]:
    """What was found while the files were read, and the same for variables, labels and history."""
    for leak in scan.leaks:
        yield find(_RULES[leak.kind], leak.path, leak.evidence)
    settings = scan.settings
    named = [(f"variable {name}", text) for name, text in settings.env.items()]
    named += [(f"label {name}", text) for name, text in settings.labels.items()]
    named += [(f"step {number} of the history", text) for number, text in enumerate(settings.history, 1)]
    for name, text in named:
        told = find_told_leaks(name, text, is_variable=name.startswith("variable "))
        for leak in (*find_setting_leaks(name, text, scan.needles), *told):
            yield find(_RULES[leak.kind], "", leak.evidence)
