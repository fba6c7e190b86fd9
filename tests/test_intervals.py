"""Metrics and tests of intervals and label sets: against a plain twin of the formulas, against MAPIE, at their level, and with bad input."""
import json
import math
import subprocess
import sys
import textwrap
import venv
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from uqcal.intervals import intervals as iv
from uqcal.intervals import dependence
from uqcal.intervals import stratified

# --- a twin in plain Python, straight from the formulas -------------------------------------------------------------------------


def mean(values, weight):
    return float(sum(Fraction(w) * Fraction(v) for v, w in zip(values, weight)) / sum(map(Fraction, weight)))


def covers(y, bounds):
    return [int(low <= v <= up) for v, (low, up) in zip(y, bounds)]


def twin_coverage(y, bounds, weight):
    return mean(covers(y, bounds), weight)


def twin_width(y, bounds, weight):
    return mean([Fraction(up) - Fraction(low) for low, up in bounds], weight)


def twin_ssc(y, bounds, weight, groups):
    "Coverage of each group of about equal count; for widths without ties."
    order = sorted(range(len(y)), key=lambda i: bounds[i][1] - bounds[i][0])
    inside, out, start = covers(y, bounds), [], 0
    for g in range(groups):
        size = len(y) // groups + (g < len(y) % groups)
        part = order[start:start + size]
        start += size
        out.append(mean([inside[i] for i in part], [weight[i] for i in part]))
    return out


def twin_cwc(y, bounds, weight, eta, level):
    share = twin_width(y, bounds, weight) / (max(y) - min(y))
    return (1 - share) * math.exp(-eta * (twin_coverage(y, bounds, weight) - level)**2)


def twin_winkler(y, bounds, weight, level):
    alpha = Fraction(1 - level)
    charge = [Fraction(up) - Fraction(low) + 2 / alpha * max(0, Fraction(low) - Fraction(v), Fraction(v) - Fraction(up)) for v, (low, up) in zip(y, bounds)]
    return mean(charge, weight)


def twin_trace(y, bounds, size_w, size_c, digits=60):
    "trace(HKHL), the matrices multiplied out with many digits; a Decimal."
    with localcontext() as context:
        context.prec = digits
        n, width = len(y), [Decimal(float(up - low)) for low, up in bounds]
        inside = [Decimal(c) for c in covers(y, bounds)]
        K, L = ([[(-(a - b)**2 / Decimal(s)).exp() for b in v] for a in v] for v, s in ((width, size_w), (inside, size_c)))
        H = [[Decimal(int(i == j)) - Decimal(1) / n for j in range(n)] for i in range(n)]

        def product(A, B): return [[sum(x * z for x, z in zip(row, column)) for column in zip(*B)] for row in A]
        M = product(product(product(H, K), H), L)
        return sum(M[i][i] for i in range(n))


def twin_hsic(y, bounds, size_w, size_c):
    return float(twin_trace(y, bounds, size_w, size_c).sqrt()) / (len(y) - 1)


def sample(seed, n=40, k=None):
    rng = np.random.default_rng(seed)
    half = rng.lognormal(0, 0.5, (n, k or 1))
    centre = rng.normal(0, 3, (n, 1))
    y = centre[:, 0] + rng.standard_normal(n)
    bounds = np.stack([centre - half, centre + half], axis=1)
    return y, bounds if k else bounds[:, :, 0], rng.uniform(0, 2, n)


