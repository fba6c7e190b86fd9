"""`make tables`: every stored table has a page that makes it, behind a switch that is off."""
import re
import subprocess
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import tables

DATA = {"seattle_precipitation.csv", "seattle_weather.csv", "drift_real_data.csv",  # published data; a study that is carried on by its number of repetitions
        "joint_level.csv",  # carried on by benchmarks/joint_level.py
        "load_quantiles_a.csv", "load_quantiles_b.csv", "load_members.csv", "clinic_visits.csv", "clinic_new_month.csv"}  # what tutorials read
ASKED = re.compile(r"^if (recompute|RECOMPUTE|AFRESH)\b", re.MULTILINE)


def code(path):
    return [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def stored():
    "Tables beside the pages, without those that a page writes and takes away."
    listed = subprocess.run(["git", "ls-files", "nbs"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    known = [ROOT / name for name in listed if name.endswith(".csv")] or ROOT.glob("nbs/**/*.csv")
    return sorted(path for path in known if path.name not in DATA)


def is_behind_a_switch(table):
    "Whether a page writes the table in a cell that asks for the switch, which stands at False there or above."
    for page in table.parent.glob("*.ipynb"):
        cells = code(page)
        constant = any(re.search(rf'STORED = Path\("{table.name}"\)', source) for source in cells)
        for position, source in enumerate(cells):
            asks = ASKED.search(source)
            if not asks or not re.search(r"to_csv\(\s*STORED" if constant else rf'to_csv\(\s*"{table.name}"', source): continue
            above = "\n".join(cells[:position + 1])
            return asks[1] in [name for name, _ in tables.SWITCH.findall(above)] and tables.turned_on(nbformat.read(page, as_version=4))[1]
    return False


def test_each_stored_table_is_written_behind_a_switch_that_is_off():
    "The page that names the table writes it in a cell that asks for the switch, which stands at False there or above."
    assert not (wrong := [table.name for table in stored() if not is_behind_a_switch(table)]), wrong


def test_a_switch_is_turned_on_in_a_copy_and_the_table_is_written(tmp_path):
    folder = tmp_path / "nbs"
    folder.mkdir()
    cells = ["recompute, columns = False, ['x']", "if recompute:\n    import pathlib\n    pathlib.Path('a_table.csv').write_text('x\\n1\\n')"]
    page, other = folder / "10_page.ipynb", folder / "20_other.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells]), page)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("recomputed = False")]), other)
    kept = page.read_text()
    assert tables.pages(tmp_path, []) == [page] and tables.pages(tmp_path, ["20"]) == []
    assert tables.remake(page) == [folder / "a_table.csv"] and (folder / "a_table.csv").read_text() == "x\n1\n" and page.read_text() == kept


def test_a_page_without_a_table_is_named():
    done = subprocess.run([sys.executable, ROOT / "tools" / "tables.py", "00"], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no page that begins with 00" in done.stderr
