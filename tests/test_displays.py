"""Displays as scikit-learn's users expect them: from an estimator or from what it predicted, with the same numbers, axes and refusals."""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from sklearn.datasets import load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from uqcal.adapters.displays import MeanStdDisplay, QuantileDisplay, ReliabilityDisplay
from uqcal.metrics import conditional_calibration, expected_calibration_error

RNG = np.random.default_rng(3)
X = RNG.standard_normal((200, 3))
VALUE = X @ [1.0, -0.5, 0.2] + RNG.standard_normal(200)
CLASS = np.where(VALUE > 0.3, "yes", "no")
RIDGE = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, VALUE)
BAYES = GaussianNB().fit(X, CLASS)
LEVELS = {level: QuantileRegressor(quantile=level, alpha=0).fit(X, VALUE) for level in (0.9, 0.1, 0.5)}


class _All:
    "A regressor that predicts all its quantiles at once."

    def predict(self, X): return np.column_stack([LEVELS[level].predict(X) for level in (0.1, 0.5, 0.9)])


@pytest.mark.parametrize("display, fitted, predicted, name", [
    (ReliabilityDisplay, lambda **to: ReliabilityDisplay.from_estimator(BAYES, pd.DataFrame(X).to_numpy(), CLASS, **to),
     lambda **to: ReliabilityDisplay.from_predictions(CLASS, BAYES.predict_proba(X)[:, 1], pos_label="yes", **to), "GaussianNB"),
    (MeanStdDisplay, lambda **to: MeanStdDisplay.from_estimator(RIDGE, X, VALUE, **to),
     lambda **to: MeanStdDisplay.from_predictions(pd.Series(VALUE), *RIDGE.predict(X, return_std=True), **to), "Pipeline"),
    (QuantileDisplay, lambda **to: QuantileDisplay.from_estimator(LEVELS, X, VALUE, sort_quantiles=True, **to),
     lambda **to: QuantileDisplay.from_predictions(VALUE, _All().predict(X), [0.1, 0.5, 0.9], sort_quantiles=True, **to), "QuantileRegressor")])
def test_a_display_draws_the_same_from_an_estimator_and_from_its_predictions(display, fitted, predicted, name):
    ax = plt.subplots()[1]
    one, other = fitted(ax=ax), predicted()
    assert isinstance(one, display) and one.ax_ is ax and one.figure_ is ax.figure and other.figure_ is not ax.figure
    assert (ax.get_title(), other.ax_.get_title()) == (name, "") and ax.get_xlabel() and ax.get_ylabel()
    for first, second in zip(one.ax_.lines, other.ax_.lines, strict=True): np.testing.assert_array_equal(first.get_xydata(), second.get_xydata())
    again = plt.subplots()[1]
    assert one.plot(again, name="mine") is one and one.ax_ is again and again.get_title() == "mine" == one.name
    assert fitted(name="other").ax_.get_title() == "other"


def test_a_display_holds_the_numbers_that_the_functions_give():
    drawn = ReliabilityDisplay.from_estimator(BAYES, X, CLASS, n_bins=4, strategy="quantile", sample_weight=np.arange(1, 201), pos_label="no")
    expected = expected_calibration_error(CLASS == "no", BAYES.predict_proba(X)[:, 0], n_bins=4, strategy="quantile", sample_weight=np.arange(1, 201))
    assert drawn.diagram.ece == pytest.approx(expected, rel=1e-12)
    mean, std = RIDGE.predict(X, return_std=True)
    assert MeanStdDisplay.from_estimator(RIDGE, X, VALUE, n_bins=5).bins.ence == conditional_calibration(VALUE - mean, std, n_bins=5).ence
    levels = QuantileDisplay.from_estimator(_All(), X, VALUE, levels=[0.1, 0.5, 0.9], sort_quantiles=True).report.levels
    np.testing.assert_allclose(levels["observed"], [np.mean(VALUE <= LEVELS[level].predict(X)) for level in (0.1, 0.5, 0.9)], atol=0.02)


@every_case("call, kind, says", [
    (lambda: ReliabilityDisplay.from_estimator(LinearRegression().fit(X, VALUE), X, CLASS), TypeError, "with predict_proba, got LinearRegression"),
    (lambda: ReliabilityDisplay.from_estimator(GaussianNB().fit(*load_iris(return_X_y=True)), *load_iris(return_X_y=True)), ValueError, "two classes, got 3"),
    (lambda: ReliabilityDisplay.from_estimator(BAYES, X, CLASS, pos_label="maybe"), ValueError, r"pos_label must be one of \['no', 'yes'\], got 'maybe'"),
    (lambda: ReliabilityDisplay.from_estimator(BAYES, X, CLASS == "yes"), ValueError, r"y must hold the classes \['no', 'yes'\]"),
    (lambda: MeanStdDisplay.from_estimator(LinearRegression().fit(X, VALUE), X, VALUE), TypeError, "return_std=True.*LinearRegression"),
    (lambda: MeanStdDisplay.from_estimator(DummyRegressor().fit(X, VALUE), X, VALUE), ValueError, "std"),
    (lambda: QuantileDisplay.from_estimator(LEVELS[0.1], X, VALUE), TypeError, "levels must name"),
    (lambda: QuantileDisplay.from_predictions(VALUE, _All().predict(X)[:, ::-1], [0.1, 0.5, 0.9]), ValueError, "cross")])
def test_what_cannot_be_drawn_is_refused_with_what_to_do(call, kind, says):
    with pytest.raises(kind, match=says): call()