def sample_sets(seed, n=60, classes=5, k=None):
    rng = np.random.default_rng(seed)
    y, member = rng.integers(0, classes, n), rng.random((n, classes, k or 1)) < 0.4
    member[np.arange(n), y] |= rng.random((n, k or 1)) < 0.6
    return y, member if k else member[:, :, 0], rng.uniform(0, 2, n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_interval_metrics_agree_with_a_plain_twin(seed, weighted):
    y, bounds, weight = sample(seed, n=40 + seed)
    w, weight = (weight, weight) if weighted else (None, np.ones(y.size))
    def same(ours, twin): np.testing.assert_allclose(ours, twin, rtol=1e-12)
    same(iv.regression_coverage_score(y, bounds, sample_weight=w), twin_coverage(y, bounds, weight))
    same(iv.regression_mean_width_score(bounds, sample_weight=w), twin_width(y, bounds, weight))
    for groups in (1, 3, 7):
        same(stratified.regression_ssc(y, bounds, groups, sample_weight=w), twin_ssc(y, bounds, weight, groups))
        same(stratified.regression_ssc_score(y, bounds, groups, sample_weight=w), min(twin_ssc(y, bounds, weight, groups)))
    for eta, level in ((0.01, 0.9), (30, 0.5), (-2, 0.9)):
        same(iv.coverage_width_based(y, *bounds.T, eta, level, sample_weight=w), twin_cwc(y, bounds, weight, eta, level))
        same(iv.regression_mwi_score(y, bounds, level, sample_weight=w), twin_winkler(y, bounds, weight, level))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_set_metrics_agree_with_a_plain_twin(seed, weighted):
    y, member, weight = sample_sets(seed)
    w, weight = (weight, weight) if weighted else (None, np.ones(y.size))
    inside, size = [int(row[c]) for row, c in zip(member, y)], [int(sum(row)) for row in member]
    np.testing.assert_allclose(iv.classification_coverage_score(y, member, sample_weight=w), mean(inside, weight), rtol=1e-12)
    np.testing.assert_allclose(iv.classification_mean_width_score(member, sample_weight=w), mean(size, weight), rtol=1e-12)
    for bins, edges in ((None, range(7)), (1, [0, 6]), (2, [0, 3, 6]), (4, [0, 2, 4, 5, 6])):      # 0 … 5 in 4 parts: 01 23 4 5
        twin = []
        for first, end in zip(edges[:-1], edges[1:]):
            part = [i for i in range(y.size) if first <= size[i] < end]
            twin.append(mean([inside[i] for i in part], [weight[i] for i in part]) if part else math.nan)
        np.testing.assert_allclose(stratified.classification_ssc(y, member, bins, sample_weight=w), twin, rtol=1e-12)
        np.testing.assert_allclose(stratified.classification_ssc_score(y, member, bins, sample_weight=w), np.nanmin(twin), rtol=1e-12)


@every_case("size", [1e-20, 1e-6, 1e-3, 0.03, 0.3, 1.0, 3.0, 30.0, 1e4, 1e9, 1e20])
def test_hsic_is_the_trace_of_the_document(size):
    for seed, scale in ((1, 1.0), (2, 1.0), (3, 1e4)):
        y, bounds, _ = sample(seed, n=25)
        y, bounds = scale * y, scale * bounds
        np.testing.assert_allclose(dependence.hsic(y, bounds, (size, 0.7)), twin_hsic(y, bounds, size, 0.7), rtol=1e-12)


@pytest.mark.parametrize("distribution", ["uniform", "heavy", "rounded", "clusters", "far away"])
def test_hsic_keeps_ten_digits_for_any_ratio_of_kernel_to_range(distribution):
    rng = np.random.default_rng(7)
    n = 50
    width = {"uniform": rng.random(n), "heavy": rng.pareto(1, n), "rounded": rng.integers(1, 9, n) / 4,
             "clusters": rng.choice([1.0, 2.0, 1e6], n) + 1e-4 * rng.random(n), "far away": 1e6 + rng.random(n)}[distribution]
    width = np.abs(width) + 1e-3
    low = np.zeros(n)
    y = np.where(rng.random(n) < 0.8, width / 2, -1.0)
    for ratio in (1e-9, 1e-4, 0.01, 0.1, 0.24, 0.26, 0.5, 0.51, 1.0, 10.0, 1e6):
        size = (ratio * np.ptp(width))**2
        with localcontext() as context:
            context.prec = 50
            w, c = [Decimal(float(x)) for x in width], y >= 0
            a = [Decimal(int(v)) - Decimal(int(c.sum())) / n for v in c]
            terms = ((1 + (i != j)) * a[i] * a[j] * (-(w[i] - w[j])**2 / Decimal(float(size))).exp() for i in range(n) for j in range(i + 1))
            exact = float((2 * (1 - (-Decimal(1)).exp()) * sum(terms)).sqrt() / (n - 1))
        np.testing.assert_allclose(dependence.hsic(y, np.column_stack([low, width]), (size, 1)), exact, rtol=1e-11, err_msg=f"ratio {ratio}")


def test_hsic_of_thousands_of_points_agrees_with_all_pairs_in_extended_precision():
    rng = np.random.default_rng(8)
    n = 3000
    width = rng.lognormal(0, 0.5, n)
    covered = rng.random(n) < 0.9
    for size in (1e-6, 0.01, 1.0, 100.0):
        a = covered - np.longdouble(covered.sum()) / n
        total = np.longdouble(0)
        for part in np.array_split(np.arange(n), 6):
            d2 = np.subtract.outer(width[part].astype(np.longdouble), width[part[0]:])**2
            kernel = np.expm1(-d2 / np.longdouble(size))                       # the constant 1 cancels, since the a sum to zero
            double = np.where(np.arange(part[0], n)[None, :] > part[:, None], 2, np.arange(part[0], n)[None, :] == part[:, None])
            total += a[part] @ ((kernel * double) @ a[part[0]:])
        exact = float(np.sqrt(-2 * np.expm1(np.longdouble(-1)) * total) / (n - 1))
        y = np.where(covered, 0.0, -1.0)
        np.testing.assert_allclose(dependence.hsic(y, np.column_stack([np.zeros(n), width]), (size, 1)), exact, rtol=1e-10)


def test_hsic_is_exactly_zero_where_every_width_is_covered_alike():
    width = np.repeat([1.0, 2.0, 5.0], 20)
    y = np.tile([0.5] * 9 + [-1.0], 6)
    assert dependence.hsic(y, np.column_stack([np.zeros(60), width])) == 0.0
    assert dependence.hsic(y, np.column_stack([np.zeros(60), width]), (1e-9, 1)) == 0.0


# --- several levels, ties, weights ----------------------------------------------------------------------------------------------


def test_levels_along_the_last_axis_give_what_each_level_gives():
    y, bounds, weight = sample(4, n=50, k=3)
    calls = {"coverage": lambda b: iv.regression_coverage_score(y, b, sample_weight=weight), "width": iv.regression_mean_width_score,
             "ssc": lambda b: stratified.regression_ssc(y, b, 4), "ssc score": lambda b: stratified.regression_ssc_score(y, b, 4), "hsic": lambda b: dependence.hsic(y, b),
             "winkler": lambda b: iv.regression_mwi_score(y, b, 0.8)}
    for name, call in calls.items():
        several = call(bounds)
        assert np.shape(several)[0] == 3, name
        for j in range(3):
            np.testing.assert_allclose(several[j], call(bounds[:, :, j]), rtol=1e-14, err_msg=name)
        assert isinstance(call(bounds[:, :, 0]), float) or name == "ssc"
    np.testing.assert_allclose(iv.regression_mwi_score(y, bounds, [0.5, 0.8, 0.9]),
                               [iv.regression_mwi_score(y, bounds[:, :, j], q) for j, q in enumerate([0.5, 0.8, 0.9])], rtol=1e-14)
    y, member, weight = sample_sets(4, k=2)
    for call in (lambda m: iv.classification_coverage_score(y, m, sample_weight=weight), iv.classification_mean_width_score,
                 lambda m: stratified.classification_ssc(y, m), lambda m: stratified.classification_ssc_score(y, m, 2)):
        for j in range(2): np.testing.assert_allclose(call(member)[j], call(member[:, :, j]), rtol=1e-14)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), levels=st.integers(1, 30), n=st.integers(1, 60), bins=st.integers(1, 6))
