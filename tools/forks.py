"""Write into uqcal/data the pages that travel with the package, for `uqcal new-study`: without outputs, with the cells to change marked.

A tutorial is a page that is worked out: all of it speaks of its own data. Its first cell of code says so, and names what the cells below use of it. Links to other pages, the sentence about stored numbers and what a page asserts of its own data are left out, since none of them is true
of a notebook that lies alone and gets other data.
"""
import ast
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"own_errors": "studies", "own_intervals": "studies", "own_probabilities": "studies", "own_quantiles": "studies", "own_classes": "studies",
         "own_stream": "studies", "regression": "tutorials", "classification": "tutorials", "streaming": "tutorials", "intervals": "tutorials", "groups": "tutorials"}
MARK = ("THE DATA OF THIS PAGE, which is worked out for them. Other data ask for edits throughout, since the cells below use {}; a page to be "
        "filled in comes from uqcal new-study without --from.")
TEMPORARY = {"import tempfile\n": "", "folder = Path(tempfile.mkdtemp())\n": "folder = Path.cwd()  # where this notebook lies\n",
             "{report.name}": "{report}"}  # a page leaves no file behind, and a study its report
STORED = re.compile(r" ?Numbers stored in this notebook are reproduced to a relative tolerance of [\d.e-]+\d\.")
TABLE = re.compile(r" ?The rows are stored beside this page; [^.]*\.")  # and are made afresh where other data lie
MADE = re.compile(r"^recompute = False\nif recompute:\n(.*?)    \w+\.to_csv\([^\n]*\)\nelse: \w+ = pd\.read_csv[^\n]*\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)")


def fork(notebook):
    "The notebook of a page as one begins from it."
    codes = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    cells, own = [], any("# CHANGE THIS CELL" in code for code in codes)
    marked = own
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            source = without_asserts(re.sub(r"(?m)^#\|.*\n", "", source))
            source = MADE.sub(lambda found: textwrap.dedent(found[1]), source)
            if own:
                for here, there in TEMPORARY.items(): source = source.replace(here, there)
            if not marked: source, marked = f"{said_of(codes)}\n{source}", True
            kept = {"cell_type": "code", "execution_count": None, "id": cell["id"], "metadata": {}, "outputs": []}
        else:
            source = LINK.sub(r"\1", STORED.sub("", TABLE.sub("", source))).strip()
            if not source: continue
            kept = {"cell_type": "markdown", "id": cell["id"], "metadata": {}}
        cells.append(kept | {"source": source.splitlines(keepends=True)})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def said_of(codes):
    "The comment above the first cell of a page that is worked out."
    made = {name for node in ast.parse(codes[0]).body if not isinstance(node, (ast.Import, ast.ImportFrom)) for name in bound(node)}
    later = [bound(ast.parse(code)) for code in codes[1:]]
    rest = {node.id for code in codes[1:] for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return textwrap.fill(MARK.format(", ".join(sorted((made & rest).difference(*later)))), 99, initial_indent="# ", subsequent_indent="# ")


def bound(node):
    "The names that a statement binds where it stands."
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)): return {node.name}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def without_asserts(source):
    "Code without the assertions that stand in it at the top."
    lines, gone = source.split("\n"), set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assert): gone |= set(range(node.lineno - 1, node.end_lineno))
    return "\n".join(line for number, line in enumerate(lines) if number not in gone).rstrip("\n")


def main(root=ROOT):
    for page, folder in PAGES.items():
        notebook = json.loads((root / "nbs" / folder / f"{page}.ipynb").read_text(encoding="utf-8"))
        text = json.dumps(fork(notebook), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        (root / "uqcal" / "data" / f"{page}.ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
