"""Conformal intervals and sets: thresholds against plain ones, coverage against theory for any number of points and for ties, by group and for rows that belong together; what is kept,
what is refused, and MAPIE's numbers."""
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from scipy import stats
from sklearn.base import clone

from uqcal.intervals.conformal import ConformalBounds, ConformalIntervals, ConformalSets, _as_decimals, conformal_threshold
from uqcal._chance.coverage_counts import conformal_rank, promised_coverage
from uqcal.corrections.scaling import FactorScaling, GroupScaling, LinearShift, LogLinearScaling, ErrorMap

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from timing import python_with_mapie

LEVELS = (0.5, 0.8, 0.9, 0.95)


def plain_threshold(scores, level, groups=None):
    "Weights added up score by score until they reach the level times one more than there are groups."
    groups = list(range(len(scores))) if groups is None else list(groups)
    reached, wanted = 0.0, level * (len(set(groups)) + 1)
    for score, group in sorted(zip(scores, groups)):
        reached += 1 / groups.count(group)
        if reached >= wanted - 1e-9: return score
    return float("inf")


# --- thresholds ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 4, 9, 19, 20, 100, 333])
def test_the_threshold_is_the_score_reached_one_by_one(n, level):
    scores = np.random.default_rng(n).exponential(size=n)
    assert conformal_threshold(scores, level) == plain_threshold(scores.tolist(), level)
    assert conformal_threshold(np.round(scores), level) == plain_threshold(np.round(scores).tolist(), level)
    # groups of one row each are rows
    assert conformal_threshold(scores, level, groups=np.arange(n) * 7) == conformal_threshold(scores, level)


@every_case("seed", range(20))
def test_a_group_counts_as_one_however_many_rows_it_has(seed):
    rng = np.random.default_rng(seed)
    scores, groups = np.round(rng.exponential(size=60), 1), rng.integers(0, 25, 60)
    for level in LEVELS: assert conformal_threshold(scores, level, groups=groups) == plain_threshold(scores.tolist(), level, groups.tolist())


def test_one_point_fewer_than_the_level_needs_leaves_no_limit():
    for level, needed in ((0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)):
        scores = np.arange(needed) / 8
        assert conformal_threshold(scores, level) == scores[-1]
        if needed > 1: assert conformal_threshold(scores[1:], level) == np.inf


def test_a_product_that_rounding_lifts_above_a_whole_number_stays_there():
    "(24 + 1) · 0.28 is 7.000000000000001 in floating point."
    assert conformal_rank(0.28, 24) == 7 == round(25 * promised_coverage(0.28, 24))


# --- coverage ------------------------------------------------------------------------------------------------------------------------

def expected(n, level, share):
    "The average coverage for scores whose distribution function takes these values only, and its standard deviation."
    chance = np.diff(stats.binom.sf(conformal_rank(level, n) - 1, n, share), prepend=0.0)
    average = chance @ share
    return average, np.sqrt(chance @ (share - average)**2)


@pytest.mark.parametrize("step", [0.0, 0.5, 0.1])
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500, 1000, 2000])
def test_coverage_is_that_of_theory_with_and_without_ties(n, step):
    """1,000 calibrations at three levels. Within 1.5 standard errors of 1,000 single new points; and, since each threshold's own coverage is known, within 3.5 much smaller ones, which
    one cell in two thousand would exceed by chance, and a rank one too low does by up to twenty."""
    rng = np.random.default_rng(n)
    drawn = np.abs(rng.standard_t(4, (1000, n)))
    grid = 2 * stats.t(4).cdf((np.arange(3000) + 0.5) * (step or 1)) - 1
    for level in (0.8, 0.9, 0.95):
        found = np.array([conformal_threshold(row if step == 0 else np.round(row / step), level) for row in drawn])
        own = 2 * stats.t(4).cdf(found) - 1 if step == 0 else grid[np.minimum(found, 2999).astype(int)]
        theory = promised_coverage(level, n)
        spread = stats.beta((n + 1) * theory, (n + 1) * (1 - theory)).std()
        if step: theory, spread = expected(n, level, grid)
        assert theory >= level - 1e-12
        assert abs(own.mean() - theory) < 1.5 * np.sqrt(theory * (1 - theory) / 1000)
        assert abs(own.mean() - theory) < 3.5 * spread / np.sqrt(1000)
        if step == 0: np.testing.assert_allclose(own.std(), spread, rtol=0.17)