def test_stratified_coverage_keeps_equal_widths_together_in_any_order_of_rows(seed, levels, n, bins):
    rng = np.random.default_rng(seed)
    half, y = rng.integers(1, levels + 1, n) / 2, rng.normal(0, 2, n)
    bounds, order = np.column_stack([-half, half]), rng.permutation(n)
    distinct = np.unique(half).size
    if distinct < bins:
        with pytest.raises(ValueError, match=f"num_bins must not exceed the number of distinct widths, {distinct}"): stratified.regression_ssc(y, bounds, bins)
        return
    result = stratified.regression_ssc(y, bounds, bins)
    assert result.shape == (bins,) and not np.isnan(result).any()
    np.testing.assert_array_equal(result, stratified.regression_ssc(y[order], bounds[order], bins))
    groups = stratified.size_stratified_coverage(y, bounds, 0.9, num_bins=bins).groups
    np.testing.assert_allclose(groups["coverage"], result, rtol=1e-12)
    assert groups["count"].sum() == n and (groups["size_low"].to_numpy()[1:] > groups["size_high"].to_numpy()[:-1]).all()
    if distinct == n: assert groups["count"].tolist() == [part.size for part in np.array_split(np.arange(n), bins)]


def test_widths_that_differ_by_rounding_count_as_equal():
    centre = np.random.default_rng(1).normal(0, 100, 500)
    bounds = np.column_stack([centre - 0.1, centre + 0.1])
    assert np.unique(bounds[:, 1] - bounds[:, 0]).size > 10
    with pytest.raises(ValueError, match="distinct widths, 1, got 3"): stratified.regression_ssc(centre, bounds)
    with pytest.raises(ValueError, match="distinct widths, 1, got 3"): stratified.size_stratified_coverage(centre, bounds, 0.9, num_bins=3)
    assert len(stratified.size_stratified_coverage(centre, bounds, 0.9).groups) == 1
    assert dependence.hsic_test(centre + 0.11 * np.sign(centre), bounds, n_resamples=9, rng=1).pvalue == 1


def test_weights_repeat_points_and_do_not_depend_on_their_scale():
    y, bounds, _ = sample(6, n=30)
    times = np.random.default_rng(1).integers(0, 4, 30)
    again = np.repeat(np.arange(30), times)
    for call in (lambda i, w: iv.regression_coverage_score(y[i], bounds[i], sample_weight=w), lambda i, w: iv.regression_mean_width_score(bounds[i], sample_weight=w),
                 lambda i, w: iv.regression_mwi_score(y[i], bounds[i], 0.9, sample_weight=w)):
        whole = call(np.arange(30), times)
        np.testing.assert_allclose(whole, call(again, None), rtol=1e-12)
        np.testing.assert_allclose(whole, call(np.arange(30), 1e140 * times), rtol=1e-12)
    rare = np.where(bounds[:, 1] - bounds[:, 0] > np.median(bounds[:, 1] - bounds[:, 0]), 1.0, 0.0)
    assert np.isnan(stratified.regression_ssc(y, bounds, 2, sample_weight=rare)[0]) and stratified.regression_ssc_score(y, bounds, 2, sample_weight=rare) >= 0


def test_inputs_of_other_libraries_are_read_and_left_alone():
    y, bounds, _ = sample(9, n=20)
    expected, before = dependence.hsic(y, bounds), bounds.copy()
    for form in (bounds.tolist(), pd.DataFrame(bounds, columns=["low", "up"], index=np.arange(20)[::-1]), np.asfortranarray(bounds), bounds.astype(np.longdouble)):
        assert dependence.hsic(pd.Series(y, index=form.index if isinstance(form, pd.DataFrame) else None), form) == expected
    np.testing.assert_array_equal(bounds, before)
    polars = pytest.importorskip("polars")
    assert dependence.hsic(polars.Series(y), polars.DataFrame({"low": bounds[:, 0], "up": bounds[:, 1]})) == expected
    y, member, _ = sample_sets(1)
    for form in (member.tolist(), member.astype(int), member.astype(float), pd.DataFrame(member)):
        assert iv.classification_coverage_score(y.astype(float), form) == iv.classification_coverage_score(y, member)


# --- the tests ------------------------------------------------------------------------------------------------------------------


@every_case("covered, n", [(0, 1), (1, 1), (0, 30), (30, 30), (7, 30), (29, 30), (950, 1000)])
def test_coverage_test_is_exact(covered, n):
    y, bounds = np.concatenate([np.zeros(covered), np.full(n - covered, 9.0)]), np.tile([-1.0, 1.0], (n, 1))
    for level in (0.3, 0.9):
        for alternative in ("less", "greater"):
            np.testing.assert_allclose(iv.coverage_test(y, bounds, level, alternative=alternative).pvalue,
                                       stats.binomtest(covered, n, level, alternative=alternative).pvalue, rtol=1e-10)
    result = iv.coverage_test(y, bounds, 0.9, confidence=0.8)
    np.testing.assert_allclose(result.confidence_interval, stats.binomtest(covered, n).proportion_ci(0.8, "exact"), rtol=1e-10, atol=1e-300)
    for level in np.linspace(0.01, 0.99, 50):      # the interval holds the levels that the test does not reject
        assert (iv.coverage_test(y, bounds, level).pvalue < 0.2) == (not result.confidence_interval.holds(level))


def test_coverage_of_calibrated_intervals_follows_the_beta_binomial_distribution():
    rng = np.random.default_rng(10)
    pvalues = []
    for _ in range(2000):
        rank = math.ceil(51 * 0.8)
        width = np.sort(np.abs(rng.standard_normal(50)))[rank - 1]
        y = rng.standard_normal(400)
        pvalues.append(iv.coverage_test(y, np.tile([-width, width], (400, 1)), 0.8, n_calibration=50).pvalue)
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(pvalues) <= level) - level) < 3.5 * math.sqrt(level * (1 - level) / 2000) + 0.005
    assert iv.coverage_test([0.0], [[-1.0, 1.0]], 0.95, n_calibration=19).pvalue > 0
    with pytest.raises(ValueError, match="n_calibration must be at least 19"): iv.coverage_test([0.0], [[-1.0, 1.0]], 0.95, n_calibration=18)


def conformal(rng, m, n, level=0.9):
    "True values, split conformal intervals and a feature: scaled errors, widths and feature are independent."
    threshold = np.sort(np.abs(rng.standard_normal(m)))[math.ceil((m + 1) * level - 1e-9) - 1]
    width = rng.lognormal(0, 0.5, n)
    return width * rng.standard_normal(n), threshold * np.column_stack([-width, width]), rng.standard_normal(n)


