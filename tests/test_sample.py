"""Orders, runs, ranks and bins agree with their meaning; a sample is checked once, sorted once, and never changes."""
import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from uqcal._sample import sample as module
from uqcal._base.inputs import check_errors
from uqcal._sample.sample import (
    Ordering, RegressionErrors, Sample, bin_means, bin_starts, eleven_digit_keys, eleven_digits, equal_count_bins, rank_correlation, whole_run_bins,
)

TIED = arrays(np.float64, st.integers(1, 40), elements=st.integers(0, 6).map(float))
POSITIVE = st.floats(1e-150, 1e150)
ERROR, UNCERTAINTY = np.array([0.3, -0.2, 1.1, 0.4, -2.0, 0.7]), np.array([0.5, 0.9, 0.5, 1.1, 1.3, 0.5])


def slow_ranks(values):
    "Half of how many are smaller less how many are larger."
    return [(sum(b < a for b in values) - sum(b > a for b in values)) / 2 for a in values]


# orders

@given(TIED)
def test_ordering_is_that_of_a_stable_sort_in_plain_python(values):
    ordering, rows = Ordering.of(values), values.tolist()
    assert ordering.order.tolist() == sorted(range(len(rows)), key=lambda i: rows[i])  # sorted is stable
    runs = [(label, len(list(run))) for label, run in itertools.groupby(sorted(rows))]
    assert ordering.labels.tolist() == [label for label, _ in runs] and ordering.counts.tolist() == [count for _, count in runs]
    assert ordering.start.tolist() == list(itertools.accumulate((count for _, count in runs), initial=0))
    assert ordering.n == len(rows) and ordering.is_constant == (len(runs) == 1)


@given(TIED)
def test_ranks_and_codes_are_those_of_the_slow_twin(values):
    ordering, rows = Ordering.of(values), values.tolist()
    assert ordering.ranks.tolist() == slow_ranks(rows) and ordering.places.tolist() == sorted(slow_ranks(rows))
    assert ordering.codes.tolist() == [sorted(set(rows)).index(value) for value in rows]
    assert ordering.runs.tolist() == sorted(ordering.codes.tolist())
    line = sorted(rows)
    assert ordering.is_end.tolist() == [k + 1 == len(line) or line[k + 1] != line[k] for k in range(len(line))]


@given(TIED, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_rank(values, random):
    rows = list(range(values.size))
    random.shuffle(rows)
    before, after = Ordering.of(values), Ordering.of(values[rows])
    np.testing.assert_array_equal(after.ranks, before.ranks[rows])
    np.testing.assert_array_equal(after.codes, before.codes[rows])
    np.testing.assert_array_equal(after.start, before.start)
    np.testing.assert_array_equal(after.labels, before.labels)


def test_parts_of_an_ordering_are_found_once():
    ordering = Ordering.of(np.array([2.0, 1.0, 2.0]))
    for name in ("runs", "places", "codes", "ranks", "is_end"): assert getattr(ordering, name) is getattr(ordering, name), name
    with pytest.raises(dataclasses.FrozenInstanceError): ordering.kind = "groups"


def test_runs_of_groups_carry_their_names():
    ordering = Ordering.of(np.array([2, 0, 2, 1]), "groups", np.array(["a", "b", "c"], dtype=object))
    assert ordering.kind == "groups" and ordering.labels.tolist() == ["a", "b", "c"] and ordering.counts.tolist() == [1, 1, 2]


@given(TIED, st.randoms(use_true_random=False))
def test_rank_correlation_is_scipys(x, random):
    y = np.array([float(random.randint(0, 5)) for _ in x])
    found = rank_correlation(Ordering.of(x), Ordering.of(y))
    if np.unique(x).size == 1 or np.unique(y).size == 1: assert np.isnan(found)
    else: assert found == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12) and -1 - 1e-12 <= found <= 1 + 1e-12


def test_rank_correlation_is_the_same_to_the_last_bit_in_every_order_of_rows():
    "Sums of halves of whole numbers are exact, whatever the order of the additions."
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5000, 20_000).astype(float), rng.standard_normal(20_000)
    found = {rank_correlation(Ordering.of(x[rows]), Ordering.of(y[rows])) for rows in (rng.permutation(x.size) for _ in range(20))}
    assert len(found) == 1


