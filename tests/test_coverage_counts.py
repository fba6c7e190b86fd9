"""Counts of covered points: against scipy and sums over all outcomes, the interval against the test, groups against draws, and the level."""
import math

import numpy as np
from every_case import every_case
import pytest
from scipy import stats

from uqcal._chance.coverage_counts import count_tails, coverage_interval, group_pvalues, promised_coverage, tail_pvalue


def test_ranks_do_not_suffer_from_rounding():
    for m, level, rank in ((24, 0.28, 7), (99, 0.57, 57), (99, 0.9, 90), (19, 0.95, 19), (9, 0.1, 1), (200, 0.9, 181)):
        assert promised_coverage(level, m) == rank / (m + 1)
    assert promised_coverage(0.9, None) == 0.9
    with pytest.raises(ValueError, match="n_calibration must be at least 19 for a level of 0.95, got 18"): promised_coverage(0.95, 18)


@every_case("n, m", [(1, 5), (5, 9), (100, 50), (2000, 200), (300, 5000), (100_000, 50)])
def test_tails_are_those_of_the_beta_binomial_distribution(n, m):
    q = promised_coverage(0.8, m)
    chance = stats.betabinom(n, (m + 1) * q, (m + 1) * (1 - q)).pmf(np.arange(n + 1))      # its sf is one minus the cdf: no tails
    for k in {0, 1, n // 2, int(0.8 * n), n - 1, n}:
        np.testing.assert_allclose(count_tails(k, n, q, m), (chance[:k + 1].sum(), chance[k:].sum()), rtol=1e-7)
        np.testing.assert_allclose(count_tails(k, n, q), (stats.binom.cdf(k, n, q), stats.binom.sf(k - 1, n, q)), rtol=1e-12)


@pytest.mark.parametrize("m", [None, 1, 20, 200, 10**6])
@pytest.mark.parametrize("covered, n", [(0, 5), (5, 5), (1, 30), (29, 30), (170, 200), (9_400, 10_000)])
def test_the_interval_holds_what_the_test_does_not_reject(covered, n, m):
    low, high = coverage_interval(covered, n, 0.9, m)
    assert 0 <= low < covered / n + 1e-12 and covered / n - 1e-12 < high <= 1
    for q in np.linspace(0.005, 0.995, 67):
        if min(abs(q - low), abs(q - high)) < 1e-9: continue
        assert (tail_pvalue(*count_tails(covered, n, q, m)) < 0.1) == (not low <= q <= high), (q, low, high)
    if m is None: np.testing.assert_allclose((low, high), stats.binomtest(covered, n).proportion_ci(0.9, "exact"), rtol=1e-9, atol=1e-300)


def test_the_interval_covers_the_promise_of_any_rank_as_often_as_it_says():
    "Summed over all counts: at least 95 %, and for 500 points no more than 96.5 %, at ranks that are right and wrong for any stated level."
    for m, rank in ((50, 46), (50, 30), (200, 181), (200, 199), (5000, 4501)):
        q, chance = rank / (m + 1), stats.betabinom(500, rank, m + 1 - rank).pmf(np.arange(501))
        likely = np.flatnonzero(chance > 1e-6)
        held = [low <= q * (1 + 1e-9) and q * (1 - 1e-9) <= high for low, high in (coverage_interval(int(k), 500, 0.95, m) for k in likely)]
        assert 0.95 - 1e-4 <= chance[likely][held].sum() <= (0.965 if rank < 199 else 0.99), (m, rank)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
@pytest.mark.parametrize("m", [None, 50, 1000])
def test_groups_share_their_calibration(m, alternative):
    "The smallest p-value of groups that share one calibration is as small as it says: 30,000 draws, 4 standard errors."
    n, q = np.array([30, 400, 400, 2000]), promised_coverage(0.9, m)
    rng = np.random.default_rng(1)
    coverage = np.full(30_000, q) if m is None else rng.beta((m + 1) * q, (m + 1) * (1 - q), 30_000)
    counts = rng.binomial(n, coverage[:, None])
    def alone(j): return np.array([tail_pvalue(*count_tails(k, int(n[j]), q, m), alternative) for k in range(n[j] + 1)])
    tables = {int(size): alone(j) for j, size in enumerate(n)}
    drawn = np.sort([tables[int(size)][counts[:, j]] for j, size in enumerate(n)], axis=0).T
    for row in counts[:5]:
        own, adjusted, together = group_pvalues(row, n, q, m, alternative)
        np.testing.assert_allclose(own, [tables[int(size)][k] for size, k in zip(n, row)], rtol=1e-9)
        first, second = np.sort(own)[:2] * (1 + 1e-9)
        share = np.mean((drawn[:, 0] < first * (1 - 1e-8)) | (drawn[:, 0] <= first) & (drawn[:, 1] <= second))
        assert abs(share - together) < 4 * math.sqrt(share * (1 - share) / 30_000) + 1e-5 and together <= adjusted.min()
        share = np.mean(drawn[:, 0] <= first)
        assert abs(max(share, own.min()) - adjusted.min()) < 4 * math.sqrt(share * (1 - share) / 30_000) + 1e-5
        assert (adjusted >= own * (1 - 1e-12)).all() and (np.argsort(adjusted[np.argsort(own)], kind="stable") == np.arange(4)).all()
        holm = np.maximum.accumulate(np.minimum(1, np.sort(own) * (4 - np.arange(4))))
        assert (np.sort(adjusted) <= holm + 1e-8).all()


def test_one_group_is_a_test_of_its_own_and_far_tails_keep_their_digits():
    for n, k, m in ((2000, 1500, 5000), (2000, 1000, None), (500, 300, 200), (40, 5, 60)):
        own, adjusted, together = group_pvalues(np.array([k]), np.array([n]), promised_coverage(0.9, m), m)
        assert together == own[0]
        np.testing.assert_allclose(adjusted, own, rtol=1e-4)
        assert own[0] < 1e-6


def test_without_calibration_groups_are_independent():
    "The product of what each group does: two groups of one binomial, by hand."
    own, adjusted, together = group_pvalues(np.array([85, 95]), np.array([100, 100]), 0.9)
    reached, lower, other = stats.binom.cdf([85, 84, 95], 100, 0.9)
    np.testing.assert_allclose(adjusted, [1 - (1 - reached)**2, own[1]], rtol=1e-9)
    np.testing.assert_allclose(together, 1 - (1 - lower)**2 + (reached - lower)**2 + 2 * (reached - lower) * (other - reached), rtol=1e-9)


@pytest.mark.parametrize("n, groups, m", [(200, 10, None), (200, 10, 1000), (200, 10, 50), (20, 5, 200), (700, 3, 5000), (40, 30, None)])
def test_all_groups_together_keep_their_level(n, groups, m):
    "4,000 sets, 5 % with a standard error of 0.34 %: never above 6 %, and no lower than 3.9 % where groups have 200 points."
    rng, q = np.random.default_rng(7), promised_coverage(0.9, m)
    coverage = np.full(4000, q) if m is None else rng.beta((m + 1) * q, (m + 1) * (1 - q), 4000)
    sets, times = np.unique(np.sort(rng.binomial(n, coverage[:, None], (4000, groups)), axis=1)[:, :2], axis=0, return_counts=True)
    rejected = 0
    for (lowest, next_one), number in zip(sets, times):          # equal sizes: the two lowest counts decide
        if stats.binom.cdf(lowest, n, q) > 0.05 and m is None: continue
        counts = np.concatenate([[lowest, next_one], np.full(groups - 2, n)])
        rejected += number * (group_pvalues(counts, np.full(groups, n), q, m).together < 0.05)
    assert (0.039 if n >= 200 else 0.02) < rejected / 4000 < 0.06
