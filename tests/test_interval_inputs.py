"What intervals and label sets may be: infinite on one side or both, integers that could be either, rows in another order, copies, single precision."
import json

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from typer.testing import CliRunner

from uqcal._base.tickets import sealed
from uqcal._command.cli import app
from uqcal.intervals.conformal import ConformalBounds, ConformalIntervals, ConformalSets
from uqcal.intervals.coverage import interval_report
from uqcal.online.interval_streams import AdaptiveConformal, AggregatedAdaptive, OnlineBounds, QuantileTracker
from uqcal.intervals.dependence import hsic, hsic_test
from uqcal.intervals.intervals import (classification_coverage_score, coverage_test,
                                       coverage_width_based, regression_coverage_score,
                                       regression_mean_width_score, regression_mwi_score)
from uqcal.intervals.stratified import (feature_stratified_coverage, regression_ssc,
                                        regression_ssc_score, size_stratified_coverage)
from uqcal.comparison.model_comparison import compare_scores
from uqcal.parts.partitions import _coverage_of_partitions
from uqcal.corrections.scaling import LogLinearScaling
from uqcal.comparison.scores import interval_score

N, FEW = 300, dict(n_resamples=49, rng=0)


def drawn(seed=0, n=N):
    "True values and intervals of several widths that cover nine in ten."
    rng = np.random.default_rng(seed)
    u = np.exp(0.4 * rng.normal(size=n))
    return u * rng.normal(size=n), np.column_stack([-1.645 * u, 1.645 * u]), rng


def opened(bounds, low=(), up=()):
    "Bounds of which some are infinite."
    bounds = bounds.copy()
    bounds[low, 0], bounds[up, 1] = -np.inf, np.inf
    return bounds


# --- infinite and one-sided bounds -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("groups, score", [(["a", "b", "a", "new"], 0.75), (["new", "b", "b", "b"], 1.0), (["a", "a", "a", "b"], 0.75)])
def test_intervals_of_groups_too_small_for_a_threshold_have_a_coverage(groups, score):
    "The package's own intervals are infinite there."
    rng = np.random.default_rng(0)
    fitted = ConformalIntervals(0.9, by="k").fit(np.ones(30), rng.normal(size=30), by={"k": ["a"] * 25 + ["b"] * 5})
    bounds, y = fitted.predict(np.zeros(4), np.ones(4), by={"k": groups}), [0.0, 0.0, 9.0, 0.0]
    assert np.isinf(bounds).any() and regression_coverage_score(y, bounds) == score
    assert coverage_test(y, bounds, 0.9).covered == 4 * score == interval_report(y, bounds, 0.9, **FEW).covered


@every_case("form", [np.asarray, np.ndarray.tolist, pd.DataFrame, lambda one: one.astype("float32"), lambda one: one.astype(object), lambda one: one[:, :, None]])
def test_one_sided_bounds_of_any_container_have_a_coverage(form):
    y = [0.5, 2.5, -3.0, 7.0]
    assert np.ravel(regression_coverage_score(y, form(np.array([[-np.inf, 1.0]] * 4)))) == [0.5]
    assert np.ravel(regression_coverage_score(y, form(np.array([[0.0, np.inf]] * 4)))) == [0.75]
    assert coverage_test(y, form(np.array([[-np.inf, np.inf], [2.5, np.inf], [-np.inf, -3.0], [-np.inf, 6.5]])), [0.9] if np.ndim(form(np.ones((1, 2)))) == 3 else 0.9) is not None


def test_infinite_bounds_count_in_groups_of_width_and_in_hsic_as_ones_that_are_far_away():
    y, bounds, _ = drawn()
    both = opened(bounds, slice(0, None, 5), slice(0, None, 5))
    for k in (2, 3, 7): np.testing.assert_array_equal(regression_ssc(y, both, k), regression_ssc(y, np.clip(both, -1e6, 1e6), k))
    np.testing.assert_allclose(hsic(y, both), hsic(y, np.clip(both, -1e6, 1e6)), rtol=1e-9)
    some = opened(bounds, slice(0, None, 5), slice(0, None, 10))
    assert 0 < hsic_test(y, some, **FEW).pvalue <= 1
    table = size_stratified_coverage(y, some, 0.9).groups
    assert table["size_high"].iloc[-1] == np.inf and table["count"].sum() == N
    size_stratified_coverage(y, some, 0.9).plot()
    for alike in (opened(bounds, slice(None)), np.tile([-np.inf, np.inf], (N, 1))):       # one width: nothing depends on it
        assert hsic(y, alike) == 0 and hsic_test(y, alike, **FEW).pvalue == 1 and len(size_stratified_coverage(y, alike, 0.9).groups) == 1


