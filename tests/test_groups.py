"""Groups of rows: signs, changes of place and draws keep groups whole, agree with slow twins, and hold their level."""
import itertools

import numpy as np
import pytest

from uqcal.statistics.bin_scaling import extrapolate
from uqcal.statistics.bootstrap import bca_interval, bca_intervals
from uqcal.statistics.confidence_curves import confidence_curve
from uqcal.statistics.consistency import NothingToTest, consistency_test, link_test, _shuffle_plan, _under_hypothesis
from uqcal.errors.bias import bias_test
from uqcal.errors.factors import average_test
from uqcal._sample.groups import check_group_number, exchangeable_share, group_draws, sign_spread, under_group_loans, under_group_shuffles, under_signs, widening_of, without_groups
from uqcal._chance.resampling import as_observed
from uqcal._sample.sample import Ordering, Sample
from uqcal.statistics.statistics import ence

rng = np.random.default_rng(1)
GROUP = np.repeat(np.arange(12), 4)[rng.permutation(48)]
SIZES = np.repeat(np.arange(12), np.arange(1, 13))  # no two groups are equally large
U = np.exp(0.5 * rng.standard_normal(78))
E = U * rng.standard_normal(78)
NAMES = ("zms", "nll", "rce", "cc", "correlation", "ence", "zmse")


def as_they_are(values, n_shuffles, state):
    return values[None].copy()


def test_signs_are_those_of_groups_and_leave_no_mean():
    values = E[:48] - E[:48].mean()
    drawn = under_signs(as_they_are, values, (), GROUP, 50, rng=1)
    factor = np.sqrt(12 / 11)
    for row in drawn:
        assert abs(row.mean()) < 1e-12
        offset = [np.unique(np.round(np.abs(row - shift) / factor - np.abs(values), 9)) for shift in (0,)]
        assert len(offset) == 1
        # up to one common shift, each group is its values times +1 or −1
        best = [min(np.abs(row[GROUP == g] - factor * sign * values[GROUP == g]).std() for sign in (-1, 1)) for g in range(12)]
        assert max(best) < 1e-12
    assert len({tuple(np.round(row, 9)) for row in drawn}) > 45
    around = under_signs(as_they_are, values + 7, (), GROUP, 50, centre=7.0, rng=1)
    np.testing.assert_allclose(around, drawn + 7, atol=1e-12)


def test_groups_change_places_with_groups_of_their_size_only():
    group = np.array([0, 1, 0, 2, 2, 3, 3, 3])  # sizes 2, 1, 2, 3
    values = np.arange(8.0)
    drawn = under_group_shuffles(as_they_are, values, (), group, 400, rng=1)
    blocks = {frozenset(values[group == g]) for g in range(4)}
    seen = {tuple(row) for row in drawn}
    for row in drawn: assert {frozenset(row[group == g]) for g in range(4)} == blocks
    assert len(seen) == 2 * 2 * 2 * 6 and all(row[1] == 1 for row in seen)  # two places, and orders within groups of 2, 2 and 3


def test_groups_of_any_sizes_lend_each_other_their_values():
    group = np.array([2, 0, 1, 2, 1, 2, 2])  # sizes 1, 2, 4
    drawn = under_group_loans(as_they_are, np.arange(7.0), (), group, 8000, rng=1).astype(int)
    counts = np.bincount(drawn.ravel(), minlength=7) / 8000
    assert np.abs(counts - 1).max() < 0.1  # each value as often as any other: a value comes up to four times in a set
    ones, pairs, fours = (drawn[:, group == g] for g in range(3))
    for lent, size in ((ones, 1), (pairs, 2), (fours, 4)):
        lender = group[lent]
        assert np.all(lender == lender[:, :1])  # one lender, as likely as it has rows
        assert np.abs(np.bincount(lender[:, 0]) / 8000 - np.array([1, 2, 4]) / 7).max() < 4.5 * np.sqrt(0.25 / 8000)
        for row, one in zip(lent, lender[:, 0]): assert len(set(row)) == min(size, 2**one)  # over again only where it has too few
    assert len({tuple(row) for row in fours if group[row[0]] == 2}) == 24  # in any order
    again = under_group_loans(as_they_are, np.arange(7.0), (), group, 8000, rng=1, n_jobs=2)
    np.testing.assert_array_equal(drawn, again)


