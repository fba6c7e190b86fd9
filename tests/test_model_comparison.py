"""Models compared: paired means against plain versions, the level of all pairs at once, verdicts that hold, and sentences that one tried to make lie."""
import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from uqcal._command.cli import main
from uqcal.comparison.model_comparison import compare_scores
from uqcal.comparison.mean_differences import mean_differences
from uqcal._sample.sample import Sample
from uqcal.comparison.scores import crps, negative_log_density

QUICK = dict(rng=1, n_boot=499)


def made(n=400, seed=0):
    rng = np.random.default_rng(seed)
    u = np.exp(rng.normal(0, 0.5, n))
    return u * rng.standard_normal(n), u, rng


# --- paired means --------------------------------------------------------------------------------------------------------------------

def test_means_and_errors_are_those_of_plain_python():
    rng = np.random.default_rng(0)
    d, unit = rng.standard_normal(60), np.repeat(np.arange(15), 4)
    for groups in (np.arange(60), unit):
        found = mean_differences(d[None], groups, rng=1, n_boot=99)
        mean = sum(d.tolist()) / 60
        sums = [sum(d[i] - mean for i in range(60) if groups[i] == g) for g in range(groups.max() + 1)]
        error = math.sqrt(sum(s * s for s in sums) * len(sums) / (len(sums) - 1)) / 60
        assert abs(found.mean[0] - mean) < 1e-12 and abs(found.standard_error[0] - error) < 1e-12
        assert abs((found.high[0] - found.low[0]) / 2 - found.critical[0] * error) < 1e-12


def test_the_bootstrap_is_the_one_of_plain_python():
    "Every draw of three groups of unequal size, 27 in all, against the share of draws by the kernel."
    d, unit = np.array([1.0, 2.0, -4.0, 0.5]), np.array([0, 0, 1, 2])
    mean = d.mean()
    sums, count = np.array([3 - 2 * mean, -4 - mean, 0.5 - mean]), np.array([2.0, 1, 1])
    large = []
    for draw in itertools.product(range(3), repeat=3):
        s, n = sums[list(draw)], count[list(draw)]
        spread = np.sqrt(np.sum((s - s.sum() / n.sum() * n)**2) * 3 / 2)
        large.append(np.inf if spread < 1e-9 else abs(s.sum()) / spread)
    found = mean_differences(d[None], unit, rng=3, n_boot=20_000)
    expected = np.mean(np.array(large) >= abs(mean) / found.standard_error[0] - 1e-12)
    assert abs(found.pvalue[0] - expected) < 4 * math.sqrt(0.25 / 20_000)


def test_all_pairs_share_one_yardstick():
    rng = np.random.default_rng(1)
    d = rng.standard_normal((6, 80))
    one, all_ = mean_differences(d[:1], np.arange(80), **QUICK), mean_differences(d, np.arange(80), **QUICK)
    assert all_.critical[0] > one.critical[0] and all_.pvalue[0] >= one.pvalue[0]
    turned = mean_differences(-d[::-1], np.arange(80), **QUICK)
    np.testing.assert_allclose(turned.pvalue[::-1], all_.pvalue)
    assert ((all_.pvalue <= 0.05) == ((all_.low > 0) | (all_.high < 0))).all()


