"""Confidence curves: a plain-Python twin, what must not matter, what is refused, and the level of the test."""
import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from uqcal.statistics.confidence_curves import ConfidenceCurve, _Groups, _mean_magnitude, _resampled_curves, _simulated_means, confidence_curve, _curve_of
from uqcal._chance.distributions import simulate_calibrated, standard_distribution
from uqcal._sample.sample import Sample

FEW = {"n_boot": 20, "n_resamples": 19, "rng": 1}
POWER = {"rmse": 2, "mae": 1}


@pytest.fixture
def demo():
    return simulate_calibrated(300, 6, distribution="t6", rng=8)


def plain_sum(values, uncertainty, kept):
    "Mean of the sum of the `kept` most certain values over all orders within ties; linear between whole numbers."
    total, left = 0.0, kept
    for level in sorted(set(uncertainty)):
        group = [v for v, u in zip(values, uncertainty) if u == level]
        if left >= len(group): total, left = total + sum(group), left - len(group)
        else: return total + left * sum(group) / len(group)
    return total


def plain_curve(error, uncertainty, power, n_points):
    n = len(error)
    kept = [n * (n_points - k) / n_points for k in range(n_points)]
    return np.array([(plain_sum([abs(e)**power for e in error], list(uncertainty), k) / k)**(1 / power) for k in kept])


def test_averaging_over_orders_of_ties_is_linear_within_a_group():
    values, uncertainty = [3.0, 1.0, 4.0, 1.5, 9.0], [1, 2, 2, 2, 3]
    for kept in range(1, 6):
        sums = [sum([3.0, *order, 9.0][:kept]) for order in itertools.permutations(values[1:4])]
        np.testing.assert_allclose(plain_sum(values, uncertainty, kept), np.mean(sums), rtol=1e-14)


points = st.lists(st.tuples(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), st.sampled_from([0.1, 0.5, 1.0, 2.0, 7.5, 30.0])), min_size=2, max_size=25).filter(
    lambda rows: len({u for _, u in rows}) > 1 and any(e for e, _ in rows))


@settings(deadline=None, max_examples=80)
@given(points, st.sampled_from(["rmse", "mae"]), st.integers(2, 40))
def test_curve_reference_and_oracle_equal_the_plain_twin(rows, metric, n_points):
    error, uncertainty = np.array(rows).T
    found, power = confidence_curve(error, uncertainty, metric=metric, n_points=n_points, **FEW), POWER[metric]
    value, stated = plain_curve(error, uncertainty, power, n_points), plain_curve(uncertainty, uncertainty, power, n_points)
    tiny = 1e-7 * np.abs(error).max()       # the root of the rounding of a sum of squares
    np.testing.assert_allclose(found.value, value, rtol=1e-10, atol=tiny)
    np.testing.assert_allclose(found.reference, stated * value[0] / stated[0], rtol=1e-10, atol=tiny)
    np.testing.assert_allclose(found.oracle, plain_curve(error, np.abs(error), power, n_points), rtol=1e-10, atol=tiny)
    np.testing.assert_allclose(found.statistic, np.mean(found.value - found.reference), rtol=1e-9, atol=tiny)
    assert np.all(found.oracle <= found.value + tiny)


@settings(deadline=None, max_examples=60)
@given(points, st.sampled_from(["rmse", "mae"]), st.sampled_from(["empirical", "normal"]), st.randoms(use_true_random=False))
def test_results_are_finite_ordered_and_independent_of_row_order(rows, metric, distribution, random):
    error, uncertainty = np.array(rows).T
    found = confidence_curve(error, uncertainty, metric=metric, distribution=distribution, **FEW)
    assert np.isfinite(found.to_frame().to_numpy()).all()
    assert np.all(found.band[0] <= found.band[1]) and np.all(found.null_band[0] <= found.null_band[1])
    assert found.confidence_interval.low <= found.confidence_interval.high and 0 < found.pvalue <= 1
    order = list(range(error.size))
    random.shuffle(order)
    again = confidence_curve(-error[order], uncertainty[order], metric=metric, distribution=distribution, **FEW)
    assert again == found
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame(), check_exact=True)


