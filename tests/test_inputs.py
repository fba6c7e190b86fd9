"""Whatever comes in gives a vector of finite numbers or a clear error, for every library and every kind of fault."""
import datetime
import decimal
import fractions
import re

import numpy as np
import pandas as pd
import polars as pl
from every_case import every_case
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from uqcal.probabilities.calibration_tests import kuiper_test
from uqcal.subgroups.cumulative import calibration_graph
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal._base.inputs import (check_choice, check_column, check_count, check_errors,
                                check_fraction, check_generator, check_labels_agree, plain_array,
                                printable, read_labels, read_vector)
from uqcal._base.outcomes import check_binary, check_outcomes, check_probabilities, check_weighted, check_weights
from uqcal.intervals.intervals import regression_coverage_score
from uqcal.online.online import OnlineNewtonStep, OnlinePlattScaling
from uqcal.probabilities.recalibration import PlattScaling
from uqcal.probabilities.reliability import expected_calibration_error, top_label_ece
from uqcal._sample.sample import Sample
from uqcal.subgroups.screening import screen
from uqcal.statistics.statistics import ence
from uqcal.errors.validation import validate_errors

NUMBERS = [0.25, -1.5, 3.0, 1e-3]


class Tensor:
    "What read_vector uses of a PyTorch tensor: one that tracks gradients hands over its values only after detach()."

    def __init__(self, values, tracks=True): self.values, self.tracks = np.asarray(values, dtype=np.float32), tracks
    def detach(self): return Tensor(self.values, tracks=False)
    def __array__(self, dtype=None, copy=None):
        if self.tracks: raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.values


ACCEPTED = {
    "list": list, "tuple": tuple, "array": np.array, "float32": lambda v: np.array(v, np.float32), "big endian": lambda v: np.array(v, ">f8"),
    "long double": lambda v: np.array(v, np.longdouble), "strided": lambda v: np.repeat(v, 2)[::2], "backwards": lambda v: np.array(v[::-1])[::-1],
    "object": lambda v: np.array(v, dtype=object), "masked": lambda v: np.ma.masked_array(v, mask=False), "memoryview": lambda v: memoryview(np.array(v)),
    "Series": lambda v: pd.Series(v, index=[3, 1, 2, 0]), "Index": pd.Index, "Float64": lambda v: pd.array(v, dtype="Float64"),
    "arrow": lambda v: pd.Series(v, dtype="double[pyarrow]"), "polars": pl.Series, "xarray": lambda v: xr.DataArray(v, dims="point"),
    "Decimal": lambda v: [decimal.Decimal(repr(x)) for x in v], "Fraction": lambda v: [fractions.Fraction(x) for x in v],
    "numpy scalars": lambda v: [np.float64(x) for x in v], "tensor with gradients": Tensor,
}


@every_case("make", ACCEPTED.values(), ids=ACCEPTED)
def test_every_container_gives_the_same_vector(make):
    vector = read_vector(make(NUMBERS), "error")
    assert vector.dtype == np.float64 and vector.shape == (4,) and vector.flags.c_contiguous and vector.flags.writeable
    np.testing.assert_allclose(vector, NUMBERS, rtol=1e-7)


@pytest.mark.parametrize("make", [list, np.array, lambda v: pd.Series(v, dtype="Int64"), pl.Series, lambda v: np.array(v, np.uint8)])
def test_integers_are_numbers(make):
    np.testing.assert_array_equal(read_vector(make([3, 0, 2]), "error"), [3.0, 0.0, 2.0])


@pytest.mark.slow
def test_torch_tensors_are_accepted():
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(read_vector(torch.tensor([0.5, 2.0], requires_grad=True), "error"), [0.5, 2.0])


def test_input_is_never_changed_and_read_only_input_is_copied():
    values = np.array([1.0, 2.0])
    values.flags.writeable = False
    vector = read_vector(values, "error")
    vector[0] = 9
    assert values[0] == 1.0
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ValueError): read_vector(masked, "error")
    assert masked.data.tolist() == [1.0, 2.0] and masked.mask.tolist() == [False, True]