def test_all_rearrangements_are_equally_likely():
    group = np.array([0, 0, 1, 1])
    drawn = under_group_shuffles(as_they_are, np.arange(4.0), (), group, 8000, rng=2)
    counts = np.unique(drawn, axis=0, return_counts=True)[1]
    assert counts.size == 8 and np.abs(counts - 1000).max() < 4.5 * np.sqrt(1000 * 7 / 8)


def test_spread_of_signs_is_that_of_every_set_of_signs():
    group, x = np.array([0, 1, 1, 2, 0, 3, 2, 3, 3]), np.array([1.0, -2, 0.5, 0.25, 3, -1, -2, 0.5, -0.25])
    start = np.array([0, 2, 3, 7, 9])
    sums = []
    for signs in itertools.product((-1, 1), repeat=4):
        drawn = np.array(signs)[group] * x
        sums.append((drawn - drawn.mean()) * np.sqrt(4 / 3))
    for cumulative in (True, False):
        parts = [np.add.reduceat(drawn, start[:-1]) for drawn in sums]
        expected = np.sqrt(np.mean(np.square([np.cumsum(part) if cumulative else part for part in parts]), axis=0))
        np.testing.assert_allclose(sign_spread(x, group, start, cumulative=cumulative), expected, atol=1e-12)


def test_draws_hold_whole_groups():
    for rows in group_draws(SIZES, 30, np.random.default_rng(1)):
        count = np.bincount(rows, minlength=78)
        per_group = [set(count[SIZES == g]) for g in range(12)]
        assert all(len(one) == 1 for one in per_group) and sum(one.pop() for one in per_group) == 12


def test_leaving_out_groups():
    kept = without_groups(SIZES)
    assert len(kept) == 12 and all(set(range(78)) - set(rows) == set(np.flatnonzero(SIZES == g)) for g, rows in enumerate(kept))
    batches = without_groups(SIZES, most=5)
    left = [set(range(78)) - set(rows) for rows in batches]
    assert len(left) == 5 and set.union(*left) == set(range(78)) and sum(map(len, left)) == 78


def test_what_can_change_places():
    assert exchangeable_share(Ordering.of(GROUP, "groups")) == 1 and exchangeable_share(Ordering.of(SIZES, "groups")) == 0
    assert exchangeable_share(Ordering.of(np.array([0, 0, 1, 1, 2]), "groups")) == 0.8


def test_intervals_of_named_statistics_are_those_of_functions():
    common = dict(groups=SIZES, n_boot=400, rng=3)
    for name, function in (("zms", lambda e, u: np.mean((e / u)**2)), ("ence", lambda e, u: ence(e, u, n_bins=3))):
        named, own = bca_interval(name, E, U, n_bins=3, **common), bca_interval(function, E, U, **common)
        assert named.n_groups == own.n_groups == 12 and named.acceleration == pytest.approx(own.acceleration, rel=1e-9)
        np.testing.assert_allclose(named.estimate, own.estimate, rtol=1e-12)
        assert abs(named.standard_error / own.standard_error - 1) < 0.25


def test_the_interval_of_repeated_rows_is_that_of_the_rows_themselves():
    many = np.random.default_rng(5).standard_normal((2, 200))
    error, uncertainty, label = np.repeat(many[0], 5), np.repeat(np.exp(many[1]), 5), np.repeat(np.arange(200), 5)
    common = dict(n_boot=3000, rng=4, n_bins=5)
    for name in ("zms", "cc", "correlation"):
        once, grouped, wrong = (bca_intervals((name,), *data, **common)[name] for data in (
            (many[0], np.exp(many[1])), (error, uncertainty), (error, uncertainty)))
        grouped = bca_interval(name, error, uncertainty, groups=label, **common)
        assert abs(grouped.standard_error / once.standard_error - 1) < 0.05 and abs(grouped.acceleration - once.acceleration) < 0.005
        assert wrong.standard_error < 0.55 * once.standard_error