@settings(deadline=None, max_examples=40)
@given(points, st.integers(-60, 60), st.integers(-60, 60))
def test_units_scale_the_curve_and_leave_the_pvalue(rows, error_factor, uncertainty_factor):
    error, uncertainty = np.array(rows).T
    found = confidence_curve(error, uncertainty, **FEW)
    scaled = confidence_curve(error * 2.0**error_factor, uncertainty * 2.0**uncertainty_factor, **FEW)
    np.testing.assert_allclose(scaled.value, found.value * 2.0**error_factor, rtol=1e-12)
    assert scaled.pvalue == found.pvalue


def test_an_increasing_function_of_uncertainty_leaves_the_curve(demo):
    error, uncertainty = demo
    curve = confidence_curve(error, uncertainty, **FEW).value
    for transform in (np.sqrt, np.exp, lambda u: u**4):
        np.testing.assert_array_equal(confidence_curve(error, transform(uncertainty), **FEW).value, curve)


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_same_result_for_any_number_of_jobs(demo, metric):
    one, two = (confidence_curve(*demo, metric=metric, n_boot=900, n_resamples=900, rng=3, n_jobs=n) for n in (1, 2))
    assert one == two == _curve_of(Sample(*demo), metric=metric, n_boot=900, n_resamples=900, rng=3)
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame(), check_exact=True)
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
    assert confidence_curve(*demo, metric=metric, rng=np.random.default_rng(3)).pvalue == confidence_curve(*demo, metric=metric, rng=3).pvalue


def test_resamples_equal_the_curve_of_the_drawn_points(demo):
    error, uncertainty = demo[0], demo[1].round(1)
    for power in POWER.values():
        ordered, order = _Groups.of(Sample(error, uncertainty), power, 30), np.lexsort((np.abs(error), uncertainty))
        fast = _resampled_curves(ordered, 15, np.random.default_rng(4))
        draws = np.random.default_rng(4).integers(0, 300, size=(15, 300), dtype=np.int32)
        for (value, stated), draw in zip(fast, draws):
            np.testing.assert_allclose(value, plain_curve(error[order][draw], uncertainty[order][draw], power, 30), rtol=1e-11)
            np.testing.assert_allclose(stated, plain_curve(uncertainty[order][draw], uncertainty[order][draw], power, 30), rtol=1e-11)


def test_simulated_curves_equal_those_of_plain_errors(demo):
    uncertainty, distribution = np.sort(demo[1].round(1)), standard_distribution("t6")
    for power in (1, 2):
        fast = _simulated_means(_Groups.of(Sample(demo[0], demo[1].round(1)), power, 20), distribution, 8, np.random.default_rng(2))**(1 / power) * uncertainty[-1]
        errors = uncertainty * distribution.rvs(size=(8, 300), random_state=np.random.default_rng(2))
        np.testing.assert_allclose(fast, [plain_curve(e, uncertainty, power, 20) for e in errors], rtol=1e-11)


def test_each_shuffle_keeps_the_set_of_scaled_errors_and_the_curve_of_its_pairing():
    "Replay the shuffles: each null curve is that of the errors so paired."
    from uqcal._chance.resampling import shuffle, shuffle_state
    from uqcal.statistics.confidence_curves import _shuffled_means
    uncertainty = np.array([0.5, 0.5, 0.9, 1.4, 1.4, 1.4, 2.0])
    groups = _Groups.of(Sample(uncertainty * np.array([0.1, -0.3, 0.2, 0.9, -0.5, 1.4, 2.6]), uncertainty), 2, 7)
    fixed, state = (groups.s, groups.count, groups.kept), shuffle_state(np.random.default_rng(1))
    z, found = groups.z.copy(), _shuffled_means(groups.z.copy(), 5, state.copy(), *fixed)
    for r in range(6):
        if r:
            shuffle(z, state)
        np.testing.assert_allclose(np.sqrt(found[r]) * groups.stated_unit, plain_curve(np.sqrt(z) * uncertainty, uncertainty, 2, 7), rtol=1e-12)