@pytest.mark.parametrize("m", [50, 5000])
@pytest.mark.slow
def test_groups_of_conformal_intervals_are_rejected_as_rarely_as_stated(m):
    "250 calibrations, three functions: 5 % has a standard error of 1.4 %. Holm's correction of the same p-values rejects 2 % for m = 50."
    rng, count = np.random.default_rng(22), np.zeros(4)
    for _ in range(250):
        y, bounds, feature = conformal(rng, m, 1000)
        by_width = stratified.size_stratified_coverage(y, bounds, 0.9, n_calibration=m)
        count += [by_width.pvalue < 0.05, stratified.feature_stratified_coverage(y, bounds, feature, 0.9, num_bins=5, n_calibration=m).pvalue < 0.05,
                  stratified.feature_stratified_coverage(y, bounds, feature > 0, 0.9, n_calibration=m, alternative="two-sided").pvalue < 0.05,
                  stratified.size_stratified_coverage(y, bounds, 0.9).pvalue < 0.05]
    assert (np.abs(count[:3] / 250 - 0.05) < 0.045).all(), count
    assert m == 5000 or count[3] > 50              # without the calibration: a quarter and more


def test_a_calibration_has_two_intervals_and_the_sentence_names_both():
    y, bounds = np.concatenate([np.zeros(880), np.full(120, 9.0)]), np.tile([-1.0, 1.0], (1000, 1))
    plain, aware = iv.coverage_test(y, bounds, 0.9), iv.coverage_test(y, bounds, 0.9, n_calibration=200)
    assert plain.own_interval == plain.confidence_interval == aware.own_interval and plain.promised == 0.9 and aware.promised == 181 / 201
    assert aware.confidence_interval.low < aware.own_interval.low < aware.own_interval.high < aware.confidence_interval.high
    assert plain.pvalue < 0.05 and not plain.confidence_interval.holds(0.9) and aware.pvalue > 0.05 and aware.confidence_interval.holds(181 / 201)
    for interval in (aware.own_interval, aware.confidence_interval): assert f"[{interval.low:.4f}, {interval.high:.4f}]" in aware.sentence
    assert "on 200 rows), 0.9 claimed, which guarantees 0.9005: p = 0.3" in aware.sentence and "guarantees" not in plain.sentence
    whole = iv.coverage_test(y, bounds, 0.9, n_calibration=99)            # rank 90 of 99: promised to the digit
    assert "guarantees" not in whole.sentence


def test_several_levels_give_a_result_for_each():
    y, bounds, _ = sample(31, n=60, k=2)
    label, member, _ = sample_sets(31, k=2)
    by = np.arange(60) % 7
    for call, true, several in ((iv.coverage_test, y, bounds), (stratified.size_stratified_coverage, y, bounds), (iv.coverage_test, label, member), (stratified.size_stratified_coverage, label, member),
                                (lambda t, b, c, **o: stratified.feature_stratified_coverage(t, b, by, c, **o), y, bounds), (lambda t, b, c, **o: stratified.feature_stratified_coverage(t, b, by, c, **o), label, member)):
        found = call(true, several, [0.7, 0.9], n_calibration=50)
        assert isinstance(found, tuple)
        for j, level in enumerate((0.7, 0.9)): assert found[j].sentence == call(true, several[:, :, j], level, n_calibration=50).sentence
        assert found[0].sentence != found[1].sentence
        assert call(true, several[:, :, :1], 0.7).sentence == call(true, several[:, :, 0], 0.7).sentence == call(true, several[:, :, 0], [0.7])[0].sentence
    one, two = dependence.hsic_test(y, bounds, n_resamples=99, rng=1)
    assert one.pvalue == dependence.hsic_test(y, bounds[:, :, 0], n_resamples=99, rng=1).pvalue and one.statistic != two.statistic
    np.testing.assert_allclose([one.statistic, two.statistic], [dependence.hsic_test(y, bounds[:, :, j], n_resamples=9, rng=1).statistic for j in (0, 1)], rtol=1e-12)


@pytest.mark.parametrize("names", [["a", "b", "c", "d", "e"], [1, 2, 3, 4, 5], [10, 5, 7, 0, 2], np.array([b"x", b"y", b"z", b"u", b"v"])])
def test_labels_of_any_kind_are_those_of_their_columns(names):
    label, member, weight = sample_sets(32)
    named = np.array(names)[label]
    for call in (iv.classification_coverage_score, stratified.classification_ssc, stratified.classification_ssc_score):
        np.testing.assert_array_equal(call(named, member, classes=names, sample_weight=weight), call(label, member, sample_weight=weight))
        np.testing.assert_array_equal(call(pd.Series(named, dtype=object), member, classes=pd.Index(names)), call(label, member))
    for call in (iv.coverage_test, stratified.size_stratified_coverage, lambda y, s, c, **o: stratified.feature_stratified_coverage(y, s, np.arange(60), c, **o)):
        assert call(named, member, 0.9, classes=names).sentence == call(label, member, 0.9).sentence
    with pytest.raises((ValueError, TypeError), match="y_true"): iv.classification_coverage_score(["nobody"] * 60, member, classes=names)


def test_features_make_groups_of_numbers_or_of_names():
    rng = np.random.default_rng(33)
    y, bounds, feature = conformal(rng, 100, 400)
    result = stratified.feature_stratified_coverage(y, bounds, feature, 0.9, num_bins=4)
    inside, order = np.abs(y) <= bounds[:, 1], np.argsort(feature)
    np.testing.assert_allclose(result.groups["coverage"], [part.mean() for part in np.array_split(inside[order], 4)])
    np.testing.assert_array_equal(result.groups[["feature_low", "feature_high"]].to_numpy().ravel(), np.sort(feature)[[0, 99, 100, 199, 200, 299, 300, 399]])
    names = np.array(["left", "right", "middle"])[rng.integers(0, 3, 400)]
    for by in (names, pd.Categorical(names), names.astype(object)):
        named = stratified.feature_stratified_coverage(y, bounds, by, 0.9).groups
        assert named["name"].tolist() == ["left", "middle", "right"] and named["count"].tolist() == [np.sum(names == one) for one in ("left", "middle", "right")]
        np.testing.assert_allclose(named["coverage"], [inside[names == one].mean() for one in ("left", "middle", "right")])
    assert named["pvalue_adjusted"].min() >= named["pvalue"].min()
    for result in (stratified.feature_stratified_coverage(y, bounds, names, 0.9), stratified.feature_stratified_coverage(y, bounds, feature, 0.9)): assert result.plot().get_ylabel()


