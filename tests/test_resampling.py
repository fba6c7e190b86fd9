"""Chunks whose seeds don't depend on who computes, shuffles that are fair, p-values that keep their level, and Holm's correction."""
import itertools

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from uqcal._chance.resampling import (
    ALTERNATIVES, LOOKS, as_observed, chunk_seeds, chunk_size, holm, is_settled, monte_carlo_pvalue, run_chunks, shuffle, shuffle_last, shuffle_state, shuffle_within, under_shuffles,
)

# Each check of uniformity has a fixed seed and would fail for one seed in 1,000 (chi-square, p > 1e-3) if all is right.
UNLIKELY = 1e-3


# chunks

@given(n=st.integers(1, 500), size=st.integers(1, 600), seed=st.integers(0, 2**64))
def test_chunks_cover_all_replicates_once_with_different_seeds(n, size, seed):
    chunks = chunk_seeds(seed, n, size)
    assert [i for start, stop, _ in chunks for i in range(start, stop)] == list(range(n))
    assert all(stop - start == size for start, stop, _ in chunks[:-1])
    assert len({tuple(s.entropy) for _, _, s in chunks}) == len(chunks)
    assert [s.entropy for _, _, s in chunks] == [s.entropy for _, _, s in chunk_seeds(seed, n, size)]


def test_chunks_move_a_generator_on():
    rng = np.random.default_rng(0)
    assert chunk_seeds(rng, 10, 5)[0][2].entropy != chunk_seeds(rng, 10, 5)[0][2].entropy
    with pytest.raises(ValueError, match="n must be"): chunk_seeds(0, 0, 5)
    with pytest.raises(ValueError, match="size must be"): chunk_seeds(0, 5, 0)


def test_more_replicates_begin_with_the_same_chunks():
    assert [s.entropy for *_, s in chunk_seeds(3, 100, 10)] == [s.entropy for *_, s in chunk_seeds(3, 200, 10)][:10]


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_a_chunk_handles_no_more_than_its_budget_unless_one_replicate_does(n, budget):
    size = chunk_size(n, budget)
    assert size >= 1 and (size == 1 or n * size <= budget) and n * (size + 1) > budget


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_results_do_not_depend_on_the_number_of_jobs(n_jobs):
    def task(n, rng):
        return rng.random((n, 2))

    one = run_chunks(task, 103, 10, rng=5)
    assert one.shape == (103, 2) and np.unique(one).size == 206
    np.testing.assert_array_equal(run_chunks(task, 103, 10, rng=5, n_jobs=n_jobs), one)
    np.testing.assert_array_equal(run_chunks(task, 103, 10, rng=np.random.default_rng(5)), one)
    assert not np.array_equal(run_chunks(task, 103, 10, rng=6), one)


def test_progress_is_shown_when_asked_for(capfd):
    run_chunks(lambda n, rng: np.zeros(n), 10, 4, rng=1)
    assert capfd.readouterr().err == ""
    run_chunks(lambda n, rng: np.zeros(n), 10, 4, rng=1, progress=True, description="shuffles")
    err = capfd.readouterr().err
    assert "shuffles" in err and "10/10" in err


# shuffles

def plain_draw(values, count, state):
    "xoshiro256++, Lemire's choice and Fisher–Yates in Python's integers."
    mask, (a, b, c, d), halves = 2**64 - 1, map(int, state), []

    def rotated(x, k):
        return (x << k | x >> 64 - k) & mask

    values = list(values)
    for i in range(len(values) - 1, len(values) - 1 - min(count, len(values) - 1), -1):
        while True:
            if not halves:
                word = (rotated((a + d) & mask, 23) + a) & mask
                c, d, t = c ^ a, d ^ b, b << 17 & mask
                b, a = b ^ c, a ^ d
                c, d = c ^ t, rotated(d, 45)
                halves = [word >> 32, word & (2**32 - 1)]
            product = halves.pop(0) * (i + 1)
            if product % 2**32 >= 2**32 % (i + 1):
                break
        j = product >> 32
        values[i], values[j] = values[j], values[i]
    return values, [a, b, c, d]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1001])
