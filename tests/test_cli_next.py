"""What the command line says to type next: that it runs, on the same rows, and that rows are named by their lines."""
import json
import re
import shlex
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main
from uqcal._command.cli_parts import with_places
from uqcal._base.tables import Table

QUICK = ["--n-resamples", "199", "--jobs", "1"]
READ = ["--decimal", ",", "--thousands", ".", "--encoding", "latin-1", "--drop-missing", "--where", "T > 1 and Größe == 'a b'"]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    "A file that no command reads without being told how: marks, encoding, gaps, rows of another kind, crossed bounds."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    u, p = np.exp(rng.normal(7, 0.4, 600)), rng.uniform(0.2, 0.8, 600)
    frame = pd.DataFrame({"E": (1.9 * u * rng.standard_normal(600)).round(1), "uE": u.round(1), "v": np.exp(rng.normal(7, 1, 600)).round(1), "T": rng.integers(1, 4, 600), "Größe": rng.choice(["a b", "c"], 600, p=[0.8, 0.2]),
                          "m": np.arange(600) // 2, "lo": (-0.7 * u).round(1), "hi": (0.7 * u).round(1), "p": p.round(3), "y": (rng.random(600) < p**3).astype(int)}).astype(object)
    frame.loc[::150, ["lo", "hi"]] = frame.loc[::150, ["hi", "lo"]].to_numpy().copy()
    frame.loc[3::100, ["E", "p"]] = None
    rows = [";".join("" if cell is None else cell if isinstance(cell, str) else f"{cell:,}".translate({44: 46, 46: 44}) for cell in row) for row in frame.to_numpy()]
    Path("told.csv").write_bytes("\n".join([";".join(frame.columns), *rows]).encode("latin-1"))


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(list(args))
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said.out if code == 0 else said.err


def printed(said):
    "The commands that an answer prints."
    return [shlex.split(one.replace("\\\n", ""))[1:] for one in re.findall(r"(?m)^ *uqcal (?:.*\\\n)*.*$", said)]


def rows_of(said):
    "The number of rows in the first line of an answer."
    return re.search(r"([\d,]+) (?:points|rows)(?! left)", said)[1]


@pytest.mark.parametrize("command, args", [
    ("validate", ["--error", "E", "--uncertainty", "uE", "--statistics", "zms", "--n-boot", "199", "--feature", "T", "--as-groups", "T", "--groups", "m", "--tolerance", "1.3"]),
    ("mend", ["--error", "E", "--uncertainty", "uE", "--n-boot", "199", "--feature", "v", "--groups", "m", "--tolerance", "1.3"]),
    ("intervals", ["--observed", "E", "--lower", "lo", "--upper", "hi", "--level", "0.9", "--predicted", "uE", "--sort-bounds", "--feature", "T", "--as-groups", "T", "--groups", "m", "--tolerance", "1.2"]),
    ("calibration", ["--outcome", "y", "--score", "p", "--n-boot", "99", "--cluster", "m", "--tolerance", "0.04"]),
    ("compare-models", ["--model", "a=E,uE", "--model", "b=E,v", "--groups", "m", "--n-boot", "99"])])
def test_what_is_to_be_typed_next_runs_on_the_same_rows(capsys, command, args):
    "Mutations: `_typed` that names no option, no flag, or no option with a space in its value."
    quick = QUICK[2 * (command == "compare-models"):]
    said = run(capsys, command, "told.csv", *args, *READ, *quick)
    count = rows_of(said)
    if command == "mend":
        run(capsys, command, "told.csv", *args, *READ, *quick, "--model", "model.json")
        Path("later.csv").write_bytes(Path("told.csv").read_bytes())
    assert len(printed(said)) == 1 + (command == "mend") and 320 < int(count) < 340
    for line in printed(said):
        assert ("--tolerance" in line) == ("--tolerance" in args and "--apply" not in line)
        assert rows_of(run(capsys, *line, *([] if "--apply" in line else quick))) == count


def test_the_line_of_python_has_the_options_too(capsys):
    "Mutations: a tolerance or crossed bounds forgotten; a bracket in a name taken for the end of the call; columns read as numbers where they are names."
    args = ["told.csv", "--level", "0.9", "--observed", "E", "--lower", "lo", "--upper", "hi", "--sort-bounds", "--feature", "T", "--as-groups", "T", *READ, *QUICK]
    said = " ".join(run(capsys, "intervals", *args, "--report", "r.html", "--verbose").split())
    line = 'uqcal.intervals.coverage.interval_report(table["E"], table[["lo", "hi"]], 0.9, features=table[["T"]].astype({"T": str}), sort_bounds=True, n_resamples=199).mend'
    assert f"In Python, with table for a DataFrame of such rows: {line}" in said
    page = unescape(Path("r.html").read_text(encoding="utf-8"))
    assert "T > 1 and Größe == 'a b'" in page and "# table: a DataFrame of such rows" in page and "missing: " in page
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, 300))
    pd.DataFrame({"E (eV)": 2 * u * rng.standard_normal(300), "u)": u, "v": 1.0, "m": np.arange(300)}).to_csv("names.csv", index=False)
    said = " ".join(run(capsys, "compare-models", "names.csv", "--model", "a=E (eV),u)", "--model", "b=E (eV),v", "--groups", "m", "--n-boot", "99", "--jobs", "1", "--verbose").split())
    assert 'uqcal.corrections.error_recalibration.recalibrate_errors(table["E (eV)"], table["u)"], groups=table["m"])' in said


