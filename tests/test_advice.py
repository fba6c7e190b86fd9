"""Advice is held against the numbers of its own result, by fields: no model is put in front that its table puts behind, no map is offered that gains nothing."""
import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from uqcal.comparison.model_comparison import compare_scores
from uqcal.corrections.error_recalibration import recalibrate_errors
from uqcal.corrections.probability_recalibration import recalibrate_probabilities
from uqcal.errors.validation import validate_errors
from uqcal.intervals.coverage import interval_report
from uqcal.probabilities.calibration import calibration_report
from uqcal._command.cli import main
from uqcal._base.results import distinct_names, three_digits
from uqcal.corrections.scaling import GroupScaling

KINDS = ("errors", "intervals", "probabilities")


def pair_of_models(kind, seed):
    "Two models of the same rows, one of them often miscalibrated, and how they are to be compared."
    rng = np.random.default_rng([KINDS.index(kind), seed])
    n = int(rng.choice([150, 300, 600]))
    noise, sharper = rng.choice([0, 0.05, 0.2, 0.5]), rng.choice([0.5, 0.8, 1, 1, 1.2, 2], 2)
    if kind == "probabilities":
        z = rng.normal(size=n) - 0.8
        y = (rng.random(n) < expit(z)) * 1
        other = z + noise * rng.normal(size=n)
        line = np.clip(0.5 + 0.19 * other, 0.001, 0.999)
        return y, {"A": expit(sharper[0] * z), "B": line if seed % 2 else expit(sharper[1] * other)}, {"score": ("log loss", "brier")[seed % 3 == 0]}
    u = np.exp(rng.normal(0, 0.4, n))
    y = u * (rng.standard_t(5, n) if seed % 5 == 0 else rng.normal(size=n))
    shift = rng.choice([0, 0, 0.1, 0.5])
    wide = (u * sharper[0], (u if seed % 4 else np.ones(n)) * sharper[1])
    middle = (np.zeros(n), shift + noise * rng.normal(size=n))
    if kind == "errors": return y, dict(zip("AB", zip(middle, wide))), {"score": ("log", "crps")[seed % 2]}
    return y, {name: (m - 1.645 * w, m + 1.645 * w) for name, m, w in zip("AB", middle, wide)}, {"score": "interval", "level": 0.9}


def check_advice(found):
    "What is advised agrees with the table of models beside it."
    board, step = found.models, found.step
    models, recalibrate, over, rivals, needed = (step.arguments[name] for name in ("models", "recalibrate", "over", "rivals", "n_needed"))
    if "recalibrated" not in board: board = board.assign(recalibrated=np.nan, miscalibration=0.0, miscalibration_error=0.0, correction="")  # too few groups to learn from
    is_changed = board["state"] == "recalibrated"
    assert set(board["state"]) <= {"recalibrated", "as it is"}
    assert (board["recalibrated"] < board["score"])[is_changed].all()
    assert (board["miscalibration"] > board["miscalibration_error"])[is_changed].all() and (board["correction"].map(len) > 0)[is_changed].all()
    np.testing.assert_allclose(board["at_best"], board["recalibrated"].where(is_changed, board["score"]))
    pair = found.pairs.iloc[0]
    np.testing.assert_allclose(pair["at_best"], board.at[pair["b"], "at_best"] - board.at[pair["a"], "at_best"], atol=1e-9)  # of scores near 1, which a search has found
    assert set(recalibrate) <= set(models) and is_changed[[*recalibrate, *rivals]].all()
    named = [*models, *rivals]
    if step.verb not in ("check", "separate"): assert board["at_best"].idxmin() in named
    if step.verb == "recalibrate":
        assert models == recalibrate and board.loc[[*models], "at_best"].max() < board.loc[[*over], ["score", "at_best"]].min().min()
    if step.verb == "use":
        assert models[0] == found.best
        assert set(recalibrate) == {name for name in models if is_changed[name]}
        others = found.pairs[(found.pairs["a"] == found.best) & ~found.pairs["b"].isin(models)]
        assert (others["verdict"] == "better").all()
    if step.verb == "collect": assert needed is None or needed > found.n


def seeds(n, kind):
    return [pytest.param(kind, range(k, k + 10), marks=[pytest.mark.slow] if k >= n else [], id=f"{kind}-{k}") for k in range(0, 70, 10)]