def test_shuffle_is_that_of_the_slow_twin(n):
    state, values = shuffle_state(np.random.default_rng(n)), np.arange(float(n))
    for count in (n, n, n // 2, 1, 0):
        expected, moved = plain_draw(values, count, state)
        shuffle(values, state) if count == n else shuffle_last(values, count, state)
        assert values.tolist() == expected and state.tolist() == moved


@pytest.mark.parametrize("low, refused", [(0, True), (288, True), (296, False), (304, False)])
def test_choices_that_would_be_unfair_are_drawn_again(low, refused):
    "A state is made whose first 32 bits x give 1000·x = low modulo 2³²; they are refused below 2³² mod 1000 = 296."
    first = low // 8 * pow(125, -1, 2**29) % 2**29
    second, place = 7 * 2**20, (1000 * first) >> 32
    assert 1000 * first % 2**32 == low
    word = first << 32 | second
    state = np.array([0, 1, 2, (word >> 23 | word << 41) % 2**64], dtype=np.uint64)  # the first word is d turned by 23 bits
    values = np.arange(1000.0)
    expected, moved = plain_draw(values, 1, state)
    shuffle_last(values, 1, state)
    assert values[-1] == (1000 * second >> 32 if refused else place)
    assert values.tolist() == expected and state.tolist() == moved


@pytest.mark.parametrize("move, reached", [
    (shuffle, set(itertools.permutations(range(5)))),
    (lambda deck, state: shuffle_within(deck, np.array([0, 2, 2, 5]), state), {(*a, *b) for a in ((0, 1), (1, 0)) for b in itertools.permutations((2, 3, 4))}),
])
def test_all_orders_are_equally_likely(move, reached):
    state, deck, counts = shuffle_state(np.random.default_rng(3)), np.arange(5.0), dict.fromkeys(reached, 0)
    for _ in range(1000 * len(reached)):
        move(deck, state)
        counts[tuple(deck.astype(int))] += 1
    assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY


def test_all_draws_without_replacement_are_equally_likely():
    state, deck, counts = shuffle_state(np.random.default_rng(4)), np.arange(6.0), dict.fromkeys(itertools.permutations(range(6), 3), 0)
    for _ in range(120_000):
        shuffle_last(deck, 3, state)
        counts[tuple(deck[3:].astype(int))] += 1
    assert stats.chisquare(list(counts.values())).pvalue > UNLIKELY


@given(st.lists(st.integers(0, 6), max_size=8), st.integers(0, 2**32))
def test_shuffles_keep_the_values_of_each_cell(counts, seed):
    start = np.cumsum([0, *counts])
    values = np.arange(float(start[-1]))
    shuffle_within(values, start, shuffle_state(np.random.default_rng(seed)))
    for a, b in itertools.pairwise(start.tolist()): assert sorted(values[a:b]) == list(range(a, b))


def test_cells_are_shuffled_independently():
    state, deck, counts = shuffle_state(np.random.default_rng(5)), np.arange(4.0), np.zeros((2, 2))
    for _ in range(8000):
        shuffle_within(deck, np.array([0, 2, 4]), state)
        counts[int(deck[0]), int(deck[2]) - 2] += 1
    assert stats.chisquare(counts.ravel()).pvalue > UNLIKELY


def test_states_are_not_zero_and_move_the_generator():
    class Lowest(np.random.Generator):
        def integers(self, low, high, **options): return np.full(options["size"], low, dtype=options["dtype"])

    assert shuffle_state(Lowest(np.random.PCG64(1))).all()
    rng = np.random.default_rng(1)
    first, second = shuffle_state(rng), shuffle_state(rng)
    assert first.dtype == np.uint64 and first.shape == (4,) and not np.array_equal(first, second)


# statistics after shuffles

@nb.njit(nogil=True)
def products(values, n_shuffles, state, fixed):
    out = np.zeros(n_shuffles + 1)
    for r in range(n_shuffles + 1):
        if r > 0: shuffle(values, state)
        for i in range(values.size): out[r] += values[i] * fixed[i]
    return out


def test_the_first_row_is_the_data_and_nothing_is_moved():
    values, fixed = np.arange(7.0), np.arange(7.0)**2
    assert as_observed(products, values, (fixed,)) == sum(k**3 for k in range(7))
    drawn = under_shuffles(products, values, (fixed,), 50, rng=1)
    np.testing.assert_array_equal(values, np.arange(7.0))
    np.testing.assert_array_equal(under_shuffles(products, values, (fixed,), 50, rng=1, n_jobs=2), drawn)
    assert drawn.shape == (50,) and np.unique(drawn).size > 20


def test_jobs_share_many_chunks_of_shuffles_alike():
    values = np.arange(2.0**16)
    assert chunk_size(values.size, 2**21) == 32
    np.testing.assert_array_equal(*(under_shuffles(products, values, (values,), 100, rng=1, n_jobs=jobs) for jobs in (1, 2)))


def test_shuffles_draw_from_all_pairings_alike():
    values, fixed = np.array([0.0, 1, 2, 5, 9]), np.array([1.0, 10, 100, 1000, 10000])
    every = np.sort([np.dot(order, fixed) for order in itertools.permutations(values)])
    drawn = under_shuffles(products, values, (fixed,), 60_000, rng=3)
    found, counts = np.unique(drawn, return_counts=True)
    np.testing.assert_array_equal(found, every)
    assert stats.chisquare(counts).pvalue > UNLIKELY


# p-values

def slow_pvalue(statistic, null, alternative):
    "Counted one by one, by the rule for ties."
    finite = sorted(abs(t) for t in null if np.isfinite(t))
    middle = (finite[(len(finite) - 1) // 2] + finite[len(finite) // 2]) / 2 if finite else 0.0
    slack = 1e-10 * max(abs(statistic), middle)
    above = 1 + sum(not t < statistic - slack for t in null)
    below = 1 + sum(not t > statistic + slack for t in null)
    return min(1.0, {"greater": above, "less": below, "two-sided": 2 * min(above, below)}[alternative] / (len(null) + 1))


NULL = arrays(np.float64, st.integers(1, 30), elements=st.integers(-4, 4).map(float) | st.just(np.nan) | st.floats(-5, 5))


@given(st.integers(-5, 5).map(float), NULL, st.sampled_from(ALTERNATIVES))
def test_pvalue_is_that_of_the_slow_twin(statistic, null, alternative):
    p = monte_carlo_pvalue(statistic, null, alternative)
    assert p == slow_pvalue(statistic, null.tolist(), alternative) and type(p) is float
    assert 1 / (null.size + 1) <= p <= 1
    assert p == monte_carlo_pvalue(statistic, null[::-1], alternative)
    mirrored = {"greater": "less", "less": "greater", "two-sided": "two-sided"}[alternative]
    assert p == monte_carlo_pvalue(-statistic, -null, mirrored)


@given(st.integers(-5, 5), NULL, st.sampled_from(ALTERNATIVES), st.sampled_from([2.0**-67, 2.0**-10, 2.0**67]))
def test_pvalue_does_not_depend_on_the_scale(statistic, null, alternative, factor):
    assert monte_carlo_pvalue(factor * statistic, factor * null, alternative) == monte_carlo_pvalue(statistic, null, alternative)


@given(st.integers(-5, 5).map(float), NULL, st.sampled_from(ALTERNATIVES), st.integers(0, 29))
def test_an_undefined_value_never_helps_to_reject(statistic, null, alternative, place):
    defined = np.nan_to_num(null)
    lost = defined.copy()
    lost[place % null.size] = np.nan
    slack_is_kept = np.median(np.abs(defined)) == np.median(np.abs(lost[np.isfinite(lost)])) if np.isfinite(lost).any() else True
    if slack_is_kept: assert monte_carlo_pvalue(statistic, lost, alternative) >= monte_carlo_pvalue(statistic, defined, alternative)
    assert monte_carlo_pvalue(np.nan, null, alternative) == 1  # a statistic without a value rejects nothing


def test_an_infinite_value_is_reached_by_infinite_ones_only():
    assert monte_carlo_pvalue(np.inf, [1.0, 2.0, 3.0]) == 0.25 and monte_carlo_pvalue(np.inf, [1.0, np.inf, 3.0]) == 0.5
    assert monte_carlo_pvalue(-np.inf, [1.0, 2.0, 3.0], "less") == 0.25 and monte_carlo_pvalue(np.inf, [1.0, 2.0, 3.0], "less") == 1


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("statistic, noise", [(3.0, 1e-15), (0.0, 1e-16), (-7.0, 1e-12)])
def test_values_equal_but_for_rounding_are_ties(scale, statistic, noise):
    null = np.r_[np.full(50, statistic), np.arange(-99.5, 100)]
    exact = {alternative: monte_carlo_pvalue(scale * statistic, scale * null, alternative) for alternative in ALTERNATIVES}
    for sign in (-1, 1):
        for alternative in ALTERNATIVES: assert monte_carlo_pvalue(scale * (statistic + sign * noise), scale * null, alternative) == exact[alternative]
    assert monte_carlo_pvalue(scale * (statistic + 1e-7), scale * null) < exact["greater"]


def test_a_pvalue_is_never_zero():
    assert monte_carlo_pvalue(10.0, np.zeros(9999)) == 1e-4
    assert monte_carlo_pvalue(10.0, np.zeros(9999), "two-sided") == 2e-4
    assert monte_carlo_pvalue(0.0, []) == 1
    with pytest.raises(ValueError, match="alternative must be one of"): monte_carlo_pvalue(1.0, [1.0], "larger")


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.slow
def test_pvalues_are_uniform_under_the_hypothesis(alternative):
    "Data and nineteen sets alike: each of twenty p-values has probability 1/20."
    values = np.random.default_rng(6).standard_cauchy((20_000, 20))
    found = np.array([monte_carlo_pvalue(row[0], row[1:], alternative) for row in values])
    assert stats.chisquare(np.bincount(np.round(20 * found).astype(int), minlength=21)[1:]).pvalue > UNLIKELY


def test_two_sided_pvalues_keep_every_level():
    values = np.random.default_rng(7).exponential(size=(20_000, 20))
    found = np.array([monte_carlo_pvalue(row[0], row[1:], "two-sided") for row in values])
    counts = np.bincount(np.round(20 * found).astype(int), minlength=21)
    assert set(np.flatnonzero(counts)) == set(range(2, 21, 2)) and stats.chisquare(counts[2::2]).pvalue > UNLIKELY


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_level_is_kept_with_ties_and_undefined_values(alternative):
    "Within four standard errors of 10,000 sets, at every level that p-values of nineteen sets can have."
    rng = np.random.default_rng(8)
    values = rng.integers(0, 4, (10_000, 20)).astype(float)
    values[rng.random(values.shape) < 0.05] = np.nan
    found = np.array([monte_carlo_pvalue(row[0], row[1:], alternative) for row in values])
    for level in np.arange(1, 20) / 20: assert np.mean(found <= level) <= level + 4 * np.sqrt(level * (1 - level) / 10_000)


# many tests

def test_holm_rejects_what_stepping_down_rejects():
    "Step by step from the smallest p-value, at every level that could matter."
    rng = np.random.default_rng(1)
    for m in range(1, 30):
        pvalues = np.round(rng.random(m)**3, 2)          # with ties, zeros and ones
        adjusted = holm(pvalues)
        for level in np.unique(np.clip(np.multiply.outer(pvalues, np.arange(1, m + 1)), 0, 1)):
            left, rejected = sorted(range(m), key=lambda i: pvalues[i]), set()
            while left and len(left) * pvalues[left[0]] <= level:
                rejected.add(left.pop(0))
            if level < 1:
                assert rejected == set(np.flatnonzero(adjusted <= level))


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1)))
def test_holm_is_above_benjamini_hochberg_and_keeps_the_order(pvalues):
    adjusted = holm(pvalues)
    assert np.all(adjusted >= stats.false_discovery_control(pvalues) * (1 - 1e-12)) and np.all(adjusted >= pvalues)
    np.testing.assert_array_equal(holm(pvalues[::-1]), adjusted[::-1])


