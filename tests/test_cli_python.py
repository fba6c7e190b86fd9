"""The same call with the same seed gives the same digits from Python and from the command line."""
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from uqcal.errors.validation import validate_errors
from uqcal.probabilities.calibration import calibration_report
from uqcal._command.cli import main
from uqcal.intervals.coverage import interval_report
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal.corrections.error_recalibration import recalibrate_errors
from uqcal.comparison.model_comparison import compare_scores
from uqcal.corrections.probability_recalibration import recalibrate_probabilities
from uqcal.subgroups.screening import screen
from uqcal.adapters.rows import recalibrate_rows


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    "A table whose decimals are those of its file, in the folder of the test."
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(8), 240
    u, p = np.exp(rng.normal(0, 0.5, n)), rng.uniform(0.05, 0.95, n)
    t = pd.DataFrame({"f": rng.normal(5, 2, n), "u": u, "x": rng.uniform(size=n), "kind": rng.choice(["a", "b"], n), "c": np.arange(n) // 6, "w": rng.choice([1.0, 2.0], n), "g": rng.choice(["a", "b", "c"], n), "p": p})
    t["y"] = t["f"] + 1.4 * u * rng.standard_normal(n) + 0.3
    t = t.assign(lo=t["f"] - u, hi=t["f"] + u, f2=t["f"] + rng.normal(0, 0.3, n), u2=1.3 * u, o=(rng.uniform(size=n) < p**1.5).astype(int))
    t.round(4).to_csv("t.csv", index=False)
    return pd.read_csv("t.csv")


def run(capsys, *args):
    "What a command printed; it must be done."
    with pytest.raises(SystemExit) as end: main([*map(str, args)])
    said = capsys.readouterr()
    assert end.value.code == 0, said.err
    return said.out


def numbers(capsys, *args):
    "The numbers of a command."
    return json.loads(run(capsys, *args, "--json", "-"))


def test_validate(table, capsys):
    found = numbers(capsys, "validate", "t.csv", "--observed", "y", "--predicted", "f", "--std", "u", "--by", "x", "--groups", "c", "--n-boot", 60, "--n-mc", 40, "--n-resamples", 199, "--seed", 5)
    result = validate_errors(table["y"] - table["f"], table["u"], observed=table["y"], by=table[["x"]], groups=table["c"], n_boot=60, n_mc=40, n_resamples=199, rng=5)
    for name, one in json.loads(result.to_json()).items():  # the command names lines of the file beside rows
        assert re.sub(r" \(line [\d,]+\)", "", json.dumps(found[name])) == json.dumps(one), name


def test_validate_probabilities(table, capsys):
    found = numbers(capsys, "validate", "t.csv", "--observed", "o", "--prob", "p", "--weight", "w", "--n-boot", 60, "--n-resamples", 199, "--seed", 5)
    result = calibration_report(table["o"], table["p"], sample_weight=table["w"], n_boot=60, n_resamples=199, rng=5)
    frame = result.to_frame("statistics")
    rows = frame.astype(object).where(frame.notna(), None)
    assert found["conclusion"] == result.conclusion and found["verdict"] == result.verdict
    for name, row in rows.iterrows():
        told = found["numbers"][name]  # where a number has no limits, these are null
        assert told.keys() <= set(frame) and {key: told.get(key) for key in frame} == row.to_dict(), name
    assert found["numbers"]["kuiper"]["low"] is None and found["numbers"]["O/E"]["low"] < found["numbers"]["O/E"]["value"]


def test_validate_intervals(table, capsys):
    found = numbers(capsys, "validate", "t.csv", "--observed", "y", "--lower", "lo", "--upper", "hi", "--level", 0.8, "--by", "kind", "--n-resamples", 199, "--seed", 5)
    result = interval_report(table["y"], table[["lo", "hi"]], 0.8, by=table[["kind"]], n_resamples=199, rng=5)
    assert (found["covered"], found["mean_size"], found["interval_score"]) == (result.covered, result.mean_size, result.score)
    for told, one in zip(found["findings"], result.findings, strict=True): assert (told["name"], told["pvalue"], told["estimate"]) == (one.name, one.pvalue, one.estimate)


def test_recalibrate_errors(table, capsys):
    run(capsys, "recalibrate", "t.csv", "--observed", "y", "--predicted", "f", "--std", "u", "--by", "kind", "--groups", "c", "--n-boot", 60, "--n-resamples", 199, "--seed", 5, "--out", "made.csv", "--model", "m.json")
    found = recalibrate_errors(table["y"] - table["f"], table["u"], by=table[["kind"]], groups=table["c"], n_boot=60, n_resamples=199, rng=5)
    made = pd.read_csv("made.csv")
    np.testing.assert_array_equal(made["recalibrated_std"], found.uncertainty)
    np.testing.assert_allclose(made["y"] - made["recalibrated_prediction"], found.error, rtol=0, atol=1e-13)  # the file has the prediction, from which the error is taken again
    assert json.loads(Path("m.json").read_text(encoding="utf-8"))["model"] == json.loads(json.dumps(found.model.to_dict()))


def test_recalibrate_probabilities(table, capsys):
    run(capsys, "recalibrate", "t.csv", "--observed", "o", "--prob", "p", "--n-boot", 60, "--n-resamples", 199, "--seed", 5, "--out", "made.csv")
    found = recalibrate_probabilities(table["o"], table["p"], n_boot=60, n_resamples=199, rng=5)
    np.testing.assert_array_equal(pd.read_csv("made.csv")["recalibrated_probability"], found.recalibrated)


def test_compare(table, capsys):
    roles = ["--observed", "o", "--score", "p", "--by", "g", "--groups", "c", "--n-resamples", 199, "--seed", 5]
    sides = [table[table["g"] == one] for one in "ab"]
    pair = comparison_graph(sides[0]["o"], sides[0]["p"], sides[1]["o"], sides[1]["p"], groups_a=sides[0]["c"], groups_b=sides[1]["c"], n_resamples=199, rng=5)
    one = subpopulation_graph(table["o"], table["p"], table["g"] == "a", groups=table["c"], n_resamples=199, rng=5)
    for result, more in ((pair, ["--only", "a", "--reference", "b"]), (one, ["--only", "a"])):
        found = numbers(capsys, "compare-groups", "t.csv", *roles, *more)
        for name in ("kuiper", "kolmogorov_smirnov", "null_scale", "kuiper_pvalue", "kolmogorov_smirnov_pvalue", "n_resamples", "average_difference"): assert found[name] == getattr(result, name), name
    found = numbers(capsys, "compare-groups", "t.csv", *roles)["comparisons"]
    result = screen(table.rename(columns={"o": "response", "p": "score"}), y_true="response", score="score", by="g", groups="c", reference="all", n_resamples=199, rng=5).to_frame("comparisons")
    assert [row["kuiper_pvalue"] for row in found] == result["kuiper_pvalue"].tolist() and [row["average_difference"] for row in found] == result["average_difference"].tolist()


@pytest.mark.parametrize(("score", "columns"), [("log", ("f", "u")), ("crps", ("f", "u"))])
def test_compare_models(table, capsys, score, columns):
    found = numbers(capsys, "compare-models", "t.csv", "--observed", "y", "--score", score, "--model", "one=mean-std:f,u", "--model", "two=mean-std:f2,u2", "--groups", "c", "--n-boot", 199, "--seed", 5)
    result = compare_scores(table["y"], {"one": (table["f"], table["u"]), "two": (table["f2"], table["u2"])}, score=score, groups=table["c"], n_boot=199, rng=5)
    assert [row["pvalue"] for row in found["pairs"]] == result.pairs["pvalue"].tolist() and [row["low"] for row in found["pairs"]] == result.pairs["low"].tolist()
    assert [row["score"] for row in found["models"]] == result.models["score"].tolist() and found["conclusion"] == result.conclusion


def test_monitor(capsys):
    run(capsys, "monitor", "t.csv", "--observed", "o", "--prob", "p", "--method", "hops", "--seed", 5, "--out", "made.csv")
    rows = []
    with open("t.csv", "rb") as source: recalibrate_rows(source, rows.append, y_true="o", score="p", method="hops", rng=5)
    assert "".join(rows) == Path("made.csv").read_text(encoding="utf-8")


SAME = [("validate", validate_errors), ("validate", calibration_report), ("validate", interval_report), ("recalibrate", recalibrate_errors), ("compare-groups", screen), ("compare-models", compare_scores), ("monitor", recalibrate_rows)]


@pytest.mark.parametrize(("command", "function"), SAME)
def test_defaults_are_those_of_python(command, function):
    import typer

    from uqcal._command.cli import app
    taken, own = inspect.signature(function).parameters, {one.name: one.default for one in typer.main.get_command(app).commands[command].params}
    for name in set(taken) & set(own):
        default, typed = taken[name].default, own[name]
        if default is inspect.Parameter.empty or typed is None: continue  # None stands for the default of Python
        if name == "statistics": typed = tuple(typed.split(","))
        assert str(typed) == str(default), (command, name, typed, default)
