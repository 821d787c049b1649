"""[publish] of matrix.toml: faults are named with their key, all at once; every key is documented."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_text import CPU_ID, CPU_ROW, ROOT, TOP

from rockiln.errors import FileFaultsError
from rockiln.matrix import parse_matrix
from rockiln.publish_policy import FIELDS, MovingTag, PublishPolicy

PUBLISH = """
[publish]
repository = "ghcr.io/you/{framework}"
[publish.tags]
jax = "{platform}-jax{version}"
[publish.moving.latest]
rows = "jax-*"
meaning = "the newest"
"""


def read(publish: str) -> PublishPolicy:
    return parse_matrix(TOP + CPU_ROW + publish, Path("matrix.toml")).publish


def test_policy_is_read() -> None:
    policy = read(PUBLISH)
    assert policy.repository == "ghcr.io/you/{framework}"
    assert policy.shapes == {"jax": "{platform}-jax{version}"}
    assert policy.moving == (MovingTag(tag="latest", rows="jax-*", meaning="the newest"),)


def test_matrix_without_it_publishes_nowhere() -> None:
    assert read("") == PublishPolicy()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{framework}", "{os}", "publish.repository: {os} stands for nothing here"),
        ("{platform}", "{platfrom}", 'publish.tags.jax: {platfrom} is not .* did you mean "platform"'),
        ("-jax{version}", "-jax", "publish.tags.jax: {version} is missing"),
        ("{platform}-", "/", 'publish.tags.jax: .* makes no tag: "/" may not stand in it; such as "{platform}-py'),
        ("{platform}-", "{platform-", "publish.tags.jax: .* makes no tag: a brace in it has no other"),
        ("{platform}-", "-{platform}", 'publish.tags.jax: .* makes no tag: it may not begin with "-"'),
        ("-jax{version}", "-jax", 'such as "{platform}-jax-{version}"'),
        ("jax = ", "jaxx = ", 'publish.tags.jaxx: no row is of "jaxx"; did you mean "jax"'),
        ("jax = ", "torch = ", 'publish.tags.torch: no row is of "torch"; `rockiln plan` lists them'),
        ("moving.latest", 'moving."a/b"', 'publish.moving."a/b": "a/b" is no tag'),
        ('"the newest"', '""', "publish.moving.latest.meaning: empty"),
        ("meaning", "means", "publish.moving.latest.means: no such key"),
        ("repository", "repo", "publish.repo: no such key"),
        ("{framework}", "{framwork}", 'publish.repository: {framwork} stands .* did you mean "framework"'),
        ('"jax-*"', '"nosuch"', 'publish.moving.latest.rows: "nosuch" matches no row; `rockiln plan` lists them'),
        ('"jax-*"', f'"{CPU_ID[:-1]}"', f'matches no row; did you mean "{CPU_ID}"'),
    ],
)
def test_faults_are_named(old: str, new: str, fault: str) -> None:
    with pytest.raises(FileFaultsError, match=fault.replace("{", r"\{").replace("}", r"\}")):
        read(PUBLISH.replace(old, new, 1))


def test_every_key_and_field_is_documented() -> None:
    text = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")
    for word in ("`repository`", "[publish.tags]", "[publish.moving", "`rows`", "`meaning`"):
        assert word in text
    for name in FIELDS:
        assert f"{{{name}}}" in text