@pytest.mark.parametrize("sets", [150, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind, rows, limits", [("normal", 1, (0.03, 0.075)), ("t", 1, (0.02, 0.075)), ("t", 5, (0.02, 0.08))])
def test_equally_good_models_are_told_apart_in_five_percent(kind, rows, limits, sets):
    """600 sets of 40 groups; a level of 5 % lies in 3 to 7.5 % in 99 % of such counts, t errors with three degrees of freedom make the test a little shy.
    Of 150 sets 1 to 10 % are told apart in 99 % of counts."""
    if sets == 150: limits = (0.005, 0.1)
    count, unit = 0, np.arange(40 * rows) // rows
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        own, shared = (rng.standard_normal((40, k)) if kind == "normal" else rng.standard_t(3, (40, k)) for k in (rows, 1))
        d = (own + (shared if rows > 1 else 0)).ravel()
        count += mean_differences(d[None], unit, rng=seed, n_boot=199).pvalue[0] <= 0.05
    assert limits[0] < count / sets < limits[1]


def test_repeats_taken_as_points_would_lie():
    "What groups are for: without them the same sets are told apart in far more than 5 %."
    false = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        d = (rng.standard_normal((40, 5)) + 2 * rng.standard_normal((40, 1))).ravel()
        false += mean_differences(d[None], np.arange(200), rng=seed, n_boot=199).pvalue[0] <= 0.05
    assert false / 50 > 0.25


@pytest.mark.parametrize("sets, most", [(40, 6), pytest.param(100, 11, marks=pytest.mark.slow)])
def test_twenty_models_of_noise_are_told_apart_in_five_percent_of_sets(sets, most):
    "190 pairs, each tested at 5 %, would nearly always hold one; all at once at most 6 of 40 sets or 11 of 100 in 99 of 100 counts."
    any_, unit = 0, np.arange(100)
    a, b = np.triu_indices(20, 1)
    for seed in range(sets):
        s = np.random.default_rng(seed).standard_normal((20, 100))
        any_ += mean_differences(s[b] - s[a], unit, rng=seed, n_boot=199).pvalue.min() <= 0.05
    assert any_ <= most


def test_a_difference_that_is_there_is_found():
    "Uncertainties that are 1.5 times too small, 250 points: 0.22 ± 0.056 in theory, so that 97 % of sets show it; 54 of 60 at least in 99.9 % of counts."
    found = 0
    for seed in range(60):
        error, u, _ = made(250, seed)
        d = negative_log_density(error, u / 1.5) - negative_log_density(error, u)
        found += mean_differences(d[None], np.arange(250), rng=seed, n_boot=199).pvalue[0] <= 0.05
    assert found >= 54


# --- the door ------------------------------------------------------------------------------------------------------------------------

def test_the_order_of_models_does_not_matter():
    error, u, rng = made(150)
    models = {"a": (error, u), "b": (error, 1.4 * u), "c": (error + 0.3 * rng.standard_normal(150), u)}
    one = compare_scores(None, models, **QUICK)
    for order in (("c", "b", "a"), ("b", "a", "c")):
        other = compare_scores(None, {name: models[name] for name in order}, **QUICK)
        pd.testing.assert_frame_equal(one.pairs, other.pairs)
        pd.testing.assert_frame_equal(one.models, other.models)
        assert one.conclusion == other.conclusion and one.details() == other.details()


@pytest.mark.parametrize("score", ["log", "crps"])
def test_the_unit_of_the_quantity_does_not_matter(score):
    error, u, rng = made(150)
    models = {"a": (error, u), "b": (error, 1.4 * u), "c": (error + 0.3 * rng.standard_normal(150), u)}
    one = compare_scores(None, models, score=score, **QUICK)
    other = compare_scores(None, {name: (1000 * e, 1000 * s) for name, (e, s) in models.items()}, score=score, **QUICK)
    factor = 1000 if score == "crps" else 1
    assert one.pairs["verdict"].tolist() == other.pairs["verdict"].tolist()
    np.testing.assert_allclose(other.pairs[["difference", "low", "calibration"]], factor * one.pairs[["difference", "low", "calibration"]], rtol=2e-3, atol=factor * 1e-5)
    np.testing.assert_allclose(other.tolerance, factor * one.tolerance, rtol=1e-3)


def test_predictions_errors_and_samples_are_the_same():
    error, u, rng = made(60)
    y = rng.normal(5, 2, 60)
    found = [compare_scores(*given, **QUICK).pairs for given in (
        (y, {"a": (y - error, u), "b": (y - error, 2 * u)}), (None, {"a": (error, u), "b": (error, 2 * u)}), (None, {"a": Sample(error, u), "b": Sample(error, 2 * u)}))]
    for other in found[1:]: np.testing.assert_allclose(other["difference"], found[0]["difference"], rtol=1e-9)
    points = compare_scores(y, {"a": (y - error, u), "b": (y - error, 2 * u)}, score="crps", dof=5.0, **QUICK).points
    np.testing.assert_allclose(points["b"], crps(error, 2 * u, dof=5.0), rtol=1e-9)


def test_parts_add_up():
    error, u, rng = made(300)
    found = compare_scores(None, {"a": (error, u), "b": (error + 0.5, 1.7 * u**1.3)}, **QUICK)
    pair, models = found.pairs.iloc[0], found.models
    assert abs(pair["calibration"] + pair["rest"] - pair["difference"]) < 1e-9
    assert abs(pair["predictions"] + pair["discrimination"] - pair["rest"]) < 1e-9
    np.testing.assert_allclose(models["flat"] - models["discrimination"] + models["miscalibration"], models["score"], atol=1e-9)
    np.testing.assert_allclose(models["shift"] + models["factor"] + models["curve"], models["miscalibration"], atol=1e-9)


def test_what_a_factor_would_mend_is_said():
    error, u, _ = made(500)
    found = compare_scores(None, {"process": (error, u), "line": (error, u / 1.9)}, rng=1)
    cause = found["line"].facts["cause"]
    assert (cause["code"], cause["part"], cause["rest"]) == ("calibration", "all", {}) and cause["correction"][0] == ("factor", pytest.approx(1.9, rel=0.1))
    assert found.best == "process" and found.pairs["verdict"][0] == "better" and found["line"].status == "invalid" and found.outcome == "better"
    hidden = compare_scores(None, {"sharp": (0.7 * error, 0.3 * u), "wide": (error, u)}, rng=1)
    cause = hidden["sharp"].facts["cause"]
    assert (cause["code"], cause["front"], cause["both"]) == ("ahead", "sharp", False) and "models_other_score" in [one.code for one in hidden.cautions]
    told = compare_scores(None, {"varied": (error, u), "flat": (error, np.full(500, math.sqrt(np.mean(error**2))))}, rng=1)
    assert [part[:2] for part in told["flat"].facts["cause"]["rest"]["parts"]] == [("predictions", "equal"), ("discrimination", "better")]


def test_no_mend_is_advised_that_gains_less_than_its_error():
    "Caught: any positive gain of the better model advised."
    error, u, _ = made(500)
    found = compare_scores(None, {"process": (error, 1.6 * u), "line": (3 * error, u)}, rng=1)
    assert found.step.verb == "use" and found.step.arguments["recalibrate"] == ("process",) and "Recalibrate it first: a factor of" in found.step.sentence
    assert (found.models["state"] == "recalibrated").tolist() == (found.models["miscalibration"] > found.models["miscalibration_error"]).tolist()


@pytest.mark.parametrize("score, dof", [("crps", np.inf), pytest.param("crps", 5.0, marks=pytest.mark.slow), ("log", 5.0)])
def test_the_digits_of_a_search_are_no_difference(score, dof):
    error, u, _ = made(2000, 9)
    found = compare_scores(None, {"a": (error, u), "b": (error, 2 * u)}, score=score, dof=dof, **QUICK)
    assert abs(found.pairs["rest"][0]) < 1e-4 * found.pairs["difference"][0]
    assert found["b"].facts["cause"]["part"] in ("all", "nearly all")


def test_probabilities_and_intervals_are_compared():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 800)
    y = (rng.random(800) < p).astype(int)
    bold = 1 / (1 + ((1 - p) / p)**2.5)
    for score in ("brier", "log loss"):
        found = compare_scores(y, {"honest": p, "bold": bold}, score=score, rng=1)
        assert found.best == "honest" and found.pairs["verdict"][0] == "better" and found["bold"].facts["cause"]["correction"] == (("line", None),)
    error, u, _ = made(500)
    found = compare_scores(error, {"right": (-1.645 * u, 1.645 * u), "narrow": (-0.6 * u, 0.6 * u)}, score="interval", level=0.9, rng=1)
    assert found.best == "right" and found["narrow"].facts["cause"]["correction"][-1][0] == "factor" and "curve" not in found.models


# --- sentences that one tried to make lie ---------------------------------------------------------------------------------------------

def test_copies_are_the_same():
    error, u, rng = made(100)
    for other in (u, u * (1 + 1e-15 * rng.integers(-2, 3, 100))):
        found = compare_scores(None, {"a": (error, u), "b": (error, other)}, **QUICK)
        assert found["b"].facts["verdict"] == "the same" and found["b"].status == "valid" and found.outcome == "no difference"


@pytest.mark.parametrize("spoilt", [[17], [17, 44], [17, 44, 101]])
def test_no_row_decides_unseen(spoilt):
    error, u, _ = made(500)
    error[spoilt] = [500.0, -400.0, 450.0][:len(spoilt)]
    found = compare_scores(None, {"right": (error, u), "too large": (error, 1.5 * u)}, rng=1)
    assert found.pairs["verdict"][0] == "inconclusive" and found.pairs["reason"][0] == "rows"
    named = next(one for one in found.findings if one.reason == "rows").facts
    assert found.outcome == "inconclusive" and {str(row) for row in spoilt} <= {*found.deciders["names"]} and found.step.verb == "check"
    assert named["without"]["verdict"] == "better" and (named["without"]["difference"] > 0) == (named["best"] == "right")
    lines = pd.Index(np.arange(500) + 2, name="line")
    labelled = compare_scores(None, {"right": (pd.Series(error, lines), u), "too large": (error, 1.5 * u)}, rng=1)
    assert "17 (line 19)" in labelled.deciders["names"]


def test_a_spoilt_model_does_not_make_others_doubtful():
    error, u, _ = made(300)
    spoilt = error.copy()
    spoilt[7] = 300.0
    found = compare_scores(None, {"a": (spoilt, u), "b": (error, 1.5 * u), "c": (error, 3 * u)}, rng=1)
    alone = compare_scores(None, {"b": (error, 1.5 * u), "c": (error, 3 * u)}, rng=1).pairs.iloc[0]
    pair = found.pairs[(found.pairs["a"] == "b") & (found.pairs["b"] == "c")].iloc[0]
    assert pair["verdict"] == "better" and pair["reason"] == "" and 1 <= pair["critical"] / alone["critical"] < 1.5
    assert set(found.pairs["reason"]) == {"", "rows"}


def test_rare_events_have_a_small_tolerance():
    rng = np.random.default_rng(4)
    y = (rng.random(3000) < 0.01).astype(float)
    for score in ("brier", "log loss"):
        found = compare_scores(y, {"a": np.full(3000, 0.01), "b": np.full(3000, 0.03)}, score=score, **QUICK)
        assert found.tolerance < 0.05 * found.models["score"].min() and found.tolerance_of == ("probability", pytest.approx(0.002, rel=0.3))


def test_rows_that_change_nothing_are_not_blamed():
    error, u, _ = made(500)
    assert compare_scores(None, {"a": (error, u), "b": (error, 1.5 * u)}, rng=1).deciders["names"] == ()


def test_nearly_infinite_and_nearly_zero_uncertainties():
    error, u, _ = made(200)
    for factor in (1e12, 1e-12):
        for score in ("log", "crps"):
            found = compare_scores(None, {"a": (error, u), "b": (error, factor * u)}, score=score, **QUICK)
            assert found.best == "a" and found.pairs["verdict"][0] == "better"
            if score == "log" or factor > 1:
                assert found["b"].facts["cause"]["part"] in ("all", "nearly all") and abs(found.pairs["rest"][0]) < 0.01


def test_errors_of_zero_are_told():
    u = np.exp(np.random.default_rng(0).normal(0, 1, 100))
    found = compare_scores(None, {"a": (np.zeros(100), u), "b": (np.zeros(100), 2 * u)}, **QUICK)
    assert found.best == "a" and [one.facts.get("models") for one in found.cautions if one.code == "models_zero"] == [("a", "b")] and not found["b"].facts["cause"]


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_few_points_decide_nothing_or_say_that_they_are_few(n):
    rng = np.random.default_rng(n)
    error = rng.standard_normal(n)
    found = compare_scores(None, {"a": (error, np.ones(n)), "b": (error + rng.standard_normal(n), np.ones(n))}, rng=1)
    assert found.pairs["verdict"][0] == "inconclusive" and "recalibrated" not in found.models
    if n == 3: assert found.findings[1].reason == "few rows" and found.findings[1].high == np.inf
    sure = compare_scores(None, {"a": (0 * error, np.ones(n)), "b": (0 * error, np.full(n, 2.0))}, rng=1)
    assert sure.pairs["verdict"][0] == ("better" if n == 8 else "inconclusive")


def alike(kind, rho, rng, n=400):
    "Days that follow each other, for which two models that are equally good on average differ alike."
    slow = np.zeros((2, n))
    for t in range(1, n): slow[:, t] = rho * slow[:, t - 1] + (1 - rho**2)**0.5 * rng.standard_normal(2)
    if kind == "means": return rng.standard_normal(n), {"a": (0.5 * slow[0], np.ones(n)), "b": (0.5 * slow[1], np.ones(n))}
    return rng.standard_normal(n) * np.exp(0.5 * slow[0] - 0.25), {"a": (np.zeros(n), np.full(n, 0.8)), "b": (np.zeros(n), np.full(n, 1.31396))}


@pytest.mark.parametrize(("kind", "rho", "most", "named"), [("means", 0.9, 7, 15), ("sizes", 0.9, 9, 30), ("means", 0.0, 6, 0), ("sizes", 0.0, 8, 0)])
@pytest.mark.slow
def test_days_that_are_alike_are_no_independent_points(kind, rho, most, named):
    "Forty files: taken for independent, 14 and 37 % of them had a better model where there is none. Mutation: no stretches, or a running mean of equal uncertainties in the file's order."
    better = said = 0
    for seed in range(40):
        y, models = alike(kind, rho, np.random.default_rng([seed, 41]))
        found = compare_scores(y, models, n_boot=299, rng=1)
        told = "models_blocks" in [one.code for one in found.cautions]
        better += (found.pairs["verdict"] == "better").any()
        said += told
        assert told == (found.n_groups in (20, 10, 6))
    assert better <= most and named <= said <= (40 if rho else 4), (better, said)


def test_stretches_are_those_of_plain_python():
    from uqcal.comparison.model_comparison import _alikeness
    d = np.random.default_rng(3).standard_normal(61).cumsum()
    d = np.clip(d - d.mean(), -3 * d.std(), 3 * d.std())
    d -= d.mean()
    parts = [d[k * 61 // 20:(k + 1) * 61 // 20] for k in range(20)]
    ratio, near, number = _alikeness(d)
    np.testing.assert_allclose(ratio, 61 / 20 * sum((part.sum() * 20 / 61)**2 for part in parts) / 19 / np.mean(d**2), rtol=1e-12)
    np.testing.assert_allclose(near, sum(d[1:] * d[:-1]) / 61**0.5 / np.mean(d**2), rtol=1e-12)
    assert number == 6 and _alikeness(np.ones(50))[2] == 20


@pytest.mark.slow
def test_tails_without_a_variance_are_said():
    "Errors of Student's t with three degrees of freedom, two models as good on average: a quarter is decided, and nearly all of these say so. Mutation: no index."
    silent = decided = 0
    for seed in range(40):
        y = np.random.default_rng([seed, 43]).standard_t(3, 300) / 3**0.5
        found = compare_scores(y, {"a": (0 * y, np.full(300, 0.8)), "b": (0 * y, np.full(300, 1.31396))}, n_boot=299, rng=1)
        better = (found.pairs["verdict"] == "better").any()
        decided += better
        silent += better and "models_tails" not in [one.code for one in found.cautions]
    assert silent <= 4 and 3 <= decided <= 16, (silent, decided)
    y, u, rng = made(2000, 5)
    found = compare_scores(y, {"a": (0 * y, u), "b": (0 * y, 1.5 * u)}, n_boot=299, rng=1)
    assert found.pairs["verdict"].iloc[0] == "better" and not found.cautions


def test_repeats_are_found_and_groups_are_respected():
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(60), 10)
    a, b = rng.standard_normal((2, 60))
    one = np.ones(600)
    copied = compare_scores(None, {"a": (a[group], one), "b": (b[group], one)}, **QUICK)
    assert copied.n_groups == 60 and [one.code for one in copied.cautions] == ["models_repeat"]
    near = [x[group] + 0.3 * rng.standard_normal(600) for x in (a, b)]
    named = compare_scores(None, {"a": (near[0], one), "b": (near[1], one)}, groups=group, **QUICK)
    alone = compare_scores(None, {"a": (near[0], one), "b": (near[1], one)}, **QUICK)
    assert 0.7 < named.pairs["standard_error"][0] / alone.pairs["standard_error"][0] < 1.4 and "models_blocks" in [one.code for one in alone.cautions] and named.n_groups == 60
    apart = alone.points["b"] - alone.points["a"]
    assert alone.pairs["standard_error"][0] > 2 * apart.std() / 600**0.5 and alone.n_groups == 20  # stretches, and not 600 points


def test_twenty_models_of_noise_have_no_winner():
    rng = np.random.default_rng(6)
    found = compare_scores(None, {f"m{k}": (rng.standard_normal(150), np.ones(150)) for k in range(20)}, rng=1, n_boot=999)
    assert len(found.pairs) == 190 and found.outcome == "inconclusive" and {one.status for one in found.findings[1:]} <= {"inconclusive", "valid"}


def test_alike_better_and_what_would_settle_it():
    rng = np.random.default_rng(7)
    z, noise = rng.standard_normal((2, 2000))
    alike = compare_scores(None, {"a": (z, np.ones(2000)), "b": (z + 0.02 * noise, np.ones(2000))}, **QUICK)
    assert alike.pairs["verdict"][0] == "equivalent" and alike["b"].status == "valid" and alike["b"].excluded_beyond < alike.tolerance
    tight = compare_scores(None, {"a": (z, np.ones(2000)), "b": (z + 0.02 * noise, np.ones(2000))}, margin=1e-6, **QUICK)
    assert tight.pairs["verdict"][0] == "inconclusive" and tight.pairs["n_needed"][0] > 2000 and tight.tolerance == 1e-6 and tight.findings[1].rows_needed == tight.pairs["n_needed"][0]
    harmless = compare_scores(None, {"a": (z, np.ones(2000)), "b": (z, np.full(2000, 1.15))}, **QUICK)
    assert harmless.pairs["verdict"][0] == "better" and harmless["b"].status == "minor" and harmless["b"].high <= harmless.tolerance


def test_infinite_and_impossible_input_is_refused():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.5, 0.0, 0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match=r"predictions\['b'\].*infinite at row 1 .*brier"): compare_scores(y, {"a": np.full(5, 0.5), "b": p}, score="log loss")
    error, u, _ = made(50)
    two = {"a": (error, u), "b": (error, u)}
    for given, message in (((None, {"a": (error, u)}), "at least two models"), ((None, [error, u]), "must be a dict"), ((None, {"a": (error, u), "b": error}), "must be a pair"),
                           ((None, {"a": (error, u), "b": (error[1:], u[1:])}), "the same points"), ((error[:2], {"a": (error[:2], u[:2]), "b": (error[:2], u[:2])}), "at least three points"),
                           ((None, {"a": (error, u), "b": (error, -u)}), r"predictions\['b'\].*uncertainty must be positive"), ((error[1:], two), "y_pred must have the same length")):
        with pytest.raises((ValueError, TypeError), match=message): compare_scores(*given)
    for options, message in ((dict(margin=0), "margin"), (dict(groups=np.arange(50) % 3), "groups"), (dict(level=0.9), "level"), (dict(score="interval", level=0.9), "y_true must be given"),
                             (dict(score="brier"), "y_true"), (dict(score="nonsense"), "score must be")):
        with pytest.raises((ValueError, TypeError), match=message): compare_scores(None, two, **options)
    with pytest.raises(ValueError, match="dof is for"): compare_scores(y, {"a": p, "b": p}, score="brier", dof=5.0)
    with pytest.raises(ValueError, match="same index"): compare_scores(pd.Series(error), {"a": (pd.Series(error, np.arange(50) + 1), u), "b": (error, u)})


def test_the_picture_has_a_dot_for_each_model():
    import matplotlib
    matplotlib.use("Agg")
    error, u, _ = made(150)
    found = compare_scores(None, {"a": (error, u), "b$": (error, 2 * u)}, **QUICK)
    ax = found.plot_gains()
    assert {text.get_text() for text in ax.texts} == {"a", r"b\$"} and ax.get_xlabel() == "gain of recalibration in log score"
    with pytest.raises(ValueError, match="fewer than 20"): compare_scores(None, {"a": (error[:9], u[:9]), "b": (error[:9], 2 * u[:9])}, **QUICK).plot_gains()
    assert "<pre>" in found._repr_html_() and len(found.to_frame("pairs")) == 1 and len(found.plot().get_yticklabels()) == 1


# --- the command line ----------------------------------------------------------------------------------------------------------------

@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    error, u, rng = made(150)
    y = rng.normal(10, 2, 150)
    frame = pd.DataFrame({"y": y, "f": y - error, "uf": u, "g": y - error, "ug": 2 * u, "unit": np.arange(150) // 3, "ef": error, "lo": y - 2 * u, "up": y + 2 * u, "lo2": y - u, "up2": y + u,
                          "came": (rng.random(150) < 0.4).astype(int), "p": 0.4, "q": 0.7})
    frame.to_csv("test.csv", index=False)
    return frame


def run(capsys, *args, code=0):
    with pytest.raises(SystemExit) as ended: main(["compare-models", "test.csv", *args])
    said = capsys.readouterr()
    assert ended.value.code == code, said.err
    return said.out if code == 0 else said.err


TWO = ["--observed", "y", "--model", "forest=mean-std:f,uf", "--model", "process=mean-std:g,ug"]


def test_the_command_says_what_the_function_says(table, capsys):
    said = run(capsys, *TWO, "--score", "log", "--groups", "unit", "--n-boot", "499", "--report", "models.html", "--json", "models.json")
    expected = compare_scores(table.y, {"forest": (table.f, table.uf), "process": (table.g, table.ug)}, groups=table.unit.astype(str), n_boot=499, rng=0)
    assert said == expected.screen(f"test.csv: {expected.title}, std taken as normal") + "\n\nReport: models.html\nNumbers: models.json\n" and said.startswith("test.csv: 2 models, 150 rows in 50 clusters, log score")
    numbers, page = json.loads(open("models.json").read()), open("models.html").read()
    assert numbers["conclusion"] == expected.conclusion and numbers["pairs"][0]["n_needed"] is None and numbers["models"][0]["model"] == "forest"
    assert "Which model is better?" in page and "data:image/svg" in page


def test_the_command_takes_errors_intervals_and_probabilities(table, capsys):
    assert "forest is better than process" in " ".join(run(capsys, "--model", "forest=error-std:ef,uf", "--model", "process=error-std:ef,ug", "--score", "crps", "--dof", "6").split())
    assert "2 models, 150 rows, interval score" in run(capsys, "--observed", "y", "--level", "0.95", "--model", "a=intervals:lo,up", "--model", "b=intervals:lo2,up2")
    assert "a is better than b" in run(capsys, "--observed", "came", "--model", "a=prob:p", "--model", "b=prob:q")


@pytest.mark.parametrize("args, message", [
    (["--model", "a=mean-std:f,uf"], "--model must be given at least twice"), (["--model", "a=mean-std:f", "--model", "b=mean-std:g,ug"], "--model must be NAME=KIND:COLUMNS"),
    (["--model", "a=f,uf", "--model", "b=g,ug"], "--model must be NAME=KIND:COLUMNS"), (["--observed", "y", "--model", "a=mean-std:f,uf", "--model", "b=prob:p"], "models must be of one kind"),
    (["--observed", "y", "--model", "a=quantiles:q*", "--model", "b=intervals:lo,up"], "--level must say which intervals"),
    (["--observed", "y", "--model", "a=quantiles:q*", "--model", "b=mean-std:f,uf"], "--model a: the columns must say their level in their names"),
    ([*TWO, "--in-time", "--groups", "f"], "--in-time and --groups"),
    (["--observed", "y", "--model", "a=mean-std:f,uf", "--model", "a=mean-std:g,ug"], "must not name 'a' twice"), ([*TWO, "--score", "best"], "--score must be"),
    ([*TWO, "--score", "brier"], "--score must be"), (["--model", "a=intervals:lo,up", "--model", "b=intervals:lo2,up2"], "--level must say"),
    (["--observed", "came", "--level", "0.9", "--model", "a=prob:p", "--model", "b=prob:q"], "--level is for intervals"), ([*TWO, "--dof", "1"], "--dof must be above 2"), ([*TWO[:4], "--model", "b=mean-std:nothing,uf"], "nothing"), ([*TWO, "--tolerance", "0"], "--tolerance must")])
def test_the_command_refuses_by_name(table, capsys, args, message):
    assert message in run(capsys, *args, code=2)


def test_calibration_that_speaks_against_the_better_model_is_said_and_an_inconclusive_pair_says_who_would_win_recalibrated():
    "Mutation: calling any calibration below its error no sign of one; telling only pairs that differ of mends."
    rng = np.random.default_rng(0)
    u, noise = np.exp(0.3 * rng.normal(size=1000)), rng.normal(size=(2, 1000))
    models = {"A": (-1.1 * u * noise[0], 1.1 * u), "B": (-0.95 * u * noise[1], 0.95 * u / 1.4)}
    log, crps = (compare_scores(np.zeros(1000), models, score=score, n_boot=499, rng=1) for score in ("log", "crps"))
    pair = log.findings[1]
    assert pair.status == "inconclusive" and pair.facts["cause"]["front"] == "B" and pair.facts["cause"]["by"][0] == pytest.approx(0.188, abs=0.001)
    assert log.step.verb == "recalibrate" and log.step.arguments["models"] == ("B",) and log.step.arguments["over"] == ("A",)
    cause = crps["A"].facts["cause"]
    assert cause["part"] == "against" and -0.02 < cause["calibration"][0] < -0.01


@pytest.mark.slow
def test_a_group_of_two_thirds_of_all_rows_does_not_decide():
    "100 sets of two models that differ by chance in each group: 5 % + 3.5 standard errors. Mutation: no look without the group, 17 %."
    unit = np.repeat(np.arange(101), np.r_[2000, np.full(100, 10)])
    better, named = 0, 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 91])
        truth = rng.random(unit.size)
        stated = {name: np.clip(truth + 0.2 * rng.choice([-1, 1], 101)[unit], 0.01, 0.99) for name in "ab"}
        found = compare_scores(rng.random(unit.size) < truth, stated, score="brier", groups=unit, rng=seed, n_boot=299)
        better += found.pairs["verdict"].iloc[0] == "better"
        if found.pairs["reason"].iloc[0] == "rows":
            named += 1
            assert found.deciders == {"kind": "groups", "number": 1, "names": ("0",), "count": 2000, "n": 3000} and found.step.verb == "separate"
    assert better <= 12 and named


