"""Typed getters: key paths, and all faults of a file at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from rockiln.errors import FileFaultsError
from rockiln.tables import list_words, parse_pin, parse_toml, quote, read_toml, suggest


def faults_of(text: str, *reads: tuple[str, str]) -> str:
    """What is said about `text` after calling getters by name."""
    top = parse_toml(text, "a.toml")
    for getter, key in reads:
        getattr(top, getter)(key)
    top.refuse_others()
    with pytest.raises(FileFaultsError) as caught:
        top.faults.raise_any()
    return caught.value.message


def test_every_fault_is_reported_at_once() -> None:
    message = faults_of('a = 1\nb = ["x", 2]\nd = 1\n', ("text", "a"), ("texts", "b"), ("number", "c"))
    assert message.splitlines() == [
        'a.toml: a: 1 is not a text; write "1"',
        "a.toml: b[1]: 2 is not a text",
        "a.toml: c: missing; it is a whole number",
        "a.toml: d: no such key",
    ]


def test_value_of_another_type_is_neither_given_nor_empty() -> None:
    top = parse_toml('text = ""\narray = []\nnumber = 0\nwords = ["x"]\n', "a.toml")
    assert [key for key in ("text", "array", "number", "words", "absent") if top.is_empty(key)] == ["text", "array"]
    assert [key for key in ("text", "array", "number", "absent") if top.has(key, int)] == ["number"]


def test_true_is_not_a_number() -> None:
    assert faults_of("a = true\n", ("number", "a")) == "a.toml: a: true is not a whole number"


def test_one_is_not_a_flag() -> None:
    assert faults_of("a = 1\n", ("flag", "a")) == "a.toml: a: 1 is not true or false"


def test_key_path_names_nested_tables() -> None:
    top = parse_toml('[[row]]\n[row.part]\n"a b" = 1\n', "a.toml")
    part = top.tables("row")[0].table("part")
    part.text("a b")
    with pytest.raises(FileFaultsError, match=r'^a\.toml: row\[0\]\.part\."a b": 1 is not a text'):
        top.faults.raise_any()


def test_table_where_an_array_is_wanted() -> None:
    assert faults_of("[row]\n", ("tables", "row")) == "a.toml: row: a table is not an array"


def test_entry_of_an_array_of_tables_must_be_a_table() -> None:
    assert faults_of('row = ["x"]\n', ("tables", "row")) == 'a.toml: row[0]: "x" is not a table'


def test_no_fault_raises_nothing() -> None:
    top = parse_toml('a = "x"\nb = true\nc = 3\nd = "7.0.2"\n', "a.toml")
    assert (top.text("a"), top.flag("b"), top.number("c")) == ("x", True, 3)
    assert top.version("d") == Version("7.0.2")
    top.refuse_others()
    top.faults.raise_any()


def test_defaults_stand_in_for_missing_keys() -> None:
    top = parse_toml("", "a.toml")
    assert (top.text("a", "x"), top.texts("b", ()), top.number("c", 4)) == ("x", (), 4)
    assert (top.table("d").text_map("e"), top.tables("f"), top.named_tables("g")) == ({}, (), {})
    top.faults.raise_any()


def test_malformed_version_is_named() -> None:
    assert faults_of('a = "seven"\n', ("version", "a")) == 'a.toml: a: "seven" is not a version'


def test_missing_file_says_where_it_was_expected(tmp_path: Path) -> None:
    with pytest.raises(FileFaultsError, match=r"a\.toml: cannot be read: No such file") as caught:
        read_toml(tmp_path / "a.toml", "a.toml")
    assert str(tmp_path) in caught.value.hint


def test_file_that_is_not_utf8_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b'a = "\xff"\n')
    with pytest.raises(FileFaultsError, match="not UTF-8"):
        read_toml(tmp_path / "a.toml", "a.toml")


@pytest.mark.parametrize("loose", ["jax", "jax>=0.6", "jax==0.6.*", "jax==0.6,!=0.6.1", "jax~=0.6"])
def test_loose_requirement_is_refused(loose: str) -> None:
    with pytest.raises(ValueError, match="is not pinned"):
        parse_pin(loose)


@pytest.mark.parametrize("pin", ["jax==0.6.2", "torch===2.8.0+rocm7.0.2.lw.git245bf6ed", "jax[k8s]==0.6.2"])
def test_exact_pin_is_taken(pin: str) -> None:
    assert str(parse_pin(pin)) == pin


def test_suggestion_only_where_something_is_close() -> None:
    assert suggest("gfx94x", ["gfx942", "gfx1100"]) == '; did you mean "gfx942"?'
    assert suggest("banana", ["gfx942", "gfx1100"]) == ""


def test_words_are_listed_as_people_do() -> None:
    assert [list_words(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "nothing", '"a"', '"a" or "b"', '"a", "b" or "c"',
    ]  # fmt: skip


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
))  # fmt: skip
def test_any_value_can_be_quoted(value: object) -> None:
    assert quote(value)
