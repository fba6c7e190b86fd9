"""Calibration along columns, relative to all rows: against a plain twin, at its level, and where it must stay silent."""
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from uqcal._words.probabilities.findings import python_line
from uqcal.probabilities import by_columns
from uqcal.probabilities.by_columns import _column_tests, _finding_along
from uqcal.probabilities.calibration import calibration_report
from uqcal.probabilities.slope import _coefficients_of
from uqcal.probabilities.walk import _walk_of


def made(n=1500, seed=0, off=0.0, slope=1.0, groups="abcd", clusters=None):
    "Outcomes, probabilities and groups; the last group is off."
    rng = np.random.default_rng(seed)
    at = rng.normal(-1, 1, n)
    group = rng.choice(list(groups), n)
    y = rng.random(n) < special.expit(np.where(group == groups[-1], slope * at + off, at))
    return y.astype(float), special.expit(at), group


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_statistics_are_those_of_a_plain_twin(weighted, clustered):
    y, p, group = made(400)
    rng = np.random.default_rng(5)
    w = rng.uniform(0.2, 1, 400) if weighted else np.ones(400)
    cluster = np.repeat(np.arange(80), 5) if clustered else None
    found = _column_tests(y, p, {"g": group}, sample_weight=w, groups=cluster, rng=0)["g"]
    parts_of = found.parts.set_index("first")

    w, at = w / w.max(), special.logit(p)
    line = _coefficients_of(_walk_of(y, p, w, cluster))
    q = special.expit(line["calibration intercept"].estimate + line["calibration slope"].estimate * at)
    info, x = w * q * (1 - q), np.column_stack([np.ones(400), at])
    for name in "abcd":
        inside = (group == name).astype(float)
        for lever, seen in ((inside, None), (inside * (at - np.average(at, weights=info * inside)), parts_of["slope_z"][name])):
            lever = lever - x @ np.linalg.solve(x.T @ (info[:, None] * x), x.T @ (info * lever))
            parts = w * (y - q) * lever
            if clustered: spread = np.sum(np.bincount(cluster, parts)**2)
            else: spread = np.sum((w * lever)**2 * q * (1 - q))
            z = parts.sum() / np.sqrt(spread)
            if clustered: z = np.sign(z) * stats.norm.isf(stats.t.sf(abs(z), np.unique(cluster[group == name]).size - 2))
            if seen is not None: assert abs(z - seen) < 1e-8
        assert abs(parts_of["relative"][name] - (w * y * inside).sum() / (w * q * inside).sum()) < 1e-9
        assert abs(parts_of["ratio"][name] - (w * y * inside).sum() / (w * p * inside).sum()) < 1e-9


def test_a_line_through_all_rows_is_no_difference_between_groups():
    # a maximum over parts of 5 %: 60 sets show a fault more than nine times in one of a thousand suites
    shown = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        at = rng.normal(-1, 1, 800)
        group = np.where(at + rng.normal(size=800) > 0, "high", "low")   # groups with other probabilities
        y = rng.random(800) < special.expit(0.6 * at + 0.4)
        shown += _column_tests(y, special.expit(at), {"g": group}, n_resamples=499, rng=rng)["g"].is_shown
    assert shown <= 9


def test_one_group_that_is_off_is_named():
    y, p, group = made(3000, off=0.9)
    finding = _finding_along(_column_tests(y, p, {"ward": group}, rng=0)["ward"])
    assert finding.status == "invalid" and finding.part.first == "d" and finding.facts["statistic"] == "ratio"
    assert finding.low > 1 and finding.by == "ward" and finding.by_group and finding.name == "by ward"
    assert "in ward d" in finding.line.lower() and "O/E" in finding.line


def test_a_slope_of_one_group_is_named():
    y, p, group = made(4000, slope=0.3, off=-0.45)
    finding = _finding_along(_column_tests(y, p, {"ward": group}, rng=0)["ward"])
    assert finding.facts["statistic"] == "slope" and finding.part.first == "d" and finding.facts["slope"] < 0.6


def test_a_slope_is_never_said_to_be_within_the_tolerance_of_ratios():
    "Mutation: a slope of 0.3 in one of two large groups, whose events are as many as expected."
    rng = np.random.default_rng(1)
    at = rng.normal(0, 1, 40_000)
    ward = rng.choice(["a", "b"], at.size)
    y = rng.random(at.size) < special.expit(np.where(ward == "b", 0.3, 1.0) * at)
    finding = _finding_along(_column_tests(y, special.expit(at), {"ward": ward}, n_resamples=499, rng=0)["ward"])
    assert finding.facts["statistic"] == "slope" and finding.facts["highest"] < 1.25 and finding.facts["lowest"] > 0.8
    assert finding.status == "invalid" and "within the tolerance" not in finding.sentence