def test_a_group_that_says_what_all_say_is_not_named():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(31), np.r_[600, np.full(30, 10)])
    u = np.exp(rng.normal(0, 0.5, 900))
    error = u * rng.standard_normal(900)
    found = compare_scores(None, {"a": (error, u), "b": (error, 3 * u)}, groups=unit, **QUICK)
    assert found.pairs["verdict"].iloc[0] == "better" and found.outcome == "better"


@pytest.mark.parametrize("n, level", [(30, 0.99), (100, 0.999), (300, 0.999)])
def test_narrower_intervals_without_a_miss_are_not_called_better(n, level):
    "Right intervals beside ones that are a fifth too narrow, whose score is worse on average: called better in 38, 42 and 9 of 100 sets by the rows alone. Mutation: limits without (1a)."
    half = scipy.stats.norm.isf((1 - level) / 2)
    for seed in range(25):
        rng = np.random.default_rng(seed)
        width = np.exp(0.3 * rng.standard_normal(n))
        y = width * rng.standard_normal(n)
        found = compare_scores(y, {"right": (-half * width, half * width), "narrow": (-0.8 * half * width, 0.8 * half * width)},
                               score="interval", level=level, n_boot=199, rng=1)
        first = found.pairs.iloc[0]
        assert first["verdict"] == "inconclusive" and first["low"] <= 0 <= first["high"]
        assert (found.findings[1].reason == "unseen") == (first["reason"] == "unseen") and found.step.verb in ("collect", "check")


