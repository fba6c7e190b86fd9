"""Maps of many classes: they find what was planted, leave right probabilities alone, are saved and loaded, and refuse bad input."""
import time

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import uqcal
from uqcal._command.cli import main
from uqcal.corrections.class_recalibration import ClassScaling, ClassScalingByGroup, recalibrate_classes
from uqcal.probabilities.recalibration import TemperatureScaling

NAMES = ["cat", "dog", "bird", "fish"]


def draw(prob, rng): return (rng.random((len(prob), 1)) > np.cumsum(prob, axis=1)).sum(axis=1).clip(max=prob.shape[1] - 1)


def made(n=800, seed=0, change=lambda z: z, size=4):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, size)) * 1.5
    return draw(softmax(change(z), axis=1), rng), softmax(z, axis=1)


@pytest.mark.parametrize(("change", "kind"), [(lambda z: z / 1.6, TemperatureScaling), (lambda z: z + 0.9 * (np.arange(4) == 2), ClassScaling)])
def test_the_map_that_is_needed_is_chosen_and_helps_fresh_rows(change, kind):
    label, prob = made(1000, change=change)
    found = recalibrate_classes(label, prob, n_resamples=199, n_boot=9, rng=1)
    assert isinstance(found.model, kind) and found.outcome == "recalibrated" and found.gain.low > 0
    label, prob = made(4000, 9, change)
    rows = np.arange(4000)
    assert np.log(found.model.predict(prob)[rows, label]).mean() > np.log(prob[rows, label]).mean() + 0.01
    assert found.step.verb == "validate" and found.before.verdict == "invalid" and found.plot() is not None


def test_right_probabilities_are_left_alone():
    label, prob = made(600, 3)
    found = uqcal.recalibrate(label, uqcal.Probabilities(prob), rng=1)
    assert found.outcome == "unchanged" and found.model is None and np.array_equal(found.statement.prob, prob)
    assert found.apply(uqcal.Probabilities(prob[:5])).prob == pytest.approx(prob[:5]) and "Unchanged" in found.conclusion


def test_a_reversed_model_is_checked_and_not_corrected():
    found = recalibrate_classes(*made(500, change=lambda z: -z), n_resamples=199, n_boot=9, rng=1)
    assert found.outcome == "unchanged" and found.step.verb == "check" and found.reason == "reversed"


@pytest.mark.parametrize("kind", ["vector", "matrix"])
def test_a_ridge_draws_to_one_temperature_and_none_to_the_likelihood(kind):
    label, prob = made(500, change=lambda z: z / 1.4 + [0.5, 0, 0, -0.5])
    stiff = ClassScaling(kind, penalty=1e8).fit(prob, label)
    np.testing.assert_allclose(stiff.predict(prob), TemperatureScaling().fit(prob, label).predict(prob), atol=1e-4)
    loss = [-np.log(ClassScaling(kind, penalty=one).fit(prob, label).predict(prob)[np.arange(500), label]).mean() for one in (1e-6, 1.0, 1e3)]
    assert loss[0] <= loss[1] <= loss[2]
    again = ClassScaling.from_dict(stiff.to_dict())
    assert np.array_equal(again.predict(prob), stiff.predict(prob)) and again.sentence == stiff.sentence


@pytest.mark.parametrize(("kind", "size"), [("vector", 4), ("matrix", 4), ("matrix", 22)])
def test_slopes_and_offsets_are_where_the_gradient_is_zero(kind, size):
    "By rules that differ with the number of parameters; written out as a loop over rows."
    label, prob = made(600, change=lambda z: z / 1.3, size=size)
    model = ClassScaling(kind).fit(prob, label)
    start = np.full(size, 1 / TemperatureScaling().fit(prob, label).temperature_)
    slopes, start = (model.slopes_, np.diag(start)) if kind == "matrix" else (np.diag(model.slopes_), np.diag(start))
    push, offset = slopes - start, model.offset_.copy()
    for row, k in zip(np.log(prob), label):
        left = softmax(slopes @ row + model.offset_) - (np.arange(size) == k)
        push += np.outer(left, row)
        offset += left
    if kind == "vector": push = np.diag(push)
    assert np.abs(push).max() < 1e-3 and np.abs(offset).max() < 1e-3


