"""Probabilities of many classes: a plain twin, the level, what each fault shows, limits that agree with tests, and bad input."""
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import uqcal
import uqcal.options
from uqcal._command.cli import main
from uqcal.comparison.model_comparison import compare_scores
from uqcal.probabilities.many_classes import class_report, class_tests

FAST = uqcal.options.ValidateOptions(n_resamples=199, n_boot=99)
NAMES = ["cat", "dog", "bird", "fish"]


def draw(prob, rng): return (rng.random((len(prob), 1)) > np.cumsum(prob, axis=1)).sum(axis=1).clip(max=prob.shape[1] - 1)


def made(n=800, size=4, seed=0, change=lambda z: z):
    "Labels and stated probabilities; `change` makes the true log-odds of the stated ones."
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, size)) * 1.5
    return draw(softmax(change(z), axis=1), rng), softmax(z, axis=1)


def test_p_values_among_all_are_those_of_the_definition():
    label, prob = made(change=lambda z: z / 1.15)
    found = class_tests(label, prob, n_resamples=199, rng=1)
    seen = [np.abs(found.classes["away"]).max(), np.abs(found.classes["steep"]).max()]
    drawn = found.drawn
    for name, value in zip(("worst_class", "class_kuiper"), seen):
        column = drawn[:, found.names.index(name)]
        assert found.by_itself(name) == pytest.approx((1 + np.sum(column >= value * (1 - 1e-9))) / 200)
    shares = np.array([[np.mean(drawn[:, j] >= one[j] * (1 - 1e-12)) for j in range(7)] for one in drawn])
    smallest = shares.min(axis=1)
    assert all(abs(found.of(name) - np.mean(smallest <= found.by_itself(name))) < 0.03 for name in found.names)


def test_right_probabilities_are_rejected_as_often_as_stated():
    "200 sets at 5 %: 1 to 21 of them in 99.9 of 100 suites. Mutation: the smallest of seven p-values (15 to 25 %)."
    shown = sum(class_tests(*made(150, 5, seed), n_resamples=199, rng=seed).pvalue <= 0.05 for seed in range(200))
    assert 1 <= shown <= 21