@pytest.mark.slow
def test_a_rare_event_that_did_not_come_makes_no_model_better():
    "Stated right, and six times too low: called better in 32 of 100 sets. And a model that is wrong without any event is found. Mutation: costs of either model alone, or none."
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right = 0.003 * np.exp(0.5 * rng.standard_normal(300) - 0.125)
        y = (rng.random(300) < right) * 1.0
        for score in ("log loss", "brier"):
            found = compare_scores(y, {"right": right, "low": right / 6}, score=score, n_boot=199, rng=1)
            assert found.pairs["verdict"].tolist() == ["inconclusive"]
    none = np.zeros(300)
    found = compare_scores(none, {"right": np.full(300, 0.001), "wild": np.full(300, 0.5)}, score="log loss", n_boot=199, rng=1)
    assert found.pairs.loc[0, ["verdict", "a"]].tolist() == ["better", "right"]
    found = compare_scores(none, {"right": right, "low": right / 6}, score="log loss", n_boot=199, rng=1)
    assert found["right"].reason == "unseen" and found["right"].low < 0 and found.pairs.loc[0, "seen"] == 0


def test_equal_bounds_are_the_same_and_narrower_ones_win_where_misses_would_show():
    "Thirty-seven rows of 90 % are enough for (1a), twenty are not; equal widths around other middles are not the same although the scores are."
    for n, verdict in ((20, "inconclusive"), (60, "better")):
        ones, y = np.ones(n), np.zeros(n)
        models = {"wide": (-2 * ones, 2 * ones), "narrow": (-ones, ones), "again": (-ones, ones), "aside": (-0.5 * ones, 1.5 * ones)}
        pairs = compare_scores(y, models, score="interval", level=0.9, n_boot=999, rng=1).pairs
        word = {frozenset(pair): word for *pair, word in pairs[["a", "b", "verdict"]].itertuples(index=False)}
        assert word[frozenset(("narrow", "again"))] == "the same" and word[frozenset(("narrow", "aside"))] == "inconclusive"
        assert word[frozenset(("narrow", "wide"))] == verdict


