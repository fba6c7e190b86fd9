"""Scores and comparison of predictive distributions: reference numbers, slow twins, scoringrules, properties, refusals, and one screen."""
import json
from fractions import Fraction

import numpy as np
import pandas as pd
from every_case import every_case
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats
from typer.testing import CliRunner

import notebooks
import uqcal
from uqcal import Distribution, Intervals, MeanStd, Quantiles, Samples
from uqcal._command.cli import app
from uqcal.comparison.mean_differences import _time_differences, _time_spread
from uqcal.comparison.scores import crps, interval_score
from uqcal.predictive.forecast_comparison import _ForecastScoring, compare_forecasts
from uqcal.predictive.forecast_validation import forecast_report
from uqcal.predictive.predictive_scores import crps_of_quantiles, crps_of_samples, level_weights, pinball_loss, weighted_interval_score
from uqcal.statements import crps_of_distribution

REFERENCE = notebooks.ROOT.parent / "shared" / "reference" / "distributions"
LOAD = notebooks.ROOT.parent / "shared" / "tasks"
LEVELS = [0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95]


def exactly(found, expected): np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-12, atol=1e-13)


def reference(name):
    if not REFERENCE.exists(): pytest.skip("the reference numbers are not here")
    read = json.loads((REFERENCE / f"{name}.json").read_text())
    return read["inputs"], read["values"]


def table(n=300, seed=1, factor=1.0, levels=LEVELS):
    rng = np.random.default_rng(seed)
    centre, y = rng.normal(0, 3, n), rng.standard_normal(n)
    return centre + y, centre[:, None] + factor * stats.norm.ppf(levels)


# --- reference numbers, twins, peers -----------------------------------------------------------------------------------------------------

def test_ensembles_have_the_reference_scores():
    given_, known = reference("ensemble")
    made = Samples(given_["members"])
    exactly(crps_of_samples(given_["y"], given_["members"]), known["crps_plain"])
    exactly(crps_of_samples(given_["y"], given_["members"], fair=True), known["crps_fair"])
    exactly(made.crps(given_["y"]), known["crps_plain"])
    exactly(made.crps(given_["y"], fair=True).mean(), known["mean_crps_fair"])
    exactly(made.pit(given_["y"]), known["pit_middle"])


def test_quantiles_have_the_reference_scores():
    given_, known = reference("quantiles")
    asked = given_["y"], given_["quantiles"], given_["levels"]
    exactly(level_weights(asked[2]), known["level_weights"])
    exactly(pinball_loss(*asked).mean(axis=0), known["pinball_mean_by_level"])
    exactly(crps_of_quantiles(*asked), known["crps_range_weights"])
    exactly(crps_of_quantiles(*asked, weights="equal"), known["crps_equal_weights"])
    for name, values in weighted_interval_score(*asked)._asdict().items(): exactly(values, known["wis" if name == "score" else f"wis_{name}"])
    made = Quantiles(asked[1], asked[2])
    exactly(made.crps(asked[0]), known["crps_range_weights"])
    exactly(made.pit(asked[0]), known["pit_linear"])
    outer = np.array(asked[1])[:, [0, -1]]
    exactly(interval_score(asked[0], outer[:, :1], outer[:, 1:], [asked[2][-1] - asked[2][0]])[:, 0], known["interval_score_outermost"])


def test_distributions_have_the_reference_scores():
    given_, known = reference("normal")
    y, mean, sd = (np.array(given_[name]) for name in ("y", "mean", "sd"))
    for made in (MeanStd(mean, sd), Distribution(stats.norm(mean, sd))):
        exactly(made.crps(y), known["crps"])
        exactly(made.pit(y), known["pit"])
    exactly(crps_of_distribution(y, stats.norm(mean, sd)), known["crps"])


@pytest.mark.slow
def test_scores_agree_with_scoringrules():
    peer = pytest.importorskip("scoringrules", reason="scoringrules is not installed")
    rng = np.random.default_rng(0)
    for m in (2, 20):
        y, members = rng.normal(0, 2, 200), rng.gamma(2, 1, (200, m))
        for kind, fair in (("nrg", False), ("pwm", True), ("fair", True)):
            np.testing.assert_allclose(crps_of_samples(y, members, fair=fair), peer.crps_ensemble(y, members, estimator=kind, backend="numpy"), rtol=1e-12, atol=1e-12)
    y, values = table()
    np.testing.assert_allclose(crps_of_quantiles(y, values, LEVELS, weights="equal"), peer.crps_quantile(y, values, np.array(LEVELS), backend="numpy"), rtol=1e-12)
    np.testing.assert_allclose(pinball_loss(y, values, LEVELS), peer.quantile_score(y[:, None], values, np.array(LEVELS), backend="numpy"), rtol=1e-12)


