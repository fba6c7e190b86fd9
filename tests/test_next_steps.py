"""What is printed as the next step can be done: no truth as a column, no rows by the million, clusters that are taken."""
import numpy as np
import pandas as pd
import pytest
import uqcal
from uqcal._sample import repeats


@pytest.fixture
def rng(): return np.random.default_rng(1)


def test_intervals_of_clusters_are_validated_with_clusters(rng, tmp_path):
    groups, std = np.repeat(np.arange(100), 4), rng.uniform(1, 2, 400)
    y, stated = rng.normal(0, std), uqcal.MeanStd(0, std)
    made = uqcal.conformalize(y, stated, level=0.9, groups=groups, rng=1)
    made.save(tmp_path / "model.json")
    for applied in (made.apply(stated), uqcal.load(tmp_path / "model.json").apply(stated)):
        assert applied.n_calibration is None
        assert uqcal.validate(y, applied, groups=groups, rng=1).n_groups == 100
    assert uqcal.conformalize(y, stated, level=0.9, rng=1).apply(stated).n_calibration == 400


def test_the_line_for_new_label_sets_names_no_column_that_holds_the_truth(rng):
    label = np.array(["cat", "dog", "fox"])[rng.integers(0, 3, 600)]
    table = pd.DataFrame({"label": label, "site": rng.choice(["a", "b"], 600)})
    sets = rng.random((600, 3)) < 0.5
    sets[:, 0] = True
    stated = uqcal.LabelSets(sets, classes=["cat", "dog", "fox"], level=0.9)
    report = uqcal.validate(table["label"], stated, by=table, rng=1)
    assert "".join(report.python.split()) == 'uqcal.conformalize(df["label"],probabilities,by=df["site"],level=0.9)'
    assert uqcal.validate(table["label"], stated, by=table["label"], rng=1).python == 'uqcal.conformalize(df["label"], probabilities, level=0.9)'


def test_the_first_alarm_of_a_batch_is_told(rng):
    error, watch = rng.normal(0, np.repeat([1.0, 3.0, 0.2], 1000)), uqcal.Monitor()
    reading = watch.update(error, uqcal.MeanStd(0, np.ones(3000)))
    assert len(watch.alarms) > 1 and reading.alarm == watch.alarms[0] and 900 < reading.since < 1100


def test_rows_that_decide_nothing_are_not_asked_for(rng):
    p = np.clip(0.3 + 1e-4 * rng.normal(size=1000), 0, 1)
    said = str(uqcal.validate(rng.random(1000) < p, uqcal.Probabilities(p), rng=1))
    assert "will not decide" in " ".join(said.split()) and ",000,000" not in said


def test_one_event_is_one_event(rng):
    p = np.full(200, 0.01)
    assert "1 event observed" in str(uqcal.validate(np.arange(200) == 5, uqcal.Probabilities(p), rng=1))


def test_a_column_of_dates_says_what_to_type(rng):
    dates = pd.Series(pd.date_range("2024-01-01", periods=60), name="date")
    with pytest.raises(TypeError, match="dates.*dt.to_period.*astype"): uqcal.validate(rng.normal(size=60), uqcal.MeanStd(0, np.ones(60)), by=dates)
    with pytest.raises(TypeError, match="got dates") as refused: uqcal.MeanStd(dates, np.ones(60))
    assert "to_period" not in str(refused.value)


def test_shuffled_rows_are_said_to_come_again_in_less_than_one_set_of_a_hundred(rng):
    "Independent cases in random order: a file that held the same cases many times would be told by their period."
    found = 0
    for _ in range(600):
        p = rng.beta(1, 2.3, 1000).round(2).clip(0.01, 0.99)
        rest = (rng.random(1000) < p) - p
        found += repeats._period(rest - rest.mean()) is not None
    assert found <= 5


def test_the_step_of_probabilities_names_the_one_column_that_its_map_takes():
    rng, n = np.random.default_rng(0), 2000
    frame = pd.DataFrame({"p": rng.uniform(0.05, 0.95, n), "hospital": rng.choice(list("ABC"), n), "sex": rng.choice(["f", "m"], n)})
    frame["y"] = (rng.random(n) < frame["p"].where(frame["hospital"] != "C", 0.5 * frame["p"])).astype(int)
    report = uqcal.validate(frame["y"], uqcal.Probabilities(frame["p"]), by=frame[["sex", "hospital"]], rng=0)
    assert 'by=df["hospital"]' in report.python and "sex" not in report.python
    assert uqcal.recalibrate(frame["y"], uqcal.Probabilities(frame["p"]), by=frame["hospital"], rng=0).by == ("hospital",)