@pytest.mark.parametrize("kind, some", [one for kind, n in zip(KINDS, (10, 10, 20)) for one in seeds(n, kind)])
def test_no_advice_contradicts_the_table_beside_it(kind, some):
    "210 simulated pairs, 40 of them fast. Caught: ErrorMap B first: recalibrated it would be the better one' of a B that is behind A as stated."
    for seed in some:
        y, models, options = pair_of_models(kind, seed)
        check_advice(compare_scores(y, models, **options, n_boot=99, rng=seed))


def test_few_rows_teach_no_map_and_none_is_advised():
    y, models, options = pair_of_models("errors", 1)
    found = compare_scores(y[:15], {name: (m[:15], w[:15]) for name, (m, w) in models.items()}, **options, n_boot=99, rng=0)
    check_advice(found)
    assert set(found.models["state"]) == {"as it is"} and not found.step.arguments["recalibrate"] and not found.step.arguments["rivals"]


@pytest.mark.parametrize("seed", [193, 321, 5, 40])
def test_right_probabilities_are_not_behind_noisy_ones_that_no_map_helps(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1000, 2000, 3000]))
    z = rng.normal(size=n) - 0.8
    right = expit(z)
    y = (rng.random(n) < right) * 1
    noisy = z + rng.normal(size=n) * rng.choice([0, 0.05, 0.1, 0.15])
    other = np.clip(0.5 + 0.19 * noisy, 0.001, 0.999) if rng.random() < 0.5 else expit(1.15 * noisy)
    found = compare_scores(y, {"A": right, "B": other}, score="log loss", n_boot=200, rng=0)
    check_advice(found)
    assert "A" in found.step.arguments["models"] and found.step.arguments["recalibrate"] == ()


@pytest.mark.parametrize("half, score", [(0, "log loss"), (1, "log loss"), (0, "brier")])
def test_a_line_of_probabilities_is_not_put_before_a_logistic_curve(half, score):
    "Fair's affairs: by its own table the linear model recalibrated is no better than the logistic one as it is."
    sm = pytest.importorskip("statsmodels.api")
    table = sm.datasets.fair.load_pandas().data
    had = (table.affairs > 0).astype(int).to_numpy()
    inputs = sm.add_constant(table[["rate_marriage", "age", "yrs_married", "children", "religious", "educ"]]).to_numpy()
    fitted = np.arange(len(table)) % 2 == half
    logit = np.round(sm.Logit(had[fitted], inputs[fitted]).fit(disp=0).predict(inputs[~fitted]), 4)
    linear = np.round(sm.OLS(had[fitted], inputs[fitted]).fit().predict(inputs[~fitted]).clip(0.001, 0.999), 4)
    found = compare_scores(had[~fitted], {"logit": logit, "linear": linear}, score=score, n_boot=500, rng=0)
    check_advice(found)


def test_three_models_are_advised_by_their_better_states():
    rng = np.random.default_rng(3)
    u = np.exp(rng.normal(0, 0.4, 600))
    z = rng.normal(size=600)
    found = compare_scores(None, {"right": (u * z, u), "sharp": (0.6 * u * z, 0.1 * u), "sharper": (0.5 * u * z, 0.09 * u)}, n_boot=99, rng=0)
    assert found.best == "right" and found.step.verb == "recalibrate" and found.step.arguments["recalibrate"] == ("sharper",)
    assert found.step.arguments["over"] == ("right",) and found.models["at_best"].idxmin() == "sharper"


# --- names -----------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("a, b", [("gradient boosted trees, all descriptors, 500 rounds", "gradient boosted trees, all descriptors, 900 rounds"),
                                  ("x" * 30 + "1" + "y" * 30, "x" * 30 + "2" + "y" * 30), ("x" * 60, "x" * 61)])
