"""Recalibration around classifiers, online models and files: equal to the forecasters themselves, constant memory, and refusals that name the line."""
import io
import os
import subprocess
import sys
import warnings

import joblib
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_predict, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import has_fit_parameter

from uqcal.online.calibeating import tops
from uqcal.online.mixture import OnlineMixture
from uqcal.online.monitor import CalibrationMonitor, RestartingForecaster
from uqcal._command.cli import main
from uqcal.online.online_scaling import _gain_finding
from uqcal.adapters.streams import RecalibratedClassifier, _part_of, _make_forecaster
from uqcal.adapters.river_models import RecalibratedOnline
from uqcal.adapters.rows import recalibrate_rows

METHODS = ["mixture", "ops", "tops", "hops", "obs", "tobs", "hobs"]


def stream(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 3)
    return p, (rng.random(n) < p**np.linspace(0.5, 3, n)).astype(int)


def table(p, y, delimiter=",", end="\n"):
    return ("p,y\n" + "".join(f"{a!r},{b}\n" for a, b in zip(p.tolist(), y.tolist()))).replace(",", delimiter).replace("\n", end).encode()


def forecasts(source, **options):
    out = []
    summary = recalibrate_rows(source, out.append, **{"score": "p", "y_true": "y", **options})
    return np.array([float(line.replace(";", ",").replace("\t", ",").rsplit(",", 1)[1]) for line in "".join(out).splitlines()[1:]]), summary


class Trickle(io.RawIOBase):
    "A pipe through which bytes come a few at a time."
    def __init__(self, data, size): self.data, self.size = io.BytesIO(data), size
    def read1(self, n): return self.data.read(self.size)


@pytest.mark.parametrize("method", METHODS)
def test_rows_get_the_forecasts_of_the_method(method):
    p, y = stream()
    found, summary = forecasts(io.BytesIO(table(p, y)), method=method, rng=3)
    np.testing.assert_allclose(found, _make_forecaster(method, rng=3).prequential(p, y), rtol=1e-5)  # six digits are written
    assert summary.rows == summary.learnt == 500


@pytest.mark.parametrize("delimiter, end, size", [(",", "\n", 7), (";", "\r\n", 13), ("\t", "\n", 1000)])
def test_chunks_delimiters_and_line_ends_do_not_matter(delimiter, end, size):
    p, y = stream(200)
    found, _ = forecasts(Trickle(b"\xef\xbb\xbf" + table(p, y, delimiter, end).rstrip(), size))
    np.testing.assert_allclose(found, OnlineMixture().prequential(p, y), rtol=1e-5)


@pytest.mark.parametrize("kind", ["right", "rare", "one score"])
def test_no_gain_is_claimed_where_there_is_none(kind):
    "Forty streams of right scores: recalibration can only lose. Mutation: the observed gains alone, without the variance of rare events."
    said = []
    for seed in range(40):
        rng = np.random.default_rng([31, seed])
        x = 1.5 * rng.standard_normal(300) - 5 * (kind == "rare")
        p = np.full(300, 0.3) if kind == "one score" else 1 / (1 + np.exp(-x))
        said.append(forecasts(io.BytesIO(table(p, (rng.uniform(size=300) < p) * 1)))[1])
    status = [summary["gain"].status for summary in said]
    assert "valid" not in status and status.count("invalid") <= 6
    assert all(summary["corrected"].facts["calibrated"] == summary.right[1] > 0 for summary in said)


def test_the_variance_of_events_that_have_not_come_counts():
    "Scores of .001, none happened of 400: forecasts fall below, and have gained nothing that chance would not give. Mutation: sums of observed squares alone."
    _, summary = forecasts(io.BytesIO(table(np.full(400, 0.001), np.zeros(400, int))))
    assert 0 < summary.brier_before - summary.brier_after < 1.96 * summary.brier_error and summary["gain"].reason == "chance"


def test_a_single_outcome_shows_nothing_and_none_teaches_nothing():
    _, one = forecasts(io.BytesIO(table(np.array([0.99]), np.array([0]))))
    assert one.title == "probabilities in file order, 1 row" and one["gain"].status == "inconclusive"
    _, none = forecasts(io.BytesIO(b"p,y\n0.5,\n"))
    assert {finding.reason for finding in none.findings} == {"no outcomes"} and (none.step.verb, none.step.why) == ("collect", "outcomes")
    assert none.outcome == "quiet" and "nothing was recalibrated" in str(none)