NAN = float("nan")
REFUSED = [
    # what comes, the error, what its message says
    (None, TypeError, "error must be a 1-D array of numbers, got NoneType (None)"),
    (3.5, TypeError, "error must be a 1-D array of numbers, got float (3.5)"),
    (np.float64(3.5), TypeError, "error must be a 1-D array of numbers"),
    ("0.1 0.2", TypeError, "error must be a 1-D array of numbers, got str"),
    (b"0.1", TypeError, "error must be a 1-D array of numbers, got bytes"),
    ({0.1, 0.2}, TypeError, "got set"),
    ({"E": [0.1]}, TypeError, "got dict"),
    ((x for x in [0.1, 0.2]), TypeError, "got generator"),
    (xr.Dataset({"E": ("i", [0.1])}), TypeError, "Dataset can't be read as one"),
    (np.ones((3, 2)), ValueError, "error must be 1-D, got shape (3, 2)"),
    (np.ones((3, 1)), ValueError, "error must be 1-D, got shape (3, 1); flatten it with .ravel()"),
    (np.ones((1, 3)), ValueError, "flatten it"),
    (np.ones((2, 2, 2)), ValueError, "got shape (2, 2, 2)"),
    ([[0.1], [0.2]], ValueError, "got shape (2, 1)"),
    ([[0.1], [0.2, 0.3]], TypeError, "error must"),
    (pd.DataFrame({"E": [0.1, 0.2]}), ValueError, "got shape (2, 1); select its column, ['E']"),
    (pd.DataFrame({"E": [0.1], "uE": [0.2]}), ValueError, "select one of its 2 columns"),
    (pl.DataFrame({"E": [0.1, 0.2]}), ValueError, "select its column, ['E']"),
    ([], ValueError, "error must hold at least one value, got an empty array"),
    (pd.Series([], dtype=float), ValueError, "at least one value"),
    ([0.1, NAN, NAN], ValueError, "error must not hold missing values: 2 of 3 values are missing, the first at position 1"),
    ([0.1, None], ValueError, "1 of 2 values is missing, the first at position 1"),
    (pd.Series([0.1, pd.NA], dtype="Float64"), ValueError, "missing, the first at position 1"),
    (pd.Series([1, pd.NA], dtype="Int64"), ValueError, "missing, the first at position 1"),
    (pl.Series([1, None, 3]), ValueError, "missing, the first at position 1"),
    (np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, False, True]), ValueError, "error must not hold missing values: 1 of 3 values is masked, the first at position 2"),
    ([decimal.Decimal("NaN")], ValueError, "missing"),
    ([0.1, np.inf], ValueError, "error must be finite: 1 of 2 values is infinite, the first at position 1 (inf)"),
    ([-np.inf, 0.1], ValueError, "the first at position 0 (-inf)"),
    ([1, 10**400], ValueError, "infinite, the first at position 1"),
    ([1.0, -1e151], ValueError, "error must not exceed 1e150 in magnitude"),
    ([1, 2 + 1j], TypeError, "error must hold numbers, got complex at position 1"),
    (np.array([1j]), TypeError, "got complex numbers (dtype complex128)"),
    (np.array([True, False]), TypeError, "error must hold numbers, got booleans (dtype bool), the first at position 0 (True)"),
    ([1.0, True], TypeError, "got bool at position 1 (True)"),
    ([1.0, np.True_], TypeError, "got bool"),
    (pd.Series([True, None], dtype="boolean"), TypeError, "bool"),
    (np.array(["2024-01-01"], dtype="M8[D]"), TypeError, "got dates"),
    (np.array([1], dtype="m8[s]"), TypeError, "got time spans"),
    ([0.1, datetime.date(2024, 1, 1)], TypeError, "got date at position 1"),
    ([0.1, np.datetime64("2024-01-01")], TypeError, "got datetime64 at position 1"),
    ([0.1, np.timedelta64(1, "s")], TypeError, "got timedelta64 at position 1"),
    (pd.Series(pd.to_datetime(["2024-01-01"])), TypeError, "got dates"),
    (["0.1", "0.2"], TypeError, "got str at position 0 ('0.1')"),
    (np.array(["0.1"]), TypeError, "got text"),
    (pd.Series(["a", "b"]), TypeError, "at position 0"),
    (pd.Series([0.1, "b"], dtype=object), TypeError, "got str at position 1 ('b')"),
    (np.zeros(2, dtype=[("a", float)]), TypeError, "got records"),
]


