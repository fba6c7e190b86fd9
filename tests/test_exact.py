"""Statistics against arithmetic with 120 digits, on input that loses digits: 250 orders of magnitude, cancellation, ten million terms, float32."""
import math
import warnings

import mpmath
import numpy as np
from every_case import every_case
import pytest

from uqcal.errors.bias import bias_test
from uqcal.probabilities.calibration_tests import kolmogorov_smirnov_test, kuiper_test, spiegelhalter_test
from uqcal.intervals.intervals import regression_coverage_score, regression_mean_width_score, regression_mwi_score
from uqcal.probabilities.reliability import expected_calibration_error
from uqcal.comparison.scores import brier_score, crps, interval_score, log_score, negative_log_density
from uqcal.statistics.statistics import cc, ence, nll, rce, zms, zmse
from uqcal.probabilities.walk import cumulative_differences

N = 400
rng = np.random.default_rng(1)
z, spread, sign = rng.standard_normal(N), np.exp(rng.normal(0, 0.5, N)), np.sign(rng.standard_normal(N))
wide = 10.0**rng.uniform(-125, 125, N)
ERRORS = {
    "plain": (z * spread, spread), "small": (1e-140 * z * spread, 1e-140 * spread), "large": (1e140 * z * spread, 1e140 * spread),
    "wide": (wide * z, wide), "far": (spread * (z + 1e8 * sign), spread), "nearly nothing": (1e-140 * z, spread), "as stated": (spread * sign, spread),
    "one of a size": (np.where(np.arange(N) == 7, 1e100, 1.0) * z, np.ones(N) + 1e-9 * spread),
}
p = rng.uniform(size=N)
y = (rng.uniform(size=N) < p).astype(float)
rare = 10.0**rng.uniform(-300, -1, N)
near = np.where(sign > 0, rare, 1 - 1e-16 * rng.integers(1, 2000, N))
PROBABILITIES = {"plain": (y, p), "rare": ((np.arange(N) % 97 == 0).astype(float), rare), "near 0 and 1": ((sign < 0).astype(float), near),
                 "denormal": (y, np.maximum(5e-324, 1e-310 * p)), "halves": (y, np.full(N, 0.5)), "tied": (y, np.round(p, 1).clip(0.1, 0.9))}


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(120): yield


def exact(values): return [mpmath.mpf(float(value)) for value in values]
def mean(values): return mpmath.fsum(values) / len(values)
def root_mean_square(values): return mpmath.sqrt(mean([one**2 for one in values]))
def parts(e, u): return [(e[rows], u[rows]) for rows in np.array_split(np.argsort(u, kind="stable"), 10)]


def exact_crps(e, u):
    z = e / u
    return u * (z * mpmath.erf(z / mpmath.sqrt(2)) + 2 * mpmath.npdf(z) - 1 / mpmath.sqrt(mpmath.pi))


def exact_correlation(e, u):
    rank = [np.argsort(np.argsort(x, kind="stable"), kind="stable") for x in (np.abs(e), u)]  # no ties in what is compared
    a, b = ([one - mpmath.mpf(N - 1) / 2 for one in map(int, x)] for x in rank)
    return mpmath.fsum(x * y for x, y in zip(a, b)) / mpmath.sqrt(mpmath.fsum(x**2 for x in a) * mpmath.fsum(y**2 for y in b))


def squares(e, u): return [(a / b)**2 for a, b in zip(exact(e), exact(u))]


