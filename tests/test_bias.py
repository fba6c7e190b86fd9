"""Bias: the lies that must end, Table II, levels with and without repeats, limits, and errors freed of their bias."""
import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from uqcal.errors.bias import _bias_of, bias_test, _centred_of, _groups_are_small
from uqcal.errors.conclusions import draw_conclusions
from uqcal.statistics.consistency import NothingToTest
from uqcal.sample.datasets import catalogue, load_errors
from uqcal.errors.factors import _average_of
from uqcal._sample.sample import Sample

TABLE_II = json.loads((Path(__file__).parent / "published" / "simref_tables.json").read_text("utf-8"))["II"]
with_data = pytest.mark.skipif("UQCAL_DATA_DIR" not in os.environ, reason="UQCAL_DATA_DIR names no folder with the data sets")


def drawn(seed, n=2000):
    rng = np.random.default_rng(seed)
    return np.exp(0.5 * rng.standard_normal(n)), rng.standard_normal(n), rng


# What must be said of data that fooled a test of size


def test_errors_of_one_sign_are_biased():
    u, epsilon, _ = drawn(1)
    test = bias_test(0.98 * u + 0.2 * u * epsilon, u, rng=1)
    assert test.mean_is_biased and test.confidence_interval.holds(0.98) and test.mean_pvalue <= 2e-4
    assert test.sentence.startswith("Errors are biased: the mean of Z is 0.9")


def test_groups_of_opposite_bias_are_found_although_the_mean_is_zero():
    u, epsilon, _ = drawn(2)
    kind = np.where(np.arange(2000) % 2, "a", "b")
    test = bias_test(np.where(kind == "a", 0.9, -0.9) * u + 0.436 * u * epsilon, u, by=kind, rng=1)
    assert test.bias_changes and not test.mean_is_biased
    for _, row in test.stretches.iterrows():
        assert row["low"] < (0.9 if row["first"] == "a" else -0.9) < row["high"] and row["high"] - row["low"] < 0.1
    assert "biased in places" in test.sentence and "in group" in test.sentence
    assert not bias_test(np.where(kind == "a", 0.9, -0.9) * u + 0.436 * u * epsilon, u, rng=1).bias_changes


def test_perfect_errors_plus_a_constant_are_biased_most_where_uncertainties_are_small():
    u, epsilon, _ = drawn(3)
    test = bias_test(u * epsilon + 0.5, u, rng=1)
    assert test.mean_is_biased and test.bias_changes
    assert test.stretch.last < np.median(u) and test.stretch.mean > 1.5 * test.stretch.elsewhere
    assert test.stretch.confidence_interval.holds(np.mean(0.5 / u[u <= test.stretch.last]))


@pytest.mark.slow
def test_perfect_errors_are_called_biased_in_five_percent_of_sets():
    "Between 3.5 and 6 %, ± three standard errors of 600 sets."
    found = 0
    for seed in range(600):
        u, epsilon, _ = drawn(seed, n=100)
        test = bias_test(u * epsilon, u, rng=seed, n_resamples=199)
        found += test.mean_is_biased or test.bias_changes
    assert 0.035 - 0.022 < found / 600 < 0.06 + 0.029


@pytest.mark.parametrize("sign", [1, -1])
def test_one_wild_error_is_no_bias(sign):
    u, epsilon, _ = drawn(4)
    error = u * epsilon
    error[7] = sign * 1e4
    test = bias_test(error, u, rng=1)
    assert not test.mean_is_biased and not test.bias_changes and test.mean_pvalue > 0.1
    assert test.confidence_interval.holds(0.0)


# Table II of Pernot (2024)


@with_data
@pytest.mark.parametrize("number", range(1, 10))
def test_table_two_has_the_published_digits(number):
    data = load_errors(catalogue().index[number - 1])
    ours = bias_test(data.error, data.uncertainty, n_resamples=19, rng=1).table2().iloc[0]
    mean, sd, relative = TABLE_II[number - 1][:3]
    for cell, value, error in ((mean, ours["mean of Z"], ours["its error"]), (sd, ours["sd of Z"], ours["error of sd"])):
        text, digits = cell.rstrip(")").split("(")
        unit = 10.0**-len(text.partition(".")[2])
        assert abs(value - float(text)) <= 0.5001 * unit
        assert abs(error / unit - int(digits)) <= 0.5 + 0.06 * int(digits)  # the paper's is a bootstrap's
    assert round(ours["b_Z (%)"]) == int(relative)
    assert ours["Var(Z)"] == pytest.approx(np.var(data.error / data.uncertainty, ddof=1), rel=1e-12)


