"""Traces that a fit leaves on its own rows, and columns of classes in another order: what is said, and that honest rows are left alone."""
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import uqcal
from uqcal._sample.fitted import fitted_cases, fitted_errors


def regression(n=120, seed=1):
    "A design with an intercept, and a response."
    rng = np.random.default_rng(seed)
    X = sm.add_constant(rng.standard_normal((n, 2)))
    return X, X.sum(axis=1) + rng.standard_t(5, n)


def codes(report): return [one.code for one in report.cautions]


def test_least_squares_on_its_own_rows_is_told_and_new_rows_come_next():
    X, y = regression()
    mean = sm.OLS(y, X).fit().predict(X)
    report = uqcal.validate(y, uqcal.MeanStd(mean, np.full(y.size, 1.3)), rng=1)
    assert codes(report)[0] == "fitted_errors" and (report.step.verb, report.step.why) == ("validate", "new_rows")
    other = uqcal.validate(y, uqcal.MeanStd(mean + 1e-6, np.full(y.size, 1.3)), rng=1)
    assert "fitted_errors" not in codes(other) and other.step.why != "new_rows"


@pytest.mark.parametrize("freedom", [0, 1])
def test_a_factor_from_the_same_rows_is_told(freedom):
    X, y = regression()
    error, u = y - X.sum(axis=1), np.exp(0.3 * X[:, 1])
    factor = np.sqrt(np.sum((error / u)**2) / (y.size - freedom))
    found = fitted_errors(error, factor * u)
    assert found.code == "fitted_uncertainties" and found.facts == {"total": y.size - freedom}
    assert fitted_errors(error, 1.0001 * factor * u) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_regression_on_its_own_rows_is_told(weighted):
    X, _ = regression(400)
    rng = np.random.default_rng(2)
    y, weight = (rng.uniform(size=400) < expit(X[:, 1])) * 1.0, rng.integers(1, 4, 400) * 1.0 if weighted else np.ones(400)
    p = sm.GLM(y, X, sm.families.Binomial(), freq_weights=weight).fit(tol=1e-14).predict(X)
    assert fitted_cases(y, p, weight).code == "fitted_events"
    report = uqcal.validate(y.astype(int), uqcal.Probabilities(p), rng=1, **({"sample_weight": weight} if weighted else {}))
    assert codes(report)[0] == "fitted_events" and report.step.why == "new_rows"


@pytest.mark.parametrize("kind", [uqcal.maps.IsotonicCalibration, uqcal.maps.HistogramBinning])
def test_steps_fitted_to_the_same_rows_are_told(kind):
    rng = np.random.default_rng(3)
    raw, later = rng.uniform(size=(2, 800))
    y, new = (rng.uniform(size=(2, 800)) < np.stack([raw, later])**2) * 1.0
    fitted = kind().fit(raw, y)
    assert fitted_cases(y, fitted.predict(raw), np.ones(800)).code == "fitted_levels"
    assert fitted_cases(new, fitted.predict(later), np.ones(800)) is None


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from(["as they are", "rounded", "both signs", "whole"]))
def test_honest_rows_are_left_alone(seed, digits, how):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    e, u = rng.standard_t(4, n), np.exp(0.3 * rng.standard_normal(n))
    if how == "rounded": e, u = 27.2114 * e.round(digits), 27.2114 * np.maximum(u.round(digits), 0.1)
    if how == "both signs": e, u = np.append(e, -e), np.append(u, u)
    if how == "whole": e, u = rng.integers(-3, 4, n) * 1.0, np.ones(n)
    assert fitted_errors(e, u) is None
    p = rng.uniform(size=n).round(digits) if how != "as they are" else rng.uniform(size=n)
    assert fitted_cases((rng.uniform(size=n) < p) * 1.0, p, np.ones(n)) is None


def test_few_rows_at_few_values_may_meet_them_by_chance():
    p = np.repeat(np.arange(2, 9) / 10, 10)
    y = np.concatenate([np.arange(10) < 10 * one for one in np.arange(2, 9) / 10]) * 1.0
    assert fitted_cases(y, p, np.ones(70)) is None
    assert fitted_cases(np.tile(y, 20), np.tile(p, 20), np.ones(1400)).code == "fitted_levels"


def labelled(n, k, seed, sharp=2.0):
    "Probabilities of k classes, and labels drawn from them."
    rng = np.random.default_rng(seed)
    p = np.exp(sharp * rng.standard_normal((n, k)))
    p /= p.sum(axis=1, keepdims=True)
    return p, (p.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1).clip(0, k - 1)


@pytest.mark.parametrize(("k", "order", "moved"), [(3, [1, 0, 2], {(0, 1), (1, 0)}), (5, [1, 2, 3, 4, 0], {(k, (k - 1) % 5) for k in range(5)})])
def test_columns_in_another_order_are_told_before_recalibration(k, order, moved):
    p, y = labelled(800, k, 4)
    step = uqcal.validate(y, uqcal.Probabilities(p[:, order]), rng=1).step
    assert (step.verb, step.why) == ("check", "order_of_classes") and set(step.facts["moved"]) == moved
    assert step.facts["after"] == np.mean(p.argmax(axis=1) == y) > step.facts["before"]


def test_a_class_without_rows_may_be_one_of_two_that_are_exchanged():
    p, y = labelled(1200, 4, 5)
    p, y = p[y != 3][:, [3, 1, 2, 0]], y[y != 3]
    step = uqcal.validate(y, uqcal.Probabilities(p), rng=1).step
    assert step.why == "order_of_classes" and set(step.facts["moved"]) == {(0, 3), (3, 0)} and "columns of 0 and 3 exchanged" in step.sentence


@pytest.mark.parametrize("k", [3, 10])
def test_a_poor_model_is_not_told_to_change_its_columns(k):
    for seed in range(20):
        p, y = labelled(500, k, seed)
        noise = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), 500)
        for stated in (noise, 0.3 * p + 0.7 * noise, p**3 / np.sum(p**3, axis=1, keepdims=True)):
            step = uqcal.validate(y, uqcal.Probabilities(stated), rng=1, options=uqcal.options.ValidateOptions(n_boot=99, n_resamples=199)).step
            assert step.why != "order_of_classes"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fewer_rows_than_any_test_needs_are_to_be_collected(n):
    step = uqcal.validate(np.arange(n) - 0.5, uqcal.MeanStd(0, np.arange(1.0, n + 1)), rng=1).step
    assert (step.verb, step.why) == ("collect", "any_rows")
