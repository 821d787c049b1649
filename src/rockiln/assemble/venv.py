"""The image's Python → /opt/venv: what `python3 -m venv --without-pip` would make; pip is one of the locked wheels."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rockiln.assemble.tree import Tree, make_directory, make_file, make_symlink
from rockiln.errors import AssembleError
from rockiln.manifest import Entry, Unpacked

VENV = "opt/venv"
OWNER = "rockiln"
SCRIPTS = {"activate": "common", "activate.csh": "posix", "activate.fish": "posix"}


def add_venv(tree: Tree, unpacked: Sequence[Unpacked], python: str) -> Tree:
    """Links to the interpreter, pyvenv.cfg and the activate scripts; nothing where the image has no Python at all."""
    program = f"usr/bin/python{python}"
    if program not in tree.entries:
        _refuse_wheels(unpacked, program)
        return tree
    site = f"{VENV}/lib/python{python}/site-packages"
    entries = [make_directory(path, OWNER) for path in (VENV, f"{VENV}/bin", f"{VENV}/include", f"{VENV}/lib", site)]
    entries += [
        make_symlink(f"{VENV}/bin/python{python}", f"/{program}", OWNER),
        make_symlink(f"{VENV}/bin/python3", f"python{python}", OWNER),
        make_symlink(f"{VENV}/bin/python", f"python{python}", OWNER),
        make_symlink(f"{VENV}/lib64", "lib", OWNER),
        make_file(tree.contents, f"{VENV}/pyvenv.cfg", _settings(unpacked, python).encode(), OWNER),
    ]
    return tree.adding([*entries, *_scripts(tree, python)])


def _refuse_wheels(unpacked: Sequence[Unpacked], program: str) -> None:
    wheels = [one.artifact.owner for one in unpacked if one.wheel]
    if wheels:
        message = f"{program} is missing, but {wheels[0]} was locked for it"
        raise AssembleError(message, hint="add the package that brings it to the recipe, or correct the row's `python`")


def _settings(unpacked: Sequence[Unpacked], python: str) -> str:
    version = next((one.artifact.version for one in unpacked if one.artifact.name == f"python{python}-minimal"), python)
    upstream = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version)
    return (
        "home = /usr/bin\n"
        "include-system-site-packages = false\n"
        f"version = {upstream[1] if upstream else python}\n"
        f"executable = /usr/bin/python{python}\n"
        f"command = /usr/bin/python{python} -m venv --without-pip /{VENV}\n"
    )


def _scripts(tree: Tree, python: str) -> list[Entry]:
    """The activate scripts, from the templates in Python's own venv module."""
    words = {"__VENV_DIR__": f"/{VENV}", "__VENV_NAME__": "venv", "__VENV_PROMPT__": "venv", "__VENV_BIN_NAME__": "bin"}
    words["__VENV_PYTHON__"] = f"/{VENV}/bin/python{python}"
    entries = []
    for name, folder in SCRIPTS.items():
        template = tree.read(f"usr/lib/python{python}/venv/scripts/{folder}/{name}")
        if template is not None:
            text = template.decode()
            for word, value in words.items():
                text = text.replace(word, value)
            entries.append(make_file(tree.contents, f"{VENV}/bin/{name}", text.encode(), OWNER))
    return entries
