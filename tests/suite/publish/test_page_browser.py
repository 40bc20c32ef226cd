"""The pages in a real browser: they ask for nothing, complain of nothing, and serve eyes, keys and phones.

Where there is no Chromium each test says so in one line and passes; so does the one that needs axe-core.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.browser import Browser, Page, find
from helpers.toy_figures import illustrated, known
from helpers.toy_project import HERE
from structmargin_suite.planning.plan import load
from structmargin_suite.publish import page as page_module
from structmargin_suite.publish import tables
from structmargin_suite.publish.page import pages
from structmargin_suite.results import ExperimentResults, Results
from structmargin_suite.stages.report import report
from structmargin_suite.storage.frames import records, write_frame
from structmargin_suite.storage.statements_file import read_statements

LARGEST = 2_000_000
WIDTHS = (1400, 400)
STOPS = "a[href], button, summary, [tabindex='0'], input:not([type=radio]), input:checked, select"
LUMINANCE = """
const parts = (colour) => {
  const found = colour.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
  return colour.startsWith('color(') ? [...found.slice(0, 3).map((v) => v * 255), ...found.slice(3)] : found;
};
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
    return illustrated(tmp_path_factory.mktemp("page")) / "results" / "toy" / "index.html"


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The pages of the committed results, made again from their runs by the present configuration."""
    snapshot, folder = HERE / "results" / "snapshot", tmp_path_factory.mktemp("committed")
    suite = load(HERE, "standard", library=False)
    names = [name for name in suite.experiments if (snapshot / name / "summary.json").is_file()]
    for name in names:
        shutil.copytree(snapshot / name, folder / name, ignore=shutil.ignore_patterns("index.html"))
    shown = []
    for name in names:
        results = ExperimentResults(HERE, name, folder / name)
        old = results.config["tables"]
        new = suite.experiments[name].config["tables"]
        layout = ("rows", "columns", "names", "cells")
        for table in old.keys() & new.keys():
            if old[table].get("keys") != new[table].get("keys"):  # laid out by what it does not have
                continue
            old[table] |= {key: new[table][key] for key in layout if key in new[table]}
            again(results, table)
        shown.append(results)
    claims = read_statements(HERE / "data" / "published" / "statements.yaml")
    known_ids = {statement.id for claim in claims for statement in claim.statements}
    rows = [row for row in records(Results(HERE, snapshot).statements()) if row["id"] in known_ids]
    for name, text in pages(shown, claims, rows, suite, (snapshot / "distances.svg").read_bytes()).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def again(results, table):
    """Make a tidy table again from the runs."""
    spec = results.config["tables"][table]
    runs = results.select(spec["study"], done=False)
    own = {row["data"] for row in records(runs) if results.papers_own(row["corpus"])}
    made = tables.tidy(spec, runs, results.published(table), results.methods, own)
    write_frame(results.folder / f"{table}.csv", made)


@pytest.fixture(scope="module")
def browser():
    program = find()
    if program is None:
        print("no chromium here: the pages were not opened in a browser")
        yield None
        return
    with Browser(program) as running:
        yield running


def contrast(page: Page) -> float:
    """The smallest contrast of any visible text with what is behind it, as WCAG defines it; figures aside."""
    return page.value(
        f"(() => {{ {LUMINANCE} let least = 21;"
        "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
        "while (walker.nextNode()) { const node = walker.currentNode.parentElement;"
        "  const blank = !walker.currentNode.data.trim() || node.closest('.skip, script, svg, .sr');"
        "  if (blank || !node.checkVisibility()) continue;"
        "  const a = light(getComputedStyle(node).color), b = light(ground(node));"
        "  least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); }"
        "return least; })()"
    )


def opened(page: Page) -> Page:
    """A page with everything that is folded unfolded."""
    page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    return page


def every(folder: Path) -> list[Path]:
    return [folder / "index.html", *sorted(folder.glob("*/index.html"))]


def test_they_open_from_disk_with_every_picture_and_ask_for_nothing(made, committed, browser):
    for path in [*every(made.parent.parent), *every(committed)]:
        assert path.stat().st_size <= LARGEST
    if browser is None:
        return
    for path in [made, made.parent.parent / "index.html", committed / "localization" / "index.html"]:
        page = browser.open(path)
        asked = [address for address in page.requests() if not address.startswith("data:")]
        assert asked == [path.resolve().as_uri()] and page.complaints() == []
        shown = page.value("[...document.images].map((one) => [one.complete, one.naturalWidth])")
        assert all(done and width > 0 for done, width in shown)
        named = page.value(
            "[...document.querySelectorAll('.picture')].map((one) => one.getAttribute('aria-label').length)"
        )
        assert named and min(named) > 5


def test_table_1_of_jmlr05_is_two_clicks_away_and_its_sixteen_numbers_fit_the_screen(committed, browser):
    if browser is None:
        return
    for width in WIDTHS:
        for dark in (False, True):
            page = browser.open(committed / "index.html", width=width, dark=dark)
            link = page.value(
                "[...document.querySelectorAll('#paper-jmlr05 .chip')]"
                ".filter((one) => one.textContent.includes('Table 1')).map((one) => one.getAttribute('href'))"
            )
            assert link == ["taxonomy/index.html#table-taxonomy"]  # the page is one click, this the second
            page = browser.open(committed / "taxonomy" / "index.html", width=width, dark=dark)
            page.value("document.getElementById('table-taxonomy').scrollIntoView()")
            cells = page.value(
                "[...document.querySelectorAll('#table-taxonomy .tab:not([hidden]) td[data-label]')]"
                ".map((one) => {"
                " const box = one.getBoundingClientRect();"
                " return [one.querySelector('.ours').textContent, one.querySelector('.printed').textContent,"
                " box.left, box.right, box.bottom, one.className]; })"
            )
            assert len(cells) == 16
            assert all(left >= 0 and right <= width and bottom <= 900 for *_, left, right, bottom, _ in cells)
            printed = [text.removeprefix("the paper: ") for _, text, *_ in cells]
            assert printed[:8] == ["28.32", "28.32", "27.47", "29.74", "1.36", "1.32", "1.30", "1.21"]
            assert {name for *_, name in cells} == {""}  # no tint: these data are not the paper's


def test_table_5_fits_a_screen_and_no_page_scrolls_sideways(made, committed, browser):
    if browser is None:
        return
    for path in (made, committed / "index.html", committed / "parsing" / "index.html"):
        for width in WIDTHS:
            page = opened(browser.open(path, width=width))
            assert page.value("document.documentElement.scrollWidth") <= width
            small = page.value(
                "Math.min(...[...document.querySelectorAll('p, td, li')]"
                ".filter((one) => one.checkVisibility())"
                ".map((one) => parseFloat(getComputedStyle(one).fontSize)))"
            )
            assert small >= 12
            inside = page.value(
                "[...document.querySelectorAll('#table-parsing .tab:not([hidden]) .scroll')]"
                ".every((one) => one.scrollWidth <= one.clientWidth + 1)"
            )
            assert inside


def test_a_choice_shows_one_whole_table_and_a_filter_what_has_its_words(committed, browser):
    if browser is None:
        return
    page = browser.open(committed / "taxonomy" / "index.html")
    shown = "[...document.querySelectorAll('#table-taxonomy .tab')].filter((one) => !one.hidden)"
    assert page.value(f"{shown}.length") == 1
    first = page.value(f"{shown}[0].textContent")
    page.value("document.querySelector('#table-taxonomy input[value=\"synthetic\"]').click()")
    assert page.value(f"{shown}.map((one) => JSON.parse(one.dataset.chosen).data)") == ["synthetic"]
    assert page.value(f"{shown}[0].textContent") != first
    readings = "#table-taxonomy .choice[data-key=reading] input"  # not all run on made-up data
    page.value(f"[...document.querySelectorAll('{readings}')].at(-1).click()")
    other = page.value(f"[...document.querySelectorAll('{readings}')].at(-1).value")
    assert page.value(f"{shown}.map((one) => JSON.parse(one.dataset.chosen).reading)") == [other]
    page.value(
        "(() => { const box = document.getElementById('filter'); box.value = 'jmlr table 1';"
        " box.dispatchEvent(new Event('input')); })()"
    )
    left = page.value(
        "[...document.querySelectorAll('.side li[data-find]')].filter((one) => one.checkVisibility())"
        ".map((one) => one.textContent.trim())"
    )
    assert left == ["Table 1 Classification with taxonomies"]


def test_a_page_that_would_be_too_large_shows_pixels_instead_of_vectors(made, monkeypatch):
    def vectors(text):
        return {name for name in ("small", "middle", "large") if f'id="toy-{name}-' in text}

    usual = made.read_text()
    assert vectors(usual) == {"small", "middle"}
    monkeypatch.setattr(page_module, "LARGEST_PAGE", 1)
    with pytest.MonkeyPatch.context() as patch:
        known(patch)
        report(load(made.parent.parent.parent))
    small = made.read_text()
    made.write_text(usual)
    assert vectors(small) <= {"small"} and len(small) < len(usual) - 20_000


def test_a_request_an_error_and_a_broken_picture_would_be_seen(made, browser, tmp_path):
    """The eyes of these tests, on a page that is wrong in three ways."""
    if browser is None:
        return
    wrong = tmp_path / "wrong.html"
    broken = "<main id='main'><img src='missing.png'><script>nothing.at.all</script>"
    wrong.write_text(made.read_text().replace('<main id="main">', broken))
    page = browser.open(wrong)
    assert any(address.endswith("missing.png") for address in page.requests()) and len(page.complaints()) >= 2
    assert page.value("[...document.images].some((one) => one.naturalWidth === 0)")


def test_both_themes_can_be_read_and_the_button_turns_them(made, committed, browser):
    if browser is None:
        return
    dark = f"(() => {{ {LUMINANCE} return light(ground(document.body)) < 0.2; }})()"
    for path, system in (
        (made, False),
        (committed / "index.html", True),
        (committed / "alignment" / "index.html", False),
    ):
        page = browser.open(path, dark=system)
        page.value(
            "try { localStorage.clear() } catch (refused) {}; delete document.documentElement.dataset.theme"
        )
        opened(page)
        assert page.value(dark) is system and contrast(page) >= 4.5
        page.value("document.getElementById('theme').click()")
        assert page.value(dark) is not system and contrast(page) >= 4.5
        pressed = page.value("document.getElementById('theme').getAttribute('aria-pressed')")
        assert json.loads(pressed) is not system
        ink = page.value("getComputedStyle(document.documentElement).getPropertyValue('--plot-back').trim()")
        assert ink == ("#ffffff" if system else "#15171a")  # figures follow
        page.value("document.getElementById('theme').click()")
        assert page.value(dark) is system


def test_keys_alone_reach_and_work_everything(made, browser):
    if browser is None:
        return
    page = browser.open(made)
    page.press("Tab")
    assert page.value("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.value("location.hash") == "#main"
    page.value("document.activeElement.blur(), history.replaceState(null, '', location.pathname)")
    page = browser.open(made)
    stops = f'[...document.querySelectorAll("{STOPS}")].filter((one) => one.checkVisibility())'
    wanted = page.value(f"{stops}.length")
    page.value("window.reached = new Set(), 0")
    for _ in range(wanted):
        page.press("Tab")
        page.value("reached.add(document.activeElement), 0")
    lost = page.value(f"{stops}.filter((one) => !reached.has(one)).map((one) => one.outerHTML.slice(0, 80))")
    assert lost == []
    page.value("document.getElementById('theme').focus()")
    before = page.value("document.documentElement.dataset.theme || ''")
    page.press(" ")
    assert page.value("document.documentElement.dataset.theme") != before


def test_a_plot_tells_the_numbers_that_are_pointed_at_or_walked_to(made, browser):
    """The toy's smallest figure has the points (0, 0), (1, 37), (2, 74)."""
    if browser is None:
        return
    page = browser.open(made)
    page.value("window.figure = document.getElementById('figure-small'), 0")
    assert page.value("figure.querySelector('.picture').getAttribute('aria-label')") == (
        "A plot. Values: smallest 0 at 0, largest 74 at 2."
    )
    assert page.value("figure.querySelector('.plot').hidden")
    page.value("figure.querySelector('.switch').click()")
    assert page.value("!figure.querySelector('.plot').hidden && figure.querySelector('.picture').hidden")
    key = "new KeyboardEvent('keydown', {key: 'ArrowRight'})"
    for expected in ("value: 0 at 0", "value: 37 at 1", "value: 74 at 2"):
        page.value(f"figure.querySelector('.plot svg').dispatchEvent({key})")
        assert page.value("figure.querySelector('output').textContent") == expected
    assert page.value("figure.querySelector('.controls input').disabled")  # no logarithm of 0
    page.value(
        "(() => { const dot = figure.querySelectorAll('.point')[1].getBoundingClientRect();"
        "figure.querySelector('.plot svg').dispatchEvent(new PointerEvent('pointermove',"
        "{clientX: dot.x + 3, clientY: dot.y + 3})); })()"
    )
    assert page.value("figure.querySelector('output').textContent") == "value: 37 at 1"


