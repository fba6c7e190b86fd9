"""Cumulative graphs: published numbers, slow twins, invariances, levels, and every kind of bad input."""
import io
import random
from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uqcal._words.text import p_text, signed
from uqcal.subgroups.cumulative import CumulativeGraph, calibration_graph
from uqcal.subgroups.two_groups import comparison_graph, paired_reliability
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal._base.results import visible_points

# ---- the paper's synthetic examples: n, Kuiper, Kolmogorov-Smirnov, their ratios to sigma as printed; Kuiper, KS, sigma with weights

PRINTED = [("6451", "0.09740", "0.09724", "7.823", "7.810"), ("5472", "0.1531", "0.1531", "11.32", "11.32"),
           ("6637", "0.2730", "0.2730", "22.24", "22.24"), ("6451", "0.01429", "0.01046", "1.148", "0.8402")]
WEIGHTED = [(0.09280750458536763, 0.09268936565470823, 0.012573931894562337, -0.08923081839573385),
            (0.1546846772350192, 0.1546846772350192, 0.01359134613899847, 0.1542069757508162),
            (0.274430699831189, 0.274430699831189, 0.012398143003786234, -0.2522528551664229),
            (0.014720658895328823, 0.011615582136700175, 0.012573931894562337, -0.0077818315198383906)]


def example(number):
    "Scores, expectations and responses of both subpopulations, from the paper's generators."
    draw = np.random.RandomState(987654321).uniform
    u0, u1 = draw(size=10000), draw(size=7000)
    second = [(1 + 8 * (u1 - 0.5)**3) / 2, u1, (1 + np.cbrt(u1 - 0.5) / np.cbrt(0.5)) / 2, (1 + 8 * (u1 - 0.5)**3) / 2][number]
    s0, s1 = np.sort(u0**5 if number == 1 else u0), np.sort(second)
    if number == 0:
        e0, e1 = 0.2 * (s0 - 0.5) - 0.7 * (s0 - 0.75)**2 + 0.5, (s1 - 0.5) - 0.7 * (s1 - 0.75)**3 + 0.5
        m = np.arange(np.argmax(0.9 - s1 < 0.06), np.argmax(s1 - 0.9 > 0.06))
        e1[m], e0[m - m[0] + 9000] = e0[m - m[0] + 9000].copy(), e1[m].copy()
    elif number == 1: e0, e1 = bumps(s0), bumps(s1)
    elif number == 2: e0, e1 = s0 * (1 + np.cos(16 * np.pi * s0)) / 2, draw(size=7000)
    else: e0, e1 = s0.copy(), s1.copy()
    chance = random.Random(987654321)
    r0, r1 = (np.array([chance.random() <= p for p in e], dtype=float) for e in (e0, e1))
    return s0, r0, s1, r1


def bumps(s):
    k, n, a = np.arange(s.size), s.size, np.sqrt(0.5)
    b = -a + 2 * a * k / n - a / n
    return np.abs((1 + np.round(np.sin(5.5 * k / n))) / 2 * (b * b - 0.5) + s)


def as_printed(value, text):
    "The value with as many significant digits as the printed text has."
    digits = len(text.replace(".", "").lstrip("0"))
    return f"{value:.{digits}g}" == f"{float(text):.{digits}g}"


@pytest.mark.parametrize("number", range(4))
def test_published_numbers_to_the_printed_digits(number):
    s0, r0, s1, r1 = example(number)
    graph = comparison_graph(r0, s0, r1, s1)
    n, *printed = PRINTED[number]
    assert graph.n_steps == int(n) and graph.score.size == int(n)
    for value, text in zip((graph.kuiper, graph.kolmogorov_smirnov, graph.kuiper_scaled, graph.kolmogorov_smirnov_scaled), printed):
        assert as_printed(value, text), (value, text)
    weights = [4 - np.cos(9 * np.arange(s.size) / s.size) for s in (s0, s1)]
    graph = comparison_graph(r0, s0, r1, s1, sample_weight_a=weights[0], sample_weight_b=weights[1])
    np.testing.assert_allclose((graph.kuiper, graph.kolmogorov_smirnov, graph.scale, graph.average_difference), WEIGHTED[number], rtol=1e-12)


# ---- slow twins in plain Python, from the definitions


def slow_calibration(y, p, w):
    held = [(score, list(same)) for score, same in groupby(sorted(zip(p, y, w)), key=lambda point: point[0])]
    total, at, c = sum(w), 0.0, 0.0
    abscissa, ordinate = [0.0], [0.0]
    for score, same in held:
        at, c = at + sum(v for *_, v in same), c + sum(v * (r - score) for _, r, v in same)
        abscissa.append(at / total)
        ordinate.append(c / total)
    sigma = (sum(v * v * q * (1 - q) for q, v in zip(p, w)))**0.5 / total if all(0 <= q <= 1 for q in p) else None
    return abscissa, ordinate, [score for score, _ in held], sigma