def test_members_are_scored_as_exact_fractions():
    rng = np.random.default_rng(3)
    for m in (1, 2, 5):
        y, members = int(rng.integers(-9, 9)), rng.integers(-9, 9, m).tolist()
        apart = sum(abs(a - b) for a in members for b in members)
        near = Fraction(sum(abs(a - y) for a in members), m)
        exactly(crps_of_samples([y], [members])[0], float(near - Fraction(apart, 2 * m * m)))
        if m > 1: exactly(crps_of_samples([y], [members], fair=True)[0], float(near - Fraction(apart, 2 * m * (m - 1))))


def test_rows_are_scored_the_same_part_by_part(monkeypatch):
    from uqcal.predictive import predictive_scores
    y, values = table()
    whole = crps_of_quantiles(y, values, LEVELS), crps_of_samples(y, values)
    monkeypatch.setattr(predictive_scores, "_MANY", 40)
    np.testing.assert_allclose(crps_of_quantiles(y, values, LEVELS), whole[0], rtol=1e-13)
    with pytest.raises(ValueError, match="cross"): crps_of_quantiles(y, values[:, ::-1], LEVELS)
    monkeypatch.undo()
    monkeypatch.setattr(predictive_scores, "_CELLS", 40)
    np.testing.assert_allclose(crps_of_quantiles(y, values, LEVELS), whole[0], rtol=1e-14)
    np.testing.assert_allclose(crps_of_samples(y, values), whole[1], rtol=1e-12)


@pytest.mark.parametrize("made", [stats.t(3, np.zeros(4), 2.0), stats.gamma(np.full(4, 0.6)), stats.uniform(np.zeros(4), 1), stats.expon(np.zeros(4), 3), stats.cauchy(np.zeros(4), 0.01)],
                         ids=["t3", "gamma", "uniform", "exponential", "cauchy"])
def test_any_cdf_is_integrated(made):
    y = np.r_[-30.0, 0.3, 1.0, 30.0]
    found, one = crps_of_distribution(y, made), lambda x: made.cdf(x)[0]
    for k in range(4):
        sides = [integrate.quad(f, *ends, epsabs=1e-13, epsrel=1e-12, limit=500, points=points)[0] for f, ends, points in (
            (lambda x: one(x)**2, (-np.inf, y[k]), None), (lambda x: (1 - one(x))**2, (y[k], np.inf), None))]
        np.testing.assert_allclose(found[k], sum(sides), rtol=2e-6, atol=1e-8)  # as far as quad goes to infinity


def test_jumps_and_whole_numbers():
    class Rain:
        def cdf(self, x): return np.where(x < 0, 0.0, 0.6 + 0.4 * stats.expon.cdf(np.maximum(x, 0))) + np.zeros(3)
    y = np.array([0.0, 1.0, -2.0])
    zero = (1 - 0.6) ** 2 / 2  # the square of 0.4 exp(−x), from 0 on
    assert crps_of_distribution(y, Rain())[0] == pytest.approx(zero, rel=1e-9) and crps_of_distribution(y, Rain())[2] == pytest.approx(2 + zero, rel=1e-9)
    k = np.arange(200)
    for mean in (0.3, 5.0, 40.0):
        slow = ((stats.poisson.cdf(k, mean) - (k >= 3))**2).sum()
        exactly(crps_of_distribution([3.0, 3.0], stats.poisson([mean, mean])), [slow, slow])


# --- what holds for all forecasts ----------------------------------------------------------------------------------------------------

