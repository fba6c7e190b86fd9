"""Shuffled references: each statistic and each shuffle against a slow twin, exactness by enumeration, level, invariances and bad input."""
import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from published import diffusion
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from uqcal._chance import distributions
from uqcal.statistics import statistics
from uqcal.statistics.consistency import _STATISTICS, NothingToTest, _check_shuffles, _consistency_of, consistency_test, _link_of, link_test, _shuffle_plan
from uqcal._chance.resampling import monte_carlo_pvalue, shuffle, shuffle_state
from uqcal._sample.sample import Sample

TWO_SIDED = ("correlation", "cc")
ORDERLESS = ("kuiper", "kuiper-rank", "zmse", "ence")


# slow twins, from the definitions alone

def mid_ranks(values):
    return [sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values]


def spearman(x, y):
    a, b = mid_ranks(x), mid_ranks(y)
    mean = (len(x) + 1) / 2
    product = sum((p - mean) * (q - mean) for p, q in zip(a, b))
    return product / math.sqrt(sum((p - mean)**2 for p in a) * sum((q - mean)**2 for q in b))


def runs(key):
    "Positions of the points with each value of the key, in its order."
    return [[i for i in range(len(key)) if key[i] == value] for value in sorted(set(key))]


def range_of_sums(excess, key):
    "Largest absolute sum over a stretch of whole runs, as a share of n."
    sums = [sum(excess[i] for i in run) for run in runs(key)]
    return max(abs(sum(sums[j:k])) for j in range(len(sums)) for k in range(j + 1, len(sums) + 1)) / len(excess)


