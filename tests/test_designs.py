"""Weights that go with the noise, rows that belong together, replicate weights, rare events: levels, slow twins, and one p-value for one statistic."""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from scipy.linalg import hadamard

from uqcal._chance.resampling import shuffle_state
from uqcal._subgroups import designs, steps
from uqcal.probabilities.calibration import calibration_report
from uqcal.probabilities.calibration_tests import binary_calibration_tests, kolmogorov_smirnov_test, kuiper_test, multiclass_calibration_tests, spiegelhalter_test
from uqcal._subgroups.steps import held_line, neighbours_of
from uqcal.subgroups.cumulative import calibration_graph
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal.probabilities.calibration_errors import calibration_error_interval, ece_test
from uqcal.subgroups.screening import screen
from uqcal.probabilities.walk import Walk, _band_of, _significance_of

NOBODY = np.empty(0, np.int64)

# ---- one statistic, one p-value


def rare(rng, n=1500):
    p = rng.uniform(0.5e-4, 1.5e-4, n)
    return (rng.uniform(size=n) < p).astype(float), p


@every_case("kind", ["rare", "plain", "many", "contradicted", "weighted", "clusters"])
def test_one_statistic_has_one_pvalue_wherever_it_is_asked(kind):
    rng = np.random.default_rng(3)
    y, p = rare(rng) if kind == "rare" else (None, rng.uniform(0.01, 0.99, 40_000 if kind == "many" else 300))
    if y is None: y = (rng.uniform(size=p.size) < p).astype(float)
    if kind == "contradicted": p[y == 1] = np.where(np.arange((y == 1).sum()) == 0, 0.0, p[y == 1])
    weight, cluster = (rng.exponential(size=p.size) if kind == "weighted" else None), (np.arange(p.size) // 3 if kind == "clusters" else None)
    options = dict(sample_weight=weight, n_resamples=499, rng=8)
    shared = options if cluster is None else options | {"groups": cluster}
    graph, tests = calibration_graph(y, p, **shared), binary_calibration_tests(y, p, **shared)
    for name, alone in (("kuiper", kuiper_test), ("kolmogorov_smirnov", kolmogorov_smirnov_test)):
        found = alone(y, p, **shared)
        walk = _significance_of(Walk.of(y, p, weight, cluster), [name], n_resamples=499, rng=8)[name]
        assert getattr(graph, f"{name}_pvalue") == found.pvalue == getattr(tests, name).pvalue == walk.pvalue
        assert graph.method == found.method == walk.method
    if cluster is None:
        report = calibration_report(y, p, n_boot=25, **options)
        for test in (tests.kolmogorov_smirnov, tests.kuiper, tests.spiegelhalter): assert abs(dict(zip(report.tests.names, report.tests.statistics))[test.name] - abs(test.statistic)) < 1e-9


def test_rare_events_keep_the_level_in_graph_test_and_band_alike():
    "n = 1,500, p about 1e-4: 14 % of the sets hold an event. Of 300 sets 5 % are rejected at most, up to three standard errors; the limit rejects 15 %."
    rng, rejected, outside, limit = np.random.default_rng(1), np.zeros(2), 0, 0
    for _ in range(300):
        y, p = rare(rng)
        graph = calibration_graph(y, p, n_resamples=399, rng=rng)
        rejected += np.array([graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue]) <= 0.05
        limit += calibration_graph(y, p, method="asymptotic").kuiper_pvalue <= 0.05
        if y.any():
            walk = Walk.of(y, p)
            outside += np.abs(walk.total).max() / walk.weight.sum() > _band_of(walk) * (1 + 1e-9)
    assert graph.method == "exact"
    assert (rejected / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)).all() and outside / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert limit / 300 > 0.1


@every_case("seed", range(12))
def test_a_walk_leaves_the_band_exactly_where_its_pvalue_is_small(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.2, 80).round(2 if seed % 2 else 15)
    y = rng.uniform(size=80) < p * (1 + 0.15 * seed)
    tests = binary_calibration_tests(y, p, groups=np.arange(80) // 2 if seed % 3 == 0 else None, n_resamples=199, rng=seed)
    for confidence in (0.95, 0.5, 0.8):
        band = _band_of(tests.walk, tests.kolmogorov_smirnov, confidence=confidence)
        left = np.abs(tests.walk.total).max() / tests.walk.weight.sum() > band * (1 + 1e-9)
        assert left == (tests.kolmogorov_smirnov.pvalue <= 1 - confidence + 1e-12)
    top = tests.plot().patches[0].get_bbox().y1
    assert top == pytest.approx(_band_of(tests.walk, tests.kolmogorov_smirnov))
    plt.close("all")


@pytest.mark.parametrize("n", [3000, 100_000])
def test_a_walk_of_weights_leaves_its_band_where_its_pvalue_is_small(n):
    "Mutations: the band of drawn outcomes, or of the limit, where signs of the rows decide (n: drawn, and in the limit)."
    told = []
    for seed in range(30 if n < 5000 else 8):
        rng = np.random.default_rng([41, seed])
        p = rng.beta(2, 6, n)
        y = (rng.random(n) < p) * 1
        kept = rng.random(n) < np.where(y == 1, 0.2, 1)
        walk = Walk.of(y[kept], p[kept], np.where(y == 1, 5.0, 1.0)[kept])
        test = _significance_of(walk, ["kolmogorov_smirnov"], n_resamples=199, rng=1)["kolmogorov_smirnov"]
        at = np.abs(walk.total).max() / walk.total_weight
        assert (at > _band_of(walk, test)) == (test.pvalue <= 0.05)
        told.append((test.method, test.null_distribution is None))
        if n > 5000: assert _band_of(walk) == pytest.approx(_band_of(walk, test))
    assert set(told) == {("signs", n > 5000)}


def test_band_of_few_draws_certainties_and_contradictions():
    walk = Walk.of([1, 0, 1], [0.5, 0.2, 0.7])
    few = _significance_of(walk, ["kolmogorov_smirnov"], n_resamples=9, rng=1)["kolmogorov_smirnov"]
    assert _band_of(walk, few) == np.inf and _band_of(Walk.of([1, 0], [1.0, 0.0])) == 0
    contradicted = Walk.of([1, 0, 1, 0], [0.0, 0.2, 0.7, 0.4])
    assert 0 < _band_of(contradicted) < 1
    binary_calibration_tests([1, 0, 1], [0.5, 0.2, 0.7], n_resamples=9, rng=1).plot()
    plt.close("all")
    with pytest.raises(ValueError, match="confidence must lie strictly"): _band_of(walk, confidence=1.0)


# ---- clusters of outcomes


def test_clusters_of_one_change_nothing():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=60).round(1)
    y = rng.uniform(size=60) < p
    label = [f"patient {k}" for k in rng.permutation(60)]
    assert kuiper_test(y, p, groups=label, rng=1) == kuiper_test(y, p, rng=1)
    s, m = rng.uniform(size=60), np.arange(60) % 3 == 0
    assert subpopulation_graph(p, s, m, groups=label, n_resamples=99, rng=1) == subpopulation_graph(p, s, m, n_resamples=99, rng=1)
    a, b = (p[:30], s[:30]), (p[30:], s[30:])
    assert comparison_graph(*a, *b, groups_a=label[:30], groups_b=label[30:], n_resamples=99, rng=1) == comparison_graph(*a, *b, n_resamples=99, rng=1)