def test_pvalue_equals_that_of_all_orders_when_few_points():
    "Seven points: the area under each of 5,040 pairings, counted; the Monte Carlo p-value agrees within its noise."
    error, uncertainty = np.array([0.1, -0.3, 0.2, 0.9, -0.5, 1.4, 2.6]), np.array([0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0])
    found = confidence_curve(error, uncertainty, n_points=7, n_boot=1, n_resamples=60_000, rng=1)
    z2, u2, kept = (error / uncertainty)**2, uncertainty**2, np.arange(7, 0, -1)
    curves = np.sqrt(np.cumsum(z2[np.array(list(itertools.permutations(range(7))))] * u2, axis=1)[:, kept - 1] / kept)
    areas = (curves * found.value[0] / curves[:, :1] - found.reference).mean(axis=1)
    exact = 2 * min(np.mean(areas >= found.statistic - 1e-12), np.mean(areas <= found.statistic + 1e-12))
    np.testing.assert_allclose(found.pvalue, min(exact, 1), atol=5 * np.sqrt(exact / 60_000))


@pytest.mark.parametrize(("distribution", "magnitude"), [
    ("normal", np.sqrt(2 / np.pi)), ("laplace", np.sqrt(0.5)), ("uniform", np.sqrt(0.75)), ("t3", 2 / np.pi), ("t6", 0.75),
    (stats.expon(), 2 / np.e), (stats.norm(5, 3), np.sqrt(2 / np.pi))])
def test_mean_magnitude_has_its_closed_form(distribution, magnitude):
    np.testing.assert_allclose(_mean_magnitude(standard_distribution(distribution), 1), magnitude, rtol=1e-8)


@pytest.mark.parametrize("distribution", ["normal", "t3", "laplace", stats.gumbel_r(2, 7), *(pytest.param(name, marks=pytest.mark.slow) for name in ("t6", "uniform"))])
def test_rmse_reference_is_the_stated_curve_for_every_distribution(demo, distribution):
    error, uncertainty = demo
    rmse, mae = (confidence_curve(error, uncertainty, metric=metric, distribution=distribution, **FEW) for metric in ("rmse", "mae"))
    np.testing.assert_allclose(rmse.reference, plain_curve(uncertainty, uncertainty, 2, 100), rtol=1e-12)
    np.testing.assert_allclose(mae.reference, plain_curve(uncertainty, uncertainty, 1, 100) * _mean_magnitude(standard_distribution(distribution), 1), rtol=1e-12)


def test_sign_of_the_area_tells_the_direction():
    rng = np.random.default_rng(5)
    uncertainty, epsilon = np.exp(rng.normal(size=2000) / 2), rng.normal(size=2000)
    weak, strong = (confidence_curve(uncertainty**a * epsilon, uncertainty, **FEW | {"n_resamples": 999}) for a in (0.5, 1.5))
    assert weak.confidence_interval.low > 0 and strong.confidence_interval.high < 0 and max(weak.pvalue, strong.pvalue) <= 0.002
    unrelated = confidence_curve(epsilon, uncertainty, **FEW | {"n_resamples": 999})
    assert unrelated.statistic > weak.statistic and unrelated.null_interval.holds(0)


def test_only_a_stated_distribution_sees_a_common_factor(demo):
    error, uncertainty = demo
    pvalues = {(distribution, f): confidence_curve(error, f * uncertainty, distribution=distribution, n_boot=1, n_resamples=999, rng=1).pvalue for distribution in ("empirical", "t6") for f in (1, 2)}
    assert pvalues["empirical", 1] == pvalues["empirical", 2] > 0.05
    assert pvalues["t6", 1] > 0.05 > pvalues["t6", 2]


@pytest.mark.parametrize("error", [[1.0, 2.0], [1.0, -1.0], [0.0, 3.0]])
@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_two_points_are_allowed_and_prove_nothing(error, metric):
    found = confidence_curve(error, [1.0, 2.0], metric=metric, **FEW | {"n_resamples": 199})
    assert np.isfinite(found.to_frame().to_numpy()).all() and found.pvalue > 0.5


