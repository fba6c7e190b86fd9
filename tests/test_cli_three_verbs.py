"""`uqcal monitor`, `compare-models` and `compare-groups` on files as they lie on disks: what is true of them is found, in one screen, and what is printed to be typed next runs."""
import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal._command.cli import main

TASKS = Path(__file__).parents[2] / "shared" / "tasks"
has_tasks = pytest.mark.skipif(not TASKS.exists(), reason="the files of tasks lie beside the clone, not in it")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def run(capsys, *args, code=0):
    "The screen of a command, which is one: at most 24 lines of 80 columns, with a verdict and a next step."
    with pytest.raises(SystemExit) as ended: main([*map(str, args)])
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    lines = said.out.split("\n\nReport:")[0].split("\n\nNumbers:")[0].splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and "\nVERDICT  " in said.out and "\nNEXT     " in said.out
    return said.out


def refused(capsys, *args):
    with pytest.raises(SystemExit) as ended: main([*map(str, args)])
    said = capsys.readouterr()
    assert ended.value.code == 2 and said.err.count("\n") == 1 and not said.out
    return said.err


def typed_next(screen):
    "The commands below NEXT, as words."
    below = screen[screen.index("\nNEXT"):].replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in below.splitlines() if line.strip().startswith("uqcal ")]


# --- monitor

MONTH = ["--observed", "event", "--prob", "prob", "--state", "state.json", "--fail-on", "alarm"]


@has_tasks
def test_a_job_that_runs_once_a_month_rings_from_the_month_of_the_change_on(capsys):
    "The change is at row 6,000, the first of month 3. Mutation: counts and alarms of all months, which ring for ever and never speak of this file."
    for month in range(6):
        file = f"clinic_stream_month{month}.csv"
        said = run(capsys, "monitor", TASKS / file, *MONTH, "--json", "found.json", code=int(month >= 3)).split("\n\nNumbers")[0]
        found = json.loads(Path("found.json").read_text())
        assert said.startswith(f"{file}: probabilities in file order, 2,000 rows") and found["rows"] == found["learnt"] == 2000
        assert (found["outcome"] == "alarm") == (found["alarms"] > 0) == ("alarm at outcome" in said) == (month >= 3)
        if month == 3: assert "since about outcome" in said
    assert "before this file" in said


@has_tasks
def test_the_command_that_is_printed_takes_the_next_file(capsys):
    screen = run(capsys, "monitor", TASKS / "clinic_stream_month0.csv", *MONTH[:4], "--run-length", 5000)
    (line,) = typed_next(screen)
    assert "--run-length" in line and line[-2:] == ["--state", "state.json"]
    shutil.copy(TASKS / "clinic_stream_month1.csv", "next.csv")
    for _ in range(2): assert "next.csv: probabilities" in run(capsys, *line)


@has_tasks
def test_quantiles_are_monitored_as_intervals(capsys):
    "The model is right until day 600."
    said = run(capsys, "monitor", TASKS / "load_quantiles_a.csv", "--observed", "load", "--lower", "q05", "--upper", "q95", "--level", 0.9)
    assert "undercoverage since about outcome" in " ".join(said.split()) and int(re.search(r"since about\s+outcome (\d+)", said)[1]) > 600
    assert "forecasts too low since" in " ".join(run(capsys, "monitor", TASKS / "load_quantiles_a.csv", "--observed", "load", "--quantiles", "q*").split())


def forecasts(n=400, seed=0):
    rng = np.random.default_rng(seed)
    std = np.exp(rng.normal(0, 0.3, n)).round(4)
    mean, p = rng.normal(10, 3, n).round(4), rng.uniform(0.05, 0.95, n).round(4)
    y = (mean + 2 * std * rng.standard_normal(n)).round(4)
    came = np.where(rng.random(n) < p**2, "yes", "no")
    return pd.DataFrame({"case": np.arange(n), "p": p, "came": came, "mean": mean, "std": std, "y": y, "e": (y - mean).round(4), "lo": mean - std, "up": mean + std})