@pytest.mark.parametrize(("how", "shape"), [("independent", (1, 1)), ("whole", (1, 60)), pytest.param("independent", (1, 60), marks=pytest.mark.slow), pytest.param("whole", (1, 1), marks=pytest.mark.slow)])
def test_clusters_keep_the_level(shape, how):
    "150 clusters of four, 400 sets: at most 5 % and three standard errors; near 5 % where signs serve or clusters go all one way. Without clusters, whole ones give 20 % and more."
    rng, clustered, plain, ways = np.random.default_rng(6), 0, 0, set()
    for _ in range(400):
        label = np.repeat(np.arange(150), 4)
        p = np.clip(rng.beta(*shape, 150)[label] * np.exp(0.2 * rng.normal(size=600)), 1e-6, 0.999)
        u = rng.uniform(size=150)[label] if how == "whole" else rng.uniform(size=600)
        y, order = u < p, rng.permutation(600)
        found = kuiper_test(y[order], p[order], groups=label[order], n_resamples=199, rng=rng)
        ways.add(found.method)
        clustered += found.pvalue <= 0.05
        plain += kuiper_test(y, p, n_resamples=199, rng=rng).pvalue <= 0.05
    assert clustered / 400 <= 0.083
    if shape == (1, 1) or how == "whole": assert clustered / 400 >= 0.017
    if how == "whole": assert plain / 400 > 0.2
    assert ways == ({"cluster signs"} if shape == (1, 1) else {"whole clusters"})


