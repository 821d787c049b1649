"""An edit applies to exactly the file it was made for, and RECORD stays true; else nothing is built."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from imaging import make_entry

from rockiln.artifact import Artifact
from rockiln.assemble.edits import apply_edits
from rockiln.contents import Contents
from rockiln.errors import AssembleError
from rockiln.manifest import Unpacked, WheelFacts
from rockiln.recipe_file import FileEdit

SITE = "opt/venv/lib/python3.11/site-packages"
BEFORE, AFTER = b"a = 1\nb = 2\n", b"a = 1\nb = 3\n"
EDIT = FileEdit(
    path=f"{SITE}/tiny.py", owner="wheel:tiny", sha256_before=hashlib.sha256(BEFORE).hexdigest(), replace="b = 2\n",
    text="b = 3\n", sha256_after=hashlib.sha256(AFTER).hexdigest(), why="a test",
)  # fmt: skip
RECORD = b'tiny.py,sha256=x,12\r\n"odd,name.py",sha256=y,1\r\ntiny-1.0.dist-info/RECORD,,\r\n'


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path)


@pytest.fixture
def wheel(contents: Contents) -> Unpacked:
    artifact = Artifact(
        kind="wheel", name="tiny", version="1.0", architecture="any", source="wheels", path="tiny.whl", sha256="0" * 64,
        size_bytes=1,
    )  # fmt: skip
    files = {"tiny.py": BEFORE, "odd,name.py": b"", "tiny-1.0.dist-info/RECORD": RECORD}
    entries = tuple(make_entry(contents, f"{SITE}/{path}", "wheel:tiny", data) for path, data in files.items())
    facts = WheelFacts(
        dist_info="tiny-1.0.dist-info", requires_dist=(), requires_python="", root_is_purelib=True,
        modules=(f"{SITE}/tiny.py",),
    )  # fmt: skip
    return Unpacked(artifact=artifact, entries=entries, wheel=facts)


def read(unpacked: Unpacked, path: str, contents: Contents) -> bytes:
    return contents.read_bytes(next(entry.sha256 for entry in unpacked.entries if entry.path == f"{SITE}/{path}"))


def test_edit_changes_file_and_record(wheel: Unpacked, contents: Contents) -> None:
    (edited,) = apply_edits([wheel], [EDIT], contents)
    digest = base64.urlsafe_b64encode(hashlib.sha256(AFTER).digest()).rstrip(b"=")
    assert read(edited, "tiny.py", contents) == AFTER
    assert read(edited, "tiny-1.0.dist-info/RECORD", contents) == (
        b"tiny.py,sha256=" + digest + b',12\n"odd,name.py",sha256=y,1\ntiny-1.0.dist-info/RECORD,,\n'
    )
    assert [entry.path for entry in edited.entries] == [entry.path for entry in wheel.entries]


def test_no_edit_changes_nothing(wheel: Unpacked, contents: Contents) -> None:
    assert apply_edits([wheel], [], contents) == (wheel,)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (replace(EDIT, owner="wheel:gone"), "the image has no wheel:gone"),
        (replace(EDIT, path=f"{SITE}/gone.py"), "wheel:tiny 1.0 has no such file"),
        (replace(EDIT, sha256_before="1" * 64), f"the file has sha256 {EDIT.sha256_before}, not {'1' * 64}"),
        (replace(EDIT, sha256_after="2" * 64), f"the result has sha256 {EDIT.sha256_after}, not {'2' * 64}"),
        (replace(EDIT, replace="= "), "the text to replace occurs 2 times"),
        (replace(EDIT, replace="c = 4"), "the text to replace occurs 0 times"),
    ],
)
def test_edit_that_does_not_fit_says_why(wheel: Unpacked, contents: Contents, edit: FileEdit, message: str) -> None:
    with pytest.raises(AssembleError) as caught:
        apply_edits([wheel], [edit], contents)
    assert caught.value.message == f"edit of {edit.path}: {message}"
    assert caught.value.hint
