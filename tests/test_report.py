"""The report needs nothing but a browser, says the verdict first, escapes what it shows, and is written whole or not at all."""
import base64
import dataclasses
import html
import json
import os
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest
from published import diffusion

from uqcal import __version__
from uqcal.errors.validation import validate_errors
from uqcal.errors import report
from uqcal.reports import Caution
from uqcal._base.page import Card, Section, Verdict, check_target, draw_picture, render_page, write_whole

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "\"><script>alert('x')</script><img src=http://example.org/x.png onerror=alert(1)>&amp;{{ 7 * 7 }}"
VOID = {"meta", "img", "br", "link", "input", "hr"}


@pytest.fixture(scope="module")
def validation():
    demo = diffusion()
    return validate_errors(demo.error, demo.uncertainty, n_boot=200, n_mc=200, rng=0)


@pytest.fixture(scope="module")
def page(validation, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    page = validation.to_html(path, details={"Data": "errors.csv", "In Python": "uqcal.recalibrate(…)"})
    assert path.read_text(encoding="utf-8") == page
    return page


class Elements(HTMLParser):
    "All elements with their attributes; refuses a page whose elements are not closed in order."

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in VOID: self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if "style" not in self.open: self.text.append(data)

    def named(self, tag): return [attributes for name, attributes in self.found if name == tag]


def words(page): return " ".join(" ".join(Elements(page).text).split()).replace("\u00a0", " ")


def test_page_loads_nothing(page):
    elements = Elements(page)
    assert {tag for tag, _ in elements.found} <= {"html", "head", "meta", "title", "style", "body", "main", "header", "h1", "h2", "p", "ul", "ol", "li", "strong",
                                                  "span", "div", "figure", "figcaption", "img", "table", "thead", "tbody", "tr", "th", "td", "dl", "dt",
                                                  "dd", "a", "details", "summary", "footer", "pre"}
    sources = [attributes["src"] for attributes in elements.named("img")]
    assert len(sources) == 10 and all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert all(a["href"].startswith("https://doi.org/10.") for a in elements.named("a"))
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    style = page[page.index("<style>"):page.index("</style>")]
    assert "url(" not in style and "@import" not in style and "http" not in style
    assert {"http-equiv": "Content-Security-Policy", "content": "default-src 'none'; img-src data:; style-src 'unsafe-inline'"} in elements.named("meta")


def test_pictures_load_nothing(page):
    pictures = [base64.b64decode(picture["src"].partition("base64,")[2]).decode() for picture in Elements(page).named("img")]
    for picture in pictures:
        addresses = re.findall(r'(?:xlink:)?href="([^"]*)"', picture) + re.findall(r"url\(([^)]*)\)", picture)
        assert addresses and all(address.startswith(("#", "data:")) for address in addresses)
        assert "<script" not in picture


def test_page_is_readable_by_machines_and_people(page):
    elements = Elements(page)
    assert elements.named("html") == [{"lang": "en"}] and {"charset": "utf-8"} in elements.named("meta")
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in elements.named("meta")
    assert len(elements.named("h1")) == len(elements.named("main")) == len(elements.named("title")) == 1
    assert all(len(attributes["alt"]) > 40 for attributes in elements.named("img"))
    assert all(attributes["scope"] == "col" for attributes in elements.named("th"))


def test_verdict_comes_first_then_picture_cards_and_next_step(page, validation):
    text, elements = words(page), Elements(page)
    cards = [f"{one.label} {one.mark} {one.status} {one.line[1:]}" for one in validation.findings]
    order = [text.index(validation.headline), text.index(validation.conclusion)] + [text.index(card[-40:]) for card in cards]
    order += [text.index(f"Next: {validation.step.sentence}"), text.index("uqcal.recalibrate(…)"), text.index("Findings and tests in full")]
    order += [text.index(score.sentence) for score in validation.scores.values()] + [text.index("References"), text.index("Date")]
    assert order == sorted(order)
    tags = [tag for tag, _ in elements.found]
    assert tags.index("img") < tags.index("ul") < tags.index("pre") < tags.index("details") < tags.index("footer") and tags.count("details") >= 8
    assert all(caution.sentence in text for caution in validation.cautions) and len(validation.headline.split()) <= 12
    for fact in ("2,040", "200 (normal), 200 (t6)", "errors.csv", __version__, np.__version__, "10.5281/zenodo.10730985"): assert fact in text


def test_status_is_said_by_sign_and_word(page):
    badges = re.findall(r'<span class="badge (\w+)"><span aria-hidden="true">(.)</span> (\w+)</span>', page)
    assert {(status, sign) for status, sign, word in badges if status == word} == {("valid", "✓"), ("invalid", "✗"), ("inconclusive", "?")} and len(badges) == 9


def _luminance(colour):
    parts = [int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)]
    return np.dot([0.2126, 0.7152, 0.0722], [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055)**2.4 for c in parts])


