"""The page of `rockiln report` in a real Chromium: by keyboard, in both schemes, read by axe, with hostile names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from built_folder import DIGEST, MARKUP, add_files, small_tree, write_audit, write_built, write_smoke
from rockiln.budget import Budget
from rockiln.contents import Contents
from rockiln.report.page import render_page
from rockiln.report.page_facts import gather_facts

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

Scheme = Literal["light", "dark"]
WIDE, PHONE = (1280, 900), (390, 844)
KERNEL = "opt/rocm/lib/rocblas/library/Kernels.so-000-gfx942.hsaco"
READABLE = 4.5
"""WCAG 2.2, level AA: https://www.w3.org/TR/WCAG22/#contrast-minimum."""


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets: one with every part of the page, and one of which nothing has run."""
    folder = tmp_path_factory.mktemp("report")
    contents = Contents(folder / "contents")
    hostile = {f"srv/{name}": 3000 for name in ("<b>bold<", '"quoted" onclick="x', "@SCRIPT@", "__proto__", "  ")}
    tree = add_files(small_tree(contents), "deb:tool", hostile)
    write_built(folder / "full", "full", tree, contents)
    write_smoke(folder / "full")
    write_audit(folder / "full", f"/{KERNEL}")
    write_built(folder / "bare", "bare", small_tree(contents), contents)
    path = folder / "report.html"
    budget = Budget(compressed_bytes=10_000, unpacked_bytes=1_000_000)
    facts = gather_facts({name: folder / name for name in ("full", "bare")}, {"full": budget})
    path.write_text(render_page(facts), encoding="utf-8")
    return path


class Seen:
    """What a page must not do: complain, or ask for anything."""

    def __init__(self, page: Page) -> None:
        self.faults: list[str] = []
        page.on("console", lambda message: self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.faults.append(request.url) if self.is_foreign(request.url) else None)

    @staticmethod
    def is_foreign(url: str) -> bool:
        return not url.startswith("file:")


def open_page(
    browser: Browser, path: Path, *, size: tuple[int, int] = WIDE, scheme: Scheme = "light"
) -> tuple[Page, Seen]:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    seen = Seen(page)
    page.goto(path.as_uri())
    return page, seen


@pytest.fixture
def opened(browser: Browser, page_path: Path) -> Iterator[Page]:
    """The page, at a desk; at the end it must have been quiet."""
    page, seen = open_page(browser, page_path)
    yield page
    assert seen.faults == []
    page.context.close()


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))


def way(page: Page) -> list[str]:
    return page.locator("#way button").all_text_contents()


def test_map_is_walked_by_keyboard(opened: Page) -> None:
    opened.locator("#map .tile").first.focus()
    names = [str(tile.get_attribute("aria-label")) for tile in opened.locator("#map .tile").all()]
    assert focused(opened) == names[0]
    reached = {names[0]}
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "End", "Home"):
        opened.keyboard.press(key)
        reached.add(focused(opened))
    assert len(reached) >= 3
    assert focused(opened) == names[0]


def test_enter_opens_and_escape_comes_back_to_the_same_tile(opened: Page) -> None:
    tile = opened.get_by_role("button", name="deb:rocblas, 13.0 kB")
    tile.focus()
    opened.keyboard.press("Enter")
    assert way(opened) == ["image", "deb:rocblas"]
    opened.keyboard.press("Enter")
    opened.keyboard.press("Enter")
    assert way(opened)[-1].endswith(".hsaco")
    assert "Kernels" in str(opened.locator("#side dd").first.text_content())
    for _ in range(3):
        opened.keyboard.press("Escape")
    assert way(opened) == ["image"]
    assert focused(opened) == "deb:rocblas, 13.0 kB"


def test_every_part_is_reached_by_the_tab_key(opened: Page) -> None:
    opened.locator("body").click(position={"x": 1, "y": 500})
    stops = []
    for _ in range(60):
        opened.keyboard.press("Tab")
        stops.append(str(opened.evaluate("(document.activeElement.closest('section') || document.activeElement).id")))
    assert {"images", "bytes", "layers", "left-out", "audit", "smoke", "scheme"} <= set(stops)


def test_place_is_in_the_address_and_the_browser_goes_back(opened: Page) -> None:
    opened.locator("#side button.row").first.click()
    assert opened.url.endswith("#/full/deb%3Atool")
    opened.reload()
    assert way(opened) == ["image", "deb:tool"]
    opened.go_back()
    assert way(opened) == ["image"]


def test_file_says_what_why_says(opened: Page) -> None:
    opened.keyboard.press("/")
    opened.keyboard.type("gfx942")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    terms, texts = (opened.locator(f"#side {tag}").all_text_contents() for tag in ("dt", "dd"))
    said = dict(zip(terms, texts, strict=True))
    assert said["Path"] == f"/{KERNEL}"
    assert said["Brought by"] == "deb:rocblas 1.0"
    assert said["Code for gfx942"] == "7.0\u00a0kB"
    assert "without code for gfx90a" in said["Other GPUs"]
    assert "libnuma.so.1" in said["error"]


def test_all_that_was_left_out_is_told_and_summed(opened: Page) -> None:
    """3600 B dropped, 5000 of symbols, 13,000 of GPU code and 70,000 in an equal file."""
    figure = opened.locator(".figure", has_text="Left out")
    assert figure.locator("strong").text_content() == "91.6\u00a0kB"
    words = "dropped by 1 rule, symbols of 1 file, GPU code of 1 file, 1 equal file"
    assert figure.locator("small").text_content() == words
    rules = opened.locator("#left-out summary").all_text_contents()
    assert [rule for rule in rules if rule.startswith("symbols")] == [
        "symbolsonly debuggers read them1 file5.0\u00a0kB"
    ]
    opened.goto(f"{opened.url.partition('#')[0]}#/full/deb%3Atool")
    opened.reload()
    opened.keyboard.press("/")
    opened.keyboard.type("usr/bin/tool")
    opened.keyboard.press("ArrowDown")
    opened.keyboard.press("Enter")
    facts = str(opened.locator("#side dl").text_content())
    assert "9.0\u00a0kB \u2192 4.0\u00a0kB, without symbol and debug tables, by rule symbols" in facts


def test_names_of_files_are_text(opened: Page) -> None:
    opened.get_by_role("button", name="full", exact=True).click()
    for word in ("bold", "quoted", "@SCRIPT@", "__proto__"):
        opened.locator("#find").fill(word)
        assert opened.locator("#side .rows button").count() == 1
        opened.locator("#side .rows button").click()
        assert opened.locator("#side dd").first.text_content()
    assert MARKUP in str(opened.locator("#audit").text_content())
    assert "taken" not in opened.title()
    assert opened.locator("img, b > b, script[src]").count() == 0


def test_checks_audit_and_budget_are_shown(opened: Page) -> None:
    assert "it says 3, not 4" in str(opened.locator("#smoke").text_content())
    findings = str(opened.locator("#audit").text_content())
    assert "libnuma.so.1" in findings
    assert "a library that a file links is nowhere in the image" in findings
    assert opened.locator(".fill.over").count() == 1
    opened.get_by_role("button", name="bare", exact=True).click()
    assert str(opened.locator("#smoke").text_content()).startswith("SmokeNot run: rockiln smoke bare")
    assert DIGEST[:19] in str(opened.locator(".hero").text_content())


def test_colours_by_gpu(opened: Page) -> None:
    opened.get_by_text("GPU", exact=True).click()
    assert any("gfx950" in text for text in opened.locator("#legend li").all_text_contents())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_page_fits_and_is_readable(
    browser: Browser, page_path: Path, tmp_path: Path, scheme: Scheme, size: tuple[int, int]
) -> None:
    page, seen = open_page(browser, page_path, size=size, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert page.evaluate("getComputedStyle(document.body).colorScheme") in {"light dark", scheme}
    assert min(measure_tiles(page)) >= READABLE
    page.locator("#scheme").click()
    assert min(measure_tiles(page)) >= READABLE
    assert seen.faults == []
    page.context.close()


def measure_tiles(page: Page) -> list[float]:
    """Contrast of text on every fill there is; axe does not look at text that lies over text's own siblings."""
    return page.evaluate(
        """() => {
          const light = (text) => {
            const probe = document.body.appendChild(document.createElement("i"));
            probe.style.color = text;
            const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
              .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            probe.remove();
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const names = ["library", "kernel", "python", "bytecode", "program", "data", "other", "host",
            ...[0, 1, 2, 3, 4, 5, 6, 7].map((n) => `arch${n}`)];
          const ink = light("var(--tile-ink)");
          return names.map((name) => light(`var(--${name})`))
            .map((fill) => (Math.max(ink, fill) + 0.05) / (Math.min(ink, fill) + 0.05));
        }"""
    )  # type: ignore[no-any-return]  # numbers


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, page_path: Path, scheme: Scheme) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    for place in ("", "#/full/deb%3Arocblas", "#/bare"):
        page.goto(f"{page_path.as_uri()}{place}")
        page.reload()
        violations = Axe().run(page).response["violations"]
        assert [(item["id"], item["nodes"][0]["html"]) for item in violations] == []
    context.close()


def test_twenty_thousand_files_are_drawn_fast(browser: Browser, tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    many = {f"usr/lib/many/{number % 97}/{number % 7}/file{number}.py": 500 + number % 3000 for number in range(20_000)}
    write_built(tmp_path / "many", "many", add_files(small_tree(contents), "deb:many", many), contents)
    text = render_page(gather_facts({"many": tmp_path / "many"}, {}))
    assert len(text) < 2_000_000
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    page, seen = open_page(browser, tmp_path / "report.html")
    took_ms = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    assert took_ms < 3000
    page.get_by_role("button", name="deb:many").first.click()
    assert page.locator("#map .tile").count() > 50
    assert seen.faults == []
