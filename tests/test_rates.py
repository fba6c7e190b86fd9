"""Differences of rates: coverage by adding up all outcomes, limits known in closed form, the test that is the interval, and averages of matched groups."""
import numpy as np
from every_case import every_case
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, ttest_ind

from uqcal._command.cli import main
from uqcal.subgroups.cumulative import calibration_graph
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal._chance.rates import MatchedAverages, cases_of, matched_difference, rate_difference, rate_difference_of, rate_interval


def whole(graph):
    return graph.slope(graph.score[0], graph.score[-1])


@every_case("x, n", [(0, 3), (1, 20), (3, 20), (7, 40), (40, 40), (50, 1000)])
def test_limits_are_midp_once_or_twice_and_lie_between_those_of_clopper_and_pearson(x, n):
    "An end spends all of 5 % where a quarter of the probability of no event is larger than its tail, half of it elsewhere, or it is where the two are equal."
    low, high = rate_interval(x / n, n)
    assert beta.ppf(0.025, x, n - x + 1) <= low if x else low == 0
    assert high <= beta.ppf(0.975, x + 1, n - x) if x < n else high == 1
    for p, k in ((low, x), (1 - high, n - x)):
        if k == 0: continue
        tail, none = (binom.sf(k - 1, n, p) + binom.sf(k, n, p)) / 2, binom.pmf(0, n, p) / 4
        if abs(tail - none) < 1e-6 * tail: assert 0.025 - 1e-6 <= tail <= 0.05 + 1e-6
        else: np.testing.assert_allclose(tail, 0.05 if none > tail else 0.025, rtol=1e-6)


def test_limits_of_a_higher_confidence_are_never_inside():
    "Also where an end stays while the level falls: 3 of 20, whose lower limit stands still for a while."
    for x, n in ((3, 20), (1, 20), (3, 3), (2, 5), (7, 12)):
        ends = np.array([rate_interval(x / n, n, confidence=c) for c in 1 - np.geomspace(1e-6, 0.5, 60)])
        assert (np.diff(ends[:, 0]) >= -1e-12).all() and (np.diff(ends[:, 1]) <= 1e-12).all()


@pytest.mark.parametrize("n_a, n_b, rates, least, most", [
    (3, 3, (0.001, 0.05, 0.5), 0.93, 1), (10, 10, (0.2, 0.5), 0.93, 0.985), (40, 40, (0.05, 0.2, 0.5), 0.93, 0.97), (100, 100, (0.05, 0.2), 0.93, 0.97),
    (20, 1000, (0.001, 0.003, 0.006, 0.01, 0.05), 0.93, 0.99), (20, 1000, (0.005, 0.03, 0.05, 0.08), 0.93, 0.97), (200, 200, (0.01,), 0.93, 0.97), (5, 5, (0.3, 0.5), 0.93, 0.99)])
@pytest.mark.slow
def test_coverage_added_up_over_all_outcomes(n_a, n_b, rates, least, most):
    "Exact to 0.0002, so no rate of error: a mutation of either limit moves it."
    top = [int(binom.isf(1e-4, n, max(rates))) for n in (n_a, n_b)]
    held = np.zeros((top[0] + 1, top[1] + 1))
    for a in range(top[0] + 1):
        for b in range(a if n_a == n_b else 0, top[1] + 1):
            held[a, b] = rate_difference_of(a / n_a, n_a, b / n_b, n_b).confidence_interval.holds(0)
            if n_a == n_b: held[b, a] = held[a, b]  # whichever of them is called a
    for rate in rates:
        share = binom.pmf(range(top[0] + 1), n_a, rate) @ held @ binom.pmf(range(top[1] + 1), n_b, rate)
        assert least <= share <= most, (rate, share)


@pytest.mark.parametrize("n_a, n_b", [(2, 2), (3, 3), (3, 4), (4, 4), (2, 7), (5, 5), pytest.param(5, 30, marks=pytest.mark.slow)])
def test_very_small_groups_hold_any_two_rates_up_to_a_half(n_a, n_b):
    "Exact, with the public function alone: (3) at 5 % covers 87.5 % of 2 v 2, 89.8 % of 3 v 3, 92.0 % of 3 v 4."
    found = [[rate_difference_of(a / n_a, n_a, b / n_b, n_b) for b in range(n_b + 1)] for a in range(n_a + 1)]
    rates = np.r_[0.003, np.linspace(0.02, 0.5, 17)]
    for p in rates:
        for q in rates:
            held = [[one.confidence_interval.low <= p - q + 1e-9 and one.confidence_interval.high >= p - q - 1e-9 for one in row] for row in found]
            assert binom.pmf(range(n_a + 1), n_a, p) @ np.array(held) @ binom.pmf(range(n_b + 1), n_b, q) > 0.928, (p, q)
    for one in sum(found, []): assert (one.pvalue < 0.05) == (not one.confidence_interval.holds(0)) and 0 < one.pvalue <= 1


