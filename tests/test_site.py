"""The rendered site in a real browser: pages that load alone, links that lead somewhere, nothing cut off, and use without a mouse.

One Chromium reads every page at three widths. It is the system's where there is one, otherwise the one that playwright installs.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_docs"
WIDTHS = (1280, 768, 360)
INSTALL = "pip install 'uqcal[site]' && python -m playwright install chromium"
PAGES = sorted(path.relative_to(ROOT / "nbs").with_suffix(".html").as_posix() for path in (ROOT / "nbs").rglob("*.ipynb")
               if not any(part.startswith((".", "_")) for part in path.relative_to(ROOT).parts))
SERIOUS = ("serious", "critical")
MEGABYTES = 20

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
        frame: /auto|scroll/.test(style.overflowX) && box.scrollWidth > box.clientWidth && box.classList.contains("scrolls") && !box.matches("pre") });
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
    if (pre.scrollWidth > pre.clientWidth + 1) found.add("a block hides code: " + pre.innerText.slice(0, 60));
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


def missing():
    "What a machine lacks to look at the site, if anything."
    try: import playwright.sync_api  # noqa: F401
    except ImportError: return f"no playwright: {INSTALL}"
    if chromium() is None: return f"no Chromium: {INSTALL}"
    if shutil.which("npm") is None: return "no npm, which fetches KaTeX and axe: install Node.js"
    if sys.version_info < (3, 11): return "smalldocs, which renders the site, exists for Python 3.11 on"
    return None


def chromium():
    "The path of a Chromium: the system's, or playwright's."
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if path := shutil.which(name): return path
    from playwright.sync_api import sync_playwright
    with sync_playwright() as player: path = player.chromium.executable_path
    return path if Path(path).exists() else None


LACKING = missing() if "slow" in " ".join(sys.argv) or os.environ.get("PYTEST_XDIST_WORKER") else None
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(LACKING), reason=LACKING or "")]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    "The rendered site, made once for all processes of a test run; UQCAL_SITE names one that is there already."
    if ready := os.environ.get("UQCAL_SITE"): return Path(ready)
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"): shared = shared.parent
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
    from playwright.sync_api import sync_playwright
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def axe():
    "The accessibility checker, fetched as KaTeX is."
    sys.path.insert(0, str(ROOT / "tools"))
    from pages import fetch
    return (fetch("axe-core", "4.14.1") / "axe.min.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def opened(browser, path, width=1280, **options):
    "A page from a file, and what it complained of or asked the web for."
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
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


@pytest.mark.parametrize("address", PAGES)
def test_a_page_is_whole(site, browser, axe, address):
    with opened(browser, site / address) as (page, said):
        assert page.evaluate(SIZES) == []
        assert faults(page, axe) == []
        assert clipped(page) == []
        page.set_viewport_size({"width": 360, "height": 900})
        assert page.evaluate(SIZES) == []
        assert said == []


@pytest.mark.parametrize("address", PAGES)
def test_a_page_can_be_read_in_the_dark(site, browser, axe, address):
    with opened(browser, site / address, color_scheme="dark") as (page, _):
        page.wait_for_timeout(120)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in re.findall(r"\d+", background)[:3]) < 200
        assert faults(page, axe, ["color-contrast"]) == []
