"""Statements: what they take, what they refuse and with which words to type, and what they turn into."""
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from scipy import stats

from uqcal.statements import (Distribution, Intervals, LabelSets, MeanStd, Probabilities, Quantiles, Samples,
                              read_statement)

rng = np.random.default_rng(0)
y = rng.normal(size=40)
u = rng.uniform(0.5, 2, 40)
LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
TABLE = y[:, None] + u[:, None] * stats.norm.ppf(LEVELS)

EVERY = {
    "MeanStd": lambda: MeanStd(y, u),
    "Intervals": lambda: Intervals(y - u, y + u, level=0.9),
    "several levels": lambda: Intervals(np.stack([TABLE[:, [1, 3]], TABLE[:, [0, 4]]], axis=2), level=[0.5, 0.9]),
    "LabelSets": lambda: LabelSets(TABLE > 0, level=0.9),
    "Probabilities": lambda: Probabilities(stats.norm.cdf(y)),
    "classes": lambda: Probabilities(rng.dirichlet([1, 1, 1], 40)),
    "Quantiles": lambda: Quantiles(TABLE, LEVELS),
    "Samples": lambda: Samples(TABLE),
    "Distribution": lambda: Distribution(stats.norm(y, u)),
}


@every_case("make", EVERY.values(), ids=EVERY)
def test_every_statement_has_a_length_a_name_and_parts(make):
    whole = make()
    assert len(whole) == 40 and "40 rows" in repr(whole) and type(whole).__name__ in repr(whole)
    for rows in (np.arange(40) < 7, [3, 1, 2], slice(0, 5)):
        part = whole.take(rows)
        assert type(part) is type(whole) and len(part) == len(np.arange(40)[rows])
        for name in whole._rows: np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows])
    with pytest.raises(ValueError, match="at least one row"): whole.take(np.zeros(40, bool))
    np.testing.assert_array_equal(getattr(whole.take([-1]), whole._rows[0]), getattr(whole, whole._rows[0])[39:])
    with pytest.raises(ValueError, match="lie between 0 and 39"): whole.take([40])


@every_case("make", EVERY.values(), ids=EVERY)
def test_a_statement_never_changes(make):
    whole = make()
    for name in whole._rows:
        array = getattr(whole, name)
        with pytest.raises(ValueError, match="read-only"): array[0] = 0
        with pytest.raises(AttributeError): setattr(whole, name, array)


def test_what_a_user_changes_later_is_not_the_statement():
    mean, std = y.copy(), u.copy()
    whole = MeanStd(mean, std)
    mean[:] = 99
    np.testing.assert_array_equal(whole.mean, y)


@every_case("make", EVERY.values(), ids=EVERY)
def test_observed_values_have_as_many_rows(make):
    with pytest.raises(ValueError, match="y_true must hold one value for each row of the statement, got 39 for 40"):
        make().read_observed(np.zeros(39, int))


def test_labels_of_rows_must_agree():
    frame = pd.DataFrame({"m": y, "u": u}, index=np.arange(40) + 5)
    whole = MeanStd.from_frame(frame, "m", "u")
    whole.read_observed(pd.Series(y, index=frame.index))
    whole.read_observed(y)
    with pytest.raises(ValueError, match="same order"): whole.read_observed(pd.Series(y, index=frame.index[::-1]))
    part = whole.take([2, 1])
    with pytest.raises(ValueError, match="y_true and statement"): part.read_observed(pd.Series([0.0, 1.0], index=[6, 7]))


def test_names_of_columns_come_along():
    frame = pd.DataFrame(TABLE, columns=["q05", "q25", "q50", "q75", "q95"]).assign(m=y, u=u)
    assert MeanStd(frame["m"], frame["u"]).columns == {"mean": "m", "std": "u"}
    assert MeanStd(frame["m"], variance=frame["u"]).columns == {"mean": "m", "variance": "u"}
    assert Intervals(frame[["q05", "q95"]], level=0.9).columns == {"lower": "q05", "upper": "q95"}
    quantiles = Quantiles.from_frame(frame, "q*")
    assert quantiles.columns == {"values": ["q05", "q25", "q50", "q75", "q95"]}
    assert quantiles.interval(0.9).columns == {"lower": "q05", "upper": "q95"}
    assert Probabilities(frame["u"] / 2).columns == {"prob": "u"}