def test_a_trend_along_a_column_of_numbers():
    rng = np.random.default_rng(3)
    age, at = rng.uniform(20, 90, 3000), rng.normal(-1, 1, 3000)
    y = rng.random(3000) < special.expit(at + (age - 55) / 70)
    found = _column_tests(y, special.expit(at), {"age": age}, rng=0)["age"]
    assert found.trend > 3 and found.trend_pvalue <= 0.05 and len(found.parts) == 5 and not found.by_group
    assert _finding_along(found).status == "invalid"
    assert _column_tests(1 - y, special.expit(-at), {"age": age}, rng=0)["age"].trend < -3


@pytest.mark.parametrize("seed", range(20))
def test_limits_leave_out_one_where_a_part_is_shown_and_only_there(seed):
    y, p, group = made(700, seed, off=0.35)
    found = _column_tests(y, p, {"g": group}, n_resamples=499, rng=seed)["g"]
    for _, part in found.parts.iterrows():
        assert (part["pvalue"] <= found.level) == (part["low"] > 1 or part["high"] < 1)
        assert part["low"] <= part["relative"] <= part["high"]


def test_names_and_order_of_groups_do_not_matter():
    y, p, group = made(900, off=0.5)
    first = _column_tests(y, p, {"g": group}, rng=0)["g"]
    other = _column_tests(y, p, {"g": np.array([{"a": "z"}.get(one, one) for one in group])}, rng=0)["g"]
    np.testing.assert_allclose(np.sort(first.parts["relative"]), np.sort(other.parts["relative"]))


def test_small_groups_are_drawn_outcome_by_outcome():
    # Three rows with three events where one in fifty is expected: 8 in a million, whatever a normal law would say.
    p = np.full(2000, 0.02)
    y = np.zeros(2000)
    y[:40] = 1
    group = np.array(["many"] * 1997 + ["few"] * 3)
    y[-3:] = 1
    found = _column_tests(y, p, {"g": group}, rng=0)["g"]
    assert found.is_shown and _finding_along(found).part.first == "few"
    y[-3:] = 0
    assert not _column_tests(y, p, {"g": group}, rng=0)["g"].is_shown


def test_many_groups_are_a_hundred_at_most():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 400, 5000).astype(str)
    found = _column_tests(rng.random(5000) < 0.3, np.full(5000, 0.3), {"g": group}, n_resamples=199, rng=0)["g"]
    assert len(found.parts) == 100 and found.parts["count"].sum() == 5000 and found.parts["first"].iloc[-1] == "all others"


@pytest.mark.parametrize("y, p", [(np.zeros(40), np.full(40, 0.2)), (np.ones(40), np.linspace(0.1, 0.9, 40)), (np.tile([0.0, 1], 20), np.full(40, 0.5))])
def test_what_leaves_nothing_to_compare_is_no_fault(y, p):
    found = _column_tests(y, p, {"g": np.repeat(list("ab"), 20)}, rng=0)["g"]
    assert found.pvalue > 0.05 and _finding_along(found).status in ("inconclusive", "valid") and found.sentence.endswith(".")


def test_rows_of_weight_zero_count_for_nothing():
    y, p, group = made(600, off=0.5)
    weight = np.ones(600)
    weight[::3] = 0
    kept = weight > 0
    first = _column_tests(y, p, {"g": group}, sample_weight=weight, rng=0)["g"]
    other = _column_tests(y[kept], p[kept], {"g": group[kept]}, rng=0)["g"]
    first, other = (one.parts.set_index("first").sort_index()[["relative", "slope_z"]] for one in (first, other))
    np.testing.assert_allclose(first, other)


def test_columns_share_the_level():
    y, p, group = made(900, off=0.35)
    alone = _column_tests(y, p, {"g": group}, n_resamples=1999, rng=0)["g"]
    beside = _column_tests(y, p, {"g": group, "x": np.arange(900)}, n_resamples=1999, rng=0)["g"]
    assert beside.pvalue >= 2 * alone.pvalue - 0.02 and beside.critical > alone.critical