@every_case("gain, error, is_heavy, status, reason", [
    (0.0, 0.0, False, "inconclusive", "equal"), (1.0, 0.5, False, "valid", None), (-1.0, 0.5, False, "invalid", None), (1.0, 0.52, False, "inconclusive", "chance"),
    (1.0, 0.5, True, "inconclusive", "tails"), (-1.0, 0.5, True, "invalid", None), (0.5, 0.5, True, "inconclusive", "chance")])
def test_a_gain_is_one_where_chance_does_not_explain_it(gain, error, is_heavy, status, reason):
    finding = _gain_finding(gain, error, is_heavy, score="log", n=10)
    assert (finding.status, finding.reason, finding.estimate) == (status, reason, gain)
    assert finding.low == gain - 1.96 * error and finding.high == gain + 1.96 * error


def test_the_summary_is_that_of_the_whole_stream():
    from sklearn.metrics import brier_score_loss

    from uqcal.online.calibeating import calibration_error
    p, y = stream(3000)
    found, summary = forecasts(Trickle(table(p, y), 5000))
    made = OnlineMixture().prequential(p, y)
    np.testing.assert_allclose([summary.error_before, summary.error_after], [calibration_error(y, p), calibration_error(y, made)], rtol=1e-10)
    np.testing.assert_allclose([summary.brier_before, summary.brier_after], [brier_score_loss(y, p), brier_score_loss(y, made)], rtol=1e-10)
    np.testing.assert_allclose(summary.brier_after, brier_score_loss(y, found), rtol=1e-5)
    gain, middle = (p - y)**2 - (made - y)**2, (p + made) / 2
    spread = max(np.sum(gain**2), np.sum(4 * (p - made)**2 * middle * (1 - middle)))
    np.testing.assert_allclose([summary.brier_before - summary.brier_after, summary.brier_error], [gain.mean(), spread**0.5 / 3000], rtol=1e-9)
    for q, right in zip((p, made), summary.right):
        bins = np.searchsorted(np.arange(1, 11) / 10, q)
        np.testing.assert_allclose(right, sum((2 / np.pi * np.sum((q * (1 - q))[bins == k]))**0.5 for k in range(10)) / 3000, rtol=1e-9)
    assert summary.alarm == CalibrationMonitor().prequential(p, y).alarm is not None and summary.to_frame("curve")["outcomes"].is_monotonic_increasing


@pytest.mark.parametrize("size", [50, 100_000])
def test_an_alarm_is_told_as_its_row_passes_and_begins_the_map_anew(size):
    """The score's monitor and the forecasts' are two: the score rings again and again, the map begins anew where it can't follow."""
    rng = np.random.default_rng(0)
    p = np.round(1 / (1 + np.exp(-rng.normal(0, 1.5, 30_000))), 6)
    y = (rng.random(30_000) < 1 / (1 + (1 - p) / p * np.exp(np.where(np.arange(30_000) < 28_000, 0, 3)))).astype(int)
    told = []
    if size == 50: p, y = p[26_000:], y[26_000:]  # a trickle
    found, summary = forecasts(Trickle(table(p, y), size), method="ops", on_alarm="restart", run_length=5000, tell=told.append)
    reading, live = CalibrationMonitor(run_length=5000).prequential(p, y), RestartingForecaster(_make_forecaster("ops"), run_length=5000)
    live_forecasts = live.prequential(p, y)
    np.testing.assert_allclose(found, live_forecasts, rtol=1e-5)
    assert told == list(reading.alarms) and summary.alarms == len(told) > 3 and summary.alarm == told[0]
    assert summary.restarts == live.restarts_ and (size == 50 or live.restarts_ >= 1)
    assert summary.outcome == "alarm" and summary["as it was"].facts["alarm"] == told[0] and summary["as it was"].facts["alarms"] == len(told)
    after = CalibrationMonitor(run_length=5000).prequential(live_forecasts, y).alarms
    assert (summary.alarm_after, summary.alarms_after) == (after[0] if after else None, len(after)) and summary["corrected"].status == ("invalid" if after else "fact")


