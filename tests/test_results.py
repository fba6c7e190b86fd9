"""What all results share: an interval's ends, words for a reader, HTML in which names from data stay text, fields that never change."""
import copy
import dataclasses
import functools
import html.parser
import io
import json
import pickle
from dataclasses import dataclass, field
from typing import Any

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uqcal.probabilities.calibration import calibration_report
from uqcal.probabilities.calibration_tests import binary_calibration_tests, kuiper_test
from uqcal.statistics.confidence_curves import confidence_curve
from uqcal.intervals.coverage import interval_report
from uqcal.subgroups.cumulative import calibration_graph
from uqcal.probabilities.reliability import reliability_diagram
from uqcal._base.results import (
    Interval, Result, SignificanceTest, enumerated, html_table, new_axes, plain_text, plain_ticks, plot_null, plus_minus, three_digits,
)
from uqcal.subgroups.screening import screen
from uqcal.errors.validation import validate_errors

WICKED = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td></table><b>", 'a" onclick="alert(1)', "E < 0 & u > 1", "&lt;script&gt;"]
TAGS = {"table", "thead", "tbody", "tr", "th", "td", "p", "div"}


@dataclass(frozen=True, kw_only=True)
class Named(Result):
    "A number with a name from data."

    name: str
    estimate: float
    confidence_interval: Interval
    null_interval: Interval | None = None
    values: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def sentence(self):
        return f"{self.name} is {three_digits(self.estimate)}"


class Rows(Named):
    "A result that shows a table."

    def to_frame(self):
        return pd.DataFrame({self.name: [self.name, 1.0]}, index=pd.Index([self.name, "b"], name=self.name))


def significance(null, statistic=1.5, **changed):
    null = None if null is None else np.asarray(null, dtype=float)
    fields = dict(statistic=statistic, pvalue=0.031, alternative="greater", method="shuffles", n=1234, null_distribution=null)
    return SignificanceTest(**fields | {"n_resamples": None if null is None else null.size} | changed)


class Seen(html.parser.HTMLParser):
    "What a browser would take for tags with their attributes, and for text."

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text = set(), set(), ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_an_interval_holds_its_ends_and_no_nan():
    interval = Interval(-1.0, 2.0)
    assert interval.holds(-1) and interval.holds(2) and interval.holds(0)
    assert not interval.holds(-1.0000001) and not interval.holds(2.0000001) and not interval.holds(np.nan)
    low, high = interval
    assert (low, high) == (-1.0, 2.0) and type(interval.holds(np.float64(0))) is bool


@every_case("value, shown", [
    (0.96, "0.960"), (1, "1.00"), (0, "0.00"), (-0.026822, "−0.0268"), (99.94, "99.9"), (99.96, "100"), (-99.99, "−100"), (100, "100"), (133.42, "133"), (-583.15, "−583"), (13885, "13885"),
    (123456.0, "123456"), (999_999.6, "1.00e+06"), (1.2e-9, "1.20e−09"), (np.inf, "∞"), (-np.inf, "−∞"), (np.nan, "–"), (None, "–"), (pd.NA, "–"),
])
def test_three_digits(value, shown):
    assert three_digits(value) == shown


@given(st.floats(1e-300, 99.9) | st.floats(-99.9, -1e-300))
def test_three_digits_are_right_to_half_a_digit(value):
    shown = three_digits(value)
    assert "-" not in shown and not shown.endswith(".")
    assert float(shown.replace("−", "-")) == pytest.approx(value, rel=0.005)


def test_phrases_are_enumerated():
    assert [enumerated(list("abcd"[:k])) for k in range(5)] == ["", "a", "a and b", "a, b and c", "a, b, c and d"]