# -------------------------------------------------------------------------------------------------- mean and standard deviation

def test_one_number_stands_for_all_rows():
    np.testing.assert_array_equal(MeanStd(0, u).mean, np.zeros(40))
    np.testing.assert_array_equal(MeanStd(y, 2).std, np.full(40, 2.0))
    np.testing.assert_allclose(MeanStd(y, variance=u**2).std, u)


def test_a_normal_interval_is_the_normal_one():
    made = MeanStd(y, u).interval(0.8)
    np.testing.assert_allclose(made.upper, stats.norm(y, u).ppf(0.9))
    np.testing.assert_allclose(made.width, 2 * stats.norm.ppf(0.9) * u)
    with pytest.raises(ValueError, match="dist must be one of 'normal'"): MeanStd(y, u).interval(0.8, dist="t")


@every_case("make, kind, said", [
    (lambda: MeanStd((y, u)), TypeError, r"write MeanStd\(\*pair\)"),
    (lambda: MeanStd(y), TypeError, "either std or variance, got neither"),
    (lambda: MeanStd(y, u, variance=u), TypeError, "either std or variance, got both"),
    (lambda: MeanStd(1.0, 2.0), ValueError, "two single numbers"),
    (lambda: MeanStd(y, u[:-1]), ValueError, "same length: 40 and 39"),
    (lambda: MeanStd(y, -u), ValueError, "std must be positive: 40 of 40"),
    (lambda: MeanStd(y, np.r_[0, u[1:]]), ValueError, "std must be positive: 1 of 40 values is ≤ 0, the first at position 0"),
    (lambda: MeanStd(y, variance=-u), ValueError, "variance must be positive"),
    (lambda: MeanStd(np.r_[np.nan, y[1:]], u), ValueError, "mean must not hold missing values"),
    (lambda: MeanStd(np.r_[np.inf, y[1:]], u), ValueError, "mean must be finite"),
    (lambda: MeanStd(["a"] * 40, u), TypeError, "mean must hold numbers"),
    (lambda: MeanStd([], []), ValueError, "at least one value"),
    (lambda: MeanStd(TABLE, u), ValueError, "mean must be 1-D"),
    (lambda: MeanStd(stats.norm(y, u), 1), TypeError, "a distribution"),
])
def test_bad_means_and_deviations(make, kind, said):
    with pytest.raises(kind, match=said): make()


# ------------------------------------------------------------------------------------------------------------------- intervals

def test_bounds_in_one_array_and_in_two_are_the_same():
    two, one = Intervals(y - u, y + u, level=0.9), Intervals(np.column_stack([y - u, y + u]), level=0.9)
    np.testing.assert_array_equal(two.lower, one.lower)
    np.testing.assert_array_equal(two.upper, one.upper)
    assert two.side == one.side == "both"


def test_a_side_may_be_open():
    above, below = Intervals(None, y, level=0.95), Intervals(y, level=0.95)
    assert above.side == "upper" and np.isneginf(above.lower).all()
    assert below.side == "lower" and np.isposinf(below.upper).all()
    assert Intervals(y, np.full(40, np.inf), level=0.95).side == "lower"
    assert "upper bounds" in repr(above)


def test_several_levels():
    both = EVERY["several levels"]()
    assert both.level == (0.5, 0.9) and both.lower.shape == (40, 2)
    np.testing.assert_array_equal(both.at(0.9).lower, TABLE[:, 0])
    assert both.at(0.9).level == 0.9
    assert both.take([0, 3]).at(0.5).upper.shape == (2,)
    with pytest.raises(ValueError, match="level must be one of 0.5 and 0.9, got 0.8"): both.at(0.8)


