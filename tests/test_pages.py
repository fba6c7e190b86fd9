"""What a page may rely on: its introduction is shown, its words are explained, its notebook runs where it is taken to."""
import base64
import io
import json
import os
import re
import sys
import zlib

import notebooks
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from nbclient.exceptions import CellExecutionError
from PIL import Image

from uqcal._command.studies import KINDS, new_study
from uqcal._command.studies import PAGES as TUTORIALS

sys.path.insert(0, str(notebooks.ROOT / "tools"))
import forks
from docs import join_sources
from pages import deflated, lighter, menu_of, redrawn, together
from fastcore.nbio import mk_cell

PAGES = sorted(notebooks.every_notebook())
FOLDERS = sorted({path.parent.name for path in PAGES})


def words(path):
    "The prose of a page."
    return "\n".join(cell.source for cell in notebooks.read(path).cells if cell.cell_type == "markdown")


@every_case("folder", FOLDERS)
def test_a_page_begins_with_its_title_and_claim_and_its_pictures_are_no_sketches(folder):
    "nbdev makes the head of a page from it and drops whatever else it holds. Pictures: runs of tests draw at 30 dots per inch; what readers see is drawn whole."
    for path in PAGES:
        if path.parent.name != folder: continue
        cells = notebooks.read(path).cells
        first = cells[0].source.splitlines()
        assert first[0].startswith("# ") and any(line.startswith("> ") for line in first), path.stem
        assert not [line for line in first[1:] if line and not line.startswith("> ")], path.stem
        pictures = [one["data"]["image/png"] for cell in cells for one in cell.get("outputs", []) if "image/png" in one.get("data", {})]
        for one in pictures: assert Image.open(io.BytesIO(base64.b64decode(one))).info["dpi"][0] > 60, f"{path.stem}: a sketch"


GLOSSARY = notebooks.ROOT / "nbs" / "glossary.ipynb"
TERMS = re.findall(r"(?m)^- \*\*([^*]+)\*\*: (.+?) \[[^\]]+\]\(([^)#]+)\)$", words(GLOSSARY))


def test_each_line_of_the_glossary_is_a_term_a_sentence_and_a_page():
    lines = [line for line in words(GLOSSARY).splitlines() if line.startswith("- ")]
    assert len(TERMS) == len(lines) > 50
    assert len({term for term, _, _ in TERMS}) == len(TERMS)
    for term, said, _ in TERMS: assert said.endswith(".") and len(said.split()) < 45, term


def test_terms_of_the_glossary_are_used_on_their_pages():
    missing = [f"{page} doesn't use the word {term!r}" for term, _, page in TERMS if not re.search(rf"(?i)\b{re.escape(term)}", words(GLOSSARY.parent / page))]
    assert not missing, "\n".join(missing)


def test_the_pages_that_travel_are_those_that_can_be_begun_from():
    assert {f"own_{kind}" for kind in KINDS} | set(TUTORIALS) == set(forks.PAGES)


@every_case("page", forks.PAGES)
def test_a_page_that_travels_is_made_from_its_notebook_and_marks_what_to_change(page):
    original = json.loads((notebooks.ROOT / "nbs" / forks.PAGES[page] / f"{page}.ipynb").read_text(encoding="utf-8"))
    held = json.loads((notebooks.ROOT / "uqcal" / "data" / f"{page}.ipynb").read_text(encoding="utf-8"))
    assert held == forks.fork(original), "run `make export`"
    first = next("".join(cell["source"]) for cell in held["cells"] if cell["cell_type"] == "code")
    assert first.startswith("# CHANGE THIS CELL" if page.startswith("own_") else "# THE DATA OF THIS PAGE")
    prose = "".join("".join(cell["source"]) for cell in held["cells"] if cell["cell_type"] == "markdown")
    assert not re.findall(r"\]\((?!https?:)[^)]*\)", prose) and "relative tolerance of" not in prose
    assert not any(line.startswith("assert ") for cell in held["cells"] if cell["cell_type"] == "code" for line in "".join(cell["source"]).split("\n"))


def study(path, page):
    "A notebook to fill in, or a tutorial."
    return new_study(path, page.removeprefix("own_")) if page.startswith("own_") else new_study(path, page=page)


