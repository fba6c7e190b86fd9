"""Render the notebooks into _docs, readable offline: nbdev prepares the pages, Quarto or smalldocs lays them out.

Quarto is taken where it is on the PATH; smalldocs, a Python package that reads the same _quarto.yml, otherwise. Both would load the
equations' typesetter from the web, so KaTeX is fetched once with npm and shipped with the site.
"""
import base64
import io
import itertools
import json
import re
import shutil
import subprocess
import sys
import tarfile
from configparser import ConfigParser
from pathlib import Path

import yaml
from docstrings import Package, definitions
from PIL import Image, ImageChops
from reference import describe

ROOT = Path(__file__).resolve().parent.parent
STAGE, SITE, BUILD = ROOT / "_proc", ROOT / "_docs", ROOT / "build"
KATEX = "0.16.22"
WEB_KATEX = re.compile(r"https://cdn\.jsdelivr\.net/npm/katex@[^/]+/dist/")

EMBEDDED = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=]+)")
VISIBLE = 24  # of 255: how far the colour of a point may move
INDEX_AS_SCRIPT = """const fromServer = window.fetch;
window.fetch = (address, ...more) => !String(address).endsWith("search.json") ? fromServer(address, ...more) : new Promise((done, failed) => {
  const script = document.createElement("script");
  script.src = String(address).replace(/json$/, "js");
  script.onload = () => done(new Response(JSON.stringify(window.searchIndex)));
  script.onerror = failed;
  document.head.append(script);
});
"""