@every_case("make, kind, said", [
    (lambda: Intervals(None, level=0.9), TypeError, "got neither"),
    (lambda: Intervals((y, u), level=0.9), TypeError, r"write Intervals\(\*pair"),
    (lambda: Intervals(y, y + u, level=90), ValueError, "write level=0.9"),
    (lambda: Intervals(y, y + u, level=1.0), ValueError, "strictly between 0 and 1"),
    (lambda: Intervals(y, y + u, level="90"), TypeError, "level must be a number"),
    (lambda: Intervals(y, y + u, level=[0.5, 0.9]), ValueError, "one number"),
    (lambda: Intervals(np.stack([np.column_stack([y - u, y + u])] * 2, axis=2), level=0.9), ValueError, "one number for each of the 2 levels"),
    (lambda: Intervals(y + u, y, level=0.9), ValueError, "exchange lower and upper"),
    (lambda: Intervals(y, np.r_[y[:-1] + 1, y[-1] - 1], level=0.9), ValueError, "1 of 40 values is larger"),
    (lambda: Intervals(y, (y + u)[:-1], level=0.9), ValueError, "same length: 40 and 39"),
    (lambda: Intervals(TABLE, level=0.9), ValueError, "got \\(40, 5\\)"),
    (lambda: Intervals(np.r_[np.nan, y[1:]], y + u, level=0.9), ValueError, "missing"),
    (lambda: Intervals(y, y + u, level=0.9, n_calibration=0), ValueError, "n_calibration must be an integer ≥ 1"),
    (lambda: Intervals(y, y + u, level=0.9, n_calibration=2.5), TypeError, "n_calibration must be an integer ≥ 1"),
])
def test_bad_intervals(make, kind, said):
    with pytest.raises(kind, match=said): make()


# ------------------------------------------------------------------------------------------------------------------ label sets

def test_sets_of_labels_in_every_form():
    booleans = np.array([[True, False, False], [True, True, False], [False, False, False]])
    for sets, classes in ((booleans, ["a", "b", "c"]), (booleans.astype(int), ["a", "b", "c"]), ([["a"], ["a", "b"], []], ["a", "b", "c"]),
                          ([{"a"}, frozenset("ab"), set()], ["a", "b", "c"]), (pd.DataFrame(booleans, columns=list("abc")), None)):
        made = LabelSets(sets, classes, level=0.9)
        np.testing.assert_array_equal(made.sets, booleans)
        np.testing.assert_array_equal(made.size, [1, 2, 0])
        np.testing.assert_array_equal(made.read_observed(["c", "a", "b"]), [2, 0, 1])
    assert LabelSets([[1], [1, 2]], level=0.9).classes.tolist() == [1, 2]


def test_sets_from_cells_of_a_table():
    made = LabelSets.from_frame(pd.DataFrame({"s": ["cat", "cat; dog", "", None]}), "s", level=0.9)
    np.testing.assert_array_equal(made.size, [1, 2, 0, 0])
    assert made.columns == {"sets": "s"} and made.classes.tolist() == ["cat", "dog"]


@every_case("make, kind, said", [
    (lambda: LabelSets(TABLE, level=0.9), ValueError, "of bounds make Intervals"),
    (lambda: LabelSets(y > 0, level=0.9), ValueError, "shape"),
    (lambda: LabelSets([["a"], ["b"]], ["a"], level=0.9), ValueError, "'b' at position 1 is not"),
    (lambda: LabelSets([["a"], "b"], level=0.9), TypeError, "list, set or tuple"),
    (lambda: LabelSets([[], []], ["a"], level=90), ValueError, "write level=0.9"),
    (lambda: LabelSets([set(), set()], level=0.9), ValueError, "classes="),
    (lambda: LabelSets([["a"]], ["a", "b"], level=0.9).read_observed(["z"]), ValueError, "'z' is not"),
])
def test_bad_sets(make, kind, said):
    with pytest.raises(kind, match=said): make()


# --------------------------------------------------------------------------------------------------------------- probabilities

def test_of_two_columns_the_second_is_the_event():
    p = stats.norm.cdf(y)
    both = np.column_stack([1 - p, p])
    np.testing.assert_array_equal(Probabilities(both).prob, p)
    assert Probabilities(both, classes=["no", "yes"]).pos_label == "yes"
    np.testing.assert_array_equal(Probabilities(both, classes=["no", "yes"], pos_label="no").prob, 1 - p)
    made = Probabilities(pd.DataFrame(both, columns=["no", "yes"]))
    assert made.pos_label == "yes"
    np.testing.assert_array_equal(made.read_observed(np.where(y > 0, "yes", "no")), y > 0)