# eleven digits

@given(st.lists(st.floats(0, 1e300), min_size=2, max_size=20))
def test_keys_keep_the_order(values):
    x = np.sort(np.array(values))
    assert np.all(np.diff(eleven_digit_keys(x)) >= 0) and np.all(np.diff(eleven_digits(x)) >= 0)
    normal = x >= np.finfo(float).tiny
    np.testing.assert_allclose(eleven_digits(x)[normal], x[normal], rtol=2.0**-36)
    np.testing.assert_array_equal(eleven_digit_keys(eleven_digits(x)), eleven_digit_keys(x))


@pytest.mark.parametrize("digits, equal", [(1e-13, True), (1e-12, True), (2e-11, False), (1e-10, False)])
def test_keys_are_equal_where_eleven_digits_are(digits, equal):
    x = np.random.default_rng(1).uniform(1, 2, 10_000)
    share = np.mean(eleven_digit_keys(x) == eleven_digit_keys(x * (1 + digits)))
    assert share > 0.85 if equal else share == 0  # a boundary of the rounding lies between some


@pytest.mark.parametrize("factor", [1 / 3, 27.2114, 96.4853, 1e-20])
def test_ties_of_scaled_errors_do_not_depend_on_the_unit(factor):
    rng = np.random.default_rng(2)
    u = np.round(rng.uniform(0.1, 0.9, 2000), 1)
    e = np.round(u * rng.standard_normal(2000), 1)
    here, there = Sample(e, u), Sample(factor * e, factor * u)
    assert np.unique(np.abs(here.scaled)).size > here.by_scaled_size.labels.size  # an exact comparison splits ties
    np.testing.assert_array_equal(there.by_scaled_size.ranks, here.by_scaled_size.ranks)
    assert here.by_scaled_size.labels.size == len({round(10 * abs(a)) / round(10 * b) for a, b in zip(e, u)})


# samples

def test_a_sample_owns_its_columns():
    error, uncertainty = ERROR.copy(), UNCERTAINTY.copy()
    one = Sample(error, uncertainty)
    error[:], uncertainty[:] = 9, 9
    np.testing.assert_array_equal(one.error, ERROR)
    np.testing.assert_array_equal(one.uncertainty, UNCERTAINTY)
    assert error.flags.writeable and len(one) == one.n == 6
    for values in (one.error, one.uncertainty):
        with pytest.raises(ValueError, match="read-only"): values[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError): one.error = error
    assert one.error.dtype == Sample([1, 2], [1, 2]).error.dtype == np.float64


def test_a_sample_is_checked_and_sorted_once(monkeypatch):
    checks, sorts = [], []
    check, of = module.check_errors, Ordering.of.__func__
    monkeypatch.setattr(module, "check_errors", lambda *columns: checks.append(1) or check(*columns))
    monkeypatch.setattr(Ordering, "of", classmethod(lambda cls, *rest: sorts.append(1) or of(cls, *rest)))
    one = Sample(ERROR, UNCERTAINTY)
    for _ in range(3):
        for name in ("by_uncertainty", "by_error_size", "by_scaled_size", "scaled", "zms"): getattr(one, name)
        assert one.along(None) is one.by_uncertainty
        one.check_spread()
    assert len(checks) == 1 and len(sorts) == 3


def test_the_numbers_of_a_sample():
    one = Sample(ERROR, UNCERTAINTY)
    scaled = [e / u for e, u in zip(ERROR, UNCERTAINTY)]
    np.testing.assert_array_equal(one.scaled, scaled)
    assert one.zms == pytest.approx(sum(z * z for z in scaled) / 6, rel=1e-14) and type(one.zms) is float
    assert one.by_uncertainty.kind == "uncertainty" and one.by_uncertainty.labels.tolist() == [0.5, 0.9, 1.1, 1.3]
    assert one.by_error_size.ranks.tolist() == slow_ranks(np.abs(ERROR).tolist())
    assert one.by_scaled_size.ranks.tolist() == slow_ranks(np.abs(scaled).tolist())