@given(n_a=st.integers(1, 500), n_b=st.integers(1, 500), data=st.data())
@settings(max_examples=40, deadline=None)
def test_no_interval_without_width_and_none_against_its_test(n_a, n_b, data):
    a, b = data.draw(st.integers(0, n_a)) / n_a, data.draw(st.integers(0, n_b)) / n_b
    one = rate_difference_of(a, n_a, b, n_b)
    low, high = one.confidence_interval
    assert -1 <= low < high <= 1 and low <= one.estimate <= high
    if abs(one.pvalue - 0.05) > 1e-4: assert (one.pvalue < 0.05) == (not low <= 0 <= high)
    wider = rate_difference_of(a, n_a, b, n_b, confidence=0.99).confidence_interval
    assert wider.low <= low and high <= wider.high


def test_a_known_rate_is_compared_as_one_rate():
    one = rate_difference_of(0.1, 50, 0.02, np.inf)
    np.testing.assert_allclose(one.confidence_interval, np.array(rate_interval(0.1, 50)) - 0.02, atol=1e-12)


@every_case("call, match", [
    (lambda: rate_interval(1.1, 5), "rate must lie"), (lambda: rate_interval(0.5, 0), "n must be"), (lambda: rate_interval(0.5, 5, confidence=1), "confidence"),
    (lambda: rate_difference_of(0.5, 5, -0.1, 5), "rate must lie"), (lambda: rate_difference([0, 2], [1]), "y_true_a"), (lambda: rate_difference([0, 1], [1], sample_weight_b=[1, 2]), "sample_weight_b")])
def test_bad_input_is_named(call, match):
    with pytest.raises((ValueError, TypeError), match=match): call()


# ---- averages of graphs


def test_averages_of_a_graph_are_weighted_means_of_its_members():
    "The two averages and their numbers of cases, by finite differences of the graph itself: coefficient of each response."
    rng = np.random.default_rng(1)
    s_a, s_b = np.round(rng.uniform(size=12), 1), np.round(rng.uniform(size=9), 1)
    w_a, w_b = rng.exponential(size=12) + 0.1, rng.exponential(size=9) + 0.1
    y_a, y_b = (rng.integers(0, 2, n).astype(float) for n in (12, 9))
    def graph(a, b): return comparison_graph(a, s_a, b, s_b, sample_weight_a=w_a, sample_weight_b=w_b, method="asymptotic")
    u = np.array([graph(np.eye(12)[k], np.zeros(9)).average_difference for k in range(12)])
    v = -np.array([graph(np.zeros(12), np.eye(9)[k]).average_difference for k in range(9)])
    found = graph(y_a, y_b).averages(0, graph(y_a, y_b).score.size)
    np.testing.assert_allclose([u.sum(), v.sum()], 1)
    np.testing.assert_allclose([found.rate_a, found.n_a, found.rate_b, found.n_b], [u @ y_a, 1 / (u @ u), v @ y_b, 1 / (v @ v)], rtol=1e-9)
    member, y, s, w = np.arange(21) < 8, np.r_[y_a, y_b], np.r_[s_a, s_b], np.r_[w_a, w_b]
    def crowd(y): return subpopulation_graph(y, s, member, sample_weight=w, method="asymptotic")
    c = np.array([crowd(np.eye(21)[k]).average_difference for k in range(21)])
    found, u, v = crowd(y).averages(0, crowd(y).score.size), c[member], -c[~member]
    np.testing.assert_allclose([found.unit, found.rate_a, found.n_a, found.rate_b, found.n_b],
                               [u.sum(), u @ y[member] / u.sum(), u.sum()**2 / (u @ u), v @ y[~member] / v.sum(), v.sum()**2 / (v @ v)], rtol=1e-9)


