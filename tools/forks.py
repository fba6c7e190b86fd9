"""Write into uqcal/data the pages that travel with the package, for `uqcal new-study`: without outputs, with the cell to change marked.

Links to other pages, the sentence about stored numbers and what a page asserts of its own data are left out, since none of them is true
of a notebook that lies alone and gets other data.
"""
import ast
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"your_own": "studies", "regression": "tutorials", "classification": "tutorials", "streaming": "tutorials", "intervals": "tutorials",
         "groups": "tutorials"}
MARK = "# CHANGE THIS CELL: put your own data, or your own model, in place of these"
STORED = re.compile(r" ?Numbers stored in this notebook are reproduced to a relative tolerance of [\d.e-]+\d\.")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)")


def fork(notebook):
    "The notebook of a page as one begins from it."
    cells, marked = [], any("# CHANGE THIS CELL" in "".join(cell["source"]) for cell in notebook["cells"])
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code":
            source = without_asserts(re.sub(r"(?m)^#\|.*\n", "", source))
            if not marked: source, marked = f"{MARK}\n{source}", True
            kept = {"cell_type": "code", "execution_count": None, "id": cell["id"], "metadata": {}, "outputs": []}
        else:
            source = LINK.sub(r"\1", STORED.sub("", source)).strip()
            if not source: continue
            kept = {"cell_type": "markdown", "id": cell["id"], "metadata": {}}
        cells.append(kept | {"source": source.splitlines(keepends=True)})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


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