KINDS = {"probabilities": ["--observed", "came", "--prob", "p", "--positive", "yes"], "predictions": ["--observed", "y", "--predicted", "mean", "--std", "std"],
         "errors": ["--error", "e", "--std", "std"], "intervals": ["--observed", "y", "--lower", "lo", "--upper", "up", "--level", "0.9"]}


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_with_a_state_write_what_one_writes(capsys, kind):
    frame = forecasts()
    for name, rows in (("whole", frame), ("first", frame[:250]), ("next", frame[250:])): rows.to_csv(f"{name}.csv", index=False)
    whole = run(capsys, "monitor", "whole.csv", *KINDS[kind], "--out", "rows.csv")
    assert "--out next_recalibrated.csv" in " ".join(typed_next(whole)[0])
    first = run(capsys, "monitor", "first.csv", *KINDS[kind], "--state", "s.json", "--out", "parts.csv")
    (line,) = typed_next(first)
    second = run(capsys, *line)
    assert "first.csv: " in first and "250 rows" in first and "next.csv: " in second and "150 rows" in second
    assert Path("parts.csv").read_text() == Path("rows.csv").read_text()
    assert "is the state of a stream of" in refused(capsys, "monitor", "next.csv", *KINDS["intervals" if kind == "errors" else "errors"], "--state", "s.json") or kind == "predictions"


def test_a_prediction_is_kept_for_the_outcome_that_comes_later(capsys):
    "The row that brings what was observed gets the std that was written with its prediction, and the same as a table of errors."
    Path("late.csv").write_text("case,mean,std,y\na,10,1,\nb,11,1,14\na,,,12\nc,9,1,\n")
    Path("errors.csv").write_text("case,std,e\na,1,\nb,1,3\na,,2\nc,1,\n")
    run(capsys, "monitor", "late.csv", *KINDS["predictions"], "--key", "case", "--out", "rows.csv")
    run(capsys, "monitor", "errors.csv", *KINDS["errors"], "--key", "case", "--out", "same.csv")
    made = pd.read_csv("rows.csv")["recalibrated"]
    assert made.tolist() == pd.read_csv("same.csv")["recalibrated"].tolist() and made[2] == made[0]
    Path("late.csv").write_text("case,mean,std,y\na,10,1,\na,11,1,12\n")
    assert "key 'a' has the prediction 10, but this row holds 11" in refused(capsys, "monitor", "late.csv", *KINDS["predictions"], "--key", "case")


def test_one_of_two_labels_is_the_event(capsys):
    frame = forecasts(40)
    frame.to_csv("t.csv", index=False)
    assert "column 'came' must hold 0 or 1" in refused(capsys, "monitor", "t.csv", "--observed", "y", "--prob", "p").replace("'y'", "'came'")
    frame.assign(came=frame["came"].where(frame.index != 7, "maybe")).to_csv("t.csv", index=False)
    assert "line 9: column 'came' must hold two labels, 'yes' and 'no', or nothing, got 'maybe'" in refused(capsys, "monitor", "t.csv", *KINDS["probabilities"])


@pytest.mark.parametrize("args, told", [
    ([], "name what was observed and what was predicted"), (["--observed", "y", "--predicted", "mean"], "got --observed, --predicted"), (["--observed", "y", "--samples", "m*"], "must name at least two columns"),
    (["--observed", "y", "--predicted", "mean", "--variance", "std"], "square roots"), ([*KINDS["errors"], "--weight", "p"], "--weight can't be used with monitor"), ([*KINDS["errors"], "--fail-on", "invalid"], "--fail-on must be one of 'alarm'"),
    ([*KINDS["errors"], "--out", "-", "--json", "-"], "would both write to standard output"), ([*KINDS["intervals"][:-2]], "--level must say which coverage")])
def test_what_monitor_can_not_use_is_refused_in_a_sentence(capsys, args, told):
    forecasts(40).to_csv("t.csv", index=False)
    assert told in refused(capsys, "monitor", "t.csv", *args)


def test_rows_and_pictures_go_where_they_are_asked_to(capsys):
    forecasts(60).to_csv("t.csv", index=False)
    assert "case,p" not in run(capsys, "monitor", "t.csv", *KINDS["errors"], "--report", "r.html", "--figure", "f.svg", "--json", "n.json")
    assert "<svg" in Path("f.svg").read_text() and "</html>" in Path("r.html").read_text() and json.loads(Path("n.json").read_text())["outcome"]
    with pytest.raises(SystemExit): main(["monitor", "t.csv", *KINDS["errors"], "--out", "-"])
    said = capsys.readouterr()
    assert said.out.count("\n") == 61 and "VERDICT" in said.err