@every_case("values, kind, message", REFUSED, ids=[f"{i}-{m[:40]}" for i, (_, _, m) in enumerate(REFUSED)])
def test_what_is_no_vector_of_numbers_is_refused_with_its_place(values, kind, message):
    with pytest.raises(kind, match=re.escape(message)): read_vector(values, "error")


def test_uncertainties_are_positive():
    values = np.full(2040, 0.5)
    values[[17, 30, 31]] = [0.0, -1.0, -0.0]
    with pytest.raises(ValueError, match=re.escape("uncertainty must be positive: 3 of 2040 values are ≤ 0, the first at position 17 (0.0)")):
        read_vector(values, "uncertainty", positive=True)
    with pytest.raises(ValueError, match=re.escape("uncertainty must be at least 1e-150")): read_vector([1e-200], "uncertainty", positive=True)
    with pytest.raises(ValueError, match="at least"): read_vector([5e-324], "uncertainty", positive=True)


def test_errors_and_uncertainties_belong_together():
    error, uncertainty = check_errors(pd.Series([1, -2], index=[1, 0]), (0.5, 1))
    assert error.tolist() == [1.0, -2.0] and uncertainty.tolist() == [0.5, 1.0]
    with pytest.raises(ValueError, match="error and uncertainty must have the same length: 3 and 2"): check_errors([1, 2, 3], [1, 1])
    with pytest.raises(ValueError, match="uncertainty must be positive"): check_errors([1.0], [0.0])
    with pytest.raises(ValueError, match=re.escape("the first at position 1 (1e+200)")): check_errors([1, 1e100], [1, 1e-100])
    assert check_errors([0.0], [1e-150])[0] == 0


def test_by_holds_one_value_for_each_point():
    assert check_column([3, 1, 2], 3).tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="by must hold one value for each of the 4 points, got 3"): check_column([3, 1, 2], 4)
    with pytest.raises(ValueError, match="feature must not hold missing"): check_column([NAN, 1], 2, "feature")


@every_case("make", [list, tuple, np.array, pd.Series, pl.Series, lambda v: pd.array(v, dtype="boolean"), lambda v: xr.DataArray(v, dims="point")])
def test_booleans_are_outcomes(make):
    outcome = check_outcomes(make([True, False, True]))
    assert outcome.tolist() == [1, 0, 1] and outcome.dtype == np.float64


def test_outcomes_probabilities_and_weights_are_what_they_say():
    assert check_outcomes([1, 0.0, True]).tolist() == [1, 0, 1] and check_probabilities([0, 1, 0.5]).tolist() == [0, 1, 0.5]
    assert check_weights(None, 3).tolist() == [1, 1, 1] and check_weights([2, 0, 8e149], 3).tolist() == [2 / 8e149, 0, 1]
    assert [v.tolist() for v in check_weighted([0, 1], [0.1, 0.2], [1, 2])] == [[0, 1], [0.1, 0.2], [0.5, 1]]
    for call, message in [(lambda: check_outcomes([0, 1, 2]), "y_true must hold only 0 and 1: 1 of 3 values is neither, the first at position 2 (2.0)"),
                          (lambda: check_probabilities([0.5, 1.5]), "y_prob must lie in [0, 1]: 1 of 2 values is outside, the first at position 1 (1.5)"),
                          (lambda: check_weights([1, -1], 2), "sample_weight must not be negative: 1 of 2 values is negative, the first at position 1 (-1.0)"),
                          (lambda: check_weights([0, 0], 2), "sample_weight must be positive somewhere: all 2 values are zero"),
                          (lambda: check_weights([1], 2), "sample_weight must hold one value for each of the 2 points, got 1"),
                          (lambda: check_binary([1, 0], [0.5]), "y_true and y_prob must have the same length: 2 and 1")]:
        with pytest.raises(ValueError, match=re.escape(message)): call()