def test_repeated_rows_say_no_more_than_the_rows_themselves():
    "Each row five times: without groups everything is significant, with them the p-value is that of single rows."
    draw = np.random.default_rng(6)
    u = np.exp(0.5 * draw.standard_normal(120))
    e = u * draw.standard_t(6, 120)
    again = [np.repeat(x, 5) for x in (e, u)]
    label = np.repeat(np.arange(120), 5)
    for statistic in ("kuiper", "kuiper-rank", "correlation", "zmse", "cc"):
        once, grouped = consistency_test(e, u, statistic=statistic, n_bins=5, n_resamples=1999, rng=1), consistency_test(
            *again, statistic=statistic, groups=label, n_bins=5, n_resamples=1999, rng=2)
        assert abs(once.pvalue - grouped.pvalue) < 0.06, statistic
        assert grouped.n_groups == 120 and grouped.method == ("random signs of whole groups of scaled errors" if statistic in ("kuiper", "kuiper-rank", "correlation") else
                                                                    "shuffled groups of scaled errors") and "600 rows in 120 groups" in grouped.sentence
    once, grouped = link_test(e, draw.permutation(u), rng=1), link_test(again[0], np.repeat(np.random.default_rng(6).permutation(u), 5), groups=label, rng=1)
    assert grouped.n_groups == 120 and grouped.pvalue > 0.001
    once, grouped = (confidence_curve(*data, n_boot=300, n_resamples=999, rng=1, **more) for data, more in (((e, u), {}), (again, {"groups": label})))
    np.testing.assert_allclose(grouped.value, once.value, rtol=1e-9)
    assert abs(once.pvalue - grouped.pvalue) < 0.08
    width = [np.diff(curve.confidence_interval)[0] for curve in (once, grouped)]
    assert abs(width[1] / width[0] - 1) < 0.25


