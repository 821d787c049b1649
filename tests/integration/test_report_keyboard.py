"""The keyboard's way through the list, what was found and links of `rockiln report`, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from built_folder import LIBRARY, add_files, small_tree, write_built
from rockiln.contents import Contents
from rockiln.report.page import render_page
from rockiln.report.page_facts import gather_facts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
KERNEL = f"{LIBRARY}/Kernels.so-000-gfx942.hsaco"
LONG = "opt/venv/lib/python3.11/site-packages/many/extraordinarily_long_folder/libjax_common.so"


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets, one of them with a folder of more files than a narrow screen lists at first."""
    folder = tmp_path_factory.mktemp("report")
    contents = Contents(folder / "contents")
    many = {f"srv/file{number:02}.py": 3000 - number for number in range(40)}
    write_built(folder / "full", "full", add_files(small_tree(contents), "deb:many", {**many, LONG: 900}), contents)
    write_built(folder / "bare", "bare", small_tree(contents), contents)
    path = folder / "report.html"
    facts = gather_facts({name: folder / name for name in ("full", "bare")}, {})
    path.write_text(render_page(facts), encoding="utf-8")
    return path


@pytest.fixture(params=[WIDE, PHONE], ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Browser, page_path: Path) -> Iterator[Page]:
    context = browser.new_context(viewport=request.param)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(page_path.as_uri())
    yield page
    assert faults == []
    context.close()


def way(page: Page) -> list[str]:
    return page.locator("#way button").all_text_contents()


def focus(page: Page) -> str:
    """Where the focus is: "side: wheel:jax", "map: deb:tool", "BODY"."""
    return str(
        page.evaluate(
            """() => {
              const active = document.activeElement;
              const part = active.closest("#map, #side, #way, #images, .find");
              const words = active.querySelector(".name") || active.querySelector(".head b");
              const text = active.dataset.name || (active.id === "find" ? active.value : (words || active).textContent);
              return part ? `${part.id || part.className}: ${active.id === "side" ? "" : text}`.trim() : active.tagName;
            }"""
        )
    )


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_enter_in_the_list_goes_down_and_escape_back_to_the_row_one_came_from(opened: Page) -> None:
    opened.locator("#side button.row").first.focus()
    press(opened, "ArrowDown", "ArrowDown")
    assert focus(opened) == "side: wheel:jax"
    press(opened, "Enter")
    assert (way(opened)[1], focus(opened)) == ("wheel:jax", "side: numpy.py")
    press(opened, "ArrowDown")
    assert focus(opened) == "side: core.py"
    press(opened, "Enter")
    assert (way(opened)[-1], focus(opened)) == ("core.py", "side:")
    assert opened.locator("#status").text_content().startswith("core.py  \u00b7  3.0\u00a0kB")  # type: ignore[union-attr]
    press(opened, "Escape")
    assert focus(opened) == "side: core.py"
    press(opened, "Backspace")
    assert (way(opened), focus(opened)) == (["image"], "side: wheel:jax")
    press(opened, "Escape")
    assert focus(opened) == "side: wheel:jax"


def test_list_of_a_file_with_device_code_has_the_focus_too(opened: Page) -> None:
    opened.get_by_role("button", name="deb:rocblas").last.focus()
    press(opened, "Enter", "Enter")
    assert (way(opened)[-1], focus(opened)) == (KERNEL.rpartition("/")[2], "side:")
    press(opened, "Escape", "Escape")
    assert focus(opened) == "side: deb:rocblas"


def test_row_behind_the_first_ones_of_a_narrow_screen_is_come_back_to(opened: Page) -> None:
    opened.get_by_role("button", name="deb:many").last.focus()
    press(opened, "Enter")
    opened.locator("#side button.row", has_text="srv").first.focus()
    press(opened, "Enter")
    if opened.locator("#side .more").count():
        assert opened.locator("#side button.row").count() == 12
        opened.locator("#side .more").focus()
        press(opened, "Enter")
        assert focus(opened) == "side: file12.py"
    press(opened, "End")
    assert focus(opened) == "side: file39.py"
    press(opened, "Enter", "Escape")
    assert focus(opened) == "side: file39.py"


def test_file_that_was_found_goes_back_among_what_was_found(opened: Page) -> None:
    press(opened, "/")
    opened.keyboard.type("gfx9")
    press(opened, "ArrowDown", "ArrowDown")
    found = f"side: /{LIBRARY}/Kernels.so-000-gfx950.hsaco"
    assert focus(opened) == found
    press(opened, "Enter")
    assert (way(opened)[1], focus(opened)) == ("deb:rocblas", "side:")
    press(opened, "Escape")
    assert (way(opened), focus(opened)) == (["image"], found)
    press(opened, "Escape")
    assert focus(opened) == "find: gfx9"
    press(opened, "Escape")
    assert focus(opened) == "find:"
    assert opened.locator("#side button.row").first.text_content().startswith("deb:many")  # type: ignore[union-attr]
    press(opened, "Escape")
    assert focus(opened) == "map: deb:many"


def test_escape_works_after_a_link_was_followed(opened: Page) -> None:
    opened.goto(f"{opened.url.partition('#')[0]}#/full/wheel%3Ajax")
    opened.reload()
    assert (way(opened)[1:], focus(opened)) == (["wheel:jax"], "BODY")
    press(opened, "Escape")
    assert (way(opened), focus(opened)) == (["image"], "map: wheel:jax")


def test_way_browser_and_other_images_keep_the_focus(opened: Page) -> None:
    opened.locator("#side button.row").nth(2).focus()
    press(opened, "Enter", "Enter")
    opened.go_back()
    assert focus(opened) == "side: numpy.py"
    opened.locator("#way button").first.focus()
    press(opened, "Enter")
    assert (way(opened), focus(opened)) == (["image"], "way: image")
    opened.get_by_role("button", name="bare", exact=True).focus()
    press(opened, "Enter")
    assert focus(opened) == "images: bare"


def test_tile_keeps_the_focus_when_the_window_changes(opened: Page) -> None:
    opened.locator("#map .tile").nth(1).focus()
    before = focus(opened)
    opened.set_viewport_size({"width": 900, "height": 700})
    opened.wait_for_function("document.getElementById('map').clientWidth > 800")
    opened.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert focus(opened) == before
    assert before.startswith("map: ")


def test_found_paths_break_between_words_and_sizes_are_at_the_right(opened: Page) -> None:
    opened.locator("#find").fill("libjax_common")
    row = opened.locator("#side .row.found")
    size, box = row.locator(".n").bounding_box(), row.bounding_box()
    assert size is not None
    assert box is not None
    assert box["x"] + box["width"] - size["x"] - size["width"] < 10
    assert row.locator(".name").text_content() == f"/{LONG}"
    lines = opened.evaluate(
        """() => {
          const range = document.createRange(), lines = new Map();
          const walk = document.createTreeWalker(document.querySelector("#side .found .name"), NodeFilter.SHOW_TEXT);
          for (let node; (node = walk.nextNode()); )
            for (let at = 0; at < node.length; at++) {
              range.setStart(node, at);
              range.setEnd(node, at + 1);
              const top = Math.round(range.getBoundingClientRect().top);
              lines.set(top, (lines.get(top) || "") + node.data[at]);
            }
          return [...lines.values()];
        }"""
    )
    assert len(lines) > 1
    assert all(line[-1] in "/_.-" for line in lines[:-1])