def test_the_demo_is_monitored_compared_and_looked_at_by_season(capsys):
    assert "demo: probabilities in file order, 730 rows" in (said := run(capsys, "monitor", "demo")) and "--observed rain --prob rain_prob" in said
    assert "demo: uncertainties" in run(capsys, "monitor", "demo", "--observed", "temperature", "--predicted", "temperature_mean", "--std", "temperature_std")
    assert "demo: 730 rows, 4 groups" in run(capsys, "compare-groups", "demo", "--n-resamples", 199)
    assert "demo: 2 models, 730 rows, interval score at 90 %, std taken as" in run(capsys, "compare-models", "demo", "--n-boot", 199)


# --- compare-groups

AUDIT = ["--observed", "outcome", "--score", "score", "--by", "group", "--weight", "weight", "--groups", "household", "--n-resamples", 499, "--jobs", 1]


@has_tasks
@pytest.mark.parametrize("group, way", [("g03", "+"), ("g07", "−")])
def test_one_group_differs_from_everyone_at_equal_scores(capsys, group, way):
    said = " ".join(run(capsys, "compare-groups", TASKS / "audit_groups.csv", *AUDIT, "--only", group).split())
    assert f"At equal scores group {group} and everyone differ. On average {group} minus everyone is {way}0.0" in said


@pytest.mark.slow
@has_tasks
def test_groups_that_differ_at_equal_scores_are_found_and_looked_at(capsys):
    "g03 differs by +.08, g07 by −.10; g12, with 12 households, shows nothing."
    said = run(capsys, "compare-groups", TASKS / "audit_groups.csv", *AUDIT, "--json", "found.json")
    found = json.loads(Path("found.json").read_text())
    differ = {one["name"] for one in found["findings"] if one["status"] == "invalid"}
    assert differ == {"group g03", "group g07"} and "2 of 14 groups differ from everyone" in said
    (line,) = typed_next(said)
    assert line[-4:-2] == ["--only", "g07"] and "--weight weight --groups household" in " ".join(line)
    looked = run(capsys, *line, "--n-resamples", 499)
    assert "group g07 and everyone differ" in " ".join(looked.split()) and "</html>" in Path("report.html").read_text()


def test_each_group_is_compared_with_the_one_that_is_named(capsys):
    "Mutation: all pairs, of which others differ more."
    rng = np.random.default_rng(1)
    n, group = 900, np.repeat(list("abcd"), 225)
    score = rng.random(n).round(3)
    rate = {"a": 0.2, "b": 0.2, "c": 0.2, "d": 0.9}
    pd.DataFrame({"y": (rng.random(n) < [rate[one] for one in group]).astype(int), "s": score, "g": group}).to_csv("t.csv", index=False)
    plain = ["compare-groups", "t.csv", "--observed", "y", "--score", "s", "--by", "g", "--n-resamples", 199, "--jobs", 1]
    said = run(capsys, *plain, "--reference", "a", "--json", "n.json")
    rows = {row["a"]: row for row in json.loads(Path("n.json").read_text())["comparisons"]}
    assert set(rows) == {"b", "c", "d"} and all(row["b"] == "a" for row in rows.values()) and "1 of 3 pairs of groups differs" in said
    run(capsys, *plain, "--only", "d", "--reference", "a", "--json", "pair.json")
    assert json.loads(Path("pair.json").read_text())["average_difference"] == pytest.approx(rows["d"]["average_difference"], rel=1e-9)
    (line,) = typed_next(said)
    assert "--only d --reference a" in " ".join(line)
    run(capsys, *line, "--n-resamples", 199)


# --- compare-models

@has_tasks
def test_two_models_of_quantiles_are_compared_by_their_intervals(capsys):
    "b is noisier and too narrow."
    a, b = (pd.read_csv(TASKS / f"load_quantiles_{one}.csv").set_index(["date", "load"]).add_prefix(f"{one}_") for one in "ab")
    a.join(b).reset_index().to_csv("both.csv", index=False)
    models = ["compare-models", "both.csv", "--observed", "load", "--n-boot", 199, "--jobs", 1]
    said = run(capsys, *models, "--level", 0.9, "--model", "A=intervals:a_q05,a_q95", "--model", "B=intervals:b_q05,b_q95")
    assert "A is better than B in interval score" in said
    same = run(capsys, *models, "--level", 0.9, "--model", "A=quantiles:a_q*", "--model", "B=quantiles:b_q*")
    assert same == said
    assert "CRPS" in run(capsys, *models, "--model", "A=quantiles:a_q*", "--model", "B=quantiles:b_q*")
    assert "needs the quantiles 0.1 and 0.9" in refused(capsys, *models, "--level", 0.81, "--model", "A=quantiles:a_q*", "--model", "B=quantiles:b_q*").replace("0.095 and 0.905", "0.1 and 0.9")