@pytest.mark.parametrize("kind", ["symmetric", "two ends", "scaling", "bounds", "bounds, two ends", "per width"])
def test_every_kind_of_interval_covers_as_its_table_promises(kind):
    "400 calibrations on 60 points of skewed errors, each tried on its own exact coverage: within 3.5 standard errors, and spread as the Beta distribution says."
    rng, own = np.random.default_rng(7), []
    u = np.exp(rng.normal(0, 0.5, (400, 60)))
    error = u * (rng.exponential(size=(400, 60)) - 1)
    options = {"two ends": dict(symmetric=False), "scaling": dict(scaling=FactorScaling(), rng=1)}
    for a, b in zip(u, error):
        if kind in ("symmetric", "two ends", "scaling"):
            made = ConformalIntervals(0.8, **options.get(kind, {})).fit(a, b)
            low, high = made.predict([0.0], [1.0])[0]
        else:
            stated = np.column_stack([-a / 2, a])
            made = ConformalBounds(0.8, symmetric=kind != "bounds, two ends", per_width=kind == "per width")
            if kind == "per width": low, high = made.fit(b, stated).predict([[-0.5, 1.0]])[0]
            else: low, high = made.fit(b / a, stated / a[:, None]).predict([[-0.5, 1.0]])[0]
        own.append(stats.expon.cdf(high + 1) - stats.expon.cdf(low + 1))
    table, own = made.to_frame().iloc[0], np.array(own)
    assert abs(own.mean() - table["promised"]) < 3.5 * own.std() / 20
    assert 0.02 < np.mean((own < table["low"]) | (own > table["high"])) < 0.09


def test_each_group_is_covered_as_promised_where_one_threshold_serves_none():
    rng, share = np.random.default_rng(3), {"a": [], "b": [], "common": []}
    for _ in range(300):
        kind = np.repeat(["a", "b"], [60, 30])
        z = rng.standard_normal(90) * np.where(kind == "b", 2.0, 1.0)
        own = ConformalIntervals(0.9, by="kind").fit(np.ones(90), z, {"kind": kind})
        for name, scale in (("a", 1), ("b", 2)):
            reach = own.predict([0.0], [1.0], {"kind": [name]})[0, 1]
            share[name].append(2 * stats.norm.cdf(reach / scale) - 1)
        share["common"].append(2 * stats.norm.cdf(ConformalIntervals(0.9).fit(np.ones(90), z).predict([0.0], [1.0])[0, 1] / 2) - 1)
    for name, n in (("a", 60), ("b", 30)):
        assert abs(np.mean(share[name]) - promised_coverage(0.9, n)) < 3.5 * np.std(share[name]) / np.sqrt(300)
    assert np.mean(share["common"]) < 0.83


def test_rows_of_new_groups_are_covered_where_groups_count_as_one():
    "Theory says at least 90 %; 30 groups of 1 to 20 rows which share a size. Ignoring the groups must be seen to differ, or the test shows nothing."
    rng, own, ignored = np.random.default_rng(5), [], []
    others = rng.lognormal(0, 0.8, 4000)
    for _ in range(300):
        person = np.repeat(np.arange(30), np.where(np.arange(30) < 25, 1, 20))
        z = np.append(rng.lognormal(0, 0.8, 25), rng.lognormal(-1.5, 0.8, 5))[person] * rng.standard_normal(person.size)
        for found, groups in ((own, person), (ignored, None)):
            reach = ConformalIntervals(0.9).fit(np.ones(z.size), z, groups=groups).threshold_[0, 0]
            found.append(np.mean(2 * stats.norm.cdf(reach / others) - 1))
    assert np.mean(own) > np.mean(ignored) + 0.03
    alike = []
    for _ in range(300):
        person = np.repeat(np.arange(30), 10)
        z = rng.lognormal(0, 0.8, 30)[person] * rng.standard_normal(300)
        alike.append(np.mean(2 * stats.norm.cdf(conformal_threshold(np.abs(z), 0.9, groups=person) / others) - 1))
    assert np.mean(alike) > 0.9


