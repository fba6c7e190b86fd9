"""Cells of quantiles, ensembles and cdfs: reference values to their digits, slow twins, ties, and what is refused."""
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from uqcal.predictive.forecast_cells import _below_levels, _cell_polynomials, _forecast_cells, _pit_polynomials
from uqcal.predictive.forecast_tests import (_components_test, forecast_test, _joint_tail, _level_limits, _location_spread, _null_components, _row_dependence, _limits_of_share,
                                             _levels_shown)
from uqcal.statements import Distribution, MeanStd, Quantiles, Samples
from notebooks import ROOT

NINE = (.05, .1, .25, .4, .5, .6, .75, .9, .95)
SHARED = ROOT.parent / "shared" / "reference" / "distributions"
needs_reference = pytest.mark.skipif(not SHARED.exists(), reason="reference values are not here")


def nine(y, shift=0.0, scale=1.0, levels=NINE): return Quantiles(np.broadcast_to(shift + scale * special.ndtri(levels), (len(y), len(levels))), levels)


def series(rng, n):
    error = rng.normal(size=n)
    for t in range(1, n): error[t] = 0.6 * error[t - 1] + 0.8 * error[t]
    return error


@pytest.fixture
def reference():
    def read(name):
        held = json.loads((SHARED / f"{name}.json").read_text())
        return held["inputs"], held["values"]
    return read