def test_repeats_within_a_group_are_left_where_they_are():
    """Sixty right sets of a hundred groups, each of three points in five equal rows: at 5 % at most eight may be called inconsistent, one chance in 160.
    Mutation: rows of a group that change places with one another, as if all were equally alike; 61 % are rejected then."""
    rng, rejected = np.random.default_rng(3), 0
    for _ in range(60):
        u = np.exp(0.5 * rng.standard_normal(300))
        e, u, g = (np.repeat(one, 5) for one in (u * rng.standard_normal(300), u, np.arange(300) // 3))
        rejected += consistency_test(e, u, groups=g, n_resamples=99, rng=rng).pvalue <= 0.05
    assert rejected <= 8


def test_few_groups_of_one_size_change_places():
    "Mutation: signs of fewer than twenty groups, which hardly reject at all."
    rng = np.random.default_rng(1)
    u = np.exp(rng.standard_normal(60))
    assert consistency_test(u * rng.standard_normal(60), u, groups=np.arange(60) // 5, n_resamples=99, rng=1).method == "shuffled groups of scaled errors"
    assert consistency_test(u * rng.standard_normal(60), u, groups=np.arange(60) // 3, n_resamples=99, rng=1).method == "random signs of whole groups of scaled errors"


def test_signs_where_sizes_differ_and_words_where_they_do_not_help():
    for statistic in ("kuiper", "kuiper-rank", "correlation"):
        assert consistency_test(E, U, statistic=statistic, groups=SIZES, n_resamples=99, rng=1).method == "random signs of groups of scaled errors"
    assert link_test(E, U, groups=SIZES, n_resamples=99, rng=1).method == "random signs of groups of absolute errors"
    assert consistency_test(E, U, statistic="cc", groups=SIZES, n_resamples=99, rng=1).method == "groups that lend each other scaled errors"
    curve = confidence_curve(E, U, groups=SIZES, n_boot=99, n_resamples=99, rng=1)
    assert curve.method == "random signs of groups of scaled errors" and np.isfinite(curve.band).all() and np.isfinite(curve.null_band).all()
    for statistic in ("zmse", "ence"):
        with pytest.raises(ValueError, match=f"groups must be of equal sizes for statistic='{statistic}'.*only 0 % of the rows.*statistic='kuiper'"):
            consistency_test(E, U, statistic=statistic, groups=SIZES, n_bins=3)
    with pytest.raises(ValueError, match="groups must be of equal sizes for an extrapolation"):
        extrapolate(E, U, groups=SIZES, n_bins=(3, 4, 5, 6), min_bin_size=4, fit_above=2)
    with pytest.raises(ValueError, match='method must be "permutation" with groups'):
        extrapolate(E, U, groups=SIZES, n_bins=(3, 4, 5, 6), min_bin_size=4, fit_above=2, method="paper")
    with pytest.raises(ValueError, match='distribution must be "empirical" with groups'): confidence_curve(E, U, groups=SIZES, distribution="normal")


def test_too_few_groups_are_refused():
    few = np.arange(78) % 5
    for call in (lambda: consistency_test(E, U, groups=few), lambda: link_test(E, U, groups=few)):
        with pytest.raises(NothingToTest, match="groups must hold at least 6 different labels, got 5") as raised: call()
        assert raised.value.reason == "only 5 clusters, too few to tell anything from chance"
    for call in (lambda: bca_interval("zms", E, U, groups=few), lambda: confidence_curve(E, U, groups=few)):
        with pytest.raises(ValueError, match="groups must hold at least 6"): call()
    check_group_number(None)
    with pytest.raises(ValueError, match="by must hold several of the 26 groups in most of its own: it has 26 groups"):
        consistency_test(E, U, groups=np.arange(78) // 3, by=(np.arange(78) // 3).astype(str))


@pytest.mark.slow
def test_a_feature_may_nest_or_cross_the_groups():
    draw, found = np.random.default_rng(8), []
    label = np.repeat(np.arange(60), 5)
    for feature in ((label % 3).astype(str), np.tile(list("abcde"), 60)):
        for _ in range(200):
            z = 0.8 * draw.standard_normal(60)[label] + 0.6 * draw.standard_normal(300)
            found.append(consistency_test(z, np.ones(300), by=feature, groups=label, n_resamples=39, rng=draw).pvalue <= 0.05)
        z = draw.standard_normal(300) * np.where(feature == feature[0], 2, 1)
        assert consistency_test(z, np.ones(300), by=feature, groups=label, n_resamples=999, rng=1).pvalue < 0.005
    assert abs(np.mean(found) - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("sizes", ["equal", "all different"])
def test_the_level_holds_for_correlated_rows_and_is_lost_without_groups(sizes):
    draw, size = np.random.default_rng(9), np.full(60, 5) if sizes == "equal" else 1 + np.arange(60) % 20
    label, found = np.repeat(np.arange(60), size), []
    for _ in range(400):
        z = np.sqrt(0.6) * draw.standard_normal(60)[label] + np.sqrt(0.4) * draw.standard_normal(label.size)
        u = np.exp(0.5 * draw.standard_normal(60)[label])
        sample = Sample(z * u, u, label)
        along = sample.by_uncertainty
        plan = _shuffle_plan("kuiper", sample, along)
        value = float(as_observed(*plan))
        found.append([np.sum(_under_hypothesis(plan, sample, along.order, h, 39, rng=draw) >= value - 1e-12) <= 1 for h in ("shuffles", "group shuffles", "signs")])
    rate = np.mean(found, axis=0)
    assert rate[0] > 0.2 and np.all(np.abs(rate[1:] - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / 400)), rate


def test_the_same_numbers_for_any_number_of_jobs():
    for groups in (GROUP, SIZES[:48]):
        one, two = (consistency_test(E[:48], U[:48], groups=groups, n_resamples=5000, rng=1, n_jobs=jobs) for jobs in (1, 2))
        assert one == two and np.array_equal(one.null_distribution, two.null_distribution)


@pytest.mark.parametrize("sizes, share", [([2000] + [10] * 100, 0.3), ([200] + [2] * 100, 0.6), ([300] * 4 + [3] * 40, 0.0), ([40] * 5 + [1] * 60, 0.6)])
@pytest.mark.slow
def test_unequal_groups_keep_the_level_of_mean_and_average(sizes, share):
    "150 sets: 5 % + 3.5 standard errors. Mutation: no widening, 10 to 40 % for one of the two."
    group, wrong = np.repeat(np.arange(len(sizes)), sizes), np.zeros(2)
    for seed in range(150):
        rng = np.random.default_rng([seed, 41])
        z = np.sqrt(share) * rng.standard_normal(len(sizes))[group] + np.sqrt(1 - share) * rng.standard_normal(group.size)
        wrong += [average_test(z, np.ones(z.size), groups=group, n_boot=299, rng=seed).pvalue <= 0.05,
                  bias_test(z, np.ones(z.size), groups=group, n_resamples=299, rng=seed).mean_pvalue <= 0.05]
    assert wrong.max() <= 150 * 0.05 + 3.5 * np.sqrt(150 * 0.05 * 0.95)


def test_widening_is_for_unequal_groups_only():
    "Mutations: no look at the sizes; a number below one; constants."
    rng = np.random.default_rng(0)
    x = rng.standard_normal(600)
    assert widening_of(x, np.arange(600) // 5) == widening_of(x, np.arange(600) % 8) == widening_of(x, rng.integers(0, 60, 600)) == 1
    few = np.minimum(np.arange(600) // 100, 5) * (np.arange(600) % 100 > 30)
    assert widening_of(x, np.unique(few, return_inverse=True)[1]) > 1.2 and widening_of(np.ones(600), few) == 1