def test_what_is_promised_for_groups_of_rows_counts_each_group_once():
    """Fails where the sentence promises 90 % of rows: of groups whose errors grow with their rows, calibrated as the
    promise wants it, more than 12 % of all rows are missed, and less than 10 % where groups count once."""
    def drawn(n, rng):
        rows = rng.integers(1, 40, n)
        code = np.repeat(np.arange(n), rows)
        return code, np.where(rows > 20, 2.0, 0.5)[code] * (0.8 * rng.standard_normal(n)[code] + 0.6 * rng.standard_normal(code.size))
    shares = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        code, known = drawn(60, rng)
        found = ConformalIntervals(0.9).fit(np.ones(known.size), known, groups=code)
        code, new = drawn(200, rng)
        hit = np.abs(new) <= found.threshold_[0, 0]
        shares.append([np.mean(np.bincount(code, hit) / np.bincount(code)), hit.mean()])
    once, rows = np.mean(shares, axis=0)
    assert once > 0.9 and rows < 0.88
    promise = ", on average over new clusters that count once each, calibrated on 60 clusters"
    assert found.sentence.endswith(f"coverage at least 90 %{promise}")
    code, known = drawn(60, np.random.default_rng(0))
    p, by = np.full((code.size, 2), 0.5), np.where(code % 2 == 0, "a", "b")
    assert ConformalIntervals(0.8, by="k").fit(np.ones(code.size), known, {"k": by}, code).sentence.endswith(f"coverage at least 80 % in each group{promise}")
    assert ConformalSets(0.9).fit(code % 2, p, groups=code).sentence.endswith(promise)
    assert "count once each" not in ConformalIntervals(0.9).fit(np.ones(code.size), known).sentence


def test_label_sets_cover_as_promised_on_average_and_by_class():
    rng = np.random.default_rng(2)
    rows = {name: [] for name in ("threshold", "adaptive", "randomised", "class 0", "class 2")}

    def draw(n):
        p = np.round(rng.dirichlet([2.0, 1.0, 0.5], n), 6)
        p[:, 0] = 1 - p[:, 1:].sum(axis=1)
        return p, (rng.random(n)[:, None] > np.cumsum(p**2 / np.sum(p**2, axis=1, keepdims=True), axis=1)).sum(axis=1)
    far, label = draw(4000)
    for seed in range(200):
        p, y = draw(150)
        for name, options in (("threshold", {}), ("adaptive", dict(score="adaptive")), ("randomised", dict(score="adaptive", randomised=True, rng=seed)), ("class", dict(by_class=True))):
            inside = ConformalSets(0.9, **options).fit(y, p).predict(far, rng=seed)[np.arange(4000), label]
            if name != "class": rows[name].append(inside.mean())
            else:
                for k in (0, 2): rows[f"class {k}"].append(inside[label == k].mean())
    spread = {name: 3.5 * np.std(one) / np.sqrt(200) + 0.005 for name, one in rows.items()}  # far points: half a percent
    for name in ("threshold", "randomised"): assert abs(np.mean(rows[name]) - promised_coverage(0.9, 150)) < spread[name], name
    for name in ("adaptive", "class 0", "class 2"): assert np.mean(rows[name]) > 0.9 - spread[name], name


@pytest.mark.parametrize("kind", ["errors", "bounds", "both sides", "sets"])
def test_equal_scores_are_said_to_make_it_more_and_the_range_holds(kind):
    "Whole errors, 200 calibrations on 300 points: '86.4 to 93.2 %' held none of the true coverages, 96.3 %. 95 % are promised; bounds of a discrete distribution hold more often. Mutation: the upper end of scores without ties."
    rng, inside = np.random.default_rng(0), 0
    for _ in range(200):
        error = np.rint(rng.normal(0, 1.2, 300))
        if kind == "sets":
            p = np.array([[0.9, 0.1], [0.6, 0.4]])[rng.integers(0, 2, 300)]
            found = ConformalSets(0.9).fit((rng.random(300) > p[:, 0]).astype(int), p)
            held = found.predict([[0.9, 0.1], [0.6, 0.4]])
            true = (held * [[0.9, 0.1], [0.6, 0.4]]).sum(axis=1).mean()
        else:
            found = (ConformalBounds(0.9).fit(error, np.tile([-1.0, 1.0], (300, 1))) if kind == "bounds" else
                     ConformalIntervals(0.9, symmetric=kind == "errors").fit(np.ones(300), error))
            low, high = (found.predict([[-1.0, 1.0]]) if kind == "bounds" else found.predict([0.0], [1.0]))[0]
            true = stats.norm.cdf((np.floor(high) + 0.5) / 1.2) - stats.norm.cdf((np.ceil(low) - 0.5) / 1.2)
        table = found.to_frame().iloc[0]
        inside += table["low"] <= true <= table["high"]
    assert inside >= 190 - 3.5 * np.sqrt(200 * 0.05 * 0.95)
    assert ": coverage at least 90.0 % on average" in found.sentence and found.sentence.endswith(" rows; equal scores raise it")
    smooth = ConformalIntervals(0.9).fit(np.ones(300), rng.standard_normal(300))
    assert "at least" not in smooth.sentence and "equal" not in smooth.sentence