def test_a_link_to_a_statement_in_a_closed_part_opens_it(made, browser):
    if browser is None:
        return
    page = browser.open(made.parent.parent / "index.html")
    closed = "[...document.querySelectorAll('details:not([open]) [id^=statement-]')]"
    name = page.value(f"{closed}[0].id")
    assert name and not page.value(f"document.getElementById('{name}').checkVisibility()")
    page.value(f"new Promise((done) => {{ location.hash = '{name}'; setTimeout(done, 100); }})")
    assert page.value(f"document.getElementById('{name}').checkVisibility()")


def axe() -> str | None:
    """The text of axe-core where npm has it: AXE_CORE, a global package, or one in node_modules here."""
    places = [Path(os.environ["AXE_CORE"])] if "AXE_CORE" in os.environ else []
    if shutil.which("npm"):
        asked = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False)
        places.append(Path(asked.stdout.strip() or ".") / "axe-core" / "axe.min.js")
    places.append(HERE / "node_modules" / "axe-core" / "axe.min.js")
    found = next((place for place in places if place.is_file()), None)
    return None if found is None else found.read_text(encoding="utf-8")


def test_axe_finds_no_violation(made, committed, browser):
    source = axe()
    if browser is None or source is None:
        print("no chromium or no axe-core here: accessibility was not checked by it")
        return
    for path, width, dark in (
        (made, 1400, False),
        (committed / "index.html", 1400, True),
        (committed / "alignment" / "index.html", 400, False),
    ):
        page = browser.open(path, width=width, dark=dark)
        page.value(source + "; 0")
        found = page.value(
            "axe.run(document, {rules: {'color-contrast': {enabled: true}}}).then((all) => all.violations"
            ".map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 99))))"
        )
        assert found == [], path
    page.value("document.getElementById('main').append(new Image())")  # it has eyes
    seen = page.value("axe.run(document).then((all) => all.violations.map((one) => one.id))")
    assert seen == ["image-alt"]