def test_without_an_alarm_the_summary_says_so():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(500), 3)
    _, summary = forecasts(io.BytesIO(table(p, (rng.random(500) < p).astype(int))))
    assert summary.alarm is None and summary.alarms == 0 and summary.outcome == "quiet" and summary["as it was"].status == "fact" and (summary.step.verb, summary.step.why) == ("monitor", "continue")


def test_rows_without_an_outcome_are_forecast_and_teach_nothing():
    p, y = stream(100)
    known = np.random.default_rng(1).random(100) < 0.6
    text = "p,y\n" + "".join(f"{a!r},{b if k else ''}\n" for a, b, k in zip(p.tolist(), y, known))
    found, summary = forecasts(io.BytesIO(text.encode()))
    np.testing.assert_allclose(found[known], OnlineMixture().prequential(p[known], y[known]), rtol=1e-5)
    assert summary.learnt == known.sum() and summary.rows == 100


def test_quoted_cells_are_kept_and_read():
    text = 'name,p,y\n"a, b",0.5,1\n"say ""no""",0.25,0\n'
    out = []
    recalibrate_rows(io.BytesIO(text.encode()), out.append, score="p", y_true="y", method="tops")
    assert "".join(out).splitlines()[1] == '"a, b",0.5,1,0.45'


@pytest.mark.parametrize("row, said", [("1.2,0", r"line 4: column 'p' must lie in \[0, 1\], got 1.2"), ("nan,0", r"line 4: column 'p' must lie in \[0, 1\]"), ("x,0", "line 4: column 'p' must hold a probability, got 'x'"),
                                       (",0", "line 4: column 'p'"), ("0.5,2", "line 4: column 'y' must hold 0 or 1"), ("0.5,0,1", "line 4: 3 cells where the header has 2"), ("0.5", "line 4: 1 cells"),
                                       ('"0.5,1', "line 4")])
@pytest.mark.parametrize("size", [5, 10_000])
def test_a_broken_row_is_named_and_all_rows_before_it_are_whole(row, said, size):
    out = []
    with pytest.raises(ValueError, match=said): recalibrate_rows(Trickle(f"p,y\n0.5,1\n0.4,0\n{row}\n0.5,1\n".encode(), size), out.append, score="p", y_true="y")
    assert "".join(out).count("\n") == 3 and all(line.count(",") == 2 for line in "".join(out).splitlines())


@pytest.mark.parametrize("text, said", [("", "line 1"), ("a,b\n1,2\n", "there is no column 'p'"), ("p,p,y\n", "2 columns are called 'p'"), ("p,recalibrated,y\n", "there is a column 'recalibrated' already")])
def test_unusable_headers_are_refused(text, said):
    with pytest.raises(ValueError, match=said): recalibrate_rows(io.BytesIO(text.encode()), lambda _: None, score="p", y_true="y")


def test_unknown_methods_are_refused_with_the_closest():
    with pytest.raises(ValueError, match="did you mean 'tops'"): _make_forecaster("topss")


