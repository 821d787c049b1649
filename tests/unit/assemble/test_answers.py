"""Answers of an image's programs are kept whole or not at all, under everything that they depend on."""

from __future__ import annotations

from pathlib import Path

from rockiln.assemble.answers import hash_question, keep_answer, read_answer


def test_answer_comes_back(tmp_path: Path) -> None:
    key = hash_question("loader", ["a", "b"])
    assert read_answer(tmp_path, "loader", key) is None
    keep_answer(tmp_path, "loader", key, {"cache": "x"})
    assert read_answer(tmp_path, "loader", key) == {"cache": "x"}
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{key}.json"]


def test_other_question_has_another_key() -> None:
    keys = {hash_question(*q) for q in (("a", ["bc"]), ("ab", ["c"]), ("a", ["b", "c"]), ("a", ["c", "b"]))}
    assert len(keys) == 4


def test_damaged_answer_is_no_answer(tmp_path: Path) -> None:
    key = hash_question("loader", [])
    keep_answer(tmp_path, "loader", key, {"cache": "x"})
    next(tmp_path.rglob("*.json")).write_text('{"cache": ')
    assert read_answer(tmp_path, "loader", key) is None