def test_stratified_test_keeps_its_level_and_finds_a_bad_group():
    rng, rejected, found = np.random.default_rng(11), 0, 0
    for _ in range(400):
        half = rng.lognormal(0, 0.5, 300)
        z = rng.standard_normal(300)
        bounds = stats.norm.ppf(0.95) * np.column_stack([-half, half])
        rejected += stratified.size_stratified_coverage(half * z, bounds, 0.9, num_bins=5).pvalue < 0.05
        found += stratified.size_stratified_coverage(z * half * np.where(half < np.quantile(half, 0.2), 2, 1), bounds, 0.9, num_bins=5).pvalue < 0.05
    assert rejected / 400 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400) and found / 400 > 0.95


def independent_pvalues(n, n_sets, n_resamples, seed, coverage=0.9, rounded=False):
    rng, out = np.random.default_rng(seed), np.empty(n_sets)
    for r in range(n_sets):
        half = rng.lognormal(0, 0.5, n)
        if rounded: half = np.ceil(2 * half) / 2
        bounds = stats.norm.ppf((1 + coverage) / 2) * np.column_stack([-half, half])
        out[r] = dependence.hsic_test(half * rng.standard_normal(n), bounds, n_resamples=n_resamples, rng=rng).pvalue
    return out


@pytest.mark.parametrize("n, rounded", [(20, False), (200, False), (200, True)])
@pytest.mark.slow
def test_hsic_pvalue_keeps_its_level(n, rounded):
    rate = np.mean(independent_pvalues(n, 1500, 199, 12, rounded=rounded) <= 0.05)
    assert rate < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)
    if n == 200: assert rate > 0.05 - 3 * math.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 200, 2000])
@pytest.mark.parametrize("rounded", [False, True])
def test_hsic_pvalue_keeps_its_level_in_ten_thousand_sets(n, rounded):
    rate = np.mean(independent_pvalues(n, 10_000, 399, 13, rounded=rounded) <= 0.05)
    assert rate < 0.057 and (n == 20 or rate > 0.043)      # few points and few misses: many shuffles are alike, and the test is conservative


def test_hsic_test_finds_dependence_of_either_kind():
    rng, trend, dip = np.random.default_rng(14), 0, 0
    for _ in range(60):
        half = rng.uniform(1, 2, 800)
        bounds = 1.96 * np.column_stack([-half, half])
        z = rng.standard_normal(800)
        trend += dependence.hsic_test(z * half * np.where(half < 1.3, 1.4, 1), bounds, n_resamples=199, rng=1).pvalue < 0.05
        dip += dependence.hsic_test(z * half * np.where(np.abs(half - 1.5) < 0.15, 1.7, 1), bounds, n_resamples=199, rng=1).pvalue < 0.05
    assert trend > 54 and dip > 54


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 7), levels=st.integers(1, 4), size=st.sampled_from([None, 1e-8, 1.0, 1e8]))
def test_hsic_test_of_few_points_agrees_with_all_their_arrangements(seed, n, levels, size):
    from itertools import combinations
    rng = np.random.default_rng(seed)
    width = rng.integers(1, levels + 1, n) * 1.0
    covered = rng.random(n) < 0.6
    result = dependence.hsic_test(np.where(covered, 0.0, -1.0), np.column_stack([np.zeros(n), width]), n_resamples=2000, rng=1,
                          kernel_sizes=None if size is None else (size, 1))
    def value(chosen): return dependence.hsic(np.where(np.isin(np.arange(n), chosen), 0.0, -1.0), np.column_stack([np.zeros(n), width]), (result.kernel_size_width, result.kernel_size_coverage))
    every = np.array([value(c) for c in combinations(range(n), int(covered.sum()))])
    np.testing.assert_allclose(result.statistic, value(np.flatnonzero(covered)), rtol=1e-9, atol=1e-15)
    share = np.mean(every >= result.statistic * (1 - 1e-9))
    assert abs(result.pvalue - share) < 4 * math.sqrt(share * (1 - share) / 2000) + 2 / 2000
    assert np.isin(np.round(result.null_distribution, 10), np.round([*every, 0.0], 10)).all()


def test_hsic_test_gives_the_same_for_any_unit_and_number_of_jobs():
    y, bounds, _ = sample(15, n=400)
    one = dependence.hsic_test(y, bounds, n_resamples=3000, rng=3)
    two = dependence.hsic_test(y, bounds, n_resamples=3000, rng=3, n_jobs=2)
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
    assert one.pvalue == two.pvalue
    for unit in (2.0**-60, 2.0**60):
        other = dependence.hsic_test(unit * y, unit * bounds, n_resamples=3000, rng=3)
        assert other.pvalue == one.pvalue
        np.testing.assert_allclose(other.null_distribution, one.null_distribution, rtol=1e-9)


def test_results_have_frames_plots_and_short_representations():
    import matplotlib.pyplot as plt
    y, bounds, _ = sample(16, n=100)
    label, member, _ = sample_sets(16)
    for result, rows in ((iv.coverage_test(y, bounds, 0.9), 1), (iv.coverage_test(label, member, 0.9, n_calibration=30), 1),
                         (stratified.size_stratified_coverage(y, bounds, 0.9, num_bins=4), 4), (stratified.size_stratified_coverage(label, member, 0.9, num_bins=2), 2),
                         (stratified.size_stratified_coverage(label, member, 0.9), None), (dependence.hsic_test(y, bounds, n_resamples=50, rng=1), 1)):
        frame = result.to_frame()
        assert rows is None or len(frame) == rows
        assert result._repr_html_().startswith("<p>") and 0 <= result.pvalue <= 1
        figure, ax = plt.subplots()
        assert result.plot(ax) is ax and ax.get_xlabel()
        assert result.plot().get_xlabel()
        plt.close("all")
    assert np.isclose(stratified.size_stratified_coverage(label, member, 0.9).statistic, stratified.classification_ssc_score(label, member))