def data(n=600, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + np.linspace(0, 1, n)[:, None]
    return X, np.argmax(X @ rng.normal(size=(3, classes)) + rng.gumbel(size=(n, classes)), axis=1)


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([0, 1]), np.array([False, True]), np.array(["a", "b", "c"])])
def test_a_recalibrated_classifier_follows_scikit_learn(labels):
    X, k = data(classes=labels.size)
    y = labels[k]
    model = RecalibratedClassifier(LogisticRegression(), cv=None).fit(X[:200], y[:200])
    copy = clone(model).fit(X[:200], y[:200])
    at_once = model.prequential(X[200:], y[200:])
    steps = []
    for row, label in zip(X[200:260], y[200:260]):
        steps.append(copy.predict_proba(row[None])[0])
        copy.partial_fit(row[None], [label])
    np.testing.assert_allclose(steps, at_once[:60], rtol=1e-12)
    np.testing.assert_allclose(at_once.sum(axis=1), 1)
    assert set(model.predict(X)) <= set(labels) and model.score(X[200:], y[200:]) > 0.4
    if labels.size == 2:
        score = LogisticRegression().fit(X[:200], y[:200]).predict_proba(X[200:])[:, 1]
        np.testing.assert_allclose(at_once[:, 1], OnlineMixture().prequential(score, k[200:]), rtol=1e-12)


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array(["a", "b", "c"])])
def test_late_outcomes_of_a_classifier_are_booked_as_stated(labels):
    X, k = data(classes=labels.size)
    y, seen = labels[k], []
    late = RecalibratedClassifier(GaussianNB(), "tops", cv=None).fit(X[:200], y[:200])
    for t in range(200, 600):
        seen.append(late.predict_proba(X[t:t + 1]))
        np.testing.assert_array_equal(late.forecast(X[t:t + 1], [t]), seen[-1])
        if t >= 250: np.testing.assert_array_equal(late.outcome([t - 50], y[t - 50:t - 49]), seen[t - 250])
        if t == 400: late.model_ = DecisionTreeClassifier().fit(X[:200], y[:200])  # what was stated stays
    assert late.forecaster_.open_keys == list(range(550, 600))
    for wrong, said in [(lambda: late.outcome([550, 551], y[[0]]), "one class for each of the 2 keys"), (lambda: late.outcome([550], ["x"]), "classes of the training"),
                        (lambda: late.outcome([3], y[:1]), "no open forecast"), (lambda: late.forecast(X[:2], [1]), "one key for each of the 2"), (lambda: late.forecast(X[:1], [551]), "still out")]:
        before = joblib.hash(late.forecaster_)
        with pytest.raises(ValueError, match=said): wrong()
        assert joblib.hash(late.forecaster_) == before
    with pytest.raises(NotFittedError): RecalibratedClassifier(GaussianNB()).forecast(X[:1], [1])


def test_other_classes_are_refused_and_change_nothing():
    X, k = data()
    model = RecalibratedClassifier(LogisticRegression()).fit(X[:200], k[:200])
    before = joblib.hash(model)
    with pytest.raises(ValueError, match=r"classes of the training, \[0, 1\].* position 1 \(.*7"): model.partial_fit(X[:3], [0, 7, 1])
    with pytest.raises(ValueError, match="classes of the training"): model.partial_fit(X[:2], ["no", "yes"])
    with pytest.raises(ValueError): model.partial_fit(X[:2], [0])
    assert joblib.hash(model) == before


class Frequencies:
    def __init__(self): self.count = [1, 2]
    def predict_proba_one(self, x): return {True: self.count[0] / self.count[1], False: 1 - self.count[0] / self.count[1]}
    def learn_one(self, x, y): self.count = [self.count[0] + y, self.count[1] + 1]


def test_the_online_adapter_asks_before_the_model_learns():
    outcomes = stream(300)[1]
    model, alone, stated = RecalibratedOnline(Frequencies()), Frequencies(), []
    made = []
    for y in outcomes:
        stated.append(alone.predict_proba_one({})[True])
        made.append(model.predict_proba_one({})[True])
        model.learn_one({}, bool(y))
        alone.learn_one({}, bool(y))
    np.testing.assert_allclose(made, OnlineMixture().prequential(stated, outcomes), rtol=1e-12)
    assert model.predict_one({}) in (True, False)
    with pytest.raises(ValueError, match="y must be False or True, got 2"): model.learn_one({}, 2)