def test_many_events_elsewhere_do_not_stand_for_those_that_never_came():
    "Half of the rows ordinary, where both models say the same, half stated right at .003, or .0002: called better in 41 of 100 sets. Mutation: all events counted."
    for seed in range(25):
        rng = np.random.default_rng([seed, 8])
        right = np.r_[rng.uniform(0.1, 0.9, 300), np.full(300, 0.003)]
        y = (rng.random(600) < right) * 1.0
        models = {"right": right, "sure": np.where(right == 0.003, 0.0002, right)}
        assert compare_scores(y, models, score="log loss", n_boot=199, rng=1).pairs.loc[0, ["verdict", "a"]].tolist() != ["better", "sure"]


def test_what_was_paid_often_enough_changes_no_limit():
    "Right probabilities beside timid and bold ones, 200 rows: limits are those of the bootstrap. Mutation: allowance whatever was paid."
    rng = np.random.default_rng(3)
    p = rng.beta(1, 1, 200).clip(0.02, 0.98)
    y = (rng.random(200) < p) * 1.0
    models = {"right": p, "timid": 0.5 + 0.6 * (p - 0.5), "bold": p**2 / (p**2 + (1 - p)**2)}
    found = compare_scores(y, models, score="log loss", n_boot=199, rng=1)
    assert "seen" not in found.pairs and (found.pairs["reason"] != "unseen").all()


