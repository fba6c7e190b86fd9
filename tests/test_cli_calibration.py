"""`uqcal validate`: from a table of outcomes and probabilities to a verdict, or one line that says what is wrong."""

import json

import numpy as np
import pandas as pd
import pytest

from uqcal.probabilities.calibration import calibration_report
from uqcal._command.cli import main

QUICK = ["--n-boot", "19", "--n-resamples", "99"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(1)
    p = rng.uniform(0.02, 0.98, 400).round(3)
    pd.DataFrame({"y": (rng.random(400) < p).astype(int), "p": p, "w": rng.exponential(size=400).round(3), "bad": p**3}).to_csv("scores.csv", index=False)


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended: main(["validate", *args])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_verdict_and_numbers_are_those_of_the_report(capsys):
    code, out, err = run(capsys, "scores.csv", "--observed", "y", "--prob", "p", "--weight", "w", *QUICK, "--json", "-", "--seed", "3")
    found, table = json.loads(out), pd.read_csv("scores.csv")
    report = calibration_report(table["y"], table["p"], sample_weight=table["w"], n_boot=19, n_resamples=99, rng=3)
    assert (code, err) == (0, "") and found["conclusion"] == report.conclusion and found["verdict"] == report.verdict == "inconclusive" and found["n"] == 400 and found["step"]["sentence"] == report.step.sentence
    for name, row in report.to_frame("statistics").iterrows(): assert found["numbers"][name]["value"] == row["value"]


def test_report_and_numbers_are_written(capsys):
    code, out, _ = run(capsys, "scores.csv", "--observed", "y", "--prob", "bad", *QUICK, "--report", "r.html", "--json", "n.json")
    assert code == 0 and "\nVERDICT  " in out and "\nNEXT     " in out and "Report: r.html" in out and max(map(len, out.splitlines())) <= 80
    assert "uqcal recalibrate scores.csv --observed y --prob bad" in out
    assert json.load(open("n.json", encoding="utf-8"))["verdict"] == "invalid" and "scores.csv" in open("r.html", encoding="utf-8").read()


@pytest.mark.parametrize(("args", "command"), [(["--prob", "bad"], "uqcal recalibrate scores.csv --observed y --prob bad"), (["--prob", "bad", "--weight", "w"], None), (["--prob", "p"], None)])
def test_a_verdict_ends_with_a_step_as_a_command_and_in_python_where_one_takes_it(capsys, args, command):
    screen, out = (run(capsys, "scores.csv", "--observed", "y", *args, *QUICK, *more)[1] for more in ((), ("--verbose",)))
    python = 'uqcal.recalibrate(table["y"], uqcal.Probabilities(table["bad"]))'
    assert "\nNEXT     " in screen and python not in screen and len(screen.splitlines()) <= 24 and max(map(len, screen.splitlines())) <= 80
    assert out.startswith(screen.rstrip("\n")) and "\nuncertainty " in out and (python in " ".join(out.split())) == (command is not None)
    assert (command in screen) if command else "  uqcal " not in screen


def test_a_step_that_would_be_refused_is_not_printed(capsys):
    pd.DataFrame({"y": [1] * 7 + [0] * 293, "p": 0.001}).to_csv("rare.csv", index=False)
    out = run(capsys, "rare.csv", "--observed", "y", "--prob", "p", *QUICK)[1]
    assert "there are 7 with the event" in " ".join(out.split()) and "uqcal recalibrate" not in out


@pytest.mark.parametrize(("column", "more", "code"), [("p", ["invalid"], 0), ("bad", ["invalid"], 1), ("p", ["inconclusive"], 0), ("bad", ["inconclusive"], 1), ("p", ["inconclusive", "--tolerance", "3"], 0)])
def test_fail_on(capsys, column, more, code):
    assert run(capsys, "scores.csv", "--observed", "y", "--prob", column, *QUICK, "--fail-on", *more)[0] == code


def test_impossible_events_are_found_in_the_file(capsys):
    open("made.csv", "w").write("y,p\n0,0.3\n1,0\n1,0.7\n0,1\n")
    code, out, _ = run(capsys, "made.csv", "--observed", "y", "--prob", "p", *QUICK, "--report", "r.html")
    assert code == 0 and "rows 1 and 3" in " ".join(out.split()) and "In the file: lines 3, 5" in out and "lines 3, 5" in open("r.html", encoding="utf-8").read()
    assert json.loads(run(capsys, "made.csv", "--observed", "y", "--prob", "p", *QUICK, "--json", "-")[1])["data"]["contradicted"] == {"by": "line", "count": 2, "first": [3, 5]}


@pytest.mark.parametrize(("args", "message"), [
    (["scores.csv", "--prob", "p"], "--observed is needed"), (["scores.csv", "--observed", "y", "--prob", "p", "--groups", "c"], "no column 'c'"), (["scores.csv", "--observed", "y", "--prob", "y"], "the columns must differ"), (["scroes.csv", "--observed", "y", "--prob", "p"], "did you mean scores.csv"),
    (["scores.csv", "--observed", "p", "--prob", "p2"], "no column 'p2'"), (["scores.csv", "--observed", "p", "--prob", "w"], "line 2: column 'p' must hold 0 or 1, got"),
    (["scores.csv", "--observed", "y", "--prob", "w"], "column 'w' must hold probabilities from 0 to 1"), (["scores.csv", "--observed", "y", "--prob", "p", "--jobs", "0"], "--jobs"),
    (["scores.csv", "--observed", "y", "--prob", "p", "--n-bins", "0"], "--n-bins must"), (["scores.csv", "--observed", "y", "--prob", "p", "--fail-on", "bad"], "--fail-on"),
    (["scores.csv", "--observed", "y", "--prob", "p", "--report", "scores.csv"], "would overwrite"), (["scores.csv", "--observed", "y", "--prob", "p", "--n-resamples", "0"], "--n-resamples"),
    (["scores.csv", "--observed", "y", "--prob", "p", "--tolerance", "1"], "--tolerance"),
])
def test_bad_input_is_one_line_and_code_2(capsys, args, message):
    code, out, err = run(capsys, *args)
    assert code == 2 and out == "" and err.startswith("uqcal: ") and err.count("\n") == 1 and message in err


def test_help_is_plain_and_fits_80_columns(capsys):
    code, out, err = run(capsys, "--help")
    assert code == 0 and err == "" and "Usage: uqcal validate" in out and max(map(len, out.splitlines())) <= 80


def test_a_table_in_parts_has_the_numbers_of_the_whole(capsys):
    "Mutation: one file of a pattern left out."
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    table = pd.read_csv("scores.csv")
    table[:150].to_csv("part-1.csv", index=False)
    table[150:].to_csv("part-2.csv", index=False)
    table[:150].to_parquet("part-1.parquet")
    table[150:].to_parquet("part-2.parquet")
    report = calibration_report(table["y"], table["bad"], n_boot=19, n_resamples=99, rng=3)
    for pattern in ("part-*.csv", "part-*.parquet"):
        code, out, err = run(capsys, pattern, "--observed", "y", "--prob", "bad", "--dask", "--json", "-")
        found = json.loads(out)
        assert (code, err, found["verdict"], found["n"], found["n_partitions"]) == (0, "", "inconclusive", 400, 2) and found["findings"][0]["reason"] == "few"  # 34 bets of 100
        for name in ("ece", "brier"): assert found["numbers"][name]["value"] == pytest.approx(report.to_frame("statistics").loc[name, "value"], rel=1e-10)
    code, out, _ = run(capsys, "part-*.csv", "--observed", "y", "--prob", "bad", "--dask", "--fail-on", "inconclusive")
    assert code == 1 and out.startswith("part-*.csv: probabilities, 400 rows in 2 parts, read ") and "not tested: a variance of" in " ".join(out.split()) and max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(("args", "says"), [
    (["none-*.csv"], "no file is named none-*.csv"), (["scores.csv", "--prob", "w"], "w must lie in [0, 1]"), (["scores.csv", "--prob", "q"], "the table must have a column 'q'"),
    (["scores.csv", "--groups", "w"], "--groups can't be had with --dask"), (["scores.csv", "--report", "r.html"], "--report can't be had with --dask"),
    (["scores.csv", "--drop-missing"], "--drop-missing can't be had with --dask"), (["scores.csv", "--n-resamples", "99"], "--n-resamples can't be had with --dask"),
    (["words.csv"], "words.csv, line 4: column 'p' must hold numbers, got 'a half'"), (["p*.csv"], "pz.csv must have a column 'p', as pa.csv has"),
    (["scores.csv", "--observed", "p"], "the columns must differ, got 'p', 'p'")])
def test_what_a_table_in_parts_refuses(capsys, args, says):
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    for name, text in (("words", "y,p\n1,0.5\n\n0,a half\n"), ("pa", "y,p\n1,0.5\n"), ("pz", "y,q\n1,0.5\n")): open(f"{name}.csv", "w").write(text)
    code, out, err = run(capsys, "--observed", "y", "--prob", "p", "--dask", *args)
    assert (code, out) == (2, "") and err.startswith(f"uqcal: {says}") and err.count("\n") == 1


def test_a_column_of_groups_is_asked_along_and_the_command_it_prints_runs(capsys):
    rng = np.random.default_rng(2)
    ward, p = rng.choice(list("abc"), 3000), rng.uniform(0.05, 0.6, 3000).round(3)
    pd.DataFrame({"y": (rng.random(3000) < np.where(ward == "c", 0.4 * p, p)).astype(int), "p": p, "ward": ward, "age": rng.integers(20, 90, 3000)}).to_csv("wards.csv", index=False)
    asked = ["wards.csv", "--observed", "y", "--prob", "p", "--by", "ward", "--by", "age", *QUICK]
    code, screen, err = run(capsys, *asked)
    assert (code, err) == (0, "") and "By ward" in screen and "in ward c: O/E" in screen and "By age" in screen and len(screen.splitlines()) <= 24
    assert json.loads(run(capsys, *asked, "--json", "-")[1])["data"]["by"] == ["ward", "age"]
    command = " ".join(screen[screen.index("uqcal recalibrate"):].replace("\\\n", " ").split()[1:])
    assert "--by ward" in command
    with pytest.raises(SystemExit) as ended: main(command.split())
    assert ended.value.code == 0 and {"p", "ward"} <= set(pd.read_csv("recalibrated.csv"))


def test_a_column_that_is_not_there_is_named(capsys):
    code, out, err = run(capsys, "scores.csv", "--observed", "y", "--prob", "p", "--by", "ward")
    assert code == 2 and not out and "'ward'" in err