def test_equal_scaled_errors_have_one_pairing_only():
    uncertainty = np.array([0.1, 0.2, 0.3, 0.7, 1.3])
    found = confidence_curve(3 * uncertainty, uncertainty, **FEW)
    assert found.pvalue == 1 and abs(found.statistic) < 1e-12
    np.testing.assert_allclose(found.value, found.reference, rtol=1e-12)


@pytest.mark.parametrize("metric", ["rmse", "mae"])
@pytest.mark.parametrize(("error", "uncertainty"), [
    ([1e150, -3e149, 5e149], [1.0, 2.0, 5.0]), ([1e-150, 0.0, 3e-150], [1e-150, 2e-150, 3e-150]), ([1.0, 0.0, -1.0], [1e-150, 1.0, 1e150]),
    ([0.0, 0.0, 1e-140], [1e-150, 1e150, 1e149])])
def test_extreme_magnitudes_give_finite_numbers_and_no_warning(error, uncertainty, metric):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for distribution in ("empirical", "normal"):
            found = confidence_curve(error, uncertainty, metric=metric, distribution=distribution, **FEW)
            assert np.isfinite(found.to_frame().to_numpy()).all() and np.isfinite([found.statistic, *found.confidence_interval]).all()


U, V = [1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.1]
BAD = [
    (([0.5, np.nan, 1, 2], U), {}, ValueError, r"error must not hold missing values: 1 of 4 values is missing, the first at position 1"),
    (([1.0], [1.0]), {}, ValueError, r"at least two points"),
    ((V, [0.3] * 4), {}, ValueError, r"uncertainty must vary: all 4 values are 0.3.*nothing to remove by"),
    (([0.0] * 4, U), {}, ValueError, r"error must not be all zero"),
    ((V, U), {"metric": "rmsd"}, ValueError, r"metric must be one of 'rmse', 'mae', got 'rmsd'; did you mean 'rmse'"),
    ((V, U), {"n_points": 1}, ValueError, r"n_points must be an integer ≥ 2, got 1"),
    ((V, U), {"distribution": "gauss"}, ValueError, r"distribution must be .*got 'gauss'; distribution=\"empirical\""),
    ((V, U), {"distribution": "t2"}, ValueError, r"finite variance"),
    ((V, U), {"distribution": stats.cauchy()}, ValueError, r"finite mean and variance"),
]


@pytest.mark.parametrize(("data", "options", "kind", "message"), BAD)
def test_bad_input_is_refused_by_name(data, options, kind, message):
    with pytest.raises(kind, match=message):
        confidence_curve(*data, **FEW | options)


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        confidence_curve(V, U, "mae")


def test_inputs_are_left_alone_and_an_index_is_ignored(demo):
    error, uncertainty = (pd.Series(x, index=np.arange(300)[::-1]) for x in demo)
    copies = error.copy(), uncertainty.copy()
    assert confidence_curve(error, uncertainty, **FEW) == confidence_curve(*demo, **FEW)
    pd.testing.assert_series_equal(error, copies[0])
    pd.testing.assert_series_equal(uncertainty, copies[1])


def test_more_shares_than_points_and_the_table(demo):
    found = confidence_curve(V, U, n_points=50, **FEW)
    frame = found.to_frame()
    assert isinstance(found, ConfidenceCurve) and len(frame) == 50 and frame["removed"].is_monotonic_increasing and frame["removed"].iloc[-1] == 0.98
    assert list(frame) == ["removed", "kept", "value", "low", "high", "reference", "null_low", "null_high", "oracle"]
    np.testing.assert_allclose(frame["value"].iloc[-1], 0.5, rtol=1e-12)        # a part of the surest point is left
    assert found.reference[0] == pytest.approx(found.value[0]) and found.distribution == "empirical"
    assert confidence_curve(V, U, distribution=stats.t(5), **FEW).distribution == "t(5)"
    assert "RMSE of 4 rows" in found._repr_html_() and "p = " in found._repr_html_()