def test_widths_and_scores_of_infinite_bounds_are_infinite_and_rows_without_weight_do_not_count():
    y, bounds, _ = drawn(n=40)
    some, weight = opened(bounds, [3], [3, 7]), np.ones(40)
    weight[[3, 7]] = 0
    assert regression_mean_width_score(some) == np.inf == regression_mwi_score(y, some, 0.9) and coverage_width_based(y, *some.T, 2.0, 0.9) == -np.inf
    kept = weight > 0
    assert regression_mean_width_score(some, sample_weight=weight) == pytest.approx(regression_mean_width_score(bounds[kept]))
    assert regression_mwi_score(y, some, 0.9, sample_weight=weight) == pytest.approx(regression_mwi_score(y[kept], bounds[kept], 0.9))
    each = interval_score(y, *some.T, 0.9)
    np.testing.assert_array_equal(np.isinf(each), ~kept)
    np.testing.assert_array_equal(each[kept], interval_score(y, *bounds.T, 0.9)[kept])


@pytest.mark.parametrize("low, up", [(slice(0, None, 9), slice(0, None, 9)), (slice(None), []), ([], slice(None)), (slice(None), slice(None)), ([4], [])])
def test_a_report_on_infinite_bounds_says_the_same_of_the_coverage_and_that_the_width_is_not_reported(low, up, tmp_path):
    "Of bounds that are far away the rest of the report, width and score, is something else."
    y, bounds, rng = drawn()
    some = opened(bounds, low, up)
    ours, far = (interval_report(y, one, 0.9, y_pred=rng.normal(size=N), **FEW) for one in (some, np.clip(some, -1e9, 1e9)))
    assert ours["coverage"].sentence == far["coverage"].sentence and ours.covered == far.covered
    number = int(np.isinf(some).any(axis=1).sum())
    assert ours.n_open == number and ours.mean_size == ours.score == np.inf
    assert [one.facts for one in ours.cautions if one.code == "infinite_bounds"] == [{"infinite": number, "n": N}] and f"{number} of {N} intervals ha" in ours.details()[-1]
    page = ours.to_html()
    assert "not reported" in page and "Interval score</dt>" not in page and "nan" not in page.replace("financ", "")
    if 1 < number < N: assert ours.to_frame("parts")["part"].str.endswith("∞").sum() == 1
    if ours.corrections is not None: assert list(ours.corrections["name"])[:2] == ["unchanged", "shift"] and not ours.corrections["name"].isin(["scale", "power"]).any()


def test_crossed_infinite_bounds_are_swapped_and_those_at_the_wrong_end_refused():
    y, bounds, _ = drawn()
    wrong = bounds.copy()
    wrong[5] = [np.inf, -np.inf]
    with pytest.raises(ValueError, match=r"crossed, the first at position 5 .*sort_bounds=True"): interval_report(y, wrong, 0.9)
    assert interval_report(y, wrong, 0.9, sort_bounds=True, **FEW).n_crossed == 1
    for pair, side in (([np.inf, np.inf], "or -inf where there is no lower"), ([-np.inf, -np.inf], "or inf where there is no upper")):
        wrong[5] = pair
        with pytest.raises(ValueError, match=side): coverage_test(y, wrong, 0.9)
    for gap in (None, np.nan, pd.NA):
        with pytest.raises(ValueError, match="not hold missing values.*write -inf or inf where there is no bound"): coverage_test(y[:2], [[gap, 1.0], [0.0, 2.0]], 0.9)


def compared(y, **models):
    return compare_scores(y, {name: tuple(one.T) for name, one in models.items()}, score="interval", level=0.9, n_boot=25, rng=0)


@pytest.mark.parametrize("low, up", [([5], []), ([], [5, 7]), (slice(0, None, 9), slice(0, None, 6))])
def test_rows_in_which_models_have_other_bounds_are_left_out_counted_and_the_rest_compared_as_if_they_were_not_there(low, up):
    y, bounds, _ = drawn()
    some = opened(bounds / 2, low, up)
    kept = np.isfinite(some).all(axis=1)
    found, truth = compared(y, a=bounds, b=some), compared(y[kept], a=bounds[kept], b=some[kept])
    assert found.n == truth.n == kept.sum() and found.bound is None and found.tolerance == truth.tolerance
    pd.testing.assert_frame_equal(found.models, truth.models)
    pd.testing.assert_frame_equal(found.pairs, truth.pairs)
    assert list(found.points.index) == list(np.flatnonzero(kept)) and found.cautions[0].code == "models_left_out"
    assert found.cautions[0].facts == {"count": (~kept).sum(), "n": 300, "infinite": {"b": (~kept).sum()}}
    none = opened(bounds, np.flatnonzero(~kept), np.flatnonzero(~kept))                        # no model has a bound there: nothing to compare
    pd.testing.assert_frame_equal(compared(y, a=none, b=opened(bounds / 2, np.flatnonzero(~kept), np.flatnonzero(~kept))).models, truth.models)
    named = compare_scores(pd.Series(y, index=pd.Index(np.arange(300) + 2, name="line")), {"a": tuple(bounds.T), "b": tuple(some.T)}, score="interval", level=0.9, n_boot=25, rng=0)
    pd.testing.assert_frame_equal(named.models, truth.models)