@pytest.mark.parametrize("value", [5, np.int8(5), np.uint64(5), np.array(5)])
def test_counts_are_integers(value):
    count = check_count(value, "n_bins")
    assert count == 5 and type(count) is int


@every_case("value, kind", [(5.0, TypeError), (3.5, TypeError), (True, TypeError), (np.True_, TypeError), ("5", TypeError), (None, TypeError), ([5], TypeError),
                                         (NAN, TypeError), (np.array([5, 6]), TypeError), (0, ValueError), (-1, ValueError), (11, ValueError), (10**30, ValueError)])
def test_what_is_no_count_in_its_range_is_refused(value, kind):
    with pytest.raises(kind, match="n_bins must be an integer from 1 to 10, got"): check_count(value, "n_bins", maximum=10)


@every_case("value, kind", [(0, ValueError), (1, ValueError), (0.0, ValueError), (1.0, ValueError), (-0.1, ValueError), (95, ValueError), (NAN, ValueError),
                                         (np.inf, ValueError), (True, TypeError), ("0.95", TypeError), (None, TypeError), (0.5 + 0j, TypeError), ([0.5], TypeError)])
def test_what_is_no_fraction_is_refused(value, kind):
    with pytest.raises(kind, match="confidence must"): check_fraction(value, "confidence")


def test_fractions_become_floats():
    assert check_fraction(np.float32(0.5), "confidence") == 0.5 and type(check_fraction(fractions.Fraction(1, 4), "confidence")) is float


def test_choices_name_the_closest():
    assert check_choice("ence", "statistic", ("zms", "ence")) == "ence"
    with pytest.raises(ValueError, match=re.escape("statistic must be one of 'zms', 'ence', got 'ECNE'; did you mean 'ence'?")): check_choice("ECNE", "statistic", ("zms", "ence"))
    with pytest.raises(ValueError, match=r"got 'qqqq'$"): check_choice("qqqq", "statistic", ("zms", "ence"))
    for value in (None, 3, b"ence", ["ence"]):
        with pytest.raises(TypeError, match="statistic must be one of"): check_choice(value, "statistic", ("zms", "ence"))


def test_generators_seeds_and_nothing_else():
    own = np.random.default_rng(3)
    assert check_generator(own) is own
    assert check_generator(3).random() == check_generator(np.int64(3)).random() == np.random.default_rng(3).random()
    assert check_generator(None).random() != check_generator(None).random()
    for value in (np.random.RandomState(3), 3.0, True, np.True_, "3", [3]):
        with pytest.raises(TypeError, match="rng must be None, an integer ≥ 0 or a numpy.random.Generator"): check_generator(value)
    with pytest.raises(ValueError, match="rng must be ≥ 0"): check_generator(-1)


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.complex_numbers(), st.dates(), st.binary(max_size=2), st.decimals(), st.fractions())


@given(st.one_of(anything, st.lists(anything, max_size=6), st.lists(st.lists(anything, max_size=3), max_size=3), hnp.arrays(
    st.one_of(hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.complex_number_dtypes(), hnp.datetime64_dtypes(), hnp.unicode_string_dtypes()),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))), st.booleans())
