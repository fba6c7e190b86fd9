"""Draw the stored tables of rates and levels afresh, at their full size.

    python tools/tables.py            all of them: hours
    python tools/tables.py 42 55      those of the pages whose names begin so

A page that stores a table has a switch, `recompute = False`, which this turns to True in a copy that is run in the page's folder; the page itself
stays as it is. What it then shows may differ from what it holds by the noise of the draws: run it and save it with its outputs, as after any change.
"""
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SWITCH = re.compile(r"^(recompute|RECOMPUTE|AFRESH)((?:, \w+)*) = (?:False|0)\b", re.MULTILINE)


def turned_on(notebook):
    "The notebook with its switches at True, and how many there are."
    count = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source, found = SWITCH.subn(r"\1\2 = True", cell.source)
            count += found
    return notebook, count


def pages(root, names):
    "Notebooks that have a switch, all of them or those whose names begin with one of the given."
    from notebooks import every_notebook, read

    chosen = [path for path in every_notebook(root) if not names or path.name.startswith(tuple(names))]
    return [path for path in chosen if turned_on(read(path))[1]]


def tables(folder):
    "When each table of a folder was written."
    return {path: path.stat().st_mtime_ns for path in folder.glob("*.csv")}


def remake(path):
    "Run one page with its switches on; the tables that it wrote."
    from notebooks import execute, read

    before = tables(path.parent)
    execute(turned_on(read(path))[0], path.parent, timeout=None)
    return sorted(table for table, written in tables(path.parent).items() if before.get(table) != written)


def main(names, root=ROOT):
    sys.path.insert(0, str(ROOT / "tests"))
    found = pages(root, names)
    if not found: sys.exit(f"no page that begins with {' or '.join(names)} stores a table" if names else "no page stores a table")
    for path in found:
        start = time.monotonic()
        print(f"{path.relative_to(root)} ...", flush=True)
        for table in remake(path): print(f"  {table.relative_to(root)}, {time.monotonic() - start:,.0f} s", flush=True)


if __name__ == "__main__": main(sys.argv[1:])