# --- bad input ------------------------------------------------------------------------------------------------------------------

Y, B = np.array([0.1, 0.9, 2.0, 3.0, 4.5, 0.0]), np.column_stack([[-1, 0, 1, 2.0, 3, 0.5], [1, 1.5, 3, 4, 4.2, 2.5]])
LABEL, SETS = np.array([0, 1, 2, 0, 1, 2]), np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0]], dtype=bool)
INTERVAL_CALLS = {
    "regression_coverage_score": iv.regression_coverage_score,
    "regression_mean_width_score": lambda y, b: iv.regression_mean_width_score(b),
    "regression_ssc": lambda y, b: stratified.regression_ssc(y, b, 2),
    "regression_ssc_score": lambda y, b: stratified.regression_ssc_score(y, b, 2),
    "hsic": dependence.hsic,
    "regression_mwi_score": lambda y, b: iv.regression_mwi_score(y, b, 0.9),
    "coverage_test": lambda y, b: iv.coverage_test(y, b, 0.9),
    "size_stratified_coverage": lambda y, b: stratified.size_stratified_coverage(y, b, 0.9, num_bins=2),
    "hsic_test": lambda y, b: dependence.hsic_test(y, b, n_resamples=19, rng=1),
}


def test_messages_say_what_and_where():
    with pytest.raises(ValueError, match=r"y_intervals\[:, 1\] must not hold missing values: 1 of 6 values is missing, the first at position 4; write -inf or inf"):
        dependence.hsic(Y, np.where(B == 4.2, np.nan, B))
    with pytest.raises(ValueError, match=r"y_intervals must have its lower bound first: 1 of 6 values is crossed, the first at position 4 \(3.0\)"):
        dependence.hsic(Y, np.where(B == 4.2, 2.9, B))
    with pytest.raises(ValueError, match=r"y_intervals\[:, 0, 1\] must not hold missing"):
        dependence.hsic(Y, np.stack([B, np.where(B == 0.5, np.nan, B)], axis=2))
    with pytest.raises(ValueError, match=r"y_pred_set must hold True and False.*18 of 18.*first at \(0, 0\) \(0.7\); make sets of probabilities"):
        iv.classification_coverage_score(LABEL, np.where(SETS, 0.7, 0.1))
    with pytest.raises(ValueError, match=r"y_true must hold classes, whole numbers from 0 to 2: 1 of 6 values is no class, the first at position 0 \(-1.0\)"):
        iv.classification_coverage_score([-1, *LABEL[1:]], SETS)


@pytest.mark.parametrize(("call", "named"), [
    (lambda: stratified.regression_ssc(Y, B, 7), "num_bins"), (lambda: stratified.regression_ssc(Y[:1], B[:1], 2), "num_bins"),
    (lambda: stratified.classification_ssc(LABEL, SETS, 5), "num_bins"),


    (lambda: dependence.hsic(Y[:1], B[:1]), "y_true"),
    (lambda: dependence.hsic_test(Y[:1], B[:1]), "y_true"),
    (lambda: dependence.hsic_test(Y, B, kernel_sizes=(0, 1)), "kernel_sizes"), (lambda: dependence.hsic_test(LABEL, SETS), "y_intervals"),
    (lambda: iv.coverage_test(Y, np.stack([B, B], axis=2), 0.9), "level must hold one number for each of the 2 levels of y_intervals, got 1"),
    (lambda: stratified.size_stratified_coverage(Y, B, [0.9, 0.8], num_bins=2), "level must hold one number for each of the 1 level of y_intervals, got 2"),
    (lambda: iv.coverage_test(Y, np.stack([B, B], axis=2), [0.9, 90]), "level must lie strictly between 0 and 1, got 90"),
    (lambda: stratified.feature_stratified_coverage(Y, B, list("aabbcc"), 0.9, num_bins=2), "num_bins must be left out"),
    (lambda: stratified.feature_stratified_coverage(Y, B, [1, 1, 1, 2, 2, 2], 0.9, num_bins=3), "distinct values of by, 2, got 3"),
    (lambda: iv.coverage_test(Y, B, 0.9, classes=[0, 1]), "y_intervals must hold True and False"),
    (lambda: iv.coverage_test(LABEL, SETS, 0.9, classes=[0, 1]), "classes must hold one label for each of the 3 columns, got 2"),


    (lambda: iv.coverage_test(Y, B, 0.9, n_calibration=3), "n_calibration"),
    (lambda: iv.coverage_width_based(Y, B[:, 0], B[1:, 1], 1, 0.9), "y_pred_low and y_pred_up"), (lambda: iv.coverage_width_based(Y, B[:, 1], B[:, 0], 1, 0.9), "y_pred_low"),
    (lambda: iv.coverage_width_based(Y * 0, *B.T, 1, 0.9), "constant"), (lambda: iv.coverage_width_based(Y[:1], *B[:1].T, 1, 0.9), "constant"),
    (lambda: iv.coverage_width_based(Y, *B.T, -1e4, 0.9), "eta"),


    (lambda: iv.coverage_width_based(Y[1:], *B.T, 1, 0.9), "y_true"),
    (lambda: iv.regression_mwi_score(Y, B, [0.9, 0.8]), "confidence_level"),
    (lambda: iv.regression_mwi_score(Y, np.stack([B, B], axis=2), [0.9, 1.5]), "confidence_level"),
])
def test_bad_settings_are_refused_by_name(call, named):
    with pytest.raises((ValueError, TypeError), match=named): call()