def test_decimals_that_should_be_equal_are_equal():
    "Values and bounds of one decimal: 19.9 + 0.4 was 20.299999999999997 here and there, and 20.3 missed: coverages down to 84 %, where 86.4 to 93.2 % were promised. Mutation: bounds as they are computed."
    rng, coverage = np.random.default_rng(0), []

    def drawn(n):
        middle = rng.normal(20, 5, n).round(1)
        return (middle + 0.4 * rng.standard_normal(n)).round(1), np.column_stack([middle - 0.3, middle + 0.3]).round(1)
    for _ in range(60):
        found, (y, bounds) = ConformalBounds(0.9).fit(*drawn(300)), drawn(4000)
        made = found.predict(bounds)
        assert np.abs(made - made.round(1)).max() == 0
        coverage.append(np.mean((made[:, 0] <= y) & (y <= made[:, 1])))
    assert min(coverage) > 0.87
    huge = ConformalBounds(0.9).fit([0.0] * 20, [[-1e149, 1e149]] * 20).predict([[-1e149, 1e149], [0.0, 0.0], [-1e-300, np.pi]])
    assert np.isfinite(huge).all()


# --- what intervals and sets are made of -----------------------------------------------------------------------------------------------

def made(n=200, seed=0):
    rng = np.random.default_rng(seed)
    u = np.exp(rng.normal(0, 0.5, n))
    return u, u * rng.standard_normal(n), {"kind": rng.choice(["metal", "oxide"], n), "x": rng.uniform(size=n)}


def test_an_interval_is_the_prediction_and_a_multiple_of_its_uncertainty():
    u, error, _ = made()
    q = plain_threshold(np.abs(error / u).tolist(), 0.9)
    bounds = ConformalIntervals(0.9).fit(u, error).predict([3.0, -1.0], [0.5, 2.0])
    np.testing.assert_allclose(bounds, [[3 - q / 2, 3 + q / 2], [-1 - 2 * q, -1 + 2 * q]], rtol=1e-13)
    low, high = (plain_threshold((side * error / u).tolist(), 0.95) for side in (-1, 1))
    two = ConformalIntervals(0.9, symmetric=False).fit(u, error)
    np.testing.assert_allclose(two.predict([3.0], [0.5]), [[3 - low / 2, 3 + high / 2]], rtol=1e-13)


@pytest.mark.parametrize("options", [{}, dict(symmetric=False), dict(scaling=LogLinearScaling(), rng=3), dict(scaling=ErrorMap(FactorScaling(), [LinearShift("x")]), rng=3), dict(by="kind")])
def test_another_unit_gives_the_same_intervals_in_it(options):
    u, error, features = made()
    one, other = (ConformalIntervals(0.9, **options).fit(scale * u, scale * error, features).predict(scale * u, scale * u, features) for scale in (1.0, 1000.0))
    np.testing.assert_allclose(other, 1000 * one, rtol=1e-9)


def test_the_order_of_rows_and_the_names_of_groups_do_not_matter():
    u, error, features = made()
    again = np.random.default_rng(1).permutation(200)
    person = np.arange(200) // 7
    first = ConformalIntervals(0.9, by="kind").fit(u, error, features, groups=person).to_frame()
    other = ConformalIntervals(0.9, by="kind").fit(u[again], error[again], pd.DataFrame(features).iloc[again].reset_index(drop=True), groups=[f"p{k}" for k in person[again]]).to_frame()
    pd.testing.assert_frame_equal(first.sort_values("group", ignore_index=True), other.sort_values("group", ignore_index=True))