@pytest.mark.parametrize("n_points", [2, 100])
def test_plot_returns_the_axes_and_labels_everything(demo, n_points):
    fig, ax = plt.subplots()
    found = confidence_curve(*demo, metric="mae", n_points=n_points, **FEW)
    assert found.plot(ax) is ax and found.plot(ax=None) is not ax
    assert "MAE" in ax.get_ylabel() and "unit" in ax.get_ylabel() and "%" in ax.get_xlabel()
    assert {text.get_text() for text in ax.texts} == {"data", "proportional uncertainties", "oracle"}
    plt.close("all")


DISTRIBUTIONS = {"normal": "normal", "t6": "t6", "t3": "t3", "laplace": "laplace", "gumbel": stats.gumbel_r()}


def rejections(distribution, n, sets, metric, assumed="empirical", n_resamples=79):
    "Percentage of calibrated sets rejected at 5 %; with 79 sets both tails hold a whole number, so that the level is exact."
    frozen, count = standard_distribution(distribution), 0
    for k in range(sets):
        rng = np.random.default_rng([n, k])
        uncertainty = np.sqrt(1 / rng.gamma(3, 1 / 3, size=n))
        error = uncertainty * frozen.rvs(size=n, random_state=rng)
        count += confidence_curve(error, uncertainty, metric=metric, distribution=assumed, n_boot=1, n_resamples=n_resamples, rng=rng).pvalue <= 0.05
    return 100 * count / sets


def test_the_interval_holds_zero_for_right_uncertainties_of_many_sizes():
    "Catches an interval of bootstrap quantiles alone: 81 % of such sets, most of them without a word."
    held, told = [], 0
    for k in range(150):
        rng = np.random.default_rng([k, 21])
        uncertainty = rng.lognormal(0, 2, 100)
        found = confidence_curve(uncertainty * (rng.exponential(size=100) - 1), uncertainty, n_boot=199, n_resamples=199, rng=rng)
        held.append(found.confidence_interval.low <= 0 <= found.confidence_interval.high)
        told += found.is_heavy
        assert held[-1] or found.pvalue <= 0.05
        assert ("too short if 0 is wrong" in found.sentence) == found.is_heavy
    assert np.mean(held) > 0.92 and told < 40


@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 0.95]), st.integers(1, 60))
@settings(max_examples=40, deadline=None)
def test_the_interval_leaves_out_zero_only_where_p_is_small(seed, confidence, n_resamples):
    "Catches limits that forget the p-value: few shuffles, or errors of ±u whose areas are rounding."
    rng = np.random.default_rng(seed)
    uncertainty = rng.choice([0.1, 0.3, 1.0, 7.0], 40)
    error = uncertainty * (rng.normal(size=40) if seed % 2 else rng.choice([-1, 1], 40))
    uncertainty[0] = 2.0
    found = confidence_curve(error, uncertainty, confidence=confidence, n_boot=3, n_resamples=n_resamples, rng=rng)
    low, high = found.confidence_interval
    assert found.pvalue <= 1 - confidence + 1e-9 or low <= 0 <= high


@pytest.mark.slow
def test_level_is_kept_for_heavy_tails():
    assert 3 < rejections("t3", 60, 600, "rmse", n_resamples=39) < 7


def test_mae_with_the_wrong_distribution_rejects_calibrated_sets():
    assert rejections("t3", 300, 60, "mae", assumed="normal", n_resamples=39) > 60


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["rmse", "mae"])
@pytest.mark.parametrize("n", [50, 500, 5000])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_level_of_the_distribution_free_test(distribution, n, metric):
    assert 3.5 <= rejections(DISTRIBUTIONS[distribution], n, 2000, metric) <= 6.5


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["rmse", "mae"])
@pytest.mark.parametrize("distribution", ["normal", "t6"])
def test_level_with_the_right_distribution(distribution, metric):
    assert 3.5 <= rejections(distribution, 200, 2000, metric, assumed=distribution) <= 6.5