def test_right_probabilities_in_clusters_are_rejected_as_often_as_stated():
    "60 sets of 200 clusters with one label for five rows: without clusters three of four sets are rejected."
    shown = plain = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        prob = np.repeat(softmax(rng.normal(size=(100, 4)) * 1.5, axis=1), 5, axis=0)
        label = np.repeat(draw(prob[::5], rng), 5)
        shown += class_tests(label, prob, groups=np.arange(500) // 5, n_resamples=199, rng=rng).pvalue <= 0.05
        plain += class_tests(label, prob, n_resamples=199, rng=rng).pvalue <= 0.05
    assert shown <= 10 and plain >= 30


@pytest.mark.parametrize(("change", "name", "direction"), [
    (lambda z: z / 1.5, "slope", "overconfident"), (lambda z: z * 1.5, "slope", "underconfident"),
    (lambda z: z + 0.8 * (np.arange(4) == 2), "each class", None), (lambda z: -z, "slope", "reversed")])
def test_each_fault_is_shown_under_its_name(change, name, direction):
    report = class_report(*made(1500, change=change), n_resamples=199, n_boot=9, rng=1)
    assert report[name].status == "invalid" and report[name].direction == direction
    assert report.verdict == "invalid" and report.step.verb in ("recalibrate", "check")
    if name == "each class": assert report[name].part.first == 2


def test_limits_leave_out_one_exactly_where_a_fault_is_shown():
    for seed in range(8):
        change = (lambda z: z) if seed % 3 else (lambda z: z / 1.2)
        report = class_report(*made(400, change=change, seed=seed), n_resamples=199, n_boot=9, rng=seed)
        for one in (report["top label"], report["slope"]):
            assert one.shows_fault == (not one.low <= 1 <= one.high)
            assert one.low <= one.estimate <= one.high
        table = report.classes
        assert ((table["pvalue"] <= 0.05) == ~((table["low"] <= 1) & (1 <= table["high"]))).all()


def test_statuses_follow_the_tolerance():
    right = class_report(*made(8000, 3, 3), n_resamples=199, n_boot=9, rng=1)
    assert right.verdict == "valid" and right["slope"].status == "valid" and not right.beyond
    little = class_report(*made(8000, 3, change=lambda z: z / 1.08), n_resamples=199, n_boot=9, rng=1)
    assert little["slope"].status == "minor" and class_report(
        *made(8000, 3, change=lambda z: z / 1.08), n_resamples=199, n_boot=9, tolerance=1.02, rng=1)["slope"].status == "invalid"
    few = class_report(*made(40, 3), rng=1)
    assert few.verdict == "inconclusive" and few["slope"].rows_needed > 40


def test_a_label_of_probability_zero_contradicts():
    label, prob = made(100, 3)
    prob[7] = 0.0
    prob[7, (label[7] + 1) % 3] = 1.0
    report = class_report(label, prob, rng=1)
    assert report["locally"].rows == (7,) and report.verdict == "invalid" and report.step.why == "impossible_labels"
    assert "row" in report.conclusion and np.isinf(report.numbers["log loss"])
    assert json.loads(report.to_json())["numbers"]["log loss"] is None


def test_extreme_shapes_have_an_answer():
    "One stated row for all, a class never seen, sure and right predictions, three rows."
    rng = np.random.default_rng(1)
    same = np.tile([0.5, 0.3, 0.2], (200, 1))
    assert class_report(draw(same, rng), same, n_resamples=199, rng=1)["each class"].status in ("valid", "inconclusive")
    never = softmax(np.c_[rng.normal(size=(200, 3)), np.full(200, -9)], axis=1)
    assert class_report(draw(never, rng), never, n_resamples=199, rng=1).verdict in ("valid", "inconclusive")
    sure = np.eye(3)[np.arange(60) % 3]
    assert class_report(np.arange(60) % 3, sure, n_resamples=199, rng=1).verdict in ("valid", "inconclusive")
    assert class_report([0, 1, 2], np.full((3, 3), 1 / 3), n_resamples=199, rng=1).verdict == "inconclusive"


def test_validate_names_classes_columns_and_clusters():
    label, prob = made(900, change=lambda z: z / 1.5)
    table = pd.DataFrame(prob, columns=NAMES).assign(label=np.array(NAMES)[label], site=np.where(np.arange(900) % 2, "a", "b"))
    report = uqcal.validate(table["label"], uqcal.Probabilities(table[NAMES]), by=table["site"], groups=np.arange(900) // 3, rng=1, options=FAST)
    assert [one.name for one in report.findings] == ["top label", "slope", "each class", "locally", "by site", "ECE"]
    assert report["by site"].status != "invalid" and report.n_groups == 300 and list(report.classes["first"]) == NAMES
    assert 'uqcal.Probabilities(df[["cat", "dog", "bird", "fish"]])' in report.python
    lines = str(report).split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and "VERDICT  Overconfident" in str(report)
    assert "cat" in report.to_html() and report.plot() is not None and "events" not in report["by site"].line


def test_a_label_may_come_in_any_order_of_rows_and_classes():
    label, prob = made(500, change=lambda z: z + 0.5 * (np.arange(4) == 1))
    turned = class_report(label[::-1], prob[::-1], n_resamples=499, rng=2)
    names = class_report(np.array(NAMES)[label], prob, classes=NAMES, n_resamples=499, rng=2)
    exchanged = class_report(3 - label, prob[:, ::-1], n_resamples=499, rng=2)
    for other in (turned, names, exchanged):
        assert other["slope"].estimate == pytest.approx(turned["slope"].estimate)
        assert other["each class"].estimate == pytest.approx(turned["each class"].estimate)
        assert abs(other.tests.pvalue - turned.tests.pvalue) < 0.05


@pytest.mark.parametrize(("arguments", "said"), [
    (dict(y_true=[0, 1, 3] * 20), "y_true"), (dict(y_prob=np.full((60, 3), 0.4)), "sum to 1"),
    (dict(groups=np.arange(9)), "groups"), (dict(classes=["a", "a", "b"]), "classes"), (dict(tolerance=0.9), "tolerance"),
    (dict(confidence=1.0), "confidence"), (dict(n_resamples=0), "n_resamples"), (dict(local_tolerance=2), "local_tolerance"),
    (dict(by="site"), "by"), (dict(y_true=np.zeros(59, int)), "y_true")])
def test_bad_input_is_refused_by_name(arguments, said):
    label, prob = made(60, 3)
    with pytest.raises((ValueError, TypeError), match=said): class_report(**(dict(y_true=label, y_prob=prob, rng=1) | arguments))


def test_what_the_verbs_do_not_take_is_refused_with_what_to_type():
    label, prob = made(60, 3)
    stated = uqcal.Probabilities(prob)
    with pytest.raises(TypeError, match="sample_weight"): uqcal.validate(label, stated, sample_weight=np.ones(60))
    with pytest.raises(TypeError, match="numbers"): uqcal.validate(np.array(["a"] * 60), stated)


def test_models_are_compared_and_two_classes_agree_with_one_event():
    label, prob = made(700, 2)
    two = softmax(1.3 * np.log(prob), axis=1)
    for score in ("log loss", "brier"):
        one = compare_scores(label, {"a": prob[:, 1], "b": two[:, 1]}, score=score, rng=1).pairs
        both = compare_scores(label, {"a": prob, "b": two}, score=score, rng=1).pairs
        scale = 2 if score == "brier" else 1  # the sum over both classes
        np.testing.assert_allclose(both[["difference", "low", "high"]], scale * one[["difference", "low", "high"]], rtol=1e-9)
    label, prob = made(700)
    P = uqcal.Probabilities
    found = uqcal.compare_models(label, {"a": P(prob), "b": P(softmax(1.6 * np.log(prob), axis=1))}, rng=1)
    assert found.outcome == "better" and found.best == "a"
    with pytest.raises(ValueError, match="order"):
        uqcal.compare_models(np.array(NAMES)[label], {"a": P(prob, classes=NAMES), "b": P(prob, classes=NAMES[::-1])})
    with pytest.raises(ValueError, match="as many classes"):
        uqcal.compare_models(label, {"a": P(prob), "b": P(np.full((700, 3), 1 / 3))})


def test_the_command_line_takes_columns_of_classes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    label, prob = made(400, change=lambda z: z / 1.6)
    table = pd.DataFrame(prob, columns=[f"p_{name}" for name in NAMES]).assign(label=np.array(NAMES)[label])
    table.to_csv("t.csv", index=False)
    asked = ["validate", "t.csv", "--observed", "label", "--probs", "p_*", "--seed", "1", "--n-resamples", "199"]
    with pytest.raises(SystemExit) as ended: main([*asked, "--json", "j.json", "--fail-on", "invalid", "--verbose"])
    said = capsys.readouterr().out
    assert ended.value.code == 1 and "uqcal recalibrate t.csv --observed label --probs 'p_*'" in said and "class kuiper" in said
    with open("j.json", encoding="utf-8") as file: found = json.load(file)
    assert found["verdict"] == "invalid" and found["findings"][1]["direction"] == "overconfident"
    line = " ".join(said[said.index("    uqcal.recalibrate("):].split("\n\n")[0].split())
    done = eval(line, {"uqcal": uqcal, "table": table})
    assert done.outcome == "recalibrated" and list(done.statement.classes) == NAMES
    with pytest.raises(SystemExit) as ended: main(["monitor", "t.csv", "--observed", "label", "--probs", "p_*"])
    assert ended.value.code == 0 and f"probabilities of {len(NAMES)} classes in file order" in capsys.readouterr().out


# --- several labels

def tags(n, rng):
    "Three labels that go together in a row; the third occurs more often than predicted."
    odds = rng.normal(size=(n, 1)) + rng.normal(size=(n, 3)) - 1
    truth = 1 / (1 + np.exp(-odds - np.array([0, 0, 1.2])))
    return (rng.random((n, 3)) < truth) * 1, pd.DataFrame(1 / (1 + np.exp(-odds)), columns=["beach", "sunset", "field"])


FEW = uqcal.options.ValidateOptions(n_boot=99, n_resamples=999)


def test_labels_of_their_own_are_one_report_that_names_the_label_which_is_off():
    "It is the report on labels one below the other, with the label as a column of by= and rows as clusters."
    y, prob = tags(300, np.random.default_rng(0))
    found = uqcal.validate(y, prob, multilabel=True, rng=1, options=FEW)
    assert found["by label"].status == "invalid" and found["by label"].part.first == "field" and (found.n, found.n_groups) == (900, 300)
    stacked = uqcal.validate(y.ravel(), uqcal.Probabilities(prob.to_numpy().ravel()), by={"label": np.tile(prob.columns, 300)}, groups=np.repeat(np.arange(300), 3), rng=1, options=FEW)
    assert str(found).split("NEXT")[0] == str(stacked).split("NEXT")[0] and not found.python
    more = uqcal.validate(y, prob, multilabel=True, rng=1, options=FEW, by={"month": np.arange(300) % 2}, groups=np.arange(300) // 5)
    assert {one.by for one in more.findings} >= {"label", "month"} and more.n_groups == 60


def test_labels_in_other_shapes_are_refused():
    y, prob = tags(40, np.random.default_rng(0))
    for one, other, said in ((y, prob.iloc[:, :2], "one shape"), (y[:, 0], prob["field"], "one shape"), (y, uqcal.Probabilities(prob["field"]), "one shape"),
                             (pd.DataFrame(y, columns=["a", "b", "c"]), prob, "same columns")):
        with pytest.raises((TypeError, ValueError), match=said): uqcal.validate(one, other, multilabel=True)
    with pytest.raises(ValueError, match="'label'"): uqcal.validate(y, prob, multilabel=True, by={"label": np.arange(40)})
    with pytest.raises(ValueError, match="two labels or more"): uqcal.validate(y[:, :1], prob.iloc[:, :1], multilabel=True)
    assert uqcal.validate(y, prob.to_numpy(), multilabel=True, rng=1, options=FEW)["by label"].by_group  # numbered labels have no order


def test_labels_are_validated_on_the_command_line(tmp_path, monkeypatch, capsys):
    "The columns of probabilities may stand in another order."
    monkeypatch.chdir(tmp_path)
    y, prob = tags(300, np.random.default_rng(0))
    pd.concat([pd.DataFrame(y, columns=prob.columns).add_prefix("y_"), prob[["field", "beach", "sunset"]].add_prefix("p_")], axis=1).to_csv("tags.csv", index=False)
    quick = ["--n-resamples", "999", "--n-boot", "99", "--jobs", "1"]

    def run(*words, code=0):
        with pytest.raises(SystemExit) as ended: main(["validate", "tags.csv", *words])
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        return said.out + said.err
    said = run("--observed", "y_*", "--probs", "p_*", "--multilabel", *quick)
    assert "900 rows in 300 clusters" in said and "✗ By label" in said and "in label field" in said
    assert "two labels or more" in run("--observed", "y_f*", "--probs", "p_f*", "--multilabel", code=2)
    assert "must name the same labels" in run("--observed", "y_*", "--probs", "p_[bf]*", "--multilabel", code=2)
    assert "of no use for probabilities of an event" in run("--observed", "y_field", "--prob", "p_field", "--multilabel", code=2)


def test_classes_of_text_are_drawn_by_their_names():
    "Mutation: names of classes that are read as numbers: a notebook shows an error in place of the answer."
    rng = np.random.default_rng(3)
    prob = rng.dirichlet([1, 1, 1], 900)
    y = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in prob**2 / (prob**2).sum(axis=1, keepdims=True)]]
    report = uqcal.validate(y, uqcal.Probabilities(prob, classes=["a", "b", "c"]), rng=0)
    drawn = [one for one in report.findings if one.parts is not None and isinstance(one.parts["first"].iloc[0], str)]
    assert report._repr_html_() and drawn
    for finding in drawn: assert sorted(tick.get_text() for tick in report.plot(finding=finding.name).get_xticklabels()) == ["a", "b", "c"]


def test_labels_are_recalibrated_each_by_itself(tmp_path):
    "Each label's columns are those of two-class recalibration; a label with few events stays as predicted."
    y, prob = tags(500, np.random.default_rng(1))
    y, prob = pd.DataFrame(y, columns=prob.columns), prob.assign(rare=0.01)
    y["rare"] = (np.arange(500) < 4) * 1
    found = uqcal.recalibrate(y, prob, multilabel=True, rng=1)
    assert [one.name for one in found.findings] == list(prob) == list(found.labels) and (found.n, found.outcome) == (500, "recalibrated")
    alone = uqcal.recalibrate(y["field"], uqcal.Probabilities(prob["field"]), rng=np.random.default_rng(5))
    assert found.labels["field"].model.coef_ == pytest.approx(alone.model.coef_, rel=0.2) and found.labels["rare"] is None
    new = found.apply(prob)
    assert list(new) == list(prob) and new["field"].mean() == pytest.approx(y["field"].mean(), abs=0.01) and np.array_equal(new["rare"], prob["rare"])
    assert np.array_equal(found.apply(prob.to_numpy()), new.to_numpy()) and found.recalibrated.shape == (500, 4)
    found.save(tmp_path / "labels.json")
    assert np.array_equal(uqcal.load(tmp_path / "labels.json").apply(prob), new)
    said = str(found)
    assert "4 and 496" in " ".join(said.split()) and "field   Platt scaling" in said and len(said.splitlines()) <= 24 and max(map(len, said.splitlines())) <= 80
    assert found.headline and found.to_frame()["name"].tolist() == list(prob) and "labels" in found.to_dict() and found.plot(finding="field") is not None
    assert all(one.sentence for one in found.findings) and found.python == "recalibration.apply(new_probabilities)"


def test_labels_are_recalibrated_on_the_command_line(tmp_path, monkeypatch, capsys):
    "From the screen of validate through the commands that are printed to new rows, which get what Python gives."
    monkeypatch.chdir(tmp_path)
    y, prob = tags(600, np.random.default_rng(1))
    frame = pd.concat([pd.DataFrame(y, columns=prob.columns).add_prefix("y_"), prob.add_prefix("p_")], axis=1)
    frame.iloc[:400].to_csv("tags.csv", index=False)
    frame.iloc[400:].to_csv("new.csv", index=False)
    frame.filter(like="p_").iloc[400:].to_csv("later.csv", index=False)

    def run(words, code=0):
        with pytest.raises(SystemExit) as ended: main(words)
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        return said.out + said.err

    def typed_next(said):
        "The command below NEXT, as words."
        lines = said[said.index("uqcal ", said.index("NEXT")):].split("\n")
        last = next(k for k, line in enumerate(lines) if not line.endswith("\\"))
        return shlex.split(" ".join(line.strip().rstrip("\\") for line in lines[:last + 1]))[1:]
    words = ["--observed", "y_*", "--probs", "p_*", "--multilabel"]
    words = typed_next(run(["validate", "tags.csv", *words, "--n-resamples", "999", "--n-boot", "99", "--jobs", "1", "--seed", "1"]))
    assert words[0] == "recalibrate" and "--multilabel" in words
    said = run([*words, "--report", "page.html", "--figure", "map.png", "--json", "found.json"])
    assert "probabilities of 3 labels, 400 rows" in " ".join(said.split()) and max(map(len, said.splitlines())) <= 80
    found = uqcal.recalibrate(pd.DataFrame(y, columns=prob.columns)[:400], prob[:400], multilabel=True, rng=1)
    kept = pd.read_csv("recalibrated.csv")
    assert np.allclose(kept.filter(like="recalibrated_"), found.recalibrated, atol=1e-5) and json.loads(Path("found.json").read_text())["outcome"] == "recalibrated"
    words = typed_next(said)
    assert "--apply" in words and Path("page.html").stat().st_size > 1000
    said = run(words)
    made = pd.read_csv("new_recalibrated.csv")
    assert np.allclose(made.filter(like="recalibrated_"), found.apply(prob[400:]), atol=1e-5)
    words = typed_next(said)
    assert words == ["validate", "new_recalibrated.csv", "--observed", "y_*", "--probs", "recalibrated_*", "--multilabel"]
    run([*words, "--n-resamples", "999", "--n-boot", "99", "--jobs", "1"])
    assert "NEXT" not in run(["recalibrate", "later.csv", "--apply", "model.json", "--out", "later_made.csv"])
    assert "fitted to the labels" in run(["recalibrate", "new.csv", "--probs", "p_[bf]*", "--apply", "model.json", "--out", "x.csv"], code=2)
    assert "no use for probabilities of an event" in run(["recalibrate", "tags.csv", "--observed", "y_field", "--prob", "p_field", "--multilabel"], code=2)
    assert "must name the same labels" in run(["recalibrate", "tags.csv", "--observed", "y_*", "--probs", "p_[bf]*", "--multilabel"], code=2)


def test_calibrated_labels_stay_as_they_are():
    rng = np.random.default_rng(2)
    prob = rng.uniform(0.1, 0.9, (300, 2))
    found = uqcal.recalibrate(rng.random((300, 2)) < prob, prob, multilabel=True, rng=1)
    assert found.outcome == "unchanged" and np.array_equal(found.apply(prob), prob) and found.conclusion.startswith("Unchanged") and not found.python


def test_labels_that_cannot_be_recalibrated_are_refused():
    y, prob = tags(40, np.random.default_rng(0))
    found = uqcal.recalibrate(y, prob, multilabel=True, rng=1)
    for call, said in ((lambda: uqcal.recalibrate(y, prob.iloc[:, :2], multilabel=True), "one shape"), (lambda: uqcal.recalibrate(y, uqcal.Probabilities(prob["field"]), multilabel=True), "one shape"),
                       (lambda: uqcal.recalibrate(y * 2, prob, multilabel=True), "y_true"), (lambda: uqcal.recalibrate(y, prob + 1, multilabel=True), "prob"),
                       (lambda: uqcal.recalibrate(y, prob.set_axis(["a", "a", "b"], axis=1), multilabel=True), "each label once"), (lambda: found.apply(prob.iloc[:, :2]), "3 labels"),
                       (lambda: found.apply(prob[["field", "beach", "sunset"]]), "in this order"), (lambda: found.apply(prob * 9), "prob")):
        with pytest.raises((TypeError, ValueError), match=said): call()


def test_what_would_decide_is_counted_in_clusters():
    "Each row five times in a cluster of its own: as many clusters would decide as rows do without the copies."
    label, prob = made(60, size=3)
    alone = class_report(label, prob, n_resamples=199, n_boot=99, rng=1).step
    five = class_report(np.repeat(label, 5), np.repeat(prob, 5, axis=0), groups=np.repeat(np.arange(60), 5), n_resamples=199, n_boot=99, rng=1).step
    assert alone.why == five.why == "classes_decide" and (alone.facts["unit"], five.facts["unit"]) == ("row", "cluster")
    assert alone.facts["units"] == five.facts["units"] == 60 and five.facts["units_needed"] == pytest.approx(five.facts["needed"] / 5)
    assert five.facts["units_needed"] == pytest.approx(alone.facts["units_needed"], rel=0.25)
    assert "clusters would decide" in five.sentence and " rows" not in five.sentence