def slow_subpopulation(y, s, member, w):
    scores = sorted({score for score, inside in zip(s, member) if inside})
    total = sum(v for v, inside in zip(w, member) if inside)
    at = c = spread = 0.0
    abscissa, ordinate = [0.0], [0.0]
    for k, score in enumerate(scores):
        low = -float("inf") if k == 0 else (scores[k - 1] + score) / 2
        high = float("inf") if k + 1 == len(scores) else (score + scores[k + 1]) / 2
        near = [(r, v) for r, t, v in zip(y, s, w) if low < t <= high]
        everyone = sum(r * v for r, v in near) / sum(v for _, v in near)
        mine = [(r, v) for r, t, v, inside in zip(y, s, w, member) if inside and t == score]
        weight = sum(v for _, v in mine)
        at, c = at + weight, c + sum(r * v for r, v in mine) - weight * everyone
        spread += weight**2 * everyone * (1 - everyone)
        abscissa.append(at / total)
        ordinate.append(c / total)
    return abscissa, ordinate, scores, max(spread, 0.0)**0.5 / total


def slow_comparison(y_a, s_a, w_a, y_b, s_b, w_b):
    points = sorted([(s, r, v, 0) for s, r, v in zip(s_a, y_a, w_a)] + [(s, r, v, 1) for s, r, v in zip(s_b, y_b, w_b)])
    blocks = []
    for _, same in groupby(points, key=lambda point: point[0]):
        same = list(same)
        sides = [[m for m in same if m[3] == g] for g in (0, 1)]
        for g in (0, 1):
            if not sides[1 - g] and blocks and not blocks[-1][1 - g]:
                blocks[-1][g] += sides[g]
                break
        else: blocks.append(sides)
    def mean(side, column): return sum(m[2] * m[column] for m in side) / sum(m[2] for m in side)
    def load(side): return sum(m[2] for m in side) / len(side)
    steps = []
    for k, (a, b) in enumerate(blocks):
        if a and b:
            mu = 2 * len(a) * len(b) / (len(a) + len(b))
            steps.append((mu, 2 * (load(a) + load(b)), mean(a, 1) - mean(b, 1), mean(a + b, 0)))
        elif 0 < k < len(blocks) - 1:
            g = 0 if a else 1
            left, here, right = blocks[k - 1][1 - g], blocks[k][g], blocks[k + 1][1 - g]
            d = mean(here, 1) - (mean(left, 1) + mean(right, 1)) / 2
            steps.append((1, load(left) + 2 * load(here) + load(right), d if g == 0 else -d, mean(here, 0)))
    total, at, c = sum(mu * v for mu, v, *_ in steps), 0.0, 0.0
    abscissa, ordinate = [0.0], [0.0]
    for mu, v, d, _ in steps:
        at, c = at + mu * v / total, c + mu * v * d / total
        abscissa.append(at)
        ordinate.append(c)
    return abscissa, ordinate, [s for *_, s in steps], sum(mu for mu, *_ in steps), sum(mu * v * v for mu, v, *_ in steps)**0.5 / total if total else 0


DATA = [(responses, ties, weighted, sizes) for responses in ("binary", "real") for ties in ("distinct", "some", "many", "lump") for weighted in (False, True)
        for sizes in ((60, 45), (200, 7), (1, 30), (400, 300))]


def drawn(rng, responses, ties, weighted, n):
    s = rng.uniform(-1, 1, n) if ties in ("distinct", "lump") else np.round(rng.uniform(-1, 1, n), 2 if ties == "some" else 1)
    if ties == "lump": s[rng.uniform(size=n) < 0.5] = 0.25
    if n == 1: s[:] = 0.25
    y = (rng.uniform(size=n) < 0.4).astype(float) if responses == "binary" else rng.normal(-3, 5, n)
    return y, s, rng.exponential(size=n) + 0.01 if weighted else np.ones(n)