def test_anything_gives_a_vector_or_a_clear_error(values, positive):
    try: vector = read_vector(values, "error", positive=positive)
    except (TypeError, ValueError) as error: assert str(error).startswith("error must")
    else:
        assert vector.ndim == 1 and vector.size and np.all(np.isfinite(vector)) and np.all(np.isfinite(vector**2))
        assert not positive or (np.all(vector > 0) and np.all(vector**2 > 0))


def test_same_labels_in_another_order_and_other_labels_are_refused_with_the_way_out():
    error, uncertainty = pd.Series([0.1, 0.2, 0.3], index=[7, 8, 9]), pd.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    for other, message in [(uncertainty.iloc[::-1], "error and uncertainty must be in the same order"),
                           (uncertainty.reset_index(drop=True), "the labels at position 0 are 7 and 0; the labels of uncertainty only count its rows from 0"),
                           (uncertainty.rename({9: "\x1b[31m"}), r"the labels at position 2 are 9 and '\x1b[31m'; take the same rows of both by .loc, or pass .to_numpy()")]:
        with pytest.raises(ValueError, match=re.escape(message)): check_errors(error, other)
    for other in (uncertainty, uncertainty.to_numpy(), pl.Series(uncertainty.to_numpy()), uncertainty.set_axis(pd.array([7, 8, 9], dtype="Int64")), uncertainty.set_axis([7.0, 8.0, 9.0])):
        np.testing.assert_array_equal(check_errors(error, other)[1], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="the same length: 3 and 2"): check_errors(error, uncertainty[:2])


@pytest.mark.parametrize("index", [pd.MultiIndex.from_product([["a", "b"], [1, 2]]), pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], tz="UTC"),
                                   pd.CategoricalIndex(list("abca")), pd.Index(["a", 1, None, (2, 3)], dtype=object), pd.Index([0.5, np.nan, np.nan, 1.0])], ids=lambda index: type(index).__name__)
def test_labels_of_any_kind_are_compared(index):
    columns = {"y_true": pd.Series([1, 0, 1, 0], index=index), "y_prob": pd.DataFrame({"p": [0.1, 0.2, 0.3, 0.4]}, index=index)}
    assert check_labels_agree(**columns, sample_weight=None, other=[1, 2, 3, 4]) is None
    with pytest.raises(ValueError, match="y_true and member must be in the same order"): check_labels_agree(**columns, member=pd.Series(range(4), index=index[[1, 0, 2, 3]]))


def test_a_mask_is_found_in_every_container_and_dimension():
    masked = np.ma.masked_array([[0.5, 0.5], [0.25, 0.75]], [[False, False], [True, False]])
    for values, message in [(masked, "p (row by row) must not hold missing values: 1 of 4 values is masked, the first at position 2"),
                            ([masked[0], masked[1]], "p[1] must not hold missing values: 1 of 2 values is masked, the first at position 0")]:
        with pytest.raises(ValueError, match=re.escape(message)): plain_array(values, "p")
    with pytest.raises(ValueError, match="missing, the first at position 0"): read_vector(list(masked[1]), "p")
    assert type(plain_array(masked[:1], "p")) is np.ndarray and plain_array([masked[0]], "p").tolist() == [[0.5, 0.5]]
    with pytest.raises(TypeError, match="records"): read_vector(np.ma.masked_array(np.zeros(2, dtype=[("a", float)]), [(True,), (False,)]), "p")


@pytest.mark.parametrize("values, message", [([1.0, decimal.Decimal("sNaN")], "error must not hold missing values: 1 of 2 values is missing, the first at position 1"),
                                             (["0.5", "0.2"], "turn text into numbers first"), (np.array(["\x1b[31m"]), r"'\x1b[31m'"),
                                             ([1e151, 2], "error must not exceed 1e150")])
def test_odd_numbers_and_numbers_as_text_are_refused_in_words(values, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)): read_vector(values, "error")


