"""Names of files are anybody's text; none of it reaches a terminal or a JSON document as it is."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

from rockiln.console import Console, printable, printable_lines
from rockiln.jsonable import dump
from rockiln.verbs.answer import tabulate


def test_plain_names_stay() -> None:
    assert printable("/opt/rocm/libé→x.so (1 of 2)") == "/opt/rocm/libé→x.so (1 of 2)"


def test_what_a_terminal_obeys_is_escaped() -> None:
    assert printable("e\x1b[31mvil\nname.so") == r"e\u001b[31mvil\nname.so"
    assert printable("\x07\x7f\x9b\r\t") == r"\u0007\u007f\u009b\r\t"


def test_text_that_turns_the_reading_direction_is_escaped() -> None:
    assert printable("a\u202eb\u2028c") == r"a\u202eb\u2028c"


def test_bytes_that_are_not_utf8_are_escaped() -> None:
    assert printable(os.fsdecode(b"a\xffb")) == r"a\udcffb"


def test_lines_of_a_whole_text_stay_lines() -> None:
    assert printable_lines("a\tb\nc\x1b") == "a\tb\nc\\u001b"


def test_escapes_inside_json_keep_the_value() -> None:
    text = '"\x9b\U000e0001\udcff"'
    assert json.loads(printable_lines(text)) == json.loads(text)


def test_dump_of_any_name_is_utf8_and_reads_back() -> None:
    name = os.fsdecode(b"\xff\x1b\x9b\n.so")
    text = dump({"path": Path(name)})
    assert text.encode("utf-8").isascii()
    assert os.fsencode(json.loads(text)["path"]) == os.fsencode(name)


def test_table_keeps_one_line_a_row() -> None:
    assert tabulate([("file", "result"), ("e\x1bvil\nx", "ok")]) == "file           result\ne\\u001bvil\\nx  ok"


def test_narration_is_printable() -> None:
    stream = io.StringIO()
    Console(stream).warn("x\x1b[2J")
    assert stream.getvalue() == "rockiln: warning: x\\u001b[2J\n"