def test_a_file_that_a_mend_wrote_gets_no_second_one(capsys):
    "Mutation: looked for recalibrated uncertainties only."
    args = ["--level", "0.9", "--observed", "E", "--lower", "lo", "--upper", "hi", "--sort-bounds", *READ, *QUICK]
    run(capsys, "intervals", "told.csv", *args, "--out", "recalibrated.csv")
    assert not printed(run(capsys, "intervals", "recalibrated.csv", *args))


def test_rows_are_named_by_their_lines_where_others_are_left_out(capsys):
    "Mutations: positions among the rows that were kept; a number of further rows taken for a row."
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=200), "lo": -1.6, "hi": 1.6, "T": 1, "z": (rng.random(200) < 0.5).astype(int), "p": 0.5})
    frame.loc[100, "y"], frame.loc[[3, 5], "y"], frame.loc[:9, "T"], frame.loc[[50, 60], "p"], frame.loc[[50, 60], "z"] = 1e6, np.nan, 0, 1.0, 0
    frame.to_csv("far.csv", index=False)
    args = ["intervals", "far.csv", "--observed", "y", "--level", "0.9", "--lower", "lo", "--upper", "hi", "--where", "T > 0", "--n-resamples", "99", "--jobs", "1"]
    said = " ".join(re.sub(r"\[[^][]*95 %[^][]*\]", "", run(capsys, *args, "--report", "far.html", "--verbose")).split())
    assert "Check row 90 (line 102) first" in said and "Row 90 (line 102) makes up" in said and "counted from 0" not in said and "left out: 10 for which T > 0" in said
    assert "Check row 90 (line 102) first" in Path("far.html").read_text(encoding="utf-8")
    found = json.loads(run(capsys, *args, "--json", "-"))
    assert found["step"]["sentence"].startswith("Check row 90 (line 102)") and found["data"]["left_out"] == {"where": 10} and found["data"]["where"] == "T > 0"
    said = " ".join(run(capsys, "mend", "far.csv", "--outcome", "z", "--score", "p", "--where", "T > 0", *QUICK).split())
    assert "rows 40 (line 52) and 50 (line 62)" in said
    table = Table("x", {}, np.arange(2, 3000))
    assert with_places("In rows 0, 1,234 and 56 more (counted from 0).", table) == "In rows 0 (line 2), 1,234 (line 1,236) and 56 more."


def test_the_demo_can_be_recalibrated(capsys):
    "Mutations: FILE in place of the set; a demo that takes columns."
    said = run(capsys, "validate", "--demo", "--statistics", "zms", "--n-boot", "99", "--n-mc", "49", *QUICK, "--verbose")
    (line,) = printed(said)
    assert line == shlex.split("mend --demo --out recalibrated.csv --model model.json") and "demo = uqcal.load_demo(); uqcal.corrections.error_recalibration.recalibrate_errors(demo.error, demo.uncertainty)" in " ".join(said.split())
    said = run(capsys, *line, "--n-boot", "99", *QUICK, "--verbose")
    assert "2,040 rows" in said and "demo = uqcal.load_demo()" in said and len(pd.read_csv("recalibrated.csv")) == 2040
    assert "give a FILE, or --demo" in run(capsys, "mend", code=2) and "uqcal mend --help" in run(capsys, "mend", code=2)
    for more in (["x.csv"], ["--error", "E"], ["--score", "p"], ["--apply", "model.json"]): assert "--demo brings its own data" in run(capsys, "mend", "--demo", *more, code=2)


def test_what_is_wrong_with_a_file_is_said_of_the_file(capsys):
    "Mutations: a position among predictions in place of the line; y_true, which no file has; a hint on commas for a spreadsheet; marks without their options, or hints for each column."
    openpyxl = pytest.importorskip("openpyxl")
    said = run(capsys, "compare-models", "told.csv", "--observed", "E", "--score", "interval", "--level", "0.9", "--model", "a=lo,hi", "--model", "b=hi,lo", *READ, code=2)
    assert said == "uqcal: told.csv, line 152: 'lo' is above 'hi', and in 2 more\n"
    Path("one.csv").write_text("y,lo,hi\n1,2,3\n")
    bounds = ["--observed", "y", "--lower", "lo", "--upper", "hi", "--level", "0.9"]
    assert run(capsys, "intervals", "one.csv", *bounds, code=2) == "uqcal: the file must hold at least two values, got 1\n"
    book = openpyxl.Workbook()
    book.active.append(["about"])
    book.create_sheet("Data").append(["y", "lo", "hi"])
    book.save("two.xlsx")
    said = run(capsys, "intervals", "two.xlsx", *bounds, code=2)
    assert "its columns are 'about'; of a spreadsheet the first sheet is read, and no other; name them with" in said and "commas" not in said
    Path("marks.csv").write_text('y,lo,hi\n"1,000","2,000","3,000"\n')
    said = run(capsys, "intervals", "marks.csv", *bounds, code=2)
    assert said.count("(write a point before the decimals and nothing between thousands, or name the marks by --decimal and --thousands)") == 1 and "'hi' must hold numbers" in said


def test_a_study_says_whether_it_is_to_be_filled_in(capsys):
    "Mutation: cells to change promised of a tutorial, whose cells all speak of its own data."
    assert "Change the cells that begin with # CHANGE THIS CELL." in run(capsys, "new-study", "mine")
    said = run(capsys, "new-study", "visits", "--from", "groups")
    assert "edited throughout" in said and "CHANGE THIS CELL" not in said + Path("visits.ipynb").read_text(encoding="utf-8")