def test_weights_too_far_apart_are_refused():
    for weights in ([1e-85, 1.0, 1e85], [1.0, 1e-151, 0.0]):
        with pytest.raises(ValueError, match="sample_weight must be zero or within a factor 1e150 of the largest"): check_weights(weights, 3)
        with pytest.raises(ValueError, match="sample_weight must be"): calibration_graph([0, 1, 1], [0.2, 0.5, 0.9], sample_weight=np.array(weights))
    assert check_weights([1e-149, 1.0, 0.0], 3).tolist() == [1e-149, 1, 0]


def test_features_and_parameters_too_large_for_a_square_are_refused():
    for run in (lambda: OnlineNewtonStep([0.0, 0.0]).prequential([[1e151, 1.0]], [1]), lambda: validate_errors([1.0, 2.0, 3.0], [1.0, 2.0, 1.0], by={"x": [1.0, 2.0, 1e151]})):
        with pytest.raises(ValueError, match="1e150"): run()


WHOLE = [lambda labels: labels, np.array, lambda labels: pd.Series(labels, dtype="Int64"), lambda labels: pd.Series(labels, dtype=object), pl.Series]


@pytest.mark.parametrize("make", WHOLE)
@pytest.mark.parametrize("first", [1234567890123456, 2**53, 2**62])
def test_whole_numbers_are_groups_exactly(make, first):
    labels = [first, first + 1] * 20
    assert sorted({int(label) for label in read_labels(make(labels), 40)}) == [first, first + 1]
    frame = {"y": np.arange(40) % 3 / 2, "p": np.arange(40) / 40, "account": make(labels)}
    table = screen(frame, y_true="y", score="p", by="account", method="asymptotic").table
    assert [int(table[side][0]) for side in "ab"] == [first, first + 1]
    assert Sample(np.ones(40), np.ones(40)).along(make(labels)).labels.size == 2


def test_classes_that_differ_in_the_last_digit_are_not_taken_for_hits():
    y_true, y_pred = np.array([2**53, 2**53 + 1, 7]), np.array([2**53 + 1, 2**53, 7])
    np.testing.assert_allclose(top_label_ece(y_true, [0.9, 0.9, 0.9], y_pred), top_label_ece([1, 2, 7], [0.9, 0.9, 0.9], [2, 1, 7]), rtol=1e-12)


def test_labels_that_cannot_be_told_apart_or_sorted_are_refused():
    for labels, error, message in [(["7", 7], TypeError, "groups must hold labels of one kind, got int and str"), ([True, 1], TypeError, "bool and int"),
                                   (["a", None], ValueError, "groups must not hold missing labels"), ([1, decimal.Decimal("sNaN")], ValueError, "missing labels"),
                                   (["a"], ValueError, "one label for each of the 2 points, got 1")]:
        with pytest.raises(error, match=re.escape(message)): read_labels(labels, 2)
    assert read_labels(["a", "a\0"], 2).tolist() == ["a", "a\0"] and read_labels([1, 2.5, 2**63], 3).tolist() == [1, 2.5, 2**63]


def test_a_permuted_feature_weight_or_group_is_refused_and_not_judged():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"E": rng.normal(size=60), "uE": rng.uniform(0.5, 2, 60), "x": rng.normal(size=60), "w": rng.uniform(size=60)})
    mixed, outcome, stated = frame.sample(frac=1, random_state=1), (frame["x"] > 0) * 1, frame["w"] / 2 + 0.25
    for call in (lambda: validate_errors(frame["E"], frame["uE"], by=mixed[["x"]]), lambda: ence(frame["E"], frame["uE"], by=mixed["x"]), lambda: ence(frame["E"].to_numpy(), frame["uE"], by=mixed["x"] > 0),
                 lambda: validate_errors(frame["E"].to_numpy(), frame["uE"].to_numpy(), by={"x": frame["x"], "w": mixed["w"]}), lambda: kuiper_test(outcome, stated[mixed.index]), lambda: kuiper_test(outcome.to_numpy(), stated, sample_weight=mixed["w"]),
                 lambda: regression_coverage_score(frame["E"], pd.DataFrame({"low": -mixed["uE"], "up": mixed["uE"]})),
                 lambda: screen({"y": outcome, "p": stated, "g": mixed["x"] > 0}, y_true="y", score="p", by="g"),
                 lambda: subpopulation_graph(outcome, stated, mixed["x"] > 0), lambda: PlattScaling().fit(stated, outcome[mixed.index]), lambda: OnlinePlattScaling().prequential(stated, outcome[mixed.index])):
        with pytest.raises(ValueError, match="must be in the same order"): call()