@every_case("name", WICKED)
def test_names_from_data_are_text_wherever_they_stand(name):
    frame = pd.DataFrame({name: [name, "b"], "x": pd.Categorical([name, name])}, index=pd.Index([name, "c"], name=name))
    frame.columns.name = name
    interval = Interval(0.0, 1.0)
    sources = {"table": html_table(frame), "sentence": Named(name=name, estimate=1.0, confidence_interval=interval)._repr_html_(),
               "rows": Rows(name=name, estimate=1.0, confidence_interval=interval)._repr_html_()}
    for kind, source in sources.items():
        seen = Seen(source)
        assert seen.tags <= TAGS and seen.attributes <= {"class", "style"}, kind
        assert seen.text.count(name) >= {"table": 6, "sentence": 1, "rows": 4}[kind], kind


@given(st.text(max_size=20))
def test_no_text_becomes_a_tag(name):
    seen = Seen(Named(name=name, estimate=1.0, confidence_interval=Interval(0, 1))._repr_html_())
    assert seen.tags == {"p"} and seen.text == f"{name} is 1.00"


def test_a_long_table_says_what_it_leaves_out():
    frame = pd.DataFrame({"x": np.arange(2040.0)})
    assert html_table(frame, 7).endswith("<p>and 2,033 more rows</p>") and html_table(frame, 7).count("<tr") == 8
    assert "more rows" not in html_table(frame.head(20)) and "1 more rows" in html_table(frame.head(21))
    assert "0.3333<" in html_table(pd.DataFrame({"x": [1 / 3]}))


def test_results_are_frozen_and_own_their_arrays():
    values = np.arange(3.0)
    result = Named(name="a", estimate=1.0, confidence_interval=Interval(0, 1), values=values)
    with pytest.raises(dataclasses.FrozenInstanceError): result.estimate = 2.0
    with pytest.raises(ValueError, match="read-only"): result.values[0] = 7
    values[0] = 7
    assert result.values[0] == 0 and values.flags.writeable
    assert dataclasses.replace(result, name="b").values is result.values  # what is read-only already is not copied again
    with pytest.raises(TypeError): Named("a", 1.0, Interval(0, 1))
    assert not significance([1, 2]).null_distribution.flags.writeable


def test_results_with_equal_fields_are_equal_whatever_was_drawn():
    assert significance([1, 2]) == significance([3, 4]) != significance([1, 2], statistic=2.0)
    assert "null_distribution" not in repr(significance([1, 2]))


def test_the_row_of_a_result_names_the_ends_of_the_estimates_interval_low_and_high():
    result = Named(name="a", estimate=1.0, confidence_interval=Interval(0.5, 1.5), null_interval=Interval(-1.0, 1.0), values=np.ones(2))
    frame = result.to_frame()
    assert list(frame) == ["name", "estimate", "low", "high", "null_low", "null_high"]
    assert frame.iloc[0].tolist() == ["a", 1.0, 0.5, 1.5, -1.0, 1.0]
    assert list(significance([1, 2]).to_frame()) == ["statistic", "pvalue", "alternative", "method", "n", "n_resamples"]
    assert len(pd.concat([frame, frame], ignore_index=True)) == 2


def test_a_result_without_words_has_those_of_its_class():
    @dataclass(frozen=True, kw_only=True)
    class Plain(Result):
        """First line.

        More."""

    assert Plain().sentence == "First line." and Plain()._repr_html_() == "<p>First line.</p>"


def test_the_null_interval_holds_95_percent_of_what_is_defined():
    null = np.concatenate([np.arange(1001.0), np.full(50, np.nan), [np.inf]])
    test = significance(null)
    assert test.null_interval == (25.0, 975.0) and test.null_mean == 500.0
    assert isinstance(test.null_interval, Interval) and type(test.null_mean) is float
    for nothing in (None, [np.nan, np.nan]):
        assert significance(nothing).null_interval is None and significance(nothing).null_mean is None


def test_the_sentence_of_a_test():
    assert significance(np.arange(1999)).sentence == "statistic 1.5, p = 0.031 (greater, shuffles, 1,999 resamples, 1,234 points)"
    assert significance(None, method="chi-square").sentence == "statistic 1.5, p = 0.031 (greater, chi-square, 1,234 points)"


