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

pytestmark = pytest.mark.usefixtures("undrawn")

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
    if args[0] == "validate" and "--std" in args: args += ("--n-mc", "99") + ("--n-boot", "199") * ("--n-boot" not in args)
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
    ("validate", ["--error", "E", "--std", "uE", "--statistics", "zms", "--n-boot", "199", "--by", "T", "--as-groups", "T", "--groups", "m", "--tolerance", "1.3"]),
    ("recalibrate", ["--error", "E", "--std", "uE", "--n-boot", "199", "--by", "v", "--groups", "m", "--tolerance", "1.3"]),
    ("validate", ["--observed", "E", "--lower", "lo", "--upper", "hi", "--level", "0.9", "--sort-bounds", "--by", "T", "--as-groups", "T", "--groups", "m"]),
    ("conformalize", ["--observed", "E", "--lower", "lo", "--upper", "hi", "--level", "0.9", "--sort-bounds", "--by", "T", "--as-groups", "T", "--groups", "m"]),
    ("validate", ["--observed", "y", "--prob", "p", "--n-boot", "99", "--groups", "m", "--tolerance", "1.3"]),
    ("compare-models", ["--model", "a=error-std:E,uE", "--model", "b=error-std:E,v", "--groups", "m", "--n-boot", "99"])])
def test_what_is_to_be_typed_next_runs_on_the_same_rows(capsys, command, args):
    "Mutations: `_typed` that names no option, no flag, or no option with a space in its value."
    quick = QUICK[2 * (command in ("compare-models", "conformalize")):]
    said = run(capsys, command, "told.csv", *args, *READ, *quick)
    count = rows_of(said)
    (line,) = printed(said)
    assert 320 < int(count) < 340 and ("--tolerance" in line) == ("--tolerance" in args)
    assert rows_of(said := run(capsys, *line, *quick[2 * ("--level" in line):])) == count
    if "--model" in line:  # the last answer says how to go on with new rows
        Path("new.csv").write_bytes(Path("told.csv").read_bytes())
        (line,) = printed(said)
        assert "--apply" in line and rows_of(run(capsys, *line, "--drop-missing"))


def test_the_line_of_python_has_the_options_too(capsys):
    "Mutations: a tolerance or crossed bounds forgotten; a bracket in a name taken for the end of the call; columns read as numbers where they are names."
    args = ["told.csv", "--level", "0.9", "--observed", "E", "--lower", "lo", "--upper", "hi", "--sort-bounds", "--by", "T", "--as-groups", "T", "--groups", "m", *READ, *QUICK]
    said = " ".join(run(capsys, "validate", *args, "--report", "r.html", "--verbose").split())
    line = 'uqcal.recalibrate(table["E"], uqcal.Intervals(table["lo"], table["hi"], level=0.9), groups=table["m"])'
    assert f"In Python, with table for a DataFrame of such rows: {line}" in said
    page = unescape(Path("r.html").read_text(encoding="utf-8"))
    assert "T > 1 and Größe == 'a b'" in page and "# table: a DataFrame of such rows" in page and "missing: " in page
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 0.5, 300))
    pd.DataFrame({"E (eV)": 2 * u * rng.standard_normal(300), "u)": u, "v": 1.0, "m": np.arange(300)}).to_csv("names.csv", index=False)
    said = " ".join(run(capsys, "compare-models", "names.csv", "--model", "a=error-std:E (eV),u)", "--model", "b=error-std:E (eV),v", "--groups", "m", "--n-boot", "99", "--jobs", "1", "--verbose").split())
    assert 'uqcal.recalibrate(table["E (eV)"], uqcal.MeanStd(0, table["u)"]), groups=table["m"])' in said


def test_a_file_that_a_correction_wrote_gets_no_second_one(capsys):
    "Mutation: looked for recalibrated uncertainties only."
    args = ["--level", "0.9", "--observed", "E", "--lower", "lo", "--upper", "hi", "--sort-bounds", *READ, *QUICK]
    run(capsys, "recalibrate", "told.csv", *args[:-4], "--out", "recalibrated.csv")
    assert not printed(run(capsys, "validate", "recalibrated.csv", *args))