@pytest.mark.slow
@pytest.mark.parametrize("page", list(forks.PAGES))
def test_a_new_study_runs_as_it_is_in_an_empty_folder(page, tmp_path):
    path = study(tmp_path / "mine", page)
    try: ran = notebooks.run(path)
    except CellExecutionError as error:
        if error.ename == "DatasetUnavailable" and "UQCAL_DATA_DIR" not in os.environ: pytest.skip(error.evalue)
        raise
    assert any(cell.outputs for cell in ran.cells if cell.cell_type == "code")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mine.ipynb", "report.html"][:1 + page.startswith("own_")]
    said = "".join(one.get("text", "") for cell in ran.cells if cell.cell_type == "code" for one in cell.outputs)
    if page.startswith("own_"): assert f"{tmp_path / 'report.html'}: " in said, "a report that nobody finds"


CHANGES = {
    "errors": 'observed, mean, std, unit = "y", "m", "s", "kg"\nby, groups, tolerance, seed = ["side"], "who", 1.5, 2',
    "intervals": 'observed, lower, upper, level = "y", "lo", "hi", 0.9\nby, groups, seed = [], "who", 2',
    "probabilities": 'observed, prob = "event", "p"\nby, groups, seed = ["side"], "who", 2',
    "quantiles": 'observed, quantiles = "y", "q*"\nby, groups, seed = [], None, 2',
    "classes": 'observed, probs = "kind", {"p": "yes", "q": "no", "r": "maybe"}\nby, groups, seed = [], None, 2',
    "stream": 'observed, prob, run_length = "event", "p", 1000'}


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_notebook_is_filled_in_by_one_cell(kind, tmp_path):
    "Another file with other names, and nothing below the first cell is edited."
    rng = np.random.default_rng(1)
    n, spread = 300, rng.uniform(1, 2, 300)
    p = rng.uniform(0.05, 0.6, n).round(3)
    table = pd.DataFrame({"y": (10 + 1.5 * spread * rng.standard_normal(n)).round(2), "m": 10.0, "s": spread.round(2), "lo": (10 - 2 * spread).round(2),
                          "hi": (10 + 2 * spread).round(2), "p": p, "q": 0.3, "r": (0.7 - p).round(3), "event": (rng.random(n) < p).astype(int),
                          "side": rng.choice(["left", "right"], n), "who": np.repeat(np.arange(n // 2), 2), "kind": rng.choice(["yes", "no", "maybe"], n)})
    if kind == "quantiles": table = table.drop(columns="q").assign(q10=10 - spread, q50=10.0, q90=10 + spread).round(2)
    table.to_csv(tmp_path / "mine.csv", index=False)
    path = new_study(tmp_path / "mine", kind)
    held = json.loads(path.read_text(encoding="utf-8"))
    first = next(cell for cell in held["cells"] if cell["cell_type"] == "code")
    first["source"] = ["import numpy as np\nimport pandas as pd\ntable = pd.read_csv('mine.csv')\n" + CHANGES[kind]]
    path.write_text(json.dumps(held), encoding="utf-8")
    ran = notebooks.run(path)
    said = "".join(one.get("text", "") + str(one.get("data", {}).get("text/plain", "")) for cell in ran.cells if cell.cell_type == "code" for one in cell.outputs)
    assert "300 rows" in said and "recalibrated" in said.lower() + "recalibrated" * (kind == "stream") and (tmp_path / "report.html").exists()


def test_a_page_that_is_worked_out_names_what_its_cells_use():
    "Mutations: the cell marked as one that may be changed alone; names of modules, or of what a later cell makes itself."
    codes = ["import numpy as np\ny, (z, _) = 1, (2, 3)\nax = {k: k for k in []}\ndef f(x): return x\n", "ax = f(y) + np.pi", "print(z.a)\n"]
    made = forks.fork({"cells": [{"cell_type": "code", "id": str(k), "source": [code]} for k, code in enumerate(codes)]})
    said = " ".join("".join(made["cells"][0]["source"]).split("import")[0].replace("# ", "").split())
    assert "Other data ask for edits throughout, since the cells below use f, y, z; a page to be filled in comes from uqcal new-study" in said


def test_a_new_study_replaces_nothing(tmp_path):
    (tmp_path / "mine.ipynb").write_text("a day's work")
    for name in ("mine", "mine.ipynb"):
        with pytest.raises(FileExistsError, match="mine.ipynb is there already"): new_study(tmp_path / name)
    assert (tmp_path / "mine.ipynb").read_text() == "a day's work"
    with pytest.raises(ValueError, match="kind must be one of"): new_study(tmp_path / "other", "nowhere")
    with pytest.raises(ValueError, match="page must be one of"): new_study(tmp_path / "other", page="nowhere")


def test_no_line_begins_with_a_percent_sign_or_the_mark_after_a_formula():
    kept = '<pre>print(7 % 3)</pre><code>5 %</code><a title="5 %">'
    assert together(f"<p>in 95 % of {kept}") == f"<p>in 95\u00a0% of {kept}"
    formula = '<span class="math inline">\\(s\\)</span>'
    assert together(f"{formula}, {formula} and") == f'<span class="kept">{formula},</span> {formula} and'


def test_an_entry_of_the_menu_is_a_link_and_nothing_around_it():
    "Fails if a section of the menu loses what opens it, or an entry the mark of the page that is shown."
    head = '<li class="sidebar-item sidebar-item-section"><div class="sidebar-item-container"><a href="#" class="sidebar-item-text sidebar-link text-start"><span class="menu-text">A</span></a><a href="#"></a></div>'
    entry = '<li class="sidebar-item"><div class="sidebar-item-container"><a href="a.html" class="sidebar-item-text sidebar-link active"><span class="menu-text">One &amp; two</span></a></div></li>'
    assert lighter(head + entry) == head + '<li class="sidebar-item"><a href="a.html" class="sidebar-link active">One &amp; two</a></li>'


def test_the_menu_is_kept_once_without_a_mark():
    front = '<nav id="quarto-sidebar" class="a"><a href="./index.html" class="sidebar-link active" aria-current="page">Start</a><a href="b/c.html"></a></nav>'
    assert menu_of(front) == '<a href="index.html" class="sidebar-link">Start</a><a href="b/c.html"></a>'


def test_a_source_is_compressed_and_keeps_its_anchors():
    "Fails if the code that a page compresses is not what the browser unpacks, or if code that is shown at once is compressed."
    code = '<b>def</b> f():\n<span id="L2"></span>    <b>return</b> 1'
    module = f'<pre class="sourceCode python module"><code class="sourceCode python">{code}</code></pre>'
    folded = f'<summary>Source of f</summary>\n<div class="a"><div class="sourceCode" id="cb1"><pre class="sourceCode python cell-code"><code class="sourceCode python">{code}</code></pre>'
    for page in (module, folded):
        found = re.search(r'data-deflated="([^"]*)"><span id="L2"></span></code></pre>$', deflated(page))
        assert zlib.decompress(base64.b64decode(found[1]), wbits=-15).decode() == code
    shown = folded.replace("Source of f", "Code")
    assert deflated(shown) == shown


def test_a_drawing_keeps_what_is_seen():
    drawing = ('<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "a">\n<svg width="460.8pt" viewBox="0 0 460.8 345.6">\n <metadata>\n  made\n </metadata>\n <!-- a -->\n'
               ' <path d="M 57.123456 219.6 L -414.728888 0.015625" style="fill: #00123456"/>\n</svg>\n')
    assert redrawn(drawing) == '<svg width="460.8pt" viewBox="0 0 460.8 345.6">\n<path d="M 57.12 219.6 L -414.73 0.015625" style="fill: #00123456"/>\n</svg>\n'


def test_sources_that_follow_each_other_lie_under_one_fold():
    "A page has a cell for each definition; a reader opens them with one click, unless prose or an output stands between."
    def folded(name): return mk_cell(f'#| code-fold: true\n#| code-summary: "Source of {name}"\n#| exports: true\ndef {name}(): pass')
    shown = mk_cell("#| code-fold: true\n1 + 1")
    joined = join_sources([folded("_a"), folded("_b"), folded("_c"), mk_cell("Prose.", "markdown"), folded("_d"), shown, folded("_e")])
    assert [cell.source.count("#| code-fold") for cell in joined] == [1, 0, 1, 1, 1]
    assert joined[0].source == ('#| code-fold: true\n#| code-summary: "Source of _a, _b, _c"\n#| exports: true\n'
                                "def _a(): pass\n\n\ndef _b(): pass\n\n\ndef _c(): pass")
