"""Scores: closed forms against scoringrules, integrals and plain Python; what a shift, a factor or a curve gains on points that it was not learnt from."""
import math

import numpy as np
import pytest
from scipy import integrate, stats

from uqcal.intervals.intervals import regression_mwi_score
from uqcal.comparison.scores import _ErrorScoring, _OutcomeScoring, _best_factor, _best_shift, brier_score, crps, _held_out_points, interval_score, log_score, negative_log_density, _split_rows


def made(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, n), np.exp(rng.normal(0, 1, n)), rng


def after_each(scoring, columns, n_units=None, seed=1):
    "Mean scores as stated and after each correction, on held-out points."
    n = columns[0].size
    steps = scoring.steps(n if n_units is None else n_units)[:-1]
    found = _held_out_points(scoring, columns, steps, _split_rows(np.arange(n), np.random.default_rng(seed)))
    return [scoring.points(*columns).mean(), *(found[step].mean() for step in steps)]


# --- closed forms --------------------------------------------------------------------------------------------------------------------

@pytest.mark.slow  # it compiles for ten seconds when it is imported
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_scores_agree_with_scoringrules():
    peer = pytest.importorskip("scoringrules", reason="scoringrules is not installed")
    error, u, rng = made()
    np.testing.assert_allclose(crps(error, u), peer.crps_normal(error, 0.0, u, backend="numpy"), rtol=1e-12, atol=1e-12)
    near = np.abs(error / u) < 30  # beyond, the density that they take the log of is zero
    np.testing.assert_allclose(negative_log_density(error, u)[near], peer.logs_normal(error, 0.0, u, backend="numpy")[near], rtol=1e-12, atol=1e-12)
    for dof in (2.1, 3, 6, 30, 100):
        scale = u * math.sqrt((dof - 2) / dof)
        np.testing.assert_allclose(crps(error, u, dof=dof), peer.crps_t(error, dof, 0.0, scale, backend="numpy"), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(negative_log_density(error, u, dof=dof), peer.logs_t(error, dof, 0.0, scale, backend="numpy"), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(interval_score(error, -u, 2 * u, 0.9), peer.interval_score(error, -u, 2 * u, 0.1, backend="numpy"), rtol=1e-12, atol=1e-11)
    y, p = (error > 0).astype(float), rng.uniform(0.01, 0.99, error.size)
    np.testing.assert_allclose(brier_score(y, p), peer.brier_score(y, p, backend="numpy"), rtol=1e-12)


@pytest.mark.parametrize("dof", [2.2, 4, 25, np.inf])
def test_crps_is_the_integral_that_defines_it(dof):
    stated = stats.norm() if dof == np.inf else stats.t(dof, scale=math.sqrt((dof - 2) / dof))
    for error in (0.0, 0.3, -2.0, 9.0):
        reach = [integrate.quad(f, *ends, epsabs=1e-11, limit=400)[0] for f, ends in ((lambda x: stated.cdf(x)**2, (-np.inf, error)), (lambda x: stated.sf(x)**2, (error, np.inf)))]
        np.testing.assert_allclose(crps([error], [1.0], dof=dof), sum(reach), rtol=1e-6)


def test_scores_are_those_of_plain_python():
    error, u, _ = made(50)
    for e, s, c, density, score in zip(error, u, crps(error, u), negative_log_density(error, u), interval_score(error, -u, u, 0.8)):
        z = e / s
        cdf, pdf = 0.5 * (1 + math.erf(z / math.sqrt(2))), math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        assert abs(c - s * (z * (2 * cdf - 1) + 2 * pdf - 1 / math.sqrt(math.pi))) < 1e-12 * max(1, abs(e))
        assert abs(density - (math.log(s) + z * z / 2 + 0.5 * math.log(2 * math.pi))) < 1e-10
        assert abs(score - (2 * s + 10 * max(0.0, -s - e) + 10 * max(0.0, e - s))) < 1e-11
    assert log_score([1, 0, 1], [0.25, 0.25, 1.0]) == pytest.approx([math.log(4), -math.log(0.75), 0.0])
    assert np.isinf(log_score([0, 1], [1.0, 0.0])).all() and brier_score([1, 0], [0.25, 0.25]).tolist() == [0.5625, 0.0625]


def test_the_mean_interval_score_is_the_one_of_mapies_name():
    error, u, _ = made(300)
    np.testing.assert_allclose(interval_score(error, -u, 1.5 * u, 0.9).mean(), regression_mwi_score(error, np.column_stack([-u, 1.5 * u]), 0.9), rtol=1e-12)


def test_the_unit_multiplies_crps_and_moves_the_log_score():
    error, u, _ = made()
    for dof in (5.0, np.inf):
        np.testing.assert_allclose(crps(1000 * error, 1000 * u, dof=dof), 1000 * crps(error, u, dof=dof), rtol=1e-12)
        np.testing.assert_allclose(negative_log_density(1000 * error, 1000 * u, dof=dof), negative_log_density(error, u, dof=dof) + math.log(1000), rtol=1e-9)


def test_far_out_and_near_zero_nothing_is_lost():
    assert crps([1e140], [1.0])[0] == pytest.approx(1e140) and crps([3.0], [1e-140])[0] == pytest.approx(3)
    assert crps([0.0], [1e150])[0] == pytest.approx(1e150 * (math.sqrt(2) - 1) / math.sqrt(math.pi))
    assert np.isfinite(crps([1e100], [1e-40], dof=2.5)).all() and (crps([0.0, 1e-300], [1.0, 1.0], dof=3.0) > 0).all()


@pytest.mark.parametrize("dof", [3.0, 999.0])
def test_nobody_expects_less_from_another_uncertainty(dof):
    "A hundred thousand errors of the stated distribution; the least mean lies within 5 % of the uncertainty that they have."
    draws = stats.t.ppf((np.arange(100_000) + 0.5) / 100_000, dof) * math.sqrt((dof - 2) / dof)
    for score in (crps, negative_log_density):
        mean = [score(draws, np.full(draws.size, s), dof=dof).mean() for s in (0.85, 0.95, 1.0, 1.05, 1.18)]
        assert np.argmin(mean) == 2


# --- corrections ---------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scoring", [_ErrorScoring("log"), _ErrorScoring("log", dof=4.0), _ErrorScoring("crps"), _ErrorScoring("crps", dof=4.0), _ErrorScoring("interval", level=0.8)], ids=str)
def test_shift_and_factor_are_the_best_there_are(scoring):
    error, u, rng = made(700, 3)
    error = error + 0.8
    fitting = _best_factor(scoring, error - np.median(error), u) * u
    for found, score in ((_best_shift(scoring, error, u), lambda a: scoring.points(error - a, fitting).mean()), (_best_factor(scoring, error, u), lambda c: scoring.points(error, c * u).mean())):
        dense = found + np.linspace(-1, 1, 2001) * 0.9 * abs(found)
        assert score(found) <= min(map(score, dense[1:])) + 1e-6 * abs(score(found))
    # in another unit the same correction
    np.testing.assert_allclose(_best_factor(scoring, 1000 * error, 1000 * u), _best_factor(scoring, error, u), rtol=1e-3)
    np.testing.assert_allclose(_best_shift(scoring, 1000 * error, 1000 * u), 1000 * _best_shift(scoring, error, u), rtol=1e-3)


@pytest.mark.parametrize("scoring", [_ErrorScoring("log"), _ErrorScoring("crps"), _ErrorScoring("interval")], ids=lambda one: one.name)
def test_what_is_right_gains_nothing(scoring):
    _, u, rng = made(3000, 4)
    error = u * rng.standard_normal(u.size)
    stated, *after = after_each(scoring, (error, u if scoring.name != "interval" else stats.norm.ppf(0.95) * u))
    assert max(stated - one for one in after) < 0.004 * abs(stated)
    assert max(abs(stated - one) for one in after) < 0.02 * abs(stated)


def test_each_fault_is_recalibrated_by_its_own_step():
    _, u, rng = made(3000, 5)
    noise, log = rng.standard_normal(u.size), _ErrorScoring("log")
    for columns, step in (((noise + 1, np.ones(u.size)), 0), ((3 * u * noise, u), 1), ((u**2 * noise, u), 2)):
        gain = -np.diff(after_each(log, columns))
        assert gain[step] > 0.15 and np.abs(gain[step + 1:]).max(initial=0) < 0.02 and np.abs(gain[:min(step, 1)]).max(initial=0) < 0.02


def test_a_mend_learns_nothing_from_the_points_that_it_is_judged_by():
    "Pure noise in 40 points: in the sample any fit gains; held out, 200 sets lose on average, by three standard errors."
    rng, gains = np.random.default_rng(6), []
    for seed in range(200):
        error = rng.standard_normal(40)
        stated, *after = after_each(_ErrorScoring("log"), (error, np.ones(40)), seed=seed)
        gains.append(stated - after[-1])
    assert np.mean(gains) < -3 * np.std(gains) / math.sqrt(200)


def test_rows_that_belong_together_stay_in_one_split():
    unit = np.repeat(np.arange(37), 5)
    splits = _split_rows(unit, np.random.default_rng(0))
    assert sorted(np.concatenate([held for _, held in splits]).tolist()) == list(range(185))
    assert all(not set(unit[rest]) & set(unit[held]) for rest, held in splits)
    assert max(rest.size for rest, _ in _split_rows(np.arange(30_000), np.random.default_rng(0))) == 10_000


def test_probabilities_are_recalibrated_by_a_line_or_a_curve_and_never_impossible():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.02, 0.98, 3000)
    y = (rng.random(3000) < p).astype(float)
    sharp = 1 / (1 + ((1 - p) / p)**2)  # log-odds twice as large as they should be
    for name, least in (("log loss", 0.03), ("brier", 0.008)):
        right, wrong = after_each(_OutcomeScoring(name), (y, p)), after_each(_OutcomeScoring(name), (y, sharp))
        assert wrong[0] - wrong[1] > least and abs(wrong[1] - right[0]) < 0.002 and right[0] - min(right[1:]) < 0.001
    rare = (rng.random(200) < 0.02).astype(float)
    after = _held_out_points(_OutcomeScoring("log loss"), (rare, np.round(p[:200], 1)), ("line", "curve"), _split_rows(np.arange(200), rng))
    assert all(np.isfinite(points).all() for points in after.values())


@pytest.mark.parametrize("error, width", [(np.zeros(120), np.ones(120)), (np.r_[np.zeros(60), np.ones(60)], np.ones(120)), (np.ones(120), np.ones(120)), (np.arange(120.0), np.full(120, 1e80)), (np.arange(120.0), np.full(120, 1e-80))],
                         ids=["zeros", "half zeros", "all equal", "nearly infinite", "nearly zero"])
def test_degenerate_columns_have_scores_and_mends(error, width):
    for scoring in (_ErrorScoring("log"), _ErrorScoring("log", dof=3.0), _ErrorScoring("crps"), _ErrorScoring("interval")):
        maps = scoring.learn(scoring.steps(120), error, width)
        for fitted in maps.values():
            e, w = fitted(error, width)
            assert np.isfinite(e).all() and (w > 0).all()


def test_few_points_teach_less():
    assert _ErrorScoring("log").steps(19) == () and _ErrorScoring("log").steps(99) == _ErrorScoring("interval").steps(10**6) == ("shift", "factor", "flat")
    assert _OutcomeScoring("brier").steps(50) == ("line", "flat") and _OutcomeScoring("brier").steps(100) == ("line", "curve", "flat")


def test_flat_widths_know_the_size_of_errors_and_nothing_else():
    _, u, rng = made(2000, 8)
    error = u * rng.standard_normal(u.size) + 0.3
    splits = _split_rows(np.arange(2000), rng)
    for scoring in (_ErrorScoring("log"), _ErrorScoring("crps"), _ErrorScoring("interval")):
        stated, other = (_held_out_points(scoring, (error, widths), ("flat",), splits)["flat"].mean() for widths in (u, 7 * u))
        assert abs(stated / other - 1) < 1e-4
    plain = np.log(error.std()) + 0.5 * (1 + math.log(2 * math.pi))
    assert abs(_held_out_points(_ErrorScoring("log"), (error, np.ones(2000)), ("flat",), splits)["flat"].mean() - plain) < 0.03
    y = (rng.random(2000) < 0.3).astype(float)
    base = _held_out_points(_OutcomeScoring("brier"), (y, rng.random(2000)), ("flat",), splits)["flat"].mean()
    assert abs(base - y.mean() * (1 - y.mean())) < 0.001
