"""Bin scaling: closed forms against integration and simulation, the published grid, exactness and level of the extrapolation, bad input."""
import functools
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from published import diffusion
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from uqcal.statistics import consistency, statistics
from uqcal.sample import datasets
from uqcal._chance import distributions
from uqcal._sample.sample import Sample
from uqcal.statistics.bin_scaling import (
    _SCALING,
    Extrapolation,
    _bin_reference,
    _mean_of_g,
    _segments,
    _simulate_grid,
    _variance_table,
    extrapolate,
    _extrapolation_of,
    reference_slope,
    bin_scaling_reference,
    simulate_bin_scaling,
)

GRID = {"n": [2000, 4000, 8000, 12000, 16000], "n_bins": [10, 20, 30, 40, 50], "dof": [6, 8, 10, 12, 24, 48]}
KINDS = {"ence": lambda s: abs(np.sqrt(s) - 1), "zmse": lambda s: abs(np.log(s))}


def calibrated(n=2000, dof=10, distribution="normal", rng=1):
    return distributions.simulate_calibrated(n, dof, distribution=distribution, rng=rng)


# closed forms

@pytest.mark.parametrize(("distribution", "kurtosis"), [("normal", 3), ("uniform", 1.8), ("laplace", 6), ("t6", 6), ("t12", 3 + 6 / 8), (stats.gumbel_r(), 3 + 12 / 5),
                                               (stats.gamma(4), 3 + 6 / 4), (stats.t(5, loc=3, scale=7), 9)])
def test_slope_is_that_of_the_kurtosis(distribution, kurtosis):
    np.testing.assert_allclose(reference_slope("ence", distribution), np.sqrt((kurtosis - 1) / (2 * np.pi)), rtol=1e-9)
    np.testing.assert_allclose(reference_slope("zmse", distribution), 2 * np.sqrt((kurtosis - 1) / (2 * np.pi)), rtol=1e-9)


@pytest.mark.parametrize("distribution", ["t4", "t3", "t2.5", stats.pareto(3)])
def test_slope_of_infinite_kurtosis_is_refused_with_the_reason(distribution):
    with pytest.raises(ValueError, match="distribution must have a finite kurtosis"):
        reference_slope("zmse", distribution)


@pytest.mark.parametrize("statistic", _SCALING)
@pytest.mark.parametrize("m", [4, 5, 10, 20, 40, 100, 1600, 50_000])
def test_normal_reference_is_the_integral_over_chi_squared(statistic, m):
    distribution, g, edges = stats.chi2(m, scale=1 / m), KINDS[statistic], [0, max(1 - 12 / np.sqrt(m), 0), 1, 1 + 12 / np.sqrt(m), 1 + 60 / np.sqrt(m) + 60 / m]
    exact = sum(integrate.quad(lambda s: g(s) * distribution.pdf(s), a, b, limit=200, epsabs=1e-13)[0] for a, b in zip(edges[:-1], edges[1:]) if b > a)
    np.testing.assert_allclose(bin_scaling_reference(statistic, 10 * m, 10), exact, rtol=2e-4 if m < 10 else 1e-6)


@pytest.mark.parametrize("statistic", _SCALING)
def test_bins_of_two_and_three_points_are_right_within_a_percent(statistic):
    for m in (2, 3):
        exact = sum(integrate.quad(lambda s: KINDS[statistic](s) * stats.chi2(m, scale=1 / m).pdf(s), a, b)[0] for a, b in ((0, 1), (1, np.inf)))  # noqa: B023
        np.testing.assert_allclose(bin_scaling_reference(statistic, 10 * m, 10), exact, rtol=0.01)


@pytest.mark.parametrize("m", [2, 7, 30, 1000])
def test_mean_logarithm_and_mean_root_have_closed_forms_for_normal_errors(m):
    root, logarithm = _mean_of_g("normal", m)
    np.testing.assert_allclose(logarithm, special.digamma(m / 2) - np.log(m / 2), rtol=1e-5)
    np.testing.assert_allclose(root, np.exp(special.gammaln((m + 1) / 2) - special.gammaln(m / 2)) / np.sqrt(m / 2) - 1, rtol=1e-5)


