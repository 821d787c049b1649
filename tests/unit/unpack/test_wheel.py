"""A wheel becomes what pip would have installed, or is refused by member name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hostile import DIST_INFO, digest_of, files_below, record_of, wheel_artifact, wheel_files, zip_of
from packaging.version import Version

from rockiln.contents import Contents
from rockiln.errors import UnpackError
from rockiln.manifest import Unpacked
from rockiln.unpack.wheel import require_compatible, unpack_wheel

SITE = "opt/venv/lib/python3.11/site-packages"
DATA = "small-1.0.data"
PYTHON = Version("3.11")


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


def unpack(contents: Contents, files: Mapping[str, bytes], modes: Mapping[str, int] | None = None) -> Unpacked:
    return unpack_bytes(contents, zip_of(wheel_files(files), modes))


def unpack_bytes(contents: Contents, data: bytes) -> Unpacked:
    return unpack_wheel(wheel_artifact(data), io.BytesIO(data), contents, PYTHON)


def texts(contents: Contents, unpacked: Unpacked) -> dict[str, str]:
    return {entry.path: contents.read_bytes(entry.sha256).decode() for entry in unpacked.entries}


ENTRY_POINTS = (
    b"[console_scripts]\nsmall = small.cli:App.main\n[gui_scripts]\nsmall-gui = small:gui [extra]\n[other]\nx=y\n"
)

FILES = {
    "small/__init__.py": b"import os\n",
    "small/data.bin": b"\0\1",
    "small/prog": b"#!/bin/sh\n",
    f"{DATA}/purelib/pure.py": b"pure",
    f"{DATA}/platlib/plat/x.py": b"plat",
    f"{DATA}/scripts/tool": b"#!python\nprint()\n",
    f"{DATA}/scripts/tool-w": b"#!pythonw -u\r\nprint()\n",
    f"{DATA}/scripts/shell": b"#!/bin/sh\n",
    f"{DATA}/data/share/man/man1/small.1": b"man",
    f"{DATA}/headers/small.h": b"#define",
    f"{DIST_INFO}/entry_points.txt": ENTRY_POINTS,
    f"{DIST_INFO}/METADATA": b"Metadata-Version: 2.1\nName: Small\nVersion: 1.0\nRequires-Python: >=3.9\n"
    b"Requires-Dist: numpy>=1\nRequires-Dist: x; extra == 'y'\n\nA text.\n",
}

LAUNCHER = """\
#!/opt/venv/bin/python
import sys
from small.cli import App
if __name__ == '__main__':
    sys.argv[0] = sys.argv[0].removesuffix('.exe')
    sys.exit(App.main())
