"Log-odds are followed down to the smallest probability, in tests of slopes and in maps that comparisons try, and what was impossible is said to be."
import numpy as np
import pytest

from uqcal.comparison.model_comparison import compare_scores
from uqcal.corrections.probability_recalibration import recalibrate_probabilities
from uqcal.maps import PlattScaling
from uqcal.probabilities.calibration import calibration_report
from uqcal.comparison.scores import _OutcomeScoring, log_score

DRAWN = dict(rng=0, n_resamples=99, n_boot=99)


def rare(low, high, true_low, true_high, n=20_000):
    rng = np.random.default_rng(0)
    at = np.arange(n) % 2 == 1
    return (rng.random(n) < np.where(at, true_high, true_low)) * 1, np.where(at, high, low)


@pytest.mark.parametrize("low, high", [(1e-7, 5e-7), (1e-12, 3e-12), (1e-4, 5e-4)])
def test_a_slope_is_seen_among_probabilities_however_small(low, high):
    y, p = rare(low, high, 1e-3, 2e-2)
    assert calibration_report(y, p, **DRAWN)["slope"].direction == "underconfident"
    others = calibration_report(1 - y, 1 - p.clip(1e-7), **DRAWN).findings
    assert "underconfident" in [one.direction for one in others] or high < 1e-7


@pytest.mark.parametrize("end", [1e-300, 1e-20, 1e-6])
def test_slopes_of_the_smallest_probabilities_are_numbers(end):
    p = np.repeat([end, 0.999999], 60)
    y = (p > 0.5) * 1.0
    y[[0, 1, -1, -2]] = 1, 1, 0, 0
    assert calibration_report(y, p, **DRAWN)["slope"].direction == "overconfident"


@pytest.mark.parametrize("scale", [1e-3, 1e-10, 1e-14])
def test_the_line_that_a_comparison_tries_is_platt_scaling_down_to_the_least(scale):
    rng = np.random.default_rng(1)
    p = rng.random(3000) * scale
    y = (rng.random(3000) < 0.02) * 1.0
    line = _OutcomeScoring("log loss").learn(("line", "flat"), y, p)["line"](y, np.array([*p, 0.0]))[1]
    np.testing.assert_array_equal(line, PlattScaling().fit(p, y).predict([*p, 0.0]))
    q = 10**rng.uniform(-4, -0.5, 3000)                        # right as stated: the line leaves the least of them so small
    made = _OutcomeScoring("log loss").learn(("line",), (rng.random(3000) < q) * 1.0, q)["line"](np.zeros(2), np.array([1e-15, 1e-13]))[1]
    assert made[0] < made[1] < 1e-9


def test_a_curve_taught_by_outcomes_that_never_came_states_half_of_one_in_all():
    curve = _OutcomeScoring("log loss").learn(("curve", "flat"), np.zeros(200), np.linspace(0.1, 0.9, 200))
    level = curve["curve"](np.zeros(1), np.array([0.5]))[1][0]
    assert 0 < level == pytest.approx(0.5 / 201 / 201) and curve["flat"](np.zeros(1), np.array([0.5]))[1][0] == 0.5 / 201


@pytest.mark.parametrize("stated", [0.0, 1.0])
def test_the_log_loss_of_what_was_impossible_is_infinite_and_said_to_be(stated):
    rng = np.random.default_rng(2)
    p = rng.random(4000).round(3).clip(0.01, 0.99)
    y = (rng.random(4000) < p) * 1
    p[7], y[7] = stated, 1 - stated
    assert np.isinf(log_score(y, p)).sum() == 1
    with pytest.raises(ValueError, match="log loss is infinite at row 7 .*take score='brier'"): compare_scores(y, {"a": p, "b": p.clip(0.01, 0.99)}, score="log loss")
    (caution,) = recalibrate_probabilities(y, p, **DRAWN).cautions
    assert caution.code == "recalibration_impossible" and caution.facts["rows"] == (7,) and "The log score is infinite there." in caution.sentence