def copied(y, stated, rng, times=10):
    "Each row so many times, shuffled."
    rows = rng.permutation(np.repeat(np.arange(y.size), times))
    return y[rows], {name: tuple(bound[rows] for bound in one) if isinstance(one, tuple) else one[rows] for name, one in stated.items()}


@pytest.mark.parametrize("score, options", [("log loss", {}), ("brier", {}), ("interval", dict(level=0.9))])
def test_copied_rows_of_outcomes_and_intervals_count_once(score, options):
    "Two models as good on average, each row ten times: told apart in 30, 31 and 45 of 60 sets. Mutation: copies looked for among errors alone."
    better = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, 17])
        log_odds, (a, b) = rng.standard_normal(100), 0.7 * rng.standard_normal((2, 100))
        if score == "interval": y, models = np.zeros(100), {"a": (a - 1.15, a + 1.15), "b": (b - 1.15, b + 1.15)}
        else:
            y = (rng.random(100) < scipy.special.expit(log_odds + a + b)) * 1.0
            models = {"a": scipy.special.expit(log_odds + a), "b": scipy.special.expit(log_odds + b)}
        y, models = copied(y, models, rng)
        found = compare_scores(y, models, score=score, n_boot=199, rng=1, **options)
        assert found.n_groups == 100 and [(one.code, one.facts) for one in found.cautions if one.code == "models_repeat"] == [("models_repeat", {"repeated": 900, "n": 1000, "what": "rows"})]
        better += found.pairs["verdict"][0] == "better"
    assert better <= 2, better