def test_two_groups_of_points_have_labels_of_their_own():
    a, b = pd.DataFrame({"y": [0.0, 1, 0, 1], "p": [0.1, 0.2, 0.3, 0.4]}, index=list("abcd")), pd.DataFrame({"y": [1.0, 1, 0, 1], "p": [0.15, 0.25, 0.3, 0.4]}, index=list("dcba"))
    assert comparison_graph(a["y"], a["p"], b["y"], b["p"]).kuiper == comparison_graph(*(one[name].to_numpy() for one in (a, b) for name in "yp")).kuiper
    with pytest.raises(ValueError, match="y_true_b and score_b must be in the same order"): comparison_graph(a["y"], a["p"], b["y"], b["p"][::-1])


def test_names_from_data_are_shown_without_control_characters():
    assert printable("日本 α") == "日本 α" and printable("a\rb\x1b[2J\u202e\ud800") == r"a\rb\x1b[2J\u202e\ud800"
    rng = np.random.default_rng(5)
    kind = np.array(["\x1b[31mred", "\rblue"] * 100, dtype=object)
    error = rng.normal(size=200) * np.where(kind == kind[0], 5, 1)
    found = validate_errors(error, np.where(np.arange(200) % 3, 1.0, 2.0), by={"\x1b[2Jkind": kind}, statistics=("zms",), n_boot=50, n_resamples=99, n_mc=20, rng=1)
    shown = f"{found}{found!r}{found.conclusion}{found.to_frame()}" + "".join(one.sentence + one.line + one.method for one in found.findings)
    assert not set(shown) & set("\x1b\r") and (r"\x1b[31mred" in shown or r"\rblue" in shown)
    for call in (lambda: check_errors(pd.Series([1.0], index=["\x1b"]), pd.Series([1.0], index=["\r"])), lambda: screen({"\x1by": [1.0], "p": [0.5], "g": ["a"]}, y_true="\x1by", score="p", by="g"),
                 lambda: screen({"\x1by": ["\r"], "p": [0.5], "g": ["a"]}, y_true="\x1by", score="p", by="g"), lambda: read_labels(["\x1b"], 2, "g")):
        with pytest.raises((ValueError, TypeError)) as error: call()
        assert not set(str(error.value)) & set("\x1b\r")


# --- objects that are no arrays

class AnswersNone:
    "Asked for any name it knows no better than None, as ngboost's Normal is; names of the distribution behind it are found."

    def __init__(self, members): self.members = members
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return (lambda *given: np.zeros(3)) if name in ("mean", "std", "cdf", "logpdf", "ppf") else None
    def __len__(self): return 3
    def __getitem__(self, key): return AnswersNone(self.members)


class Raises:
    "Asked for any name it raises an error of its own."

    def __getattr__(self, name): raise RuntimeError(f"no {name} before the fit")
    def __repr__(self): raise RuntimeError("not shown")


class AnswersAll:
    "Asked for any name it returns itself, which can be called."

    def __getattr__(self, name): return self
    def __call__(self, *given): return self


class TorchNormal:
    "What a distribution of PyTorch has: fields, and no function called std."

    mean, stddev = np.zeros(3), np.ones(3)
    def log_prob(self, x): return x