def test_two_models_stay_different_in_every_sentence(a, b):
    rng = np.random.default_rng(0)
    u = np.exp(rng.normal(0, 0.3, 200))
    error = u * rng.normal(size=200)
    found = compare_scores(None, {a: (error, u), b: (error, 2 * u)}, rng=0, n_boot=99)
    shown = distinct_names(sorted([a, b]))
    assert shown[a] != shown[b] and max(map(len, shown.values())) < 50
    assert found.conclusion == f"{shown[a]} is better than {shown[b]} in log score." and found.step.sentence.startswith(f"Use {shown[a]}.")
    assert found.best == a and set(found.models.index) == {a, b}
    with pytest.raises(ValueError) as refused: compare_scores(None, {a: (error, u), b: (error[:-1], u[:-1])})
    assert repr(shown[a]) in str(refused.value) and repr(shown[b]) in str(refused.value)


def test_labels_of_two_models_with_long_names_are_both_compared():
    "Caught: columns were kept by the first forty letters of a name, so that one model's labels were not looked at."
    rng = np.random.default_rng(0)
    e, u = pd.Series(rng.normal(size=30)), pd.Series(np.ones(30))
    turned = u.iloc[::-1]
    with pytest.raises(ValueError, match="labels|index"): compare_scores(None, {"x" * 50 + "1": (e, turned), "x" * 50 + "2": (e, u)})


def test_groups_with_long_names_stay_different():
    rng = np.random.default_rng(0)
    e, u = rng.normal(size=300), np.ones(300)
    groups = np.array([f"hospital of the university {k}" for k in (1, 2, *range(3, 43))])[np.r_[np.zeros(100, int), np.ones(100, int), 2 + np.arange(100) % 40]]
    other = np.where(np.arange(300) < 200, 0.5, 2.0)
    found = compare_scores(None, {"a": (e, u), "b": (e * other, u)}, groups=groups, n_boot=99, rng=0)
    assert found.deciders["kind"] == "groups" and found.deciders["number"] == 2 and found.step.verb == "separate"
    assert [name[-8:] for name in found.deciders["names"]] == ["ersity 1", "ersity 2"]


# --- the command -----------------------------------------------------------------------------------------------------------------------

def said(capsys, *options):
    with pytest.raises(SystemExit) as ended: main(["compare-models", "two.csv", "--observed", "y", *options, "--n-boot", "199"])
    out, err = capsys.readouterr()
    assert ended.value.code == 0, err
    return out


@pytest.mark.parametrize("front, other", [("net", "net2"), ("net", "forest"), ("Recalibrate net2 first", "net2"), ("x" * 50 + "1", "x" * 50 + "2")])
def test_the_command_concerns_the_model_that_the_sentence_names(tmp_path, monkeypatch, capsys, front, other):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y, eps, eps2 = rng.normal(0, 3, 2000), rng.normal(size=2000), rng.normal(size=2000)
    pd.DataFrame({"y": y, "p1": y + eps, "u1": 0.8, "p2": y + 0.7 * eps2, "u2": 0.3}).to_csv("two.csv", index=False)
    out = said(capsys, "--model", f"{front}=mean-std:p1,u1", "--model", f"{other}=mean-std:p2,u2", "--score", "log", "--json", "found.json", "--report", "found.html")
    step, page = json.loads(open("found.json").read())["step"], open("found.html").read()
    assert step["verb"] == "recalibrate" and step["arguments"]["recalibrate"] == [other] and step["arguments"]["over"] == [front]
    for text in (out, page): assert "--predicted p2 --std u2" in text and "--predicted p1" not in text and "lower is better" in " ".join(text.split())


def test_each_of_two_models_that_gain_has_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    y, e = rng.normal(0, 3, 400), rng.normal(size=400)
    pd.DataFrame({"y": y, "p1": y + e, "u1": 0.5, "p2": y + e, "u2": 0.5}).to_csv("two.csv", index=False)
    out = said(capsys, "--model", "a=mean-std:p1,u1", "--model", "b=mean-std:p2,u2", "--score", "log")
    assert "--predicted p1 --std u1" in out and "--predicted p2 --std u2" in out and "--out recalibrated_2.csv --model model_2.json" in out


# --- what other answers advise ---------------------------------------------------------------------------------------------------------

def errors_of(seed):
    "A set of errors and uncertainties: perfect, of another size, biased, heavy-tailed, or flat."
    rng = np.random.default_rng([seed, 1])
    n = int(rng.choice([60, 200, 500]))
    u = np.exp(rng.normal(0, 0.4, n))
    z = rng.standard_t(4, n) if seed % 5 == 0 else rng.normal(size=n)
    return u * (z * rng.choice([0.7, 1, 1, 1.4]) + rng.choice([0, 0, 0.4])), u if seed % 7 else np.full(n, u.mean())