def test_holm_is_that_of_statsmodels():
    for n in (1, 2, 5, 20):
        pvalues = np.random.default_rng(n).random(n).round(1 if n == 20 else 9)
        np.testing.assert_allclose(holm(pvalues), multipletests(pvalues, method="holm")[1], rtol=1e-12)


def test_holm_makes_false_alarms_in_no_more_than_the_level_of_studies():
    "Four standard errors of 4,000 studies with ten true and five false hypotheses, whose statistics depend on each other."
    rng = np.random.default_rng(9)
    scores = np.repeat([0.0, 4.0], [10, 5]) + 0.6 * rng.standard_normal((4000, 1)) + 0.8 * rng.standard_normal((4000, 15))
    false = np.array([holm(row)[:10].min() <= 0.05 for row in stats.norm.sf(scores)])
    assert false.mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 4000) and false.mean() > 0.02


def reciprocals(n, generator):
    return generator.random(n)


@pytest.mark.parametrize("truth", [0.001, 0.03, 0.045, 0.055, 0.08, 0.5])
def test_a_settled_pvalue_stays_on_its_side_of_the_level(truth):
    "The rest turns an answer once in ten thousand runs; of 6 × 300 none may be. A rule of three standard errors of p turns one in twenty."
    rng, drawn = np.random.default_rng(int(1000 * truth)), []
    for _ in range(300):
        sets = rng.random(9999)
        taken = next((m for m in LOOKS if is_settled(truth, sets[:m], 9999, 0.05, "less")), 9999)
        drawn.append(taken)
        assert (monte_carlo_pvalue(truth, sets[:taken], "less") <= 0.05) == (monte_carlo_pvalue(truth, sets, "less") <= 0.05)
    assert np.median(drawn) == {0.001: 1999, 0.5: 299}.get(truth, np.median(drawn))


