"""The outermost shell of a deb, strictly."""

from __future__ import annotations

import io

import pytest
from hostile import CONTROL, Item, ar_of, artifact_of, deb_of, tar_of

from rockiln.errors import UnpackError
from rockiln.unpack.ar import read_sections

GOOD = [("debian-binary", b"2.0\n"), ("control.tar.gz", b"c"), ("data.tar.xz", b"dd")]


def sections_of(data: bytes):  # type: ignore[no-untyped-def]  # what read_sections returns
    return read_sections(artifact_of(data), io.BytesIO(data))


def test_sections_are_found() -> None:
    found = sections_of(ar_of(GOOD))
    assert (found.control.read(), found.control_suffix) == (b"c", ".gz")
    assert (found.data.read(), found.data_suffix) == (b"dd", ".xz")


def test_members_with_underscore_and_those_after_data_do_not_matter() -> None:
    members = [*GOOD[:1], ("_gpgorigin", b"x"), *GOOD[1:], ("later", b"y")]
    assert sections_of(ar_of(members)).data.read() == b"dd"


def test_first_data_counts_as_in_dpkg() -> None:
    assert sections_of(ar_of([*GOOD, ("data.tar.xz", b"other")])).data.read() == b"dd"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an ar archive"),
        (b"!<thin>\n", "not an ar archive"),
        (ar_of([]), "format 2"),
        (ar_of(GOOD[1:]), "format 2"),
        (ar_of([("debian-binary", b"3.0\n"), *GOOD[1:]]), "format 2"),
        (ar_of(GOOD[:1]), "control.tar, in a known compression"),
        (ar_of(GOOD[:2]), "data.tar, in a known compression"),
        (ar_of([GOOD[0], GOOD[2], GOOD[1]]), "member 'data.tar.xz': control.tar"),
        (ar_of([*GOOD[:2], ("data.tar.rar", b"")]), "member 'data.tar.rar': data.tar"),
        (ar_of(GOOD)[:70], "member 'debian-binary': reaches beyond the end of the file"),
        (ar_of(GOOD)[:100], "damaged ar header at byte 72"),
        (ar_of(GOOD).replace(b"4         `\n", b"-60       `\n"), "damaged ar header at byte 8"),
        (ar_of(GOOD).replace(b"4         `\n", b"4_0       `\n"), "damaged ar header at byte 8"),
        (ar_of(GOOD).replace(b"4         `\n", b"9999999999`\n"), "reaches beyond the end"),
    ],
)
def test_anything_else_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnpackError, match=reason):
        sections_of(data)


def test_a_deb_of_ours_is_one() -> None:
    assert sections_of(deb_of(tar_of([Item(name="./a")]), CONTROL, ".zst")).data_suffix == ".zst"
