"""Recalibrating quantiles, members and distributions: exact ranks, no crossing, slow twins, files and back, and no harm where nothing is wrong."""
import bisect
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats

import uqcal
from uqcal import Distribution, MeanStd, Quantiles, Samples
from uqcal._command.cli import main
from uqcal._words.predictive.corrections import CAUTIONS, STEPS, map_text
from uqcal.predictive.forecast_maps import MemberMap, PitMap, ShiftByLevel
from uqcal.predictive.forecast_recalibration import _crps, _read_rows, recalibrate_forecasts
from uqcal.reports import Caution, Step

LEVELS = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95)
X = stats.norm.ppf(LEVELS)
PAGE = Path(__file__).resolve().parent.parent / "nbs" / "predictive"


def drawn(kind, n, seed=1, factor=0.6, shift=-0.5):
    "Outcomes, and forecasts that are too narrow and too low unless said otherwise."
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(0, 2, n), np.exp(rng.normal(0, 0.4, n))
    y, middle, size = mean + std * rng.standard_normal(n), mean + shift * std, factor * std
    if kind == "q": return y, Quantiles(middle[:, None] + size[:, None] * X, LEVELS)
    if kind == "m": return y, Samples(middle[:, None] + size[:, None] * rng.standard_normal((n, 20)))
    return y, Distribution(stats.norm(middle, size))


def skewed(n, rng):
    "Outcomes and quantiles whose rows have shapes of their own."
    table = np.sort(rng.gamma(rng.uniform(0.5, 4, (n, 1)), size=(n, len(LEVELS))), axis=1)
    return rng.gamma(2, size=n) * 1.3, Quantiles(table, LEVELS)


def rows_of(y, statement): return _read_rows(y, statement, None, None, np.random.default_rng(0))


def ranks(n): return [int(np.floor((n + 1) * t + 1e-9)) if t < 0.5 else int(np.ceil((n + 1) * t - 1e-9)) if t > 0.5 else round((n + 1) * t) for t in LEVELS]


# --- slow twins ---------------------------------------------------------------------------------------------------------------------

def score(row, value):
    "Where a row's curve meets a value, point by point."
    k = bisect.bisect_left(row, value)
    a, b = (0, 1) if k == 0 else (len(row) - 2, len(row) - 1) if k == len(row) else (k - 1, k)
    return X[a] + (value - row[a]) / (row[b] - row[a]) * (X[b] - X[a])


def curve(row, at):
    k = bisect.bisect_left(list(X), at)
    a, b = (0, 1) if k == 0 else (len(row) - 2, len(row) - 1) if k == len(row) else (k - 1, k)
    return row[a] + (at - X[a]) / (X[b] - X[a]) * (row[b] - row[a])


def test_conformal_pit_is_that_of_plain_loops():
    rng = np.random.default_rng(3)
    (y, q), (_, new) = skewed(41, rng), skewed(7, rng)
    scores = sorted(score(list(row), value) for row, value in zip(q.values, y))
    slow = [[curve(list(row), scores[r - 1]) for r in ranks(41)] for row in new.values]
    model = PitMap().fit_of(rows_of(y, q))
    np.testing.assert_allclose(model.apply(new).values, np.maximum(slow, 0), rtol=1e-10)


def test_shift_by_level_is_that_of_plain_loops():
    rng = np.random.default_rng(4)
    (y, q), (_, new) = skewed(41, rng), skewed(7, rng)
    shift = [sorted((value - row[k]) / (row[-1] - row[0]) for row, value in zip(q.values, y))[r - 1] for k, r in enumerate(ranks(41))]
    slow = [[row[k] + shift[k] * (row[-1] - row[0]) for k in range(9)] for row in new.values]
    for row in slow:
        for k in range(5, 9): row[k] = max(row[k], row[k - 1])
        for k in range(3, -1, -1): row[k] = min(row[k], row[k + 1])
    made = ShiftByLevel().fit_of(rows_of(y, q)).apply(new).values
    np.testing.assert_allclose(made, np.maximum(slow, 0), rtol=1e-10)


