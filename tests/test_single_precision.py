"""Numbers of single and half precision are read by their shortest decimals, so that bins, sets and coverages do not depend on the precision they came in."""
import time

import numpy as np
import pandas as pd
import polars as pl
from every_case import every_case
import pytest

from uqcal.metrics import expected_calibration_error, reliability_diagram
from uqcal._base.inputs import check_fraction, plain_array, read_vector, widen
from uqcal.intervals.intervals import regression_coverage_score

POWERS = 2.0 ** np.arange(-149, 128)


def as_printed(values): return np.array([np.float64(str(x)) for x in values])


def singles():
    "Numbers of single precision of each kind, by name."
    rng = np.random.default_rng(7)
    size = 10.0 ** rng.integers(-14, 12, 30_000)
    with np.errstate(over="ignore"):
        powers = POWERS.astype(np.float32)
        return {"any bits": rng.integers(0, 2**32, 30_000, dtype=np.uint32).view(np.float32), "powers of two": powers, "just above": np.nextafter(powers, np.float32(np.inf)),
                "just below": np.nextafter(powers, np.float32(0)), "powers of ten": (10.0 ** np.arange(-45, 39)).astype(np.float32),
                "full precision": (rng.normal(size=30_000) * size).astype(np.float32), "uniform": rng.random(30_000).astype(np.float32),
                "few digits": (np.round(rng.random(30_000), 3) * size).astype(np.float32),
                "ties": (2.0**21 + rng.integers(0, 2**20, 30_000) / 4).astype(np.float32), "whole": rng.integers(-2**31, 2**31, 30_000).astype(np.float32),
                "ends": np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4028235e38, -3.4028235e38, 16777216, 16777220, 0.1, -0.3], np.float32)}


@every_case("kind", singles())
def test_single_precision_is_read_as_it_is_printed_to_the_last_bit(kind):
    values = singles()[kind]
    found, printed = widen(values), as_printed(values)
    np.testing.assert_array_equal(found, printed)
    there = ~np.isnan(printed)
    np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(printed)[there])
    with np.errstate(over="ignore"): np.testing.assert_array_equal(found.astype(np.float32), values)


def test_each_number_of_half_precision_is_read_as_it_is_printed():
    values = np.arange(2**16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(widen(values), as_printed(values))


def test_other_arrays_are_left_as_they_are():
    for values in (np.array([0.1, 0.3]), np.arange(3), np.array(["a"]), np.array([None, 1.5], dtype=object)): assert widen(values) is values


def test_a_million_values_take_less_than_half_a_second():
    values = np.random.default_rng(0).random(10**6).astype(np.float32)
    took = []
    for _ in range(3):
        start = time.process_time()
        widen(values)
        took.append(time.process_time() - start)
    assert min(took) < 0.5, took


TENTHS = np.arange(11) / 10
COLUMNS = {
    "array": lambda v: v, "strided": lambda v: np.repeat(v, 2)[::2], "big endian": lambda v: v.astype(v.dtype.newbyteorder(">")), "list": list, "tuple": tuple,
    "Series": pd.Series, "masked": lambda v: np.ma.masked_array(v, np.zeros(v.size, bool)), "objects": lambda v: np.array(list(v), dtype=object), "0-d arrays": lambda v: [np.array(x) for x in v],
}
WIDER = {"polars": pl.Series, "Float32": lambda v: pd.array(v, dtype="Float32"), "arrow": lambda v: pd.Series(v, dtype="float[pyarrow]")}


@every_case("make", [*COLUMNS.values(), *WIDER.values()], ids=[*COLUMNS, *WIDER])
def test_every_container_of_single_precision_gives_the_decimals(make):
    np.testing.assert_array_equal(read_vector(make(TENTHS.astype(np.float32)), "error"), TENTHS)


@every_case("make", COLUMNS.values(), ids=COLUMNS)
def test_every_container_of_half_precision_gives_the_decimals(make):
    np.testing.assert_array_equal(read_vector(make(TENTHS.astype(np.float16)), "error"), TENTHS)


@every_case("make", [
    lambda a, b: np.column_stack([a, b]), lambda a, b: [list(pair) for pair in zip(a, b)], lambda a, b: list(np.column_stack([a, b])),
    lambda a, b: pd.DataFrame({"low": a, "up": b}), lambda a, b: pd.DataFrame({"low": a, "up": b.astype(float).round(1)}),
    lambda a, b: pd.DataFrame({"low": pd.array(a, dtype="Float32"), "up": pd.array(b, dtype="Float32")}),
    lambda a, b: pl.DataFrame({"low": a, "up": b}), lambda a, b: pl.DataFrame({"low": a, "up": b.astype(float).round(1)}),
    lambda a, b: [pd.Series(row) for row in np.column_stack([a, b])],
], ids=["array", "lists", "list of rows", "frame", "frame, one wide", "Float32", "polars", "polars, one wide", "list of Series"])
def test_every_table_of_single_precision_gives_the_decimals(make):
    table = plain_array(make(TENTHS.astype(np.float32), (TENTHS + 1).astype(np.float32)), "y_intervals")
    np.testing.assert_array_equal(np.column_stack([read_vector(side, "bound") for side in table.T]), np.column_stack([TENTHS, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0]]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_stated_tenths_give_the_same_bins_in_each_precision(dtype):
    rng = np.random.default_rng(0)
    p = rng.integers(0, 11, 2000) / 10
    y = (rng.random(2000) < p**1.2) * 1
    tenths = np.rint(p * 10).astype(int)
    bins = np.maximum(tenths - 1, 0)  # (a, b]
    exact = sum(abs((tenths[bins == j] / 10 - y[bins == j]).sum()) for j in range(10)) / 2000
    assert expected_calibration_error(y, p.astype(dtype), n_bins=10) == expected_calibration_error(y, p, n_bins=10) == pytest.approx(exact, abs=1e-9)
    one, other = (reliability_diagram(y, values, n_bins=10).to_frame() for values in (p, p.astype(dtype)))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_values_at_a_bound_are_covered_in_each_precision(dtype):
    bounds = np.column_stack([TENTHS - TENTHS, TENTHS])
    for y, intervals in ((TENTHS, bounds.astype(dtype)), (TENTHS.astype(dtype), bounds), (TENTHS.astype(dtype), bounds.astype(dtype))):
        np.testing.assert_array_equal(regression_coverage_score(y, intervals), [1.0])


def test_options_of_single_precision_are_their_decimals(): assert check_fraction(np.float32(0.9), "coverage") == 0.9