NUMBERS = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@settings(max_examples=60, deadline=None)
@given(arrays(float, (3, 5), elements=NUMBERS), arrays(float, 3, elements=NUMBERS), st.floats(0.01, 100), st.floats(-1e3, 1e3))
def test_scores_move_with_the_values(values, y, factor, shift):
    close = dict(rtol=1e-7, atol=1e-7 * (1 + np.abs(values).max() + np.abs(y).max()) * max(factor, 1))
    table_ = np.sort(values, axis=1)
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    for score in (crps_of_samples, lambda y, x: crps_of_samples(y, x, fair=True), lambda y, x: crps_of_quantiles(y, np.sort(x, axis=1), levels)):
        np.testing.assert_allclose(score(factor * y + shift, factor * values + shift), factor * score(y, values), **close)
    assert (crps_of_samples(y, values) >= -close["atol"]).all()
    np.testing.assert_allclose(crps_of_samples(y, values), crps_of_samples(y, values[:, ::-1]), **close)
    parts = weighted_interval_score(y, table_, levels)
    assert min(part.min() for part in parts[1:]) >= 0
    np.testing.assert_allclose(parts.score, crps_of_quantiles(y, table_, levels, weights="equal"), **close)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=20, unique=True))
def test_weights_by_range_sum_to_one(levels):
    weight = level_weights(sorted(levels))
    assert weight.min() > 0 and weight.sum() == pytest.approx(1)


def test_the_fair_score_does_not_depend_on_the_number_of_members():
    rng = np.random.default_rng(5)
    y = rng.standard_normal(40_000)
    exact = crps(y, np.ones(y.size)).mean()
    for m, plain in ((5, 1.197), (20, 1.048)):
        members = rng.standard_normal((y.size, m))
        assert crps_of_samples(y, members, fair=True).mean() == pytest.approx(exact, rel=0.01)
        assert crps_of_samples(y, members).mean() / exact == pytest.approx(plain, abs=0.01)


# --- refusals ----------------------------------------------------------------------------------------------------------------------------

Y, VALUES = table(4)
BAD = {"one member": (lambda: crps_of_samples(Y, VALUES[:, :1], fair=True), "at least two members"), "three axes": (lambda: crps_of_samples(Y, VALUES[:, :, None]), "scoringrules"),
       "three axes of a statement": (lambda: Samples(VALUES[:, :, None]), "scoringrules"), "crossing": (lambda: crps_of_quantiles(Y, VALUES[:, ::-1], LEVELS), "in 4 of 4 rows.*sort_quantiles"),
       "infinite": (lambda: crps_of_quantiles(Y, np.where(VALUES > 2, np.inf, VALUES), LEVELS), "values.*finite"), "missing": (lambda: crps_of_samples(Y, np.where(VALUES > 2, np.nan, VALUES)), "values.*missing"),
       "not symmetric": (lambda: weighted_interval_score(Y, VALUES[:, 1:], LEVELS[1:]), "symmetric.*0.95"), "per cent": (lambda: level_weights([5, 50, 95]), "per cent"),
       "not rising": (lambda: pinball_loss(Y, VALUES[:, :2], [0.5, 0.1]), "rise"), "levels": (lambda: pinball_loss(Y, VALUES, [0.5]), "each of the 9 columns"),
       "turned": (lambda: crps_of_samples(np.zeros(9), VALUES), r"values\.T"), "weights": (lambda: crps_of_quantiles(Y, VALUES, LEVELS, weights="even"), "weights"),
       "no distribution": (lambda: crps_of_distribution(Y, type("One", (), {"cdf": lambda self, x: np.full(4, 0.5)})()), "from 0 to 1"),
       "no probability": (lambda: crps_of_distribution(Y, type("One", (), {"cdf": lambda self, x: np.full(4, 1.5)})()), "probability"),
       "few members": (lambda: Samples(VALUES).quantiles([0.05, 0.95]), "at least 19 members"), "one level": (lambda: Quantiles(VALUES[:, :1], [0.5]).mean_std(), "two levels"),
       "no common level": (lambda: compare_forecasts(Y, {"a": Quantiles(VALUES, LEVELS), "b": Quantiles(VALUES[:, :2], [0.3, 0.7])}), "common"),
       "time and groups": (lambda: uqcal.compare_models(Y, {"a": Samples(VALUES), "b": Samples(VALUES)}, in_time=True, groups=[1, 1, 2, 2]), "in_time and groups"),
       "another kind": (lambda: uqcal.compare_models(Y, {"a": Samples(VALUES), "b": Intervals(Y - 1, Y + 1, level=0.9)}), "one kind")}


@every_case("name", BAD)
def test_what_can_not_be_right_is_refused(name):
    make, text = BAD[name]
    with pytest.raises((ValueError, TypeError), match=f"(?s){text}"): make()