def test_members_are_moved_to_the_least_crps():
    y, members = drawn("m", 300)
    rows, x = rows_of(y, members), members.values
    model = MemberMap().fit_of(rows)

    def score(parameters):
        moved = x.mean(axis=1, keepdims=True) + parameters[0] * x.std(axis=1, ddof=1, keepdims=True) + parameters[1] * (x - x.mean(axis=1, keepdims=True))
        return _crps(rows, moved).mean()

    best = optimize.minimize(score, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    assert score([model.coef_[0], model.factor_]) - best.fun < 2e-4 * best.fun
    assert abs(model.factor_ - best.x[1]) < 0.05 and abs(model.coef_[0] - best.x[0]) < 0.05


def test_few_calibrated_members_are_left_as_wide_as_they_are():
    "The fair score would widen five members by more than a half."
    rng = np.random.default_rng(3)
    middle = rng.normal(0, 3, 20_000)
    members = middle[:, None] + rng.standard_normal((20_000, 5))
    model = MemberMap().fit_of(rows_of(middle + rng.standard_normal(20_000), Samples(members)))
    assert abs(model.factor_ - 1) < 0.03  # three standard errors


def test_the_crps_is_that_of_all_pairs():
    y, members = drawn("m", 12)
    x = members.values
    slow = np.abs(x - y[:, None]).mean(axis=1) - np.abs(x[:, :, None] - x[:, None, :]).sum(axis=(1, 2)) / (2 * 20 * 20)
    np.testing.assert_allclose(_crps(rows_of(y, members), x), slow, rtol=1e-12)


# --- what is promised ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", [PitMap, ShiftByLevel])
def test_each_level_keeps_its_rank_exactly(kind):
    "Of 31 rows, each left out in turn, exactly as many as the rank lie at or below the recalibrated quantile."
    rng = np.random.default_rng(5)
    table = np.sort(rng.normal(rng.normal(0, 3, (31, 1)), 1, (31, 9)), axis=1)
    y, q = rng.normal(-1, 4, 31), Quantiles(table, LEVELS)
    count = np.zeros(9, int)
    for k in range(31):
        rest = np.arange(31) != k
        made = kind().fit_of(rows_of(y[rest], q.take(rest))).apply(q.take([k])).values
        count += y[k] <= made[0]
    if kind is PitMap: assert count.tolist() == ranks(30)
    else: assert (count[:4] <= ranks(30)[:4]).all() and (count[5:] >= ranks(30)[5:]).all()  # outward where they crossed


@given(arrays(float, (14, 5), elements=some.integers(-4, 4).map(float)), arrays(float, 14, elements=some.integers(-5, 5).map(float)), some.sampled_from(["conformal PIT", "location and spread", None]))
@settings(max_examples=60, deadline=None)
def test_nothing_crosses_whatever_comes(table, y, method):
    q = Quantiles(np.sort(table, axis=1), (0.1, 0.25, 0.5, 0.75, 0.9))
    model = (ShiftByLevel() if method is None else PitMap(method)).fit_of(rows_of(y, q))
    made = model.apply(q).values
    assert np.isfinite(made).all() and (np.diff(made, axis=1) >= 0).all()


def test_rates_are_those_of_the_specification():
    "Stored: 2,000 sets to a line, narrow × 0.6 and shifted."
    rates = pd.read_csv(PAGE / "119_forecast_recalibration_rates.csv").assign(within=lambda one: one["0.95"] - one["0.05"])
    mean = rates.groupby(["n", "method"])[["within", "crps"]].mean()
    error = rates.groupby(["n", "method"])[["within", "crps"]].std() / np.sqrt(50)
    stated = mean.loc[(30, "as predicted"), "crps"]
    for n, within in ((30, 29 / 31), (300, 271 / 301)):
        for method in ("conformal PIT", "shift by level"): assert abs(mean.loc[(n, method), "within"] - within) < 4 * error.loc[(n, method), "within"]
        assert abs(mean.loc[(n, "as predicted"), "within"] - 0.62) < 0.015
    known = {(30, "conformal PIT"): 0.661 / 0.767, (300, "conformal PIT"): 0.640 / 0.767, (30, "location and spread"): 0.651 / 0.767, (300, "location and spread"): 0.639 / 0.767}
    for case, ratio in known.items(): assert abs(mean.loc[case, "crps"] / stated - ratio) < 0.03


def test_right_forecasts_come_to_no_harm():
    "Stored: 500 sets to a line. At most one in twenty is changed, within three standard errors; new rows lose little."
    harm = pd.read_csv(PAGE / "119_forecast_recalibration_harm.csv")
    right = harm[harm["factor"] == 1].groupby(["kind", "n"]).agg(changed=("changed", "sum"), blocks=("block", "size"), mean=("mean", "mean"))
    assert (right["changed"] / (50 * right["blocks"]) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / (50 * right["blocks"]))).all()
    assert (right["mean"].xs(30, level="n") < 0.004).all() and (right["mean"].xs(300, level="n") < 0.0005).all()
    faulty = harm[harm["factor"] == 0.6]
    assert (faulty["changed"] == 50).all() and (faulty["mean"] < -0.1).all()