@pytest.mark.parametrize("error, uncertainty", [([1.0], [0.0]), ([np.nan], [1.0]), ([1.0, 2.0], [1.0]), ([], [])])
def test_a_sample_refuses_what_the_door_refuses(error, uncertainty):
    with pytest.raises(ValueError) as expected: check_errors(error, uncertainty)
    with pytest.raises(ValueError) as raised: Sample(error, uncertainty)
    assert str(raised.value) == str(expected.value)


def test_a_feature_is_sorted_and_groups_are_not():
    one = Sample(ERROR, UNCERTAINTY)
    feature = one.along([3, 1, 2, 2, 5, 0])
    assert feature.kind == "feature" and feature.order.tolist() == [5, 1, 2, 3, 0, 4]
    names = ["z", "a", "z", "m", "a", "z"]
    for groups in (names, np.array(names), pd.Series(names), pd.Categorical(names, categories=["a", "m", "z"])):
        by_group = one.along(groups)
        assert by_group.kind == "groups" and by_group.labels.tolist() == ["z", "a", "m"] and by_group.counts.tolist() == [3, 2, 1]
        assert by_group.codes.tolist() == [0, 1, 0, 2, 1, 0]
    assert one.along([True, False, True, True, False, True]).labels.tolist() == [True, False]


@every_case("by, words", [
    ([2.0] * 6, "material must not be constant: all 6 values are 2, so its order says nothing"),
    (["a"] * 6, "material must hold at least two groups: all 6 values are 'a'"),
    (list("abcdef"), "material must hold groups of several points: its 6 values are all different"),
    (["a", "b"], "material must hold one value for each of the 6 points, got 2"),
    ([1.0, 2.0], "material"), ([1, 2, 3, 4, 5, np.nan], "material"), (["a", "b", None, "a", "b", "a"], "material must not hold missing values"),
])
def test_what_orders_nothing_is_refused(by, words):
    with pytest.raises(ValueError, match=words): Sample(ERROR, UNCERTAINTY).along(by, "material")


def test_constant_uncertainties_are_refused_where_they_must_vary():
    Sample(ERROR, UNCERTAINTY).check_spread()
    with pytest.raises(ValueError, match="uncertainty must vary: all 6 values are 0.7, so there is nothing to be consistent with"):
        Sample(ERROR, np.full(6, 0.7)).check_spread()


def test_a_data_set_is_a_sample_whose_words_are_escaped():
    words = dict(name="<script>", unit="<s>", title="<i>", source="&", doi="<u>", licence="</table>")
    shown = RegressionErrors(ERROR, UNCERTAINTY, **words)
    assert isinstance(shown, Sample) and shown.zms == Sample(ERROR, UNCERTAINTY).zms and len(shown) == 6
    source = shown._repr_html_()
    for word in ("<script", "<s>", "<i>", "<u>"): assert word not in source
    for word in ("&lt;script&gt;", "&lt;s&gt;", "&lt;i&gt;", "&amp;", "doi:&lt;u&gt;", "&lt;/table&gt;"): assert word in source
    assert source.count("</table>") == 1
    assert "article" not in RegressionErrors(ERROR, UNCERTAINTY, **words | {"doi": ""})._repr_html_()
    pd.testing.assert_frame_equal(shown.to_frame(), pd.DataFrame({"error": ERROR, "uncertainty": UNCERTAINTY}))


# groups

LABELS = [7, 3, 7, 3, 3, 9]


@every_case("labels", [
    LABELS, np.array(LABELS, dtype=float), np.array(LABELS) + 2**60, [f"patient {k}" for k in LABELS], pd.Categorical(LABELS), pd.Series(LABELS, dtype="Int64"),
    np.array(LABELS, dtype="datetime64[D]"),
])
def test_rows_with_equal_labels_of_any_kind_are_one_group(labels):
    groups = Sample(ERROR, UNCERTAINTY, labels).groups
    assert groups.kind == "groups" and groups.codes.tolist() == [0, 1, 0, 1, 1, 2] and groups.counts.tolist() == [2, 3, 1]
    assert groups.labels.tolist() == np.asarray(pd.unique(np.asarray(labels)), dtype=object).tolist()


def test_no_groups_and_a_label_for_each_row_are_the_same():
    assert Sample(ERROR, UNCERTAINTY).groups is None and Sample(ERROR, UNCERTAINTY, groups=None).groups is None
    assert Sample(ERROR, UNCERTAINTY, groups=list("abcdef")).groups is None