@pytest.mark.parametrize("rows", [[5], [5, 7, 8], slice(0, None, 3)])
@pytest.mark.parametrize("end", [0, 1])
def test_a_row_with_one_bound_is_scored_as_the_quantile_that_it_claims(rows, end):
    y, bounds, _ = drawn()
    low, up = (rows, []) if end == 0 else ([], rows)
    a, b = opened(bounds, low, up), opened(bounds / 2, low, up)
    found, at = compared(y, a=a, b=b), np.isinf(a).any(axis=1)
    sides = [np.full(at.sum(), np.inf)] * 2
    sides[0] = -sides[0]
    for name, one in (("a", a), ("b", b)):
        beyond = (y - one[:, 1] if end == 0 else one[:, 0] - y)[at]
        np.testing.assert_allclose(found.points[name][at], np.maximum(beyond, 0) / (1 - 0.9) - beyond, rtol=1e-12)
        np.testing.assert_allclose(found.points[name][~at], interval_score(y, *one.T, 0.9)[~at], rtol=1e-12)
    assert found.n == 300 and found.bound == "either" and "bound score" in found.conclusion
    assert [caution.facts["share"] for caution in found.cautions if caution.code == "models_one_bound"] == [90]
    assert found.tolerance > 0 and "mend" not in found.models
    with pytest.raises(ValueError, match="nothing is recalibrated where single bounds alone are scored"): found.plot_gains()


@pytest.mark.parametrize("low, up", [(slice(0, None, 7), []), ([], slice(0, None, 7)), (slice(0, None, 7), slice(0, None, 5))])
def test_intervals_some_of_which_are_infinite_are_corrected_where_they_are_finite(low, up):
    y, bounds, _ = drawn(3)
    some = opened(bounds / 2, low, up)
    report = interval_report(y, some, 0.9, **FEW)
    assert report.verdict == "invalid" and report.correction is not None and (report.step.verb, report.step.why) == ("recalibrate", "score") and "the score of finite bounds from" in report.step.sentence
    made = report.correction.predict(some)
    np.testing.assert_array_equal(np.isinf(made), np.isinf(some))
    np.testing.assert_array_equal(np.isinf(report.held_out), np.isinf(some))
    kept = np.isfinite(some)
    assert (made[:, 0] < some[:, 0])[kept[:, 0]].all() and (made[:, 1] > some[:, 1])[kept[:, 1]].all()
    assert np.isfinite(report.corrections[["width", "score", "gain", "gain_error"]]).all(axis=None)


def test_partitions_count_infinite_bounds():
    dask = pytest.importorskip("dask.dataframe")
    y, bounds, _ = drawn()
    some = opened(bounds, slice(0, None, 4), slice(0, None, 6))
    frame = pd.DataFrame({"value": y, "lower": some[:, 0], "upper": some[:, 1]})
    assert _coverage_of_partitions(dask.from_pandas(frame, npartitions=3), level=0.9).covered == coverage_test(y, some, 0.9).covered


def test_the_command_line_judges_infinite_bounds_and_moves_those_that_are_finite(tmp_path):
    y, bounds, _ = drawn()
    some = opened(bounds / 2, slice(0, None, 7), slice(0, None, 14))
    pd.DataFrame({"y": y, "lo": some[:, 0], "hi": some[:, 1]}).to_csv(tmp_path / "in.csv", index=False)
    said = ["--observed", "y", "--lower", "lo", "--upper", "hi", "--level", "0.9", "--jobs", "1"]
    files = {name: str(tmp_path / name) for name in ("in.csv", "out.json", "page.html", "out.csv", "model.json", "made.csv")}
    done = CliRunner().invoke(app, ["validate", files["in.csv"], *said, "--n-resamples", "49", "--json", files["out.json"], "--report", files["page.html"]])
    assert done.exit_code == 0 and "Mean width" not in done.stdout, done.output
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["infinite"] == 43 and found["mean_size"] is found["interval_score"] is None and found["covered"] == coverage_test(y, some, 0.9).covered
    assert found["corrections"][1]["gain"] > 0 and "score of finite bounds" in " ".join(done.stdout.split())
    assert CliRunner().invoke(app, ["recalibrate", files["in.csv"], *said, "--out", files["out.csv"]]).exit_code == 0
    np.testing.assert_array_equal(np.isinf(pd.read_csv(files["out.csv"])[["recalibrated_lower", "recalibrated_upper"]]), np.isinf(some))
    finite = pd.DataFrame({"y": y, "lo": bounds[:, 0] / 2, "hi": bounds[:, 1] / 2})
    finite.to_csv(tmp_path / "finite.csv", index=False)
    assert CliRunner().invoke(app, ["recalibrate", str(tmp_path / "finite.csv"), *said, "--model", files["model.json"]]).exit_code == 0
    state = json.loads((tmp_path / "model.json").read_text())
    fitted = ConformalBounds(0.9).fit(y, some)                                     # of a length, which infinite bounds have
    (tmp_path / "model.json").write_text(json.dumps({"uqcal": state.pop("uqcal"), **sealed(state | {"model": fitted.to_dict()})}))
    done = CliRunner().invoke(app, ["recalibrate", files["in.csv"], "--apply", files["model.json"], "--out", files["made.csv"]])
    assert done.exit_code == 0 and "get no limits" not in done.stdout, done.output
    made = pd.read_csv(files["made.csv"])[["recalibrated_lower", "recalibrated_upper"]].to_numpy()
    np.testing.assert_array_equal(np.isinf(made), np.isinf(some))