def test_interval_scores_of_several_levels():
    y, values = table(50)
    both = [interval_score(y, values[:, k], values[:, -1 - k], level) for k, level in ((0, 0.9), (1, 0.8))]
    np.testing.assert_array_equal(interval_score(y, values[:, :2], values[:, [-1, -2]], [0.9, 0.8]), np.column_stack(both))
    with pytest.raises(ValueError, match="level"): interval_score(y, values[:, :2], values[:, -2:], [0.9])


# --- statements turned into each other -----------------------------------------------------------------------------------------------

def test_statements_turn_into_each_other():
    rng = np.random.default_rng(2)
    mean, std = rng.normal(0, 5, 400), rng.uniform(1, 2, 400)
    normal = MeanStd(mean, std)
    for back in (normal.quantiles(LEVELS).mean_std(), normal.interval(0.9).mean_std(), normal.interval(0.9).quantiles().mean_std(), Distribution(stats.norm(mean, std)).mean_std(),
                 Distribution(stats.norm(mean, std)).quantiles(LEVELS).mean_std()):
        np.testing.assert_allclose(back.mean, mean, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(back.std, std, rtol=1e-9)
    for drawn in (normal.samples(400, rng=1), normal.quantiles(LEVELS).samples(400, rng=1), Distribution(stats.norm(mean, std)).samples(400, rng=1)):
        assert np.abs((drawn.mean_std().mean - mean) / std).mean() < 0.06 and np.abs(drawn.mean_std().std / std - 1).mean() < 0.05
        assert np.abs(drawn.quantiles([0.1, 0.9]).interval(0.8).width / std / 2.563 - 1).mean() < 0.08
    several = Intervals(np.stack([np.column_stack([mean - k * std, mean + k * std]) for k in (1.2816, 0.6745)], axis=2), level=[0.8, 0.5])
    assert several.quantiles().levels == (0.1, 0.25, 0.75, 0.9)
    assert Intervals(None, mean, level=0.9).quantiles().levels == (0.9,)
    assert (normal.pit(mean) == 0.5).all() and np.isnan(normal.quantiles(LEVELS).pit(mean + 9 * std)).all()


def test_labels_of_rows_are_kept():
    y, values = table(6)
    frame = pd.DataFrame(values, index=list("abcdef"), columns=[f"q{level}" for level in LEVELS])
    for made in (Quantiles(frame).mean_std(), Samples(frame).quantiles([0.2, 0.8]), Quantiles(frame).samples(3)):
        with pytest.raises(ValueError, match="index"): made.crps(pd.Series(y, index=list("fedcba")))
        assert made.crps(y).shape == (6,)


# --- comparison --------------------------------------------------------------------------------------------------------------------------

def test_tables_are_compared_and_the_factor_is_found():
    y, right = table(400)
    narrow = table(400, factor=0.5)[1]
    found = uqcal.compare_models(y, {"right": Quantiles(right, LEVELS), "narrow": Quantiles(narrow, LEVELS)}, rng=1)
    assert found.best == "right" and found.outcome == "better" and found.levels == tuple(LEVELS)
    exactly(found.numbers["narrow"], Quantiles(narrow, LEVELS).crps(y).mean())
    assert found.pairs["rest"].abs().max() < 0.02 and dict(found.models.at["narrow", "correction"])["factor"] == pytest.approx(2, rel=0.15)
    assert not found.cautions


def test_other_levels_are_left_out():
    y, right = table(400)
    few = Quantiles(right[:, [1, 4, 7]], [0.1, 0.5, 0.9])
    found = uqcal.compare_models(y, {"nine": Quantiles(right, LEVELS), "three": few}, rng=1)
    assert found.levels == (0.1, 0.5, 0.9) and found.pairs["verdict"][0] == "the same"
    assert [one.code for one in found.cautions] == ["models_levels"] and "3 levels" in found.cautions[0].sentence


def test_members_are_compared_fairly_where_their_numbers_differ():
    rng = np.random.default_rng(4)
    y = rng.standard_normal(600)
    models = {m: Samples(rng.standard_normal((600, m))) for m in (5, 50)}
    found = uqcal.compare_models(y, models, rng=1)
    assert found.fair and found.score_name == "fair CRPS" and found.outcome != "better" and [one.code for one in found.cautions] == ["models_members"]
    assert "recalibrated" not in found.models and not _ForecastScoring(fair=True).steps(600)  # moved about their mean, members are no sample
    exactly(found.numbers["5"], models[5].crps(y, fair=True).mean())
    plain = uqcal.compare_models(y, {"a": models[5], "b": Samples(models[5].values * 1.5)}, rng=1)
    assert not plain.fair and plain.numbers["a"] == pytest.approx(models[5].crps(y).mean())


def test_unlike_kinds_are_compared_on_common_levels():
    y, right = table(300)
    rng = np.random.default_rng(6)
    centre = right[:, 4]
    models = {"table": Quantiles(right, LEVELS), "members": Samples(centre[:, None] + rng.standard_normal((300, 15))), "normal": MeanStd(centre, np.ones(300)),
              "cdf": Distribution(stats.norm(centre, np.ones(300)))}
    found = uqcal.compare_models(y, models, rng=1)
    assert found.levels == tuple(LEVELS[1:-1]) and found.cautions[0].code == "models_unlike"
    assert found.numbers["table"] == pytest.approx(found.numbers["normal"], abs=1e-12) and found.numbers["members"] > found.numbers["table"]
    whole = uqcal.compare_models(y, {"normal": models["normal"], "cdf": Distribution(stats.t(5, centre, np.ones(300)))}, rng=1)
    assert whole.levels is None and whole.numbers["normal"] == pytest.approx(models["normal"].crps(y).mean()) and [one.code for one in whole.cautions] == ["models_normal"]
    assert uqcal.compare_models(y, {"members": models["members"], "cdf": models["cdf"]}, rng=1).levels == pytest.approx(np.arange(1, 16) / 16)


@pytest.mark.parametrize("fair", [False, None])
def test_corrections_are_scored_as_they_are_found(fair):
    y, values = table(200, factor=0.4)
    scoring = _ForecastScoring(tuple(LEVELS)) if fair is None else _ForecastScoring(fair=fair)
    shift, factor = scoring.sizes(y + 1, values).values()
    maps = scoring.learn(scoring.steps(200), y + 1, values)
    best = scoring.points(*maps["factor"](y + 1, values)).mean()
    middle = values @ (level_weights(LEVELS) if fair is None else np.full(9, 1 / 9))
    for a, f in ((shift, factor), (shift + 0.05, factor), (shift, factor * 1.05), (shift, factor / 1.05)):
        made = (middle + a)[:, None] + f * (values - middle[:, None])
        assert scoring.points(y + 1, np.maximum.accumulate(made, axis=1)).mean() >= best - 1e-6


def test_cosines_are_those_of_the_formula_and_allow_for_correlation():
    rng = np.random.default_rng(1)
    d = rng.standard_normal((2, 300))
    error, waves = _time_spread(d)
    slow = [[np.sqrt(2 / 300) * np.sum(row * np.cos(np.pi * j * (np.arange(1, 301) - 0.5) / 300)) for j in range(1, 19)] for row in d - d.mean(axis=1, keepdims=True)]
    np.testing.assert_allclose(waves, slow, atol=1e-11)
    one = _time_differences(d[:1])
    assert one.critical[0] == pytest.approx(stats.t.isf(0.025, 18)) and one.pvalue[0] == pytest.approx(2 * stats.t.sf(abs(d[0].mean()) / error[0], 18))
    walk = np.zeros((400, 300))
    noise = rng.standard_normal(walk.shape)
    for t in range(300): walk[:, t] = 0.6 * walk[:, t - 1] + noise[:, t]
    held = np.mean([one.low[0] <= 0 <= one.high[0] for one in (_time_differences(row[None]) for row in walk)])
    assert 0.92 < held < 0.98  # 400 sets: two standard errors are 0.022


def test_rows_in_time_have_wider_limits_for_every_kind():
    y, right = table(400)
    drift = np.sin(np.arange(400) / 60)[:, None]
    models = {"a": Quantiles(right, LEVELS), "b": Quantiles(right + drift, LEVELS)}
    found, other = (uqcal.compare_models(y, models, in_time=asked, rng=1) for asked in (True, False))
    assert found.in_time and "in time" in found.title and found.to_dict()["in_time"]
    pairs = {"a": MeanStd(right[:, 4], np.ones(400)), "b": MeanStd((right + drift)[:, 4], np.ones(400))}
    assert uqcal.compare_models(y, pairs, in_time=True, rng=1).in_time
    assert "models_blocks" not in [one.code for one in found.cautions] and other.best == found.best == "a"
    short = uqcal.compare_models(y[:60], {name: one.take(slice(60)) for name, one in models.items()}, in_time=True, rng=1)
    assert [one.code for one in short.cautions] == ["models_short"] * (short.outcome == "better")


# --- the command line ----------------------------------------------------------------------------------------------------------------------

def run(*words):
    done = CliRunner().invoke(app, [*map(str, words)])
    return done.exit_code, done.output


@pytest.fixture
def both(tmp_path):
    if not LOAD.exists(): pytest.skip("the tables of load are not here")
    a, b = (pd.read_csv(LOAD / f"load_quantiles_{name}.csv") for name in "ab")
    m = pd.read_csv(LOAD / "load_members.csv").filter(regex="^m")
    frame = pd.concat([a[["load"]], a.filter(like="q").add_prefix("A_"), b.filter(like="q").add_prefix("B_"), m], axis=1).assign(month=np.arange(900) // 30)
    frame.to_csv(tmp_path / "AB.csv", index=False)
    return tmp_path / "AB.csv"


def test_the_screen_of_two_tables(both):
    code, screen = run("compare-models", both, "--observed", "load", "--groups", "month", "--model", "A=quantiles:A_q*", "--model", "B=quantiles:B_q*")
    assert code == 0
    for line in ("2 models, 900 rows in 30 clusters, CRPS", "✓ A  lowest CRPS: 2.49 (lower is better)", "✗ B  CRPS 2.87 against 2.49: worse by 0.380 [0.295, 0.465] (p < 0.001)",
                 "  A  86.0 % in central 90 %. Biased: too low", "  B  60.6 % in central 90 %. Biased: too low; overconfident (too narrow)",
                 "VERDICT  A is better than B in CRPS.", "NEXT     Use A."): assert line in screen, screen
    assert len(screen.splitlines()) <= 24 and max(map(len, screen.splitlines())) <= 80


def test_unlike_kinds_and_time_on_the_command_line(both):
    code, screen = run("compare-models", both, "--observed", "load", "--in-time", "--n-boot", 200, "--model", "A=quantiles:A_q*", "--model", "E=samples:m[0-9]*")
    assert code == 0 and "900 rows in time" in screen and "quantiles at 9 levels" in screen.replace("\n         ", " ")
    code, screen = run("compare-models", both, "--observed", "load", "--level", 0.9, "--n-boot", 200, "--model", "A=quantiles:A_q*", "--model", "E=samples:m[0-9]*")
    assert code == 0 and "interval score at 90 %" in screen


def test_each_model_of_a_comparison_is_validated_by_itself():
    "What stands below the comparison, in its details and numbers is what a validation says; of nine rows nothing."
    rng = np.random.default_rng(2)
    y, levels = rng.standard_normal(400), [0.05, 0.5, 0.95]
    right = Quantiles(np.tile(stats.norm.ppf(levels), (400, 1)), levels)
    models = {"right": right, "narrow": Quantiles(right.values / 2, levels), "normal": MeanStd(np.zeros(400), np.ones(400))}
    found = compare_forecasts(y, models, n_boot=99, rng=1)
    assert found.validations["narrow"].conclusion == forecast_report(y, models["narrow"], n_resamples=999, rng=1).conclusion == "Overconfident (too narrow)."
    assert [name for name, one in found.validations.items() if one.verdict == "invalid"] == ["narrow"] == [name for name, one in found.to_dict()["validations"].items() if one["verdict"] == "invalid"]
    line = next(one for one in found.table_lines() if "narrow  " in one)
    assert f"{100 * np.mean(np.abs(y) <= 1.6449 / 2):.1f} % in central 90 %. Overconfident" in line and line in str(found)
    assert "narrow by itself:" in " ".join(found.details())
    long = compare_forecasts(y, {"a name longer than its place on the screen": right, "b": models["narrow"]}, n_boot=99, rng=1)
    assert "  " + f"{100 * np.mean(np.abs(y) <= 1.6449):.1f} % in central 90 %" in "\n".join(long.table_lines())
    few = compare_forecasts(y[:9], {name: one.take(np.arange(9)) for name, one in models.items()}, n_boot=99, rng=1)
    assert not few.validations and not few.table_lines() and "validations" not in few.to_dict()
