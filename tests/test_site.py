"""The rendered site in a real browser: pages that load alone, links that lead somewhere, nothing cut off, and use without a mouse.

One Chromium reads every page at three widths. It is the system's where there is one, otherwise the one that playwright installs.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import nbformat
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_docs"
WIDTHS = (1280, 768, 360)
INSTALL = "pip install 'uqcal[site]' && python -m playwright install chromium"
PAGES = sorted(path.relative_to(ROOT / "nbs").with_suffix(".html").as_posix() for path in (ROOT / "nbs").rglob("*.ipynb")
               if not any(part.startswith((".", "_")) for part in path.relative_to(ROOT).parts))
MADE = ["changes.html", "reference/index.html", "reference/errors.validation.html", "source/errors.validation.html"]  # made by tools/docs.py
SERIOUS = ("serious", "critical")
MEGABYTES = 25

# What lies outside a box that hides what is outside: texts, blocks of code and the parts of equations. A box that scrolls inside a frame is
# followed: there a table, an equation or a picture may be wider than the page; code and what was printed may not.
CLIPPED = """() => {
  const found = new Set(), width = document.documentElement.clientWidth, looks = new Map();
  if (document.documentElement.scrollWidth > innerWidth) found.add("the page scrolls sideways: " + document.documentElement.scrollWidth);
  const root = document.querySelector("main") || document.body;
  const look = box => {
    if (!looks.has(box)) {
      const style = getComputedStyle(box), hides = style.overflowX !== "visible" && style.display !== "inline";
      looks.set(box, { hides, area: hides ? box.getBoundingClientRect() : null,
        frame: /auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth && box.tabIndex === 0 && !box.matches("pre") });
    }
    return looks.get(box);
  };
  const judge = (boxes, from, words) => {
    for (const box of boxes) {
      if (!box.width || !box.height) continue;
      let { left, right } = box, cut = false;
      for (let up = from; up && up !== document.documentElement && !cut; up = up.parentElement) {
        const { hides, area, frame } = look(up);
        if (!hides || (right <= area.right + 1.5 && left >= area.left - 1.5)) continue;
        if (frame) { left = area.left; right = area.right; }
        else { found.add(up.tagName + "." + up.className + " cuts " + words()); cut = true; }
      }
      if (!cut && (right > width + 1.5 || left < -1.5)) found.add("beyond the window: " + words());
    }
  };
  for (const pre of root.querySelectorAll("pre")) {
    if (pre.scrollWidth > pre.clientWidth + 1 && pre.innerText.trim()) found.add("a block hides code: " + pre.innerText.slice(0, 60));
    judge(pre.getClientRects(), pre.parentElement, () => pre.innerText.slice(0, 60));
  }
  for (const part of root.querySelectorAll(".katex-html > *")) judge(part.getClientRects(), part.parentElement, () => part.textContent.slice(0, 60));
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.data.trim() || node.parentElement.closest("pre, .katex, script, style, [hidden], .visually-hidden, svg")) continue;
    range.selectNodeContents(node);
    judge(range.getClientRects(), node.parentElement, () => node.data.trim().slice(0, 60));
  }
  return [...found];
}"""
# Equations whose number lies on the formula, and pictures, equations and tables without size.
SIZES = """() => {
  const found = [];
  for (const image of document.querySelectorAll("main img")) {
    if (!image.complete || !image.naturalWidth || image.getBoundingClientRect().width < 40) found.push("no picture: " + image.src.slice(-60));
    if (!(image.getAttribute("alt") || "").trim()) found.push("no alternative text: " + image.src.slice(-60));
  }
  for (const formula of document.querySelectorAll("main .math")) {
    const box = (formula.querySelector(".katex-html") || formula).getBoundingClientRect();
    if (!formula.closest("details:not([open])") && (!formula.querySelector(".katex") || !box.width || !box.height)) found.push("no equation: " + formula.textContent.slice(0, 60));
    if (formula.querySelector(".katex-error")) found.push("not typeset: " + formula.textContent.slice(0, 60));
  }
  for (const tag of document.querySelectorAll(".katex-display .tag")) {
    const number = tag.querySelector(".mord")?.getBoundingClientRect();
    for (const base of tag.parentElement.querySelectorAll(":scope > .base"))
      if (number && base.getBoundingClientRect().right > number.left + 1) found.push("number on its formula: " + tag.textContent);
  }
  return found;
}"""


def needs(lacking):
    "Skip a test where a machine lacks something."
    if lacking: pytest.skip(lacking)


def no_browser():
    "What a machine lacks to look at a page, if anything."
    try: import playwright.sync_api  # noqa: F401
    except ImportError: return f"no playwright: {INSTALL}"
    return f"no Chromium: {INSTALL}" if chromium() is None else None


def no_renderer():
    "What a machine lacks to render the site, if anything."
    if shutil.which("npm") is None: return "no npm, which fetches KaTeX and axe: install Node.js"
    return "smalldocs, which renders the site, exists for Python 3.11 on" if sys.version_info < (3, 11) else None


def chromium():
    "The path of a Chromium: the system's, or playwright's."
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if path := shutil.which(name): return path
    from playwright.sync_api import sync_playwright
    with sync_playwright() as player: path = player.chromium.executable_path
    return path if Path(path).exists() else None


pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    "The rendered site, made once for all processes of a test run; UQCAL_SITE names one that is there already."
    if ready := os.environ.get("UQCAL_SITE"): return Path(ready)
    needs(no_renderer())
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith(("copy", "popen")): shared = shared.parent  # of a worker
    with contextlib.suppress(FileExistsError):
        (shared / "site").mkdir()
        begun = time.monotonic()
        done = subprocess.run([sys.executable, "tools/docs.py"], cwd=ROOT, capture_output=True, text=True)
        (shared / "site.txt").write_text(f"{done.returncode}\n{time.monotonic() - begun:.0f}\n{done.stderr}")
    while not (shared / "site.txt").exists(): time.sleep(0.5)
    code, seconds, said = (shared / "site.txt").read_text().split("\n", 2)
    assert code == "0" and not said.strip(), said
    return SITE


@pytest.fixture(scope="session")
def browser():
    needs(no_browser())
    from playwright.sync_api import sync_playwright
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe():
    "The accessibility checker, fetched as KaTeX is."
    needs(no_renderer())
    sys.path.insert(0, str(ROOT / "tools"))
    from pages import fetch
    return (fetch("axe-core", "4.14.1") / "axe.min.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def opened(browser, path, width=1280, **options):
    "A page from a file, and what it complained of or asked the web for."
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce", **options)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(path.as_uri(), wait_until="load")
    page.evaluate("document.fonts.ready.then(() => true)")
    yield page, said
    context.close()


def clipped(page):
    "What is cut off, at each width."
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")
        found += [f"{width}: {one}" for one in page.evaluate(CLIPPED)]
    return found


def faults(page, axe, only=None):
    "The serious findings of axe, each with the first places."
    if not page.evaluate("!!window.axe"): page.evaluate(axe)
    options = {"preload": False} | ({"runOnly": {"type": "rule", "values": only}} if only else {})
    found = page.evaluate("options => axe.run(document, {...options, resultTypes: ['violations']})", options)["violations"]
    return [f"{one['id']}: {[node['target'][0] for node in one['nodes'][:4]]} {one['nodes'][0]['failureSummary'][:200]}"
            for one in found if one["impact"] in SERIOUS]


@pytest.mark.parametrize("address", PAGES + MADE)
def test_a_page_is_whole(site, browser, axe, address):
    with opened(browser, site / address) as (page, said):
        assert page.evaluate(SIZES) == []
        assert faults(page, axe) == []
        assert clipped(page) == []
        page.set_viewport_size({"width": 360, "height": 900})
        assert page.evaluate(SIZES) == []
        assert said == []


@pytest.mark.parametrize("address", PAGES + MADE)
def test_a_page_can_be_read_in_the_dark(site, browser, axe, address):
    with opened(browser, site / address, color_scheme="dark") as (page, _):
        page.wait_for_timeout(400)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in re.findall(r"\d+", background)[:3]) < 200
        assert faults(page, axe, ["color-contrast"]) == []


def test_a_page_goes_on_paper(site, browser):
    for address in ("index.html", "subgroups/43_cumulative.html", "errors/51_validation.html", "tutorials/regression.html", "studies/simref_tables.html"):
        with opened(browser, site / address, 700) as (page, _):
            page.emulate_media(media="print")
            assert page.evaluate(CLIPPED) == [], address
            assert not page.locator("#quarto-header").is_visible() and page.locator("main h1").first.is_visible()
            assert page.pdf(format="A4").startswith(b"%PDF")


class Links(HTMLParser):
    "The anchors of a page, and the addresses that it names."

    def __init__(self, text):
        super().__init__()
        self.anchors, self.addresses = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(value for key in ("id", "name") if (value := named.get(key)))
        self.addresses += [value for key in ("href", "src") if (value := named.get(key))]


def test_every_link_leads_somewhere(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    assert len(pages) > len(PAGES)
    menu = Links(json.loads((site / "site_libs" / "menu.js").read_text(encoding="utf-8").removeprefix("window.siteMenu = ").rstrip(";\n")))
    assert len(menu.addresses) > len(PAGES)
    pages[site / "index.html"].addresses += menu.addresses
    lost = []
    for path, links in pages.items():
        for address in links.addresses:
            if re.match(r"[a-z]+:", address): continue
            place, anchor = urldefrag(unquote(address))
            target = (path.parent / place.split("?")[0]).resolve() if place else path
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors): lost.append(f"{path.relative_to(site)}: {address}")
    assert lost == []


def test_no_link_stands_in_the_text_as_it_was_written(site):
    silent = re.compile(r"<(pre|script|style|code)\b.*?</\1>", re.DOTALL)
    for path in sorted(site.rglob("*.html")):
        shown = re.sub(r"<[^>]+>", "", silent.sub("", path.read_text(encoding="utf-8")))
        assert not re.search(r"\]\([\w./#-]+\)", shown), path.relative_to(site)


def test_each_page_offers_its_notebook_with_the_tables_that_it_reads(site):
    for address in PAGES:
        notebook = (ROOT / "nbs" / address).with_suffix(".ipynb")
        with zipfile.ZipFile((site / "notebooks" / address).with_suffix(".zip")) as archive:
            found = nbformat.reads(archive.read(notebook.name).decode(), as_version=4)
            names = set(archive.namelist())
        nbformat.validate(found)
        sources = "\n".join(cell.source for cell in found.cells)
        assert sources == "\n".join(cell.source for cell in nbformat.read(notebook, as_version=4).cells)
        assert names == {notebook.name, *(table.name for table in notebook.parent.glob("*.csv") if table.name in json.dumps(sources))}
        assert not any(cell.get("outputs") for cell in found.cells)


def test_a_page_says_beside_the_link_what_its_notebook_fetches(site):
    for address, fetches in (("studies/simref_tables.html", True), ("tutorials/classification.html", True), ("probabilities/52_calibration.html", False), ("studies/own_errors.html", False)):
        links = re.search(r'<p class="page-links">.*?</p>', (site / address).read_text(encoding="utf-8"), re.DOTALL)[0]
        assert ("downloads published data" in links) == fetches, address


def test_the_site_is_small(site):
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < MEGABYTES * 1e6


def test_the_search_finds_a_word_from_a_file(site, browser):
    with opened(browser, site / "tutorials" / "regression.html") as (page, said):
        page.keyboard.press("/")
        page.keyboard.type("Kuiper")
        page.locator(".search-result").first.wait_for()
        assert "kuiper" in page.locator(".search-result").first.inner_text().lower()
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "regression.html" not in url)
        page.locator("main h1").first.wait_for()
        assert not page.url.endswith("regression.html") and "kuiper" in page.locator("main").inner_text().lower()
        assert said == []


SOUGHT = {  # what a newcomer types: a page among the first three
    "late outcomes": "18_tickets", "outcome comes late": "18_tickets", "calibration error": "40_reliability", "error bars": "glossary", "Kuiper": "42_calibration_tests",
    "Kupier": "23_consistency", "drift": "drift_", "prediction interval": "30_intervals", "temperature scaling": "44_recalibration", "rare events": "74_designs",
    "duplicates": "28_repeats", "weights": "74_designs", "which model is better": "56_model_comparison", "compare two models": "56_model_comparison",
    "how many groups": "47_screen", "csv": "70_cli", "conformal": "111_conformal", "coverage": "30_intervals", "reliab": "40_reliability", "install": "index",
    "overconfident": "gallery", "aleatoric": "faq", "fairness": "faq", "concept drift": "gallery", "conditional coverage": "gallery", "cite": "index",
    "bias_test": "26_bias", "conformalize": "173_conformalizing", "recalibrate": "172_recalibrating", "which numbers paper": "which_numbers"}


def test_the_search_finds_what_a_newcomer_types(site, browser):
    with opened(browser, site / "errors/51_validation.html") as (page, said):
        box, lost = page.locator(".smalldocs-search input").first, []
        for question, wanted in SOUGHT.items():
            page.evaluate("document.querySelectorAll('.search-result').forEach(link => link.remove())")
            box.fill(question)
            page.locator(".search-result").first.wait_for()
            found = page.evaluate("[...document.querySelectorAll('.search-result')].slice(0, 3).map(link => link.getAttribute('href'))")
            if not any(wanted in address for address in found): lost.append((question, found))
        assert lost == [] and said == []
        box.fill("xqzvw")
        page.locator(".search-none").wait_for()


def focused(page):
    return page.evaluate("(document.activeElement.innerText.trim() || document.activeElement.ariaLabel || document.activeElement.title).trim()")


def walk(page, wanted, most=40):
    "Press Tab until something is reached; whether it was."
    for _ in range(most):
        page.keyboard.press("Tab")
        if wanted in focused(page): return True
    return False


def test_the_keyboard_reaches_everything(site, browser):
    with opened(browser, site / "errors/51_validation.html") as (page, _):
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the text"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#quarto-document-content"
        page.keyboard.press("Tab")
        assert page.evaluate("!!document.activeElement.closest('main')")
    with opened(browser, site / "errors/51_validation.html") as (page, _):
        for place in ("Toggle dark mode", "Search"): assert walk(page, place), place
        section = page.locator("#quarto-sidebar a[data-bs-toggle]").first
        section.focus()
        before = section.get_attribute("aria-expanded")
        page.keyboard.press("Enter")
        assert section.get_attribute("aria-expanded") != before
        link = page.locator("#quarto-sidebar a.sidebar-link[href$='.html']").first
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: not url.endswith("errors/51_validation.html"))


def test_the_menu_of_a_phone_opens_and_closes_with_keys(site, browser):
    with opened(browser, site / "errors/51_validation.html", 360) as (page, _):
        assert walk(page, "Toggle sidebar navigation")
        inside = "!!document.activeElement.closest('#quarto-sidebar')"
        page.keyboard.press("Tab")
        assert not page.evaluate(inside)
        page.locator(".quarto-secondary-nav .quarto-btn-toggle").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("!document.querySelector('#quarto-sidebar').inert")
        page.locator("#quarto-sidebar a").first.focus()
        assert page.evaluate(inside)
        page.keyboard.press("Escape")
        page.wait_for_function("document.querySelector('#quarto-sidebar').inert")
        page.wait_for_function(f"!({inside})")  # the focus leaves with the next frame


def test_code_is_copied_as_it_was_written(site, browser):
    with opened(browser, site / "tutorials" / "regression.html") as (page, _):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        block = page.locator("div.code-copy-outer-scaffold:visible").first
        block.locator("button").click()
        page.wait_for_timeout(100)
        assert page.evaluate("navigator.clipboard.readText()").split() == block.locator("pre").inner_text().split()


def test_frames_that_scroll_can_be_seen_and_reached(site, browser):
    with opened(browser, site / "studies" / "simref_tables.html", 360) as (page, _):
        frames = page.locator(".scrolls")
        assert frames.count() > 0
        for k in range(frames.count()):
            assert frames.nth(k).get_attribute("tabindex") == "0"
            assert frames.nth(k).evaluate("box => parseFloat(getComputedStyle(box).borderTopWidth)") > 0


REPORTS = {
    "validate": ["demo", "--n-boot", "99", "--n-mc", "99", "--n-resamples", "99"],
    "validate scores": ["scores.csv", "--observed", "y", "--prob", "p", "--n-boot", "19", "--n-resamples", "99"],
    "compare-groups": ["scores.csv", "--observed", "y", "--score", "p", "--by", "arm", "--n-resamples", "99"],
    "validate intervals": ["scores.csv", "--observed", "value", "--lower", "low", "--upper", "high", "--level", "0.9", "--by", "p", "--n-resamples", "199"],
}


@pytest.mark.parametrize("command", REPORTS)
def test_a_report_is_whole(browser, axe, tmp_path, monkeypatch, command):
    from uqcal._command.cli import main
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    p, arm, value = rng.uniform(0.02, 0.98, 600).round(3), np.repeat(["treated", "control", "other"], 200), rng.normal(size=600).round(4)
    table = pd.DataFrame({"y": (rng.random(600) < p).astype(int), "p": p, "arm": arm, "value": value, "low": -1.5, "high": 1.5})
    table.to_csv("scores.csv", index=False)
    with pytest.raises(SystemExit) as ended: main([command.split()[0], *REPORTS[command], "--report", "report.html"])
    assert ended.value.code == 0
    with opened(browser, tmp_path / "report.html", bypass_csp=True) as (page, said):
        assert page.locator("svg, img").count() > 0 and page.locator("h1").count() == 1
        assert clipped(page) == []
        page.set_viewport_size({"width": 1280, "height": 900})
        assert faults(page, axe) == []
        page.emulate_media(media="print")
        assert page.pdf(format="A4").startswith(b"%PDF")
        assert said == []