def test_the_picture_shows_the_null_the_data_and_the_interval():
    test = significance(np.r_[np.random.default_rng(1).standard_normal(500), np.nan])
    axes = plt.subplots()[1]
    assert plot_null(test, axes, xlabel="range", ylabel="shuffles") is axes and test.plot(axes) is axes
    drawn = test.plot()
    assert drawn is not axes and sum(patch.get_height() for patch in drawn.patches) == 500
    line, bar = drawn.lines
    assert set(line.get_xdata()) == {1.5} and tuple(bar.get_xdata()) == test.null_interval
    assert drawn.get_xlabel() == "statistic (bar: 95 % of resamples)" and "0.031" in drawn.texts[0].get_text()
    for nothing in (None, [np.nan]):
        with pytest.raises(ValueError, match="nothing was drawn to show: the p-value comes from shuffles"): significance(nothing).plot()


@pytest.mark.parametrize("statistic", [-3.0, 0.4, 5.0])
def test_the_label_of_the_data_stays_in_the_picture(statistic):
    ax = significance(np.random.default_rng(1).standard_normal(500), statistic).plot()
    ax.figure.canvas.draw()
    label, frame = ax.texts[0].get_window_extent(), ax.get_window_extent()
    assert frame.x0 <= label.x0 and label.x1 <= frame.x1 and frame.y0 <= label.y0 and label.y1 <= frame.y1
    tallest = max(patch.get_window_extent().y1 for patch in ax.patches)
    assert label.y0 >= tallest  # no bar behind the words


def test_axes_are_the_callers_or_new():
    ax = plt.subplots()[1]
    assert new_axes(ax) is ax
    made = new_axes(None, 3, 2)
    assert made is not ax and made.figure.get_size_inches().tolist() == [3, 2]


def test_ticks_and_names_are_plain():
    ax = plt.subplots()[1]
    ax.set(xscale="log", yscale="log", xlim=(0.1, 10), ylim=(0.15, 0.9), xlabel=plain_text("$/kg and $/mol"))
    plain_ticks(ax.xaxis, ax.yaxis)
    ax.figure.canvas.draw()
    assert {"0.1", "0.2", "0.5", "1", "2", "5", "10"} <= {label.get_text() for label in ax.get_xticklabels()}
    assert {"0.2", "0.5"} <= {label.get_text() for label in ax.get_yticklabels()}
    assert plain_text("$a$") == r"\$a\$" and plain_text(3) == "3"
    assert plain_text("b" * 400) == "b" * 39 + "…" and plain_text("$" * 40) == r"\$" * 40


def test_a_result_owns_what_it_holds():
    @dataclass(frozen=True, kw_only=True)
    class Holder(Result):
        held: Any

    numbers = np.arange(4.0)
    view = numbers[1:]
    view.flags.writeable = False
    frame = pd.DataFrame({"x": numbers}, copy=False)
    held = Holder(held={"array": numbers, "view": view, "nested": (numbers, {"frame": frame}), "word": "x"}).held
    kept = copy.deepcopy(held)
    numbers[:] = 9
    frame.loc[0, "x"] = 7
    np.testing.assert_equal([held["array"], held["view"], held["nested"][0], held["word"]], [kept["array"], kept["view"], kept["nested"][0], "x"])
    pd.testing.assert_frame_equal(held["nested"][1]["frame"], kept["nested"][1]["frame"])
    assert not held["array"].flags.writeable and held["array"].tolist() == [0, 1, 2, 3]
    alone = np.arange(3.0)
    alone.flags.writeable = False
    assert Holder(held=alone).held is alone  # nobody can change it


@dataclass(frozen=True, kw_only=True)
class Held(Result):
    "A result that holds anything."

    held: Any
    drawn: Any = field(default=None, compare=False)


