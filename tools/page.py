"""Run one notebook afresh and store what it prints, after saying what differs from before; then run the tests that bear its name.

    .venv/bin/python tools/page.py 14            a number, a name or a part of one: 14_logistic, regression
"""
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import nbformat
import notebooks
from nbclient.exceptions import CellExecutionError


def found(part, root=ROOT):
    "The one notebook whose name begins with, or else holds, what was given."
    part = Path(part).name.removesuffix(".ipynb")
    every = notebooks.every_notebook(root)
    for fits in (lambda name: name == part, lambda name: name.startswith(f"{part}_"), lambda name: name.startswith(part), lambda name: part in name):
        named = [path for path in every if fits(path.stem)]
        if len(named) == 1: return named[0]
        if named: sys.exit(f"PAGE={part} may be any of {', '.join(sorted(path.stem for path in named))}")
    sys.exit(f"no notebook is named {part!r}; say PAGE=14, or PAGE=regression")


def store(fresh, path):
    "Put the outputs of a run into the file, as git keeps them."
    held = json.loads(path.read_text(encoding="utf-8"))
    outputs = dict(notebooks.outputs(fresh))
    for position, cell in enumerate(held["cells"]):
        if cell["cell_type"] != "code": continue
        bare = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=outputs[position])])
        cell["outputs"] = json.loads(nbformat.writes(bare))["cells"][0]["outputs"]
        cell["execution_count"] = None
        for one in cell["outputs"]:
            if "execution_count" in one: one["execution_count"] = None
            if one["output_type"] != "stream": one["metadata"] = {}
    path.write_text(json.dumps(held, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main(part):
    path, start = found(part), time.perf_counter()
    stored = notebooks.read(path)
    allowed = notebooks.tolerance(stored) or notebooks.Tolerance(0.0)
    try: fresh = notebooks.run(path)
    except CellExecutionError as error: sys.exit(re.sub(r"\x1b\[[0-9;]*m", "", str(error)))
    for fault in notebooks.differences(stored, fresh, allowed) + notebooks.blemishes(fresh): print(fault)
    store(fresh, path)
    print(f"{path.relative_to(ROOT)}: run and stored in {time.perf_counter() - start:.0f} s")
    names = {re.sub(r"^[0-9]+_", "", path.stem), *re.findall(r"^#\| default_exp (\w+)", "\n".join(cell.source for cell in stored.cells), re.M)}
    tests = [str(one) for name in sorted(names) if (one := ROOT / "tests" / f"test_{name}.py").exists()]
    if tests:
        code = subprocess.run([sys.executable, "-m", "pytest", "--no-header", "-q", *tests], cwd=ROOT, env=os.environ).returncode
        sys.exit(code if code != 5 else 0)  # 5: all of them are slow ones


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1]: sys.exit("say which page: make page PAGE=14")
    main(sys.argv[1])