TWINS = {  # ours, exact, and the size against which an error is measured where the value may vanish
    "zms": (zms, lambda e, u: mean(squares(e, u)), 0),
    "nll": (nll, lambda e, u: mean([s / 2 + mpmath.log(b) + mpmath.log(2 * mpmath.pi) / 2 for s, b in zip(squares(e, u), exact(u))]), 400),
    "rce": (rce, lambda e, u: 1 - root_mean_square(exact(e)) / root_mean_square(exact(u)), 1),
    "ence": (lambda e, u: ence(e, u, n_bins=10), lambda e, u: mean([abs(1 - root_mean_square(exact(a)) / root_mean_square(exact(b))) for a, b in parts(e, u)]), 1),
    "zmse": (lambda e, u: zmse(e, u, n_bins=10), lambda e, u: mean([abs(mpmath.log(mean(squares(a, b)))) for a, b in parts(e, u)]), 1),
    "cc": (cc, exact_correlation, 1),
    "crps": (lambda e, u: np.mean(crps(e, u)), lambda e, u: mean([exact_crps(a, b) for a, b in zip(exact(e), exact(u))]), 0),
    "log density": (lambda e, u: np.mean(negative_log_density(e, u)), lambda e, u: mean([s / 2 + mpmath.log(b) + mpmath.log(2 * mpmath.pi) / 2 for s, b in zip(squares(e, u), exact(u))]), 400),
    "bias": (lambda e, u: bias_test(e, u, n_resamples=99, rng=1).estimate, lambda e, u: mean([a / b for a, b in zip(exact(e), exact(u))]), 0),
    "width": (lambda e, u: regression_mean_width_score(np.column_stack([e - u, e + u])), lambda e, u: mean([b - a for a, b in zip(exact(e - u), exact(e + u))]), 0),
    "coverage": (lambda e, u: regression_coverage_score(e, np.column_stack([-u, u])), lambda e, u: mean([mpmath.mpf(int(abs(a) <= b)) for a, b in zip(e, u)]), 0),
}


def in_last_places(got, true, scale):
    "An error in units in the last place of the true value, or of the scale where that is larger."
    return float(abs(mpmath.mpf(float(got)) - true)) / np.spacing(max(abs(float(true)), scale, 1e-300))


@every_case("name", TWINS)
def test_statistics_of_errors(name):
    ours, twin, scale = TWINS[name]
    for kind, (e, u) in ERRORS.items():
        if name == "cc" and kind in ("as stated", "one of a size"): e = e * (1 + 1e-3 * z)  # no ties
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = ours(e, u)
        if name == "bias": scale = float(max(abs(np.asarray(e) / u)))  # signs cancel
        assert in_last_places(got, twin(e, u), scale) < (40 if name == "ence" else 10), kind


def exact_walk(y, p):
    order = np.argsort(p, kind="stable")
    total, ends = mpmath.mpf(0), [mpmath.mpf(0)]
    for a, b, is_last in zip(exact(y[order]), exact(p[order]), [*(np.diff(p[order]) > 0), True]):
        total += a - b
        if is_last: ends.append(total)
    return [one / N for one in ends]


def exact_deviation(p): return mpmath.sqrt(mpmath.fsum(b * (1 - b) for b in exact(p)))


def exact_ece(y, p):
    cell = np.minimum((p * 10).astype(int), 9)  # edges of ten bins; no score of these sets lies on one, apart from those of "tied"
    return mpmath.fsum(abs(mpmath.fsum(a - b for a, b in zip(exact(y[cell == k]), exact(p[cell == k])))) for k in range(10)) / N


OF_PROBABILITIES = {
    "Brier": (lambda y, p: np.mean(brier_score(y, p)), lambda y, p: mean([(a - b)**2 for a, b in zip(exact(y), exact(p))])),
    "log loss": (lambda y, p: np.mean(log_score(y, p)), lambda y, p: mean([-mpmath.log(b if a else 1 - b) for a, b in zip(y, exact(p))])),
    "KS": (lambda y, p: kolmogorov_smirnov_test(y, p, method="asymptotic").statistic, lambda y, p: max(map(abs, exact_walk(y, p))) * N / exact_deviation(p)),
    "Kuiper": (lambda y, p: kuiper_test(y, p, method="asymptotic").statistic, lambda y, p: (max(exact_walk(y, p)) - min(exact_walk(y, p))) * N / exact_deviation(p)),
    "Spiegelhalter": (lambda y, p: spiegelhalter_test(y, p).statistic,
                      lambda y, p: mpmath.fsum((a - b) * (1 - 2 * b) for a, b in zip(exact(y), exact(p))) / mpmath.sqrt(mpmath.fsum((1 - 2 * b)**2 * b * (1 - b) for b in exact(p)))),
    "ECE": (lambda y, p: expected_calibration_error(y, p, n_bins=10), exact_ece),
}