def test_a_scaling_never_sees_the_points_of_the_threshold():
    "Errors of the threshold's points are changed: the scaling must not move."
    u, error, features = made()
    first = ConformalIntervals(0.9, scaling=GroupScaling("kind"), rng=4).fit(u, error, features)
    learns = np.random.default_rng(4).permutation(200) < 100
    changed = np.where(learns, error, 10 * error)
    other = ConformalIntervals(0.9, scaling=GroupScaling("kind"), rng=4).fit(u, changed, features)
    np.testing.assert_array_equal(first.correction_.transform(u, features), other.correction_.transform(u, features))
    assert first.points_[0] == 100 and other.threshold_[0, 0] > 5 * first.threshold_[0, 0]


def test_whole_groups_go_to_the_scaling_or_to_the_threshold():
    u, error, _ = made()
    person = np.arange(200) // 10
    found = ConformalIntervals(0.8, scaling=FactorScaling(), share=0.3, rng=1).fit(u, error, groups=person)
    assert found.points_[0] == 14 and found.correction_.n_ == 60
    with pytest.raises(ValueError, match="share must leave points"): ConformalIntervals(0.8, scaling=FactorScaling(), share=0.01).fit(u, error, groups=person)


def test_bounds_move_by_the_distance_of_the_score_and_never_cross():
    stated = np.column_stack([np.zeros(99), np.linspace(0.1, 20, 99)])
    y = stated.mean(axis=1)                                                  # every value in the middle: bounds move inwards
    scores = np.maximum(stated[:, 0] - y, y - stated[:, 1])
    q = plain_threshold(scores.tolist(), 0.9)
    found = ConformalBounds(0.9).fit(y, stated)
    assert q < 0 and found.threshold_[0, 0] == q
    bounds = found.predict(stated)
    narrow = stated[:, 1] < -2 * q
    assert narrow.any() and np.all(bounds[:, 0] <= bounds[:, 1])
    np.testing.assert_allclose(bounds[narrow], np.repeat(y[narrow], 2).reshape(-1, 2))
    np.testing.assert_allclose(bounds[~narrow], stated[~narrow] + [-q, q])
    np.testing.assert_array_equal(found.predict(stated[:, :, None]), bounds)    # the shape that MAPIE returns for one level
    wide = ConformalBounds(0.9, per_width=True).fit(y + 1, stated).predict([[0.0, 1.0], [0.0, 2.0]])
    np.testing.assert_allclose(2 * wide[0], wide[1])


def test_a_scaling_of_half_widths_is_that_of_uncertainties():
    u, error, features = made()
    bounds = np.column_stack([3 - u, 3 + u])
    found = ConformalBounds(0.9, scaling=LogLinearScaling(), rng=5).fit(3 + error, bounds, features)
    other = ConformalIntervals(0.9, scaling=LogLinearScaling(), rng=5).fit(u, error)
    np.testing.assert_allclose(found.predict(bounds), other.predict(np.full(200, 3.0), u), rtol=1e-9)
    assert found.to_frame().equals(found.inner_.to_frame()) and "u being half the width" in found.sentence
    again = ConformalBounds.from_dict(json.loads(json.dumps(found.to_dict())))
    np.testing.assert_array_equal(again.predict(bounds), found.predict(bounds))
    with pytest.raises(ValueError, match="per_width must be left out"): ConformalBounds(scaling=FactorScaling(), per_width=True).fit(3 + error, bounds)
    with pytest.raises(ValueError, match="half widths of y_intervals must be positive"): found.predict([[1.0, 1.0]])


def test_class_scores_are_those_of_a_plain_loop_with_ties():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 5, (300, 4)) + np.array([1, 0, 0, 0])
    p = p / p.sum(axis=1, keepdims=True)
    y = rng.integers(0, 4, 300)
    for score in ("threshold", "adaptive"):
        def plain(row, k, score=score): return 1 - row[k] if score == "threshold" else sum(q for q in row if q > row[k])
        q = plain_threshold([round(plain(row, k), 12) for row, k in zip(p.tolist(), y)], 0.8)
        wanted = [[round(plain(row, k), 12) <= q for k in range(4)] for row in p.tolist()]
        assert ConformalSets(0.8, score=score).fit(y, p).predict(p).tolist() == wanted
    # the columns in another order give the same sets
    turned = ConformalSets(0.8, score="adaptive").fit(3 - y, p[:, ::-1]).predict(p[:, ::-1])
    np.testing.assert_array_equal(turned[:, ::-1], ConformalSets(0.8, score="adaptive").fit(y, p).predict(p))


