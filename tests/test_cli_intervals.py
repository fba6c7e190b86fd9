"""`uqcal validate` of intervals and sets, and what moves bounds: from a table of values and bounds, or sets of labels, to a verdict, or one line that says what is wrong."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main
from uqcal.intervals.conformal import ConformalBounds
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


def run(capsys, *args, verb="validate"):
    with pytest.raises(SystemExit) as ended: main([verb, *args])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def numbers(capsys, *args):
    code, out, err = run(capsys, *args, *QUICK, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_verdict_and_numbers_are_those_of_the_report(capsys):
    found, table = numbers(capsys, "stated.csv", *BOUNDS, "--by", "T", "--by", "kind", "--seed", "3"), pd.read_csv("stated.csv")
    report = interval_report(table["y"], table[["lo", "hi"]], 0.9, by=table[["T", "kind"]], n_resamples=199, rng=3)
    assert (found["verdict"], found["conclusion"], found["step"], found["interval_score"], found["covered"]) == (report.verdict, report.conclusion, report.step.to_dict(), report.score, report.covered)
    assert [one["name"] for one in found["findings"]] == ["coverage", "sides", "by width", "by T", "by kind"] and found["data"]["by"] == ["T", "kind"]
    for told, one in zip(found["findings"], report.findings): assert told == json.loads(json.dumps(one.to_dict()))
    assert found["parts"] == report.to_frame("parts").to_dict("records")


def test_report_and_numbers_are_written(capsys):
    args = ["stated.csv", "--observed", "y", "--lower", "low", "--upper", "hi", "--level", "0.9", "--by", "kind"]
    code, out, _ = run(capsys, *args, *QUICK, "--report", "r.html", "--json", "n.json")
    assert code == 0 and "VERDICT  Overconfident: " in out and "\nNEXT     Recalibrate by " in out and "Report: r.html" in out and max(map(len, out.splitlines())) <= 80
    page = open("r.html", encoding="utf-8").read()
    assert json.load(open("n.json", encoding="utf-8"))["verdict"] == "invalid" and "stated.csv" in page and "By kind" in page and "held out" in page.lower().replace("-", " ")


@pytest.mark.parametrize(("lower", "more", "code"), [("lo", ["invalid"], 0), ("low", ["invalid"], 1), ("lo", ["inconclusive"], 1), ("low", ["inconclusive"], 1)])
def test_fail_on(capsys, lower, more, code):
    assert run(capsys, "stated.csv", "--observed", "y", "--lower", lower, "--upper", "hi", "--level", "0.9", *QUICK, "--fail-on", *more)[0] == code


def test_crossed_bounds_are_named_by_line_or_swapped_and_counted(capsys):
    code, _, err = run(capsys, "crossed.csv", *BOUNDS)
    assert code == 2 and "crossed.csv, line 5: 'lo' is above 'hi', and in 4 more; --sort-bounds swaps them" in err and len(err.splitlines()) == 1
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
    assert numbers(capsys, "stated.csv", *BOUNDS, "--by", "who", "--as-groups", "who")["findings"][-1]["name"] == "by who"


def test_sets_in_columns_in_lists_and_in_text_say_the_same(capsys):
    table = pd.read_csv("pets.csv", dtype={"animal": str})
    table.assign(text=["|".join(map(str, json.loads(one))) or "[]" for one in table["listed"]]).rename(columns={name: f"in_{name}" for name in ("cat", "dog", "7")}).to_csv("pets.csv", index=False)
    ways = (["--sets", "in_*"], ["--sets", "listed"], ["--sets", "text", "--separator", "|"])
    columns, lists, text = (numbers(capsys, "pets.csv", "--observed", "animal", *way, "--level", "0.7") for way in ways)
    covered = sum(row[row["animal"]] for row in table.to_dict("records"))
    assert columns["covered"] == lists["covered"] == covered and columns["parts"] == lists["parts"] == text["parts"] and columns["interval_score"] is None
    assert columns["findings"] == lists["findings"] and columns["findings"][1]["name"] == "by set size"


def test_one_bound_alone_is_one_sided(capsys):
    table = pd.read_csv("stated.csv")
    found = numbers(capsys, "stated.csv", "--observed", "y", "--upper", "hi", "--level", "0.95")
    assert found["covered"] == int((table["y"] <= table["hi"]).sum()) and found["infinite"] == 500 and [one["name"] for one in found["findings"]] == ["coverage"]
    code, out, _ = run(capsys, "stated.csv", "--observed", "y", "--upper", "hi", "--level", "0.8", "--out", "made.csv", "--model", "m.json", verb="recalibrate")
    made = pd.read_csv("made.csv")
    assert code == 0 and abs((made["y"] <= made["recalibrated_upper"]).mean() - 0.8) < 0.05 and (made["recalibrated_lower"] == -np.inf).all()


def test_a_table_on_standard_input_is_judged(capsys, monkeypatch):
    import io
    import sys
    text = open("stated.csv", "rb").read()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, out, err = run(capsys, "-", *BOUNDS, *QUICK)
    assert (code, err) == (0, "") and "standard input: 90 % intervals, 500 rows" in out


def test_bounds_are_moved_by_other_rows_and_the_model_goes_to_other_rows(capsys):
    columns = ["--lower", "low", "--upper", "hi", "--level", "0.9"]
    code, out, _ = run(capsys, "stated.csv", "--observed", "y", *columns, "--by", "kind", "--out", "recalibrated.csv", "--model", "model.json", verb="recalibrate")
    made, table = pd.read_csv("recalibrated.csv"), pd.read_csv("stated.csv")
    assert code == 0 and "Rows: recalibrated.csv" in out and "Model: model.json" in out and len(out.splitlines()) <= 24
    assert made.columns.tolist() == [*table.columns, "recalibrated_lower", "recalibrated_upper"] and made[table.columns].equals(table)
    assert abs(made.eval("recalibrated_lower <= y <= recalibrated_upper").mean() - 0.9) < 0.03
    per_width = ConformalBounds.from_dict(json.load(open("model.json"))["model"]).per_width
    fitted = ConformalBounds(0.9, by="kind", symmetric=False, per_width=per_width).fit(table["y"], table[["low", "hi"]], table[["kind"]])
    code, out, _ = run(capsys, "stated.csv", "--apply", "model.json", "--out", "again.csv", verb="recalibrate")
    assert code == 0 and fitted.sentence in " ".join(out.split())
    np.testing.assert_allclose(pd.read_csv("again.csv")[["recalibrated_lower", "recalibrated_upper"]], fitted.predict(table[["low", "hi"]], table[["kind"]]), rtol=1e-12)
    table.assign(kind=np.where(np.arange(500) < 7, "new", table["kind"])).to_csv("other.csv", index=False)
    code, out, _ = run(capsys, "other.csv", *columns, "--apply", "model.json", "--out", "made.csv", verb="recalibrate")
    made = pd.read_csv("made.csv")
    assert code == 0 and "7 rows get no limits" in " ".join(out.split())
    assert np.isinf(made["recalibrated_lower"][:7]).all() and np.isfinite(made["recalibrated_lower"][7:]).all()


def test_clusters_are_held_out_whole(capsys):
    "Mutation: folds of rows, in which each row knows its copy."
    table = pd.read_csv("stated.csv")
    table = table.assign(y=table["yhat"] + np.random.default_rng(0).standard_normal(25).repeat(20), lo=table["yhat"] - 0.1, hi=table["yhat"] + 0.1, who=np.arange(500) // 20)
    table.to_csv("clusters.csv", index=False)
    code, out, _ = run(capsys, "clusters.csv", *BOUNDS[:-1], "0.7", "--groups", "who", "--json", "-", verb="recalibrate")
    assert code == 0 and 0.4 < json.loads(out)["covered"] < 1 and run(capsys, "clusters.csv", *BOUNDS[:-1], "0.7", "--groups", "who", verb="conformalize")[1].startswith("clusters.csv: intervals, 500 rows in 25 clusters")


@pytest.mark.parametrize(("args", "message"), [
    (["stated.csv", *BOUNDS[:-2]], "--level is needed"), (["stated.csv", *BOUNDS[2:]], "--observed is needed"), (["stated.csv", *BOUNDS[:-1], "90"], "--level must lie strictly between 0 and 1, got 90.0; of per cent write --level 0.9"),
    (["stated.csv", *BOUNDS, "--upper", "lo"], "the columns must differ"), (["stated.csv", *BOUNDS, "--by", "nothing"], "no column 'nothing'"), (["stated.csv", *BOUNDS, "--tolerance", "0.03"], "--tolerance must be a factor above 1, such as 1.25, got 0.03"),
    (["stated.csv", *BOUNDS, "--groups", "y"], "--groups must name a column of its own"), (["stated.csv", *BOUNDS, "--groups", "who", "--n-calibration", "50"], "--n-calibration must be left out"),
    (["stated.csv", "--observed", "kind", "--lower", "lo", "--upper", "hi", "--level", "0.9"], "line 2: column 'kind' must hold numbers"), (["stated.csv", *BOUNDS, "--fail-on", "bad"], "--fail-on"),
    (["pets.csv", "--observed", "animal", "--sets", "cat", "--sets", "dog", "--level", "0.9"], "the label '7' of column 'animal' has no column among those of --sets"), (["gaps.csv", "--observed", "animal", "--sets", "listed", "--level", "0.9"], "write [] where a set is empty"), (["pets.csv", "--observed", "animal", "--sets", "no_*", "--level", "0.9"], "--sets no_* names no column"),
    (["pets.csv", "--observed", "animal", "--sets", "listed", "--lower", "x", "--level", "0.9"], "give one statement, not two"), (["pets.csv", "--observed", "animal", "--sets", "cat", "--sets", "dog", "--separator", ",", "--level", "0.9"], "--separator splits the cells of one column"),
    (["stated.csv", "--observed", "kind", "--sets", "T", "--sets", "y", "--level", "0.9"], "must hold 0 or 1"), (["stated.csv", *BOUNDS, "--n-mc", "9"], "of no use for intervals: leave out --n-mc"), (["stated.csv", *BOUNDS, "--weight", "T"], "leave out --weight"),
    (["stated.csv", *BOUNDS, "--predicted", "yhat"], "give one statement, not two"), (["stated.csv", *BOUNDS, "--figure", "f.bmp", "--n-resamples", "99"], "--figure must end in .png, .svg or .pdf"),
])
def test_what_is_wrong_is_said_in_one_line(capsys, args, message):
    Path("gaps.csv").write_text("animal,listed\ncat,cat\ndog,\n")
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "") and message in err and len(err.splitlines()) == 1, err


@pytest.mark.parametrize(("verb", "args", "message"), [
    ("recalibrate", ["stated.csv", "--apply", "pets.csv", "--out", "x.csv"], "is no file that uqcal recalibrate --model wrote"), ("conformalize", ["stated.csv", "--apply", "pets.csv"], "--apply needs --out"),
    ("recalibrate", ["stated.csv", *BOUNDS, "--out", "stated.csv"], "would overwrite"), ("recalibrate", ["pets.csv", "--observed", "animal", "--sets", "listed", "--level", "0.9"], "sets of labels are made anew from probabilities"),
    ("conformalize", ["pets.csv", "--observed", "animal", "--sets", "listed", "--level", "0.9"], "sets of labels can't be conformalized"), ("conformalize", ["stated.csv", *BOUNDS, "--by", "T"], "holds numbers"),
    ("conformalize", ["stated.csv", "--error", "y", "--std", "hi", "--level", "0.9"], "intervals lie around predictions"), ("conformalize", ["stated.csv", *BOUNDS, "--by", "kind", "--by", "T"], "give one --by"),
    ("recalibrate", ["stated.csv", *BOUNDS, "--tolerance", "1.5"], "leave out --tolerance")])
def test_what_can_not_be_moved_is_refused_in_one_line(capsys, verb, args, message):
    code, out, err = run(capsys, *args, verb=verb)
    assert (code, out) == (2, "") and message in err and len(err.splitlines()) == 1, err


def test_help_names_every_option(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0 and all(name in out for name in ("--sort-bounds", "--sets", "--separator", "--level", "--as-groups", "--n-calibration", "--report"))


def test_widths_outside_the_range_of_a_fit_are_counted(capsys):
    table = pd.read_csv("stated.csv")
    assert run(capsys, "stated.csv", "--observed", "y", "--lower", "low", "--upper", "hi", "--level", "0.9", "--model", "model.json", verb="recalibrate")[0] == 0
    table.assign(hi=table["hi"].where(np.arange(len(table)) > 1, table["hi"] + 1000)).to_csv("new.csv", index=False)
    said = " ".join(run(capsys, "new.csv", "--apply", "model.json", "--out", "made.csv", verb="recalibrate")[1].split())
    assert f"In 2 of {len(table)} rows the width lies outside" in said
    assert "outside" not in run(capsys, "stated.csv", "--apply", "model.json", "--out", "again.csv", verb="recalibrate")[1]