@needs_reference
def test_quantiles_match_the_reference(reference):
    given, known = reference("quantiles")
    cells = _forecast_cells(given["y"], Quantiles(given["quantiles"], given["levels"]))
    assert cells.lowest.tolist() == known["cell"] and cells.n_tied == 0
    tests = known["cell_tests"]
    np.testing.assert_array_equal(cells.counts, tests["counts"])
    np.testing.assert_allclose(cells.components, tests["components_T1_to_T4"], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose((cells.components**2).sum(), tests["smooth_sum_of_squares"], rtol=1e-12)
    np.testing.assert_allclose(cells.edges[cells.lowest], known["pit_lowest"], rtol=1e-12)
    limits = _level_limits(cells, _row_dependence(cells, in_time=False))
    np.testing.assert_allclose(limits["observed"], known["share"], rtol=1e-12)
    np.testing.assert_allclose(limits[["low", "high"]], known["limits95_clopper_pearson"], rtol=1e-9)
    strict, weak = (np.array([_below_levels(cells, level)[k].sum() for level in given["levels"]]) for k in (0, 1))
    np.testing.assert_array_equal(strict, known["count_below"])
    np.testing.assert_array_equal(weak, known["count_at_or_below"])


@needs_reference
def test_an_ensemble_and_a_normal_match_the_reference(reference):
    given, known = reference("ensemble")
    cells = _forecast_cells(given["y"], Samples(given["members"]))
    np.testing.assert_array_equal(cells.lowest, known["rank_lowest"])
    np.testing.assert_array_equal(cells.counts, known["rank_counts_ties_shared"])
    np.testing.assert_allclose(cells.pit, known["pit_middle"], rtol=1e-12)
    np.testing.assert_allclose(cells.components, known["rank_tests"]["components_T1_to_T4"], rtol=1e-12)
    given, known = reference("normal")
    cells = _forecast_cells(given["y"], Distribution(stats.norm(given["mean"], given["sd"])))
    np.testing.assert_allclose(cells.pit, known["pit"], rtol=1e-12)
    np.testing.assert_allclose(cells.components, known["components_T1_to_T4"], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("edges", [(0, .5, 1), (0, .05, .95, 1), (0, *NINE, 1), tuple(k / 21 for k in range(22))])
def test_polynomials_are_orthonormal_like_a_slow_twin(edges):
    found, p = _cell_polynomials(np.array(edges, dtype=float)), np.diff(edges)
    np.testing.assert_allclose(found.T @ (p[:, None] * found), np.eye(found.shape[1]), atol=1e-12)
    np.testing.assert_allclose(p @ found, 0, atol=1e-12)
    exact = [Fraction(b) - Fraction(a) for a, b in zip(edges, edges[1:])]
    middle = [(Fraction(b) + Fraction(a)) / 2 for a, b in zip(edges, edges[1:])]
    basis = []
    for j in range(found.shape[1] + 1):
        one = [v**j for v in middle]
        for other in basis:
            along = sum(a * b * c for a, b, c in zip(exact, one, other)) / sum(a * b * b for a, b in zip(exact, other))
            one = [a - along * b for a, b in zip(one, other)]
        basis.append(one)
    slow = [[float(v) / float(sum(a * b * b for a, b in zip(exact, one)))**0.5 for v in one] for one in basis[1:]]
    np.testing.assert_allclose(found, np.transpose(slow), rtol=1e-7, atol=1e-9)


def test_legendre_polynomials_are_the_limit_of_many_cells():
    many = np.arange(2001) / 2000
    np.testing.assert_allclose(_pit_polynomials((many[1:] + many[:-1]) / 2), _cell_polynomials(many), atol=1e-4)


def test_ties_with_quantiles_take_the_placement_least_against_them():
    rng = np.random.default_rng(1)
    y = np.round(rng.normal(size=200), 1)
    cells = _forecast_cells(y, Quantiles(np.round(nine(y).values, 1), NINE))
    values, least = _cell_polynomials(cells.edges), (cells.components**2).sum()
    drawn = [(values[rng.integers(cells.lowest, cells.highest + 1)].sum(axis=0)**2).sum() / 200 for _ in range(300)]
    assert cells.n_tied > 20 and least <= min(drawn) + 1e-9
    np.testing.assert_allclose(cells.placement.sum(axis=1), 1)
    assert abs(cells.counts.sum() - 200) < 1e-9 and (cells.placement >= 0).all()


def test_ties_with_members_are_broken_at_random_and_ranks_stay_uniform():
    rng = np.random.default_rng(2)
    values = rng.poisson(1.0, (4000, 11))
    cells = _forecast_cells(values[:, 0].astype(float), Samples(values[:, 1:]), rng=1)
    assert cells.n_tied > 2000 and stats.chisquare(cells.counts).pvalue > 0.001
    again = _forecast_cells(values[:, 0].astype(float), Samples(values[:, 1:]), rng=1)
    np.testing.assert_array_equal(cells.pit, again.pit)


def test_a_cdf_that_jumps_gives_uniform_pits():
    y = stats.poisson(2.5).rvs(3000, random_state=3).astype(float)
    cells = _forecast_cells(y, Distribution(stats.poisson(np.full(3000, 2.5))), rng=1)
    assert cells.n_tied > 0 and stats.kstest(cells.pit, "uniform").pvalue > 0.001
    assert _forecast_cells(y + 0.5, Distribution(stats.norm(np.full(3000, 2.5), 1.6))).n_tied == 0


@pytest.mark.parametrize(("levels", "components"), [((0.5,), 1), ((0.1, 0.9), 2), ((0.1, 0.5, 0.9), 3), (NINE, 4)])
def test_few_quantiles_have_few_components(levels, components):
    y = np.random.default_rng(4).normal(size=80)
    cells = _forecast_cells(y, nine(y, levels=levels))
    assert cells.components.size == components == forecast_test(y, nine(y, levels=levels), n_resamples=99, rng=1).adjusted.size


def test_no_quantile_is_beyond_the_outermost_and_pits_are_never_zero_or_one():
    cells = _forecast_cells([-99.0, 99.0, 0.1], nine([0, 0, 0]))
    np.testing.assert_allclose(cells.pit, [0.025, 0.975, 0.55])


def test_exact_draws_have_mean_zero_and_variance_one():
    y = np.random.default_rng(5).normal(size=40)
    for statement in (nine(y), Samples(np.random.default_rng(6).normal(size=(40, 7))), Distribution(stats.norm(np.zeros(40), 1))):
        null = _null_components(_forecast_cells(y, statement), 20_000, 1)
        np.testing.assert_allclose(null.mean(axis=0), 0, atol=0.03)
        np.testing.assert_allclose(null.var(axis=0), 1, atol=0.05)


def test_components_say_what_is_wrong():
    y = np.random.default_rng(7).normal(size=2000)
    faults = {0: nine(y, shift=-0.3), 1: nine(y, scale=0.7)}
    for which, statement in faults.items():
        found = forecast_test(y, statement, in_time=False, n_resamples=199, rng=1)
        assert found.components[which] > 5 and found.adjusted[which] < 0.01
    skewed = np.random.default_rng(8).gamma(4, 1, 2000) / 2 - 2
    assert forecast_test(skewed, nine(skewed), in_time=False, n_resamples=199, rng=1).components[2] > 3


def test_location_and_spread_are_found_again():
    rng = np.random.default_rng(9)
    for shift, factor in ((0.0, 1.0), (0.5, 1.4), (-0.3, 0.7)):
        y = shift + factor * rng.normal(size=4000)
        for statement in (nine(y), Distribution(stats.norm(np.zeros(4000), 1)), Samples(rng.normal(size=(4000, 20)))):
            cells = _forecast_cells(y, statement)
            found = _location_spread(cells, _row_dependence(cells, in_time=False))
            assert abs(found.bias - shift) < 5 * found.bias_error + 0.03
            assert abs(np.log(found.factor / factor)) < 5 * found.log_error + 0.03


def test_joint_limits_hold_together_under_the_multinomial():
    rng, n, tail = np.random.default_rng(10), 120, _joint_tail(NINE, 120)
    assert 0.05 / 2 / 9 < tail < 0.025
    counts = rng.multinomial(n, np.diff([0, *NINE, 1]), 2000)[:, :-1].cumsum(axis=1)
    ends = {k: _limits_of_share(k / n, k / n, n, (tail, tail)) for k in np.unique(counts)}
    held = [all(ends[k][0] <= level <= ends[k][1] for k, level in zip(row, NINE)) for row in counts]
    assert 0.935 < np.mean(held) < 0.97


def test_rows_decide_how_they_are_taken():
    rng = np.random.default_rng(11)
    plain, after = rng.normal(size=300), series(rng, 300)
    assert _row_dependence(_forecast_cells(after, nine(after))).kind == "time"
    chosen = [_row_dependence(_forecast_cells(y, nine(y))).kind for y in rng.normal(size=(60, 300))]
    assert 0 < chosen.count("time") < 18
    cells = _forecast_cells(plain, nine(plain))
    assert _row_dependence(cells, np.arange(300) // 5).kind == "groups" and _row_dependence(cells, horizon=4).kind == "time"
    assert _row_dependence(cells, in_time=True).n_cosines == int(0.41 * 300**(2 / 3))
    with pytest.raises(ValueError, match="exclude each other"): _row_dependence(cells, np.arange(300) // 5, in_time=True)
    with pytest.raises(ValueError, match="at most a quarter"): _row_dependence(cells, horizon=100)
    with pytest.raises(TypeError, match="True, False or None"): _row_dependence(cells, in_time="yes")
    with pytest.raises(ValueError, match="at least two"): _row_dependence(cells, np.zeros(300))


def test_the_cosines_are_the_slow_sum():
    x = np.random.default_rng(12).normal(size=50)
    cells = _forecast_cells(x, nine(x))
    taken = _row_dependence(cells, in_time=True)
    t = np.arange(50) + 0.5
    slow = np.mean([(np.sqrt(2 / 50) * np.sum(np.cos(np.pi * j * t / 50) * x))**2 for j in range(1, taken.n_cosines + 1)])
    np.testing.assert_allclose(taken.long_variance(x)[0], slow, rtol=1e-12)


@pytest.mark.parametrize(("how", "most"), [("time", 0.11), ("groups", 0.11)])
def test_right_forecasts_of_dependent_rows_are_rarely_condemned(how, most):
    rng, wrong = np.random.default_rng(13), 0
    for _ in range(150):  # a level of 5 % exceeds 11 % of 150 sets with a chance of 0.001
        if how == "time": y, given = series(rng, 300), {"in_time": True}
        else: y, given = (rng.normal(size=60)[np.arange(300) // 5] + rng.normal(size=300)) / 2**0.5, {"groups": np.arange(300) // 5}
        cells = _forecast_cells(y, nine(y))
        wrong += _components_test(cells, _row_dependence(cells, **given)).pvalue <= 0.05
    assert wrong / 150 < most


def test_levels_are_shown_as_far_as_members_reach():
    y = np.zeros(20)
    assert _levels_shown(_forecast_cells(y, Samples(np.random.default_rng(1).normal(size=(20, 5))))) == (.25, .5, .75)
    assert _levels_shown(_forecast_cells(y, nine(y))) == NINE


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda y: _forecast_cells(y, MeanStd(y, 1.0)), TypeError, "Quantiles, Samples or Distribution"),
    (lambda y: _forecast_cells(y[:5], nine(y)), ValueError, "one value for each row"),
    (lambda y: _forecast_cells(y, nine(y).values), TypeError, "must say what it holds"),
    (lambda y: _forecast_cells([0.0], nine([0.0])), ValueError, "at least two values"),
    (lambda y: _forecast_cells(y, Distribution(type("Bad", (), {"cdf": lambda self, x: 2 + 0 * np.zeros(9) + x})())), ValueError, "probabilities from 0 to 1"),
    (lambda y: forecast_test(y, nine(y), n_resamples=0), ValueError, "n_resamples"),
    (lambda y: _level_limits(_forecast_cells(y, nine(y)), None, confidence=95), ValueError, "confidence")])
def test_bad_input_is_refused(call, error, text):
    with pytest.raises(error, match=text): call(np.linspace(-1, 1, 9))


def test_a_series_of_pandas_keeps_its_rows():
    frame = pd.DataFrame({"y": [0.1, -0.2, 0.4], "q10": -1.0, "q90": 1.0}, index=[5, 6, 7])
    with pytest.raises(ValueError, match="label|index|row"): _forecast_cells(frame["y"].iloc[::-1], Quantiles.from_frame(frame, "q*"))