def test_single_points_and_constant_arrays_have_results():
    one = dict(y_true=[1.0], y_intervals=[[0.0, 2.0]])
    assert iv.regression_coverage_score(**one) == 1 and iv.regression_mwi_score(**one, confidence_level=0.9) == 2 and stratified.regression_ssc_score(**one, num_bins=1) == 1
    result = iv.coverage_test(**one, level=0.9)
    assert result.pvalue == 1 and math.isclose(result.confidence_interval.low, 0.025) and result.confidence_interval.high == 1
    same = dict(y_true=np.ones(5), y_intervals=np.tile([0.0, 2.0], (5, 1)))
    assert dependence.hsic(**same) == 0 and dependence.hsic_test(**same, n_resamples=9, rng=1).pvalue == 1 and stratified.regression_ssc_score(**same, num_bins=1) == 1
    assert dependence.hsic_test([1.0, 1.0], [[0, 2], [0, 3]], n_resamples=9, rng=1).pvalue == 1      # all are covered
    point = dict(y_true=[1.0, 2.0], y_intervals=[[1.0, 1.0], [3.0, 3.0]])                     # intervals of no width
    assert iv.regression_coverage_score(**point) == 0.5 and iv.regression_mean_width_score(point["y_intervals"]) == 0


ANY = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-160, 1e-120, 1e120, -1e149, 1e150, 3.0]))


@pytest.mark.parametrize("name", [*INTERVAL_CALLS, "coverage_width_based", "hsic, narrow", "hsic, wide"])
@given(data=st.data())
def test_any_floats_give_a_result_without_nan_or_a_clear_error(name, data):
    n = data.draw(st.integers(0, 12))
    y, bounds = data.draw(arrays(float, n, elements=ANY)), data.draw(arrays(float, (n, 2), elements=ANY))
    if data.draw(st.booleans()): bounds = np.sort(bounds, axis=1)
    calls = INTERVAL_CALLS | {"coverage_width_based": lambda y, b: iv.coverage_width_based(y, b[:, 0], b[:, 1], 2.0, 0.9),
                              "hsic, narrow": lambda y, b: dependence.hsic(y, b, (1e-150, 1e-150)), "hsic, wide": lambda y, b: dependence.hsic(y, b, (1e150, 1e150))}
    with np.errstate(all="raise", under="ignore"):
        try: result = calls[name](y, bounds)
        except (ValueError, TypeError) as message: assert str(message)
        else:
            numbers = result.to_frame().select_dtypes("number") if hasattr(result, "to_frame") else np.asarray(result)
            numbers = np.asarray(numbers, dtype=float)
            assert not np.isnan(numbers).any() and (np.isfinite(numbers).all() or np.isinf(bounds).any())   # a width that is infinite makes a score so


# --- MAPIE ----------------------------------------------------------------------------------------------------------------------

MAPIE = "mapie==1.6.0"
PEER = textwrap.dedent("""
    import json, sys, warnings
    import numpy as np
    from mapie.metrics import classification as c, regression as r
    data = np.load(sys.argv[1])
    def plain(value):
        return np.asarray(value, dtype=float).tolist()
    def call(function, *args):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try: found = {"value": plain(function(*args))}
            except Exception as error: found = {"error": type(error).__name__, "message": str(error)}
        return found | {"warnings": [w.category.__name__ for w in caught]}
    cases = json.loads(sys.argv[2])
    print(json.dumps([call(getattr(r if hasattr(r, f) else c, f), *(data[a] if isinstance(a, str) else a for a in args)) for f, args in cases]))
""")