QUICK = {"n_boot": 199, "n_resamples": 199}


def sets(first, step):
    "Fifty sets in parts, of which the first alone is fast."
    parts = [range(first), *(range(k, min(k + step, 50)) for k in range(first, 50, step))]
    return [pytest.param(one, marks=[pytest.mark.slow] if k else [], id=f"from {one[0]}") for k, one in enumerate(parts)]


@pytest.mark.parametrize("some", sets(3, 10))
def test_a_mend_of_errors_is_one_that_gains(some):
    "Fifty sets. What is chosen gains more than its standard error, and leaves no more faults than there were."
    for seed in some:
        error, u = errors_of(seed)
        found = recalibrate_errors(error, u, rng=seed, **QUICK)
        table = found.candidates
        assert (table["gap"] >= 0).all() and table["gap"].min() == 0 and table["gain"].idxmax() == table["gap"].idxmin()
        np.testing.assert_allclose(table["gain"] + table["gap"], table["gain"].max(), atol=1e-9)
        assert table.at["as stated", "gain"] == 0
        if found.is_recalibrated:
            row = table.loc[found.chosen]
            assert row["gain"] > row["gain_error"] > 0
            before, after = found.faults
            assert len(after) <= len(before)


@pytest.mark.parametrize("some", sets(6, 22))
def test_what_validate_offers_is_for_a_fault_that_it_shows(some):
    "Fifty sets: a correction is offered only where an answer that one can correct is invalid."
    for seed in some:
        error, u = errors_of(seed)
        found = validate_errors(error, u, rng=seed, statistics=["zms"], n_mc=99, **QUICK)
        wrong = {one.name for one in found.findings if one.status == "invalid"} - {"ranking"}
        if found.step.verb == "recalibrate": assert wrong and not any(one.reason in ("rows", "signs") for one in found.findings)


@pytest.mark.parametrize("some", sets(50, 50))
def test_a_mend_of_intervals_is_one_that_gains(some):
    "Fifty sets: what `interval_report` tries is beside what it gained, and what it would keep is the best of that."
    for seed in some:
        error, u = errors_of(seed)
        wide = 1.645 * u
        found = interval_report(error, np.stack([-wide, wide], axis=1), level=0.9, rng=seed)
        assert found.corrections is None or found.verdict == "invalid"
        if found.corrections is None: continue
        table = found.corrections.set_index("name")
        np.testing.assert_allclose(table["gain"], table.at["unchanged", "score"] - table["score"], atol=1e-9)  # lower is better
        best = table.loc[table["score"].idxmin()]
        assert (found.correction is not None) == (best["gain"] > best["gain_error"])


@pytest.mark.parametrize("some", sets(4, 23))
def test_a_mend_of_probabilities_is_offered_for_a_fault_only(some):
    "Fifty sets."
    for seed in some:
        y, models, _ = pair_of_models("probabilities", seed)
        found = calibration_report(y, models["B"], rng=seed, **QUICK)
        asked = [one for one in found.findings if one.status != "fact"]
        if found.recalibrated_by is not None: assert found.tests.pvalue <= 0.05 and any(one.status == "invalid" for one in asked)
        shown = {one.name for one in asked if one.shows_fault and one.direction != "reversed"}
        assert all(found[name].pvalue <= 0.05 for name in shown) and (found.tests.pvalue <= 0.05) == bool(shown)
        recalibrated = recalibrate_probabilities(y, models["B"], rng=seed, **QUICK)
        row = recalibrated.candidates.loc[recalibrated.chosen]
        if recalibrated.is_recalibrated: assert row["gain"] > 0 and recalibrated.before.verdict != "valid"
        assert recalibrated.candidates["gap"].min() == 0