@pytest.mark.parametrize(("make", "says"), [
    (lambda: AnswersNone(1), r"AnswersNone, a distribution; pass its mean and its standard deviation as numbers, \.mean\(\) and \.std\(\)$"),
    (lambda: stats.norm(np.zeros(3), 1), r"a distribution; pass its mean and its standard deviation as numbers, \.mean\(\) and \.std\(\)$"),
    (TorchNormal, r"TorchNormal, a distribution; pass its mean and its standard deviation as numbers, \.mean and \.stddev$"),
    (AnswersAll, r"AnswersAll, a distribution; pass its mean and its standard deviation"), (Raises, "Raises can't be read as one: .*; pass the numbers themselves, such as a mean and a std|got Raises"),
], ids=["answers None", "scipy", "torch", "answers all", "raises"])
def test_a_distribution_is_refused_with_what_to_type_instead(make, says):
    for call in (lambda: validate_errors(np.ones(3), make()), lambda: read_vector(make(), "error"), lambda: check_errors(make(), np.ones(3)), lambda: plain_array(make(), "y_intervals")):
        with pytest.raises(TypeError, match=says): call()


@pytest.mark.parametrize("make", [np.array, pd.DataFrame, pl.DataFrame])
def test_members_of_an_ensemble_are_refused_with_their_mean_and_spread(make):
    with pytest.raises(ValueError, match=r"of ensemble members pass \.mean\(axis=1\) and \.std\(axis=1, ddof=1\)$"): read_vector(make(np.ones((4, 3))), "uncertainty")


@pytest.mark.parametrize("call", [expected_calibration_error, top_label_ece, kuiper_test])
def test_a_column_of_probabilities_is_flattened_by_one_step(call):
    rng = np.random.default_rng(0)
    p = rng.random((200, 1))
    y = (rng.random(200) < p[:, 0]) * 1
    with pytest.raises(ValueError, match=r"y_prob must be 1-D, got shape \(200, 1\); flatten it with \.ravel\(\)"): call(y, p)
    with pytest.raises(ValueError, match=r"select its column, \['p'\]"): call(y, pd.DataFrame({"p": p[:, 0]}))


# --- labels of xarray

def array(values, labels=None, dim="case"):
    return xr.DataArray(values, dims=[dim, *["side"] * (np.ndim(values) - 1)], coords=None if labels is None else {dim: labels})


@pytest.mark.parametrize(("first", "second", "says"), [
    (list("abc"), list("abc"), None), (list("abc"), None, None), (None, None, None), (list("abc"), list("cab"), "be in the same order"), (list("abc"), list("abd"), "labels at position 2 are 'c' and 'd'"),
    ([3, 5, 8], [0, 1, 2], "only count its rows from 0"), (pd.date_range("2024", periods=3), pd.date_range("2025", periods=3), "the same index"),
], ids=["equal", "one", "none", "another order", "others", "counted", "dates"])
def test_coordinates_of_xarray_are_compared_as_indexes_of_pandas(first, second, says):
    values = np.array([0.1, 0.2, 0.3])
    def of_pandas(labels): return values if labels is None else pd.Series(values, index=labels)
    for one, other in ((array(values, first), array(values, second)), (array(values, first), of_pandas(second)), (of_pandas(first), array(values, second)), (of_pandas(first), of_pandas(second))):
        if says is None: check_errors(one, other)
        else:
            with pytest.raises(ValueError, match=says): check_errors(one, other)


def test_coordinates_along_rows_count_in_tables_too_and_others_do_not():
    y, bounds = array([0.1, 0.2], list("ab")), array([[0, 1], [0, 1]], list("ba"))
    with pytest.raises(ValueError, match="same order"): regression_coverage_score(y, bounds)
    named = xr.DataArray([0.1, 0.2], dims="case", coords={"place": ("case", ["x", "y"])})
    check_errors(named, array([0.1, 0.2], list("ab")))