@pytest.fixture(scope="module")
def mapie(tmp_path_factory):
    "A function that runs MAPIE's functions, in an environment of its own."
    folder = tmp_path_factory.mktemp("mapie")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", MAPIE], capture_output=True, text=True)
    if done.returncode: pytest.skip(f"{MAPIE} can't be installed: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")

    def run(cases, **data):
        np.savez(folder / "data.npz", **data)
        done = subprocess.run([python, "-c", PEER, folder / "data.npz", json.dumps(cases)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run


@pytest.mark.slow
def test_metrics_agree_with_mapie_where_it_is_right(mapie):
    y, bounds, _ = sample(20, n=400, k=3)
    label, member, _ = sample_sets(20, n=400, classes=8, k=2)
    kernel, low, up = np.array([0.1, 2.0]), bounds[:, 0, 0], bounds[:, 1, 0]
    cases = {
        "regression_coverage_score": [["y", "b"]], "regression_mean_width_score": [["b"]], "regression_ssc": [["y", "b"], ["y", "b", 7]],
        "regression_ssc_score": [["y", "b"], ["y", "b", 7]], "hsic": [["y", "b"], ["y", "b", "kernel"]],
        "coverage_width_based": [["y", "low", "up", 0.01, 0.9], ["y", "low", "up", 30.0, 0.5]], "classification_coverage_score": [["label", "s"]],
        "classification_mean_width_score": [["s"]], "classification_ssc": [["label", "s"], ["label", "s", 3]], "classification_ssc_score": [["label", "s"], ["label", "s", 3]],
        "regression_mwi_score": [["y", "b0", 0.9], ["y", "b0", 0.5]],
    }
    flat = [(f, args) for f, several in cases.items() for args in several]
    data = dict(y=y, b=bounds, b0=bounds[:, :, :1], low=low, up=up, kernel=kernel, label=label, s=member)
    for (f, args), theirs in zip(flat, mapie(flat, **data)):
        room = next(one for one in (iv, dependence, stratified) if hasattr(one, f))
        ours = getattr(room, f)(*(data[a] if isinstance(a, str) else a for a in args))
        if f == "regression_mwi_score": theirs["value"] = [theirs["value"]]
        np.testing.assert_allclose(ours, theirs["value"], rtol=1e-10, err_msg=f)


@pytest.mark.slow
def test_mapie_differs_where_the_table_says_so(mapie):
    rng = np.random.default_rng(21)
    y, bounds, _ = sample(21, n=60)
    half = np.round(rng.uniform(0.5, 2, 60), 1)
    tied, order = np.column_stack([-half, half]), rng.permutation(60)
    near = 1e8 + rng.random(60)
    far = np.stack([1e9 + np.arange(1000.0), 1e9 + np.arange(1000.0) + 0.001], axis=1)[:, :, None]
    label, member, _ = sample_sets(21, n=30, classes=4)
    data = dict(y=y, b=bounds, crossed=bounds[:, ::-1].copy(), crossed3=bounds[:, ::-1, None].copy(), b3=bounds[:, :, None],
                gap=np.where(np.arange(60) == 0, np.nan, y), y_tied=y, tied=tied, y_mixed=y[order], mixed=tied[order], tiny=1e-6 * bounds, y_tiny=1e-6 * y,
                near=np.column_stack([np.zeros(60), near]), y_near=np.where(rng.random(60) < 0.5, 1.0, -1.0), constant=np.tile([-1.0, 1.0], (60, 1)), ones=np.ones(60),
                y_far=1e9 + np.arange(1000.0), far=far, two=np.stack([bounds, bounds * 2], axis=2), last=np.where(label == label[0], -1, label), label=label, s=member,
                share=np.where(member, 0.7, 0.1), absent=np.eye(4, dtype=bool)[label], one=y[:1], one_b=bounds[:1], y3=y[:3], b3w=np.array([[-1, 1], [-2, 2], [-3, 3.0]]))
    cases = {"2-D width": ("regression_mean_width_score", ["b"]), "gap": ("regression_coverage_score", ["gap", "b"]),
             "crossed coverage": ("regression_coverage_score", ["y", "crossed"]), "crossed width": ("regression_mean_width_score", ["crossed3"]),
             "crossed winkler": ("regression_mwi_score", ["y", "crossed3", 0.9]), "straight winkler": ("regression_mwi_score", ["y", "b3", 0.9]),
             "2-D winkler": ("regression_mwi_score", ["y", "b", 0.9]), "two levels": ("regression_mwi_score", ["y", "two", 0.9]),
             "tied": ("regression_ssc", ["y_tied", "tied", 4]), "mixed": ("regression_ssc", ["y_mixed", "mixed", 4]), "tiny": ("regression_ssc", ["y_tiny", "tiny", 3]),
             "near": ("hsic", ["y_near", "near"]), "constant": ("hsic", ["y", "constant"]), "far": ("regression_mwi_score", ["y_far", "far", 0.9]),
             "constant y": ("coverage_width_based", ["ones", "y", "y", 1.0, 0.9]), "last class": ("classification_coverage_score", ["last", "s"]),
             "shares": ("classification_coverage_score", ["label", "share"]), "share width": ("classification_mean_width_score", ["share"]),
             "sizes": ("classification_ssc", ["label", "absent"]), "one point": ("hsic", ["one", "one_b"]), "three widths": ("regression_ssc", ["y3", "b3w", 3]),
             "one level": ("regression_coverage_score", ["y", "b"])}
    theirs = dict(zip(cases, mapie(list(cases.values()), **data)))
    # forms: (n, 2) is an error there, and of several levels the score sees the first
    assert theirs["2-D width"]["error"] == theirs["2-D winkler"]["error"] == "IndexError"
    assert iv.regression_mean_width_score(bounds) > 0
    two = iv.regression_mwi_score(y, data["two"], 0.9)
    np.testing.assert_allclose(theirs["two levels"]["value"], two[0], rtol=1e-10)
    assert two[1] != two[0]
    # a missing value counts as a miss
    np.testing.assert_allclose(theirs["gap"]["value"], [np.mean(covers(data["gap"], bounds))], rtol=1e-10)
    # crossed bounds: missed, of absolute width, and swapped
    assert theirs["crossed coverage"]["value"] == [0.0]
    np.testing.assert_allclose(theirs["crossed width"]["value"], [iv.regression_mean_width_score(bounds)], rtol=1e-10)
    assert theirs["crossed winkler"]["value"] == theirs["straight winkler"]["value"]
    # equal widths are split in the order of the rows, and small ones are counted after rounding to five decimals
    assert theirs["tied"]["value"] != theirs["mixed"]["value"]
    np.testing.assert_array_equal(stratified.regression_ssc(y, tied, 4), stratified.regression_ssc(y[order], tied[order], 4))
    assert theirs["tiny"]["error"] == "ValueError" and "number of bins" in theirs["tiny"]["message"]
    np.testing.assert_array_equal(stratified.regression_ssc(1e-6 * y, 1e-6 * bounds, 3), stratified.regression_ssc(y, bounds, 3))
    # squared widths lose the digits that their differences need
    exact = twin_hsic(data["y_near"][:25], data["near"][:25], 1, 1)
    np.testing.assert_allclose(dependence.hsic(data["y_near"][:25], data["near"][:25]), exact, rtol=1e-12)
    ours = dependence.hsic(data["y_near"], data["near"])
    assert not abs(theirs["near"]["value"][0] / ours - 1) < 0.01
    assert dependence.hsic(y, data["constant"]) == 0 and theirs["constant"]["value"] != [0.0]
    # sums of large numbers lose the digits of the widths
    exact = twin_winkler(data["y_far"], far[:, :, 0], np.ones(1000), 0.9)
    np.testing.assert_allclose(iv.regression_mwi_score(data["y_far"], far[:, :, 0], 0.9), exact, rtol=1e-12)
    assert abs(theirs["far"]["value"] / exact - 1) > 1e-7
    # a constant y gives no range
    assert not math.isfinite(theirs["constant y"]["value"]) and theirs["constant y"]["warnings"]
    # labels and sets that are none
    wrapped = np.where(label == label[0], 3, label)
    np.testing.assert_allclose(theirs["last class"]["value"], [np.mean(member[np.arange(30), wrapped])], rtol=1e-10)
    assert 0.1 < theirs["shares"]["value"][0] < 0.7 and theirs["share width"]["value"] == 4
    # the same numbers for set sizes, with a warning for each that does not occur
    np.testing.assert_allclose(stratified.classification_ssc(label, data["absent"]), theirs["sizes"]["value"][0], rtol=1e-10)
    assert np.isnan(theirs["sizes"]["value"][0]).sum() == 4 and "RuntimeWarning" in theirs["sizes"]["warnings"]
    # a single point, and as many groups as widths
    assert not math.isfinite(theirs["one point"]["value"][0]) and theirs["one point"]["warnings"]
    assert theirs["three widths"]["error"] == "ValueError" and stratified.regression_ssc(y[:3], data["b3w"], 3).size == 3
    assert len(theirs["one level"]["value"]) == 1 and isinstance(iv.regression_coverage_score(y, bounds), float)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