def test_rows_are_named_by_their_lines_where_others_are_left_out(capsys):
    "Mutations: positions among the rows that were kept; a number of further rows taken for a row."
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.normal(size=200), "lo": -1.6, "hi": 1.6, "T": 1, "z": (rng.random(200) < 0.5).astype(int), "p": 0.5})
    frame.loc[100, "y"], frame.loc[[3, 5], "y"], frame.loc[:9, "T"], frame.loc[[50, 60], "p"], frame.loc[[50, 60], "z"] = 1e6, np.nan, 0, 1.0, 0
    frame.to_csv("far.csv", index=False)
    args = ["validate", "far.csv", "--observed", "y", "--level", "0.9", "--lower", "lo", "--upper", "hi", "--where", "T > 0", "--n-resamples", "99", "--jobs", "1"]
    said = " ".join(re.sub(r"\[[^][]*95 %[^][]*\]", "", run(capsys, *args, "--report", "far.html", "--verbose")).split())
    assert "Check row 90 (line 102) first" in said and "Row 90 (line 102) makes up" in said and "counted from 0" not in said and "left out: 10 for which T > 0" in said
    assert "Check row 90 (line 102) first" in Path("far.html").read_text(encoding="utf-8")
    found = json.loads(run(capsys, *args, "--json", "-"))
    assert found["step"]["sentence"].startswith("Check row 90 (line 102)") and found["data"]["left_out"] == {"where": 10} and found["data"]["where"] == "T > 0"
    said = " ".join(run(capsys, "recalibrate", "far.csv", "--observed", "z", "--prob", "p", "--where", "T > 0", *QUICK).split())
    assert "rows 40 (line 52) and 50 (line 62)" in said
    table = Table("x", {}, np.arange(2, 3000))
    assert with_places("In rows 0, 1,234 and 56 more (counted from 0).", table) == "In rows 0 (line 2), 1,234 (line 1,236) and 56 more."


def test_what_is_wrong_with_a_file_is_said_of_the_file(capsys):
    "Mutations: a position among predictions in place of the line; y_true, which no file has; a hint on commas for a spreadsheet; marks without their options, or hints for each column."
    openpyxl = pytest.importorskip("openpyxl")
    said = run(capsys, "compare-models", "told.csv", "--observed", "E", "--level", "0.9", "--model", "a=intervals:lo,hi", "--model", "b=intervals:hi,lo", *READ, code=2)
    assert said == "uqcal: told.csv, line 152: 'lo' is above 'hi', and in 2 more\n"
    Path("one.csv").write_text("y,lo,hi\n1,2,3\n")
    bounds = ["--observed", "y", "--lower", "lo", "--upper", "hi", "--level", "0.9"]
    assert run(capsys, "validate", "one.csv", *bounds, code=2) == "uqcal: the file must hold at least two values, got 1\n"
    book = openpyxl.Workbook()
    book.active.append(["about"])
    book.create_sheet("Data").append(["y", "lo", "hi"])
    book.save("two.xlsx")
    said = run(capsys, "validate", "two.xlsx", *bounds, code=2)
    assert "its columns are 'about'; of a spreadsheet the first sheet is read, and no other" in said and "commas" not in said
    Path("marks.csv").write_text('y,lo,hi\n"1,000","2,000","3,000"\n')
    said = run(capsys, "validate", "marks.csv", *bounds, code=2)
    assert said.count("(write a point before the decimals and nothing between thousands, or name the marks by --decimal and --thousands)") == 1 and "'hi' must hold numbers" in said


def test_a_study_says_whether_it_is_to_be_filled_in(capsys):
    "Mutation: cells to change promised of a tutorial, whose cells all speak of its own data."
    assert "Change the cell that begins with # CHANGE THIS CELL." in run(capsys, "new-study", "mine")
    assert "probabilities of an event" in run(capsys, "new-study", "rain", "--kind", "probabilities")
    assert "rain_prob" in Path("rain.ipynb").read_text(encoding="utf-8")
    assert run(capsys, "new-study", "b", "--kind", "errors", "--from", "groups", code=2) == "uqcal: give --kind or --from, not both\n"
    assert "did you mean 'intervals'?" in run(capsys, "new-study", "b", "--kind", "interval", code=2) and not Path("b.ipynb").exists()
    said = run(capsys, "new-study", "visits", "--from", "groups")
    assert "edited throughout" in said and "CHANGE THIS CELL" not in said + Path("visits.ipynb").read_text(encoding="utf-8")
