"""Logistic maps: the fit against statsmodels and a closed form, separation against all directions, the sigmoid against scipy's, one value or many."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from uqcal._base.inputs import boxed
from uqcal._chance.logistic import as_counts, beta_features, fit_logistic, is_separable, map_scores, platt_features, sigmoid


def test_the_sigmoid_is_scipys_to_rounding_and_never_overflows():
    z = np.concatenate([np.linspace(-745, 745, 2001), [-1e300, 1e300, 0.0]])
    with np.errstate(all="raise", under="ignore"): np.testing.assert_allclose(sigmoid(z), expit(z), rtol=4e-16, atol=1e-307)
    assert sigmoid(0.0) == 0.5


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 1)), min_size=1, max_size=8))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_separation_along_one_score_is_a_threshold_between_the_classes(pairs):
    p, y = np.array(pairs, dtype=float).T
    ones, zeros = p[y == 1], p[y == 0]
    if not ones.size or not zeros.size: expected = True
    else: expected = (ones.min() >= zeros.max() and ones.max() > zeros.min()) or (zeros.min() >= ones.max() and zeros.max() > ones.min())
    assert is_separable(platt_features(p / 10), y) == expected


@pytest.mark.parametrize("features", [platt_features, beta_features])
def test_the_fit_is_that_of_statsmodels_with_whole_number_weights(features):
    import statsmodels.api as sm
    rng = np.random.default_rng(2)
    p, w = rng.random(300), rng.integers(0, 4, 300).astype(float)
    X, y = features(p), (rng.random(300) < p**1.5).astype(float)
    expected = sm.Logit(np.repeat(y, w.astype(int)), np.repeat(X, w.astype(int), axis=0)).fit(disp=0, tol=1e-12)
    start = np.array([1.0, 0.0] if X.shape[1] == 2 else [1.0, -1.0, 0.0])
    for found in (fit_logistic(X, y, weights=w), fit_logistic(X, y, weights=w, start=start)):
        np.testing.assert_allclose(found.coef, expected.params, rtol=1e-6)
        np.testing.assert_allclose(found.standard_error, expected.bse, rtol=1e-5)
        assert not found.smoothed and found.n == np.sum(w > 0)


def test_one_class_without_a_constant_feature_has_a_maximum():
    x = np.array([[-1.0], [2.0], [1.0]])
    found = fit_logistic(x, np.ones(3))
    assert not found.smoothed and abs(x[:, 0] @ (sigmoid(x @ found.coef) - 1)) < 1e-9
    assert fit_logistic(np.abs(x), np.ones(3)).smoothed


@pytest.mark.parametrize("one", [0.25, np.float64(0.25), np.array(0.25)])
def test_a_number_gives_a_number_and_a_column_gives_a_column(one):
    assert isinstance(map_scores(one, np.sqrt), float) and map_scores(one, np.sqrt) == 0.5
    for many in ([0.25], np.array([0.25]), pd.Series([0.25], index=["a"])): assert map_scores(many, np.sqrt).tolist() == [0.5]
    assert boxed([1, 2]) == [1, 2] and boxed(True) == [True]
    for bad in ("a", None, 1.5): pytest.raises((TypeError, ValueError), map_scores, bad, np.sqrt)


def weighted(seed, n=800, spread=1.5):
    "Rows whose weights vary, with the setting's slope ½ and offset −0.6."
    rng = np.random.default_rng([seed, 9])
    z = rng.normal(-1, 1, n)
    y = (rng.random(n) < expit(0.5 * z - 0.6)).astype(float)
    return expit(z), y, np.minimum(np.exp(spread * rng.normal(size=n)), 30)


def test_errors_with_sampling_weights_hold_the_truth_as_often_as_they_should():
    "|estimate − truth| > 1.96 errors in 3 to 7 % of 400 sets."
    outside = np.zeros(2)
    for seed in range(400):
        p, y, w = weighted(seed)
        fit = fit_logistic(platt_features(p), y, weights=w / w.mean(), start=np.array([1.0, 0.0]))
        outside += np.abs(fit.coef - [0.5, -0.6]) > 1.96 * fit.standard_error
    assert (outside >= 0.03 * 400).all() and (outside <= 0.07 * 400).all()


@pytest.mark.parametrize("features", [platt_features, beta_features])
def test_weights_that_are_no_counts_have_no_scale(features):
    p, y, w = weighted(1)
    one, other = (fit_logistic(features(p), y, weights=times * w) for times in (1e-6, 1e6))
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-7)
    np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-6)
    even, plain = fit_logistic(features(p), y, weights=np.full(800, 0.3)), fit_logistic(features(p), y)
    np.testing.assert_array_equal(even.standard_error, plain.standard_error)
    split = np.r_[y[:400] * 0, y[:400] * 0 + 1]  # separated: Platt's targets, from the effective number
    q = np.sort(p)
    one, other = (fit_logistic(features(q), split, weights=times * w) for times in (1e-6, 1e6))
    assert one.smoothed and other.smoothed
    np.testing.assert_allclose(one.coef, other.coef, rtol=1e-6)


def test_whole_numbers_are_counts():
    assert as_counts(np.array([2.0, 7.0])).tolist() == [2, 7] and as_counts(np.array([0.2, 0.2])).tolist() == [1, 1]
    relative = as_counts(np.array([0.5, 1.0, 4.0]))
    assert relative.sum() == pytest.approx(5.5**2 / (0.25 + 1 + 16)) and relative.sum() == pytest.approx(np.square(relative).sum())


def test_large_log_odds_alone_are_no_separation():
    rng = np.random.default_rng(4)
    z = rng.normal(-25, 12, 4000)
    y = (rng.random(4000) < expit(z)).astype(float)
    assert not fit_logistic(platt_features(expit(z)), y).smoothed
    assert fit_logistic(platt_features(expit(z)), (z > -20).astype(float)).smoothed


def test_many_rows_begin_where_a_few_have_their_minimum_and_end_where_statsmodels_does():
    "Rows in any order, sorted, and with every third outcome of another kind, so that those few are of one class."
    import statsmodels.api as sm
    rng = np.random.default_rng(7)
    p, third = rng.beta(0.5, 0.5, 60_000), np.arange(60_000) % 3 == 0
    y = (rng.random(p.size) < p**1.5).astype(float)
    for prob, outcome in ((p, y), (np.sort(p), y[np.argsort(p)]), (p, np.where(third, 1.0, y)), (p, third.astype(float))):
        X = beta_features(prob)
        expected = sm.GLM(outcome, X, family=sm.families.Binomial()).fit(maxiter=100, tol=1e-13, tol_criterion="params")
        found = fit_logistic(X, outcome, start=np.array([1.0, -1.0, 0.0]))
        np.testing.assert_allclose(found.coef, expected.params, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.standard_error, expected.bse, rtol=1e-5)
        assert not found.smoothed