CONTENTS = {
    "number": (1.5, 1.5000001), "nan": (np.nan, 0.0), "numpy": (np.float64(0.3), np.float64(0.31)), "none": (None, np.nan), "word": ("a", "b"), "flag": (np.True_, False),
    "array": (np.arange(4.0), np.arange(4.0) + 1e-12), "nan in array": (np.array([1, np.nan]), np.array([np.nan, 1])), "shape": (np.zeros(4), np.zeros((2, 2))),
    "text": (np.array(["a", "b"]), np.array(["a", "c"])), "objects": (np.array([None, np.nan, "a"], dtype=object), np.array([None, np.nan, "b"], dtype=object)),
    "table": (pd.DataFrame({"x": [1, np.nan]}), pd.DataFrame({"x": [1, 2.0]})), "column": (pd.DataFrame({"x": [1.0]}), pd.DataFrame({"y": [1.0]})),
    "dict": ({"a": np.ones(2), "b": {"c": np.nan}}, {"a": np.ones(2), "b": {"c": 1.0}}), "key": ({"a": 1}, {"b": 1}), "length": ((1, np.ones(2)), (1, np.ones(2), 2)),
    "interval": (Interval(0.0, np.nan), Interval(0.0, 1.0)), "result": (Held(held=np.ones(3)), Held(held=np.zeros(3))), "kinds": (np.ones(1), 1.0), "table or none": (pd.DataFrame(), None),
    "missing": (pd.NA, 0), "time": (pd.NaT, pd.Timestamp("2020-01-01")),
}


@every_case("one, other", CONTENTS.values(), ids=CONTENTS)
def test_results_are_equal_by_content(one, other):
    first, second = Held(held=one), Held(held=copy.deepcopy(one), drawn=np.arange(3))
    assert first == second and hash(first) == hash(second) and len({first, second}) == 1
    assert first == pickle.loads(pickle.dumps(first))
    assert first != Held(held=other) and Held(held=other) != first and not first == Held(held=other)


def test_equal_fields_of_another_kind_are_another_result():
    class Other(Held): pass

    assert Held(held=1) != Other(held=1) and Held(held=1) != 1
    assert hash(Held(held=1)) == hash(Held(held=1.0)) and Held(held=1) == Held(held=1.0)


def test_a_dictionary_in_a_result_is_one_that_nobody_changes():
    given = {"a": {"b": 1.5}, "c": np.arange(2)}
    result = Held(held=given)
    changes = [lambda d: d.clear(), lambda d: d.pop("a"), lambda d: d.popitem(), lambda d: d.update(a=1), lambda d: d.setdefault("z", 1), lambda d: d.__setitem__("a", 1),
               lambda d: d.__delitem__("a"), lambda d: d.__ior__({"a": 2}), lambda d: d["a"].clear()]
    for change in changes:
        with pytest.raises(TypeError, match="never change"): change(result.held)
    del given["a"]["b"]
    assert result.held["a"] == {"b": 1.5} and repr(result.held["a"]) == "{'b': 1.5}"
    yours = dict(result.held)
    yours["a"] = 2
    assert result.held | {"a": 2} == yours | {} and result.held["a"] == {"b": 1.5}