@every_case("name", OF_PROBABILITIES)
def test_statistics_of_probabilities(name):
    ours, twin = OF_PROBABILITIES[name]
    for kind, (y, p) in PROBABILITIES.items():
        if (name, kind) == ("Spiegelhalter", "halves"):
            with pytest.raises(ValueError, match="no variance"): ours(y, p)
        else: assert in_last_places(ours(y, p), twin(y, p), 1.0 if name == "ECE" else 0.0) < 30, kind


def test_a_walk_keeps_its_digits():
    "Each step, not its end alone: in units in the last place of the largest sum."
    y, p = PROBABILITIES["plain"]
    walk = exact_walk(y, p)[1:]
    got = cumulative_differences(y, p)
    assert len(got) == len(walk) and max(in_last_places(a, b, float(max(map(abs, walk)))) for a, b in zip(got, walk)) < 10


def test_scores_of_an_interval():
    e, u = ERRORS["wide"]
    for score, got in (("width", regression_mwi_score(e, np.column_stack([-u, u]), 0.9)), ("one by one", np.mean(interval_score(e, -u, u, 0.9)))):
        true = mean([2 * b + 2 / (1 - mpmath.mpf(0.9)) * max(abs(a) - b, 0) for a, b in zip(exact(e), exact(u))])
        assert in_last_places(got, true, 0.0) < 10, score


@pytest.mark.slow
def test_ten_million_terms_lose_no_more_than_a_few_digits():
    "Against sums without rounding: sums in a row would be wrong by a thousand times as much in the worst case."
    n = 10_000_000
    p = np.random.default_rng(2).uniform(size=n)
    y = (np.random.default_rng(3).uniform(size=n) < p).astype(float)
    e = p - 0.5
    assert zms(e, p + 0.1) == pytest.approx(math.fsum((e / (p + 0.1))**2) / n, rel=1e-13)
    assert np.mean(brier_score(y, p)) == pytest.approx(math.fsum((y - p)**2) / n, rel=1e-13)
    deviation = math.sqrt(math.fsum(p * (1 - p)))
    order = np.argsort(p)
    walk = np.cumsum((y - p)[order].astype(np.longdouble))
    walk = np.append(0, walk[np.append(np.diff(p[order]) > 0, True)])
    assert kuiper_test(y, p, method="asymptotic").statistic == pytest.approx(float(np.ptp(walk)) / deviation, rel=1e-10)
    assert kolmogorov_smirnov_test(y, p, method="asymptotic").statistic == pytest.approx(float(np.abs(walk).max()) / deviation, rel=1e-10)


def test_single_precision_is_taken_as_it_is_written_and_computed_in_double():
    (e, u), q = (x.astype(np.float32) for x in ERRORS["plain"]), p.astype(np.float32)
    as_written = [np.array([float(str(x)) for x in column]) for column in (e, u, q)]
    for name, (ours, _, _) in TWINS.items():
        if name != "width": assert ours(e, u) == ours(*as_written[:2])
    for ours, _ in OF_PROBABILITIES.values(): assert ours(y.astype(np.float32), q) == ours(y, as_written[2])


@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e300])
def test_sizes_whose_squares_leave_the_range_of_floats_are_refused(size):
    e, u = size * z, np.maximum(size * spread, 5e-324)
    with pytest.raises(ValueError, match="so that squares"): zms(e, u)
