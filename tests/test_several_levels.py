"""Intervals of several levels: the joint law, the level, what each fault shows, one level as before, and bad input."""
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uqcal
from uqcal.intervals.coverage import interval_report
from uqcal.intervals.several_levels import levels_report

LEVELS = (0.5, 0.8, 0.9, 0.95)


def made(n=800, size=1.0, shift=0.0, seed=0, levels=LEVELS):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(1, 2, n)
    reach = size * std[:, None] * stats.norm.ppf(0.5 + np.array(levels) / 2)
    return mean + std * (rng.normal(size=n) + shift), mean[:, None] - reach, mean[:, None] + reach


def test_right_intervals_are_faulty_as_often_as_stated():
    "60 sets at 5 %: more than 10 in one suite of a thousand. Mutation: p-values of levels taken alone (13 %)."
    shown = sum(any(one.shows_fault for one in levels_report(*made(120, seed=seed), LEVELS, n_resamples=199, rng=seed).findings) for seed in range(60))
    assert shown <= 10


@pytest.mark.parametrize(("size", "shift", "name", "direction"), [
    (0.8, 0, "coverage", "too small"), (1.25, 0, "coverage", "too large"), (1, 0.6, "sides", "above"), (1, -0.6, "sides", "below")])
def test_each_fault_is_shown_under_its_name(size, shift, name, direction):
    report = levels_report(*made(1500, size, shift), LEVELS, rng=1)
    assert report[name].status == "invalid" and report[name].direction == direction and report.step.verb == "correct"


def test_limits_leave_out_the_claim_exactly_where_a_fault_is_shown():
    for seed in range(15):
        report = levels_report(*made(300, 0.9 if seed % 2 else 1.0, seed=seed), LEVELS, n_resamples=499, rng=seed)
        table = report.levels
        inside = (table["low"] <= table["first"]) & (table["first"] <= table["high"])
        assert ((table["pvalue"] <= 0.05) == ~inside).all()
        assert report["coverage"].shows_fault == (table["pvalue"].min() <= 0.05)
        assert (table["pvalue"] >= table["alone"] - 1e-9).all() and report["coverage"].pvalue == table["pvalue"].min()


def test_a_fault_of_one_high_level_alone_is_found_there():
    y, low, high = made(4000)
    low[:, 3], high[:, 3] = low[:, 2] - 1e-9, high[:, 2] + 1e-9   # 95 % claimed, the 90 % interval given
    report = levels_report(y, low, high, LEVELS, rng=1)
    assert report["coverage"].facts["level"] == 0.95 and report["coverage"].facts["off"] == 1


def test_columns_and_clusters_are_asked():
    y, low, high = made(900)
    site = np.where(np.arange(900) % 3, "a", "b")
    y[site == "b"] += 2.5
    report = uqcal.validate(y, uqcal.Intervals(np.stack([low, high], axis=1), level=LEVELS), by=pd.Series(site, name="site"), groups=np.arange(900) // 3, rng=1)
    assert report["by site"].status == "invalid" and report.n_groups == 300 and report["coverage"].facts["levels"] == 4
    again = levels_report(np.repeat(made(100)[0], 9), *(np.repeat(one, 9, axis=0) for one in made(100)[1:]), LEVELS, groups=np.arange(900) // 9, rng=1)
    assert again.levels["worth"].max() < 250


def test_levels_may_come_in_any_order_and_one_is_as_before():
    y, low, high = made(400)
    a = levels_report(y, low, high, LEVELS, rng=1)
    b = levels_report(y, low[:, ::-1], high[:, ::-1], LEVELS[::-1], rng=1)
    pd.testing.assert_frame_equal(a.levels, b.levels)
    one = uqcal.validate(y, uqcal.Intervals(np.stack([low[:, 1:2], high[:, 1:2]], axis=1), level=(0.8,)), rng=1)
    assert str(one) == str(uqcal.validate(y, uqcal.Intervals(low[:, 1], high[:, 1], level=0.8), rng=1))
    assert a.numbers["coverage at 80 %"] == interval_report(y, np.column_stack([low[:, 1], high[:, 1]]), 0.8, rng=1).numbers["coverage"]


def test_the_screen_names_levels_and_fits():
    report = levels_report(*made(500, 0.8), LEVELS, rng=1)
    lines = str(report).split("\n")
    assert len(lines) <= 24 and max(map(len, lines)) <= 80 and lines[0].startswith("intervals of 50, 80, 90 and 95 %, 500 rows")
    assert "claimed %" in str(report) and "VERDICT  Overconfident" in str(report) and "Overconfident" in report.headline
    assert report.plot() is not None and "claimed" in report.to_frame("levels") and "95" in report.to_html()
    many = tuple(np.arange(1, 20) / 20)
    assert "19 levels" in str(levels_report(*made(300, levels=many), many, n_resamples=199, rng=1))


def test_bounds_that_cross_between_levels_get_a_caution():
    y, low, high = made(300)
    low[:9, 2] = low[:9, 1] + 0.01
    report = levels_report(y, low, high, LEVELS, rng=1)
    assert [one.facts["rows"] for one in report.cautions if one.code == "levels_cross"] == [9]


@pytest.mark.parametrize(("arguments", "said"), [
    (dict(levels=(0.5, 0.5, 0.9, 0.95)), "levels"), (dict(levels=(0.5, 0.8, 0.9, 95)), "levels"), (dict(levels=0.9), "levels"), (dict(levels=(0.9,)), "levels"),
    (dict(lower=np.zeros((9, 4))), "lower"), (dict(upper=np.zeros(60)), "upper"), (dict(lower=np.full((60, 4), np.nan)), "missing"),
    (dict(groups=np.arange(7)), "groups"), (dict(tolerance=1), "tolerance"), (dict(confidence=0), "confidence"), (dict(n_resamples=0), "n_resamples")])
def test_bad_input_is_refused_by_name(arguments, said):
    y, low, high = made(60)
    with pytest.raises((ValueError, TypeError), match=said): levels_report(**(dict(y_true=y, lower=low, upper=high, levels=LEVELS, rng=1) | arguments))


def test_what_the_verbs_do_not_take_is_refused_with_what_to_type():
    y, low, high = made(60)
    stated = uqcal.Intervals(np.stack([low, high], axis=1), level=LEVELS)
    with pytest.raises(TypeError, match=r"statement.at\(0.5\)"): uqcal.recalibrate(y, stated)
    with pytest.raises(TypeError, match="n_calibration"): uqcal.validate(y, uqcal.Intervals(np.stack([low, high], axis=1), level=LEVELS, n_calibration=50))