def test_ten_classes_take_seconds():
    "Of five thousand rows; L-BFGS on each fold took half a minute."
    label, prob = made(5000, change=lambda z: z / 1.4, size=10)
    begun = time.process_time()
    assert recalibrate_classes(label, prob, n_resamples=199, n_boot=9, rng=1).chosen == "temperature scaling"
    assert time.process_time() - begun < 20


@pytest.mark.parametrize(("change", "chosen"), [(lambda z: z / 1.5, "temperature scaling"), (lambda z: z * [0.3, 1, 1, 1] + 2.0 * (np.arange(4) == 2), "vector scaling")])
def test_slopes_of_classes_need_few_rows_where_they_are_far_better(change, chosen):
    label, prob = made(240, seed=4, change=change)
    assert recalibrate_classes(label, prob, n_resamples=199, n_boot=9, rng=1).chosen == chosen


def test_clusters_stay_in_one_fold_and_copies_gain_nothing():
    "Each row ten times: as clusters they are worth sixty, and the correction is drawn to none."
    label, prob = made(60, change=lambda z: z / 1.2)
    label, prob = np.repeat(label, 10), np.repeat(prob, 10, axis=0)
    found = recalibrate_classes(label, prob, groups=np.arange(600) // 10, n_resamples=199, n_boot=9, rng=1)
    plain = recalibrate_classes(label, prob, n_resamples=199, n_boot=9, rng=1)
    assert found.n_groups == 60 and len(found.candidates) <= len(plain.candidates)


def test_it_is_saved_loaded_and_applied_to_classes_in_their_order(tmp_path):
    label, prob = made(800, change=lambda z: z + 0.9 * (np.arange(4) == 2))
    stated = uqcal.Probabilities(prob, classes=NAMES)
    found = uqcal.recalibrate(np.array(NAMES)[label], stated, rng=1)
    found.save(tmp_path / "model.json")
    loaded = uqcal.load(tmp_path / "model.json")
    made_new = loaded.apply(stated)
    np.testing.assert_allclose(made_new.prob, found.apply(stated).prob, rtol=0)
    assert list(made_new.classes) == NAMES and made_new.prob.sum(axis=1) == pytest.approx(1)
    with pytest.raises(ValueError, match="order"): loaded.apply(uqcal.Probabilities(prob, classes=NAMES[::-1]))
    with pytest.raises(ValueError, match="4 classes"): loaded.apply(uqcal.Probabilities(np.full((5, 3), 1 / 3)))
    with pytest.raises(ValueError, match="4 classes"): loaded.apply(uqcal.Probabilities(np.full(5, 0.5)))
    after = uqcal.validate(np.array(NAMES)[label], found.statement, rng=1)
    assert after["each class"].status != "invalid"


@pytest.mark.parametrize(("call", "said"), [
    (lambda y, p: ClassScaling("diagonal").fit(p, y), "kind"), (lambda y, p: ClassScaling(penalty=-1).fit(p, y), "penalty"),
    (lambda y, p: ClassScaling().fit(p, y).predict(p[:, :3] / p[:, :3].sum(axis=1, keepdims=True)), "4 classes"),
    (lambda y, p: recalibrate_classes(y[:15], p[:15]), "at least 20"), (lambda y, p: recalibrate_classes(y, p, n_folds=1), "n_folds"),
    (lambda y, p: recalibrate_classes(y, p, groups=np.zeros(len(y))), "at least 20|groups"),
    (lambda y, p: uqcal.recalibrate(y, uqcal.Probabilities(p), by={"a": np.arange(len(y)) % 2, "b": np.arange(len(y)) % 3}), "one column"),
    (lambda y, p: recalibrate_classes(y, p, by=np.arange(9)), "by"), (lambda y, p: ClassScalingByGroup().fit(p, y, np.full(len(y), np.nan)), "by"),
    (lambda y, p: ClassScalingByGroup().fit(p, y, np.arange(len(y)) % 2).predict(p[:, :3] / p[:, :3].sum(axis=1, keepdims=True), np.arange(len(y)) % 2), "4 classes")])
def test_bad_input_is_refused_by_name(call, said):
    with pytest.raises((ValueError, TypeError), match=said): call(*made(60))


def test_the_command_line_writes_columns_and_applies_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    label, prob = made(500, change=lambda z: z / 1.6)
    pd.DataFrame(prob, columns=[f"p_{name}" for name in NAMES]).assign(label=np.array(NAMES)[label]).to_csv("t.csv", index=False)

    def run(*words, code=0):
        with pytest.raises(SystemExit) as ended: main([*words])
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        return " ".join((said.out + said.err).split())

    asked = ("recalibrate", "t.csv", "--probs", "p_*")
    shown = run(*asked, "--observed", "label", "--seed", "1", "--n-resamples", "199", "--out", "o.csv", "--model", "m.json")
    assert "temperature scaling" in shown and "--apply m.json" in shown
    assert "--probs 'recalibrated_*'" in run(*asked, "--apply", "m.json", "--out", "n.csv")
    columns = [f"recalibrated_{name}" for name in NAMES]
    new, out = pd.read_csv("n.csv")[columns], pd.read_csv("o.csv")[columns]
    assert np.abs(new.sum(axis=1) - 1).max() < 1e-6 and np.abs(new - out).to_numpy().max() < 0.1
    run("validate", "o.csv", "--observed", "label", "--probs", "recalibrated_*", "--n-resamples", "199", "--fail-on", "invalid")
    pd.read_csv("t.csv").rename(columns={"p_cat": "p_cow"}).to_csv("c.csv", index=False)
    assert "fitted to the classes" in run("recalibrate", "c.csv", "--probs", "p_*", "--apply", "m.json", "--out", "x.csv", code=2)


# --- groups

def grouped(n=1200, seed=0, temperature=1.8, groups=4):
    "One group whose probabilities are too certain."
    rng = np.random.default_rng(seed)
    z, code = rng.normal(size=(n, 4)) * 2, np.arange(n) % groups
    truth = softmax(z / np.where(code == 0, temperature, 1.0)[:, None], axis=1)
    return draw(truth, rng), softmax(z, axis=1), np.array(list("ABCDEFGH"))[code], truth


def test_a_group_that_differs_gets_a_map_of_its_own(tmp_path):
    label, prob, by, truth = grouped()
    stated = uqcal.Probabilities(prob, classes=NAMES)
    found = uqcal.recalibrate(np.array(NAMES)[label], stated, by=pd.Series(by, name="site"), rng=1)
    common = uqcal.recalibrate(np.array(NAMES)[label], stated, rng=1)
    loss = [-np.sum(truth * np.log(one), axis=1).mean() for one in (found.apply(stated, by=by).prob, common.apply(stated).prob)]
    assert found.by == ("site",) and loss[0] < loss[1] - 0.01 and found.found.chosen == "scaling by group"
    assert found["by group"].facts["group"] == "A" and "in A" in found.conclusion and "by=" in found.python
    assert any("common map" in one.sentence for one in found.cautions) and found.plot(finding="by group") is not None
    said = str(found).splitlines()
    assert len(said) <= 24 and max(map(len, said)) <= 80 and all(one.sentence for one in found.findings)
    found.save(tmp_path / "model.json")
    loaded = uqcal.load(tmp_path / "model.json")
    assert np.array_equal(loaded.apply(stated, by=by).prob, found.apply(stated, by=by).prob)
    with pytest.raises(ValueError, match="site"): loaded.apply(stated)
    with pytest.raises(ValueError, match="order"): loaded.apply(uqcal.Probabilities(prob, classes=NAMES[::-1]), by=by)
    with pytest.warns(UserWarning, match="common map"): new = found.apply(stated, by=np.full(1200, "Z"))
    np.testing.assert_allclose(new.prob, found.model.common.predict(prob), rtol=1e-9)


def test_groups_that_do_not_differ_stay_together():
    label, prob, by, _ = grouped(temperature=1.0, seed=3)
    found = recalibrate_classes(label, prob, by=by, n_resamples=199, n_boot=9, rng=1)
    assert found.by is None and found.chosen == "unchanged" and len(found.candidates) == 1
    whole = recalibrate_classes(*grouped(seed=1)[:2], by=np.full(1200, "A"), n_resamples=199, n_boot=9, rng=1)
    assert whole.by is None  # one group differs from none


def test_departures_are_where_the_gradient_is_zero():
    "Written out as a loop over rows; of a group with rows enough for offsets, and of one without."
    label, prob, by, _ = grouped(2400, temperature=2.2, groups=3)
    by = np.where(np.arange(2400) % 12 == 0, "few", by)
    model = ClassScalingByGroup(spread=(0.5, 0.3)).fit(prob, label, by)
    for name, departure in zip(model.groups_, model.departures_):
        if not departure.any(): continue
        push = departure / np.r_[0.5, [0.3] * 4]**2
        for row, k in zip(np.log(prob[by == name]), label[by == name]):
            left = softmax((1 + departure[0]) * row + departure[1:]) - (np.arange(4) == k)
            push += np.r_[left @ row, left]
        assert np.abs(push[:1 if not departure[1:].any() else 5]).max() < 1e-4
    of = dict(zip(model.groups_, model.departures_))
    assert of["A"][0] < -0.4 and of["A"][1:].any() and not of["few"][1:].any()
    assert "in few" in model.sentence and model.unseen(["A", "Z"]).tolist() == [False, True]


def test_a_copied_row_counts_once_where_clusters_are_given():
    label, prob, by, _ = grouped(150, temperature=1.6)
    label, prob, by = np.repeat(label, 8), np.repeat(prob, 8, axis=0), np.repeat(by, 8)
    plain, held = ClassScalingByGroup().fit(prob, label, by), ClassScalingByGroup().fit(prob, label, by, np.arange(1200) // 8)
    assert np.abs(held.departures_).max() <= np.abs(plain.departures_).max()


def test_groups_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    label, prob, by, _ = grouped()
    pd.DataFrame(prob, columns=[f"p_{name}" for name in NAMES]).assign(label=np.array(NAMES)[label], site=by).to_csv("t.csv", index=False)

    def run(*words, code=0):
        with pytest.raises(SystemExit) as ended: main([*words])
        said = capsys.readouterr()
        assert ended.value.code == code, said.err
        return " ".join((said.out + said.err).split())
    shown = run("recalibrate", "t.csv", "--probs", "p_*", "--observed", "label", "--by", "site", "--seed", "1", "--n-resamples", "199", "--out", "o.csv", "--model", "m.json")
    assert "scaling by group" in shown
    told = run("recalibrate", "t.csv", "--probs", "p_*", "--by", "site", "--apply", "m.json", "--out", "n.csv")
    assert "in A" in told and "logarithms" in told
    pd.read_csv("t.csv").assign(site="Z").to_csv("z.csv", index=False)
    assert "1,200 of 1,200 rows are of groups" in run("recalibrate", "z.csv", "--probs", "p_*", "--apply", "m.json", "--out", "y.csv")
    assert "one --by" in run("recalibrate", "t.csv", "--probs", "p_*", "--observed", "label", "--by", "site", "--by", "label", code=2)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 7, 10])
def test_rows_that_are_equal_but_for_rounding_stay_so(n_classes):
    "Mutation: a temperature of 1e-12 found in the last bits, which makes 0.74 of 1/2."
    draws = np.random.default_rng(n_classes)
    for scale in (0.0, 1e-13):
        rows = 1 / n_classes + scale * draws.normal(size=(500, n_classes))
        found = TemperatureScaling().fit(rows, draws.integers(0, n_classes, 500))
        assert found.temperature_ == 100 and "the largest temperature" in found.sentence
        np.testing.assert_allclose(found.predict(rows), 1 / n_classes, rtol=1e-9)