# Levels


def rate(draw, n_sets, **options):
    "Shares of sets whose mean, and whose change, is called biased at 5 %."
    found = np.zeros(2)
    for seed in range(n_sets):
        error, u, rng = draw(seed)
        test = _bias_of(Sample(error, u, options.get("groups")), n_resamples=199, rng=rng)
        found += test.mean_pvalue <= 0.05, test.pvalue <= 0.05
    return found / n_sets


@pytest.mark.slow
def test_a_spread_that_changes_along_u_is_no_bias():
    "Shuffled Z would find a change in 13 % and more of these sets."
    def draw(seed):
        u, epsilon, rng = drawn(seed, n=100)
        return u * epsilon * np.where(np.argsort(np.argsort(u)) < 20, 2, 0.5), u, rng
    assert rate(draw, 500)[1] < 0.065 + 0.02


@pytest.mark.slow
def test_skewed_errors_of_mean_zero_are_no_bias():
    "Student's test finds one in 7 to 8 % of these sets."
    def draw(seed):
        u, _, rng = drawn(seed, n=20)
        return u * (rng.exponential(size=20) - 1), u, rng
    assert rate(draw, 1000)[0] < 0.065


@pytest.mark.slow
def test_repeats_are_no_new_evidence():
    "Without groups the mean is called biased in about 40 % of these sets."
    group = np.repeat(np.arange(60), 5)

    def draw(seed):
        u, epsilon, rng = drawn(seed, n=300)
        return u * (0.9**0.5 * rng.standard_normal(60)[group] + 0.1**0.5 * epsilon), u, rng
    assert np.all(rate(draw, 300, groups=group) < 0.095) and rate(draw, 60)[0] > 0.2


@pytest.mark.parametrize(("repeats", "errors", "spread"), [(False, "normal", 1), (False, "exponential", 3), (True, "normal", 1), (True, "exponential", 3), *(
    pytest.param(repeats, errors, spread, marks=pytest.mark.slow) for repeats in (False, True) for errors, spread in (("normal", 3), ("exponential", 1)))])
def test_many_small_groups_without_a_bias_have_none(spread, errors, repeats):
    """At 5 % of 100 sets, more than 12 fail once in a thousand; half of the groups scatter three times as widely.

    The mutation that takes absolute sums of the groups in place of products of pairs finds a bias in 35 to 85 % of sets of
    pairs; one that takes each repeat for a product of its own finds it in nearly all; one that shuffles finds none of what is
    there in groups of two spreads."""
    group = np.repeat(np.arange(200), 4 if repeats else 2)
    twin = np.arange(group.size) // 2 if repeats else None
    found = shown = 0
    for seed in range(100):
        u, epsilon, rng = drawn([3, seed], n=group.size)
        if errors == "exponential": epsilon = rng.exponential(size=group.size) - 1
        z = (epsilon[twin] if repeats else epsilon) * np.where(group % 2, spread, 1)
        for bias in (0, 1.2 * spread**0.5):
            sample = Sample(u * (z + bias * rng.standard_normal(200)[group]), u, twin)
            is_found = _bias_of(sample, sample.along(group.astype(str)), n_resamples=99, rng=seed).pvalue <= 0.05
            if bias: shown += is_found
            else: found += is_found
    assert found <= 12 and shown > 75


@pytest.mark.slow
def test_limits_of_all_stretches_hold_together():
    "In 95 % of sets, ± three standard errors of 400."
    held = 0
    for seed in range(400):
        u, epsilon, rng = drawn(seed, n=100)
        table = bias_test(u * epsilon, u, n_resamples=199, rng=rng).stretches
        held += (table["low"] <= 0).all() and (table["high"] >= 0).all()
    assert abs(held / 400 - 0.95) < 0.033


def test_many_points_have_students_pvalue():
    "Past 10,000 points batches are drawn; for normal errors that changes nothing."
    u, epsilon, _ = drawn(5, n=12_000)
    test = bias_test(u * (epsilon + 0.01), u, n_resamples=1999, rng=1)
    assert test.mean_pvalue == pytest.approx(stats.ttest_1samp(epsilon + 0.01, 0).pvalue, abs=0.04)


# Definitions