def fetch_katex():
    "The unpacked KaTeX distribution, downloaded with npm where it isn't there yet."
    folder = BUILD / f"katex-{KATEX}"
    if not folder.is_dir():
        if shutil.which("npm") is None: sys.exit("make docs needs npm, once, to fetch KaTeX, which typesets the equations")
        BUILD.mkdir(exist_ok=True)
        subprocess.run(["npm", "pack", "--silent", f"katex@{KATEX}"], cwd=BUILD, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(BUILD / f"katex-{KATEX}.tgz") as archive: archive.extractall(BUILD / "unpacked", filter="data")
        shutil.move(BUILD / "unpacked" / "package", folder)
    return folder / "dist"


def ship_katex(source, site):
    "Copy what the pages need and make them load it from the site."
    target = site / "site_libs" / "katex"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("katex.min.css", "katex.min.js", "contrib/auto-render.min.js"):
        (target / name).parent.mkdir(exist_ok=True)
        shutil.copy(source / name, target / name)
    shutil.copytree(source / "fonts", target / "fonts", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.ttf", "*.woff"))
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        page.write_text(WEB_KATEX.sub(f"{up}site_libs/katex/", page.read_text(encoding="utf-8")), encoding="utf-8")


def search_from_a_file(site):
    "A browser lets a page that was opened from a file fetch nothing, so the index of the search comes as a script."
    script = site / "site_libs" / "smalldocs.js"
    if not script.exists(): return
    index = site / "search.json"
    (site / "search.js").write_text(f"window.searchIndex = {index.read_text(encoding='utf-8')};\n", encoding="utf-8")
    index.unlink()
    script.write_text(INDEX_AS_SCRIPT + script.read_text(encoding="utf-8"), encoding="utf-8")


def lighten_pictures(site):
    "Reduce the pictures inside pages to the 256 colours nearest to theirs, a third of the size, wherever no point changes visibly."
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        lighter = EMBEDDED.sub(lambda found: f"data:image/png;base64,{lightened(found[1])}", text)
        if lighter != text: page.write_text(lighter, encoding="utf-8")


def lightened(encoded):
    "A picture in base64 with at most 256 colours; as it is where that shows, or saves nothing."
    picture = Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGB")
    reduced = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    furthest = max(high for _, high in ImageChops.difference(picture, reduced.convert("RGB")).getextrema())
    reduced.save(written := io.BytesIO(), "png", optimize=True)
    shorter = base64.b64encode(written.getvalue()).decode()
    return shorter if furthest <= VISIBLE and len(shorter) < len(encoded) else encoded


def drop_web_fonts(site):
    "Themes ask the web for a font; the next in their list, the system's, serves offline."
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        local = re.sub(r"@import\s+url\([\"']?(?:https?:)?//[^)]*\);?", "", text)
        if local != text: sheet.write_text(local, encoding="utf-8")


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
    named = [re.search(r"(?m)^#\| *default_exp +(\w+)", cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    module = next((module for module in package.modules if module.path.stem in [found[1] for found in named if found]), None)
    places = {node.name: node.lineno for owner, node in definitions(module.tree) if not owner} if module else {}
    notebook.cells.append(mk_cell("<!-- end -->", "markdown"))  # nbdev looks at the cell after an exported one
    Pages()(notebook)
    runs = [list(run) for _, run in itertools.groupby(notebook.cells, lambda cell: bool(shown_name(cell)))]
    for run in runs: run.sort(key=lambda cell: places.get(shown_name(cell), 0))  # nbdev shows the functions of a cell from the last to the first
    notebook.cells = [cell for run in runs for cell in run]
    return notebook


def shown_name(cell):
    "The function or class that a cell put in by nbdev shows, if it is one."
    found = re.search(r"(?m)^show_doc\(([\w.]+)", cell.source or "") if cell.cell_type == "code" else None
    return found[1] if found else None


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
        write_nb(filtered(notebooks / path.relative_to(STAGE), package), path)
        relink(path, pages, address())
    for module in sorted((ROOT / "uqcal").glob("[a-z]*.py")): stage_source(module)
    stage_settings()


def stage_settings():
    "Stage the site's settings; a section of the sidebar that has no pages yet is left out."
    settings = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    sidebar = settings["website"]["sidebar"]
    sidebar["contents"] = [entry for entry in sidebar["contents"] if "contents" not in entry or any(STAGE.glob(entry["contents"]))]
    if not shutil.which("quarto"): del settings["format"]["html"]["html-math-method"]  # smalldocs knows only KaTeX
    (STAGE / "_quarto.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def relink(path, pages, repository):
    """Correct a staged notebook: nbdev names a page after its module, here it keeps its number, as links between notebooks expect;
    and links to the source lead to the repository, or to a page of the site while there is no public repository."""
    up = "../" * (len(path.relative_to(STAGE).parts) - 1)

    def page(match): return f"]({up}{pages[match[1]]}{match[2] or ''})" if match[1] in pages else match[0]
    def source(match): return f"]({repository}/blob/main/uqcal/{match[1]}.py{match[2]})" if repository else f"]({up}source/{match[1]}.html)"

    def mend(text):
        text = re.sub(r"\[(`[\w.]+`)\]\([^)\s]*#_\w+\)", r"\1", text)  # what is private has no heading to link to
        text = re.sub(r"\]\(/blob/main/uqcal/(\w+)\.py(?:#LNone)?(|#L\d+)\)", source, text)
        return re.sub(r"\]\(/?([\w/]+\.html)(#[^)]*)?\)", page, text)

    def walk(value):
        if isinstance(value, str): return mend(value)
        if isinstance(value, list): return [walk(item) for item in value]
        if isinstance(value, dict): return {key: walk("".join(item) if key == "text/markdown" else item) for key, item in value.items()}
        return value

    notebook = walk(json.loads(path.read_text(encoding="utf-8")))
    head = notebook["cells"][0]
    head["source"] = re.sub(r"(?m)^output-file:.*\n", "", "".join(head["source"]))
    path.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")


def stage_source(module):
    "A page that shows an exported module."
    target = STAGE / "source" / f"{module.stem}.md"
    target.parent.mkdir(exist_ok=True)
    head = f"---\ntitle: uqcal.{module.stem}\nsubtitle: The module as exported from its notebook\ntoc: false\nsearch: false\n---\n\n"
    target.write_text(f"{head}~~~~~~python\n{module.read_text(encoding='utf-8')}~~~~~~\n", encoding="utf-8")


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
    ship_katex(fetch_katex(), SITE)
    drop_web_fonts(SITE)
    search_from_a_file(SITE)
    lighten_pictures(SITE)
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}, start with {SITE.relative_to(ROOT)}/index.html")
    sys.exit(warnings or 0)