@pytest.fixture(scope="module")
def reports():
    "Reports along columns: one group off, none off, one column of numbers."
    few = {"n_resamples": 999, "n_boot": 99, "rng": 0}
    y, p, ward = made(4000, off=-1.0)
    right, same, other = made(4000, seed=1)
    age = np.random.default_rng(2).uniform(20, 90, 4000)
    return {"off": calibration_report(y, p, by={"ward": ward}, **few), "right": calibration_report(right, same, by={"ward": other, "age": age}, **few)}


def test_a_report_asks_along_columns(reports):
    off, right = reports["off"], reports["right"]
    assert off.verdict == "invalid" and off["by ward"].status == "invalid" and off["by ward"].scope == "named"
    assert off.step.why == "by_column" and off.step.arguments["by"] == "ward" and "by=features['ward']" in python_line(off.step)
    assert right["by ward"].status in ("valid", "inconclusive") and right["by age"].pvalue > 0.05
    assert right.verdict != "invalid" and set(right.along) == {"ward", "age"}


def test_screens_with_columns_fit_and_show_each_part(reports):
    for report in reports.values():
        lines = str(report).splitlines()
        assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert any(line.split() == ["ward", "a", "b", "c", "d"] for line in str(reports["off"]).splitlines())
    assert "ward d: O/E" in reports["off"].conclusion


def test_columns_leave_all_rows_seven_tenths_of_the_level(reports):
    y, p, ward = made(4000, off=-1.0)
    alone = calibration_report(y, p, n_resamples=999, n_boot=99, rng=0)
    assert reports["off"].tests.critical < alone.tests.critical
    assert reports["off"]["locally"].pvalue >= alone["locally"].pvalue


def test_columns_are_refused_by_name():
    y, p, group = made(60)
    for wrong, said in (({}, "at least one column"), ({"g": group[:-1]}, "by"), ({"g": np.full(60, "a")}, "'g'")):
        with pytest.raises((ValueError, TypeError), match=said): _column_tests(y, p, wrong)
    with pytest.raises(ValueError, match="n_resamples"): _column_tests(y, p, {"g": group}, n_resamples=0)


def test_pandas_columns_keep_their_rows():
    y, p, group = made(60)
    index = np.arange(60)[::-1]
    with pytest.raises(ValueError, match="same order|same index"):
        _column_tests(pd.Series(y), pd.Series(p, index=index), {"g": group})


def test_parts_of_a_column_hold_equal_values_together():
    values = np.repeat([1.0, 2.0, 3.0, 4.0], [500, 100, 300, 100])
    along = by_columns.Ordering.of(values)
    code, first, last, by_group = by_columns._cut(along)
    assert not by_group and all(np.unique(code[values == one]).size == 1 for one in (1, 2, 3, 4)) and first[0] == 1 and last[-1] == 4


def test_groups_of_probabilities_are_drawn_as_ratios_with_their_limits():
    "Mutation: a picture that looks for a column `estimate`, which parts of probabilities do not have: a notebook shows an error in place of the answer."
    y, prob, group = made(off=-2.0)
    report = calibration_report(y, prob, by={"ward": group}, n_boot=99, n_resamples=199, rng=0)
    assert report["by ward"].status == "invalid" and report._repr_html_()
    assert sorted(one.get_text() for one in report.plot(finding="by ward").get_xticklabels()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wrong", ["a", "b"])
def test_of_two_groups_the_one_that_is_wrong_is_named(seed, wrong):
    rng = np.random.default_rng(seed)
    p = special.expit(1.5 * rng.standard_normal(800))
    group = rng.choice(["a", "b"], 800)
    y = (rng.random(800) < p) | ((group == wrong) & (rng.random(800) < 0.3))
    finding = _finding_along(_column_tests(y, p, {"sex": group}, n_resamples=499, rng=0)["sex"])
    assert finding.part.first == wrong and finding.facts["ratio"] > 1.15


def test_a_difference_within_the_tolerance_is_not_told_by_another_ratio():
    rng = np.random.default_rng(0)
    p = special.expit(1.5 * rng.standard_normal(800))
    group = rng.choice(["a", "b"], 800)
    y = (rng.random(800) < p) | ((group == "b") & (rng.random(800) < 0.3))
    report = calibration_report(y, p, by={"sex": group}, n_resamples=999, n_boot=19, rng=1)
    assert report["by sex"].status == "minor" and report["by sex"].facts["ratio"] > 1.25
    assert "those expected at equal scores, within the tolerance" in report.conclusion and "O/E" not in report.conclusion