CHECKED = [GaussianNB(), DecisionTreeClassifier(random_state=0), pytest.param(LogisticRegression(), marks=pytest.mark.slow)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", CHECKED, ids=str)
def test_scikit_learns_own_checks_pass_but_for_those_named(model):
    counted_once = "the map counts each outcome once, whatever its weight, and `cv` is a number of parts"
    expected = {f"check_sample_weight_equivalence_on_{kind}_data": counted_once for kind in ("dense", "sparse")}
    found = check_estimator(RecalibratedClassifier(model), on_fail=None, on_skip=None, expected_failed_checks=expected)
    assert len(found) > 50
    bad = {(one["check_name"], str(one["exception"])[:200]) for one in found if one["status"] not in ("passed", "xfail")}
    assert {name for name, _ in bad} <= {"check_array_api_input"}, bad  # skipped unless SCIPY_ARRAY_API is set


class _Weighed(GaussianNB):
    "A model that keeps the weights of each fit."
    seen: list = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(None if sample_weight is None else np.asarray(sample_weight))
        return super().fit(X, y, sample_weight)


def test_weights_are_routed_to_the_model_by_scikit_learn():
    X, y = data()
    X, y, w = X[:300], y[:300], np.arange(1.0, 301.0)
    with config_context(enable_metadata_routing=True):
        asks, refuses, silent = (_Weighed().set_fit_request(sample_weight=True), _Weighed().set_fit_request(sample_weight=False), _Weighed())
        scored = {}
        for name, model in (("asks", asks), ("refuses", refuses)):
            _Weighed.seen.clear()
            served = RecalibratedClassifier(model, cv=2).set_score_request(sample_weight=False)
            scored[name] = cross_validate(served, X, y, cv=2, params={"sample_weight": w}, error_score="raise")["test_score"]
            assert len(_Weighed.seen) == 6 and all((one is None) == (name == "refuses") for one in _Weighed.seen)
            if name == "asks": assert set(_Weighed.seen[0]) <= set(w) and _Weighed.seen[0].size == 150
        assert np.all(scored["asks"] > 0.5) and np.all(scored["refuses"] > 0.5)
        with pytest.raises(UnsetMetadataPassedError, match="_Weighed.fit"): RecalibratedClassifier(silent).fit(X, y, sample_weight=w)
        RecalibratedClassifier(silent).fit(X, y)
        # What nobody has said of a score's weights is refused around any classifier, in scikit-learn's words.
        for unsaid in (CalibratedClassifierCV(asks), RecalibratedClassifier(asks)):
            with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.*\.score"):
                cross_validate(unsaid.set_fit_request(sample_weight=True), X, y, cv=2, params={"sample_weight": w}, error_score="raise")


@pytest.mark.parametrize("routing", [False, True])
def test_weights_pass_through_a_calibrated_classifier_around_it(routing):
    X, y = data()
    X, y, w = X[:300], y[:300], np.arange(1.0, 301.0)
    _Weighed.seen.clear()
    with config_context(enable_metadata_routing=routing), warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns where the classifier inside takes no weights
        model = _Weighed().set_fit_request(sample_weight=True) if routing else _Weighed()
        around = CalibratedClassifierCV(RecalibratedClassifier(model, cv=None), cv=2)
        if routing: around.set_fit_request(sample_weight=True)
        around.fit(X, y, sample_weight=w)
    assert has_fit_parameter(RecalibratedClassifier(GaussianNB()), "sample_weight")
    assert len(_Weighed.seen) == 2 and sorted(np.concatenate(_Weighed.seen)) == list(w)


def test_a_fitted_model_is_taken_as_it_is():
    X, y = data()
    fitted = LogisticRegression().fit(X[:200], y[:200])
    served = RecalibratedClassifier(fitted, "ops").partial_fit(X[200:400], y[200:400], classes=[0, 1])
    expected = _make_forecaster("ops").partial_fit(fitted.predict_proba(X[200:400])[:, 1], y[200:400])
    np.testing.assert_array_equal(served.predict_proba(X[400:])[:, 1], expected.predict(fitted.predict_proba(X[400:])[:, 1]))
    assert served.model_ is fitted and served.n_features_in_ == 3
    with pytest.raises(ValueError, match=r"classes must be those of the training, \[0, 1\]"): served.partial_fit(X[:3], y[:3], classes=[0, 1, 2])
    with pytest.raises(NotFittedError): RecalibratedClassifier(LogisticRegression()).predict(X)


def test_the_first_batch_trains_a_model_that_was_never_trained():
    X, y = data()
    stepwise = RecalibratedClassifier(GaussianNB()).partial_fit(X[:1], y[:1], classes=[0, 1])
    assert list(stepwise.classes_) == [0, 1]
    whole = RecalibratedClassifier(LogisticRegression()).partial_fit(X[:100], y[:100])
    np.testing.assert_array_equal(whole.model_.coef_, LogisticRegression().fit(X[:100], y[:100]).coef_)
    with pytest.raises(ValueError, match="classes must be those of the training"): RecalibratedClassifier(LogisticRegression()).partial_fit(X[:100], y[:100], classes=[0, 1, 2])


class Squared(LogisticRegression):
    "States the squares of what it should."
    def predict_proba(self, X):
        p = super().predict_proba(X)[:, 1]**3
        return np.column_stack([1 - p, p])


def test_cross_validation_search_and_pipelines_score_the_learnt_map():
    X, y = data(1500)
    plain, learnt = (cross_val_score(model, X, y, scoring="neg_log_loss", cv=5) for model in (Squared(), RecalibratedClassifier(Squared(), "obs")))
    good = cross_val_score(LogisticRegression(), X, y, scoring="neg_log_loss", cv=5)
    assert np.all(learnt > plain + 0.03) and np.mean(learnt - good) > -0.03
    pipe = make_pipeline(StandardScaler(), RecalibratedClassifier(Squared(), "obs")).fit(X, y, recalibratedclassifier__sample_weight=np.ones(y.size))
    assert log_loss(y, pipe.predict_proba(X)) < -good.mean() + 0.03
    search = GridSearchCV(RecalibratedClassifier(Squared(), "obs"), {"model__C": [1e-4, 1.0], "method": ["ops", "obs"]}, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_params_["model__C"] == 1.0 and search.best_score_ > good.mean() - 0.03


def test_weights_reach_the_model_and_rows_of_weight_zero_teach_nothing():
    X, y = data()
    w = (np.arange(600) % 3 > 0).astype(float)
    model = RecalibratedClassifier(LogisticRegression(), "ops").fit(X, y, sample_weight=w)
    np.testing.assert_allclose(model.model_.coef_, LogisticRegression().fit(X, y, sample_weight=w).coef_)
    rng = np.random.default_rng(0)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=PredefinedSplit(_part_of(y, 5, rng)), method="predict_proba", params={"sample_weight": w})[:, 1]
    taught = rng.permutation(np.flatnonzero(w > 0))
    np.testing.assert_array_equal(model.forecaster_.coef_, _make_forecaster("ops").partial_fit(scores[taught], y[taught]).coef_)


def test_weights_of_sampling_are_kept_without_the_map_of_training_rows():
    "As the parameter says; a tenth of the negatives stand for all. Mutation: rows teach the map where `cv=None`."
    X, y = data(6000)
    kept = (y == 1) | (np.arange(y.size) % 10 == 0)
    w = np.where(y[kept] == 1, 1, 10)
    weighted = LogisticRegression().fit(X[kept], y[kept], sample_weight=w).predict_proba(X)[:, 1].mean()
    bare, taught = (RecalibratedClassifier(LogisticRegression(), cv=cv).fit(X[kept], y[kept], sample_weight=w).predict_proba(X)[:, 1].mean() for cv in (None, 5))
    assert abs(weighted - y.mean()) < 0.03 and abs(bare - weighted) < 0.005 and taught > y.mean() + 0.1
    assert "`cv=None` keeps them" in RecalibratedClassifier.fit.__doc__


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("order", ["class", "feature"])
def test_the_order_of_training_rows_teaches_nothing(classes, order):
    """Catches a map that is taught as the rows stand, and parts that are whole stretches of a sorted file."""
    X, y = data(2000, classes)
    X, fresh, y, then = X[::2], X[1::2], y[::2], y[1::2]
    at = np.argsort(y, kind="stable") if order == "class" else np.argsort(X[:, 0])
    plain = log_loss(then, LogisticRegression().fit(X, y).predict_proba(fresh))
    model = RecalibratedClassifier(LogisticRegression()).fit(X[at], y[at])
    assert log_loss(then, model.predict_proba(fresh)) < plain + 0.015
    again = RecalibratedClassifier(LogisticRegression()).fit(X[at], y[at])
    np.testing.assert_array_equal(model.predict_proba(fresh), again.predict_proba(fresh))


def test_rows_that_stand_together_are_held_out_together():
    """Catches parts that are drawn row by row: nine of ten groups of ten rows would be torn."""
    label = np.repeat(np.random.default_rng(0).integers(0, 2, 300), 10)
    part = _part_of(label, 5, np.random.default_rng(0))
    whole = [np.ptp(one) == 0 for one in part.reshape(300, 10)]
    assert np.mean(whole) > 0.6
    counts = np.array([np.bincount(part[label == one], minlength=5) for one in (0, 1)])
    assert np.ptp(counts / counts.sum(axis=1, keepdims=True)) < 0.01


def test_what_predict_proba_returns_is_refused_with_the_way_out():
    P = np.array([[0.25, 0.75], [0.5, 0.5]])
    for method in METHODS:
        for call in (lambda made: made.predict(P), lambda made: made.partial_fit(P, [0, 1]), lambda made: made.forecast(P, key=["a", "b"])):
            with pytest.raises(ValueError, match=r"use the probabilities of 1, \[:, 1\]"): call(_make_forecaster(method))
        with pytest.raises(ValueError, match=r"\.iloc\[:, 1\]"): _make_forecaster(method).predict(pd.DataFrame(P))


# --- the command

def command(capsys, *args):
    with pytest.raises(SystemExit) as ended: main(args)
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def test_the_command_writes_file_summary_and_report(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p, y = stream()
    (tmp_path / "s.csv").write_bytes(table(p, y))
    code, out, err = command(capsys, "monitor", "s.csv", "--observed", "y", "--prob", "p", "--method", "tops", "--out", "r.csv", "--report", "r.html")
    assert code == 0 and not err and "500 rows" in out and "calibration error" in out and "\nVERDICT  " in out and "Caution: " not in out
    found = np.genfromtxt("r.csv", delimiter=",", names=True)
    np.testing.assert_allclose(found["recalibrated"], tops().prequential(p, y), rtol=1e-5)
    assert "Calibration error" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["r.csv", "r.html", "s.csv"]


def test_the_command_leaves_no_half_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("p,y\n0.5,1\n0.5,3\n")
    (tmp_path / "old.csv").write_text("old")
    code, out, err = command(capsys, "monitor", "s.csv", "--observed", "y", "--prob", "p", "--out", "old.csv")
    assert code == 2 and not out and err == "uqcal: s.csv, line 3: column 'y' must hold 0 or 1, or nothing where the outcome is not known, got '3'\n"
    assert (tmp_path / "old.csv").read_text() == "old" and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("args, said", [(["no.csv", "--observed", "outcome", "--prob", "score"], "there is no file no.csv"), ([".", "--observed", "outcome", "--prob", "score"], "is a folder"), (["s.csv", "--observed", "outcome", "--prob", "score", "--method", "topz"], "--method must be one of"), (["s.csv", "--observed", "outcome", "--prob", "q"], "no column 'q'"),
                                        (["s.csv", "--observed", "outcome", "--prob", "score", "--out", "s.csv"], "--out would overwrite s.csv"), (["s.csv", "--observed", "outcome", "--prob", "score", "--out", "no/where.csv"], "there is no folder")])
def test_the_command_refuses_in_one_line(capsys, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("score,outcome\n0.5,1\n")
    code, out, err = command(capsys, "monitor", *args)
    assert code == 2 and not out and err.count("\n") == 1 and said in err


def test_a_pipe_is_answered_line_by_line():
    with subprocess.Popen([sys.executable, "-c", "from uqcal._command.cli import main; main()", "monitor", "-", "--observed", "y", "--prob", "p", "--method", "tops", "--out", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as live:
        answers = []
        for line in (b"p,y\n", b"0.62,1\n", b"0.65,0\n"):
            live.stdin.write(line)
            live.stdin.flush()
            answers.append(live.stdout.readline().decode().strip())
        _, err = live.communicate(b"0.66,1\n")
    assert answers == ["p,y,recalibrated", "0.62,1,0.65", "0.65,0,1"] and "3 rows" in err.decode()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    import tracemalloc
    block = table(*stream(2000))[4:]

    class Endless(io.RawIOBase):
        def __init__(self, times): self.left, self.begun = times, False
        def read1(self, n):
            if not self.begun:
                self.begun = True
                return b"p,y\n"
            self.left -= 1
            return block if self.left >= 0 else b""

    peaks = []
    for times in (3, 3, 24):
        tracemalloc.start()
        recalibrate_rows(Endless(times), lambda text: None, score="p", y_true="y")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]  # eight times the rows; allocators keep some small arrays


def test_a_header_that_is_no_row_is_refused():
    with pytest.raises(ValueError, match="line 1: lines that end in a carriage return"): recalibrate_rows(io.BytesIO(b"p\rq,y\n0.5,1\n"), lambda text: None, score="p", y_true="y")