def test_equal_rows_that_rounding_makes_are_no_copies():
    "Mutation: any equal rows taken for copies."
    rng = np.random.default_rng(8)
    p = scipy.special.expit(rng.standard_normal(1000))
    y = (rng.random(1000) < p) * 1.0
    rounded = {"a": p.round(1).clip(0.05, 0.95), "b": p.round(2).clip(0.01, 0.99)}
    assert len({*zip(y, *rounded.values())}) < 300
    assert compare_scores(y, rounded, score="brier", n_boot=99, rng=1).n_groups is None
    z = (3 * rng.standard_normal(1000)).round()
    whole = {"a": (z.clip(-1, 1) - 2, z.clip(-1, 1) + 2), "b": (0 * z - 3, 0 * z + 3)}
    assert compare_scores(z, whole, score="interval", level=0.9, n_boot=99, rng=1).n_groups is None


def test_what_was_not_seen_is_not_seen_ten_times():
    "A rare event that did not come, each row ten times: the model that states it six times too low was better in 29 of 100 sets. Mutation: stakes of copies row by row."
    for seed in (0, 2, 8, 12):
        rng = np.random.default_rng(seed)
        right = 0.003 * np.exp(0.5 * rng.standard_normal(300) - 0.125)
        y, models = copied((rng.random(300) < right) * 1.0, {"right": right, "low": right / 6}, rng)
        found = compare_scores(y, models, score="log loss", n_boot=199, rng=1)
        assert found.n_groups == 300 and found.pairs["verdict"].tolist() == ["inconclusive"]