def test_labels_may_be_words():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 100)
    y, names = rng.integers(0, 3, 100), ["cat", "dog", "owl"]
    words = ConformalSets(0.8, by_class=True).fit(np.array(names)[y], p, classes=names)
    np.testing.assert_array_equal(words.predict(p), ConformalSets(0.8, by_class=True).fit(y, p).predict(p))
    assert words.to_frame()["group"].tolist() == names


# --- what is kept, told and refused --------------------------------------------------------------------------------------------------

def test_json_gives_the_same_intervals_to_the_last_bit():
    u, error, features = made()
    stated, p = np.column_stack([-u, u]), np.random.default_rng(1).dirichlet([1, 1, 1], 200)
    y = np.arange(200) % 3
    for one, given in ((ConformalIntervals(0.9, by="kind", symmetric=False).fit(u, error, features), (error, u, features)),
                       (ConformalIntervals(0.9, scaling=ErrorMap(LogLinearScaling(), [LinearShift("x")]), rng=1).fit(u, error, features, groups=y), (error, u, features)),
                       (ConformalIntervals(0.99).fit(u[:50], error[:50]), (error, u)),           # infinite thresholds too
                       (ConformalBounds(0.9, by="kind", per_width=True).fit(error, stated, features), (stated, features)),
                       (ConformalSets(0.9, score="adaptive", by="kind").fit(y, p, features), (p, features)),
                       (ConformalSets(0.9, by_class=True).fit(y, p), (p,))):
        again = type(one).from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
        np.testing.assert_array_equal(again.predict(*given), one.predict(*given))
        assert again.sentence == one.sentence
        assert not hasattr(clone(again), "threshold_")


def test_too_few_points_are_told_and_give_no_limit():
    found = ConformalIntervals(0.9).fit(np.ones(8), np.arange(8) - 3.0)
    assert found.predict([1.0], [1.0]).tolist() == [[-np.inf, np.inf]]
    assert found.sentence == "predictions without limits: too few rows for 90 % (8 rows)"
    assert found.to_frame().loc[0, ["promised", "low", "high"]].tolist() == [1, 1, 1]
    sets = ConformalSets(0.9).fit([0, 1, 1], [[0.5, 0.5]] * 3)
    assert sets.predict([[0.9, 0.1]]).all() and sets.sentence.startswith("all classes: too few rows")
    kinds = {"kind": ["a"] * 60 + ["b"] * 4}
    by = ConformalIntervals(0.9, by="kind").fit(np.ones(64), np.random.default_rng(1).standard_normal(64), kinds)
    assert "± " in by.sentence and "without limits in 1 group of too few rows" in by.sentence


def test_a_far_error_moves_the_threshold_by_one_place_only():
    u, error, _ = made()
    spoilt = np.append(error, 1e6)
    moved = ConformalIntervals(0.9).fit(np.append(u, 1.0), spoilt).threshold_[0, 0]
    ordered = np.sort(np.abs(error / u))
    assert moved == ordered[conformal_rank(0.9, 201) - 1]


def test_a_feature_that_is_missing_or_holds_numbers_is_refused_by_name():
    u, error, features = made()
    with pytest.raises(ValueError, match="'kind'"): ConformalIntervals(by="kind").fit(u, error, {"x": features["x"]})
    with pytest.raises(ValueError, match="'x' holds numbers"): ConformalIntervals(by="x").fit(u, error, features)
    fitted = ConformalIntervals(by="kind").fit(u, error, features)
    with pytest.raises(ValueError, match="'kind'"): fitted.predict(error, u)
    with pytest.raises(ValueError, match="one level"): ConformalBounds().fit(error, np.stack([[-u, u], [-u, u]]).transpose(2, 1, 0))
    with pytest.raises(ValueError, match="by must be left out beside by_class"): ConformalSets(by="kind", by_class=True).fit([0, 1], [[0.5, 0.5]] * 2, {"kind": ["a", "b"]})
    for wrong in (0, 1, 90, "0.9", None):
        with pytest.raises((ValueError, TypeError), match="level"): ConformalIntervals(wrong).fit(u, error)


# --- MAPIE ----------------------------------------------------------------------------------------------------------------------------