@pytest.mark.parametrize("kind, columns, more", [("mean-std", "mean,std", []), ("error-std", "e,std", []), ("prob", "p", ["--positive", "yes"])])
def test_the_command_that_recalibrates_a_model_runs(capsys, kind, columns, more):
    "Of each kind of statement whose rows can be recalibrated to the front."
    frame = forecasts(600, 3).assign(clumsy=lambda t: 6 * t["std"], off=lambda t: (t["p"]**2).clip(0.01, 0.99))
    frame.to_csv("t.csv", index=False)
    other = {"mean-std": "mean,clumsy", "error-std": "e,clumsy", "prob": "off"}[kind]
    observed = {"mean-std": ["--observed", "y"], "error-std": [], "prob": ["--observed", "came"]}[kind]
    said = run(capsys, "compare-models", "t.csv", *observed, "--model", f"a={kind}:{columns}", "--model", f"b={kind}:{other}", *more, "--n-boot", 199, "--jobs", 1)
    lines = typed_next(said)
    for line in lines:
        assert line[0] == "recalibrate"
        with pytest.raises(SystemExit) as ended: main(line)
        assert ended.value.code == 0, capsys.readouterr().err
    assert lines or "Recalibrate" not in said


def test_unlike_kinds_are_compared_at_one_level_or_refused(capsys):
    forecasts(200).to_csv("t.csv", index=False)
    plain = ["compare-models", "t.csv", "--observed", "y", "--model", "a=mean-std:mean,std", "--model", "b=intervals:lo,up", "--n-boot", 99, "--jobs", 1]
    assert "interval score at 68 %, std taken as normal" in " ".join(run(capsys, *plain, "--level", 0.68).split())
    assert "--level must say which intervals are compared" in refused(capsys, *plain)
    assert "--weight can't be used with compare-models" in refused(capsys, *plain, "--weight", "p")
    assert "--level must say which intervals are compared" in refused(capsys, *plain[:-4], "--model", "c=samples:m*")


def test_models_of_many_classes_are_compared_whatever_the_order_of_their_columns(capsys):
    "The labels are text, b names its classes in another order, and the scores are those of the formula."
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([0.6, 0.6, 0.6], 300)
    label = (prob.cumsum(axis=1) < rng.uniform(size=(300, 1))).sum(axis=1)
    blunt, names = (prob**3 + 1e-6) / (prob**3 + 1e-6).sum(axis=1, keepdims=True), np.array(["cat", "dog", "owl"])
    columns = {f"a_{one}": prob[:, k] for k, one in enumerate(names)} | {f"b_{names[k]}": blunt[:, k] for k in (2, 0, 1)}
    pd.DataFrame({"animal": names[label], **columns}).to_csv("pets.csv", index=False)
    plain = ["compare-models", "pets.csv", "--observed", "animal", "--model", "a=probs:a_*", "--n-boot", 199, "--jobs", 1]
    assert "a is better than b in log loss" in run(capsys, *plain, "--model", "b=probs:b_*", "--json", "numbers.json")
    expected = {one: -np.log(made[np.arange(300), label]).mean() for one, made in {"a": prob, "b": blunt}.items()}
    assert {one["model"]: one["score"] for one in json.loads(Path("numbers.json").read_text())["models"]} == pytest.approx(expected, rel=1e-9)
    assert "all models must have the same" in refused(capsys, *plain, "--model", "b=probs:b_[co]*")
    assert "names no column" in refused(capsys, *plain, "--model", "b=probs:c_*")
    assert "probs needs a column for each class" in refused(capsys, *plain, "--model", "b=probs:b_cat")
    assert "of one kind, got probs and prob" in refused(capsys, *plain, "--model", "b=prob:b_cat")