def test_a_statement_is_a_card_with_its_interval(committed):
    """One card by hand: the interval holds 0, and the paper's value stands to the right of ours."""
    text = (committed / "taxonomy" / "index.html").read_text()
    card = re.search(
        r'<article class="card" id="statement-taxonomy-best-accuracy-4">.*?</article>', text, re.DOTALL
    )
    assert card is not None
    row = next(
        row for row in records(Results(HERE, HERE / "results" / "snapshot").statements())
        if row["id"] == "taxonomy-best-accuracy-4" and row["primary"]
    )  # fmt: skip
    places = {
        "effect": float(re.search(r'class="effect" cx="([\d.]+)"', card[0])[1]),
        "paper": float(re.search(r'class="paper-mark" d="M([\d.]+) ', card[0])[1]),
        "zero": float(re.search(r'class="mark" x1="([\d.]+)"', card[0])[1]),
    }
    low, high = (
        float(place) for place in re.search(r'class="whisker" x1="([\d.]+)" x2="([\d.]+)"', card[0]).groups()
    )
    scale = (high - low) / (row["high"] - row["low"])
    for name, value in (("effect", row["effect"]), ("paper", 1.42), ("zero", 0.0)):
        assert places[name] == pytest.approx(low + (value - row["low"]) * scale, abs=0.2)
    assert row["verdict"] in card[0] and "the paper 1.42" in card[0]
    assert "was fixed after a first look at results: that two rounds of the newsgroups and two" in card[0]