# --- what comes out -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", "qmd")
def test_the_same_kind_comes_back_from_a_file(kind, tmp_path):
    y, statement = drawn(kind, 200)
    made = uqcal.recalibrate(y, statement, rng=1)
    assert made.outcome == "recalibrated" and type(made.statement) is type(statement) is type(made.apply(statement))
    assert made.gain.low > 0 and made.found.faults == (("bias", "spread"), ()) and made.n_calibration == 200
    made.save(tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["kind"] == type(statement).__name__
    back = uqcal.load(tmp_path / "model.json").apply(statement)
    if kind == "d":
        np.testing.assert_array_equal(back.cdf(y), made.apply(statement).cdf(y))
        np.testing.assert_allclose(back.cdf(np.asarray(back.dist.ppf(0.3))), 0.3, rtol=1e-6)
        np.testing.assert_array_equal(made.statement.take([5, 2]).cdf(y[[5, 2]]), made.statement.cdf(y)[[5, 2]])
        assert len(back.interval(0.8)) == 200
    else: np.testing.assert_array_equal(back.values, made.apply(statement).values)
    assert uqcal.recalibrate(y, made.statement, rng=1).outcome == "unchanged"
    with pytest.raises(TypeError, match=type(statement).__name__): made.apply(MeanStd(0, np.ones(3)))


def test_each_row_is_corrected_by_other_rows_only():
    y, q = drawn("q", 120)
    one = uqcal.recalibrate(y, q, rng=1)
    y[7] += 1000
    other = uqcal.recalibrate(y, q, rng=1)
    np.testing.assert_array_equal(one.statement.values[7], other.statement.values[7])


@pytest.mark.parametrize("kind", "qmd")
def test_right_forecasts_stay_as_they_are(kind):
    y, statement = drawn(kind, 300, factor=1, shift=0)
    made = uqcal.recalibrate(y, statement, rng=1)
    assert made.outcome == "unchanged" and made.apply(statement) is statement
    if kind != "d": np.testing.assert_array_equal(made.statement.values, statement.values)


@pytest.mark.parametrize("kind", "qm")
def test_members_and_columns_keep_their_names_and_order(kind):
    y, statement = drawn(kind, 100)
    frame = pd.DataFrame(statement.values, columns=[f"q{100 * one:02.0f}" for one in LEVELS] if kind == "q" else [f"m{k}" for k in range(20)], index=range(50, 150))
    made = uqcal.recalibrate(pd.Series(y, index=frame.index), Quantiles(frame) if kind == "q" else Samples(frame), rng=1)
    assert made.statement.columns["values"] == list(frame)
    np.testing.assert_array_equal(made.statement.values.argsort(axis=1), statement.values.argsort(axis=1))


@pytest.mark.parametrize("kind", "qmd")
def test_groups_are_drawn_towards_the_common_map_and_new_ones_keep_it(kind):
    y, statement = drawn(kind, 400, factor=1, shift=0)
    where = np.repeat(["north", "south"], 200)
    middle = np.median(statement.values, axis=1) if kind != "d" else statement.dist.mean()
    y = np.where(where == "north", middle + 2 * (y - middle), middle + 0.6 * (y - middle))
    made = uqcal.recalibrate(y, statement, by=pd.Series(where, name="region"), rng=1)
    assert made.by == ("region",) and "2 groups" in made.conclusion
    new = statement.take([0, 0 + 1]) if kind != "d" else statement
    n = len(new)
    wide, tight, common = ([made.apply(new, by=np.repeat(one, n)) for one in ("north", "south", "east")])
    widths = [one.interval(0.8).width.mean() for one in (wide, common, tight)]
    assert widths[0] > widths[1] > widths[2]
    assert "forecast_unseen" in [one.code for one in made.cautions]
    with pytest.raises(ValueError, match="by must hold 'region'"): made.apply(new)


def test_rain_stays_at_or_above_zero():
    rng = np.random.default_rng(6)
    q = Quantiles(np.maximum(rng.normal(0, 0.3, (300, 1)) + 0.3 * X - 0.4, 0), LEVELS)
    made = uqcal.recalibrate(np.maximum(rng.normal(-0.5, 2, 300), 0), q, rng=1)
    assert made.outcome == "recalibrated" and made.statement.values.min() == 0 == made.apply(q).values.min()
    below = Quantiles(q.values - 5, LEVELS)
    assert made.apply(below).values.min() < 0  # what was below the bound is not clipped


def test_right_rain_is_left_alone():
    "Two thirds of the outcomes are 0, as are most quantiles: ties are no fault."
    rng = np.random.default_rng(7)
    middle = rng.normal(-0.7, 0.5, 600)
    y = np.maximum(middle + rng.standard_normal(600), 0)
    q = Quantiles(np.maximum(middle[:, None] + X, 0), LEVELS)
    assert np.mean(y == 0) > 0.6 and uqcal.recalibrate(y, q, rng=1).outcome == "unchanged"


def test_levels_that_too_few_rows_reach_are_named():
    y, _ = drawn("q", 40)
    q = Quantiles(0.3 * y[::-1, None] + 0.3 * stats.norm.ppf([0.01, 0.5, 0.99]), (0.01, 0.5, 0.99))
    made = uqcal.recalibrate(y + 3, q, rng=1)
    assert made.outcome == "recalibrated"
    if made.model.method == "conformal PIT": assert "would need 99 rows" in str(made)
    model = PitMap().fit_of(rows_of(y, q))
    assert model.short_ == [0.01, 0.99] and (np.diff(model.h_) >= 0).all()


def test_one_quantile_is_shifted():
    y, q = drawn("q", 200)
    made = uqcal.recalibrate(y, Quantiles(q.values[:, [7]], (0.9,)), rng=1)
    assert made.found.chosen == "shift by level" and abs(np.mean(y <= made.statement.values[:, 0]) - 0.9) < 0.03


def test_correlated_rows_have_stretches_for_folds():
    rng = np.random.default_rng(8)
    noise = np.zeros(400)
    for k in range(1, 400): noise[k] = 0.8 * noise[k - 1] + 0.6 * rng.standard_normal()
    made = uqcal.recalibrate(noise + 1.0, Quantiles(np.tile(0.6 * X, (400, 1)), LEVELS), rng=1)
    assert "forecast_stretches" in [one.code for one in made.cautions] and made.outcome == "recalibrated"


def test_clusters_count_once():
    y, q = drawn("q", 60)
    again = np.repeat(np.arange(60), 5)
    made = uqcal.recalibrate(y[again], q.take(again), groups=again, rng=1)
    assert made.n_calibration == 60 and "60 clusters" in made.title
    with pytest.raises(ValueError, match="ten clusters"): uqcal.recalibrate(y, q, groups=np.arange(60) % 7)


@pytest.mark.parametrize("kind", "qmd")
def test_what_was_a_fault_is_none_on_validation(kind):
    y, statement = drawn(kind, 300)
    made = uqcal.recalibrate(y, statement, rng=1)
    names = ("bias", "spread")
    assert [uqcal.validate(y, statement, rng=1)[name].status for name in names] == ["invalid", "invalid"]
    after = uqcal.validate(y, made.statement, rng=1)
    assert not [name for name in names if after[name].shows_fault]


def test_refusals_say_what_to_type():
    y, q = drawn("q", 100)
    with pytest.raises(ValueError, match="ten rows"): uqcal.recalibrate(y[:9], q.take(range(9)))
    with pytest.raises(ValueError, match="at most a hundred of them, got 101"): uqcal.recalibrate(np.tile(y, 2), q.take(np.tile(range(100), 2)), by=np.arange(200.0) % 101)
    with pytest.raises(ValueError, match="one column of groups"): uqcal.recalibrate(y, q, by={"a": y, "b": y})
    with pytest.raises(TypeError, match="Quantiles, Samples or Distribution"): recalibrate_forecasts(y, MeanStd(y, 1.0))
    with pytest.raises(ValueError, match="levels of the fit"): ShiftByLevel().fit_of(rows_of(y, q)).apply(Quantiles(q.values[:, :3], LEVELS[:3]))


# --- files and words ----------------------------------------------------------------------------------------------------------------

def run(capsys, *args):
    try: main([str(one) for one in args])
    except SystemExit as end: code = end.code
    else: code = 0
    return code or 0, *capsys.readouterr()


@pytest.mark.parametrize(("kind", "option", "star"), [("q", "--quantiles", "q*"), ("m", "--samples", "m*")])
def test_a_file_is_recalibrated_and_its_model_applied(kind, option, star, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, statement = drawn(kind, 200)
    names = [f"q{round(100 * one):02d}" for one in LEVELS] if kind == "q" else [f"m{k}" for k in range(20)]
    frame = pd.DataFrame(statement.values, columns=names).assign(load=y)
    frame.to_csv("load.csv", index=False)
    code, out, err = run(capsys, "recalibrate", "load.csv", "--observed", "load", option, star, "--out", "made.csv", "--model", "model.json")
    assert (code, err) == (0, "") and "--apply model.json" in out and f"{option} '{star}'" in out
    made = pd.read_csv("made.csv")
    assert list(made)[:len(names) + 1] == [*names, "load"] and list(made)[len(names) + 1:] == [f"recalibrated_{name}" for name in names]
    code, out, err = run(capsys, "recalibrate", "load.csv", option, star, "--apply", "model.json", "--out", "new.csv")
    assert (code, err) == (0, "") and f"uqcal validate new.csv --observed load {option} 'recalibrated_{star}'" in " ".join(out.replace("\\", "").split())
    new = pd.read_csv("new.csv")
    expected = uqcal.recalibrate(y, statement, rng=0).apply(statement).values
    np.testing.assert_allclose(new.filter(like="recalibrated_").to_numpy(), expected, rtol=1e-9)
    assert json.loads(Path("model.json").read_text())["format"] == "uqcal model 1"
    code, out, _ = run(capsys, "validate", "new.csv", "--observed", "load", option, f"recalibrated_{star}")
    assert code == 0 and "VERDICT" in out and "✗" not in out
    code, _, err = run(capsys, "recalibrate", "load.csv", "--observed", "load", option, star, "--level", "0.9")
    assert code == 2 and "leave out --level" in err
    code, out, _ = run(capsys, "conformalize", "load.csv", "--observed", "load", option, star, "--level", "0.8" if kind == "m" else "0.9")
    assert code == 0 and ("quantile regression (CQR)" if kind == "q" else "central intervals of the members") in " ".join(out.split())


def test_conformalized_quantiles_are_called_by_their_name():
    y, q = drawn("q", 100)
    made = uqcal.conformalize(y, q, level=0.9, rng=1)
    assert made.conclusion.startswith("Conformalized quantile regression (CQR): bounds moved")
    assert abs(np.mean((made.statement.lower <= y) & (y <= made.statement.upper)) - 0.9) < 0.05


NEVER = ("mend", "as stated", "settle", "timid", "extreme", "errs", "undecided", "told", "taught", "learnt", "alike")


def plain(text):
    assert not [word for word in NEVER if re.search(rf"\b{word}", text)], text
    for sentence in re.split(r"(?<=[.:;?]) ", text): assert len(sentence.split()) <= 28, sentence
    assert "None" not in text and "nan" not in text


@pytest.mark.parametrize("kind", "qmd")
@pytest.mark.parametrize("factor", [0.6, 1.0])
def test_screens_fit_and_are_plain(kind, factor):
    y, statement = drawn(kind, 200, factor=factor, shift=factor - 1)
    made = uqcal.recalibrate(y, statement, rng=1)
    lines = str(made).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    for text in (made.conclusion, made.step.sentence, *made.details()): plain(text)
    assert len(made.headline.split()) <= 12 and (kind != "q" or "<img" in made.to_html())
    assert json.loads(made.to_json())["outcome"] == made.outcome


GROUPS = {"count": 2, "most": "C", "shift": 0.1, "factor": 1.4}


@pytest.mark.parametrize("effect", [
    {"kind": "conformal PIT", "shift": 0.52, "factor": 1.68, "groups": None}, {"kind": "location and spread", "shift": -0.5, "factor": 0.8, "groups": GROUPS},
    {"kind": "members, location and spread", "shift": 0.0, "factor": 1.2, "groups": None}, {"kind": "members, line in the mean", "shift": 0.1, "slope": 0.9, "factor": 1.2, "groups": GROUPS},
    {"kind": "shift by level", "low": -0.1, "high": 0.2, "groups": None}])
def test_each_map_says_what_it_does(effect): plain(map_text(effect))


@pytest.mark.parametrize("code", CAUTIONS)
def test_each_caution_has_its_sentence(code): plain(Caution(code=code, facts={"levels": (0.01, 0.02, 0.03, 0.98, 0.99), "needed": 99}).sentence)


@pytest.mark.parametrize("key", STEPS)
def test_each_step_has_its_sentence(key): plain(Step(verb=key[0], why=key[1], facts={"is_left": True}).sentence)


def test_a_tolerance_is_refused_where_nothing_uses_it():
    y = np.random.default_rng(0).standard_normal(40)
    table = uqcal.Quantiles(np.tile([-1.28, 0.0, 1.28], (40, 1)), [0.1, 0.5, 0.9])
    with pytest.raises(TypeError, match="tolerance is not used for Quantiles"): uqcal.recalibrate(y, table, tolerance=1.5)
    assert "tolerance" not in uqcal.recalibrate(y, table, rng=1).settings
