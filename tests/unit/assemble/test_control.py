"""Control paragraphs keep their values to the letter; dpkg's order of fields is ours."""

from __future__ import annotations

from rockiln.assemble.control import read_field, read_fields, write_fields

PARAGRAPH = """\
Package: tiny
Version: 1:2.0-1
Architecture: amd64
Homepage: https://example.org
Description: a thing with a space at its end \n more:
 .
 colons: here
Depends: libc6 (>= 2.36)
"""


def test_values_survive() -> None:
    fields = read_fields(PARAGRAPH)
    assert fields["Version"] == "1:2.0-1"
    assert fields["Description"] == "a thing with a space at its end \n more:\n .\n colons: here"
    assert read_field(PARAGRAPH, "Section") == ""


def test_fields_are_written_in_dpkgs_order() -> None:
    text = write_fields({**read_fields(PARAGRAPH), "Status": "install ok installed"})
    names = [line.partition(":")[0] for line in text.splitlines() if not line.startswith(" ")]
    assert names == ["Package", "Status", "Architecture", "Version", "Depends", "Description", "Homepage"]
    assert "Description: a thing with a space at its end \n more:\n" in text


def test_value_that_starts_on_its_own_line_has_no_space_before_it() -> None:
    assert write_fields({"Conffiles": "\n /etc/a 00"}) == "Conffiles:\n /etc/a 00\n"