"""


def test_every_file_is_at_its_place(contents: Contents) -> None:
    found = texts(contents, unpack(contents, FILES))
    record = found.pop(f"{SITE}/{DIST_INFO}/RECORD")
    gui = found.pop("opt/venv/bin/small-gui")
    assert "from small import gui" in gui
    assert "sys.exit(gui())" in gui
    for name in ("WHEEL", "METADATA", "entry_points.txt"):
        del found[f"{SITE}/{DIST_INFO}/{name}"]
    assert found == {
        f"{SITE}/small/__init__.py": "import os\n",
        f"{SITE}/small/data.bin": "\0\1",
        f"{SITE}/small/prog": "#!/bin/sh\n",
        f"{SITE}/pure.py": "pure",
        f"{SITE}/plat/x.py": "plat",
        f"{SITE}/{DIST_INFO}/INSTALLER": "rockiln\n",
        "opt/venv/bin/small": LAUNCHER,
        "opt/venv/bin/tool": "#!/opt/venv/bin/python\nprint()\n",
        "opt/venv/bin/tool-w": "#!/opt/venv/bin/python\nprint()\n",
        "opt/venv/bin/shell": "#!/bin/sh\n",
        "opt/venv/share/man/man1/small.1": "man",
        "opt/venv/include/site/python3.11/Small/small.h": "#define",
    }
    assert record.splitlines()[-1].startswith("small/prog,sha256=")


def test_record_names_every_installed_file_with_its_hash(contents: Contents) -> None:
    unpacked = unpack(contents, FILES)
    rows = texts(contents, unpacked)[f"{SITE}/{DIST_INFO}/RECORD"].splitlines()
    assert rows == sorted(rows)
    assert f"{DIST_INFO}/RECORD,," in rows
    assert f"../../../bin/small,sha256={digest_of(LAUNCHER.encode())},{len(LAUNCHER)}" in rows
    assert f"../../../include/site/python3.11/Small/small.h,sha256={digest_of(b'#define')},7" in rows
    installer_digest = digest_of(b"rockiln\n")
    assert f"{DIST_INFO}/INSTALLER,sha256={installer_digest},8" in rows
    assert len(rows) == len(unpacked.entries)


def test_modes_are_few_and_owners_are_root(contents: Contents) -> None:
    unpacked = unpack(contents, FILES, {"small/prog": 0o100700, "small/data.bin": 0o100600})
    modes = {entry.path.rpartition("/")[2]: entry.mode for entry in unpacked.entries}
    assert {name for name, mode in modes.items() if mode == 0o755} == {
        "prog", "small", "small-gui", "tool", "tool-w", "shell",
    }  # fmt: skip
    assert set(modes.values()) == {0o644, 0o755}
    assert {(entry.uid, entry.gid, entry.owner) for entry in unpacked.entries} == {(0, 0, "wheel:small")}


def test_facts_are_those_of_the_metadata(contents: Contents) -> None:
    facts = unpack(contents, FILES).wheel
    assert facts is not None
    assert facts.dist_info == DIST_INFO
    assert facts.requires_dist == ("numpy>=1", "x; extra == 'y'")
    assert facts.requires_python == ">=3.9"
    assert facts.root_is_purelib
    assert set(facts.modules) == {f"{SITE}/small/__init__.py", f"{SITE}/pure.py", f"{SITE}/plat/x.py"}


def test_what_an_installation_does_not_take_is_noted(contents: Contents) -> None:
    extra = {
        "small/__pycache__/x.cpython-311.pyc": b"",
        f"{DIST_INFO}/direct_url.json": b"{}",
        f"{DIST_INFO}/REQUESTED": b"",
        f"{DIST_INFO}/INSTALLER": b"pip\n",
        f"{DATA}/scripts/small": b"#!python\n",
        f"{DATA}/scripts/small-script.py": b"#!python\n",
    }
    unpacked = unpack(contents, {**FILES, **extra})
    plain = unpack(contents, FILES)
    assert {entry.path for entry in unpacked.entries} == {entry.path for entry in plain.entries}
    assert [note.partition(":")[0] for note in unpacked.notes] == [name for name in extra if "INSTALLER" not in name]


def test_signatures_need_no_line_in_record(contents: Contents) -> None:
    files = wheel_files({"a.py": b""})
    files[f"{DIST_INFO}/RECORD.jws"] = b"{}"
    unpacked = unpack_bytes(contents, zip_of(files))
    assert not any("jws" in entry.path for entry in unpacked.entries)
    assert "signature" in unpacked.notes[0]


@pytest.mark.parametrize("algorithm", ["sha384", "sha512"])
def test_other_strong_hashes_count(contents: Contents, algorithm: str) -> None:
    files = wheel_files({"a.py": b"a" * 100})
    del files[f"{DIST_INFO}/RECORD"]
    record = record_of(files, algorithm)
    unpack_bytes(contents, zip_of({**files, f"{DIST_INFO}/RECORD": record}))
    with pytest.raises(UnpackError, match=r"member 'a\.py': its hash is not the one in RECORD"):
        unpack_bytes(contents, zip_of({**files, "a.py": b"b" * 100, f"{DIST_INFO}/RECORD": record}))


GOOD = wheel_files({"a.py": b"abc"})
RECORD = GOOD[f"{DIST_INFO}/RECORD"]


@pytest.mark.parametrize(
    ("change", "member", "reason"),
    [
        ({"a.py": b"abd"}, "a.py", "its hash is not the one in RECORD"),
        ({"a.py": b"abcd"}, "a.py", "its hash is not the one in RECORD"),
        ({"b.py": b""}, "b.py", "not in RECORD"),
        ({f"{DIST_INFO}/RECORD": RECORD + b"c.py,sha256=x,1\n"}, "c.py", "in RECORD, but not in the wheel"),
        ({f"{DIST_INFO}/RECORD": RECORD.replace(b",3\n", b",4\n")}, "a.py", "has 3 bytes; RECORD says 4"),
        ({f"{DIST_INFO}/RECORD": RECORD.replace(b",3\n", b",\n")}, "a.py", "no strong hash, or no size"),
        ({f"{DIST_INFO}/RECORD": RECORD + b"a.py,,\n"}, f"{DIST_INFO}/RECORD", "two different lines for 'a.py'"),
        ({f"{DIST_INFO}/RECORD": RECORD.replace(b"a.py,sha256", b"a.py,md5")}, "a.py", "no strong hash"),
        ({f"{DIST_INFO}/RECORD": b"a.py\n"}, "small-1.0-py3-none-any.whl", "expected 3 elements"),
        ({f"{DIST_INFO}/RECORD": b"\xff\xfe"}, f"{DIST_INFO}/RECORD", "not in UTF-8"),
        ({f"{DIST_INFO}/WHEEL": b"Wheel-Version: 2.0\n"}, "small-1.0-py3-none-any.whl", "Wheel-Version"),
        ({"other-2.dist-info/METADATA": b""}, "small-1.0-py3-none-any.whl", "2 .dist-info folders"),
        ({f"{DATA}/x": b""}, f"{DATA}/x", "neither in purelib"),
        ({f"{DATA}/scripts": b""}, f"{DATA}/scripts", "neither in purelib"),
        ({DATA: b""}, DATA, "neither in purelib"),
        ({f"{DATA}/bin/x": b""}, f"{DATA}/bin/x", "neither in purelib"),
        ({f"{DATA}/data/a": b"", "other.data/data/b": b""}, "small-1.0-py3-none-any.whl", "2 .data folders"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_wheels_are_refused_by_name(
    contents: Contents, change: Mapping[str, bytes], member: str, reason: str
) -> None:
    with pytest.raises(UnpackError) as caught:
        unpack_bytes(contents, zip_of({**GOOD, **change}))
    assert caught.value.message.startswith(f"small-1.0-py3-none-any.whl: member {member!a}: ")
    assert reason in caught.value.message


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a": b"", "a/b": b""}, "member 'opt/venv/lib/python3.11/site-packages/a/b': to be written through the file"),
        ({"a.py": b"", f"{DATA}/purelib/a.py": b""}, "a file and a file are both to be"),
        ({f"{DATA}/data/../../../etc/passwd": b""}, "'..' part"),
        ({f"{DATA}/data/bin/small": b"", f"{DATA}/scripts/small": b""}, "are both to be 'opt/venv/bin/small'"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\n../../x = a:b\n"}, "'..' part"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\n/etc/x = a:b\n"}, "absolute name"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\na/b = a:b\n"}, "may not name a folder"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\nx = a:b();evil\n"}, "module:function expected"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts]\nx = a\n"}, "module:function expected"),
        ({f"{DIST_INFO}/entry_points.txt": b"[console_scripts\n"}, "entry_points.txt': not entry points"),
        ({f"{DIST_INFO}/METADATA": b"Name: other\nVersion: 1.0\n"}, "is of 'other' 1.0; locked is small 1.0"),
        ({f"{DIST_INFO}/METADATA": b"Name: small\nVersion: 1.1\n"}, "is of 'small' 1.1; locked is small 1.0"),
        ({f"{DIST_INFO}/METADATA": b"\n"}, "is of 'none' None; locked"),
    ],
)
def test_wheels_that_would_be_something_else_are_refused(
    contents: Contents, tmp_path: Path, files: Mapping[str, bytes], reason: str
) -> None:
    with pytest.raises(UnpackError) as caught:
        unpack(contents, files)
    assert reason in caught.value.message
    assert [path for path in files_below(tmp_path) if len(path.name) != 64] == []


def test_a_version_may_be_spelled_in_two_ways(contents: Contents) -> None:
    unpack(contents, {f"{DIST_INFO}/METADATA": b"Name: SMALL\nVersion: 1.0.0\n"})


@pytest.mark.parametrize(
    "tag",
    ["py3-none-any", "py2.py3-none-any", "cp311-cp311-manylinux_2_17_x86_64", "cp39-abi3-manylinux2014_x86_64",
     "cp311-none-linux_x86_64", "py3-none-manylinux_2_28_x86_64", "cp310.cp311-cp310.cp311-linux_x86_64"],
)  # fmt: skip
def test_wheels_for_this_python_are_taken(tag: str) -> None:
    require_compatible(replace(wheel_artifact(b""), path=f"small-1.0-{tag}.whl"), PYTHON)


@pytest.mark.parametrize(
    "tag",
    ["cp312-cp312-manylinux_2_17_x86_64", "cp310-cp310-linux_x86_64", "cp311-cp311-manylinux_2_17_aarch64",
     "cp312-abi3-linux_x86_64", "cp311-cp311-win_amd64", "cp311-cp311-musllinux_1_2_x86_64", "py2-none-any",
     "cp311-cp311t-linux_x86_64", "pp311-pypy311_pp73-linux_x86_64", "cp311-cp311-macosx_11_0_x86_64"],
)  # fmt: skip
def test_wheels_for_something_else_are_refused(tag: str) -> None:
    with pytest.raises(UnpackError, match=r"not for CPython 3\.11 on Linux x86-64"):
        require_compatible(replace(wheel_artifact(b""), path=f"small-1.0-{tag}.whl"), PYTHON)


@pytest.mark.parametrize("file", ["small.whl", "small-1.0.whl", "small-x-py3-none-any.whl", "small.tar.gz"])
def test_files_not_named_as_wheels_are_refused(file: str) -> None:
    with pytest.raises(UnpackError, match=f"^{file}: "):
        require_compatible(replace(wheel_artifact(b""), path=file), PYTHON)