def through_joblib(result):
    file = io.BytesIO()
    joblib.dump(result, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {"deepcopy": copy.deepcopy, "copy": copy.copy, "replace": dataclasses.replace, "joblib": through_joblib,
          **{f"pickle {k}": lambda result, k=k: pickle.loads(pickle.dumps(result, k)) for k in range(pickle.HIGHEST_PROTOCOL + 1)}}


@every_case("made", COPIES.values(), ids=COPIES)
def test_copies_of_a_result_equal_it_and_never_change(made):
    result = Held(held={"array": np.array([1, np.nan]), "frame": pd.DataFrame({"x": [1.0]}), "inner": (1, {"a": None})})
    again = made(result)
    assert again == result and type(again.held) is type(result.held) and type(again.held["inner"][1]) is type(result.held)
    with pytest.raises(TypeError): again.held["inner"][1]["a"] = 1
    assert joblib.hash(again) == joblib.hash(made(result))


def test_a_result_with_a_dictionary_goes_into_json_and_asdict():
    result = Held(held={"a": {"b": 1.5}, "c": [1, 2]})
    assert json.loads(json.dumps(result.held)) == {"a": {"b": 1.5}, "c": [1, 2]} == dataclasses.asdict(result)["held"]


CONTAINERS = {"array": np.asarray, "series": lambda values: pd.Series(values, copy=False)}


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_results_stay_what_they_are_when_the_callers_arrays_change(make):
    rng = np.random.default_rng(1)
    own = {"E": rng.normal(size=60), "u": rng.uniform(0.5, 2, 60), "x": rng.normal(size=60), "w": rng.uniform(0.5, 1, 60)}
    own |= {"y": (own["x"] > 0) * 1.0, "p": own["u"] / 3, "g": np.array(list("abc") * 20, dtype=object), "low": own["E"] - 1, "up": own["E"] + 1}
    given = {name: make(values) for name, values in own.items()}
    results = [
        validate_errors(given["E"], given["u"], by={"x": given["x"], "g": given["g"]}, statistics=("zms", "ence"), n_boot=50, n_resamples=50, n_mc=20, n_bins=5, rng=1),
        screen(given, y_true="y", score="p", by="g", sample_weight="w", method="asymptotic"), confidence_curve(given["E"], given["u"], n_resamples=50, rng=1),
        calibration_graph(given["y"], given["p"], sample_weight=given["w"]), calibration_report(given["y"], given["p"], sample_weight=given["w"], rng=1),
        binary_calibration_tests(given["y"], given["p"]), reliability_diagram(given["y"], given["p"])]
    kept = copy.deepcopy(results)
    for values in own.values(): values[:] = values[0]
    for values in given.values(): values[:] = values[0]

    def plain(result):
        if dataclasses.is_dataclass(result): return {one.name: plain(getattr(result, one.name)) for one in dataclasses.fields(result)}
        if isinstance(result, pd.DataFrame): return {name: result[name].to_numpy() for name in result}
        if isinstance(result, functools.partial): return plain(result.args)
        if isinstance(result, dict): return {name: plain(one) for name, one in result.items()}
        return [plain(one) for one in result] if isinstance(result, (list, tuple)) else result

    for result, before in zip(results, kept):
        np.testing.assert_equal(plain(result), plain(before))
        assert result == before and hash(result) == hash(before)
        assert result.sentence == before.sentence and result.to_frame().equals(before.to_frame())


def test_a_terminal_shows_a_verdict_as_sentences_and_a_test_as_fields():
    "Mutation: a dataclass that writes its own list of fields over the text."
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = (rng.uniform(size=400) < p**2).astype(float)
    bounds = np.column_stack([p - 0.1, p + 0.1])
    for report in (calibration_report(y, p, rng=1, n_resamples=99, n_boot=99), interval_report(y, bounds, 0.9, rng=1, n_resamples=99)):
        assert repr(report) == str(report) == report.screen() and max(map(len, repr(report).splitlines())) <= 80 and "VERDICT" in repr(report)
    assert repr(kuiper_test(y, p)).startswith("CalibrationTest(statistic=")


@pytest.mark.parametrize(("value", "error", "shown"), [
    (0.2138, 0.0337, "+0.214 ± 0.034"), (-0.00041, 0.00012, "−0.00041 ± 0.00012"), (31.234, 4.2, "+31.2 ± 4.2"), (1500, 120, "+1500 ± 120"), (0.5, 0, "0.500 ± 0.00"), (np.inf, 1.0, "∞ ± 1.00")])
def test_a_number_has_the_digits_that_its_error_allows(value, error, shown):
    assert plus_minus(value, error) == shown