@pytest.mark.parametrize("symmetric", [True, False])
def test_conformal_bounds_move_the_bounds_that_there_are(symmetric):
    "The average over calibrations is what is promised: 40 times 500 new points, 1.5 standard errors of a percent."
    shares = []
    for seed in range(40):
        y, bounds, _ = drawn(seed, 700)
        upper = opened(bounds / 2, slice(None))
        fitted = ConformalBounds(0.9, symmetric=symmetric).fit(y[:200], upper[:200])
        made = fitted.predict(upper[200:])
        assert (made[:, 0] == -np.inf).all() and np.isfinite(made[:, 1]).all()
        shares.append(regression_coverage_score(y[200:], made))
    wanted = 0.9 if symmetric else 0.95                                            # a part for each end, and one has nothing to move
    assert abs(np.mean(shares) - wanted) < 0.012
    nowhere = ConformalBounds(0.9, symmetric=symmetric).fit(y, np.tile([-np.inf, np.inf], (700, 1)))
    np.testing.assert_allclose(nowhere.predict(bounds), bounds, rtol=1e-13)        # nothing is known of them: they stay
    for other in (dict(per_width=True), dict(scaling=LogLinearScaling(), rng=0)):
        with pytest.raises(ValueError, match="without both, each finite bound is moved"): ConformalBounds(**other).fit(y, opened(bounds, [3]))


@pytest.mark.parametrize("tracker", [QuantileTracker, AdaptiveConformal, AggregatedAdaptive])
def test_streams_count_infinite_intervals_as_covered_and_refuse_single_bounds(tracker):
    y, bounds, _ = drawn()
    some = opened(bounds, slice(0, None, 5), slice(0, None, 5))
    online = OnlineBounds(tracker())
    made = online.prequential(y, some)
    assert (np.abs(made[::5]) == np.inf).all() and not np.isnan(made).any()
    assert online.coverage_ == pytest.approx(regression_coverage_score(y, made))
    stated = online.forecast(some[:2], ["a", "b"])
    np.testing.assert_array_equal(stated[0], [-np.inf, np.inf])
    np.testing.assert_array_equal(OnlineBounds.from_dict(json.loads(json.dumps(online.to_dict()))).outcome(["a", "b"], y[:2]), stated)
    for low, up in (([3], []), ([], [3])):
        with pytest.raises(ValueError, match="a single one has no middle.*position 3; ConformalBounds moves single bounds"): OnlineBounds(tracker()).prequential(y, opened(bounds, low, up))


# --- integers that could be bounds or sets -----------------------------------------------------------------------------------------------

TRUTH = np.arange(60) % 2
MARKS = np.tile([0, 1], (60, 1))
MARKS[:20] = 1
MARKS[20:25] = [1, 0]
READS = {
    "coverage_test": lambda y, one: coverage_test(y, one, 0.9), "interval_report": lambda y, one: interval_report(y, one, 0.9, **FEW),
    "sorted": lambda y, one: interval_report(y, one, 0.9, sort_bounds=True, **FEW), "size": lambda y, one: size_stratified_coverage(y, one, 0.9),
    "feature": lambda y, one: feature_stratified_coverage(y, one, TRUTH, 0.9), "score": regression_coverage_score, "ssc": lambda y, one: regression_ssc_score(y, one, 1),
    "winkler": lambda y, one: regression_mwi_score(y, one, 0.9), "hsic": hsic, "hsic_test": lambda y, one: hsic_test(y, one, **FEW),
    "conformal": lambda y, one: ConformalBounds().fit(y, one), "stream": lambda y, one: OnlineBounds().prequential(y, one)}


@every_case("read", READS.values(), ids=READS)
def test_integers_zero_and_one_in_two_columns_beside_outcomes_are_asked_about(read):
    for marks in (MARKS, MARKS.astype("uint8"), MARKS.tolist(), MARKS.astype(object), pd.DataFrame(MARKS), pd.DataFrame(MARKS).astype("Int64")):
        for y in (TRUTH, TRUTH.astype(bool), TRUTH.astype(float), TRUTH.tolist(), pd.Series(TRUTH)):
            with pytest.raises(ValueError, match=r"could be either; np.asarray\(y_intervals, float\) makes them bounds, np.asarray\(y_intervals, bool\) sets"): read(y, marks)


