"""Eight tests of calibration as one: level, power, limits that hold together, and what they cost."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from uqcal.probabilities.calibration import calibration_report
from uqcal.probabilities.joint_tests import _TESTS, joint_tests
from uqcal.probabilities.slope import _coefficients_of, _held_together
from uqcal.probabilities.walk import _walk_of

EDGES = np.arange(16) / 15


def rejected(truth, n, sets, seed, *, bins=None, **more):
    "In how many sets (%) the tests together reject."
    count = 0
    for k in range(sets):
        rng = np.random.default_rng([seed, k])
        z = rng.normal(-1, 1, n)
        p = expit(z)
        if bins is not None: p = p.round(bins)
        y = (rng.random(n) < truth(p, z)) * 1.0
        count += joint_tests(_walk_of(y, p, np.ones(n)), EDGES, n_resamples=199, rng=rng, **more).pvalue <= 0.05
    return 100 * count / sets


@pytest.mark.parametrize(("n", "bins"), [(60, None), (200, 1)])
def test_right_probabilities_are_rejected_as_often_as_stated(n, bins):
    "400 sets at 5 %: more than 32 of them happen with a probability of 0.5 %. Mutation: Holm's minimum without joint draws (2 %), ranks without row 0 (9 %)."
    assert 2 <= rejected(lambda p, z: p, n, 400, 1, bins=bins) <= 8


@pytest.mark.parametrize(("truth", "least", "most"), [
    (lambda p, z: expit(0.8 * z - 0.2), 25, 47), (lambda p, z: expit(0.7 * z - 0.3), 62, 84)])
def test_a_slope_is_found_as_often_as_on_the_page(truth, least, most):
    "150 sets of 600 rows, slopes of .8 and .7 about the mean: 35 and 73 %, within three standard errors."
    assert least <= rejected(truth, 600, 150, 2) <= most


def slow(walk):
    "The eight statistics in plain numpy, not scaled."
    p, y, w = walk.score, walk.outcome, walk.weight
    e, v = w * (y - p), w * w * p * (1 - p)
    total = np.cumsum(e)[walk.end - 1]
    bins = np.searchsorted(EDGES[1:] * (1 + 1e-12), p)
    start = np.repeat(np.r_[0, walk.end[:-1]], np.diff(walk.end, prepend=0))
    end = np.repeat(walk.end, np.diff(walk.end, prepend=0))
    tenth = np.minimum((start + end) / 2 / walk.n * 10, 9).astype(int)
    at = logit(p) - np.average(logit(p), weights=v)
    u = e.sum() / np.sqrt(v.sum()), e @ at / np.sqrt(v @ at**2)
    return {"kolmogorov_smirnov": np.abs(total).max(), "kuiper": max(total.max(), 0) - min(total.min(), 0), "spiegelhalter": abs(e @ (1 - 2 * p)),
            "ece": np.abs(np.bincount(bins, e)).sum(), "hosmer_lemeshow": sum(e[tenth == g].sum()**2 / v[tenth == g].sum() for g in set(tenth)),
            "offset": abs(u[0]), "slope": abs(u[1]), "offset_and_slope": u[0]**2 + u[1]**2}


@pytest.mark.parametrize("digits", [15, 1])
def test_statistics_are_those_of_the_slow_twin(digits):
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 300).round(digits)
    walk = _walk_of((rng.random(300) < p) * 1.0, p, np.ones(300))
    found = joint_tests(walk, EDGES, n_resamples=99, rng=1)
    scale = dict(zip(_TESTS, [np.sqrt(walk.variance)] * 2 + [np.sqrt(walk.brier_variance), walk.total_weight] + [1.0] * 4))
    for name, value in zip(found.names, found.statistics): assert value == pytest.approx(slow(walk)[name] / scale[name], rel=1e-9), name


def test_one_probability_is_one_question():
    y = (np.random.default_rng([5, 7]).random(300) < 0.11) * 1
    report = calibration_report(y, np.full(300, 0.07), rng=5)
    law, off = stats.binom(300, 0.07), abs(y.sum() - 21)
    exact = law.cdf(21 - off) + law.sf(21 + off - 1)
    assert report.tests.method == "binomial" and set(np.round(report.tests.adjusted, 12)) == {round(exact, 12)}
    assert abs(exact - stats.binomtest(int(y.sum()), 300, 0.07).pvalue) < 0.01 and report["locally"].pvalue == report["overall"].pvalue == exact


def test_normal_blocks_agree_with_drawn_rows():
    rng = np.random.default_rng(3)
    z = rng.normal(-1, 1, 20_000)
    walk = _walk_of((rng.random(z.size) < expit(z - 0.01)) * 1.0, expit(z), np.ones(z.size))
    blocks, rows = joint_tests(walk, EDGES, rng=1), joint_tests(walk, EDGES, method="exact", n_resamples=999, rng=1)
    assert (blocks.method, rows.method) == ("asymptotic", "exact")
    np.testing.assert_allclose(blocks.alone, rows.alone, atol=0.05)


def test_limits_leave_out_what_is_stated_only_where_a_fault_is_shown():
    "40 sets of slope .8, a shift, clusters, weights, one probability. Mutation: limits of 95 % each (eleven contradictions in 80 sets)."
    shown = 0
    for k in range(40):
        rng = np.random.default_rng([9, k])
        z = rng.normal(-1, 1, 300)
        p = np.full(300, 0.3) if k % 5 == 4 else expit(z)
        y = (rng.random(300) < (np.full(300, 0.35) if k % 5 == 4 else expit(0.8 * z - 0.1))) * 1
        more = {1: {"groups": np.arange(300) // 4}, 2: {"sample_weight": rng.exponential(size=300)}, 3: {"groups": np.arange(300) // 10}}.get(k % 5, {})
        report = calibration_report(y, p, n_boot=9, rng=1, n_resamples=999, **more)
        for one in report.findings[:-2]:
            outside, fault = not one.low <= 1 <= one.high, one.status in ("invalid", "minor")
            shown += fault
            assert outside == fault == (one.pvalue <= 0.05), (k, one)
            assert (one.status in ("valid", "minor")) == (0.8 <= one.low and one.high <= 1.25)
        assert report.verdict != "invalid" or report.tests.pvalue <= 0.05
    assert shown >= 5


def test_limits_held_together():
    def limit(tail, side): return 1.2 + side * stats.norm.isf(tail) * 0.1
    shown = _held_together(limit, 1.2, 1.0, shown=True, alone=0.01, critical=0.012, level=0.05)
    assert 1 < shown.low < 1.01 and shown.high == pytest.approx(limit(0.044, 1))
    assert _held_together(limit, 1.2, 1.0, shown=False, alone=0.03, critical=0.012, level=0.05).low == 1.0


def test_limits_of_the_slope_hold_with_clusters_and_weights():
    "100 sets each: 20 clusters of 20 and exponential weights, of which curvature misses a fifth and more. At most 12 misses of 95 % limits."
    missed = np.zeros(2)
    for k in range(100):
        rng = np.random.default_rng([4, k])
        z = rng.normal(-1, 1, 400)
        u = stats.norm.cdf(0.45 * rng.normal(size=20)[np.arange(400) // 20] + np.sqrt(1 - 0.45**2) * rng.normal(size=400))
        w = rng.exponential(size=400)
        for j, (y, weight, cluster) in enumerate([(u < expit(z), np.ones(400), np.arange(400) // 20), (rng.random(400) < expit(z), w / w.max(), None)]):
            slope = _coefficients_of(_walk_of(y * 1.0, expit(z), weight, cluster))["calibration slope"]
            missed[j] += not slope.limit(0.025, -1) <= 1 <= slope.limit(0.025, 1)
    assert missed.max() <= 12


@pytest.mark.parametrize("digits", [15, 2])
def test_a_report_sorts_fewer_than_thirty_times_and_checks_once(digits, monkeypatch):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.02, 0.98, 4000).round(digits)
    y = (rng.random(4000) < p) * 1
    calls = {"sorted": 0, "checked": 0}

    def counted(function, kind):
        def call(*args, **more):
            calls[kind] += 1
            return function(*args, **more)
        return call

    for name in ("sort", "argsort", "lexsort", "unique"): monkeypatch.setattr(np, name, counted(getattr(np, name), "sorted"))
    from uqcal.probabilities import calibration, reliability, walk
    for room in (calibration, reliability, walk): monkeypatch.setattr(room, "check_weighted", counted(room.check_weighted, "checked"))
    calibration_report(y, p, n_boot=99, n_resamples=99, rng=1)
    assert calls["sorted"] < 30 and calls["checked"] == 1, calls