def test_rows_may_sum_to_what_rounding_makes_of_one():
    made = Probabilities([[0.3, 0.3, 0.3], [0.2, 0.2, 0.6]])
    assert made.n_classes == 3
    with pytest.raises(ValueError, match="prob must sum to 1 in each row"): Probabilities([[0.3, 0.3, 0.301], [0.2, 0.2, 0.6]])


def test_classes_and_the_most_probable_one():
    prob = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    made = Probabilities(pd.DataFrame(prob, columns=["cat", "dog", "owl"]))
    labels, top = made.top()
    assert labels.tolist() == ["cat", "owl"] and top.tolist() == [0.5, 0.8] and made.n_classes == 3
    np.testing.assert_array_equal(made.read_observed(["dog", "owl"]), [1, 2])
    labels, top = Probabilities([0.2, 0.9]).top()
    assert labels.tolist() == [False, True] and top.tolist() == [0.8, 0.9]


@every_case("make, kind, said", [
    (lambda: Probabilities(100 * stats.norm.cdf(y)), ValueError, "per cents"),
    (lambda: Probabilities(y), ValueError, r"prob must lie in \[0, 1\]"),
    (lambda: Probabilities(np.full((40, 3), 0.5)), ValueError, "sum to 1 in each row"),
    (lambda: Probabilities(["a"]), TypeError, "numbers"),
    (lambda: Probabilities([0.1], classes=["a"]), ValueError, "pos_label="),
    (lambda: Probabilities([[0.5, 0.5]], classes=["a", "b"], pos_label="c"), ValueError, "'a' and 'b', got 'c'"),
    (lambda: Probabilities([[0.2, 0.3, 0.5]], pos_label=1), ValueError, "3 classes"),
    (lambda: Probabilities([0.1, 0.2]).read_observed(["no", "yes"]), TypeError, "pos_label"),
])
def test_bad_probabilities(make, kind, said):
    with pytest.raises(kind, match=said): make()


# -------------------------------------------------------------------------------------- quantiles, members, distributions

@pytest.mark.parametrize("names", [["q05", "q25", "q50", "q75", "q95"], ["0.05", "0.25", "0.5", "0.75", "0.95"], [0.05, 0.25, 0.5, 0.75, 0.95],
                                   ["0.05_quantile", "0.25_quantile", "0.5_quantile", "0.75_quantile", "0.95_quantile"], ["p5", "p25", "p50", "p75", "p95"]])
def test_names_give_levels(names):
    assert Quantiles(pd.DataFrame(TABLE, columns=names)).levels == tuple(LEVELS)


def test_fine_levels_in_names():
    assert Quantiles(pd.DataFrame(TABLE, columns=["q025", "q2.6", "q50", "q95", "q975"])).levels == (0.025, 0.026, 0.5, 0.95, 0.975)


def test_quantiles_become_intervals():
    made = Quantiles(TABLE, LEVELS).interval(0.5)
    np.testing.assert_array_equal(made.lower, TABLE[:, 1])
    np.testing.assert_array_equal(made.upper, TABLE[:, 3])
    with pytest.raises(ValueError, match="these levels give 0.5 and 0.9"): Quantiles(TABLE, LEVELS).interval(0.8)
    with pytest.raises(ValueError, match="no two of these levels"): Quantiles(TABLE[:, :2], LEVELS[:2]).interval(0.8)


def test_sorting_uncrosses():
    np.testing.assert_array_equal(Quantiles(TABLE[:, ::-1], LEVELS, sort_quantiles=True).values, TABLE)