@every_case("responses, ties, weighted, sizes", DATA)
def test_comparison_equals_its_slow_twin(responses, ties, weighted, sizes):
    rng = np.random.default_rng(len(responses) + len(ties) + sizes[0])
    (y_a, s_a, w_a), (y_b, s_b, w_b) = (drawn(rng, responses, ties, weighted, n) for n in sizes)
    w_b = 7 * w_b
    graph = comparison_graph(y_a, s_a, y_b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, method="asymptotic")
    abscissa, ordinate, score, n_steps, sigma = slow_comparison(y_a, s_a, w_a, y_b, s_b, w_b)
    scale = np.abs(np.r_[y_a, y_b]).max()
    np.testing.assert_allclose(graph.abscissa, abscissa, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(graph.ordinate, ordinate, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(graph.score, score, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(graph.n_steps, n_steps, rtol=1e-12)
    np.testing.assert_allclose(graph.scale, sigma if responses == "binary" else np.nan, rtol=1e-12)
    np.testing.assert_allclose((graph.kuiper, graph.kolmogorov_smirnov), (np.ptp(ordinate), np.abs(ordinate).max()), rtol=1e-12, atol=1e-12 * scale)
    if not weighted:
        same = comparison_graph(y_a, s_a, y_b, s_b, method="asymptotic")
        equal = comparison_graph(y_a, s_a, y_b, s_b, method="asymptotic", sample_weight_a=np.full(s_a.size, 3.0), sample_weight_b=np.full(s_b.size, 3.0))
        for name in ("abscissa", "ordinate", "score", "n_steps", "scale", "null_scale"):
            np.testing.assert_allclose(getattr(same, name), getattr(equal, name), rtol=1e-12, atol=1e-12 * scale)


@every_case("responses, ties, weighted, sizes", DATA)
def test_subpopulation_and_calibration_equal_their_slow_twins(responses, ties, weighted, sizes):
    rng = np.random.default_rng(10 + len(responses) + len(ties) + sizes[0])
    y, s, w = drawn(rng, responses, ties, weighted, sum(sizes))
    member = np.zeros(y.size, bool)
    member[rng.permutation(y.size)[:sizes[0]]] = True
    graph = subpopulation_graph(y, s, member, sample_weight=w, method="asymptotic")
    abscissa, ordinate, score, sigma = slow_subpopulation(y, s, member, w) if responses == "binary" else (*slow_subpopulation(y / 1e3, s, member, w)[:3], np.nan)
    scale = np.abs(y).max()
    np.testing.assert_allclose(graph.abscissa, abscissa, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(graph.ordinate, np.array(ordinate) * (1 if responses == "binary" else 1e3), atol=1e-12 * scale)
    np.testing.assert_array_equal(graph.score, score)
    np.testing.assert_allclose(graph.scale, sigma, rtol=1e-10)
    p = (s + 1) / 2 if responses == "binary" else s
    graph = calibration_graph(y, p, sample_weight=w)
    abscissa, ordinate, score, sigma = slow_calibration(y, p, w)
    np.testing.assert_allclose(graph.abscissa, abscissa, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(graph.ordinate, ordinate, atol=1e-12 * scale)
    np.testing.assert_array_equal(graph.score, score)
    if responses == "binary": np.testing.assert_allclose((graph.scale, graph.null_scale), sigma, rtol=1e-12)
    else: assert np.isnan(graph.scale)


# ---- what the noise is made of


@pytest.mark.parametrize("ties", ["distinct", "many", "lump"])
def test_covariances_are_those_of_the_linear_map_from_responses_to_rises(ties):
    "Each rise is linear in the responses: differentiate it by each, and put the local variances between."
    from uqcal._subgroups.steps import neighbours_of, noise_of_two
    rng, nobody = np.random.default_rng(3), np.empty(0, np.int64)
    (y_a, s_a, w_a), (y_b, s_b, w_b) = (drawn(rng, "real", ties, True, n) for n in (40, 25))
    order_a, order_b = np.argsort(s_a, kind="stable"), np.argsort(s_b, kind="stable")
    y_a, s_a, w_a, y_b, s_b, w_b = y_a[order_a], s_a[order_a], w_a[order_a], y_b[order_b], s_b[order_b], w_b[order_b]
    def rises(a, b): return np.diff(comparison_graph(a, s_a, b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, method="asymptotic").ordinate)
    zero = rises(np.zeros(40), np.zeros(25))
    matrix = np.array([rises(e[:40], e[40:]) - zero for e in np.eye(65)]).T
    graph = comparison_graph(y_a, s_a, y_b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, method="asymptotic")
    _, v_a, _, v_b = noise_of_two(neighbours_of(s_a, nobody), y_a, neighbours_of(s_b, nobody), y_b)
    expected = matrix @ np.diag(np.concatenate([v_a, v_b])) @ matrix.T
    n = graph.score.size
    for lag in range(3):
        np.testing.assert_allclose(graph.covariance[:n - lag, lag], np.diag(expected, lag), rtol=1e-9, atol=1e-12)
    assert np.abs(np.triu(expected, 3)).max() < 1e-12
    np.testing.assert_allclose(graph.null_scale, np.sqrt(expected.sum()), rtol=1e-9)
    part = graph.slope(-0.5, 0.5)
    inside = (graph.score >= -0.5) & (graph.score <= 0.5)
    np.testing.assert_allclose(part.standard_error, np.sqrt(expected[np.ix_(inside, inside)].sum()) / np.diff(graph.abscissa)[inside].sum(), rtol=1e-9)
    np.testing.assert_allclose(part.value, np.diff(graph.ordinate)[inside].sum() / np.diff(graph.abscissa)[inside].sum(), rtol=1e-9)


def test_the_slope_without_ends_is_that_of_all_scores():
    "Mutations: an end that is needed; 0 and 1 in place of the ends; an end of 0 taken for none."
    graph = comparison_graph([0, 1, 1, 0, 1], [-3, -1, 0, 2, 5], [0, 0, 1, 0, 1], [-2, -1, 0, 3, 4], method="asymptotic")
    np.testing.assert_allclose(graph.slope().value, graph.average_difference, rtol=1e-12)
    assert graph.slope() == graph.slope(-3, 5) and graph.slope(low=0) == graph.slope(0, 5) != graph.slope() and graph.slope(high=0) == graph.slope(-3, 0)


def test_subpopulation_noise_is_that_of_the_linear_map():
    from uqcal.subgroups.against_everyone import _split_neighbours, _split_noise
    rng = np.random.default_rng(4)
    y, s, w = drawn(rng, "real", "some", True, 80)
    order = np.argsort(s, kind="stable")
    y, s, w, member = y[order], s[order], w[order], rng.uniform(size=80) < 0.3
    rises = np.array([np.diff(subpopulation_graph(e, s, member, sample_weight=w, method="asymptotic").ordinate) for e in np.eye(80)]).T
    graph = subpopulation_graph(y, s, member, sample_weight=w, method="asymptotic")
    expected = rises @ np.diag(_split_noise(_split_neighbours(s, member, np.empty(0, np.int64)), y)[1]) @ rises.T
    np.testing.assert_allclose(expected, np.diag(graph.covariance[:, 0]), atol=1e-12)


def test_last_ordinate_has_the_null_scale():
    rng, z = np.random.default_rng(5), []
    for _ in range(400):
        s_a, s_b = rng.uniform(size=300), rng.beta(2, 1, 200)
        graph = comparison_graph((rng.uniform(size=300) < s_a).astype(float), s_a, (rng.uniform(size=200) < s_b).astype(float), s_b, method="asymptotic")
        z.append(graph.average_difference / graph.null_scale)
    assert abs(np.std(z) - 1) < 0.12 and abs(np.mean(z)) < 0.2


# ---- invariances


@pytest.mark.parametrize("ties", ["distinct", "some", "many", "lump"])
def test_rows_and_groups_can_be_exchanged(ties):
    rng = np.random.default_rng(6)
    (y_a, s_a, w_a), (y_b, s_b, w_b) = (drawn(rng, "binary", ties, True, n) for n in (90, 70))
    graph = comparison_graph(y_a, s_a, y_b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, n_resamples=999, rng=1)
    order = rng.permutation(90)
    moved = comparison_graph(y_a[order], s_a[order], y_b, s_b, sample_weight_a=w_a[order], sample_weight_b=w_b, n_resamples=999, rng=1)
    np.testing.assert_allclose(moved.ordinate, graph.ordinate, atol=1e-14)
    np.testing.assert_allclose(moved.null_scale, graph.null_scale, rtol=1e-12)
    assert moved.kuiper_pvalue == graph.kuiper_pvalue
    mirrored = comparison_graph(y_b, s_b, y_a, s_a, sample_weight_a=w_b, sample_weight_b=w_a, method="asymptotic")
    np.testing.assert_allclose(mirrored.ordinate, -graph.ordinate, atol=1e-14)
    np.testing.assert_allclose((mirrored.kuiper, mirrored.null_scale), (graph.kuiper, graph.null_scale), rtol=1e-12)
    member = rng.permutation(np.arange(90) < 30)
    one = subpopulation_graph(y_a, s_a, member, sample_weight=w_a, n_resamples=999, rng=2)
    two = subpopulation_graph(y_a[order], s_a[order], member[order], sample_weight=w_a[order], n_resamples=999, rng=2)
    np.testing.assert_allclose(two.ordinate, one.ordinate, atol=1e-14)
    assert one.kuiper_pvalue == two.kuiper_pvalue


@pytest.mark.parametrize("unit, heavy", [(1e-300, 1.0), (1e150, 1.0), (1.0, 1e-150), (1.0, 1e149), (1e6, 1e3)])
def test_units_do_not_matter(unit, heavy):
    rng = np.random.default_rng(7)
    (y_a, s_a, w_a), (y_b, s_b, w_b) = (drawn(rng, "binary", "some", True, n) for n in (300, 200))
    graph = comparison_graph(y_a, s_a, y_b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, n_resamples=999, rng=1)
    scaled = comparison_graph(y_a * unit, s_a, y_b * unit, s_b, sample_weight_a=w_a * heavy + 1e-150 * (heavy < 1e-100), sample_weight_b=w_b * heavy + 1e-150 * (heavy < 1e-100), n_resamples=999, rng=1)
    if heavy > 1e-100: np.testing.assert_allclose(scaled.ordinate / unit, graph.ordinate, atol=1e-12)
    assert np.isfinite([scaled.kuiper, scaled.null_scale, scaled.kuiper_pvalue]).all()
    if heavy > 1e-100: assert abs(scaled.kuiper_pvalue - graph.kuiper_pvalue) < 0.02


def test_lumpy_scores_show_their_effect_at_the_end():
    rng = np.random.default_rng(8)
    s_a, s_b = (np.where(rng.uniform(size=1000) < 0.5, 0.5, rng.uniform(size=1000)) for _ in range(2))
    y_a, y_b = (rng.uniform(size=1000) < 0.4 + 0.25 * (s_a == 0.5)).astype(float), (rng.uniform(size=1000) < 0.4).astype(float)
    merged = comparison_graph(y_a, s_a, y_b, s_b, method="asymptotic")
    perturbed = [comparison_graph(y_a, s_a, y_b, s_b, ties="perturb", method="asymptotic", rng=i).average_difference for i in range(200)]
    assert abs(merged.average_difference - np.mean(perturbed)) < 0.4 * np.std(perturbed)
    assert np.std([comparison_graph(y_a, s_a, y_b, s_b, ties="perturb", method="asymptotic", rng=i).n_steps for i in range(50)]) > 0


def test_expected_number_of_steps_is_that_of_random_orders():
    rng = np.random.default_rng(9)
    s_a, s_b = np.repeat(np.arange(3), (40, 40, 40)), np.repeat(np.arange(3), (10, 60, 25))
    y_a, y_b = rng.normal(size=120), rng.normal(size=95)
    merged = comparison_graph(y_a, s_a, y_b, s_b, method="asymptotic").n_steps
    np.testing.assert_allclose(merged, sum(2 * 40 * k / (40 + k) for k in (10, 60, 25)))
    steps = [comparison_graph(y_a, s_a, y_b, s_b, ties="perturb", method="asymptotic", rng=i).n_steps for i in range(300)]
    assert abs(np.mean(steps) - merged) < 2        # borders between the three scores aside


def test_perturbing_distinct_scores_changes_nothing():
    s0, r0, s1, r1 = example(3)
    one, two = comparison_graph(r0, s0, r1, s1), comparison_graph(r0, s0, r1, s1, ties="perturb", rng=1)
    np.testing.assert_array_equal(one.ordinate, two.ordinate)
    np.testing.assert_array_equal(one.score, two.score)


# ---- few points, no noise


def test_groups_that_never_interleave_are_refused():
    for args in [([0, 1], [1, 2], [0, 1], [3, 4]), ([0, 1], [3, 4], [0, 1], [1, 2]), ([1], [0], [0, 1, 1], [1, 2, 3]), ([1], [4], [0, 1, 1], [1, 2, 3]), ([1], [1], [0], [2])]:
        with pytest.raises(ValueError, match="never interleave"): comparison_graph(*args)


def test_a_group_of_one_inside_makes_one_step():
    graph = comparison_graph([1.0], [0.5], [0, 1, 0, 0, 1], [0.1, 0.2, 0.6, 0.7, 0.8], rng=0)
    assert graph.n_steps == 1 and graph.ordinate.tolist() == pytest.approx([0.0, 1 - (0.5 + 1 / 3) / 2])
    assert 0 < graph.kuiper_pvalue <= 1 and graph.null_scale > 0
    assert comparison_graph([1.0], [0.5], [0.0], [0.5], rng=0).n_steps == 1


def test_constant_responses_have_no_deviation():
    rng = np.random.default_rng(1)
    for value in (0.1, 1.0, 1e10 / 3):
        for method in ("asymptotic", "permutation"):
            graph = comparison_graph(np.full(50, value), rng.uniform(size=50), np.full(40, value), np.round(rng.uniform(size=40), 1), method=method, rng=0)
            assert graph.kuiper == 0 and graph.kuiper_pvalue == 1 and graph.kolmogorov_smirnov_pvalue == 1
    assert subpopulation_graph(np.full(50, 0.1), rng.uniform(size=50), np.arange(50) < 20, rng=0).kuiper_pvalue == 1


def test_statistics_over_a_published_scale_of_zero_are_numbers():
    graph = subpopulation_graph([1, 1, 1, 1], [0.8, 0.9, 0.5, 0.3], np.array([0, 1, 0, 0], dtype=bool))
    assert graph.scale == 0 and graph.kuiper_scaled == graph.kolmogorov_smirnov_scaled == 0
    graph = subpopulation_graph([0.5, 3.0, 1.0, 1.0], [0.8, 0.9, 0.5, 0.3], np.array([0, 1, 0, 0], dtype=bool))
    assert np.isnan([graph.scale, graph.kuiper_scaled, graph.kolmogorov_smirnov_scaled]).all()


def test_perfect_separation_is_significant():
    rng = np.random.default_rng(1)
    s = rng.uniform(size=(2, 600))
    assert comparison_graph(np.ones(600), s[0], np.zeros(600), s[1], method="asymptotic").kuiper_pvalue == 0
    assert comparison_graph(np.ones(600), s[0], np.zeros(600), s[1], rng=1).kuiper_pvalue == 0.0001


def test_contradicted_certainty_and_certain_forecasts():
    assert calibration_graph([0, 1, 0, 1], [0.5, 0.5, 0.2, 0.0]).kuiper_pvalue == 0
    assert calibration_graph([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0]).kuiper_pvalue == 1


@settings(max_examples=settings.default.max_examples, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(1, 6), st.booleans())
def test_small_inputs_give_a_result_or_a_clear_error(seed, n_a, n_b, levels, binary):
    rng = np.random.default_rng(seed)
    s_a, s_b = rng.integers(levels, size=n_a), rng.integers(levels, size=n_b)
    y_a, y_b = (rng.integers(2, size=n).astype(float) if binary else rng.normal(size=n) * 10.0**rng.integers(-9, 9) for n in (n_a, n_b))
    try: graph = comparison_graph(y_a, s_a, y_b, s_b, n_resamples=19, rng=rng)
    except ValueError as error: assert "never interleave" in str(error)
    else:
        assert 0 < graph.kuiper_pvalue <= 1 and 0 < graph.kolmogorov_smirnov_pvalue <= 1 and graph.null_scale >= 0
        assert graph.kolmogorov_smirnov <= graph.kuiper * (1 + 1e-12) and graph.abscissa[-1] == 1
        assert np.isfinite(graph.ordinate).all() and np.isfinite(graph.covariance).all()
        assert graph.steepest(0.5).share_high <= 1
    y, s = np.r_[y_a, y_b], np.r_[s_a, s_b].astype(float)
    graph = subpopulation_graph(y, s, np.arange(y.size) < n_a, n_resamples=19, rng=rng)
    assert 0 < graph.kuiper_pvalue <= 1 and np.isfinite(graph.ordinate).all()
    graph = calibration_graph(y, (s + 0.5) / (levels + 1))
    assert 0 <= graph.kuiper_pvalue <= 1


# ---- levels


def matched(rng, n_a, n_b, ties, weighted, responses="binary"):
    s_a, s_b = rng.uniform(size=n_a), rng.beta(2, 1, n_b)
    if ties: s_a, s_b = np.round(s_a, ties), np.round(s_b, ties)
    y = [(rng.uniform(size=s.size) < 0.15 + 0.7 * s).astype(float) if responses == "binary" else s + sd * rng.normal(size=s.size) for s, sd in ((s_a, 3), (s_b, 1))]
    weights = dict(sample_weight_a=rng.exponential(size=n_a) + 0.05, sample_weight_b=2 * rng.exponential(size=n_b) + 0.1) if weighted else {}
    return (y[0], s_a, y[1], s_b), weights


def rejections(n_sets, n_a, n_b, ties, weighted, method, responses="binary", n_resamples=199):
    rng, p = np.random.default_rng(n_a + 7 * n_b + (ties or 5) + 100 * weighted), []
    for _ in range(n_sets):
        data, weights = matched(rng, n_a, n_b, ties, weighted, responses)
        graph = comparison_graph(*data, **weights, method=method, n_resamples=n_resamples, rng=rng)
        p.append((graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue))
    return 100 * np.mean(np.array(p) <= 0.05, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("n_a, n_b, ties, weighted, responses", [(50, 50, None, False, "binary"), (120, 60, 1, True, "binary"), (100, 150, 2, False, "real")])
def test_level_in_brief(n_a, n_b, ties, weighted, responses):
    rates = rejections(500, n_a, n_b, ties, weighted, "auto", responses)
    assert (rates > 1.8).all() and (rates < 8.5).all(), rates        # 500 sets: one standard error is 1 %


def test_level_of_the_limit_in_brief():
    rates = rejections(600, 1500, 2000, None, True, "asymptotic")
    assert (rates > 1.5).all() and (rates < 8).all(), rates


def test_level_of_a_subpopulation_in_brief():
    rng, p = np.random.default_rng(12), []
    for _ in range(400):
        s = np.round(rng.uniform(size=300), 2)
        y, member = (rng.uniform(size=300) < s).astype(float), rng.uniform(size=300) < 0.3 * s
        graph = subpopulation_graph(y, s, member, n_resamples=99, rng=rng)
        p.append((graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue))
    rates = 100 * np.mean(np.array(p) <= 0.05, axis=0)
    assert (rates > 1.5).all() and (rates < 9).all(), rates


@pytest.mark.slow
@pytest.mark.parametrize("n_a, n_b, n_sets", [(50, 50, 6000), (200, 300, 4000), (50, 1000, 3000), (1500, 1000, 3000), (50, 20000, 600), (20000, 15000, 800)])
@pytest.mark.parametrize("ties", [None, 2, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_level(n_a, n_b, n_sets, ties, weighted):
    rates = rejections(n_sets, n_a, n_b, ties, weighted, "auto", n_resamples=199 if n_a + n_b < 10000 else 99)
    error = 100 * np.sqrt(0.05 * 0.95 / n_sets)
    assert (rates > 3 - 2 * error).all() and (rates < 6 + 2 * error).all(), rates


# ---- slopes, pictures


def test_steepest_finds_the_deviation():
    rng = np.random.default_rng(3)
    s = rng.uniform(size=(2, 4000))
    y_a, y_b = (rng.uniform(size=4000) < 0.3 + 0.4 * (np.abs(s[0] - 0.6) < 0.05)).astype(float), (rng.uniform(size=4000) < 0.3).astype(float)
    found = comparison_graph(y_a, s[0], y_b, s[1]).steepest(0.08)
    assert 0.53 < found.score_low < found.score_high < 0.67 and found.value > 0.3 and found.confidence_interval.low < 0.4 < found.confidence_interval.high + 0.1
    np.testing.assert_allclose(found.to_frame().loc[0, "value"], found.value)


def test_decimation_keeps_extremes_and_order():
    y = np.cumsum(np.random.default_rng(1).normal(size=200_000))
    x = np.linspace(0, 1, y.size)
    kept = visible_points(x, y)
    kept_x, kept_y = x[kept], y[kept]
    assert kept_x.size <= 4000 and (np.diff(kept_x) > 0).all()
    for column in range(0, 1000, 37):
        full, kept = np.minimum((x * 1000).astype(int), 999) == column, np.minimum((kept_x * 1000).astype(int), 999) == column
        assert (y[full].min(), y[full].max(), y[full][0], y[full][-1]) == (kept_y[kept].min(), kept_y[kept].max(), kept_y[kept][0], kept_y[kept][-1])


def test_plots_are_small_and_their_labels_do_not_collide():
    rng = np.random.default_rng(1)
    s = rng.beta(0.3, 0.3, (2, 60_000))
    graph = comparison_graph((rng.uniform(size=60_000) < s[0]).astype(float), s[0], (rng.uniform(size=60_000) < s[1]).astype(float), s[1])
    ax = graph.plot(expectation=graph)
    buffer = io.BytesIO()
    ax.figure.savefig(buffer, format="svg")
    assert buffer.tell() < 300_000
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(boxes) >= 4 and all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:]))
    plt.close(ax.figure)
    for skew in (0.02, 0.5, 1.0):
        t = rng.uniform(size=(2, 500))**(1 / skew)
        other = comparison_graph(np.zeros(500), t[0], np.ones(500), t[1], method="asymptotic").plot()
        other.figure.canvas.draw()
        boxes = [label.get_window_extent() for label in other.get_xticklabels() if label.get_text()]
        assert all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:]))
        plt.close(other.figure)


def test_paired_reliability_bins():
    rng = np.random.default_rng(4)
    (y_a, s_a, w_a), (y_b, s_b, w_b) = (drawn(rng, "binary", "distinct", True, n) for n in (400, 300))
    noise = paired_reliability(y_a, s_a, y_b, s_b, n_bins=8, strategy="noise").to_frame()
    assert noise["count"].max() - noise["count"].min() <= 50 and (noise.groupby("group").size() == 8).all()
    for name, y, s, w in (("a", y_a, s_a, w_a), ("b", y_b, s_b, w_b)):
        rows = paired_reliability(y_a, s_a, y_b, s_b, n_bins=5, sample_weight_a=w_a, sample_weight_b=w_b).to_frame().pipe(lambda t, g=name: t[t["group"] == g]).reset_index(drop=True)
        edges = np.linspace(min(s_a.min(), s_b.min()), max(s_a.max(), s_b.max()), 6)
        for k in range(5):
            inside = (s > edges[k]) & (s <= edges[k + 1]) | (k == 0) & (s == edges[0])
            np.testing.assert_allclose(rows.loc[k, ["score", "response"]].astype(float), [np.average(s[inside], weights=w[inside]), np.average(y[inside], weights=w[inside])])
        ratio = paired_reliability(y_a, s_a, y_b, s_b, n_bins=6, strategy="noise", sample_weight_a=w_a, sample_weight_b=w_b).to_frame().pipe(lambda t, g=name: t[t["group"] == g])
        start = np.r_[0, np.cumsum(ratio["count"])]
        heavy = w[np.argsort(s)]
        noises = [np.sqrt(np.sum(heavy[i:j]**2)) / heavy[i:j].sum() for i, j in zip(start, start[1:])]
        assert len(noises) == 6 and max(noises) < 1.35 * min(noises)
    ax = paired_reliability(y_a, s_a, y_b, s_b).plot()
    plt.close(ax.figure)


# ---- bad input

GOOD = dict(y_true_a=[0, 1, 1, 0], score_a=[0.1, 0.3, 0.5, 0.7], y_true_b=[1, 0, 1, 0], score_b=[0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize("options, match", [
    (dict(sample_weight_a=[1, 1, 1, 1]), "together"), (dict(sample_weight_a=[1, -1, 1, 1], sample_weight_b=[1] * 4), "sample_weight_a.*1 of 4"),
    (dict(method="exact"), "method"),
])
def test_comparison_refuses_bad_options(options, match):
    with pytest.raises((ValueError, TypeError), match=match): comparison_graph(**GOOD, **options)


@pytest.mark.parametrize("call, match", [
    (lambda: calibration_graph([0, 3], [0.1, 0.2], method="exact"), "method"),
    (lambda: calibration_graph([0, 1], [0.1, 0.2], sample_weight=[1, -1]), "sample_weight"),
    (lambda: subpopulation_graph([0, 1, 1], [1, 2, 3], [0, 0, 0]), "member"), (lambda: subpopulation_graph([0, 1, 1], [1, 2, 3], [1, 1, 1]), "member"),
    (lambda: comparison_graph(**GOOD, rng=0).slope(0.9, 1.0), "low and high"), (lambda: comparison_graph(**GOOD, rng=0).slope(0.5, 0.4), "low and high"),
    (lambda: comparison_graph(**GOOD, rng=0).steepest(1.5), "share"), (lambda: comparison_graph(**GOOD, rng=0).slope(0, 1, confidence=1), "confidence"),
])
def test_bad_input_is_named(call, match):
    with pytest.raises((ValueError, TypeError), match=match): call()


def test_results_are_frozen_and_show_themselves():
    graph = comparison_graph(**GOOD, rng=0)
    assert isinstance(graph, CumulativeGraph)
    with pytest.raises(AttributeError): graph.kuiper = 0
    assert len(graph.to_frame()) == graph.score.size and "permutation" in graph._repr_html_() and "limits" in graph.slope(0, 1)._repr_html_()
    same = [comparison_graph(**{k: kind(v) for k, v in GOOD.items()}, rng=0).ordinate.tolist() for kind in (np.array, pd.Series, list)]
    assert same[0] == same[1] == same[2]


def test_a_graph_says_whether_it_found_a_difference():
    "By Kuiper's test at 5 %, for each kind of graph, with what is not there (equal groups) and with what is (0.3 apart)."
    rng = np.random.default_rng(4)
    s, t = rng.random(400), rng.random(400)
    for apart, says in ((0.3, "invalid"), (0.0, "inconclusive")):
        y, z = ((rng.random(400) < 0.3 + more).astype(float) for more in (apart, 0))
        found = (comparison_graph(y, s, z, t, rng=1), subpopulation_graph(np.r_[y, z], np.r_[s, t], np.arange(800) < 400, rng=1),
                 calibration_graph(y, np.full(400, 0.3) + 1e-3 * s, rng=1))
        for graph in found:
            assert (graph.kuiper_pvalue <= 0.05) == (apart > 0) and graph.finding.status == says, graph.sentence
            assert p_text(graph.kuiper_pvalue) in graph.sentence and signed(graph.average_difference) in graph.sentence


def test_scores_that_are_not_equal_are_said_not_to_be():
    "Both groups calibrated, one at a single score: 22 % of p-values are below 5 %. Mutations: no parabola, no level for each group."
    like, unlike = 0, 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 3])
        s = rng.beta(2, 5, 600)
        graph = comparison_graph((rng.random(600) < s).astype(float), s, (rng.random(600) < 0.5).astype(float), np.full(600, 0.5), rng=seed, n_resamples=199)
        like += graph.sentence.startswith("At equal scores the two groups differ (")
        unlike += graph.sentence.startswith("The two groups differ, but scores are not equal, which may explain it (")
        assert graph.scores_may_explain == (graph.finding.reason == "scores")
    assert like <= 8 and unlike >= 4
    s, t = np.random.default_rng(1).beta(2, 5, (2, 600))
    for shift in (0.15, -0.15):  # a true difference at dense scores stays one, and so does one at a single score that all hold
        rng = np.random.default_rng(4)
        assert comparison_graph((rng.random(600) < s).astype(float), s, (rng.random(600) < t + shift).astype(float), t, rng=1).sentence.startswith("At equal scores the two groups differ (")
        assert not comparison_graph((rng.random(600) < 0.5).astype(float), np.full(600, 0.5), (rng.random(600) < 0.5 + shift).astype(float), np.full(600, 0.5), rng=1).scores_may_explain
    everyone, member = np.r_[s, np.full(600, 0.5)], np.arange(1200) >= 600
    graph = subpopulation_graph((np.random.default_rng(1).random(1200) < everyone).astype(float), everyone, member, rng=1)
    assert graph.scores_may_explain and "The group differs from everyone, but scores are not equal" in graph.sentence


@pytest.mark.parametrize("make", [lambda w: np.tile(w[:, None], 80), lambda w: np.zeros((w.size, 80)), lambda w: np.ones((w.size, 80)),
                                  lambda w: w[:, None] * np.linspace(0.5, 1.5, 80)])
def test_replicate_weights_that_say_nothing_are_refused(make):
    "Mutation: they are taken, and leave a null scale of zero, beside which all differs."
    rng = np.random.default_rng(1)
    s, w = rng.random((2, 300)), rng.uniform(1, 3, (2, 300))
    with pytest.raises(ValueError, match="replicate_weights must differ from each other and from multiples of the weights"):
        comparison_graph(s[0], s[0], s[1], s[1], sample_weight_a=w[0], sample_weight_b=w[1], replicate_weights=(make(w[0]), make(w[1])))