@pytest.mark.parametrize("status", ["valid", "minor", "invalid", "inconclusive"])
def test_status_has_contrast(page, status):
    back, ink = re.search(rf"\.{status} {{ background: (#\w{{6}}); color: (#\w{{6}}); }}", page).groups()
    light, dark = sorted((_luminance(back), _luminance(ink)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) > 4.5


def test_every_string_is_escaped():
    picture = draw_picture(lambda ax: ax.set(xlabel="x"), HOSTILE, caption=HOSTILE)
    section = Section(HOSTILE, HOSTILE, (HOSTILE,), (picture,), (HOSTILE,), pd.DataFrame({HOSTILE: [HOSTILE]}), {HOSTILE: HOSTILE}, ((HOSTILE, HOSTILE),))
    page = render_page(HOSTILE, Verdict(HOSTILE, (Card(HOSTILE, HOSTILE, HOSTILE),)), [section])
    elements = Elements(page)
    assert not elements.named("script") and len(elements.named("img")) == 1 and "49" not in page.replace(picture.address, "")
    assert words(page).count(HOSTILE) >= 15
    assert elements.named("img")[0]["alt"] == HOSTILE


@pytest.mark.usefixtures("undrawn")
def test_title_and_details_are_escaped(validation, tmp_path):
    page = validation.to_html(title=HOSTILE, details={HOSTILE: HOSTILE})
    assert not Elements(page).named("script") and words(page).count(HOSTILE) == 4
    assert f"<title>{html.escape(HOSTILE, quote=False)}".replace('"', "&#34;").replace("'", "&#39;") in page


def test_same_result_same_bytes_whatever_style_the_user_has(validation, page, tmp_path):
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "svg.fonttype": "none"}):
        before = dict(matplotlib.rcParams)
        again = validation.to_html(details={"Data": "errors.csv", "In Python": "uqcal.recalibrate(…)"})
        assert dict(matplotlib.rcParams) == before
    assert again == page


@pytest.mark.usefixtures("undrawn")
def test_no_figure_stays_open(validation, tmp_path):
    import matplotlib.pyplot as plt
    mine = plt.figure()
    validation.to_html()
    assert plt.get_fignums() == [mine.number] and plt.gcf() is mine
    plt.close(mine)


# --- the words

def test_direction_of_the_conclusions_is_that_of_the_zms(validation):
    for factor, direction in ((0.5, "too small"), (2.0, "too large")):
        result = validate_errors(validation.sample.error, factor * validation.sample.uncertainty, statistics=("zms",), n_boot=100, n_mc=50, n_resamples=99, rng=1)
        assert result["on average"].direction == direction and ("verconfident" in result.conclusion) == (direction == "too small")


def test_each_finding_is_told_in_full_with_its_test(validation, page):
    text = words(page)
    for one in validation.findings: assert f"{one.label}: {one.status}. {one.sentence} Test: {one.method}." in text
    assert text.index("Findings and tests in full") < text.index("Graphs of the tests") < text.index("All scores")