@pytest.mark.parametrize("distribution", ["t6", "t3", "t2.2", "laplace", "uniform", stats.gumbel_r(), stats.gamma(0.6), stats.gennorm(8)], ids=distributions.distribution_name)
@pytest.mark.parametrize("m, millions", [(5, 1.2), (60, 1.2), *(pytest.param(m, 6, marks=pytest.mark.slow) for m in (5, 20, 60))])
def test_reference_of_other_distributions_is_what_simulation_gives(distribution, m, millions):
    rng, means = np.random.default_rng(3), {s: [] for s in _SCALING}
    for _ in range(10):
        s = np.mean(distributions.standard_distribution(distribution).rvs(size=(int(10**5 * millions) // m, m), random_state=rng)**2, axis=1)
        for name in _SCALING:
            means[name].extend(KINDS[name](s))
    for name, values in means.items():
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - bin_scaling_reference(name, 10 * m, 10, distribution=distribution)) < 4 * error + 1e-4 * np.mean(values)
        assert error < 0.015 / np.sqrt(millions) * np.mean(values)


@pytest.mark.slow
def test_student_errors_reach_their_slope_slowly():
    scaled = [bin_scaling_reference("ence", 10 * m, 10, distribution="t6") * np.sqrt(m) for m in (20, 40, 100, 1600)]
    np.testing.assert_allclose(scaled, [0.762, 0.791, 0.821, 0.871], atol=0.001)
    assert bin_scaling_reference("ence", 10**9, 1, distribution="t6") * 10**4.5 == pytest.approx(reference_slope("ence", "t6"), rel=1e-3)
    assert np.all(np.diff([bin_scaling_reference("zmse", 10 * m, 10, distribution="t3") * np.sqrt(m) for m in (20, 200, 2000, 20_000)]) > 0.4)


def test_bins_of_unequal_count_are_averaged():
    sizes = np.diff(statistics.equal_count_bins(107, 10))
    assert set(sizes) == {10, 11}
    np.testing.assert_allclose(bin_scaling_reference("zmse", 107, 10, distribution="t6"), np.mean([_bin_reference("t6", int(m))["zmse"] for m in sizes]), rtol=1e-12)


def test_given_uncertainties_matter_to_ence_only():
    _, u = calibrated(dof=6)
    assert bin_scaling_reference("zmse", 2000, 10, uncertainty=u) == bin_scaling_reference("zmse", 2000, 10)
    assert bin_scaling_reference("ence", 2000, 10, uncertainty=u) > 1.01 * bin_scaling_reference("ence", 2000, 10)
    for scale in (1e-100, 1.0, 1e100):
        np.testing.assert_allclose(bin_scaling_reference("ence", 2000, 10, uncertainty=scale * u[::-1]), bin_scaling_reference("ence", 2000, 10, uncertainty=u), rtol=1e-12)
    np.testing.assert_allclose(bin_scaling_reference("ence", 2000, 10, uncertainty=np.full(2000, 3.0)), bin_scaling_reference("ence", 2000, 10), rtol=1e-12)


# simulation

def test_shared_simulation_is_what_separate_bins_give():
    n, n_bins, dofs = 211, [3, 7, 10], [4.0, 20.0]
    rng = np.random.default_rng(5)
    epsilon, gap = rng.standard_normal((4, n)), rng.standard_exponential((4, n + 1))
    found = _simulate_grid(epsilon, gap, _variance_table(dofs), *_segments(n, n_bins), np.array(n_bins))
    p = np.cumsum(gap, axis=1)
    for r in range(4):
        for d, dof in enumerate(dofs):
            u = np.sqrt(stats.invgamma(dof / 2, scale=dof / 2).ppf((p[r] / p[r, -1])[:-1]))
            np.testing.assert_allclose(found[r, d], [statistics.ence(u * epsilon[r], u, n_bins=k) for k in n_bins], rtol=2e-4)
            np.testing.assert_allclose(found[r, -1], [statistics.zmse(u * epsilon[r], u, n_bins=k) for k in n_bins], rtol=1e-9)


def test_uncertainties_follow_the_inverse_gamma_distribution():
    for dof in (0.5, 3, 6, 48):
        x = np.array([-30.0, -8.3, -2.01, 0.005, 1.7, 9.99, 25])
        exact = np.where(x < 0, dof / 2 / special.gammainccinv(dof / 2, special.expit(x)), dof / 2 / special.gammaincinv(dof / 2, special.expit(-x)))
        at = (x + 40) * 64
        low = np.floor(at).astype(int)
        table = _variance_table([dof])[:, 0]
        np.testing.assert_allclose(table[low] + (at - low) * (table[low + 1] - table[low]), exact, rtol=5e-4 if dof < 6 else 1e-5)


def test_simulation_does_not_depend_on_jobs_and_shares_draws():
    options = dict(n=[200, 300], n_bins=[5, 10], dof=[6, 12], n_mc=1000, rng=4)
    one, two = simulate_bin_scaling(**options), simulate_bin_scaling(**options, n_jobs=2)
    pd.testing.assert_frame_equal(one.to_frame(), two.to_frame())
    rows = one.to_frame().query("statistic == 'zmse'")
    assert rows.groupby(["n", "n_bins"])["mean"].nunique().eq(1).all()
    only = simulate_bin_scaling("zmse", **options)
    assert set(only.to_frame()["statistic"]) == {"zmse"} and list(only.limits) == ["zmse"]


def check_grid(found):
    "The published slopes, intercepts and exponents."
    lines = {distribution: one.fit()["estimate"] for distribution, one in found.items()}
    for distribution, statistic, slope, within, intercept, room in (("normal", "ence", 0.56, 0.01, 0, 0.002), ("normal", "zmse", 1.14, 0.02, 0, 0.003),
                                                           ("t6", "ence", 0.779, 0.015, 0.004, 0.003), ("t6", "zmse", 1.577, 0.03, 0.006, 0.005)):
        assert abs(lines[distribution][statistic, "slope"] - slope) <= within, (distribution, statistic)
        assert abs(lines[distribution][statistic, "intercept"] - intercept) <= room, (distribution, statistic)
    for statistic in _SCALING:
        assert abs(lines["normal"][statistic, "exponent of M"] + 0.5) <= 0.01
        assert -0.484 < lines["t6"][statistic, "exponent of M"] < -0.464


@functools.cache
def uncertainties(n, dof):
    return np.sqrt(dof / 2 / special.gammainccinv(dof / 2, (np.arange(n) + 0.5) / n))


def check_references(found, room):
    "Each mean within 1 % (and 3 standard errors if they are larger) of the reference, given u; and the constant-u reference away from few bins."
    for distribution, one in found.items():
        rows = one.to_frame()
        given_u = np.array([bin_scaling_reference(s, n, k, distribution=distribution, uncertainty=uncertainties(n, dof))
                            for s, n, k, dof in zip(rows["statistic"], rows["n"], rows["n_bins"], rows["dof"])])
        plain = np.array([bin_scaling_reference(s, n, k, distribution=distribution) for s, n, k in zip(rows["statistic"], rows["n"], rows["n_bins"])])
        noise = room * rows["standard_error"]
        assert np.all(np.abs(rows["mean"] - given_u) < np.maximum(0.01 * given_u, noise)), distribution
        narrow = (rows["statistic"] == "zmse") | (rows["n_bins"] >= 30) | (rows["dof"] >= 24)
        assert np.all((np.abs(rows["mean"] - plain) < np.maximum(0.01 * plain, noise))[narrow]), distribution


def test_published_slopes_and_references_on_a_reduced_grid():
    found = {distribution: simulate_bin_scaling(**GRID, distribution=distribution, n_mc=500, rng=7, n_jobs=2) for distribution in ("normal", "t6")}
    check_grid(found)
    check_references(found, room=3.5)


@pytest.mark.slow
def test_published_slopes_and_references_on_the_whole_grid():
    found = {distribution: simulate_bin_scaling(**GRID, distribution=distribution, n_mc=5000, rng=2, n_jobs=2) for distribution in ("normal", "t6")}
    check_grid(found)
    check_references(found, room=0)


def test_exact_references_lie_on_the_published_lines():
    for distribution, statistic, slope, intercept in (("t6", "ence", 0.779, 0.004), ("t6", "zmse", 1.577, 0.006), ("normal", "ence", 0.56, 0), ("normal", "zmse", 1.14, 0)):
        cells = [(np.sqrt(k / n), bin_scaling_reference(statistic, n, k, distribution=distribution)) for n in GRID["n"] for k in GRID["n_bins"]]
        np.testing.assert_allclose(np.polyfit(*zip(*cells), 1), [slope, intercept], atol=0.005)
    exponents = [np.polyfit(np.log(GRID["n"]), np.log([bin_scaling_reference("ence", n, k, distribution="t6") for n in GRID["n"]]), 1)[0] for k in GRID["n_bins"]]
    np.testing.assert_allclose(exponents, np.clip(exponents, -0.4825, -0.465), atol=1e-9)


def test_fit_is_that_of_plain_least_squares():
    one = simulate_bin_scaling(n=[300, 600, 900], n_bins=[5, 10], dof=[6, 12], n_mc=50, rng=1)
    rows = one.to_frame().query("statistic == 'ence'")
    slope, intercept = np.polyfit(rows["x"], rows["mean"], 1)
    fit = one.fit().loc["ence"]
    np.testing.assert_allclose(fit["estimate"][["slope", "intercept"]], [slope, intercept], rtol=1e-9)
    assert np.all(fit["low"] < fit["estimate"]) and np.all(fit["estimate"] < fit["high"])
    wider = one.fit(0.99).loc["ence"]
    assert np.all(wider["low"] < fit["low"]) and np.all(wider["high"] > fit["high"])
    assert "exponent of M" not in simulate_bin_scaling(n=300, n_bins=[5, 6, 7], dof=6, n_mc=50, rng=1).fit().index.get_level_values("term")
    with pytest.raises(ValueError, match="three different values of n_bins/n"):
        simulate_bin_scaling(n=300, n_bins=[5, 6], dof=6, n_mc=10, rng=1).fit()


def test_line_of_zmse_counts_each_value_once():
    one = simulate_bin_scaling(n=[300, 600, 900], n_bins=[5, 10], dof=6, n_mc=50, rng=1)
    many = simulate_bin_scaling(n=[300, 600, 900], n_bins=[5, 10], dof=[6, 12, 24], n_mc=50, rng=1)
    pd.testing.assert_frame_equal(one.fit().loc[["zmse"]], many.fit().loc[["zmse"]])


# extrapolation

@pytest.mark.parametrize("statistic", _SCALING)
def test_points_are_those_of_the_statistics_module(statistic):
    demo = diffusion()
    scaled = demo.error / np.sqrt(statistics.zms(demo.error, demo.uncertainty))
    function, numbers = getattr(statistics, statistic), list(range(10, 101, 10))
    paper = extrapolate(demo.error, demo.uncertainty, statistic=statistic, method="paper")
    ours = extrapolate(demo.error, demo.uncertainty, statistic=statistic, n_resamples=9, rng=1)
    assert list(paper.points["n_bins"]) == numbers == list(ours.points["n_bins"])
    np.testing.assert_allclose(paper.points["value"], [function(demo.error, demo.uncertainty, n_bins=k) for k in numbers], rtol=1e-12)
    np.testing.assert_allclose(ours.points["value"], [function(scaled, demo.uncertainty, n_bins=k) for k in numbers], rtol=1e-12)
    np.testing.assert_array_equal(ours.points["is_fitted"], np.array(numbers) > 20)


def test_line_is_that_of_least_squares():
    found = extrapolate(*calibrated(), method="paper", min_bin_size=30, fit_above=10)
    used = found.points[found.points["n_bins"] > 10]
    line = stats.linregress(used["x"], used["value"])
    np.testing.assert_allclose([found.slope, found.statistic, found.standard_error], [line.slope, line.intercept, line.intercept_stderr], rtol=1e-9)
    np.testing.assert_allclose(found.confidence_interval, line.intercept + np.array([-2, 2]) * line.intercept_stderr, rtol=1e-9)
    assert found.points["bin_size"].min() > 30 and found.null_distribution is None and found.expected == 0


def test_bins_of_exactly_the_smallest_size_are_left_out():
    points = extrapolate(*calibrated(2000), method="paper").points
    assert points["n_bins"].max() == 90 and 2000 / 100 == 20
    assert extrapolate(*calibrated(3600), method="paper").points["n_bins"].max() == 150


def plain_intercept(error, uncertainty, statistic, by):
    order = np.argsort(uncertainty if by is None else by)
    z, u2 = (error / uncertainty)[order], uncertainty[order]**2
    z2, values = z**2 / np.mean(z**2), []
    found, stated = (z2, np.ones(z.size)) if statistic == "zmse" else (u2 * z2, u2)
    for k in (4, 5, 6):
        start = statistics.equal_count_bins(z.size, k)[:-1]
        values.append(np.mean(KINDS[statistic](np.add.reduceat(found, start) / np.add.reduceat(stated, start))))
    return np.polyfit(np.sqrt(np.array([4, 5, 6]) / z.size), values, 1)[1]


@pytest.mark.parametrize("statistic", _SCALING)
@pytest.mark.parametrize("adaptivity", [False, True])
def test_shuffled_intercepts_follow_the_distribution_of_a_plain_loop(statistic, adaptivity):
    error, uncertainty = calibrated(120, 4, "t6", rng=2)
    rng = np.random.default_rng(8)
    by = rng.normal(size=120) if adaptivity else None
    found = extrapolate(error, uncertainty, statistic=statistic, n_bins=[3, 4, 5, 6], min_bin_size=5, fit_above=3, by=by, n_resamples=4000, rng=1)
    plain = [plain_intercept(rng.permutation(error / uncertainty) * uncertainty, uncertainty, statistic, by) for _ in range(800)]
    np.testing.assert_allclose(found.statistic, plain_intercept(error, uncertainty, statistic, by), rtol=1e-9)
    assert stats.ks_2samp(found.null_distribution, plain).pvalue > 0.005
    assert found.pvalue == (np.sum(found.null_distribution >= found.statistic) + 1) / 4001
    np.testing.assert_allclose(found.expected, found.null_distribution.mean(), rtol=1e-12)


def test_points_have_the_pvalues_of_the_consistency_test():
    error, uncertainty = calibrated(1500, 6, rng=3)
    uncertainty = uncertainty**1.3
    points = extrapolate(error, uncertainty, n_resamples=4999, rng=1).points.set_index("n_bins")
    test = consistency.consistency_test(error, uncertainty, statistic="zmse", n_bins=30, n_resamples=4999, rng=2)
    np.testing.assert_allclose(points["value"][30], test.statistic, rtol=1e-10)
    np.testing.assert_allclose(points["shuffled"][30], test.null_mean, rtol=0.01)
    assert abs(points["pvalue"][30] - test.pvalue) < 4 * np.sqrt(0.5 * test.pvalue / 1000) + 0.001


@given(seed=st.integers(0, 2**32 - 1), confidence=st.sampled_from([0.5, 0.8, 0.9, 0.95]), n_resamples=st.integers(1, 60))
def test_interval_holds_its_reference_exactly_where_the_verdict_says_so(seed, confidence, n_resamples):
    rng = np.random.default_rng(seed)
    error, uncertainty = calibrated(100, 4, rng=rng)
    found = extrapolate(error, uncertainty**rng.choice([1, 2]), n_bins=range(3, 9), min_bin_size=5, fit_above=2, n_resamples=n_resamples,
                        confidence=confidence, rng=rng)
    assert (found.pvalue > 1 - confidence + 1e-9) == (found.verdict == "valid") == (found.confidence_interval[0] <= found.expected)
    assert found.confidence_interval[1] == np.inf
    paper = extrapolate(error, uncertainty, n_bins=range(3, 9), min_bin_size=5, fit_above=2, confidence=confidence, method="paper")
    assert (paper.verdict == "valid") == (paper.confidence_interval[0] <= 0 <= paper.confidence_interval[1]) == (paper.pvalue >= 1 - confidence)


@pytest.mark.parametrize("statistic", _SCALING)
def test_units_average_size_sign_and_row_order_do_not_matter(statistic):
    error, uncertainty = calibrated(1500, 6, "t6", rng=3)
    options = dict(statistic=statistic, n_resamples=199, rng=1)
    first = extrapolate(error, uncertainty, **options)
    for e, u in ((1e-120 * error, 1e-120 * uncertainty), (error, 7 * uncertainty), (-error, uncertainty), (1e100 * error, 1e90 * uncertainty)):
        other = extrapolate(e, u, **options)
        assert other.pvalue == first.pvalue
        np.testing.assert_allclose((other.statistic, other.slope, other.expected), (first.statistic, first.slope, first.expected), rtol=1e-8)
    order = np.random.default_rng(0).permutation(1500)
    assert extrapolate(error[order], uncertainty[order], **options).pvalue == first.pvalue
    tied = np.round(uncertainty, 1) + 0.05
    worst = np.argsort(np.abs(error))
    np.testing.assert_allclose(extrapolate(error[worst], tied[worst], **options).statistic, extrapolate(error, tied, **options).statistic, rtol=1e-9)


def test_same_seed_same_result_whatever_the_jobs():
    sets = calibrated(1500)
    data, options = Sample(*sets), dict(n_resamples=99, rng=5)
    assert _extrapolation_of(data, **options) == extrapolate(*sets, **options)
    assert _extrapolation_of(data, data.along(sets[0]), **options) == extrapolate(*sets, by=sets[0], **options)
    one, two = (extrapolate(*sets, n_resamples=3000, rng=5, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
    before = [values.copy() for values in sets]
    extrapolate(*sets, n_resamples=9, rng=np.random.default_rng(1))
    for values, copy in zip(sets, before):
        np.testing.assert_array_equal(values, copy)


def test_failing_uncertainties_are_found_and_a_feature_can_be_asked_for():
    error, uncertainty = calibrated(4000, 6, rng=3)
    assert extrapolate(error, uncertainty**2, n_resamples=999, rng=1).verdict == "invalid"
    feature = np.random.default_rng(1).normal(size=4000)
    wrong = error * np.exp(0.3 * feature)
    assert extrapolate(wrong, uncertainty, by=feature, n_resamples=999, rng=1).verdict == "invalid"
    assert extrapolate(wrong, np.ones(4000), by=feature, n_resamples=999, rng=1).verdict == "invalid"


@pytest.mark.skipif("UQCAL_DATA_DIR" not in os.environ, reason="UQCAL_DATA_DIR names no folder with the data sets")
def test_published_method_refuses_all_nine_sets_and_shuffling_lets_two_pass():
    passed = []
    for number, name in enumerate(datasets.catalogue().index, 1):
        data = datasets.load_errors(name)
        assert extrapolate(data.error, data.uncertainty, method="paper").verdict == "invalid"
        if extrapolate(data.error, data.uncertainty, n_resamples=1999, rng=1).verdict == "valid":
            passed.append(number)
    assert passed == [1, 5]


# level

DISTRIBUTIONS = {"normal": "normal", "t6": "t6", "t3": "t3", "Laplace": "laplace", "Gumbel": stats.gumbel_r()}
CASES = [(n, distribution) for n in (2000, 5000) for distribution in DISTRIBUTIONS]


@functools.cache
def rejections(n, distribution, n_sets, seed):
    "Shares of calibrated sets that the permutation and the published method reject at 5 %."
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_sets):
        sets = distributions.simulate_calibrated(n, 10, distribution=DISTRIBUTIONS[distribution], rng=rng)
        found.append([extrapolate(*sets, n_resamples=39, rng=rng).verdict, extrapolate(*sets, method="paper").verdict])
    return (np.array(found) == "invalid").mean(axis=0)


@pytest.mark.parametrize("distribution", ["normal", "t3", "Gumbel"])
@pytest.mark.slow
def test_level_on_a_reduced_number_of_sets(distribution):
    permutation, paper = rejections(2000, distribution, 200, 5)
    assert abs(permutation - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 200)
    assert paper > 0.12


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{n}-{distribution}" for n, distribution in CASES])
def test_level_is_five_percent_for_every_distribution_and_both_sizes(case):
    n, distribution = CASES[case]
    rates = rejections(n, distribution, 2000, 20 + case)
    assert 0.035 <= rates[0] <= 0.065
    assert rates[1] > 0.15
    shown = pd.read_csv(Path(__file__).parents[1] / "nbs" / "statistics/24_bin_scaling_level.csv", index_col=["n", "distribution"])          # the notebook shows these
    np.testing.assert_allclose(rates, shown.loc[(n, distribution)], atol=0.001)


# bad input

GOOD = calibrated(1500)


@pytest.mark.parametrize(("options", "kind", "message"), [
    (dict(statistic="zms"), ValueError, "statistic must be one of 'ence', 'zmse'"),
    (dict(method="bootstrap"), ValueError, "method must be one of 'permutation', 'paper'"),
    (dict(n_bins=[]), ValueError, "n_bins must hold at least one integer"),
    (dict(n_bins=[30, 40.5, 50]), TypeError, "n_bins must be an integer"),
    (dict(n_bins=[0, 30, 40, 50]), ValueError, "n_bins must be an integer ≥ 1"),
    (dict(n_bins="many"), TypeError, "n_bins must be an integer"),
    (dict(n_bins=None), TypeError, "n_bins must be an integer"),
    (dict(n_bins=40), ValueError, "n_bins must leave at least three numbers"),
    (dict(n_bins=np.array(40)), ValueError, "n_bins must leave at least three numbers"),
    (dict(n_bins=[30, 40]), ValueError, r"n_bins must leave at least three numbers above fit_above = 20 .* \[30, 40\]"),
    (dict(n_bins=[10, 20, 30, 40]), ValueError, "n_bins must leave at least three numbers above fit_above = 20"),
    (dict(n_bins=[30, 30, 40, 40]), ValueError, "n_bins must leave at least three numbers"),
    (dict(n_bins=[100, 200]), ValueError, "n_bins must hold a number whose bins have more than 20 points: the smallest, 100"),
    (dict(fit_above=150), ValueError, "above fit_above = 150 for a line with an interval: none"),
    (dict(fit_above=-1), ValueError, "fit_above must be an integer ≥ 0"),
    (dict(min_bin_size=1), ValueError, "min_bin_size must be an integer ≥ 2"),
    (dict(by=np.ones(1500)), ValueError, "by must not be constant"),
    (dict(by=["a", "b"] * 750), TypeError, "by must hold numbers"),
])
def test_bad_options_are_refused_with_the_reason(options, kind, message):
    for method in ("permutation", "paper"):
        with pytest.raises(kind, match=message):
            extrapolate(*GOOD, **{"method": method, "n_resamples": 9, **options})


@pytest.mark.parametrize("method", ["permutation", "paper"])
@pytest.mark.parametrize(("error", "uncertainty", "kind", "message"), [
    (GOOD[0], np.ones(1500), ValueError, "uncertainty must vary: all 1500 values are 1"),
    ([1.0], [2.0], ValueError, "n_bins must hold a number whose bins have more than 20 points"),
    (GOOD[0][:200], GOOD[1][:200], ValueError, "the smallest, 10, leaves 20 of 200 points in a bin"),
    (GOOD[0][:1000], GOOD[1][:1000], ValueError, r"\[30, 40\] of 10 to 150"),
    (np.zeros(1500), GOOD[1], ValueError, "error must not be all zero"),
    (np.where(GOOD[1] < np.quantile(GOOD[1], 0.1), 0, GOOD[0]), GOOD[1], ValueError, "error must not be all zero within a bin"),
])
def test_bad_points_are_refused_with_the_reason(error, uncertainty, kind, message, method):
    with pytest.raises(kind, match=message):
        extrapolate(error, uncertainty, n_resamples=9, rng=1, method=method)


def test_bins_without_errors_are_no_obstacle_to_ence_nor_rare_ones_to_zmse():
    error, uncertainty = GOOD
    partly = np.where(uncertainty < np.quantile(uncertainty, 0.1), 0, error)
    assert extrapolate(partly, uncertainty, statistic="ence", n_resamples=99, rng=1).verdict == "invalid"
    sparse = np.where(np.random.default_rng(1).random(1500) < 0.9, 0, error)
    order = np.argsort(uncertainty)
    sparse[order[::5]] = error[order[::5]]          # no bin of the data without an error, some shuffles with one
    found = extrapolate(sparse, uncertainty, n_resamples=499, rng=1)
    assert 0 < np.isinf(found.null_distribution).sum() < 499 and np.isfinite(found.expected) and 0 < found.pvalue <= 1
    hopeless = np.zeros(1500)
    hopeless[order[::20]] = 1 + np.arange(75)
    with pytest.raises(ValueError, match="nearly every shuffle has a bin without errors"):
        extrapolate(hopeless, uncertainty, n_bins=[30, 40, 50, 60], n_resamples=99, rng=1)


@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([0.0, 1.0, 20.0, 100.0]), method=st.sampled_from(["permutation", "paper"]),
       statistic=st.sampled_from(_SCALING), levels=st.sampled_from([2, 5, 100]))
@pytest.mark.filterwarnings("error")
def test_extreme_and_tied_values_give_finite_results(seed, spread, method, statistic, levels):
    rng = np.random.default_rng(seed)
    uncertainty = np.exp(spread * rng.integers(0, levels, 100) / levels * rng.choice([-1, 1]))
    error = uncertainty * rng.standard_normal(100) * 10.0**rng.integers(-30, 30)
    assume(np.unique(uncertainty).size > 1)
    found = extrapolate(error, uncertainty, statistic=statistic, method=method, n_bins=range(2, 9), min_bin_size=5, fit_above=2, n_resamples=19, rng=rng)
    assert np.all(np.isfinite([found.statistic, found.slope, found.standard_error, found.expected, found.pvalue, found.confidence_interval[0]])) or found.confidence_interval[0] == -np.inf
    assert 0 <= found.pvalue <= 1 and found.points.drop(columns="is_fitted").notna().all().all()


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: reference_slope("cc"), ValueError, "statistic must be one of"),
    (lambda: reference_slope(3), TypeError, "statistic must be one of"),
    (lambda: reference_slope("ence", "t1"), ValueError, "distribution must have a finite variance"),
    (lambda: reference_slope("ence", "cauchy"), ValueError, "distribution must be"),
    (lambda: reference_slope("ence", 3), TypeError, "distribution must be a name or a frozen"),
    (lambda: bin_scaling_reference("ence", 100, 51), ValueError, "n_bins must leave at least two points"),
    (lambda: bin_scaling_reference("ence", 1, 1), ValueError, "n must be an integer ≥ 2"),
    (lambda: bin_scaling_reference("ence", 100, 10, distribution="student"), ValueError, "distribution must be"),
    (lambda: bin_scaling_reference("ence", 100, 10, uncertainty=np.ones(99)), ValueError, "uncertainty must hold one value for each of the n = 100 points, got 99"),
    (lambda: simulate_bin_scaling("rce", n=100, n_bins=5, dof=6), ValueError, "statistic must be one of"),
    (lambda: simulate_bin_scaling([], n=100, n_bins=5, dof=6), ValueError, "statistic must name at least one"),
    (lambda: simulate_bin_scaling(n=[], n_bins=5, dof=6), ValueError, "n must hold at least one integer"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof=[]), ValueError, "dof must hold at least one number"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof=0.1), ValueError, "dof must be a number ≥ 0.5"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof="six"), TypeError, "dof must be a number"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof=np.nan), ValueError, "dof must be a number"),
    (lambda: simulate_bin_scaling(n=[1000, 100], n_bins=[10, 60], dof=6), ValueError, "at most 50 bins for 100 points, got 60"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof=6, n_mc=1), ValueError, "n_mc must be an integer ≥ 2"),
    (lambda: simulate_bin_scaling(n=100, n_bins=5, dof=6, distribution="t2"), ValueError, "distribution must have a finite variance"),
    (lambda: simulate_bin_scaling(n=100, n_bins=[5, 6, 7], dof=6, n_mc=5, rng=1).fit(1.5), ValueError, "confidence must lie"),
])
def test_bad_input_is_refused_with_the_reason(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# results

def test_results_show_themselves():
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    sets = calibrated(1500)
    for found in (extrapolate(*sets, n_resamples=99, rng=1), extrapolate(*sets, method="paper"), extrapolate(*sets, n_resamples=9, rng=1, statistic="ence")):
        assert isinstance(found, Extrapolation) and "at zero bins" in found._repr_html_()
        frame = found.to_frame()
        np.testing.assert_allclose(frame["t6"], [bin_scaling_reference(found.name, 1500, k, distribution="t6") for k in frame["n_bins"]])
        ax = plt.subplots()[1]
        assert found.plot(ax) is ax and found.plot().get_ylabel().startswith(found.name.upper())
    one = simulate_bin_scaling(n=[200, 300], n_bins=[5, 10], dof=6, n_mc=20, rng=4, distribution="t3")
    assert one.limits == {} and "20 calibrated sets with t3 errors" in one._repr_html_()
    assert one.plot().get_xlabel().startswith("x = √(N/M)")
    frame = one.to_frame()
    assert list(frame.columns) == ["statistic", "n", "n_bins", "dof", "bin_size", "x", "mean", "standard_error"] and len(frame) == 8
    plt.close("all")


@pytest.mark.parametrize("statistic", _SCALING)
def test_no_sentence_calls_uncertainties_valid_whose_average_was_divided_out(statistic):
    "Catches a sentence that ends in the verdict: errors of 2 u were called valid, since their size is taken out before."
    from matplotlib import pyplot as plt
    error, uncertainty = calibrated(1500, rng=2)
    found = extrapolate(2 * error, uncertainty, statistic=statistic, n_resamples=199, rng=1)
    assert found.verdict == "valid" and found.factor == pytest.approx(2 * np.sqrt(statistics.zms(error, uncertainty)), rel=1e-12)
    assert "valid" not in found.sentence and f"divided by {found.factor:.2f} so that ZMS = 1" in found.sentence
    assert "No sign that scaled errors are larger in some bins" in found.sentence and f"E/u {found.factor:.2f})" in found.sentence and "not tested" in found.sentence
    assert (found.to_frame()["factor"] == found.factor).all() and "brought to ZMS = 1" in found.plot().get_ylabel()
    plt.close("all")
    wrong = extrapolate(2 * error, uncertainty**2, statistic=statistic, n_resamples=199, rng=1)
    assert "Scaled errors are larger in some bins" in wrong.sentence and "not tested" in wrong.sentence


def test_the_published_interval_never_goes_without_its_warning():
    "Catches a sentence of method='paper' with a p-value alone, which calls 20 to 95 of 100 perfect sets invalid where 5 are stated."
    shown = pd.read_csv(Path(__file__).parents[1] / "nbs" / "statistics/24_bin_scaling_level.csv")["paper"]
    for rng in range(4):
        found = extrapolate(*calibrated(1500, rng=rng), method="paper")
        assert found.factor == 1 and "valid" not in found.sentence and ("misses it" in found.sentence) == (found.verdict == "invalid")
        assert f"far too short: at 95 % it misses 0 in {100 * shown.min():.0f} to {100 * shown.max():.0f} of 100 calibrated sets" in found.sentence
    from matplotlib import pyplot as plt
    ax = found.plot()
    assert "if points were independent" in ax.texts[-1].get_text() and "ZMS = 1" not in ax.get_ylabel()
    plt.close("all")


def test_study_quotes_the_published_scores():
    root = Path(__file__).parents[1]
    printed = json.loads((root / "tests" / "published" / "simref_tables.json").read_text("utf-8"))
    source = "".join(json.loads((root / "nbs" / "studies" / "distribution_free.ipynb").read_text("utf-8"))["cells"][2]["source"])
    quoted = [line.split()[1:] for line in source.split('PRINTED = """')[1].split('"""')[0].strip().splitlines()]
    columns = [printed["columns"]["A"].index(f"zeta_{distribution}") for distribution in ("normal", "t6")]
    assert quoted == [[printed[name][k][column] for name in ("CC", "ENCE", "ZMSE") for column in columns] for k in range(9)]