PEER = textwrap.dedent("""
    import json, sys, warnings
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
    warnings.simplefilter("ignore")

    class Column(RegressorMixin, BaseEstimator):
        def __init__(self, k=0): self.k, self.fitted_ = k, True
        def fit(self, X, y): return self
        def predict(self, X): return X[:, self.k]

    class Given(ClassifierMixin, BaseEstimator):
        def __init__(self): self.classes_, self.fitted_ = np.arange(3), True
        def fit(self, X, y): return self
        def predict_proba(self, X): return X
        def predict(self, X): return X.argmax(axis=1)

    d, half = np.load(sys.argv[1]), 150
    known, new = slice(0, half), slice(half, None)
    out = {}
    r = SplitConformalRegressor(Column(), confidence_level=0.9, prefit=True).conformalize(d["middle"][known], d["y"][known])
    out["absolute"] = r.predict_interval(d["middle"][new])[1][:, :, 0]
    for symmetric in (True, False):
        q = ConformalizedQuantileRegressor([Column(0), Column(1), Column(2)], confidence_level=0.9, prefit=True).conformalize(d["bounds"][known], d["y"][known])
        out[f"bounds {symmetric}"] = q.predict_interval(d["bounds"][new], symmetric_correction=symmetric)[1][:, :, 0]
    c = SplitConformalClassifier(Given(), confidence_level=0.9, prefit=True).conformalize(d["p"][known], d["label"][known])
    out["sets"] = c.predict_set(d["p"][new])[1][:, :, 0]
    print(json.dumps({name: np.asarray(one, float).tolist() for name, one in out.items()}))
""")