def test_no_event_in_clusters_of_rare_events_is_no_fault():
    "Signs would reject: all deviations point down."
    found = kuiper_test(np.zeros(500), np.full(500, 0.004), groups=np.arange(500) // 5, n_resamples=499, rng=1)
    assert found.method == "whole clusters" and found.pvalue > 0.3


def test_clusters_ask_for_auto_and_enough_labels():
    p, label = np.full(40, 0.3) + np.arange(40) / 100, np.arange(40) // 2
    with pytest.raises(ValueError, match="method must be 'auto' where there are clusters"): kuiper_test(np.arange(40) % 2, p, groups=label, method="exact")
    with pytest.raises(ValueError, match="must be 'auto' with clusters"): calibration_graph(p, p, groups=label, method="asymptotic")
    with pytest.raises(ValueError, match="groups must hold at least 6"): calibration_graph(p, p[::-1], groups=np.arange(40) // 10)
    with pytest.raises(ValueError, match="must hold at least 6 different labels"):
        comparison_graph(p, p, p, p + 0.001, groups_a=label // 5, groups_b=label // 5)
    with pytest.raises(ValueError, match="must be given together"): comparison_graph(p, p, p, p + 0.001, groups_a=label)
    with pytest.raises(ValueError, match="method must stay"): subpopulation_graph(p, p, np.arange(40) % 2, groups=label, method="permutation")


def test_rows_of_a_cluster_may_come_in_any_order():
    rng = np.random.default_rng(7)
    y, s, w, label, side = rng.normal(size=120), rng.uniform(size=120).round(1), rng.exponential(size=120) + 0.1, rng.integers(0, 30, 120), rng.uniform(size=120) < 0.5
    def graph(order):
        a, b = order[side[order]], order[~side[order]]
        return comparison_graph(y[a], s[a], y[b], s[b], sample_weight_a=w[a], sample_weight_b=w[b], groups_a=label[a], groups_b=label[b], n_resamples=99, rng=2)
    one, other = graph(np.arange(120)), graph(rng.permutation(120))
    np.testing.assert_allclose([one.null_scale, one.kuiper, one.kuiper_pvalue], [other.null_scale, other.kuiper, other.kuiper_pvalue], rtol=0.2)
    np.testing.assert_allclose(one.null_scale, other.null_scale, rtol=1e-9)


def test_multiclass_tests_know_clusters():
    rng = np.random.default_rng(9)
    prob = rng.dirichlet(np.ones(3), 200).repeat(3, axis=0)
    label = (prob.cumsum(axis=1) < rng.uniform(size=200).repeat(3)[:, None]).sum(axis=1)
    table = multiclass_calibration_tests(label, prob, groups=np.arange(600) // 3, n_resamples=199, rng=1).to_frame()
    assert set(table["method"]) == {"cluster signs"} and (table["pvalue"] > 0.02).any()


# ---- neighbours, slow twin


def slow_neighbours(score, values, label):
    "A line through the nearest distinct scores on both sides that hold ten members or more, the own cluster left out."
    held = sorted(set(score))
    out = []
    def members(value, i): return [j for j in range(len(score)) if score[j] == value and j != i and (label is None or label[j] != label[i])]
    for i, here in enumerate(score):
        k = held.index(here)
        low, high, sides = k - 1, k + 1, [0, 0]
        near = members(here, i)
        while len(near) < 10 and (low >= 0 or high < len(held)):
            down = high == len(held) or (low >= 0 and sides[0] <= sides[1])
            more = members(held[low if down else high], i)
            sides[0 if down else 1] += len(more)
            near += more
            low, high = (low - 1, high) if down else (low, high + 1)
        x, y = np.array([score[j] - here for j in near]), np.array([values[j] for j in near])
        design = np.column_stack([np.ones(len(near)), x])
        level = np.linalg.pinv(design)[0]
        if np.ptp(x) == 0 or np.sum(level**2) > 1: level = np.full(len(near), 1 / len(near))
        out.append((level @ y, np.sum(level**2), y.mean()))
    return np.array(out).T


@pytest.mark.parametrize("ties", [15, 1])
@pytest.mark.parametrize("clustered", [False, True])
def test_neighbours_equal_their_slow_twin(ties, clustered):
    rng = np.random.default_rng(ties)
    score = np.sort(rng.uniform(-1, 1, 70).round(ties))
    values, label = rng.normal(size=70), rng.integers(0, 20, 70)
    near = neighbours_of(score, label if clustered else NOBODY)
    line, mean = held_line(near, values)
    expected = slow_neighbours(score.tolist(), values, label if clustered else None)
    np.testing.assert_allclose([line, near[5][:, 2], mean], expected, rtol=1e-9, atol=1e-12)


def test_a_straight_response_without_noise_has_none():
    rng = np.random.default_rng(1)
    s = rng.uniform(size=(2, 90))
    graph = comparison_graph(3 * s[0] + 1, s[0], 3 * s[1] + 1, s[1], sample_weight_a=rng.exponential(size=90) + 0.1, sample_weight_b=rng.exponential(size=90) + 0.1, method="asymptotic")
    assert graph.null_scale < 1e-6


# ---- weights


def weighted(rng, n, power, spread=1.5):
    s, w = rng.uniform(size=(2, n)), np.exp(spread * rng.normal(size=(2, n)))
    y = s + rng.normal(size=(2, n)) * w**power
    return (y[0], s[0], y[1], s[1]), dict(sample_weight_a=w[0], sample_weight_b=w[1])


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.5, -0.5])
def test_weights_that_go_with_the_noise_keep_the_level(power):
    "150 against 150, 300 sets, weights from 1/20 to 20: signs reject 5 % up to three standard errors, where permutations reject 13 % or nothing."
    rng, rejected = np.random.default_rng(4), np.zeros(2)
    for _ in range(300):
        data, weights = weighted(rng, 150, power)
        graph = comparison_graph(*data, **weights, n_resamples=199, rng=rng)
        rejected += np.array([graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue]) <= 0.05
    assert graph.method == "signs" and (np.abs(rejected / 300 - 0.05) <= 0.038).all()


@pytest.mark.parametrize("power", [0.5, pytest.param(-0.5, marks=pytest.mark.slow)])
def test_null_scale_of_weights_that_go_with_the_noise(power):
    "Of 300 sets: the scatter of the last ordinate is the null scale within four standard errors; (11) would miss it by half."
    rng, rows = np.random.default_rng(5), []
    for _ in range(300):
        data, weights = weighted(rng, 1500, power, 1.0)
        graph = comparison_graph(*data, **weights, method="asymptotic")
        rows.append((graph.average_difference, graph.null_scale))
    last, scale = np.array(rows).T
    assert abs(np.mean(last**2) / np.mean(scale**2) - 1) < 4 * np.sqrt(2 / 300)


@pytest.mark.slow
def test_ten_against_a_thousand_on_a_steep_response():
    "600 sets: the wide cells of before reject 13 %, the close ones 5 % up to three standard errors."
    rng, rejected = np.random.default_rng(6), np.zeros(2)
    for _ in range(600):
        a, b = rng.beta(5, 1, 10), rng.uniform(size=1000)
        y, z = ((rng.uniform(size=s.size) < 1 / (1 + np.exp(-10 * (s - 0.5)))).astype(float) for s in (a, b))
        graph = comparison_graph(y, a, z, b, n_resamples=199, rng=rng, method="permutation")
        rejected += np.array([graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue]) <= 0.05
    assert (rejected / 600 <= 0.077).all()


@pytest.mark.parametrize("kind", ["comparison", "subpopulation"])
def test_equal_weights_are_none(kind):
    rng = np.random.default_rng(7)
    s, y = rng.uniform(size=80), rng.normal(size=80)
    if kind == "comparison":
        one, other = (comparison_graph(y[:30], s[:30], y[30:], s[30:], n_resamples=99, rng=1, **weights)
                      for weights in ({}, dict(sample_weight_a=np.full(30, 7e-8), sample_weight_b=np.full(50, 7e-8))))
    else:
        one, other = (subpopulation_graph(y, s, np.arange(80) % 3 == 0, n_resamples=99, rng=1, sample_weight=weights) for weights in (None, np.full(80, 3.0)))
    assert (one.kuiper_pvalue, one.method) == (other.kuiper_pvalue, other.method) and one.method == "permutation"
    np.testing.assert_allclose(one.ordinate, other.ordinate, atol=1e-13)


# ---- clusters and replicate weights of two groups


def households(rng, n=60, size=5, paired=False):
    "Rows of households whose members share an effect; the households, or their members, in two groups."
    label = np.repeat(np.arange(n), size)
    s, w = rng.uniform(size=label.size), np.exp(0.5 * rng.normal(size=n))[label]
    y = s + rng.normal(size=n)[label] + 0.5 * rng.normal(size=label.size)
    side = rng.uniform(size=label.size) < 0.5 if paired else (rng.uniform(size=n) < 0.5)[label]
    return y, s, w, label, side


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
def test_clusters_of_two_groups_keep_the_level(paired):
    "200 sets of 60 households of five; without clusters 25 % are rejected where whole households are in one group. Four standard errors."
    rng, found, plain = np.random.default_rng(8), 0, 0
    for k in range(200):
        y, s, w, label, side = households(rng, paired=paired)
        columns = y[side], s[side], y[~side], s[~side]
        weights = dict(sample_weight_a=w[side], sample_weight_b=w[~side])
        found += comparison_graph(*columns, **weights, groups_a=label[side], groups_b=label[~side], n_resamples=199, rng=rng).kuiper_pvalue <= 0.05
        if k < 60: plain += comparison_graph(*columns, **weights, n_resamples=199, rng=rng).kuiper_pvalue <= 0.05
    assert abs(found / 200 - 0.05) <= 0.062 and (paired or plain / 60 > 0.1)


@pytest.mark.slow
def test_clusters_of_a_subpopulation_keep_the_level():
    rng, found, plain = np.random.default_rng(9), 0, 0
    for k in range(200):
        y, s, w, label, side = households(rng)
        found += subpopulation_graph(y, s, side, sample_weight=w, groups=label, n_resamples=199, rng=rng).kuiper_pvalue <= 0.05
        if k < 60: plain += subpopulation_graph(y, s, side, sample_weight=w, n_resamples=199, rng=rng).kuiper_pvalue <= 0.05
    assert abs(found / 200 - 0.05) <= 0.062 and plain / 60 > 0.1


def replicated(rng, label, w):
    "Replicate weights of successive differences, 64 columns, for clusters in random order."
    signs, place = hadamard(64), (rng.permutation(label.max() + 1)[label] % 60) + 1
    return w[:, None] * (1 + 2**-1.5 * signs[place] - 2**-1.5 * signs[place + 1])


def test_replicate_weights_give_the_null_scale_of_clusters():
    "Over 100 surveys the mean square of the null scale agrees with that from the clusters to 15 %; to recompute the graph with each column would see half."
    rng, rows = np.random.default_rng(10), []
    for _ in range(100):
        y, s, w, label, side = households(rng)
        table = replicated(rng, label, w)
        columns, weights = (y[side], s[side], y[~side], s[~side]), dict(sample_weight_a=w[side], sample_weight_b=w[~side])
        by_replicates = comparison_graph(*columns, **weights, replicate_weights=(table[side], table[~side]), n_resamples=19, rng=1)
        by_clusters = comparison_graph(*columns, **weights, groups_a=label[side], groups_b=label[~side], n_resamples=19, rng=1)
        whole = subpopulation_graph(y, s, side, sample_weight=w, replicate_weights=table, n_resamples=19, rng=1)
        other = subpopulation_graph(y, s, side, sample_weight=w, groups=label, n_resamples=19, rng=1)
        rows.append((by_replicates.null_scale, by_clusters.null_scale, whole.null_scale, other.null_scale))
    first, second, third, fourth = np.mean(np.square(rows), axis=0)
    assert abs(first / second - 1) < 0.15 and abs(third / fourth - 1) < 0.15
    assert by_replicates.method == whole.method == "replicates"
    np.testing.assert_allclose(np.sqrt(by_replicates.covariance[:, 0].sum() + 2 * by_replicates.covariance[:, 1:].sum()), by_replicates.null_scale, rtol=1e-9)


def test_replicate_weights_equal_their_slow_twin():
    "Equation (16) through graphs of other responses; zero and negative replicate weights included."
    rng = np.random.default_rng(11)
    s, y, w, table = np.sort(rng.uniform(size=40)), rng.normal(size=40), rng.exponential(size=40) + 0.2, rng.normal(1, 1, size=(40, 6)) * 2
    side = np.arange(40) % 3 == 0
    graph = comparison_graph(y[side], s[side], y[~side], s[~side], sample_weight_a=w[side], sample_weight_b=w[~side], replicate_weights=(table[side], table[~side]),
                             replicate_factor=0.3, n_resamples=19, rng=1)
    ends = []
    for column in table.T:
        parts = []
        for rows in (side, ~side):
            line, factor, _ = slow_neighbours(s[rows].tolist(), y[rows], None)
            parts.append((column[rows] / w[rows] - 1) * (y[rows] - line) / np.sqrt(1 + factor))
        ends.append(comparison_graph(parts[0], s[side], parts[1], s[~side], sample_weight_a=w[side], sample_weight_b=w[~side], method="asymptotic").average_difference)
    np.testing.assert_allclose(graph.null_scale, np.sqrt(0.3 * np.sum(np.square(ends))), rtol=1e-9)


def replicates_of(kind, label, w, rng, n_replicates=64):
    "Replicate weights as other agencies make them, and the factor that belongs to them."
    n, cluster = label.max() + 1, rng.permutation(label.max() + 1)[label]
    if kind == "jackknife":
        left = (cluster[:, None] % n_replicates) == np.arange(n_replicates)
        return w[:, None] * np.where(left, 0, n_replicates / (n_replicates - 1)), (n_replicates - 1) / n_replicates
    if kind == "bootstrap": return w[:, None] * rng.multinomial(n, np.full(n, 1 / n), n_replicates).T[cluster], 1 / n_replicates
    half = hadamard(n_replicates)[cluster % (n_replicates - 1) + 1]
    k = float(kind.removeprefix("Fay ")) if kind.startswith("Fay") else 0.0
    return w[:, None] * (1 + half * (1 - k)), 1 / (n_replicates * (1 - k)**2)


@every_case("kind", ["jackknife", "bootstrap", "half-samples", "Fay 0.5", "Fay 0.25", "Fay 0.3", "Fay 0.8"])
def test_the_factor_of_replicate_weights_is_told_by_the_columns(kind):
    """As stated by hand; with 4/R a jackknife of 64 would make limits four times too narrow. Weights that are rounded and raked a little are told too.
    Catches Fay's method at 0.25 taken for half-samples, 1.8 times too small a variance, and at 0.3 for that at 0.5."""
    rng = np.random.default_rng(12)
    y, s, w, label, side = households(rng)
    table, factor = replicates_of(kind, label, 100 * w, rng)
    for columns in (table, np.round(table * rng.uniform(0.98, 1.02, (1, 64)), 1)):
        given = dict(sample_weight_a=100 * w[side], sample_weight_b=100 * w[~side], replicate_weights=(columns[side], columns[~side]), n_resamples=19, rng=1)
        found, stated = (comparison_graph(y[side], s[side], y[~side], s[~side], **given, **more) for more in ({}, dict(replicate_factor=factor)))
        assert found.null_scale == pytest.approx(stated.null_scale, rel=1e-12)
        by_clusters = comparison_graph(y[side], s[side], y[~side], s[~side], **{k: v for k, v in given.items() if k != "replicate_weights"},
                                       groups_a=label[side], groups_b=label[~side])
        assert 0.6 < found.null_scale / by_clusters.null_scale < 1.6


def test_replicate_weights_of_no_known_factor_ask_for_it():
    "Two thirds of a bootstrap's changes, and a jackknife within strata of two groups, whose factor is a half. Catches any match within a factor of two."
    rng = np.random.default_rng(13)
    y, s, w, label, side = households(rng)
    group = label % 64
    for table, sums in ((w[:, None] + 2 / 3 * (replicates_of("bootstrap", label, w, rng)[0] - w[:, None]), r"2\d\.\d"),
                        (w[:, None] * (1 + (group[:, None] == np.arange(64)) - 1.0 * ((group ^ 1)[:, None] == np.arange(64))), "2 for a usual")):
        columns, given = (y[side], s[side], y[~side], s[~side]), dict(sample_weight_a=w[side], sample_weight_b=w[~side], replicate_weights=(table[side], table[~side]), n_resamples=19, rng=1)
        with pytest.raises(ValueError, match=rf"replicate_factor must be given.*R = 64.*add up to {sums}"): comparison_graph(*columns, **given)
        assert comparison_graph(*columns, **given, replicate_factor=0.5).null_scale > 0


def test_replicates_are_worth_no_more_degrees_of_freedom_than_their_clusters(monkeypatch):
    "Five for six clusters, all or bootstrapped 400 times, and twelve for twelve strata. Catches R degrees, in intervals and in p-values."
    rng, label = np.random.default_rng(14), np.repeat(np.arange(24), 10)
    def freedom(changes): return designs._freedom(np.ones(len(changes)), designs.Design(np.empty(0, np.int64), 0, changes, 1.0))
    assert freedom((np.where(np.eye(6), -1, 0.2))[label % 6]) == pytest.approx(5, rel=1e-9)
    boot = rng.multinomial(5, np.full(6, 1 / 6), 400).T * 1.2 - 1
    assert 4.5 < freedom(boot[label % 6]) <= 5
    half = hadamard(16)[1:13]
    assert freedom(np.r_[half, -half][label]) == pytest.approx(12, rel=1e-9)
    assert freedom(rng.normal(size=(5000, 10))) == pytest.approx(10, rel=0.05)
    y, s, side = rng.normal(size=240) + 0.7 * (label % 2), rng.random(240), label % 2 == 0
    table = boot[label % 6] + 1
    def graph(): return comparison_graph(y[side], s[side], y[~side], s[~side], replicate_weights=(table[side], table[~side]), n_resamples=1999, rng=1)
    few = graph()
    monkeypatch.setattr(designs, "_freedom", lambda share, design: 400.0)
    many = graph()
    assert few.kuiper_pvalue > 2 * many.kuiper_pvalue and np.ptp(few.slope().confidence_interval) > 1.2 * np.ptp(many.slope().confidence_interval)


@every_case("wrong, kind, message", [
    (dict(replicate_weights=(np.ones((30, 4)), np.ones((29, 4)))), ValueError, r"shape \(30, replicates\)"),
    (dict(replicate_weights=(np.ones((30, 4)), np.ones((30, 5)))), ValueError, "as many columns"),
    (dict(replicate_weights=np.ones((30, 4))), TypeError, "must hold two arrays"),
    (dict(replicate_weights=(np.full((30, 4), np.nan), np.ones((30, 4)))), ValueError, "replicate_weights"),
    (dict(replicate_weights=(np.ones((30, 4)), np.ones((30, 4))), replicate_factor=0.0), ValueError, "replicate_factor"),
    (dict(replicate_factor=0.1), ValueError, "needs replicate_weights"),
    (dict(replicate_weights=(np.ones((30, 4)), np.ones((30, 4))), method="asymptotic"), ValueError, "must stay"),
    (dict(replicate_weights=(np.ones((30, 4)), np.ones((30, 4))), groups_a=np.arange(30), groups_b=np.arange(30)), ValueError, "without clusters")])
def test_what_is_no_replicate_weight_is_refused(wrong, kind, message):
    s, y = np.arange(30.0), np.arange(30) % 3
    with pytest.raises(kind, match=message): comparison_graph(y, s, y, s + 0.5, **wrong)


def test_labels_of_rows_in_another_order_are_refused():
    frame = pd.DataFrame({"y": np.arange(12.0) % 2, "p": np.arange(12) / 20 + 0.1, "c": np.arange(12) // 2})
    with pytest.raises(ValueError, match="groups"): kuiper_test(frame["y"], frame["p"], groups=frame["c"][::-1])
    assert spiegelhalter_test(frame["y"], frame["p"], groups=frame["c"], n_resamples=99, rng=1).n == 12


# ---- clusters in reports and screens


def visits(rng, n=150, size=4):
    "Patients whose visits have like probabilities and one fate."
    patient = np.repeat(np.arange(n), size)
    p = (rng.uniform(0.1, 0.9, n)[patient] + 0.05 * rng.normal(size=n * size)).clip(0.01, 0.99)
    return (rng.uniform(size=n)[patient] < p).astype(float), p, patient


@pytest.mark.slow
def test_reports_know_clusters():
    "Right probabilities of 100 sets of patients with four visits: a fifth or more is called wrong without clusters; with them at most 5 % and three standard errors, and every limit holds."
    rng, called, within = np.random.default_rng(21), np.zeros(2), []
    for k in range(100):
        y, p, patient = visits(rng)
        told = calibration_report(y, p, groups=patient, n_resamples=199, n_boot=199, rng=rng)
        called[1] += told.verdict == "invalid"
        if k < 40:
            rows = np.random.default_rng(k).permutation(y.size)  # in the file's order visits that follow each other would be found
            called[0] += calibration_report(y[rows], p[rows], n_resamples=199, n_boot=19, rng=rng).verdict == "invalid"
        within.append([told.error.ece_interval.low == 0, told.null.pvalue > 0.05, told.largest.limit >= abs(told.largest.difference)])
    assert called[0] >= 6 and called[1] <= 11 and np.mean(within, axis=0).min() > 0.88
    assert told.null.method == told.tests.method == "cluster signs" and "150 clusters" in told.to_html()


def test_limits_count_a_cluster_once():
    "Every row four times over is one row: limits, intervals and the diagram are those of the rows, and the errors themselves do not change."
    rng = np.random.default_rng(22)
    p = rng.uniform(size=200)
    y = (rng.uniform(size=200) < p).astype(float)
    one, four = calibration_report(y, p, rng=1), calibration_report(np.tile(y, 4), np.tile(p, 4), groups=np.tile(np.arange(200), 4), rng=1)
    np.testing.assert_allclose([four.largest.difference, four.error.ece, four.brier.brier], [one.largest.difference, one.error.ece, one.brier.brier], rtol=1e-9)
    np.testing.assert_allclose(four.diagram.bins[["low", "high"]], one.diagram.bins[["low", "high"]], rtol=1e-9)
    np.testing.assert_allclose([four.largest.limit, four.error.ece_limit, four.error.ece_interval.high], [one.largest.limit, one.error.ece_limit, one.error.ece_interval.high], rtol=0.02)
    np.testing.assert_allclose(four.error.squared, one.error.squared, atol=1e-12)
    assert four.largest.n_clusters == 200 and one.largest.n_clusters is None


@pytest.mark.slow
def test_the_squared_error_is_free_of_bias_with_clusters():
    "Mean zero for perfect probabilities over 200 sets (three standard errors); as if rows were independent it is not."
    rng, squares = np.random.default_rng(23), []
    for _ in range(200):
        y, p, patient = visits(rng)
        squares.append([calibration_error_interval(y, p, n_bins=5, groups=known, n_boot=9, rng=rng).squared for known in (patient, None)])
    mean, error = np.mean(squares, axis=0), np.std(squares, axis=0) / np.sqrt(200)
    assert abs(mean[0]) < 3 * error[0] and mean[1] > 6 * error[1]


def test_clusters_of_one_leave_a_report_and_a_screen_as_they_are():
    y, p, _ = visits(np.random.default_rng(24), 20)
    plain, alone = calibration_report(y, p, n_resamples=99, n_boot=99, rng=1), calibration_report(y, p, groups=[f"row {k}" for k in range(80)], n_resamples=99, n_boot=99, rng=1)
    assert plain.conclusion == alone.conclusion and plain.to_frame("statistics").equals(alone.to_frame("statistics"))
    frame = pd.DataFrame({"y": y, "s": p, "g": np.arange(80) % 3, "c": np.arange(80)})
    first, second = (screen(frame, y_true="y", score="s", by="g", groups=c, n_resamples=99, rng=1).table for c in (None, "c"))
    pd.testing.assert_frame_equal(first, second)


def homes(rng, n_groups, per, size, weighted=False):
    "Households in one group each, whose members share an effect."
    n = n_groups * per
    home = np.arange(n) // size
    frame = pd.DataFrame({"s": rng.uniform(size=n), "g": home % n_groups, "c": home})
    return frame.assign(y=frame["s"] + 0.8 * rng.normal(size=home.max() + 1)[home] + 0.6 * rng.normal(size=n),
                        **({"w": np.exp(0.5 * rng.normal(size=n))} if weighted else {}))


@pytest.mark.parametrize("against, weighted", [("pairs", False), ("pairs", True), ("all", False)])
def test_rows_of_a_clustered_screen_are_their_graphs(against, weighted):
    frame = homes(np.random.default_rng(25), 3, 60, 5, weighted)
    found = screen(frame, y_true="y", score="s", by="g", groups="c", sample_weight="w" if weighted else None, reference=against, n_resamples=199, rng=1)
    for k in range(len(found.table)):
        graph, row = found.graph(k, n_resamples=19, rng=1), found.table.iloc[k]
        names = ["kuiper", "kolmogorov_smirnov", "average_difference", "null_scale"]
        np.testing.assert_allclose(row[names].astype(float), [getattr(graph, name) for name in names], rtol=1e-9)
        assert graph.method == "cluster signs" and row["method"] in ("cluster signs", "tail", "asymptotic")


@pytest.mark.slow
def test_screens_keep_the_level_with_clusters():
    "200 pairs of groups of 100 in households of five: 5.3 % in 1,500; without clusters, in a shuffled file, most are rejected. Three standard errors."
    rng, told, blind = np.random.default_rng(26), 0, 0
    for k in range(200):
        frame, options = homes(rng, 2, 100, 5), dict(y_true="y", score="s", by="g", n_resamples=99, rng=rng)
        told += screen(frame, groups="c", **options).table["kuiper_pvalue"][0] <= 0.05
        if k < 40: blind += screen(frame.sample(frac=1, random_state=k), **options).table["kuiper_pvalue"][0] <= 0.05
    assert 0.003 <= told / 200 <= 0.1 and blind > 8


def test_no_tail_goes_below_what_signs_can_say():
    "Eight clusters have 128 patterns of signs: the largest difference there is has no p-value below 1/128."
    rng = np.random.default_rng(27)
    frame = homes(rng, 2, 40, 10).assign(y=lambda one: 50.0 * one["g"] + 0.1 * rng.normal(size=80))
    row = screen(frame, y_true="y", score="s", by="g", groups="c", rng=1).table.iloc[0]
    assert 1 / 128 <= row["kuiper_pvalue"] < 0.05


def test_what_a_screen_cannot_do_with_clusters_is_said():
    frame = homes(np.random.default_rng(28), 3, 30, 10).assign(extra=1)
    options = dict(y_true="y", score="s", by="g")
    with pytest.raises(ValueError, match="groups must hold at least 6"): screen(frame, groups="extra", **options)
    with pytest.raises(ValueError, match="method must stay 'auto' with clusters"): screen(frame, groups="c", method="asymptotic", **options)
    with pytest.raises(ValueError, match="unknown|groups"): screen(frame, groups="nobody", **options)
    frame.loc[frame["g"] == 2, "c"] = 99
    found = screen(frame, groups="c", n_resamples=99, rng=1, **options)
    assert found.skipped == ((0, 2), (1, 2)) and "not_compared" in [caution.code for caution in found.cautions]


def test_the_perfect_model_of_clusters_is_named():
    "Mutation: what perfect models with clusters that move as one show, said of all perfect models (0.08, where these show 0.03)."
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(20), 100)
    p = rng.beta(2, 2, cluster.size)
    y = (rng.random(cluster.size) < p) * 1
    assert "a calibrated model whose clusters move as one gives" in ece_test(y, p, groups=cluster, n_resamples=199, rng=1).sentence
    assert "a calibrated model gives" in ece_test(y, p, n_resamples=199, rng=1).sentence
    # reports draw signs of many clusters, which say how far the outcomes move as one; few move as one, which says at most how much
    for known, drawn, says in ((cluster // 2, "whole clusters", "at most about 0."), (cluster, "cluster signs", "about 0."), (None, "exact", "about 0.")):
        report = calibration_report(y, p, groups=known, n_resamples=199, n_boot=19, rng=1)
        assert report.null.method == report.tests.method == drawn
        assert report.error.ece_interval.low == 0 and f"a calibrated model gives {says}" in report["ECE"].line


@pytest.mark.parametrize("n_clusters, first, is_binary", [(20, 6, True), (40, 8, False)])
def test_slopes_of_few_clusters_hold(n_clusters, first, is_binary):
    "Patients of 1 to 20 visits that share half of their noise: intervals miss zero in 6 % of 500 sets, and missed in 6 to 10 %. 120 sets, four standard errors."
    from scipy.special import ndtr
    rng, missed = np.random.default_rng(133), 0
    for k in range(120):
        label = np.repeat(np.arange(n_clusters), rng.geometric(1 / 6, n_clusters).clip(max=20))
        p, noise = rng.beta(2, 2, label.size), 0.5**0.5 * (rng.standard_normal(n_clusters)[label] + rng.standard_normal(label.size))
        y, side = (ndtr(noise) < p) * 1.0 if is_binary else p + noise, label < first
        graph = comparison_graph(y[side], p[side], y[~side], p[~side], groups_a=label[side], groups_b=label[~side], n_resamples=19, rng=k)
        missed += not graph.slope().confidence_interval.holds(0)
    assert missed <= 0.055 * 120 + 10


def test_the_quantile_of_clusters_is_that_of_student():
    "Clusters of one size and weight: as many degrees of freedom as clusters less one. Mutation: their number."
    from scipy.special import stdtrit
    rng = np.random.default_rng(34)
    label = np.repeat(np.arange(30), 4)
    y, s = rng.standard_normal(30)[label] + rng.standard_normal(120), np.tile([0.0, 1.0], 60)
    side = label < 15
    slope = comparison_graph(y[side], s[side], y[~side], s[~side], groups_a=label[side], groups_b=label[~side], n_resamples=19, rng=1).slope()
    half = np.ptp(slope.confidence_interval) / 2
    assert half / slope.standard_error == pytest.approx(stdtrit(29, 0.975), rel=1e-3)


def homes_of_rare_events(rng, *numbers, size=4, rate=0.08, apart=1000):
    "Outcomes, scores and clusters of groups of these numbers of clusters, whose rows agree; nothing differs."
    out = []
    for g, number in enumerate(numbers):
        home = np.arange(number * size) // size
        out.append(((rng.random(number) < rate)[home] * 1.0, rng.random(home.size), home + g * apart))
    return out


def test_a_group_without_an_event_among_clusters_is_not_said_to_differ():
    "Fifteen sets whose 20 clusters hold no event by chance, against 100: by signs alone nearly all differ. Mutations: signs alone; clusters that keep their places."
    told, blind, sets, seed = 0, 0, 0, 0
    while sets < 15:
        seed += 1
        (y_a, s_a, c_a), (y_b, s_b, c_b) = homes_of_rare_events(np.random.default_rng([seed, 41]), 20, 100)
        if y_a.any(): continue
        sets += 1
        ways = [comparison_graph(y_a, s_a, y_b, s_b, groups_a=c_a, groups_b=c_b, method=how, n_resamples=99, rng=1) for how in ("auto", "signs")]
        told, blind = told + (ways[0].kuiper_pvalue <= 0.05), blind + (ways[1].kuiper_pvalue <= 0.05)
        assert ways[0].kuiper_pvalue >= ways[1].kuiper_pvalue
        assert ways[0].method in ("cluster permutation", "cluster signs")
    assert told <= 7 and blind >= 12


def test_a_group_without_an_event_among_weights_is_not_said_to_differ():
    "The same of 40 members of 400 with weights that tell nothing. Mutation: signs alone, by which nearly all differ."
    told, blind, sets, seed = 0, 0, 0, 0
    while sets < 12:
        seed += 1
        rng = np.random.default_rng([seed, 42])
        y, member = (rng.random(400) < 0.03) * 1.0, np.arange(400) < 40
        if y[member].any() or not y.any(): continue
        sets, columns, weight = sets + 1, (y, rng.random(400), member), np.exp(0.5 * rng.normal(size=400))
        ways = [subpopulation_graph(*columns, sample_weight=weight, method=how, n_resamples=99, rng=1).kuiper_pvalue for how in ("auto", "signs")]
        told, blind = told + (ways[0] <= 0.05), blind + (ways[1] <= 0.05)
    assert told <= 6 and blind >= 9


@pytest.mark.slow
@pytest.mark.parametrize("named, column, groups, per, size, rate", [("groups", "c", 6, 25, 3, 0.06), ("sample_weight", "w", 10, 50, 1, 0.05)])
def test_screens_of_rare_events_rarely_say_that_a_group_differs(named, column, groups, per, size, rate):
    "Six screens of alike groups, some of them without an event: three with clusters, all with weights said that one differs. Mutation: signs alone in a screen."
    told = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 43])
        y, s, c = map(np.concatenate, zip(*homes_of_rare_events(rng, *[per] * groups, size=size, rate=rate)))
        frame = pd.DataFrame({"y": y, "s": s, "g": c // 1000, "c": c, "w": np.exp(0.6 * rng.normal(size=c.size))})
        told += screen(frame, y_true="y", score="s", by="g", reference="all", n_resamples=199, rng=1, **{named: column}).differ.any()
    assert told <= 1


def test_intervals_hold_the_average_where_few_clusters_have_events():
    "Forty sets of 30 clusters against 200 at a rate of 6 %, whose rows agree. Mutation: a variance that is drawn towards that of independent rows, which misses five."
    inside = 0
    for seed in range(40):
        (y_a, s_a, c_a), (y_b, s_b, c_b) = homes_of_rare_events(np.random.default_rng([seed, 46]), 30, 200, size=5, rate=0.06)
        graph = comparison_graph(y_a, s_a, y_b, s_b, groups_a=c_a, groups_b=c_b, method="signs", n_resamples=1, rng=1)
        low, high = graph.slope().confidence_interval
        inside += low <= 0 <= high
    assert inside >= 37


def test_whole_clusters_change_places_whatever_their_sizes():
    "Each cluster of one side gets the responses of another one of its cell; the order of the rows says nothing. Mutation: members in the order of the rows."
    rng = np.random.default_rng(45)
    cluster = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    score, side = rng.random(cluster.size), cluster % 3 == 0
    response = cluster.astype(float)  # a cluster is known by its response
    pool, start, first, member = designs.places_of(score, response, side, cluster)
    assert sorted(member) == list(range(cluster.size)) and start[0] == 0 and start[-1] == pool.size == first.size - 1 == 40
    y = np.empty(cluster.size)
    steps.redraw(y, (pool, start, first, member), y, response, cluster, shuffle_state(rng))
    assert all(np.unique(y[cluster == c]).size == 1 for c in range(40)) and (y != response).any()
    (y_a, s_a, c_a), (y_b, s_b, c_b) = homes_of_rare_events(rng, 20, 60, rate=0.1, apart=10)
    i, j = rng.permutation(y_a.size), rng.permutation(y_b.size)
    one = comparison_graph(y_a, s_a, y_b, s_b, groups_a=c_a, groups_b=c_b, n_resamples=99, rng=1)
    two = comparison_graph(y_a[i], s_a[i], y_b[j], s_b[j], groups_a=c_a[i], groups_b=c_b[j], n_resamples=99, rng=1)
    assert one.kuiper_pvalue == two.kuiper_pvalue and one.method == two.method