@every_case("labels, error, words", [
    ([1] * 6, ValueError, "groups must hold at least two different labels, since one group is one independent observation: all 6 are 1"),
    ([1, 2], ValueError, "groups must hold one label for each of the 6 points, got 2"),
    ([1, 2, None, 1, 2, 1], ValueError, "groups must not hold missing labels"), ([1, 2, np.nan, 1, 2, 1], ValueError, "groups must not hold missing labels"),
    ([1, "a", 1, "a", 1, 1], TypeError, "groups must hold labels of one kind"),
    (pd.Series(LABELS, index=[5, 4, 3, 2, 1, 0]), ValueError, "error and groups must be in the same order"),
    (Ordering.of(np.array([0, 0, 1]), "groups"), ValueError, "groups must be labels, or groups of these 6 points, got the order of 3 points by groups"),
    (Ordering.of(ERROR), ValueError, "groups must be labels, or groups of these 6 points, got the order of 6 points by feature"),
])
def test_labels_that_make_no_groups_are_refused(labels, error, words):
    with pytest.raises(error, match=words): Sample(pd.Series(ERROR), UNCERTAINTY, labels)


def test_kept_rows_keep_their_groups_and_labels():
    index = list("uvwxyz")
    one = Sample(pd.Series(ERROR, index=index), UNCERTAINTY, LABELS)
    for rows in (np.array([False, True, False, True, False, True]), pd.Series([False, True, False, True, False, True], index=index), [1, 3, 5]):
        kept = one.keep(rows)
        assert kept.error.tolist() == ERROR[[1, 3, 5]].tolist() and kept.uncertainty.tolist() == UNCERTAINTY[[1, 3, 5]].tolist()
        assert kept.groups.labels.tolist() == [3, 9] and kept.groups.codes.tolist() == [0, 0, 1]
    assert kept.along(pd.Series([3, 1, 2], index=list("vxz"))).order.tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match="error and by must have the same index"): kept.along(pd.Series([3, 1, 2]))
    assert one.keep([5, 3, 0]).groups is None and one.keep([3, 0, 1]).error.tolist() == ERROR[[3, 0, 1]].tolist()
    assert Sample(ERROR, UNCERTAINTY).keep([0, 2]).groups is None


@every_case("rows, error, words", [
    ([1, 3], ValueError, "all 2 are 3"), ([0, 1, 1], ValueError, "rows must be different positions, got 3 of which only 2 differ; for a mask use truth values"),
    ([0, 6], ValueError, "rows must lie from 0 to 5, got 0 to 6"), ([-1, 2], ValueError, "rows must lie from 0 to 5"), ([0.0, 2.0], TypeError, "rows must be 6 truth values"),
    ([True, False], TypeError, "rows must be 6 truth values"), ([False] * 6, ValueError, "rows must keep at least one row"), ("ab", TypeError, "rows"), (None, TypeError, "rows"),
    (pd.Series([True] * 6, index=list("uvwxyz")), ValueError, "error and rows must have the same index"),
])
def test_rows_that_cannot_be_kept_are_refused(rows, error, words):
    with pytest.raises(error, match=words): Sample(pd.Series(ERROR), UNCERTAINTY, LABELS).keep(rows)


def test_other_errors_keep_uncertainties_groups_and_their_orders():
    one = Sample(pd.Series(ERROR, index=list("uvwxyz")), UNCERTAINTY, LABELS)
    order, other = one.by_uncertainty, one.with_error(2 * ERROR)
    assert other.by_uncertainty is order and other.groups is one.groups and other.error.tolist() == (2 * ERROR).tolist()
    assert other.zms == pytest.approx(4 * one.zms) and one.error.tolist() == ERROR.tolist()
    with pytest.raises(ValueError, match="error and by"): other.along(pd.Series([3, 1, 2, 2, 5, 0]))
    with pytest.raises(ValueError, match="same length"): one.with_error([1.0])
    with pytest.raises(ValueError, match="uncertainty and error must have the same index"): one.with_error(pd.Series(ERROR))


