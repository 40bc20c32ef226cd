"""The page in a real browser: it asks for nothing, complains of nothing, sorts, and serves eyes and keys.

Where there is no Chromium each test says so in one line and passes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers.browser import Browser, Page, find
from helpers.toy_figures import illustrated, known
from helpers.toy_project import HERE
from structmargin_suite.planning.plan import load
from structmargin_suite.publish import page
from structmargin_suite.stages.report import report

LARGEST = 5_000_000
STOPS = "a[href], button, summary, [tabindex='0']"
LUMINANCE = """
const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
const light = (colour) => {
  const [r, g, b] = parts(colour).slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const colour = getComputedStyle(node).backgroundColor;
    if ((parts(colour)[3] ?? 1) > 0) { return colour; }
  }
};
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The page of the toy experiment."""
    return illustrated(tmp_path_factory.mktemp("page")) / "results" / "index.html"


@pytest.fixture(scope="module")
def browser():
    program = find()
    if program is None:
        print("no chromium here: the page was not opened in a browser")
        yield None
        return
    with Browser(program) as running:
        yield running


def pages(made: Path) -> list[Path]:
    """The page made here, and the one that comes with the project if there is one."""
    kept = HERE / "results" / "snapshot" / "index.html"
    return [made, *([kept] if kept.is_file() else [])]


def column(page: Page, table: int, place: int) -> list[str]:
    """The texts of one column of the table-th table."""
    rows = f"[...document.querySelectorAll('table.sortable')[{table}].tBodies[0].rows]"
    return page.value(f"{rows}.map((row) => row.cells[{place}].textContent.trim())")


def contrast(page: Page) -> float:
    """The smallest contrast of any visible text with what is behind it, as WCAG defines it."""
    return page.value(
        f"(() => {{ {LUMINANCE} let least = 21;"
        "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
        "while (walker.nextNode()) { const node = walker.currentNode.parentElement;"
        "  const blank = !walker.currentNode.data.trim() || node.closest('.skip, script');"
        "  if (blank || !node.checkVisibility()) continue;"
        "  const a = light(getComputedStyle(node).color), b = light(ground(node));"
        "  least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); }"
        "return least; })()"
    )


def test_it_opens_from_disk_with_every_picture_and_asks_for_nothing(made, browser):
    for path in pages(made):
        assert path.stat().st_size <= LARGEST
        if browser is None:
            continue
        page = browser.open(path)
        asked = [address for address in page.requests() if not address.startswith("data:")]
        assert asked == [path.resolve().as_uri()] and page.complaints() == []
        shown = page.value("[...document.images].map((one) => [one.complete, one.naturalWidth, one.alt])")
        assert shown and all(done and width > 0 and alt for done, width, alt in shown)
        assert page.value("document.querySelectorAll('[id^=claim-]').length") >= 36


def test_a_page_that_would_be_too_large_shows_pixels_instead_of_vectors(made, monkeypatch):
    def vectors(text):
        found = re.findall(r'<img src="data:image/([a-z+]+);base64,[^"]+" alt="A (\w+) figure', text)
        assert [name for _, name in found] == ["small", "middle", "large", "small_time"]
        return {name for kind, name in found if kind == "svg+xml"} - {"small_time"}

    usual = made.read_text()
    assert vectors(usual) == {"small", "middle"}
    monkeypatch.setattr(page, "LARGEST_PAGE", 1)
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        report(load(made.parent.parent))
    small = made.read_text()
    made.write_text(usual)
    assert vectors(small) <= {"small"} and len(small) < len(usual) - 20_000


def test_a_request_an_error_and_a_broken_picture_would_be_seen(made, browser, tmp_path):
    """The eyes of these tests, on a page that is wrong in three ways."""
    if browser is None:
        return
    wrong = tmp_path / "wrong.html"
    wrong.write_text(
        made.read_text().replace("<main>", "<main><img src='missing.png'><script>nothing.at.all</script>")
    )
    page = browser.open(wrong)
    assert any(address.endswith("missing.png") for address in page.requests()) and len(page.complaints()) >= 2
    assert page.value("[...document.images].some((one) => one.naturalWidth === 0)")


def test_a_click_sorts_by_number_a_second_backwards_a_third_as_it_was(made, browser):
    if browser is None:
        return
    page = browser.open(made)
    tables = "[...document.querySelectorAll('table.sortable')]"
    page.value(f"window.heads = {tables}.map((one) => [...one.tHead.rows[0].cells]), 0")
    widths = page.value("heads.map((one) => one.length)")
    numeric = 0
    for table, width in enumerate(widths):
        for place in range(width):
            before = column(page, table, place)
            orders = []
            for _ in range(3):
                page.value(f"heads[{table}][{place}].firstChild.click()")
                orders.append(column(page, table, place))
            up, down, again = orders
            assert again == before and sorted(up) == sorted(before) == sorted(down)
            texts = [text for text in up if text not in ("", "no run")]
            assert up[: len(texts)] == texts and down[: len(texts)] == [
                t for t in down if t not in ("", "no run")
            ]
            if all(re.match(r"[-+]?\d+(\.\d+)?( ±.*)?$", text) for text in texts):
                values = [float(text.split(" ±")[0]) for text in texts]
                assert values == sorted(values)
                backwards = [float(text.split(" ±")[0]) for text in down[: len(texts)]]
                assert backwards == sorted(values, reverse=True)
                numeric += len(set(values)) > 1
    assert len(widths) >= 2 and numeric >= 2


def test_both_themes_can_be_read_and_the_button_turns_them(made, browser):
    if browser is None:
        return
    dark = f"(() => {{ {LUMINANCE} return light(ground(document.body)) < 0.2; }})()"
    for system in (False, True):
        page = browser.open(made, dark=system)
        page.value(
            "try { localStorage.clear() } catch (refused) {}; delete document.documentElement.dataset.theme"
        )
        page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.value(dark) is system and contrast(page) >= 4.5
        page.value("document.getElementById('theme').click()")
        assert page.value(dark) is not system and contrast(page) >= 4.5
        pressed = page.value("document.getElementById('theme').getAttribute('aria-pressed')")
        assert json.loads(pressed) is not system
        page.value("document.getElementById('theme').click()")
        assert page.value(dark) is system


def test_keys_alone_reach_and_work_everything(made, browser):
    if browser is None:
        return
    page = browser.open(made)
    wanted = page.value(
        f'[...document.querySelectorAll("{STOPS}")].filter((one) => one.checkVisibility()).length'
    )
    page.press("Tab")
    assert page.value("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.value("location.hash") == "#statements"
    page.value("document.activeElement.blur(), history.replaceState(null, '', location.pathname)")
    page = browser.open(made)
    page.value("window.reached = new Set(), 0")
    for _ in range(wanted):
        page.press("Tab")
        hidden = page.value(
            "(() => { const one = document.activeElement; reached.add(one);"
            "return one.matches(':focus-visible') && getComputedStyle(one).outlineStyle === 'none'; })()"
        )
        assert not hidden
    reached = page.value("[...reached].filter((one) => one !== document.body).length")
    assert reached == wanted
    page.value("document.getElementById('theme').focus()")
    before = page.value("document.documentElement.dataset.theme || ''")
    page.press(" ")
    assert page.value("document.documentElement.dataset.theme") != before
    page.value("document.querySelector('table.numbers th button').focus()")
    page.press("Enter")
    assert page.value("document.querySelector('table.numbers th').getAttribute('aria-sort')") == "ascending"


def test_a_phone_scrolls_down_only(made, browser):
    if browser is None:
        return
    for path in pages(made):
        for width in (390, 1280):
            page = browser.open(path, width=width)
            page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert page.value("document.documentElement.scrollWidth") <= width
            small = page.value(
                "Math.min(...[...document.querySelectorAll('p, td, li')]"
                ".filter((one) => one.checkVisibility())"
                ".map((one) => parseFloat(getComputedStyle(one).fontSize)))"
            )
            assert small >= 12


def test_a_link_to_a_statement_in_a_closed_part_opens_it(made, browser):
    if browser is None:
        return
    page = browser.open(made)
    closed = "[...document.querySelectorAll('details:not([open]) [id^=statement-]')]"
    name = page.value(f"{closed}[0].id")
    assert name and not page.value(f"document.getElementById('{name}').checkVisibility()")
    page.value(f"new Promise((done) => {{ location.hash = '{name}'; setTimeout(done, 100); }})")
    assert page.value(f"document.getElementById('{name}').checkVisibility()")