def test_features_are_drawn_and_their_names_escaped(tmp_path):
    demo = diffusion()
    features = {HOSTILE: np.arange(300.0), "$x_{1$": ["$a^$", "<b>", "c"] * 100}
    result = validate_errors(demo.error[:300], demo.uncertainty[:300], by=features, n_boot=100, n_mc=50, rng=0)
    page = result.to_html()
    elements = Elements(page)
    assert not elements.named("script") and len(elements.named("img")) == 14
    assert all(f"{kind} by {title}" in words(page) for title in (HOSTILE, "$x_{1$") for kind in ("Bias", "Size"))
    assert all(len(attributes["alt"]) > 40 for attributes in elements.named("img"))


@pytest.mark.usefixtures("undrawn")
def test_report_without_conclusions_is_about_the_statistics(tmp_path):
    demo = diffusion()
    result = validate_errors(demo.error, demo.uncertainty, conclusions=False, n_boot=100, n_mc=50, rng=0, statistics=("zms", "correlation"))
    text = words(result.to_html())
    assert "Graphs of the tests" not in text and "Correlation of |E|/u with u" in text and result.scores["correlation"].sentence in text
    assert [(one.name, one.kind, one.status) for one in result.findings] == [("on average", "scores", "valid"), ("along u", "scores", "invalid")]


def test_statistics_that_differ_are_named_and_the_worst_decides():
    rng = np.random.default_rng(2)
    u = np.exp(0.6 * rng.normal(size=2000))
    result = validate_errors(u * rng.normal(size=2000), 0.7 * u**1.3, statistics=("zms", "rce"), conclusions=False, n_boot=100, n_mc=50, rng=1)
    finding = result["on average"]
    assert finding.status == "invalid" and finding.facts["statistics"] == {name.upper(): score.status for name, score in result.scores.items()}
    assert [one.name for one in validate_errors(u * rng.normal(size=2000), u, statistics=("cc",), conclusions=False, n_boot=100, n_mc=50, rng=1).findings] == ["ranking"]


@pytest.mark.parametrize("name", ["zms", "nll", "rce"])
@pytest.mark.parametrize("factor, direction", [(0.5, "too small"), (2.0, "too large")])
def test_direction_is_that_of_the_uncertainties(name, factor, direction):
    rng = np.random.default_rng(2)
    u = rng.uniform(1, 3, 500)
    result = validate_errors(u * rng.normal(size=500), factor * u, statistics=(name,), distribution="normal", conclusions=False, n_boot=100, n_mc=50, rng=1)
    assert result["on average"].direction == direction and ("verconfident" in result.conclusion) == (direction == "too small")


def slipped():
    "Perfect points, three rows to a molecule, one row of which has its uncertainty in another unit."
    rng = np.random.default_rng(3)
    u = rng.lognormal(size=300)
    error = u * rng.normal(size=300)
    u[7] /= 1000
    return error, u


