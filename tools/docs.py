"""Render the notebooks into _docs, readable offline: nbdev prepares the pages, Quarto or smalldocs lays them out.

Quarto is taken where it is on the PATH; smalldocs, a Python package that reads the same _quarto.yml, otherwise. What is then done to
the rendered pages is in pages.py.
"""
import io
import itertools
import json
import keyword
import re
import shutil
import subprocess
import sys
import tokenize
import zipfile
from configparser import ConfigParser
from html import escape
from pathlib import Path

import yaml
from docstrings import Package, definitions
from pages import finish
from reference import describe, write_reference

SHORT = {"kw": "b", "st": "i"}  # tags of keywords and of strings, which styles.css colours
ROOT = Path(__file__).resolve().parent.parent
STAGE, SITE = ROOT / "_proc", ROOT / "_docs"


def address():
    "The public address of the repository, empty until there is one."
    settings = ConfigParser(delimiters=["="], interpolation=None)
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    return settings["DEFAULT"]["git_url"].rstrip("/")


def filtered(path, package):
    """A notebook as nbdev prepares it for a page. What it says of exported names is read from the exported module: nbdev would run
    every cell with an import again, which needs the data sets, although the outputs to show are stored."""
    from fastcore.nbio import mk_cell, read_nb
    from nbdev.process import Processor
    from nbdev.processors import FilterDefaults, exec_show_docs

    class ShowDocs(Processor):
        def cell(self, cell):
            if not (module and (shown := shown_name(cell))): return
            cell.outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/markdown": describe(package, module, shown)}}]

    class Pages(FilterDefaults):
        def base_procs(self): return [ShowDocs if processor is exec_show_docs else processor for processor in super().base_procs()]

    notebook = read_nb(path)
    for cell in notebook.cells:  # nbdev takes each line for an option of its own
        if cell.cell_type == "code": cell.source = re.sub(r"(?m)^(#\|.*(?:\n#\|  .*)+)", lambda found: " ".join(re.split(r"\n#\| +", found[1])), cell.source)
    named = [re.search(r"(?m)^#\| *default_exp +([\w.]+)", cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    module = next((module for module in package.modules if module.name in [found[1] for found in named if found]), None)
    places = {node.name: node.lineno for owner, node in definitions(module.tree) if not owner} if module else {}
    notebook.cells.append(mk_cell("<!-- end -->", "markdown"))  # nbdev looks at the cell after an exported one
    Pages()(notebook)
    for cell in notebook.cells: close_source(cell)
    runs = [list(run) for _, run in itertools.groupby(notebook.cells, lambda cell: bool(of_module(cell)))]
    for run in runs: run.sort(key=lambda cell: places.get(of_module(cell), 0))  # nbdev shows the functions of a cell from the last to the first
    notebook.cells = join_sources([cell for run in runs for cell in run])
    return notebook


def close_source(cell):
    "A source that is shown opens with a click on what it is the source of."
    if cell.cell_type != "code" or "#| code-fold: show" not in cell.source: return
    names = ", ".join(re.findall(r"(?m)^(?:def|class) (\w+)", cell.source) or re.findall(r"(?m)^(\w+) *=", cell.source))
    cell.source = cell.source.replace("#| code-fold: show", "#| code-fold: true", 1)
    cell.source = cell.source.replace('"Exported source"', f'"Source of {names}"' if names else '"Source"', 1)


def join_sources(cells):
    "The same cells, with sources that follow each other under one fold."
    joined = []
    for cell in cells:
        one, before = folded_source(cell), folded_source(joined[-1]) if joined else None
        if one and before:
            joined[-1].source = f"{before[0]}{before[1]}, {one[1]}{before[2]}{before[3].rstrip()}\n\n\n{one[3].lstrip()}"
        else: joined.append(cell)
    return joined


def folded_source(cell):
    "The options of a cell up to the names whose source it folds, these names, the other options, and the source; None for other cells."
    found = re.match(r'(?s)((?:#\|[^\n]*\n)*#\|[^\n]*"Source of )([\w, ]+)("[^\n]*\n(?:#\|[^\n]*\n)*)(.*)', cell.source or "") if cell.cell_type == "code" else None
    return found and found.groups()


def shown_name(cell):
    "The function or class that a cell put in by nbdev shows, if it is one."
    found = re.search(r"(?m)^show_doc\(([\w.]+)", cell.source or "") if cell.cell_type == "code" else None
    return found[1] if found else None


def of_module(cell):
    "What a cell shows of the module: a documented name, or the last of those whose source it folds; None for other cells."
    folded = re.search(r'"Source of (?:\w+, )*(\w+)"', cell.source or "") if cell.cell_type == "code" else None
    return shown_name(cell) or (folded[1] if folded else None)


def prepare():
    "Stage the pages, with links that lead somewhere."
    from fastcore.nbio import write_nb
    from nbdev.config import nbpath2html
    notebooks = ROOT / "nbs"
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(notebooks, STAGE, ignore=shutil.ignore_patterns(".*", "_*"))
    staged = sorted(STAGE.rglob("*.ipynb"))
    package = Package(ROOT / "uqcal")
    pages = {nbpath2html(path.relative_to(STAGE)).as_posix(): path.relative_to(STAGE).with_suffix(".html").as_posix() for path in staged}
    for path in staged:
        original = notebooks / path.relative_to(STAGE)
        write_nb(filtered(original, package), path)
        head(path, original)
        relink(path, pages, address())
    derived = {module_of(path): path.relative_to(notebooks) for path in notebooks.rglob("*.ipynb")}
    for module in package.modules: stage_source(module, derived.get(module.name))
    titles = {module: (page, title_of(notebooks / page)) for module, page in derived.items() if module}
    write_reference(package, STAGE / "reference", titles)
    stage_changes()
    stage_settings()


def title_of(notebook):
    "The title of a notebook."
    return re.search(r"(?m)^# (.+)$", "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]))[1]


def stage_changes():
    "The list of changes as a page."
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (STAGE / "changes.md").write_text("---\ntitle: What's new\n---\n" + re.sub(r"^# .*\n", "", text), encoding="utf-8")


def stage_settings():
    "Stage the site's settings."
    settings = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    if not shutil.which("quarto"): del settings["format"]["html"]["html-math-method"]  # smalldocs knows only KaTeX
    settings["website"]["page-footer"] = {"left": edition(), "right": "[How to cite](/index.ipynb#how-to-cite)"}
    (STAGE / "_quarto.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def edition():
    "The version of the package and its date, as each page says them; both are in CITATION.cff."
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return f"uqcal {cited['version']}, {cited['date-released']}"


def relink(path, pages, repository):
    """Correct a staged notebook: nbdev names a page after its module, here it keeps its number, as links between notebooks expect;
    and links to the source lead to the repository, or to a page of the site while there is no public repository."""
    up = "../" * (len(path.relative_to(STAGE).parts) - 1)

    def page(match): return f"]({up}{pages[match[1]]}{match[2] or ''})" if match[1] in pages else match[0]
    def source(match):
        if repository: return f"]({repository}/blob/main/uqcal/{match[1]}.py{match[2]})"
        return f"]({up}source/{match[1].replace('/', '.').lstrip('_')}.html{match[2]})"

    def recalibrate_errors(text):
        text = re.sub(r"\[(\[`[\w.]+`\]\([^)\s]*\))\]\([^)\s]*\)", r"\1", text)  # nbdev links a name that is the text of a link
        text = re.sub(r"\[(`[\w.]+(?:\(\))?`)\]\([^)\s]*#_\w+\)", r"\1", text)  # what is private has no heading to link to
        text = re.sub(r"\]\(/blob/main/uqcal/([\w/]+)\.py(?:#LNone)?(|#L\d+)\)", source, text)
        return re.sub(r"\]\(/?([\w/]+\.html)(#[^)]*)?\)", page, text)

    def walk(value):
        if isinstance(value, str): return recalibrate_errors(value)
        if isinstance(value, list): return [walk(item) for item in value]
        if isinstance(value, dict): return {key: walk("".join(item) if key == "text/markdown" else item) for key, item in value.items()}
        return value

    notebook = walk(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


def head(path, original):
    "Under the title of a staged notebook: what is needed to run it elsewhere, and the module it defines."
    up = "../" * (len(path.relative_to(STAGE).parts) - 1)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    bundle = original.relative_to(ROOT / "nbs").with_suffix(".zip").as_posix()
    what = "notebook and tables" if tables_of(original) else "notebook"
    links = [f'<a href="{up}notebooks/{bundle}" download>Download the {what}</a>']
    if module := module_of(original):
        page = module.lstrip("_")
        links.append(f'<a href="{up}source/{page}.html">Source of uqcal.{module}</a>')
    text = f'<p class="page-links">{" · ".join(links)}{fetched_by(original)}</p>'
    notebook["cells"].insert(1, {"cell_type": "markdown", "metadata": {}, "source": text})
    notebook["cells"][0]["source"] = re.sub(r"(?m)^output-file:.*\n", "", "".join(notebook["cells"][0]["source"]))
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


FETCHED = {  # the size in MB of all that a loader may download
    "load_errors": 3.8, "load_table": 4.9, "load_logits": 4.3}


def fetched_by(notebook):
    "What a notebook downloads when it is run, as part of a sentence; empty if nothing."
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    run = "\n".join(source for source in sources if not re.match(r"#\| *exports?\b", source))
    size = sum(megabytes for loader, megabytes in FETCHED.items() if f"{loader}(" in run)
    return f". Run for the first time, it downloads published data, {size:.1f} MB at most" if size else ""


def tables_of(notebook):
    "The tables beside a notebook that it reads."
    text = notebook.read_text(encoding="utf-8")
    return [table for table in sorted(notebook.parent.glob("*.csv")) if table.name in text]


def offer_notebooks():
    "Each notebook as it was written, without what it printed, in an archive with the tables that it reads."
    for original in sorted((ROOT / "nbs").rglob("*.ipynb")):
        if original.name[0] in "._": continue
        target = (SITE / "notebooks" / original.relative_to(ROOT / "nbs")).with_suffix(".zip")
        target.parent.mkdir(parents=True, exist_ok=True)
        notebook = json.loads(original.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code": cell.update(outputs=[], execution_count=None)
        held = {original.name: json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"}
        held |= {table.name: table.read_text(encoding="utf-8") for table in tables_of(original)}
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in held.items(): archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED, 9)


def module_of(notebook):
    "The module that a notebook defines, if it defines one."
    found = re.search(r"#\| *default_exp +([\w.]+)", notebook.read_text(encoding="utf-8"))
    return found[1] if found else None


def stage_source(module, notebook):
    "A page that shows an exported module, with an anchor at each definition."
    target = STAGE / "source" / f"{module.page}.md"
    target.parent.mkdir(exist_ok=True)
    front = f"---\ntitle: uqcal.{module.name}\nsubtitle: The module as exported from its notebook\ntoc: false\nsearch: false\n---\n\n"
    anchored = {node.lineno for _, node in definitions(module.tree)}
    lines = [f'<span id="L{number}"></span>{line}' if number in anchored else line
             for number, line in enumerate(coloured(module.path.read_text(encoding="utf-8")).splitlines(), 1)
             if not line.startswith('<span class="co"># %% ')]  # marks of cells, of use to nbdev only
    code = "\n".join(lines)
    link = f"[The page that derives it](../{notebook.as_posix()})\n\n" if notebook else ""
    target.write_text(f'{front}{link}~~~~~~{{=html}}\n<div class="sourceCode"><pre class="sourceCode python module"><code class="sourceCode python">{code}'
                      "</code></pre></div>\n~~~~~~\n", encoding="utf-8")


def coloured(text):
    "Python as HTML: comments carry the renderers' class, keywords are bold and strings `i`, which is shorter."
    starts = list(itertools.accumulate((len(line) for line in text.splitlines(True)), initial=0))
    pieces, done = [], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        kind = "co" if name == "COMMENT" else "st" if "STRING" in name else "kw" if name == "NAME" and keyword.iskeyword(token.string) else None
        if kind is None: continue
        first, last = (starts[line - 1] + column for line, column in (token.start, token.end))
        before, shown = (escape(part, quote=False) for part in (text[done:first], text[first:last]))
        pieces += [before, f'<span class="co">{shown}</span>' if kind == "co" else f"<{SHORT[kind]}>{shown}</{SHORT[kind]}>"]
        done = last
    return "".join([*pieces, escape(text[done:], quote=False)])


def render():
    "Lay out the staged pages; the answer is what the renderer warned of, such as a broken link."
    shutil.rmtree(SITE, ignore_errors=True)
    if quarto := shutil.which("quarto"): command = [quarto, "render", "--no-execute", "--quiet"]
    else: command = [sys.executable, "-m", "smalldocs.cli", "render", "--quiet", "."]
    done = subprocess.run(command, cwd=STAGE, stderr=subprocess.PIPE, text=True)
    if done.returncode: sys.exit(done.stderr)
    return done.stderr.strip()


if __name__ == "__main__":
    prepare()
    warnings = render()
    finish(SITE)
    offer_notebooks()
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}, start with {SITE.relative_to(ROOT)}/index.html")
    sys.exit(warnings or 0)
