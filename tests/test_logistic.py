"""Logistic maps: the fit against statsmodels and a closed form, separation against all directions, the sigmoid against scipy's, one value or many."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from uqcal.logistic import beta_features, boxed, fit_logistic, is_separable, map_scores, platt_features, sigmoid


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