def shared_bins(key, n_bins):
    "For each bin {point: share}: a point of a run is in a bin with the share of the run's places that the bin covers."
    n, bins, first = len(key), [], 0
    edges = [(2 * n * k + n_bins) // (2 * n_bins) for k in range(n_bins + 1)]
    places = []
    for run in runs(key):
        places.append((run, first, first + len(run)))
        first += len(run)
    for low, high in itertools.pairwise(edges):
        bins.append({i: max(0, min(high, stop) - max(low, start)) / (stop - start) for run, start, stop in places for i in run})
    return bins


def slow(name, error, uncertainty, key, n_bins=4, groups=False):
    "A statistic of consistency in plain Python."
    error, uncertainty, n = [float(e) for e in error], [float(u) for u in uncertainty], len(error)
    zms = sum((e / u)**2 for e, u in zip(error, uncertainty)) / n
    z = [abs(e) / u / math.sqrt(zms) for e, u in zip(error, uncertainty)]
    if name == "correlation":
        return spearman([float(f"{value:.10e}") for value in z], key)
    if name == "cc":
        return spearman([abs(e) for e in error], key)
    if name.startswith("kuiper"):
        ranks = mid_ranks([float(f"{value:.10e}") for value in z])
        excess = [(rank - (n + 1) / 2) / n for rank in ranks] if name == "kuiper-rank" else [value**2 - 1 for value in z]
        return sum(abs(sum(excess[i] for i in run)) for run in runs(key)) / (2 * n) if groups else range_of_sums(excess, key)
    bins = [dict.fromkeys(run, 1.0) for run in runs(key)] if groups else shared_bins(key, n_bins)
    total = 0.0
    for members in bins:
        weight = {i: share * (uncertainty[i]**2 if name == "ence" else 1) for i, share in members.items()}
        ratio = sum(w * z[i]**2 for i, w in weight.items()) / sum(weight.values())
        total += (sum(members.values()) / n if groups else 1 / n_bins) * (abs(math.log(ratio)) if name == "zmse" else abs(1 - math.sqrt(ratio)))
    return total


def sample(seed, n=40, tied=False):
    rng = np.random.default_rng(seed)
    uncertainty = np.round(np.exp(0.5 * rng.standard_normal(n)), 1 if tied else 16) + (0.1 if tied else 0)
    error = uncertainty * rng.standard_normal(n)
    return (np.round(error, 1), uncertainty) if tied else (error, uncertainty)


def value(name, error, uncertainty, **options):
    return consistency_test(error, uncertainty, statistic=name, n_resamples=1, rng=1, **options).statistic


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", _STATISTICS)
def test_statistic_is_that_of_the_slow_twin(name, tied):
    for seed in range(5):
        error, uncertainty = sample(seed, tied=tied)
        feature = np.random.default_rng(seed + 100).integers(0, 7, error.size).astype(float)
        np.testing.assert_allclose(value(name, error, uncertainty, n_bins=4), slow(name, error, uncertainty, uncertainty), rtol=1e-11)
        np.testing.assert_allclose(value(name, error, uncertainty, n_bins=4, by=feature), slow(name, error, uncertainty, feature), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", ORDERLESS)
def test_statistic_of_groups_is_that_of_the_slow_twin(name):
    for seed in range(5):
        error, uncertainty = sample(seed)
        group = np.random.default_rng(seed).choice(["a", "b", "c"], error.size, p=[0.6, 0.3, 0.1])
        np.testing.assert_allclose(value(name, error, uncertainty, by=group), slow(name, error, uncertainty, group, groups=True), rtol=1e-11)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", _STATISTICS)
def test_each_shuffle_is_that_of_the_slow_twin(name, tied):
    "The kernels shuffle what `shuffle` shuffles: replay it and compute each statistic from the scaled errors so paired."
    data = Sample(*sample(11, tied=tied))
    kernel, values, fixed = _shuffle_plan(name, data, data.by_uncertainty, 4)
    state = np.array([1, 2, 3, 4], dtype=np.uint64)
    found = kernel(values.copy(), 6, state.copy(), *fixed)
    place = np.arange(float(values.size))
    key, z = np.sort(data.uncertainty), np.abs(data.scaled[data.by_uncertainty.order]) / np.sqrt(data.zms)
    for r in range(7):
        if r:
            shuffle(place, state)
        paired = z[place.astype(int)] * key
        if name == "cc":
            paired = np.array([float(f"{p:.10e}") for p in paired])
        expected = slow(name, np.where(paired == 0, 0, paired), key, key) if name != "correlation" else spearman(list(z[place.astype(int)]), list(key))
        np.testing.assert_allclose(found[r], expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", _STATISTICS)
def test_shuffles_draw_from_all_pairings_alike(name, tied):
    "For six points the null is the statistic of all 720 pairings: its values and its p-value, by the slow twin."
    rng = np.random.default_rng(7)
    u = np.array([0.5, 0.5, 0.9, 1.4, 1.4, 2.0]) if tied else np.sort(rng.uniform(0.5, 2, 6))
    z = np.abs(rng.standard_normal(6))
    zms = np.mean(z**2)
    every = np.array([slow(name, u * z[list(order)], u, u, n_bins=2) if name != "correlation" else spearman(list(z[list(order)]), list(u))
                      for order in itertools.permutations(range(6))])
    n = 20_000
    result = consistency_test(u * z, u, statistic=name, n_bins=2, n_resamples=n, rng=5)
    assert zms > 0
    np.testing.assert_allclose(result.statistic, every[0], rtol=1e-10)
    above, below = np.mean(every >= every[0] - 1e-9), np.mean(every <= every[0] + 1e-9)
    exact = min(1, 2 * min(above, below)) if name in TWO_SIDED else above
    deviation = np.sqrt(exact * (1 - min(exact, 0.999)) / n) * (2 if name in TWO_SIDED else 1) + 1 / n
    assert abs(result.pvalue - exact) < 4 * deviation
    levels = np.unique(np.round(every, 9))
    expected = np.array([np.sum(np.abs(every - level) < 1e-8) for level in levels]) / 720 * n
    nearest = np.abs(result.null_distribution[:, None] - levels).argmin(axis=1)
    assert np.abs(result.null_distribution - levels[nearest]).max() < 1e-8
    assert levels.size == 1 or stats.chisquare(np.bincount(nearest, minlength=levels.size), expected).pvalue > 1e-4


@pytest.mark.parametrize("name", _STATISTICS)
def test_pvalue_counts_what_it_says(name):
    error, uncertainty = sample(3, n=60)
    r = consistency_test(error, uncertainty, statistic=name, n_resamples=199, rng=2)
    null = r.null_distribution
    above, below = np.sum(null >= r.statistic) + 1, np.sum(null <= r.statistic) + 1
    assert r.pvalue == (min(1, 2 * min(above, below) / 200) if name in TWO_SIDED else above / 200)
    assert r.alternative == ("two-sided" if name in TWO_SIDED else "greater") and r.n_resamples == null.size == 199
    np.testing.assert_allclose((r.null_mean, *r.null_interval), (null.mean(), *np.quantile(null, [0.025, 0.975])))
    facing = r.null_interval.high - r.null_mean if r.statistic > r.null_mean else r.null_mean - r.null_interval.low
    np.testing.assert_allclose(r.zeta, (r.statistic - r.null_mean) / facing)


@pytest.mark.parametrize("n", [30, 40, 50])
def test_zeta_is_zero_where_every_shuffle_gives_the_same(n):
    error = np.ones(n)
    error[3] = 2
    result = consistency_test(error, np.ones(n), by=["a", "b"] * (n // 2), n_resamples=99, rng=1)
    assert result.pvalue == 1 and np.ptp(result.null_distribution) < 1e-15 and result.zeta == 0


def test_without_ties_the_statistics_are_those_of_the_statistics_module():
    demo = diffusion()
    scaled = demo.error / np.sqrt(statistics.zms(demo.error, demo.uncertainty))
    for name in ("zmse", "ence", "cc"):
        np.testing.assert_allclose(value(name, demo.error, demo.uncertainty), getattr(statistics, name)(scaled, demo.uncertainty), rtol=1e-12)
    rho = stats.spearmanr(np.abs(demo.error / demo.uncertainty), demo.uncertainty).statistic
    np.testing.assert_allclose(value("correlation", demo.error, demo.uncertainty), rho, rtol=1e-12)


# level

DISTRIBUTIONS = {"normal": "normal", "t6": "t6", "t3": "t3", "Laplace": "laplace", "Gumbel": stats.gumbel_r()}
CASES = [(n, distribution) for n in (50, 500, 5000) for distribution in DISTRIBUTIONS]


def pvalues(error, uncertainty, n_shuffles, rng):
    data = Sample(error, uncertainty)
    for name in _STATISTICS:
        kernel, values, fixed = _shuffle_plan(name, data, data.by_uncertainty)
        rows = kernel(values.copy(), n_shuffles, shuffle_state(rng), *fixed)
        yield monte_carlo_pvalue(rows[0], rows[1:], "two-sided" if name in TWO_SIDED else "greater")


def many_pvalues(n, distribution, n_sets, n_shuffles, seed, tied=False):
    "A row for each of n_sets sets that follow the model, a column for each statistic."
    distribution, rng, out = distributions.standard_distribution(DISTRIBUTIONS[distribution]), np.random.default_rng(seed), []
    for _ in range(n_sets):
        uncertainty = np.exp(0.5 * rng.standard_normal(n))
        if tied:
            uncertainty = np.ceil(3 * uncertainty)
        error = uncertainty * distribution.rvs(size=n, random_state=rng)
        if tied:       # the worst order of the rows that a file can have
            order = np.argsort(np.abs(error))
            error, uncertainty = error[order], uncertainty[order]
        out.append(list(pvalues(error, uncertainty, n_shuffles, rng)))
    return np.array(out)


@pytest.mark.parametrize(("n", "distribution", "tied"), [(40, "t3", False), (60, "Gumbel", True), (400, "normal", True)])
@pytest.mark.slow
def test_pvalue_is_uniform_when_uncertainties_are_consistent(n, distribution, tied):
    "Shares of p ≤ 0.05, 0.10 … 0.50 among 1,000 sets, within 3.5 standard deviations (Kuiper's range has ties near p = 1, where one error dwarfs all)."
    found = many_pvalues(n, distribution, 1000, 39, seed=n, tied=tied)
    for level in np.arange(1, 11) / 20:
        rates = np.mean(found <= level + 1e-9, axis=0)
        assert np.all(np.abs(rates - level) < 3.5 * np.sqrt(level * (1 - level) / 1000)), (level, dict(zip(_STATISTICS, rates)))


@pytest.mark.slow
@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{n}-{distribution}" for n, distribution in CASES])
def test_level_is_five_percent_for_every_distribution_and_size(case):
    n, distribution = CASES[case]
    rates = np.mean(many_pvalues(n, distribution, 2000, 39, seed=case) <= 0.05, axis=0)
    assert np.all((rates >= 0.035) & (rates <= 0.065)), dict(zip(_STATISTICS, rates))
    shown = pd.read_csv(Path(__file__).parents[1] / "nbs" / "statistics/23_consistency_level.csv", index_col=["n", "distribution"])
    np.testing.assert_allclose(rates, shown.loc[(n, distribution), list(_STATISTICS)], atol=0.001)


@pytest.mark.slow
def test_level_does_not_depend_on_the_number_of_shuffles():
    rates = np.mean(many_pvalues(100, "t3", 2000, 999, seed=77) <= 0.05, axis=0)
    assert np.all((rates >= 0.035) & (rates <= 0.065)), dict(zip(_STATISTICS, rates))


# invariances

@pytest.mark.parametrize("name", _STATISTICS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), factor=st.sampled_from([1e-12, 1e-3, 7.0, 1e6]), wrong=st.floats(0.1, 10), tied=st.booleans())
def test_units_average_size_sign_and_row_order_do_not_matter(name, seed, factor, wrong, tied):
    error, uncertainty = sample(seed, n=30, tied=tied)
    assume(np.unique(np.abs(error)).size > 4)
    rng = np.random.default_rng(seed)
    order, sign = rng.permutation(30), rng.choice([-1, 1], 30)
    options = dict(statistic=name, n_bins=3, n_resamples=99, rng=1)
    try:
        first = consistency_test(error, uncertainty, **options)
    except ValueError:
        assume(False)
    assert consistency_test(factor * error, factor * wrong * uncertainty, **options).pvalue == pytest.approx(first.pvalue, abs=0.011)
    second = consistency_test((sign * error)[order], uncertainty[order], **options)
    np.testing.assert_allclose(second.statistic, first.statistic, rtol=1e-8, atol=1e-12)
    if not tied:
        assert second.pvalue == first.pvalue


def test_order_of_rows_within_equal_uncertainties_does_not_matter():
    demo = diffusion()
    rounded, worst = np.round(demo.uncertainty, 1) + 0.05, np.argsort(np.abs(demo.error))
    for name in _STATISTICS:
        np.testing.assert_allclose(value(name, demo.error[worst], rounded[worst]), value(name, demo.error, rounded), rtol=1e-9)


def test_a_seed_fixes_the_result_whatever_n_jobs():
    error, uncertainty = sample(1, n=3000)
    for name in _STATISTICS:
        one, two = (consistency_test(error, uncertainty, statistic=name, n_resamples=1500, rng=4, n_jobs=jobs) for jobs in (1, 2))
        assert one == two and np.array_equal(one.null_distribution, two.null_distribution)
        assert not np.array_equal(one.null_distribution, consistency_test(error, uncertainty, statistic=name, n_resamples=1500, rng=5).null_distribution)


def test_nothing_is_changed_in_place():
    error, uncertainty = sample(1)
    feature = np.arange(40.0)
    before = error.copy(), uncertainty.copy(), feature.copy()
    for name in _STATISTICS:
        consistency_test(error, uncertainty, statistic=name, n_bins=4, by=feature, n_resamples=19, rng=1)
    assert all(np.array_equal(a, b) for a, b in zip(before, (error, uncertainty, feature)))


def test_many_equal_errors_and_a_wide_spread_keep_cc_exact():
    "Ties in |E|, zeros, and uncertainties over sixty decades: buckets are poor there, values must stay right."
    rng = np.random.default_rng(5)
    for uncertainty in (10.0**rng.uniform(-30, 30, 300), np.exp(rng.standard_normal(300)), 1 + 1e-5 * rng.random(300)):
        z = np.where(rng.random(300) < 0.3, 0.0, np.round(rng.standard_normal(300), 1))
        np.testing.assert_allclose(value("cc", uncertainty * z, uncertainty), slow("cc", np.array([float(f"{e:.10e}") for e in uncertainty * z]), uncertainty, uncertainty), atol=1e-10)


# where it is wrong is found, and said

def test_a_wrong_stretch_is_found_and_named():
    rng = np.random.default_rng(2)
    uncertainty = np.sort(np.exp(0.5 * rng.standard_normal(2000)))
    error = uncertainty * rng.standard_normal(2000)
    error[600:1000] *= 2
    result = consistency_test(error, uncertainty, rng=1)
    at = result.stretch
    first, last = np.searchsorted(uncertainty, [at.first, at.last])
    assert result.pvalue == 1e-4 and abs(first - 600) < 30 and abs(last - 999) < 30 and at.excess > 0.8 and abs(at.share - 0.2) < 0.03
    scaled = (error / uncertainty)**2
    parts = scaled[first:last + 1], scaled[:first], scaled[last + 1:], np.delete(scaled, slice(first, last + 1))
    inside, below, above, elsewhere = (np.sqrt(part.mean()) for part in parts)
    np.testing.assert_allclose((at.factor, at.below, at.above, at.elsewhere), (inside, below, above, elsewhere), rtol=1e-9)
    assert at.count == last - first + 1 and at.share == pytest.approx(at.count / 2000) and at.excess == pytest.approx(inside**2 / result.zms - 1)
    assert f"{inside:.2f} times as large as predicted where u is {uncertainty[first]:.3g} to {uncertainty[last]:.3g}" in result.sentence
    assert f"({100 * at.share:.0f} % of the rows), {below:.2f} times below and {above:.2f} times above this range" in result.sentence
    np.testing.assert_allclose(result.graph["cumulative"].iloc[-1], 0, atol=1e-12)
    z2 = (error / uncertainty)**2
    np.testing.assert_allclose(result.graph["cumulative"], np.cumsum(z2 / z2.mean() - 1) / 2000, atol=1e-12)


@pytest.mark.parametrize("at_start", [True, False])
def test_of_two_stretches_with_the_same_extremes_the_shorter_is_named(at_start):
    "The graph begins and ends at zero: the last bit of its sum must not choose between a climb and the fall beside it."
    for seed in range(20):
        z = np.random.default_rng(seed).choice([-1.0, 1.0], 200) * np.where(np.arange(200) < 24, 3.1, 1.1)
        u = np.linspace(1, 2, 200)
        z = z if at_start else z[::-1]
        found = consistency_test(u * z, u, n_resamples=19, rng=seed).stretch
        assert found.count == 24 and found.factor == pytest.approx(3.1)
        assert (found.below is None) == at_start and (found.above is None) != at_start


def test_sentence_speaks_of_direction_for_correlations():
    rng = np.random.default_rng(4)
    uncertainty = np.exp(0.5 * rng.standard_normal(1000))
    for power, expected in ((1.5, "larger relative to u where u is large"), (0.5, "larger relative to u where u is small")):
        for name in TWO_SIDED:
            result = consistency_test(uncertainty**power * rng.standard_normal(1000), uncertainty, statistic=name, rng=1)
            assert expected in result.sentence and result.stretch is None
    assert "No sign" in consistency_test(uncertainty * rng.standard_normal(1000), uncertainty, statistic="cc", rng=1).sentence


def test_band_of_the_graph_holds_its_share_of_shuffles():
    error, uncertainty = sample(9, n=400)
    graph = consistency_test(error, uncertainty, n_resamples=19, rng=1).graph
    z2, rng = (error / uncertainty)**2, np.random.default_rng(1)
    paths = np.cumsum([rng.permutation(z2 / z2.mean() - 1) for _ in range(4000)], axis=1) / 400
    assert graph["null_high"].nunique() == 1
    np.testing.assert_allclose(np.quantile(np.abs(paths).max(axis=1), 0.95), graph["null_high"].iloc[0], rtol=0.06)


def test_groups_are_named_the_worst_first_found():
    rng = np.random.default_rng(3)
    kind = rng.choice(["x", "y", "z"], 900)
    error = rng.standard_normal(900) * np.where(kind == "y", 0.5, 1)
    result = consistency_test(error, np.ones(900), by=kind, rng=1)
    assert result.by == "groups" and result.n_bins == 3 and result.pvalue == 1e-4
    own, others = (np.sqrt(np.mean(error[of]**2)) for of in (kind == "y", kind != "y"))
    assert f"{own:.2f} times as large as predicted in group y ({np.sum(kind == 'y')} of 900 rows) and {others:.2f} times in the others" in result.sentence
    at = result.stretch
    assert (at.first, at.last, at.below, at.above) == ("y", "y", None, None)
    np.testing.assert_allclose((at.factor, at.elsewhere), (own, others), rtol=1e-9)
    assert result.graph["excess"].is_monotonic_decreasing and set(result.graph["group"]) == {"x", "y", "z"}
    np.testing.assert_allclose(result.statistic, 0.5 * (result.graph["count"] * result.graph["excess"].abs()).sum() / 900)


@pytest.mark.parametrize("by", [["a", "b"] * 20, pd.Series(["a", "b"] * 20), pd.Categorical([1, 2] * 20), [True, False] * 20, np.array(["a", "b"] * 20),
                                pd.Series(["a", "b"] * 20, dtype="string"), pd.Series([True, False] * 20, dtype="boolean"), [b"a", b"b"] * 20])
def test_text_categories_and_truth_values_are_groups(by):
    error, uncertainty = sample(1)
    result = consistency_test(error, uncertainty, by=by, n_resamples=99, rng=1)
    assert result.by == "groups" and len(result.graph) == 2
    assert result.statistic == pytest.approx(value("kuiper", error, uncertainty, by=["a", "b"] * 20))


def test_results_show_themselves():
    import matplotlib.pyplot as plt
    error, uncertainty = sample(1, n=200)
    for name in _STATISTICS:
        result = consistency_test(error, uncertainty, statistic=name, n_resamples=99, rng=1)
        assert {"name", "statistic", "pvalue", "n_resamples", "zms"} < set(result.to_frame().columns) and len(result.to_frame()) == 1
        assert f"p = {result.pvalue:.2g}" in result._repr_html_() and result.sentence in result._repr_html_()
        ax = result.plot()
        assert ax.get_xlabel() and len(ax.figure.axes) == 2
        figure, (left, right) = plt.subplots(1, 2)
        assert result.plot(left) is left and result.plot_graph(right) is right
        plt.close("all")
    ax = consistency_test(error, uncertainty, by=[f"group {i % 20}" for i in range(200)], n_resamples=99, rng=1).plot()
    assert "14 of 20" in ax.figure.axes[1].get_ylabel()
    plt.close("all")


# the link

def test_link_is_spearmans_coefficient_and_its_null_all_pairings():
    rng = np.random.default_rng(2)
    uncertainty, error = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 8.0]), rng.standard_normal(6)
    error[2] = -error[1]
    result = link_test(error, uncertainty, n_resamples=20_000, rng=1)
    every = np.array([stats.spearmanr(np.abs(error)[list(order)], uncertainty).statistic for order in itertools.permutations(range(6))])
    np.testing.assert_allclose(result.statistic, every[0], rtol=1e-12)
    exact = np.mean(every >= every[0] - 1e-9)
    assert abs(result.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4
    assert set(np.round(result.null_distribution, 9)) == set(np.round(every, 9))
    assert result.pvalue == (np.sum(result.null_distribution >= result.statistic - 1e-9) + 1) / 20_001


def test_link_test_rejects_five_percent_without_a_link_and_only_for_positive_ones():
    rejected = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        rejected += link_test(rng.standard_t(3, 50), np.exp(rng.standard_normal(50)), n_resamples=39, rng=rng).pvalue <= 0.05
    assert abs(rejected / 600 - 0.05) < 0.031        # 3.5 standard deviations
    uncertainty = np.arange(1.0, 101)
    assert link_test(1 / uncertainty, uncertainty, n_resamples=99, rng=1).pvalue == 1
    assert link_test(uncertainty, uncertainty, n_resamples=99, rng=1).pvalue == 0.01


def test_link_shows_itself_and_refuses_what_does_not_vary():
    import matplotlib.pyplot as plt
    error, uncertainty = sample(1, n=200)
    result = link_test(error, uncertainty, n_resamples=99, rng=1)
    assert list(result.to_frame().columns) == ["statistic", "pvalue", "alternative", "method", "n", "n_resamples", "n_groups", "n_planned"] and "CC" in result._repr_html_()
    assert result.statistic == pytest.approx(statistics.cc(error, uncertainty)) and result.plot().get_xlabel().startswith("rank correlation of |E| and u")
    assert _link_of(Sample(error, uncertainty), n_resamples=99, rng=1) == result
    plt.close("all")
    for call, message, reason in ((lambda: link_test([1.0, 2, 3], [1.0, 2, 3]), "at least four", "only 3 points"),
                                  (lambda: link_test(np.ones(9), np.arange(1.0, 10)), "error must vary for a rank correlation: the 9 absolute errors are all 1", "all absolute errors are equal"),
                                  (lambda: link_test(np.arange(9.0), np.ones(9)), "uncertainty must vary for a rank correlation: the 9 uncertainties are all 1", "all uncertainties are equal")):
        with pytest.raises(NothingToTest, match=message) as refusal:
            call()
        assert refusal.value.reason.startswith(reason)
    with pytest.raises(ValueError, match="n_resamples"):
        link_test(np.arange(9.0), np.arange(1.0, 10), n_resamples=0)


# what goes down: a sample, checked and sorted once

def test_a_sample_serves_several_questions():
    error, uncertainty = sample(2, n=300)
    feature, data = np.random.default_rng(1).integers(0, 9, 300), Sample(error, uncertainty)
    for name in _STATISTICS:
        options = dict(statistic=name, n_resamples=99, rng=1)
        assert _consistency_of(data, **options) == consistency_test(error, uncertainty, **options)
        assert _consistency_of(data, data.along(feature), **options) == consistency_test(error, uncertainty, by=feature, **options)


@pytest.mark.parametrize("error, uncertainty, reason", [
    (np.ones(3), np.arange(1.0, 4), "only 3 points"), (np.zeros(9), np.arange(1.0, 10), "all errors are zero"), (np.arange(9.0), np.ones(9), "all uncertainties are equal"),
    (np.array([0.3, 0.5, -0.9, 0.7]), np.array([0.6, 1.0, 1.8, 1.4]), "all scaled errors have the same size")])
def test_what_cannot_be_tested_says_why_in_a_field(error, uncertainty, reason):
    with pytest.raises(NothingToTest) as refusal:
        _check_shuffles(Sample(error, uncertainty))
    assert refusal.value.reason.startswith(reason) and "must" in str(refusal.value)



# bad input

E, U = sample(21)
TEXT = ["a", "b"] * 20
BAD = {
    "one point": (dict(error=[1.0], uncertainty=[1.0]), "at least four points, got 1"),
    "three points": (dict(error=E[:3], uncertainty=U[:3]), "at least four points, got 3"), "constant uncertainty": (dict(uncertainty=np.ones(40)), "nothing to be consistent with"),
    "zero errors": (dict(error=np.zeros(40)), "all zero"), "constant |Z|": (dict(error=2 * U), "must vary"), "many bins": (dict(statistic="zmse", n_bins=21), "n_bins"),
    "few points": (dict(error=E[:30], uncertainty=U[:30], statistic="ence"), "n_bins must leave at least two points"),
    "constant by": (dict(by=np.ones(40)), "by must not be constant"), "date by": (dict(by=pd.date_range("2020", periods=40)), "by must hold numbers"),
    "short text": (dict(by=TEXT[1:]), "by must hold one value for each of the 40"), "missing text": (dict(by=[None, *TEXT[1:]]), "by must not hold missing values: 1 of 40"),
    "missing text in pandas": (dict(by=pd.Series([pd.NA, *TEXT[1:]], dtype="string")), "by must not hold missing"), "missing category": (dict(by=pd.Categorical([None, *TEXT[1:]])), "by must not hold missing"),
    "one group": (dict(by=["a"] * 40), "at least two groups"), "all different": (dict(by=[f"{i}" for i in range(40)]), "groups of several points"),
    "mixed": (dict(by=["a", *U[1:]]), "by must hold numbers"), "correlation of groups": (dict(by=TEXT, statistic="correlation"), "needs an order"),
    "cc of groups": (dict(by=TEXT, statistic="cc"), "needs an order"), "cc of equal errors": (dict(error=np.ones(40), statistic="cc"), "all are equal"),
    "zmse with an empty bin": (dict(error=np.where(U > np.median(U), E, 0), statistic="zmse", n_bins=4), "error must not be all zero within a bin"),
}


@every_case("kind", BAD)
def test_what_is_no_data_for_this_test_is_refused_with_the_reason(kind):
    arguments, message = BAD[kind]
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(").replace("|", r"\|")):
        consistency_test(**({"error": E, "uncertainty": U} | arguments))


def test_masked_values_are_missing():
    with pytest.raises(ValueError, match="by must not hold missing"):
        consistency_test(E, U, by=np.ma.masked_array(TEXT, mask=[True] + [False] * 39))


def test_constant_uncertainties_can_be_judged_by_a_feature():
    for name in _STATISTICS:
        assert 0 < consistency_test(E, np.ones(40), by=U, statistic=name, n_bins=4, n_resamples=99, rng=1).pvalue <= 1


def test_infinite_shuffles_count_against_the_data_only():
    "Three errors that are not zero, one of them in each bin; shuffles with an empty bin have an infinite ZMSE."
    uncertainty, error = np.arange(1.0, 13), np.array([0, 0, 0, 5.0] * 3)
    error *= np.where(np.arange(12) % 4 == 3, np.arange(12), 0)
    result = consistency_test(error, uncertainty, statistic="zmse", n_bins=3, n_resamples=999, rng=1)
    assert 0 < np.isinf(result.null_distribution).sum() < 999 and np.isfinite([result.null_mean, *result.null_interval, result.zeta]).all()
    assert result.pvalue == (np.sum(result.null_distribution >= result.statistic - 1e-9) + 1) / 1000


NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-160, 1e-120, 1e120, -1e149, 3.0]))


@pytest.mark.parametrize("name", _STATISTICS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_floats_give_a_result_without_nan_or_a_clear_error(name, data):
    n = data.draw(st.integers(0, 12))
    error = data.draw(st.lists(NUMBERS, min_size=n, max_size=n))
    uncertainty = data.draw(st.lists(st.one_of(st.floats(1e-150, 1e150), st.sampled_from([1.0, 2.0, 0.0])), min_size=n, max_size=n))
    by = data.draw(st.sampled_from([None, np.arange(n), ["a", "b", "c"] * 4]))
    by = by if by is None else by[:n]
    with np.errstate(all="raise", under="ignore"):
        try:
            result = consistency_test(error, uncertainty, statistic=name, by=by, n_bins=2, n_resamples=19, rng=1)
        except (ValueError, TypeError) as message:
            assert str(message) and "array" not in str(message).replace("1-D array", "").replace("an empty array", "")
        else:
            assert np.isfinite([result.statistic, result.pvalue, result.null_mean, *result.null_interval, result.zeta]).all()
            assert (name == "cc" or not np.isnan(result.null_distribution).any()) and not result.graph.select_dtypes("number").isna().any(axis=None) and result.sentence