def test_small_stakes_that_were_paid_do_not_hide_large_ones_that_were_not():
    "One row of fifty is stated right at .3, or .0001, and the right model is a little noisy elsewhere: the other was better in 35 of 300 sets. Mutation: (1a) for all rows alone."
    for seed in range(4, 15):
        rng = np.random.default_rng([seed, 6])
        rare = rng.random(300) < 0.02
        log_odds = np.where(rare, np.log(0.3 / 0.7), rng.normal(-1, 1, 300))
        p = scipy.special.expit(log_odds)
        y = (rng.random(300) < p) * 1.0
        noisy = np.where(rare, 0.3, scipy.special.expit(log_odds + 0.5 * rng.standard_normal(300)))
        pair = compare_scores(y, {"noisy": noisy, "sure": np.where(rare, 1e-4, p)}, score="log loss", n_boot=199, rng=1).pairs.iloc[0]
        assert [pair["verdict"], pair["a"]] != ["better", "sure"], seed


def test_calibrated_models_are_not_said_to_differ_by_calibration():
    "Brier score of two perfectly calibrated models, one of which knows more: a part of the difference, or what speaks against it, was calibration in 26 of 200 sets. Mutation: the pair's difference of gains alone."
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    for seed in (4, 43, 44, 49, 58):
        rng = np.random.default_rng([seed, 3])
        log_odds, more = rng.normal(0, 1, 300), 1.2 * rng.standard_normal(300)
        models = {"knows": scipy.special.expit(log_odds + more), "less": scipy.special.expit(log_odds[:, None] + 1.2 * nodes) @ weights / weights.sum()}
        found = compare_scores((rng.random(300) < models["knows"]) * 1.0, models, score="brier", n_boot=199, rng=1)
        assert found["less"].facts["cause"]["part"] == ("possible" if seed in (43, 58) else "none")
        assert found.pairs["verdict"][0] == "better" and found.step.verb == "use" and found.step.arguments["models"] == ("knows",)


def test_few_rows_are_a_caution_that_could_change_the_verdict():
    error, u, _ = made(90)
    found = compare_scores(None, {"a": (error, u), "b": (error, 3 * u)}, **QUICK)
    assert [(one.code, one.facts, one.decides) for one in found.cautions] == [("models_few", {"n": 90, "one_of": "eight"}, True)]


def test_rows_of_one_uncertainty_and_blocks_of_a_stack_count_together_and_are_called_that():
    "Mutation: '0 of 600 None repeat an earlier one'; or stretches of the file taken for conformers that stand in any order, and neighbours called alike."
    rng = np.random.default_rng(0)
    y, u = rng.standard_normal(600), np.exp(0.5 * rng.standard_normal(200))
    z = 0.6 * rng.standard_normal(600) + 0.8 * np.tile(rng.standard_normal(200), 3)
    for order, code in ((np.arange(600), "models_apart"), (rng.permutation(600), "models_shared")):
        spread = np.tile(u, 3)
        a = y - (spread * z)[order]
        found = compare_scores(y, {"a": (a, spread[order]), "b": (a + 0.3 * rng.standard_normal(600), spread[order])}, rng=0)
        assert {one.code for one in found.cautions} == {code}