@pytest.mark.slow
def test_intervals_and_sets_are_those_of_mapie(tmp_path):
    python, reason = python_with_mapie()
    if python is None: pytest.skip(f"MAPIE can't be installed: {reason}")
    rng = np.random.default_rng(11)
    middle, y = rng.normal(size=(400, 1)), rng.normal(size=400)
    low = middle[:, 0] - rng.exponential(size=400)
    bounds = np.column_stack([low, low + rng.exponential(size=400) + 0.1, middle[:, 0]])
    p = rng.dirichlet([1, 1, 1], 400)
    label = (rng.random(400)[:, None] > np.cumsum(p, axis=1)).sum(axis=1).clip(max=2)
    np.savez(tmp_path / "data.npz", middle=middle, y=y, bounds=bounds, p=p, label=label)
    done = subprocess.run([python, "-c", PEER, tmp_path / "data.npz"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = {name: np.array(one) for name, one in json.loads(done.stdout).items()}
    known, new, ones = slice(0, 150), slice(150, None), np.ones(150)
    ours = ConformalIntervals(0.9).fit(ones, (y - middle[:, 0])[known]).predict(middle[new, 0], np.ones(250))
    np.testing.assert_allclose(ours, theirs["absolute"], rtol=1e-12)
    for symmetric in (True, False):
        ours = ConformalBounds(0.9, symmetric=symmetric).fit(y[known], bounds[known, :2]).predict(bounds[new, :2])
        np.testing.assert_allclose(ours, theirs[f"bounds {symmetric}"], rtol=1e-12)
    np.testing.assert_array_equal(ConformalSets(0.9).fit(label[known], p[known]).predict(p[new]), theirs["sets"] == 1)


def test_copies_of_labelled_rows_count_once_and_equal_leaves_are_no_copies():
    "Mutation: 1,000 cases promised where 200 are written five times; or leaves of a tree, which state the same for many cases, taken for copies."
    rng = np.random.default_rng(4)

    def drawn(n):
        p = rng.dirichlet([0.4, 0.4, 0.4], n)
        return p, np.array([rng.choice(3, p=row) for row in p])
    p, y = drawn(200)
    rows = rng.permutation(np.tile(np.arange(200), 5))
    once, found, known = ConformalSets(0.9).fit(y, p), ConformalSets(0.9).fit(y[rows], p[rows]), ConformalSets(0.9).fit(y[rows], p[rows], groups=rows)
    assert "200 different rows (800 of 1,000 rows are copies and count once)" in found.sentence and "cop" not in once.sentence + known.sentence
    np.testing.assert_array_equal(found.threshold_, known.threshold_)
    assert ConformalSets.from_dict(json.loads(json.dumps(found.to_dict()))).sentence == found.sentence
    for leaves in (60, 300):
        p = drawn(leaves)[0][rng.integers(0, leaves, 2000)]
        y = np.array([rng.choice(3, p=row) for row in p])
        assert "cop" not in ConformalSets(0.9).fit(y, p).sentence
    rounded = rng.multinomial(10, [0.7, 0.2, 0.1], 1000) / 10
    assert "cop" not in ConformalSets(0.9).fit(rng.integers(0, 3, 1000), rounded).sentence


def test_a_random_part_is_told_and_may_leave_a_set_empty():
    """Fails where the sentence of randomised sets is that of others, or where the docstring still says that adaptive sets
    are never empty: 2 in 100 of these are, and none without the random part."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.2] * 4, 2000)
    y = (rng.random((2000, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(0, 3)
    for score in ("adaptive", "threshold"):
        for randomised in (False, True):
            found = ConformalSets(0.9, score=score, randomised=randomised, rng=0).fit(y, p)
            empty = int((found.predict(p, rng=1).sum(axis=1) == 0).sum())
            assert ("less ahead and in a random part of their own:" in found.sentence) == (randomised and score == "adaptive"), found.sentence
            if score == "adaptive": assert (empty > 0) == randomised
    assert "unless `randomised`" in " ".join(ConformalSets.__doc__.split())


@pytest.mark.parametrize("kind", ["errors", "bounds"])
def test_copies_of_rows_count_once(kind):
    "Mutation: 1,000 points promised where each of 200 is written five times."
    rng = np.random.default_rng(4)
    u = np.exp(rng.normal(0, 0.5, 200))
    e = u * rng.standard_normal(200)
    rows = rng.permutation(np.tile(np.arange(200), 5))
    def fitted(k, groups=None):
        if kind == "errors": return ConformalIntervals(0.9).fit(u[k], e[k], groups=groups)
        return ConformalBounds(0.9).fit(e[k], np.column_stack([-u, u])[k], groups=groups)
    once, found, known = fitted(np.arange(200)), fitted(rows), fitted(rows, rows)
    assert "200 different rows (800 of 1,000 rows are copies and count once)" in found.sentence and "cop" not in once.sentence + known.sentence
    np.testing.assert_array_equal(found.threshold_, known.threshold_)
    assert type(found).from_dict(json.loads(json.dumps(found.to_dict()))).sentence == found.sentence
    u, e = u.round(1) + 0.1, e.round(1)  # rounded rows that coincide are points
    assert "cop" not in fitted(np.arange(200)).sentence


def test_two_copied_rows_are_seen_and_a_zero_may_have_either_sign():
    "Mutation: the search ends early where three values, or bits of rows, would have to be equal."
    rng = np.random.default_rng(5)
    u = rng.lognormal(size=300)
    e = u * rng.standard_normal(300)
    for extra, seen in (([], 0), ([7], 0), ([7, 90], 2)):
        k = np.append(np.arange(300), extra).astype(int)
        for one in (ConformalIntervals(0.9).fit(u[k], e[k]), ConformalBounds(0.9).fit(e[k], np.column_stack([-u, u])[k])):
            assert one.copies_ == (seen, k.size)
    p = np.column_stack([np.zeros(60), rng.dirichlet([1, 1], 60)])
    signed = np.vstack([p, p * [-1.0, 1, 1]])
    assert np.signbit(signed[60:, 0]).all()
    assert ConformalSets(0.9).fit(np.tile(rng.integers(1, 3, 60), 2), signed).copies_ == (60, 120)


def test_bounds_are_rounded_to_fourteen_digits_of_the_larger_as_a_plain_twin_does():
    rng = np.random.default_rng(4)
    low = rng.normal(size=20_000) * 10**rng.uniform(-10, 15, 20_000)
    up = low + np.abs(rng.normal(size=20_000)) * 10**rng.uniform(-10, 15, 20_000)
    low[:50], up[30:90], low[90:100], up[90:100] = -np.inf, np.inf, 0.0, 0.0
    size = np.max([np.where(np.isfinite(one), np.abs(one), 0.0) for one in (low, up)], axis=0)
    use = (size > 1e-8) & (size < 1e13)
    scale = 10.0**(13 - np.floor(np.log10(np.where(use, size, 1.0))))
    for made, given in zip(_as_decimals(low, up).T, (low, up)):
        np.testing.assert_array_equal(made, np.where(use & np.isfinite(given), np.rint(np.where(np.isfinite(given), given, 0.0) * scale) / scale, given))
