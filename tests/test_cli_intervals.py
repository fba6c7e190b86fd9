"""`uqcal intervals`: from a table of values and bounds, or sets of labels, to a verdict, or one line that says what is wrong."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main
from uqcal.intervals.coverage import interval_report

QUICK = ["--n-resamples", "199"]
BOUNDS = ["--observed", "y", "--lower", "lo", "--upper", "hi", "--level", "0.9"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(1)
    u, mean = np.exp(rng.normal(0, 0.5, 500)), rng.normal(size=500)
    y = (mean + u * rng.standard_normal(500)).round(4)
    frame = pd.DataFrame({"y": y, "lo": (mean - 1.645 * u).round(4), "hi": (mean + 1.645 * u).round(4), "yhat": mean.round(4), "T": rng.uniform(300, 900, 500).round(1),
                          "kind": rng.choice(["a", "b"], 500), "who": np.arange(500) // 2, "low": (mean - 0.8 * u).round(4)})
    frame.to_csv("stated.csv", index=False)
    frame.assign(lo=np.where(np.arange(500) % 100 == 3, frame["hi"], frame["lo"]), hi=np.where(np.arange(500) % 100 == 3, frame["lo"], frame["hi"])).to_csv("crossed.csv", index=False)
    label, member = rng.choice(["cat", "dog", "7"], 200), rng.random((200, 3)) < 0.7
    names = ["cat", "dog", "7"]
    pd.DataFrame({"animal": label, **{name: member[:, k].astype(int) for k, name in enumerate(names)},
                  "listed": [json.dumps([int(one) if one == "7" else one for one, there in zip(names, row) if there]) for row in member]}).to_csv("pets.csv", index=False)


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended: main(["intervals", *args])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def numbers(capsys, *args):
    code, out, err = run(capsys, *args, *QUICK, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_verdict_and_numbers_are_those_of_the_report(capsys):
    found, table = numbers(capsys, "stated.csv", *BOUNDS, "--predicted", "yhat", "--feature", "T", "--feature", "kind", "--seed", "3"), pd.read_csv("stated.csv")
    report = interval_report(table["y"], table[["lo", "hi"]], 0.9, y_pred=table["yhat"], by=table[["T", "kind"]], n_resamples=199, rng=3)
    assert (found["verdict"], found["conclusion"], found["step"], found["winkler_score"], found["covered"]) == (report.verdict, report.conclusion, report.step.to_dict(), report.score, report.covered)
    assert [one["name"] for one in found["findings"]] == ["coverage", "sides", "by width", "by prediction", "by T", "by kind"] and found["data"]["features"] == ["T", "kind"]
    for told, one in zip(found["findings"], report.findings): assert told == json.loads(json.dumps(one.to_dict()))
    assert found["parts"] == report.to_frame().to_dict("records")


def test_report_and_numbers_are_written(capsys):
    args = ["stated.csv", "--observed", "y", "--lower", "low", "--upper", "hi", "--level", "0.9", "--feature", "kind"]
    code, out, _ = run(capsys, *args, *QUICK, "--report", "r.html", "--json", "n.json")
    assert code == 0 and "VERDICT  Overconfident: " in out and "\nNEXT     Recalibrate by " in out and "Report: r.html" in out and max(map(len, out.splitlines())) <= 80
    page = open("r.html", encoding="utf-8").read()
    assert json.load(open("n.json", encoding="utf-8"))["verdict"] == "invalid" and "stated.csv" in page and "By kind" in page and "held-out" in page


@pytest.mark.parametrize(("lower", "more", "code"), [("lo", ["invalid"], 0), ("low", ["invalid"], 1), ("lo", ["inconclusive"], 1), ("low", ["inconclusive"], 1)])
def test_fail_on(capsys, lower, more, code):
    assert run(capsys, "stated.csv", "--observed", "y", "--lower", lower, "--upper", "hi", "--level", "0.9", *QUICK, "--fail-on", *more)[0] == code


def test_crossed_bounds_are_named_by_line_or_swapped_and_counted(capsys):
    code, _, err = run(capsys, "crossed.csv", *BOUNDS)
    assert code == 2 and "crossed.csv, line 5: 'lo' is above 'hi', and in 4 more lines; --sort-bounds swaps them" in err and len(err.splitlines()) == 1
    found, straight = numbers(capsys, "crossed.csv", *BOUNDS, "--sort-bounds"), numbers(capsys, "stated.csv", *BOUNDS)
    assert found["crossed"] == 5 and found["cautions"][0]["code"] == "swapped_bounds" and "5 of 500 pairs of bounds were crossed" in found["cautions"][0]["sentence"] and straight["crossed"] == 0
    assert found["parts"] == straight["parts"]


def test_groups_and_calibration_reach_the_report(capsys):
    table = pd.read_csv("stated.csv")
    for args, options in ((["--groups", "who"], dict(groups=table["who"])), (["--n-calibration", "100"], dict(n_calibration=100)), (["--tolerance", "1.1"], dict(tolerance=1.1))):
        report = interval_report(table["y"], table[["lo", "hi"]], 0.9, n_resamples=199, rng=0, **options)
        found = numbers(capsys, "stated.csv", *BOUNDS, *args)
        assert found["conclusion"] == report.conclusion and found["findings"][0]["low"] == report["coverage"].low
    assert numbers(capsys, "stated.csv", *BOUNDS, "--where", "kind == 'a'")["n"] == int((table["kind"] == "a").sum())
    assert numbers(capsys, "stated.csv", *BOUNDS, "--feature", "who", "--as-groups", "who")["findings"][-1]["name"] == "by who"


def test_sets_in_columns_and_in_lists_say_the_same(capsys):
    columns = numbers(capsys, "pets.csv", "--observed", "animal", "--set", "cat", "--set", "dog", "--set", "7", "--level", "0.7")
    lists = numbers(capsys, "pets.csv", "--observed", "animal", "--sets", "listed", "--level", "0.7")
    table = pd.read_csv("pets.csv", dtype={"animal": str})
    covered = sum(row[row["animal"]] for row in table.to_dict("records"))
    assert columns["covered"] == lists["covered"] == covered and columns["parts"] == lists["parts"] and columns["winkler_score"] is None
    assert columns["findings"] == lists["findings"] and columns["findings"][1]["name"] == "by set size"


def test_a_table_on_standard_input_is_judged(capsys, monkeypatch):
    import io
    import sys
    text = open("stated.csv", "rb").read()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, err = run(capsys, "-", *BOUNDS, *QUICK)
    assert (code, err) == (0, "") and "standard input: 90 % intervals, 500 rows" in out


def test_recalibrated_rows_and_the_mend_are_those_of_the_report_and_go_to_other_rows(capsys):
    args = ["stated.csv", "--observed", "y", "--lower", "low", "--upper", "hi", "--level", "0.9", "--feature", "kind", *QUICK]
    code, out, _ = run(capsys, *args, "--out", "recalibrated.csv", "--model", "model.json")
    table = pd.read_csv("stated.csv")
    report = interval_report(table["y"], table[["low", "hi"]], 0.9, by=table[["kind"]], n_resamples=199, rng=0)
    made = pd.read_csv("recalibrated.csv")
    assert code == 0 and "Rows: recalibrated.csv" in out and "Model: model.json" in out
    np.testing.assert_allclose(made[["recalibrated_lower", "recalibrated_upper"]], report.held_out, rtol=1e-12)
    assert made.columns.tolist() == [*table.columns, "recalibrated_lower", "recalibrated_upper"] and made[table.columns].equals(table)
    code, out, _ = run(capsys, "stated.csv", "--apply", "model.json", "--out", "again.csv")
    assert code == 0 and report.correction.sentence in " ".join(out.split())
    np.testing.assert_allclose(pd.read_csv("again.csv")[["recalibrated_lower", "recalibrated_upper"]], report.correction.predict(table[["low", "hi"]], table[["kind"]]), rtol=1e-12)


def test_a_mend_by_group_knows_no_limits_of_other_groups(capsys):
    table = pd.read_csv("stated.csv")
    wide = table.assign(lo=table["yhat"] - 3, hi=table["yhat"] + 3, y=table["yhat"] + (table["y"] - table["yhat"]) * np.where(table["kind"] == "a", 0.3, 4))
    wide.to_csv("wide.csv", index=False)
    assert run(capsys, "wide.csv", *BOUNDS, "--feature", "kind", *QUICK, "--model", "model.json")[0] == 0
    assert json.load(open("model.json"))["columns"]["by"] == "kind"
    wide.assign(kind=np.where(np.arange(500) < 7, "new", table["kind"])).to_csv("other.csv", index=False)
    code, out, _ = run(capsys, "other.csv", "--apply", "model.json", "--out", "made.csv")
    assert code == 0 and "7 rows of unknown groups get no limits" in " ".join(out.split())
    made = pd.read_csv("made.csv")
    assert np.isinf(made["recalibrated_lower"][:7]).all() and np.isfinite(made["recalibrated_lower"][7:]).all()


def test_what_needs_no_mend_is_left_as_stated(capsys):
    code, out, _ = run(capsys, "crossed.csv", *BOUNDS, "--sort-bounds", *QUICK, "--out", "recalibrated.csv", "--model", "model.json")
    made, table = pd.read_csv("recalibrated.csv"), pd.read_csv("stated.csv")
    assert code == 0 and "(bounds unchanged)" in out and "Model: none, since no fault is found" in out and not Path("model.json").exists()
    np.testing.assert_array_equal(made[["recalibrated_lower", "recalibrated_upper"]], table[["lo", "hi"]])


@pytest.mark.parametrize(("args", "message"), [
    (["stated.csv", "--apply", "pets.csv", "--out", "x.csv"], "is no file that uqcal intervals --model wrote"), (["stated.csv", "--apply", "pets.csv"], "--apply needs --out"), (["stated.csv", *BOUNDS, "--out", "stated.csv"], "would overwrite"),
    (["pets.csv", "--observed", "animal", "--sets", "listed", "--level", "0.9", "--out", "x.csv"], "belong to intervals"),
    (["stated.csv"], "level"), (["stated.csv", "--level", "0.9"], "name them with --observed, --lower and --upper"), (["stated.csv", *BOUNDS[:-1], "90"], "--level must lie strictly between 0 and 1"),
    (["stated.csv", *BOUNDS, "--upper", "lo"], "the columns must differ"), (["stated.csv", *BOUNDS, "--feature", "nothing"], "no column 'nothing'"), (["stated.csv", *BOUNDS, "--tolerance", "0.03"], "--tolerance must be a factor above 1, such as 1.25, got 0.03"),
    (["stated.csv", *BOUNDS, "--groups", "y"], "--groups must name a column of its own"), (["stated.csv", *BOUNDS, "--groups", "who", "--n-calibration", "50"], "--n-calibration must be left out"),
    (["stated.csv", "--observed", "kind", "--lower", "lo", "--upper", "hi", "--level", "0.9"], "line 2: column 'kind' must hold numbers"), (["stated.csv", *BOUNDS, "--fail-on", "bad"], "--fail-on"),
    (["pets.csv", "--observed", "animal", "--set", "cat", "--level", "0.9"], "--set must name two labels or more"), (["pets.csv", "--observed", "animal", "--set", "cat", "--set", "dog", "--level", "0.9"], "the label '7' of column 'animal' has no --set column"),
    (["pets.csv", "--observed", "animal", "--sets", "listed", "--lower", "x", "--level", "0.9"], "belong to intervals"), (["pets.csv", "--observed", "cat", "--sets", "animal", "--level", "0.9"], "line 2: column 'animal' must hold JSON lists of labels"),
    (["pets.csv", "--observed", "animal", "--set", "cat", "--sets", "listed", "--level", "0.9"], "either --set or --sets"), (["stated.csv", "--observed", "kind", "--set", "T", "--set", "y", "--level", "0.9"], "must hold 0 or 1"),
])
def test_what_is_wrong_is_said_in_one_line(capsys, args, message):
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "") and message in err and len(err.splitlines()) == 1, err


def test_help_names_every_option(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0 and all(name in out for name in ("--sort-bounds", "--sets", "--set ", "--level", "--as-groups", "--n-calibration", "--report"))


def test_widths_outside_the_range_of_a_fit_are_counted(capsys):
    table = pd.read_csv("stated.csv")
    assert run(capsys, "stated.csv", "--observed", "y", "--lower", "low", "--upper", "hi", "--level", "0.9", *QUICK, "--model", "model.json")[0] == 0
    table.assign(hi=table["hi"].where(np.arange(len(table)) > 1, table["hi"] + 1000)).to_csv("new.csv", index=False)
    said = " ".join(run(capsys, "new.csv", "--apply", "model.json", "--out", "made.csv")[1].split())
    assert f"In 2 of {len(table)} rows the width lies outside" in said
    assert "outside" not in run(capsys, "stated.csv", "--apply", "model.json", "--out", "again.csv")[1]