@every_case("make, kind, said", [
    (lambda: Quantiles(TABLE), TypeError, r"write Quantiles\(values, levels\)"),
    (lambda: Quantiles(pd.DataFrame(TABLE, columns=list("abcde"))), ValueError, "'a' does not"),
    (lambda: Quantiles(TABLE, LEVELS[:-1]), ValueError, "each of the 5 columns, got 4"),
    (lambda: Quantiles(TABLE, [5, 25, 50, 75, 95]), ValueError, r"write levels\[0\]=0.05"),
    (lambda: Quantiles(TABLE, LEVELS[::-1]), ValueError, "levels must rise"),
    (lambda: Quantiles(TABLE[:, ::-1], LEVELS), ValueError, "40 of 40 rows .* sort_quantiles=True"),
    (lambda: Quantiles(np.where(TABLE > 2, np.inf, TABLE), LEVELS), ValueError, "finite"),
    (lambda: Quantiles(y, [0.5]), ValueError, r"shape \(n, levels\)"),
    (lambda: Samples(TABLE[:, :1]), ValueError, "at least two members"),
    (lambda: Samples(np.where(TABLE > 0, np.nan, TABLE)), ValueError, "missing"),
    (lambda: Samples(np.ones((3, 4))).mean_std(), ValueError, "differ within each row"),
    (lambda: Samples(TABLE).read_observed(np.zeros(5)), ValueError, r"write Samples\(values.T\)"),
    (lambda: Quantiles(TABLE, LEVELS).read_observed(np.zeros(5)), ValueError, r"write Quantiles\(values.T, levels\)"),
    (lambda: Samples(TABLE).interval(0.9), ValueError, "needs at least 19 members, got 5; 5 of them reach 0.667"),
    (lambda: Distribution(y), TypeError, "with a cdf, got ndarray"),
    (lambda: Distribution(stats.norm(0, 1)), ValueError, "one object for all rows"),
    (lambda: Distribution(stats.norm(y, u)).cdf(y[:3]), ValueError, "each of the 40 rows, got 3"),
    (lambda: Distribution(stats.norm(y, u)).take([1, 1]).interval(0.9), ValueError, "taken twice"),
])
def test_bad_predictive_distributions(make, kind, said):
    with pytest.raises(kind, match=said): make()


@pytest.mark.parametrize("m, level", [(3, 0.5), (9, 0.8), (19, 0.9), (20, 0.9)])
def test_intervals_of_members_cover_one_more_draw(m, level):
    # 20,000 rows: four standard errors of a share are below 0.015, so that a right interval fails once in 16,000 times.
    draws = np.random.default_rng(m).standard_t(3, size=(20_000, m + 1))
    made = Samples(draws[:, 1:]).interval(level)
    assert abs(np.mean((made.lower <= draws[:, 0]) & (draws[:, 0] <= made.upper)) - level) < 0.015


def test_mean_and_deviation_of_members():
    made = Samples(TABLE).mean_std()
    np.testing.assert_allclose(made.mean, TABLE.mean(axis=1))
    np.testing.assert_allclose(made.std, pd.DataFrame(TABLE).std(axis=1))


def test_a_distribution_is_asked_row_by_row():
    whole = Distribution(stats.norm(y, u))
    np.testing.assert_allclose(whole.cdf(y), 0.5)
    part = whole.take([5, 2])
    np.testing.assert_allclose(part.cdf([y[5], y[2]]), 0.5)
    np.testing.assert_allclose(part.interval(0.9).upper, stats.norm(y, u).ppf(0.95)[[5, 2]])


# ------------------------------------------------------------------------------------------------- what a verb takes for one

def test_what_can_be_one_thing_is_read_as_that():
    whole = MeanStd(y, u)
    assert read_statement(whole) is whole
    assert isinstance(read_statement(stats.norm(y, u)), Distribution)


@every_case("value, said", [
    ((y, u), r"MeanStd\(\*pair\), or Intervals\(\*pair"), (np.column_stack([y, u]), r"Intervals\(array, level=0.9\), or Probabilities\(array\)"),
    (TABLE, r"Samples\(array\), Quantiles"), (y, r"Probabilities\(array\), or MeanStd\(array, std\)"), ("a", "write MeanStd, Intervals"), (None, "got NoneType"),
])
def test_what_may_be_several_things_is_refused(value, said):
    with pytest.raises(TypeError, match=said): read_statement(value)


@pytest.mark.parametrize("make, said", [
    (lambda frame: MeanStd.from_frame(frame, "x", "u"), "'x' is none; it has m and u"),
    (lambda frame: Quantiles.from_frame(frame, "q*"), r"'q\*' is none"),
    (lambda frame: Probabilities.from_frame(frame, ["m", "z"]), "'z' is none"),
])
def test_unknown_columns_are_named(make, said):
    with pytest.raises(ValueError, match=said): make(pd.DataFrame({"m": y, "u": u}))