@pytest.mark.usefixtures("undrawn")
def test_report_names_causes_rows_groups_and_tolerance(tmp_path):
    result = validate_errors(*slipped(), groups=np.arange(300) // 3, tolerance=1.5, statistics=("zms",), n_boot=200, n_resamples=199, n_mc=50, rng=1)
    text = words(result.to_html())
    assert result.causes and all(f"{one.strength.capitalize()}: {one.sentence}" in text for one in result.causes) and "Seen: Row 7 " in text
    assert "Next: Check the file first. Row 7" in text and "alone decides" in text
    assert "Clusters 100 " in text and "Tolerance a factor of 1.5; for bias 0.5 u" in text


@pytest.mark.usefixtures("undrawn")
def test_report_says_that_no_cause_was_found_and_that_rows_stand_alone(tmp_path):
    error, u = slipped()
    result = validate_errors(error[8:], u[8:], statistics=("zms",), n_boot=100, n_resamples=99, n_mc=50, rng=1)
    text = words(result.to_html())
    assert "No known mistake explains these findings" in text and "Clusters" not in text


def test_pictures_of_size_say_that_a_bias_was_taken_out(validation, page):
    "Each picture is that of its own test: the graph of squares is of errors less the bias that the verdict names first."
    assert validation["bias"].status == "invalid" and validation["along u"].centred
    captions = re.findall(r"<figcaption>([^<]*)</figcaption>", page)
    assert captions[1].startswith("Where the graph climbs, E/u lies above") and captions[2].startswith("Errors less their bias. Where the graph climbs, uncertainties")


class Known:
    "A cause that has a sentence."
    def __init__(self, sentence): self.sentence = sentence


@pytest.mark.usefixtures("undrawn")
def test_a_cause_stands_in_its_own_section_and_not_among_the_cautions(validation, tmp_path):
    cause = Caution(code="cause", facts={"cause": Known(sentence="Rows repeat.")})
    text = words(dataclasses.replace(validation, cautions=(cause, *validation.cautions)).to_html())
    assert "Rows repeat." not in text and "What could have gone wrong" in text and all(one.sentence in text for one in validation.cautions)


@pytest.mark.usefixtures("undrawn")
def test_report_of_constant_uncertainties_gives_the_reason(tmp_path):
    error = np.random.default_rng(0).normal(size=200)
    result = validate_errors(error, np.ones(200), n_boot=100, n_mc=50, rng=1)
    text = words(result.to_html())
    assert "nothing to rank" in text and "nan" not in text.lower()


@pytest.mark.parametrize("change", ["two points", "huge", *(pytest.param(name, marks=pytest.mark.slow) for name in ("zeros", "ties", "one distribution"))])
def test_report_of_odd_data(tmp_path, change):
    rng = np.random.default_rng(5)
    u = rng.uniform(1, 3, 120)
    error = u * rng.normal(size=120)
    options = dict(n_boot=50, n_mc=20, n_bins=4, rng=1)
    if change == "zeros": error[:40] = 0
    if change == "two points": error, u, options = error[:2], u[:2], options | dict(n_bins=1)
    if change == "ties": u = np.round(u)
    if change == "huge": error, u = 1e140 * error, 1e140 * u
    if change == "one distribution": options |= dict(distribution="laplace", statistics=("zms", "cc", "ence"))
    text = words(validate_errors(error, u, **options).to_html())
    assert "Bootstrap resamples" in text and not re.search(r"\bnan\b", text)
    if change == "zeros": assert "40 errors of exactly 0 are not drawn" in text


def test_numbers_in_the_page_are_those_of_the_frame(page, validation):
    table = page[page.index("<h2>Statistics</h2>"):]
    cells = re.findall(r"<td>([^<]*)</td>", table[:table.index("</table>")])
    frame = validation.to_frame("statistics")
    width = len(frame.columns)
    rows = [dict(zip(frame.columns, cells[k:k + width])) for k in range(0, len(cells), width)]
    assert len(rows) == len(frame)
    for row, (_, expected) in zip(rows, frame.iterrows()):
        assert row["statistic"] == expected["statistic"]
        for name in ("estimate", "bias", "reference", "zeta"): assert float(row[name].replace("−", "-")) == pytest.approx(expected[name], rel=6e-3)


# --- whole or not at all

@pytest.fixture
def target(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("the one before", encoding="utf-8")
    return path


def untouched(target): return target.read_text(encoding="utf-8") == "the one before" and [p.name for p in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize("step", ["os.replace", "os.fsync", "shutil.copymode"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failing_write_leaves_the_file_before(target, monkeypatch, step, fault):
    def fail(*arguments, **options): raise fault
    monkeypatch.setattr(step, fail)
    with pytest.raises(type(fault), match="report.html can't be written: No space left" if isinstance(fault, OSError) else None): write_whole("new", target)
    monkeypatch.undo()
    assert untouched(target)


@pytest.mark.usefixtures("undrawn")
def test_failing_report_leaves_the_file_before(validation, target, monkeypatch):
    def fail(*arguments): raise OSError(28, "No space left on device")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="report.html can't be written: No space left"): validation.to_html(target)
    monkeypatch.undo()
    assert untouched(target)


def test_failing_picture_leaves_the_file_before(validation, target, monkeypatch):
    def fail(*arguments): raise RuntimeError("no picture")
    monkeypatch.setattr(report, "_link_picture", fail)
    with pytest.raises(RuntimeError, match="no picture"): validation.to_html(target)
    assert untouched(target)


def test_existing_file_is_replaced_in_place(target, tmp_path):
    os.chmod(target, 0o640)
    link = tmp_path / "link.html"
    link.symlink_to(target)
    assert write_whole("new ζ\n", link) == link
    assert link.is_symlink() and target.read_bytes() == "new ζ\n".encode() and stat.S_IMODE(target.stat().st_mode) == 0o640


def test_new_file_has_usual_rights(tmp_path):
    usual = tmp_path / "usual"
    usual.touch()
    assert write_whole("x", tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_names_are_limited_by_the_file_system_only(tmp_path):
    assert write_whole("x", tmp_path / ("n" * 250)).read_text() == "x"


@pytest.mark.parametrize("path, kind, message", [
    ("missing/report.html", FileNotFoundError, "missing/report.html can't be written: there is no folder missing"),
    (".", IsADirectoryError, "is a folder"),
    (os.devnull, OSError, "a device or a pipe"),
])
def test_targets_that_cannot_be_written(validation, tmp_path, monkeypatch, path, kind, message):
    monkeypatch.chdir(tmp_path)
    for write in (check_target, validation.to_html, lambda path: write_whole("x", path)):
        with pytest.raises(kind, match=message): write(path)
    assert not list(tmp_path.iterdir()) and not os.path.isfile(os.devnull)


def test_file_without_permission(target, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"report.html can't be written: permission denied"): check_target(target)
    with pytest.raises(PermissionError): check_target(target.with_name("other.html"))


def test_wrong_kinds_are_named(validation, tmp_path):
    with pytest.raises(TypeError, match="title must be text, got int"): validation.to_html(tmp_path / "r.html", title=3)
    with pytest.raises(TypeError): validation.to_html(3.5)
    assert not list(tmp_path.iterdir())


# --- in a browser

def in_browser(page, width, tmp_path):
    "How wide the page is, and what sticks out, in a frame of this width."
    script = """const frame = document.querySelector('iframe'); frame.onload = () => { const page = frame.contentDocument;
      const out = [...page.querySelectorAll('body *')].filter(e => !e.closest('.table') && e.getBoundingClientRect().right > innerWidthOf + 0.5).map(e => e.tagName);
      const sizes = [...page.images].map(i => i.naturalWidth);
      document.querySelector('pre').textContent = JSON.stringify({width: page.documentElement.scrollWidth, out, sizes}); };""".replace("innerWidthOf", str(width))
    wrapper = tmp_path / "frame.html"
    wrapper.write_text(f'<!DOCTYPE html><meta charset="utf-8"><pre></pre><iframe style="width:{width}px;height:800px;border:0" srcdoc="{html.escape(page)}"></iframe>'
                       f"<script>{script}</script>", encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=8000", "--dump-dom"]
    done = subprocess.run([CHROMIUM, *flags, wrapper.as_uri()], capture_output=True, text=True, timeout=120)
    return json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", done.stdout)[1]))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [360, 1200])
def test_page_fits_the_window(page, width, tmp_path):
    seen = in_browser(page, width, tmp_path)
    assert seen["width"] <= width and not seen["out"], seen
    assert len(seen["sizes"]) == page.count("<img ") > 6 and min(seen["sizes"]) > 100