def test_cases_that_had_no_width_or_another_answer_than_their_test():
    rng = np.random.default_rng(2)
    three = whole(comparison_graph([1, 1, 1], [1, 2, 3], [0, 0, 0], [1.5, 2.5, 3.5], rng=1))
    forty = whole(comparison_graph(np.zeros(40), rng.uniform(size=40), np.zeros(40), rng.uniform(size=40), rng=1))
    twenty = whole(comparison_graph(np.zeros(20), rng.uniform(size=20), (np.arange(1000) % 20 == 0) * 1, rng.uniform(size=1000), rng=1))
    assert three.value == 1 and three.confidence_interval.low < 0.3 and three.confidence_interval.high == 1
    assert forty.value == 0 and -0.2 < forty.confidence_interval.low < -0.05 and 0.05 < forty.confidence_interval.high < 0.2 and forty.pvalue == 1
    assert twenty.confidence_interval.holds(0) and twenty.pvalue > 0.05
    alike = whole(comparison_graph(np.full(9, 3.5), np.arange(9.0), np.full(9, 3.5), np.arange(9.0) + 0.5, rng=1))
    assert alike.confidence_interval == (-np.inf, np.inf) and alike.pvalue == 1
    steps = whole(comparison_graph(np.arange(9) // 3 * 1.0, np.arange(9) // 3, np.arange(9) // 3 * 1.0, np.arange(9) // 3, rng=1))
    assert steps.value == 0 and steps.confidence_interval.low < -0.5 and steps.confidence_interval.high > 0.5          # no noise, yet nine values tell little
    quiet = whole(calibration_graph(np.zeros(300), np.full(300, 0.001)))
    assert quiet.confidence_interval.high - quiet.confidence_interval.low > 0.005
    assert 0.2 < whole(calibration_graph([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5])).confidence_interval.high


def test_numbers_get_students_interval():
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 2, 30), rng.normal(0, 2, 30)
    tied = whole(comparison_graph(a, np.zeros(30), b, np.zeros(30), rng=1))
    plain = ttest_ind(a, b, equal_var=False).confidence_interval()
    np.testing.assert_allclose(np.ptp(tied.confidence_interval), np.ptp(plain), rtol=0.02)          # two thirds of the degrees of freedom widen it by a percent


def test_events_that_follow_the_score_are_worth_more_cases():
    averages = MatchedAverages(0.5, 200.0, 0.5, 200.0, 1.0, True)
    steep, flat = (matched_difference(averages, 0.0, factor * 0.0025, confidence=0.95)[0] for factor in (0.3, 1.0))
    assert 0.5 < (steep.high - steep.low) / (flat.high - flat.low) < 0.7          # √((100·0.3 + 10)/110) = 0.60


@pytest.mark.parametrize("n_a, n_b, rate, n_sets, most", [(3, 3, 0.5, 400, 1), (40, 40, 0.2, 400, 0.985), (20, 1000, 0.05, 400, 0.99), (300, 300, 0.05, 300, 0.985)])
@pytest.mark.slow
def test_intervals_of_matched_averages_hold_the_truth(n_a, n_b, rate, n_sets, most):
    "Rates of 95 to 99 %: 400 sets tell them to about 1 %; the bounds are three standard errors away."
    rng, held = np.random.default_rng(n_a), []
    for _ in range(n_sets):
        s_a, s_b = rng.uniform(size=n_a), rng.uniform(size=n_b)
        try: graph = comparison_graph((rng.uniform(size=n_a) < rate) * 1, s_a, (rng.uniform(size=n_b) < rate) * 1, s_b, method="asymptotic")
        except ValueError: continue
        low, high = whole(graph).confidence_interval
        assert low < high
        held.append(low <= 0 <= high)
    assert 0.915 <= np.mean(held) <= most


def test_the_sentence_says_which_of_two_tests_finds_something(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"1,{k},a\n0,{k + 0.5},b\n" for k in range(3)]
    (tmp_path / "three.csv").write_text("y,s,g\n" + "".join(rows))
    (tmp_path / "none.csv").write_text("y,s,g\n" + "".join(f"0,{k},{'ab'[k % 2]}\n" for k in range(80)))
    said = []
    for name in ("three", "none"):
        with pytest.raises(SystemExit): main(["compare-groups", f"{name}.csv", "--observed", "y", "--score", "s", "--by", "g"])
        said.append(" ".join(capsys.readouterr().out.split()))
    assert "? Along the score no difference found" in said[0] and "✗ On average" in said[0] and "p = 0.024" in said[0]
    assert "No difference between groups a and b is found" in said[1] and "[−0.0" in said[1]


def test_weights_that_go_with_the_chances_are_seen():
    "Mutations: the number of cases by weights alone (267 of 300 hold); rows of weight zero that count; weights of another scale."
    held = 0
    for seed in range(300):
        rng = np.random.default_rng([39, seed])
        w = np.exp(rng.standard_normal(1500))
        chance = np.minimum(0.02 * w, 0.9)
        y, other = (rng.random(1500) < chance) * 1.0, (rng.random(1500) < 0.02) * 1.0
        found = rate_difference(y, other, sample_weight_a=w)
        held += found.confidence_interval.holds(w @ chance / w.sum() - 0.02)
        if seed: continue
        padded = rate_difference(np.append(y, [0, 1]), other, sample_weight_a=1e148 * np.append(w, [0, 0]))
        assert padded.n_a == pytest.approx(found.n_a, rel=1e-9) and found.n_a < w.sum()**2 / (w @ w)
    assert cases_of(y, np.full(1500, 7.0)) == 1500 and held >= 279, held  # 288


def test_weights_that_go_with_the_outcomes_keep_the_level():
    "Mutation: the scatter of squared weights about their own share of ones, not about the rate (67 of 300 equal rates differ with p < 0.05)."
    rng, differ = np.random.default_rng(0), 0

    def group():
        "All events, and one in twenty of the others with the weight of twenty."
        y = (rng.random(4000) < 0.9) * 1
        kept = rng.random(4000) < np.where(y == 1, 1, 0.05)
        return y[kept], np.where(y == 1, 1, 20)[kept]

    for _ in range(300):
        (a, weight_a), (b, weight_b) = group(), group()
        differ += rate_difference(a, b, sample_weight_a=weight_a, sample_weight_b=weight_b).pvalue < 0.05
    assert differ <= 27, differ
