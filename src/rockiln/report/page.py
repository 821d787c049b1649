"""What a page shows → the page: one HTML file with script and style in it, that loads nothing from anywhere.

The browser enforces both: a policy allows this script and this style by their hashes, and no request at all. Names of
files are data in JSON, and reach the document as text only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "elements.js", "squarify.js", "treemap.js", "explorer.js", "search.js", "keyboard.js", "sections.js", "page.js",
)  # fmt: skip
_MARKER = re.compile("@([A-Z]+)@")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render_page(facts: dict[str, Any]) -> str:
    """The whole document."""
    assets = files("rockiln.report")
    style = assets.joinpath("page.css").read_text(encoding="utf-8")
    parts = (assets.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    template = assets.joinpath("page.html").read_text(encoding="utf-8")
    names = [target["id"] for target in facts["targets"]]
    title = names[0] if len(names) == 1 else f"{len(names)} images"
    values = {
        "POLICY": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'",
        "TITLE": title.replace("&", "&amp;").replace("<", "&lt;"),
        "STYLE": style,
        "FACTS": encode_facts(facts),
        "SCRIPT": script,
    }
    return _MARKER.sub(lambda found: values[found[1]], template)


def encode_facts(facts: dict[str, Any]) -> str:
    """JSON in which nothing can end a script element, whatever a file is called."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _UNSAFE.items():
        text = text.replace(character, escape)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # lone surrogates: names that are not UTF-8


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