def test_statistic_is_the_largest_excess_of_any_stretch_and_ignores_the_order_of_rows():
    u, epsilon, rng = drawn(6, n=50)
    u = np.ceil(4 * u) / 4
    z = epsilon - epsilon.mean()
    runs = [z[u == value].sum() for value in np.unique(u)]
    slow = max(abs(sum(runs[first:last])) for first in range(len(runs)) for last in range(first + 1, len(runs) + 1)) / 50
    kind = np.arange(50) % 3
    pairs = sum((z[kind == one].sum()**2 - (z[kind == one]**2).sum()) / (kind == one).sum() for one in range(3))
    rows = rng.permutation(50)
    for order in (np.arange(50), rows):
        assert bias_test((u * epsilon)[order], u[order], n_resamples=9, rng=1).statistic == pytest.approx(slow, rel=1e-10)
        grouped = bias_test((u * epsilon)[order], u[order], by=kind.astype(str)[order], n_resamples=9, rng=1)
        assert grouped.statistic == pytest.approx(pairs / 50, rel=1e-10)


def test_units_change_nothing_a_sign_turns_the_mean_and_threads_give_the_same():
    u, epsilon, _ = drawn(7, n=400)
    test = bias_test(u * (epsilon + 0.2), u, rng=1, n_resamples=999)
    other = bias_test(-512 * u * (epsilon + 0.2), 512 * u, rng=1, n_resamples=999, n_jobs=2)
    assert test == bias_test(u * (epsilon + 0.2), u, rng=1, n_resamples=999, n_jobs=2)
    assert (other.estimate, other.mean_pvalue) == pytest.approx((-test.estimate, test.mean_pvalue))
    assert other.statistic == pytest.approx(test.statistic)
    assert other.confidence_interval == pytest.approx((-test.confidence_interval.high, -test.confidence_interval.low))


def test_single_rows_as_groups_are_no_groups():
    u, epsilon, _ = drawn(8, n=50)
    assert bias_test(u * epsilon, u, rng=1, n_resamples=99, groups=np.arange(50)) == bias_test(u * epsilon, u, rng=1, n_resamples=99)


def test_points_needed_are_such_as_would_settle_it():
    "A hundred perfect points leave much open; four times as many have half the limits."
    u, epsilon, _ = drawn(9, n=100)
    test = bias_test(u * (epsilon - epsilon.mean()), u, rng=1)
    half = test.confidence_interval.high
    assert test.points_needed(half / 2) == pytest.approx(400, abs=1)
    assert test.points_needed(half) == pytest.approx(100, abs=1)
    assert test.points_needed(half, "stretches") > 100
    for wrong in (0, -1, np.nan, "1", None):
        with pytest.raises((TypeError, ValueError), match="tolerance"): test.points_needed(wrong)


# Data with little to tell


def test_equal_uncertainties_leave_the_mean():
    test = bias_test([1.0, -1.0, 2.0, 0.5, -0.5], np.ones(5), rng=1)
    assert test.pvalue == 1 and test.stretch is None and test.stretch_interval is None and "all u are equal" in test.sentence
    assert test.adjusted_pvalues[0] == test.mean_pvalue


def test_equal_scaled_errors_are_judged_by_their_signs():
    u = np.linspace(1, 2, 12)
    test = bias_test(0.3 * u, u, rng=1)
    assert test.mean_pvalue == pytest.approx(2.0**-11) and test.pvalue == 1 and test.mean_is_biased
    assert bias_test(0 * u, u, rng=1).mean_pvalue == 1
    assert not bias_test(0.3 * u[:5], u[:5], rng=1).mean_is_biased  # 1/16


@pytest.mark.parametrize(("n", "groups"), [(3, None), (12, np.arange(12) % 3)])
def test_fewer_than_four_independent_points_are_refused(n, groups):
    u, epsilon, _ = drawn(10, n=n)
    with pytest.raises(NothingToTest, match="at least four"): bias_test(u * epsilon, u, groups=groups)


def test_a_group_of_one_point_has_no_limits_and_hides_none():
    u, epsilon, _ = drawn(11, n=61)
    kind = np.array([*"ab" * 30, "c"])
    test = bias_test(u * epsilon, u, by=kind, rng=1)
    limits = test.stretches.set_index("first")
    assert np.isinf(limits.loc["c", "low"]) and np.isfinite(limits.loc[["a", "b"], "low"]).all()
    assert np.isfinite(test.stretch_interval).all() and "each of 2 groups" in test.sentence


# Errors without their bias