def test_what_has_too_many_already_is_settled_and_nothing_rejects_on_few_sets():
    assert is_settled(1.0, np.full(299, 2.0), 9999, 0.05) and is_settled(1.0, np.full(500, 2.0), 9999, 0.05)
    assert not is_settled(1.0, np.zeros(999), 9999, 0.05) and is_settled(1.0, np.zeros(1999), 9999, 0.05)
    assert is_settled(1.0, np.full(1, 2.0), 19, 0.05)  # with 19 sets none may reach the data
    with pytest.raises(ValueError, match="alternative"): is_settled(1.0, np.zeros(9), 99, 0.05, "two-sided")


def test_a_run_that_stops_is_the_beginning_of_the_whole_run_on_any_number_of_cores():
    whole = run_chunks(reciprocals, 5000, 7, rng=3)
    for stop in (300, 1000, 4999):
        for jobs in (1, 3):
            some = run_chunks(reciprocals, 5000, 7, rng=3, n_jobs=jobs, is_enough=lambda rows, stop=stop: rows.size >= stop)
            np.testing.assert_array_equal(some, whole[:some.size])
            assert stop <= some.size < 5000 or some.size == 5000 and stop > 4999 - 7
    rng, other = np.random.default_rng(1), np.random.default_rng(1)
    run_chunks(reciprocals, 5000, 7, rng=rng, is_enough=lambda rows: True)
    run_chunks(reciprocals, 5000, 7, rng=other)
    assert rng.random() == other.random()  # what comes after does not depend on when it stopped