# --- what is said is what was found ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("seed, n", [(0, 60), pytest.param(2, 2000, marks=pytest.mark.slow), (5, 600)])
def test_without_conclusions_nothing_is_said_of_what_columns_cannot_tell(seed, n):
    rng = np.random.default_rng(seed)
    u = np.exp(rng.normal(0, 0.4, n))
    error = u * rng.standard_normal(n)
    found = validate_errors(error, u, rng=0, conclusions=False, n_boot=199, n_mc=999)
    assert all(one.kind == "scores" and one.status != "invalid" for one in found.findings)
    assert (found.step.verb, found.step.why) == ("validate", "conclusions")
    assert validate_errors(error, u, rng=0, statistics=["zms"], n_mc=99, **QUICK).step.why != "conclusions"


@pytest.mark.parametrize("seed", [5, 6, 8])
def test_a_bias_that_is_not_found_has_the_limits_of_the_mean_and_of_a_fifth(seed):
    rng = np.random.default_rng(seed)
    u = np.exp(rng.normal(0, 0.4, 600))
    error = u * rng.standard_normal(600)
    bias = validate_errors(error, u, rng=0, statistics=["zms"], n_boot=199, n_mc=99, n_resamples=999)["bias"]
    test, side = bias.test, np.sign(bias.estimate)
    whole, local = max(-bias.low, bias.high), max(-test.stretch_interval.low, test.stretch_interval.high)
    assert bias.status == "valid" and whole <= bias.tolerance < local
    assert bias.excluded_beyond == local and bias.facts["covers"]["kind"] == "fifths"
    near, away = sorted([side * bias.low, side * bias.high])
    near_alone, away_alone = sorted([side * test.confidence_interval.low, side * test.confidence_interval.high])
    assert near <= min(near_alone, 0) and bias.estimate * side < away < away_alone  # joint toward zero, one-sided away from it
    assert bias.line.index("mean error") < bias.line.index("in the worst fifth of the rows")


@pytest.mark.parametrize("sizes", [{"steel": 1.5, "glass": 1.3, "wood": 1.9}, {"a": 1.0, "b": 1.0, "c": 3.0}, {k: 1 + k / 10 for k in range(12)}])
def test_a_sentence_on_groups_names_what_each_group_gets(sizes):
    "Caught: 'times 1.58; 1.34 in glass and 1.82 in wood', where steel gets 1.53."
    rng = np.random.default_rng(2)
    kind = np.repeat(np.array([str(name) for name in sizes], dtype=object), 150)
    u = np.exp(rng.normal(0, 0.3, kind.size))
    found = GroupScaling().fit(u, np.repeat([*sizes.values()], 150) * u * rng.normal(size=kind.size), {"kind": kind})
    own = dict(zip(map(str, found.labels_), found.factor_[:-1]))
    effect = found.effect
    assert effect["common"] == found.factor_[-1] and all(factor == own[name] for name, factor in effect["factors"])
    named = {name for name, _ in effect["factors"]}
    if len(own) <= 4: assert named == set(own) and not effect["others"]
    else:
        rest = [own[name] for name in own if name not in named]
        assert (effect["lowest"], effect["highest"], effect["others"]) == (min(rest), max(rest), len(rest))
    assert all(f"× {three_digits(factor)} in {name}" in found.sentence for name, factor in effect["factors"])


@pytest.mark.parametrize("low, high, events", [(0.85, 0.95, 5), (0.3, 0.9, 60), (0.001, 0.3, 200)])
def test_the_cards_on_calibration_take_the_statuses(low, high, events):
    rng = np.random.default_rng(0)
    y = np.r_[np.zeros(500), np.ones(events)].astype(int)
    found = calibration_report(y, rng.uniform(low, high, y.size).round(3), rng=0, **QUICK)
    cards = dict(re.findall(r"<li><strong>([^<]+)</strong>\s*<span class=\"badge (\w+)\">", found.to_html()))
    assert found.verdict == "invalid" and found.tests.of("kuiper") < 0.05 and cards["Overall"] == cards["Locally"] == "invalid"
    assert cards == {one.name.capitalize(): one.status for one in found.findings if one.status != "fact"}
    right = rng.uniform(0.1, 0.9, 400)
    fine = calibration_report((rng.random(400) < right) * 1, right, rng=0, **QUICK)
    assert dict(re.findall(r"<li><strong>([^<]+)</strong>\s*<span class=\"badge (\w+)\">", fine.to_html())).keys() == cards.keys() and "invalid" not in {one.status for one in fine.findings}