@pytest.mark.parametrize("by", ["mean", "order", "groups"])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("sets", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_perfect_errors_keep_their_size_when_means_are_taken_out(by, repeats, sets):
    "ZMS is 1 on average of the sets, within three standard errors of that mean."
    group = np.repeat(np.arange(60), 5) if repeats else None
    sizes, found = [], None
    for seed in range(sets):
        u, epsilon, rng = drawn(seed, n=300)
        if repeats: epsilon = 0.6**0.5 * rng.standard_normal(60)[group] + 0.4**0.5 * epsilon
        sample = Sample(u * epsilon, u, group)
        along = sample.along((np.arange(300) % 7).astype(str)) if by == "groups" else sample.by_uncertainty
        found = found or _bias_of(sample, along, n_resamples=9, rng=1)
        pvalues = {"mean_pvalue": 1e-4, "pvalue": 1.0} if by == "mean" else {"pvalue": 1e-4}
        sizes.append(_centred_of(sample, dataclasses.replace(found, along=along, **pvalues)).zms)
    assert abs(np.mean(sizes) - 1) < 3 * np.std(sizes) / sets**0.5


def test_rows_of_small_groups_belong_together_once_their_mean_is_taken_out():
    """The mutation that leaves the rows of pairs on their own calls the average wrong in 20 % of 100 sets.

    One that ties large groups too, or few, leaves nothing to infer from; groups of one row stay by themselves, and repeats
    that lie in several groups stay what they are."""
    wrong, kind = 0, np.repeat(np.arange(120), 2)
    for seed in range(100):
        u, epsilon, rng = drawn([9, seed], n=240)
        sample = Sample(u * (epsilon + 2 * rng.standard_normal(120)[kind]), u)
        freed = _centred_of(sample, _bias_of(sample, sample.along(kind.astype(str)), n_resamples=99, rng=1))
        wrong += _average_of(freed, n_boot=199, rng=seed).pvalue <= 0.05
    assert wrong <= 11

    def groups(kind, own=None):
        "How many there are once a bias between the groups is taken out."
        size = kind.max() + 1
        u, epsilon, rng = drawn(14, n=kind.size)
        sample = Sample(u * (epsilon + 3 * rng.standard_normal(size)[kind]), u, own)
        test = _bias_of(sample, sample.along(kind.astype(str)), n_resamples=99, rng=1)
        freed = _centred_of(sample, test)
        assert own is not None or (freed.groups is not None) == _groups_are_small(test)
        return None if freed.groups is None else freed.groups.labels.size
    assert groups(np.repeat(np.arange(5), 4)) is None and groups(np.repeat(np.arange(40), 30)) is None
    assert groups(np.r_[np.repeat(np.arange(40), 3), 40 + np.arange(10)]) == 50
    assert groups(np.repeat(np.arange(40), 4), np.arange(160) // 2) == 40
    assert groups(np.repeat(np.arange(40), 4), np.arange(160) % 80) == 80


def test_what_was_found_is_taken_out_and_nothing_else():
    u, epsilon, _ = drawn(12)
    kind = np.where(np.arange(2000) % 2, "a", "b")
    fine, biased = Sample(u * epsilon, u), Sample(u * (epsilon + np.where(kind == "a", 0.9, -0.9)), u)
    assert _centred_of(fine, _bias_of(fine, rng=1)) is fine
    tests = [_bias_of(biased, biased.along(by), rng=1) for by in (None, kind)]
    freed = _centred_of(biased, tests)
    assert biased.zms > 1.7 and abs(freed.zms - np.var(epsilon)) < 0.01
    assert not _bias_of(freed, freed.along(kind), rng=1).bias_changes
    with pytest.raises(ValueError, match="tests must be of these 4 points"): _centred_of(Sample(np.ones(4), np.ones(4)), tests)


@pytest.mark.parametrize("low, high, bias", [(0, 55, 2.0), (160, 206, 2.0), (80, 286, 1.0), (0, 212, 3.0)])
def test_a_step_within_a_block_is_taken_out_whole(low, high, bias):
    """Blocks alone say 0.33 to 0.45 here where the scatter is 0.3; a heavy tail is no step, and nor is one far row."""
    rng, steps, heavy = np.random.default_rng(21), [], []
    place = np.arange(400)
    u = 1 + place / 100
    for _ in range(12):
        z = 0.3 * rng.standard_normal(400) + bias * ((place >= low) & (place < high))
        stepped = Sample(z * u, u)
        steps.append(_centred_of(stepped, _bias_of(stepped, n_resamples=199, rng=rng)).zms)
        perfect = Sample(rng.standard_t(4, 400) / 2**0.5 * u, u)
        found = dataclasses.replace(_bias_of(perfect, n_resamples=99, rng=rng), pvalue=1e-4)
        heavy.append(_centred_of(perfect, found).zms / (perfect.zms - np.mean(perfect.scaled)**2))
    assert np.mean(steps)**0.5 == pytest.approx(0.3, abs=0.02)
    assert np.mean(heavy) == pytest.approx(1, abs=0.03)
    far = np.where(place == 183, 30.0, 0.3 * rng.standard_normal(400))
    one_row = Sample(far * u, u)
    found = dataclasses.replace(_bias_of(one_row, n_resamples=99, rng=1), pvalue=1e-4)
    assert np.abs(_centred_of(one_row, found).scaled).max() > 25


def test_limits_of_stretches_hold_for_groups_of_many_sizes():
    "They failed in 14 % of sets of 60 groups of 1 to 20 rows; 300 sets at 5 % fail in more than 8.5 % once in 300 trials."
    failed = 0
    for seed in range(300):
        rng = np.random.default_rng([44, seed])
        size = rng.permutation(np.repeat(np.arange(1, 21), 3))
        group = np.repeat(np.arange(60), size)
        z = 0.9**0.5 * rng.standard_normal(60)[group] + 0.1**0.5 * rng.standard_normal(630)
        u = 1 + np.arange(630) / 630
        low, high = _bias_of(Sample(z * u, u, group), n_resamples=199, rng=rng).stretches[["low", "high"]].to_numpy().T
        failed += np.any((low > 0) | (high < 0))
    assert 0.01 < failed / 300 < 0.085


def test_a_group_of_one_row_does_not_hide_what_the_others_need():
    rng = np.random.default_rng(5)
    kind = np.array(["a"] * 100 + ["b"] * 99 + ["c"])
    test = bias_test(rng.standard_normal(200), np.ones(200), by=kind, rng=1)
    assert np.isinf(test.stretches["low"]).any() and 10 < test.points_needed(0.25, "stretches") < 1e5


def test_limits_over_stretches_of_skewed_errors_say_what_they_are_worth():
    "They fail in up to a tenth of such sets; the mutation that leaves the caution out, or says it of symmetric errors, is caught."
    rng, told = np.random.default_rng(8), {}
    for name, draw in (("exponential", lambda: rng.exponential(size=300) - 1), ("normal", lambda: rng.standard_normal(300)), ("t3", lambda: rng.standard_t(3, 300))):
        told[name] = 0
        for _ in range(40):
            u = np.exp(rng.normal(0, 0.5, 300))
            test = bias_test(u * draw(), u, n_resamples=99, rng=1)
            assert ("look skewed" in test.sentence) == test.is_skewed
            told[name] += test.is_skewed
    assert told["exponential"] == 40 and told["normal"] <= 3 and told["t3"] <= 5
    u = np.exp(rng.normal(0, 0.5, 300))
    found = draw_conclusions(u * (rng.exponential(size=300) - 1), u, n_boot=99, n_resamples=99, rng=1)
    assert found["bias"].facts["is_skewed"] and "look skewed" in found["bias"].sentence


def test_skewed_groups_and_large_sets_need_no_caution():
    rng = np.random.default_rng(9)
    u = np.exp(rng.normal(0, 0.5, 3000))
    e = u * (rng.exponential(size=3000) - 1)
    assert not bias_test(e, u, n_resamples=99, rng=1).is_skewed
    assert not bias_test(e[:300], u[:300], by=np.arange(300) % 3 > 0, n_resamples=99, rng=1).is_skewed
    assert bias_test(e, u, groups=np.arange(3000) // 10, n_resamples=99, rng=1).n_groups == 300


@pytest.mark.parametrize("groups", [False, True])
def test_limits_of_log_normal_errors_hold_at_their_level(groups):
    "Signs and Student's t fail in 41 and 23 % of these sets; 120 sets at 5 % fail in more than 12 once in 150 trials."
    failed, group = 0, np.repeat([*"abcde"], 60)
    for seed in range(120):
        rng = np.random.default_rng([45, seed])
        u, z = 1 + np.arange(300) / 300, np.exp(rng.standard_normal(300)) - np.exp(0.5)
        sample = Sample(z * u, u)
        low, high = _bias_of(sample, sample.along(group) if groups else None, n_resamples=99, rng=rng).stretches[["low", "high"]].to_numpy().T
        failed += np.any((low > 0) | (high < 0))
    assert failed <= 12
