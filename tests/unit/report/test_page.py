"""The page as text: the same for the same values, nothing from elsewhere, and no name of a file is markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from built_folder import MARKUP, add_files, small_tree, write_audit, write_built, write_smoke
from rockiln.built_values import note_smoke
from rockiln.contents import Contents
from rockiln.errors import UsageError
from rockiln.report import page_facts
from rockiln.report.page import render_page
from rockiln.report.page_facts import gather_facts

HOSTILE = ("<script>alert(1)<", "<!--<script>", "a\u2028b", '"onload="x', "@SCRIPT@", "\udcff.so", "&lt;", "__proto__")


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    return Contents(tmp_path / "contents")


@pytest.fixture
def folder(tmp_path: Path, contents: Contents) -> Path:
    rootfs = add_files(small_tree(contents), "deb:tool", {f"srv/{name}": 9 for name in HOSTILE})
    write_built(tmp_path / "tiny", "tiny", rootfs, contents)
    return tmp_path / "tiny"


class Reader(HTMLParser):
    """Elements with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] in {"script", "style"} and data.strip():
            self.scripts.append(data)


def test_same_values_give_the_same_page(folder: Path) -> None:
    assert render_page(gather_facts({"tiny": folder}, {})) == render_page(gather_facts({"tiny": folder}, {}))


def test_hostile_names_stay_data(folder: Path) -> None:
    write_audit(folder, "/usr/bin/tool")
    reader = Reader(render_page(gather_facts({"tiny": folder}, {})))
    assert [tag for tag, _ in reader.elements].count("script") == 2
    facts = json.loads(reader.scripts[1])
    names = json.dumps(facts["trees"])
    assert MARKUP in facts["targets"][0]["audit"]["findings"][0]["evidence"]
    assert all(json.dumps(name)[1:-1] in names for name in HOSTILE)


def test_policy_allows_this_script_and_style_and_no_request(folder: Path) -> None:
    reader = Reader(render_page(gather_facts({"tiny": folder}, {})))
    style, _, script = reader.scripts
    policy = next(attributes["content"] for tag, attributes in reader.elements if "http-equiv" in attributes)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    expected = f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'"
    assert policy == expected


def test_page_names_no_address_to_load_from(folder: Path) -> None:
    text = render_page(gather_facts({"tiny": folder}, {}))
    assert not re.search(r"https?://|url\(|@import|\bfetch\(|XMLHttpRequest|innerHTML", text)
    assert not [attributes for _, attributes in Reader(text).elements if attributes.keys() & {"src", "data", "action"}]


def test_trees_that_targets_share_are_there_once(tmp_path: Path, contents: Contents, folder: Path) -> None:
    write_built(tmp_path / "other", "other", small_tree(contents), contents)
    facts = gather_facts({"tiny": folder, "other": tmp_path / "other"}, {})
    numbers = [{item["name"]: item["tree"] for item in target["packages"]} for target in facts["targets"]]
    same = {name for name in numbers[0] if numbers[0][name] == numbers[1][name]}
    assert same == {"wheel:jax", "deb:rocblas", "rockiln"}
    assert len(facts["trees"]) == 5


def test_large_tree_is_cut_down_and_stays_whole(
    folder: Path, contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_facts, "NODE_LIMIT", 500)
    many = {f"usr/lib/many/{number % 40}/{number}": number % 3000 for number in range(4000)}
    write_built(folder, "tiny", add_files(small_tree(contents), "deb:many", many), contents)
    facts = gather_facts({"tiny": folder}, {})
    assert facts["floor"] > 0
    assert sum(page_facts.count_nodes(tree) for tree in facts["trees"]) <= 500
    packages = {item["name"]: item for item in facts["targets"][0]["packages"]}
    assert facts["trees"][packages["deb:many"]["tree"]][1] == sum(many.values())


def test_what_has_not_run_is_none(folder: Path) -> None:
    (target,) = gather_facts({"tiny": folder}, {})["targets"]
    assert (target["audit"], target["smoke"]) == (None, None)


def test_checks_of_another_build_are_said_to_be(folder: Path) -> None:
    write_smoke(folder)
    write_audit(folder, "/usr/bin/tool")
    (target,) = gather_facts({"tiny": folder}, {})["targets"]
    assert target["smoke"]["is_current"]
    assert len(target["audit"]["findings"]) == 2
    smoke = json.loads((folder / "smoke.json").read_text())
    (folder / "smoke.json").write_text(json.dumps({**smoke, "image_digest": "sha256:0"}))
    note_smoke(folder)
    assert not gather_facts({"tiny": folder}, {})["targets"][0]["smoke"]["is_current"]


@pytest.mark.parametrize("missing", ["sizes", "rootfs", "plan", "dropped"])
def test_target_that_is_not_built_is_refused(folder: Path, missing: str) -> None:
    (folder / f"{missing}.json").unlink()
    with pytest.raises(UsageError) as raised:
        gather_facts({"tiny": folder}, {})
    assert raised.value.hint == "rockiln build tiny"