def test_a_data_set_with_groups_shows_them():
    words = dict(name="a", unit="eV", title="b", source="c", doi="", licence="d")
    shown = RegressionErrors(ERROR, UNCERTAINTY, LABELS, **words)
    assert shown.to_frame()["group"].tolist() == LABELS and "groups of repeats</th><td>3" in shown._repr_html_()
    assert list(RegressionErrors(ERROR, UNCERTAINTY, **words).to_frame()) == ["error", "uncertainty"]


# bins

@given(st.integers(2, 10**6), st.integers(1, 300))
def test_bins_are_cut_at_the_nearest_places_to_equal_fractions(n, n_bins):
    if n_bins > n // 2:
        with pytest.raises(ValueError, match=f"at most {n // 2} bins for {n} points, got {n_bins}"): equal_count_bins(n, n_bins)
        return
    start = equal_count_bins(n, n_bins)
    assert start.size == n_bins + 1 and start[0] == 0 and start[-1] == n
    assert all(2 * n_bins * cut - n_bins <= 2 * n * i < 2 * n_bins * cut + n_bins for i, cut in enumerate(start.tolist()))
    assert set(np.diff(start).tolist()) <= {n // n_bins, math.ceil(n / n_bins)}
    np.testing.assert_array_equal(start, bin_starts(n, n_bins))


@pytest.mark.parametrize("n, n_bins", [(300, 7), (2040, 20), (3834, 20), (3818, 50)])
def test_cuts_are_those_of_harrell_davis_quantiles(n, n_bins):
    quantiles = stats.mstats.hdquantiles(np.arange(1.0, n + 1), prob=np.arange(1, n_bins) / n_bins)
    inner = np.searchsorted(np.arange(1, n + 1), np.round(quantiles, 6), side="right")
    np.testing.assert_array_equal(bin_starts(n, n_bins)[1:-1], inner)


def test_bins_differ_from_those_of_array_split_where_counts_are_uneven():
    split = np.cumsum([0, *map(len, np.array_split(np.arange(3834), 20))])
    assert np.sum(split != bin_starts(3834, 20)) == 18
    np.testing.assert_array_equal(bin_starts(2040, 20), np.arange(21) * 102)


@pytest.mark.parametrize("n, n_bins, error", [(1, 1, ValueError), (10, 0, ValueError), (10, 6, ValueError), (10.0, 2, TypeError), (10, True, TypeError)])
def test_bins_refuse_impossible_counts(n, n_bins, error):
    with pytest.raises(error, match=r"^n(_bins)? must"): equal_count_bins(n, n_bins)


@given(arrays(np.float64, st.integers(4, 60), elements=st.floats(-1e6, 1e6)), st.integers(1, 4))
def test_bin_means_are_means(values, n_bins):
    start = bin_starts(values.size, n_bins)
    expected = [math.fsum(values[a:b]) / (b - a) for a, b in itertools.pairwise(start.tolist())]
    np.testing.assert_allclose(bin_means(values, start), expected, rtol=1e-12, atol=1e-8)


def test_the_order_of_some_points_is_that_of_their_values():
    values = np.array([3.0, 1, 3, 2, 1, 7, 7])
    rows = np.array([5, 2, 0, 4])
    kept, fresh = Ordering.of(values).keep(rows), Ordering.of(values[rows])
    for name in ("order", "start", "labels"): np.testing.assert_array_equal(getattr(kept, name), getattr(fresh, name))
    named = Sample(values, np.ones(7)).along(["b", "a", "b", "c", "c", "a", "a"]).keep(np.array([0, 1, 3, 4]))
    assert named.kind == "groups" and named.labels.tolist() == ["b", "a", "c"] and named.counts.tolist() == [1, 1, 2]


@pytest.mark.parametrize("values", [[1, 1, 1, 2, 2, 3], [1.0] * 9, list(range(40)), [1, 1, 2, 2, 2, 2, 2, 2, 3]])
@pytest.mark.parametrize("n_bins", [1, 3, 9])
def test_bins_of_whole_runs_hold_no_part_of_one(values, n_bins):
    along = Ordering.of(np.array(values, float))
    start = whole_run_bins(along, n_bins)
    assert start[0] == 0 and start[-1] == along.n and np.isin(start, along.start).all() and len(start) <= n_bins + 1 and (np.diff(start) > 0).all()
    if along.counts.max() == 1 and n_bins <= along.n: np.testing.assert_array_equal(start, bin_starts(along.n, n_bins))