def test_what_is_no_question_is_read_as_what_it_is():
    "Numbers with a point are bounds, booleans are sets, classes name sets; other outcomes or other integers are bounds."
    sets, ordered = MARKS.astype(bool), np.sort(MARKS, axis=1)
    assert coverage_test(TRUTH, sets, 0.9).covered == coverage_test(TRUTH, MARKS, 0.9, classes=[0, 1]).covered == round(60 * classification_coverage_score(TRUTH, MARKS))
    assert coverage_test(TRUTH, ordered.astype(float), 0.9).covered == int(((ordered[:, 0] <= TRUTH) & (TRUTH <= ordered[:, 1])).sum())
    assert coverage_test(np.arange(60) % 3, ordered, 0.9).n == coverage_test(TRUTH, ordered * 2, 0.9).n == coverage_test(TRUTH + 0.5, ordered, 0.9).n == 60
    with pytest.raises(ValueError, match=r"label sets must be booleans, \.astype\(bool\)"): coverage_test(np.arange(60) % 3, np.tile([0, 1, 1], (60, 1)), 0.9)


# --- labels in another order -----------------------------------------------------------------------------------------------------------------

def test_rows_in_another_order_are_refused_wherever_labels_come_in():
    y, bounds, rng = drawn(n=60)
    u, other = bounds[:, 1], pd.Index(rng.permutation(60))
    frame, moved = pd.DataFrame(bounds), pd.DataFrame({"x": rng.normal(size=60), "k": list("ab") * 30}, index=other)
    rows = pd.Series(np.arange(60) // 2)
    by = ConformalIntervals(0.8, by="k").fit(u, y, {"k": list("ab") * 30})
    inner = ConformalBounds(0.8, by="k", scaling=LogLinearScaling(), rng=0)
    fitted = ConformalBounds(0.8, by="k", scaling=LogLinearScaling(), rng=0).fit(y, bounds, {"k": list("ab") * 30})
    for call in (lambda: interval_report(y, frame, 0.9, by=moved), lambda: interval_report(y, bounds, 0.9, y_pred=pd.Series(y), by=moved),
                 lambda: interval_report(y, bounds, 0.9, groups=rows, by=moved), lambda: interval_report(y, bounds, 0.9, by={"a": moved["x"], "b": pd.Series(y)}),
                 lambda: by.predict(pd.Series(y), u, moved), lambda: by.predict(y, pd.Series(u), moved),
                 lambda: inner.fit(pd.Series(y), bounds, moved), lambda: inner.fit(y, frame, moved), lambda: inner.fit(y, bounds, moved, groups=rows), lambda: fitted.predict(frame, moved),
                 lambda: ConformalBounds(0.8).fit(y, frame, groups=pd.Series(np.arange(60) // 2, index=other)),
                 lambda: feature_stratified_coverage(y, frame, moved["x"], 0.9), lambda: feature_stratified_coverage(pd.Series(y), bounds, moved["k"], 0.9),
                 lambda: hsic(pd.Series(y, index=other), frame), lambda: hsic_test(pd.Series(y, index=other), frame), lambda: size_stratified_coverage(pd.Series(y, index=other), frame, 0.9)):
        with pytest.raises(ValueError, match="must be in the same order: their indexes hold the same labels in another one"): call()


# --- copies --------------------------------------------------------------------------------------------------------------------------------------

def report(y, bounds, **options): return interval_report(y, bounds, 0.9, **FEW, **options)
def repeated(found): return [(one.facts["repeated"], one.facts["counted_once"]) for one in found.cautions if one.code == "repeated_intervals"]
def may_repeat(found): return [(one.code, one.facts["different"], one.facts["equal"]) for one in found.cautions]


@pytest.mark.parametrize("values, bounds", [([0.3217], [[-1.123, 1.0]]), ([5.3217], [[-1.123, 1.0]]), ([0.0], [[-np.inf, 1.0]]), ([0.32, -0.7], [[-1.0, 1.0]] * 2),
                                            ([0.123456789012, -0.7123456789], [[-1.0, 1.0], [-2.0, 2.0]])])
def test_copies_of_one_or_two_rows_count_as_one_or_two(values, bounds):
    "Else one row copied 400 times is 400 covered rows, and the verdict is overcoverage."
    k = np.random.default_rng(0).integers(len(values), size=400)
    found = report(np.array(values)[k], np.array(bounds)[k], y_pred=np.arange(400.0) % 7)
    assert found.n_groups == len(values) and found.verdict == "inconclusive"
    assert repeated(found) == [(400 - len(values), True)] and found.step.why == "repeated_intervals"
    assert repeated(report(np.array(values)[k], np.array(bounds)[k], n_calibration=100)) == [(400 - len(values), False)]


@pytest.mark.parametrize("copied", [np.zeros(200, int), np.arange(10).repeat(9), np.random.default_rng(0).integers(200, size=60)])
def test_rows_that_are_there_several_times_among_others_count_once(copied):
    y, bounds, rng = drawn(3, 200)
    k = rng.permutation(np.r_[np.arange(200), copied])
    assert report(y[k], bounds[k]).n_groups == 200 == report(y[k], opened(bounds, slice(None))[k]).n_groups


def test_equal_rows_that_may_be_other_cases_bring_a_caution_and_count():
    "Counts have few values, and where nothing was measured both value and interval are zero."
    rng = np.random.default_rng(0)
    y = rng.poisson(2, 400) * 1.0
    counts = report(y, np.tile([0.0, 4.0], (400, 1)))
    assert counts.n_groups is None and may_repeat(counts) == [("equal_intervals", np.unique(y).size, np.bincount(y.astype(int)).max())]
    y = np.where(rng.random(400) < 0.4, 0.0, np.exp(rng.normal(size=400)))
    dry = report(y, np.column_stack([np.zeros(400), np.where(y == 0, 0, np.exp(1 + rng.normal(size=400)))]))
    assert dry.n_groups is None and may_repeat(dry) == [("equal_intervals", None, int((y == 0).sum()))]
    assert report(rng.normal(size=400).round(1), np.tile([-1.645, 1.645], (400, 1))).cautions == () == report(*drawn()[:2]).cautions


# --- features of few values ---------------------------------------------------------------------------------------------------------------------------

@every_case("by, groups", [([0, 1] * 30, 2), ((0.0, 1.0) * 30, 2), (np.ones(60), 1), ([0, 1, 2] * 20, 3), (("a", "b") * 30, 2), ((True, False) * 30, 2), (pd.Series([0, 1] * 30, dtype="Int64"), 2)])
def test_a_feature_of_few_values_has_as_many_groups(by, groups):
    y, bounds, _ = drawn(n=60)
    assert len(feature_stratified_coverage(y, bounds, by, 0.9).groups) == groups
    if groups > 1: assert interval_report(y, bounds, 0.9, by={"by": by}, **FEW).findings[-1].test.parts.shape[0] == groups
    if not isinstance(by[0], (str, bool)):
        with pytest.raises(ValueError, match=f"num_bins must not exceed the number of distinct values of by, {groups}, got 4"): feature_stratified_coverage(y, bounds, by, 0.9, num_bins=4)


@pytest.mark.parametrize("widths", [[1.0], [1.0, 2.0], [1.0, np.inf]])
def test_intervals_of_few_widths_have_as_many_groups(widths):
    y = np.random.default_rng(0).normal(size=60)
    half = np.resize(widths, 60)
    assert len(size_stratified_coverage(y, np.column_stack([-half, half]), 0.9).groups) == len(widths)


# --- single precision -----------------------------------------------------------------------------------------------------------------------------------

def leaves(rng, n, parts): return rng.multinomial(parts, [0.5, 0.3, 0.2], n) / parts


@pytest.mark.parametrize("parts", [10, 7, 3])
@pytest.mark.parametrize("options", [dict(score="threshold"), dict(score="adaptive"), dict(by_class=True)], ids=str)
def test_thresholds_fitted_in_single_precision_give_the_same_sets_in_double(parts, options):
    "Probabilities in steps, as trees give them. Compared digit by digit, sevenths fitted in float32 and used in float64 cover 69 % where 91 % are covered in float64 alone."
    rng = np.random.default_rng(0)
    p = leaves(rng, 1500, parts)
    label = np.array([rng.choice(3, p=one) for one in p])
    kinds, sets = (np.float64, np.float32, np.float16), []
    for fit in kinds:
        model = ConformalSets(0.9, **options).fit(label[:700], p[:700].astype(fit))
        sets += [model.predict(p[700:].astype(use)) for use in kinds] + [ConformalSets.from_dict(model.to_dict()).predict(p[700:])]
        assert model.inside_.sum() == model.predict(p[:700].astype(fit))[np.arange(700), label[:700]].sum()
    for one in sets[1:]: np.testing.assert_array_equal(one, sets[0])


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_decimals_in_single_precision_have_the_coverages_of_double(digits):
    "A value that equals a bound is inside, whichever of the two is in single precision."
    rng = np.random.default_rng(digits)
    y = rng.normal(20, 1, 800).round(digits)
    low = (y - rng.integers(0, 8, 800) / 10**digits).round(digits)
    up = (y + rng.integers(-1, 8, 800) / 10**digits).round(digits)
    bounds = np.sort(np.column_stack([low, up]), axis=1)
    e, u = (rng.normal(size=800)).round(digits), rng.choice([0.1, 0.3, 0.7], 800)
    for kind in (np.float32, np.float64):
        for other in (np.float32, np.float64):
            assert regression_coverage_score(y.astype(kind), bounds.astype(other)) == regression_coverage_score(y, bounds)
            assert interval_report(y.astype(kind), bounds.astype(other), 0.9, **FEW).covered == coverage_test(y, bounds, 0.9).covered
            moved = ConformalBounds(0.9).fit(y[:400].astype(kind), bounds[:400].astype(kind)).predict(bounds[400:].astype(other))
            np.testing.assert_array_equal(moved, ConformalBounds(0.9).fit(y[:400], bounds[:400]).predict(bounds[400:]))
            around = ConformalIntervals(0.9).fit(u[:400].astype(kind), e[:400].astype(kind)).predict(np.zeros(400), u[400:].astype(other))
            np.testing.assert_array_equal(around, ConformalIntervals(0.9).fit(u[:400], e[:400]).predict(np.zeros(400), u[400:]))


# --- refusals that name the remedy -----------------------------------------------------------------------------------------------------------------------

def test_refusals_of_bounds_name_what_puts_them_right():
    y, bounds, _ = drawn(n=60)
    one, two = bounds[:, :, None], np.dstack([bounds, bounds])
    level = r"take one of them, y_intervals\[:, :, 0\]"
    for said, call in {
        r"np.column_stack\(\[np.full\(n, -np.inf\), upper\]\)": lambda: interval_report(y, bounds[:, 1], 0.9),
        r"of one-sided bounds the other side is infinite": lambda: coverage_test(y, bounds[:, 1:], 0.9),
        r"np.column_stack\(y_intervals\) makes columns of two rows": lambda: coverage_test(y, tuple(bounds.T), 0.9),
        "pass the second": lambda: regression_coverage_score(y, (y, one)),
        "where it holds predictions and then intervals or sets": lambda: coverage_test(np.zeros(60), (np.zeros(60), np.ones((60, 2, 1), bool)), 0.9),
        level: lambda: interval_report(y, two, 0.9), f"{level}$": lambda: ConformalBounds().fit(y, two), f".*{level}": lambda: OnlineBounds().prequential(y, two),
        r"y_intervals\[:, ::-1\] exchanges the columns": lambda: regression_coverage_score(y, bounds[:, ::-1]),
        r"np.sort\(y_intervals, axis=1\) puts each pair in order": lambda: coverage_test(y, np.r_[bounds[:59], bounds[59:, ::-1]], 0.9),
        "exchange y_pred_low and y_pred_up": lambda: interval_score(y, *bounds[:, ::-1].T, 0.9), "make sets of probabilities first, as ConformalSets does": lambda:
            classification_coverage_score(np.zeros(60), np.full((60, 2), 0.5))}.items():
        with pytest.raises((ValueError, TypeError), match=said): call()
    assert regression_coverage_score(y, one)[0] == interval_report(y, one, 0.9, **FEW).covered / 60                # what MAPIE returns for one level
    np.testing.assert_array_equal(OnlineBounds().prequential(y, one), OnlineBounds().prequential(y, bounds))


# --- models whose bounds have one side -------------------------------------------------------------------------------------------------
def one_sided(end, factor, u):
    "Upper or lower bounds of 90 % for normal errors, times a factor."
    far = 1.2816 * factor * u
    return (np.full(u.size, -np.inf), far) if end == "upper" else (-far, np.full(u.size, np.inf))


@pytest.mark.parametrize("end", ["upper", "lower"])
@pytest.mark.parametrize("level", [0.9, 0.8])
def test_models_with_bounds_of_one_side_are_compared_by_the_pinball_loss_of_their_quantile(end, level):
    from sklearn.metrics import mean_pinball_loss
    rng = np.random.default_rng(5)
    u = np.exp(rng.normal(0, 0.5, 600))
    y = u * rng.standard_normal(600)
    models = {"right": one_sided(end, 1, u), "half": one_sided(end, 0.5, u), "equal": one_sided(end, 1, np.full(600, u.mean()))}
    found = compare_scores(y, models, score="interval", level=level, n_boot=199, rng=0)
    tau, column = (level, 1) if end == "upper" else (1 - level, 0)
    for name, pair in models.items():
        assert found.models.at[name, "score"] == pytest.approx(mean_pinball_loss(y, pair[column], alpha=tau) / (1 - level), rel=1e-9)
    assert found.bound == end and found.cautions[0].code == "models_one_bound" and found.cautions[0].facts["scored"] == end and found.cautions[0].facts["share"] == pytest.approx(100 * tau)
    assert level != 0.9 or found.best == "right"
    assert found.tolerance > 0 and f"{end}-bound score" in repr(found)
    with pytest.raises(ValueError, match=f"where {end} bounds alone are scored"): found.plot_gains()


def test_a_bound_that_covers_what_it_states_beats_one_that_covers_more_and_one_that_covers_less():
    rng = np.random.default_rng(6)
    y, ones = rng.standard_normal(4000), np.ones(4000)
    models = {name: (-np.inf * ones, quantile * ones) for name, quantile in (("85 %", 1.036), ("90 %", 1.2816), ("95 %", 1.645))}
    found = compare_scores(y, models, score="interval", level=0.9, n_boot=199, rng=0)
    assert found.best == "90 %" and set(found.pairs[found.pairs["a"] == "90 %"]["verdict"]) <= {"better", "equivalent"}
    both = compare_scores(y, {name: (-up, up) for name, (_, up) in models.items()}, score="interval", level=0.9, n_boot=199, rng=0)
    assert both.bound is None and both.best == "95 %" and both["90 %"].unit == "interval score"


def test_a_narrow_bound_that_no_value_has_passed_yet_is_not_called_better():
    rng, ones = np.random.default_rng(0), np.ones(30)
    y = np.clip(rng.standard_normal(30), -2, 2)
    found = compare_scores(y, {"right": (-np.inf * ones, 3.09 * ones), "narrow": (-np.inf * ones, 2.5 * ones)}, score="interval", level=0.999, n_boot=199, rng=0)
    assert found.best == "narrow" and found.pairs["verdict"][0] == "inconclusive" and found.pairs["reason"][0] == "unseen"


@pytest.mark.parametrize("low, up, said", [
    (slice(2, None), [], r"^predictions\['b'\]: 298 of 300 rows have an infinite bound, .* leave these rows out for all models.* compare the upper bounds alone: give \(np.full\(n, -np.inf\), upper\) for every"),
    ([], slice(1, None), r"^predictions\['b'\]: 299 of 300 rows .* compare the lower bounds alone: give \(lower, np.full\(n, np.inf\)\) for every"),
    (slice(None), [], r"300 of 300 rows .* leave this model out, or compare coverages by coverage_test; or compare the upper bounds alone"),
    (slice(None), [4], r"300 of 300 rows .* compare coverages by coverage_test$")])
def test_bounds_that_some_rows_or_models_lack_are_refused_with_what_to_type(low, up, said):
    y, bounds, _ = drawn()
    some = opened(bounds, low, up)
    with pytest.raises(ValueError, match=said): compare_scores(y, {"a": tuple(bounds.T), "b": tuple(some.T)}, score="interval", level=0.9, n_boot=25, rng=0)
    with pytest.raises(ValueError, match=r"predictions\['a'\].*; predictions\['b'\]"):
        compare_scores(y, {"a": tuple(opened(bounds, slice(0, 9), slice(0, 9)).T), "b": tuple(some.T)}, score="interval", level=0.9, n_boot=25, rng=0)


@pytest.mark.parametrize("end", ["upper", "lower"])
def test_the_command_line_compares_bounds_of_one_side_and_its_advice_for_others_runs(end, tmp_path):
    rng = np.random.default_rng(5)
    u = np.exp(rng.normal(0, 0.5, 300))
    y = u * rng.standard_normal(300)
    models = {"a": one_sided(end, 1, u), "b": one_sided(end, 0.5, u)}
    table = pd.DataFrame({"y": y} | {f"{side} {name}": pair[k] for name, pair in models.items() for k, side in enumerate(("lo", "up"))})
    table.to_csv(tmp_path / "in.csv", index=False)
    table.assign(**{"lo a": -u, "up a": u, "lo b": np.where(np.arange(300) < 298, -np.inf, -u), "up b": u}).to_csv(tmp_path / "some.csv", index=False)
    said = ["--observed", "y", "--level", "0.9", "--model", "a=intervals:lo a,up a", "--model", "b=intervals:lo b,up b", "--n-boot", "99", "--jobs", "1"]
    done = CliRunner().invoke(app, ["compare-models", str(tmp_path / "in.csv"), *said, "--json", str(tmp_path / "out.json"), "--report", str(tmp_path / "page.html")])
    assert done.exit_code == 0 and f"lowest {end}-bound score" in done.stdout, done.output
    found, same = json.loads((tmp_path / "out.json").read_text()), compare_scores(y, models, score="interval", level=0.9, n_boot=99, rng=0)
    assert found["bound"] == end and {one["model"]: one["score"] for one in found["models"]} == pytest.approx(same.models["score"].to_dict(), rel=1e-9)
    wrong = CliRunner().invoke(app, ["compare-models", str(tmp_path / "some.csv"), *said])
    text = str(wrong.exception) + wrong.output
    assert wrong.exit_code != 0 and "model 'b' has an infinite bound in 298 of 300 rows" in text and "--where 'abs(`lo b`) < 1e150'" in text and "the upper bounds alone: give every model a column of -inf" in " ".join(text.split())
    table.assign(**{"lo a": -u, "up a": u, "lo b": np.where(np.arange(300) < 3, -np.inf, -u), "up b": u}).to_csv(tmp_path / "some.csv", index=False)
    done = [CliRunner().invoke(app, ["compare-models", str(tmp_path / "some.csv"), *said, *more]) for more in ([], ["--where", "abs(`lo b`) < 1e150"])]
    assert [one.exit_code for one in done] == [0, 0] and "3 of 300 rows are left out" in " ".join(done[0].stdout.split()) and "rows are left out" not in done[1].stdout
