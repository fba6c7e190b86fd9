"""Six verbs: the same call for every kind of statement."""
import inspect
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import uqcal
from uqcal import reports, verbs
from uqcal.options import ValidateOptions
from uqcal.statements import Distribution, Intervals, LabelSets, MeanStd, Probabilities, Quantiles, Samples

FAST = ValidateOptions(n_boot=199, n_mc=99, n_resamples=199)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    u = rng.uniform(1, 2, 500)
    y = rng.normal(10, 1.5 * u)
    p = rng.uniform(0.02, 0.98, 500)
    return pd.DataFrame({"y": y, "pred": 10.0, "u": u, "lo": 10 - 1.645 * u, "up": 10 + 1.645 * u, "p": p, "event": (rng.random(500) < p**2).astype(int),
                         "kind": np.where(np.arange(500) % 2, "steel", "glass"), "molecule": np.arange(500) // 2})


def mean_std(table): return MeanStd.from_frame(table, "pred", "u")


def all_kinds(table):
    return {"MeanStd": (table["y"], mean_std(table)), "Intervals": (table["y"], Intervals.from_frame(table, "lo", "up", level=0.9)),
            "Probabilities": (table["event"], Probabilities.from_frame(table, "p")),
            "LabelSets": (table["event"], LabelSets(np.column_stack([table["p"] < 0.9, table["p"] > 0.3]), level=0.9))}


@pytest.mark.parametrize("kind", ["MeanStd", "Intervals", "Probabilities", "LabelSets"])
def test_every_kind_is_validated_with_one_call(table, kind):
    y, statement = all_kinds(table)[kind]
    report = verbs.validate(y, statement, by=table["kind"], groups=table["molecule"], rng=1, options=FAST)
    assert isinstance(report, reports.Report) and report.verdict == "invalid" and report.statement is statement
    lines = str(report).splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert any(one.by == "kind" for one in report.findings)


@pytest.mark.parametrize("kind", ["MeanStd", "Intervals", "Probabilities"])
def test_the_next_step_is_a_line_that_runs_with_the_columns_of_the_table(table, kind):
    y, statement = all_kinds(table)[kind]
    report = verbs.validate(y, statement, rng=1, options=FAST)
    assert report.step.verb == "recalibrate" and all(line in str(report) for line in report.python.split("\n"))
    names = {"recalibrate": lambda *given, **how: verbs.recalibrate(*given, rng=1, **how)}
    shim = type("uqcal", (), {**names, "MeanStd": MeanStd, "Intervals": Intervals, "Probabilities": Probabilities})
    made = eval(report.python, {"uqcal": shim, "df": table})
    assert made.outcome == "recalibrated" and type(made.statement) is type(statement)
    after = verbs.validate(y, made.statement, rng=1, options=FAST)
    assert after.verdict != "invalid"


@pytest.mark.parametrize("kind", ["MeanStd", "Intervals", "Probabilities"])
def test_a_recalibration_is_applied_saved_and_loaded(table, kind, tmp_path):
    y, statement = all_kinds(table)[kind]
    made = verbs.recalibrate(y, statement, rng=1)
    new = statement.take(np.arange(5))
    made.save(tmp_path / "model.json")
    one, other = made.apply(new), verbs.load(tmp_path / "model.json").apply(new)
    for name in statement._rows: assert np.array_equal(getattr(one, name), getattr(other, name)) and not np.array_equal(getattr(one, name), getattr(new, name)) or name == "mean"
    with pytest.raises(TypeError, match="as in the fit"): made.apply(Samples(np.zeros((3, 4)) + np.arange(4)))
    assert made.before and made.after
    json.dumps(made.to_dict())


def test_recalibration_by_group_needs_the_groups_of_new_rows(table):
    wrong = table.assign(event=(np.random.default_rng(2).random(500) < np.where(table["kind"] == "steel", table["p"], table["p"]**3)).astype(int))
    made = verbs.recalibrate(wrong["event"], Probabilities(table["p"]), by=table["kind"], rng=1)
    assert made.by == ("kind",)
    with pytest.raises(ValueError, match="by must hold 'kind'"): made.apply(Probabilities([0.5]))
    with pytest.raises(ValueError, match="by must hold 'kind'"): made.apply(Probabilities([0.5]), by=pd.DataFrame({"a": ["x"], "b": ["y"]}))
    both = made.apply(Probabilities([0.5, 0.5]), by=["steel", "glass"]).prob
    assert both[0] > both[1] + 0.1


def test_what_is_right_is_left_as_it_is():
    rng = np.random.default_rng(3)
    u = rng.uniform(1, 2, 400)
    made = verbs.recalibrate(rng.normal(0, u), MeanStd(0, u), rng=1)
    assert made.outcome == "unchanged" and made.model is None and np.array_equal(made.apply(MeanStd(0, u)).std, u)
    made = verbs.recalibrate(rng.normal(0, u), Intervals(-1.645 * u, 1.645 * u, level=0.9), rng=1)
    assert made.outcome == "unchanged" and "Unchanged" in made.conclusion


@pytest.mark.parametrize("n", [30, 400])
def test_conformal_intervals_cover_new_rows_as_claimed(n):
    "Mean coverage over 60 sets of 30 rows, 20 of 400: its standard error is below .01; a bound of four of them."
    covered = []
    for seed in range(60 if n == 30 else 20):
        rng = np.random.default_rng(seed)
        y, u = rng.gamma(2, 1, n), np.full(n, 2.0)
        made = verbs.conformalize(y, MeanStd(0, u), level=0.8, symmetric=bool(seed % 2), rng=1)
        new = made.apply(MeanStd(0, np.full(500, 2.0)))
        fresh = rng.gamma(2, 1, 500)
        covered.append(np.mean((new.lower <= fresh) & (fresh <= new.upper)))
    assert 0.8 - 0.04 < np.mean(covered) < 0.8 + 2 / (n + 1) + 0.04


@pytest.mark.parametrize("make", [lambda y, rng: Samples(rng.normal(0, 0.5, (y.size, 30))), lambda y, rng: Quantiles(np.tile([-1.0, 0, 1], (y.size, 1)), [0.05, 0.5, 0.95]),
                                  lambda y, rng: Distribution(stats.norm(np.zeros(y.size), 0.5))])
def test_members_quantiles_and_distributions_are_conformalized(make):
    rng = np.random.default_rng(1)
    y = rng.normal(size=400)
    statement = make(y, rng)
    made = verbs.conformalize(y, statement, level=0.9, rng=1)
    assert isinstance(made.statement, Intervals) and 0.86 < np.mean((made.statement.lower <= y) & (y <= made.statement.upper)) < 0.94
    assert isinstance(made.apply(statement.take(np.arange(4))), Intervals)


def test_classes_become_sets_of_labels():
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([1, 1, 1], 600)
    label = np.array(["a", "b", "c"])[[rng.choice(3, p=row) for row in prob]]
    made = verbs.conformalize(label, Probabilities(prob, classes=["a", "b", "c"]), level=0.9, rng=1)
    assert isinstance(made.statement, LabelSets) and "conformal 90 % label sets" in str(made)
    assert made.apply(Probabilities(prob[:3], classes=["a", "b", "c"])).classes.tolist() == ["a", "b", "c"]
    assert verbs.validate(label, Probabilities(prob, classes=["a", "b", "c"]), rng=1)["each class"].part.first in "abc"
    top, p = Probabilities(prob, classes=["a", "b", "c"]).top()
    assert verbs.validate(label == top, Probabilities(p), rng=1, options=FAST).verdict != "invalid"


def test_a_monitor_in_parts_says_what_one_pass_says(tmp_path):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.9, 3000)
    event = rng.random(3000) < np.where(np.arange(3000) < 1500, p, p**2)
    whole = verbs.monitor(event, Probabilities(p))
    assert whole.outcome == "alarm" and 1300 < whole.alarms[0].since < 1600 and len(whole.statement) == 3000
    watch, readings = uqcal.Monitor(), []
    for part in np.array_split(np.arange(3000), 7):
        q = watch.predict(Probabilities(p[part]))
        assert isinstance(q, Probabilities)
        readings.append(watch.update(event[part], Probabilities(p[part])))
        watch.save(tmp_path / "state.json")
        watch = verbs.load(tmp_path / "state.json")
    assert [one.status for one in readings[:3]] == ["quiet"] * 3 and "alarm" in [one.status for one in readings]
    assert str(watch.report()) == str(whole.found)


def test_outcomes_come_later_under_their_keys():
    rng = np.random.default_rng(1)
    watch, u = uqcal.Monitor(), rng.uniform(1, 2, 200)
    error = rng.normal(0, u)
    for k in range(0, 200, 20):
        watch.predict(MeanStd(np.full(20, 5.0), u[k:k + 20]), key=range(k, k + 20))
    reading = watch.update(5.0 + error[::-1], key=range(199, -1, -1))
    assert reading.n == 200 and watch.report().booked == 200
    with pytest.raises(ValueError, match="no open forecast"): watch.update([1.0], key=[3])
    with pytest.raises(TypeError, match="either a statement or the keys"): watch.update([1.0])
    with pytest.raises(TypeError, match="as this monitor is of those"): watch.update([1], Probabilities([0.5]))


def test_models_of_one_kind_are_compared(table):
    right, constant = MeanStd(table["pred"], 1.5 * table["u"]), MeanStd(table["pred"], np.full(500, 0.5))
    found = verbs.compare_models(table["y"], {"right": right, "constant": constant}, rng=1)
    assert found.outcome == "better" and "CRPS" in str(found)
    found = verbs.compare_models(table["event"], {"p": Probabilities(table["p"]), "squared": Probabilities(table["p"]**2)}, rng=1)
    assert found.outcome == "better"
    with pytest.raises(TypeError, match="one kind"): verbs.compare_models(table["y"], {"a": right, "b": right.interval(0.9)})
    with pytest.raises(ValueError, match="one level"): verbs.compare_models(table["y"], {"a": right.interval(0.8), "b": right.interval(0.9)})
    with pytest.raises(TypeError, match="a pair can be"): verbs.compare_models(table["y"], {"a": (table["pred"], table["u"]), "b": right})


def test_groups_are_compared_at_equal_scores(table):
    found = verbs.compare_groups(table["event"], table["p"], by=table["kind"], groups=table["molecule"], rng=1)
    assert found.outcome in ("differ", "no difference found") and len(found.findings) == 2
    one = verbs.compare_groups(table["event"], table["p"], by=table["molecule"] % 3, reference=2, rng=1)
    assert set(one.to_frame("comparisons")["b"]) == {2} and len(one.findings) == 2 and one.settings == {"reference": 2, "rng": 1}
    with pytest.raises(ValueError, match="reference must be one of 'pairs', 'all', 'glass', 'steel'"): verbs.compare_groups(table["event"], table["p"], by=table["kind"], reference="gold")
    with pytest.raises(TypeError, match="needs by"): verbs.compare_groups(table["event"], table["p"])
    with pytest.raises(ValueError, match="by must hold one value"): verbs.compare_groups(table["event"], table["p"], by=["a", "b"])


@pytest.mark.parametrize("verb", ["validate", "recalibrate", "conformalize", "monitor"])
@pytest.mark.parametrize("change, error, match", [
    (lambda y, s: (y, (s.mean, s.std)), TypeError, "a pair can be"),
    (lambda y, s: (y, s.std), TypeError, "write"),
    (lambda y, s: (y[:-1], s), ValueError, "one value for each row"),
    (lambda y, s: (np.full(len(y), np.nan), s), ValueError, "y_true"),
    (lambda y, s: (["a"] * len(y), s), (ValueError, TypeError), "y_true"),
    (lambda y, s: (np.column_stack([y, y]), s), ValueError, "y_true"),
    (lambda y, s: (y.sample(frac=1, random_state=1), MeanStd(pd.Series(s.mean, index=y.index), s.std)), ValueError, "labels|order|index")])
def test_bad_input_is_refused_in_words(table, verb, change, error, match):
    y, statement = change(table["y"], mean_std(table))
    more = {"level": 0.9} if verb == "conformalize" else {}
    with pytest.raises(error, match=match): getattr(verbs, verb)(y, statement, **more)


@pytest.mark.parametrize("more, error, match", [
    ({"by": "kind"}, TypeError, r"write by=df\['kind'\]"), ({"by": ["a", "b"]}, ValueError, "by must hold one value"), ({"groups": [1, 2]}, ValueError, "groups must hold a label"),
    ({"sample_weight": np.ones(500)}, TypeError, "Probabilities only"), ({"tolerance": 0.9}, ValueError, "tolerance"), ({"confidence": 1.5}, ValueError, "confidence")])
def test_bad_settings_are_refused_in_words(table, more, error, match):
    with pytest.raises(error, match=match): verbs.validate(table["y"], mean_std(table), **more)


def test_signatures_have_one_order_and_one_word_for_each_argument():
    for name in ("validate", "recalibrate", "conformalize", "monitor", "compare_models", "compare_groups"):
        given = list(inspect.signature(getattr(verbs, name)).parameters.values())
        assert given[0].name == "y_true" and given[1].name in ("statement", "models", "score")
        assert all(one.kind is one.KEYWORD_ONLY for one in given[2:])


def test_the_top_level_holds_the_verbs_the_statements_and_little_else():
    assert sorted(uqcal.__all__) == sorted([
        "validate", "recalibrate", "conformalize", "monitor", "compare_models", "compare_groups", "Monitor", "RecalibratedClassifier", "MeanStd", "Intervals", "LabelSets",
        "Probabilities", "Quantiles", "Samples", "Distribution", "Report", "read_table", "load_demo", "load"])
    modules = {"statements", "reports", "options", "large", "tests", "metrics", "scores", "maps", "streams", "groups", "checks", "conformal", "datasets"}
    assert modules | set(uqcal.__all__) <= set(dir(uqcal))
    for name in modules: assert getattr(uqcal, name).__doc__
    with pytest.raises(AttributeError, match="mend"): uqcal.mend  # noqa: B018


def test_every_answer_has_a_page_tables_and_numbers(table, tmp_path):
    y, predicted = table["y"], mean_std(table)
    bounds = Intervals.from_frame(table, "lo", "up", level=0.9)
    answers = [verbs.validate(y, predicted, rng=1, options=FAST), verbs.recalibrate(y, predicted, rng=1), verbs.recalibrate(y, bounds, rng=1),
               verbs.recalibrate(table["event"], Probabilities(table["p"]), rng=1), verbs.conformalize(y, predicted, level=0.9, rng=1), verbs.monitor(y, predicted)]
    for k, answer in enumerate(answers):
        page = answer.to_html(tmp_path / f"{k}.html")
        assert answer.headline.split()[0].rstrip(":") in page and (not answer.python or "In Python" in page) and "<svg" not in answer.headline
        assert answer.settings and json.dumps(answer.settings)
        assert answer.n == 500 and len(answer.headline.split()) <= 12 and len(answer.to_frame()) == len(answer.findings)
        json.loads(answer.to_json())
        assert answer.plot() is not None and "<pre>" in answer._repr_html_()
    assert set(answers[0].numbers) == {"zms", "cc", "ence", "zmse"}


def test_conformal_intervals_follow_the_side_and_the_width_that_need_it():
    "Skewed errors move each side by itself; errors that grow with the width move by a share of it, since that scores better out of fold."
    rng = np.random.default_rng(1)
    u = np.exp(rng.normal(0, 1, 600))
    made = verbs.conformalize(rng.normal(0, 2 * u), Intervals(-u, u, level=0.9), level=0.9, rng=1)
    assert made.model.per_width and verbs.conformalize(rng.normal(0, 3, 600), Intervals(-u, u, level=0.9), level=0.9, rng=1).model.per_width is False
    skewed = verbs.conformalize(rng.gamma(1, 2, 600), MeanStd(0, np.ones(600)), level=0.9, rng=1).apply(MeanStd([0.0], [1.0]))
    assert skewed.lower[0] > -0.5 and skewed.upper[0] > 4
    upper = verbs.conformalize(rng.normal(0, 1, 600), Intervals(None, np.zeros(600), level=0.9), level=0.9, rng=1)
    assert np.isneginf(upper.statement.lower).all() and upper.apply(Intervals(None, [0.0], level=0.9)).upper[0] > 1


def test_every_kind_of_stream_draws_its_curve(tmp_path):
    rng = np.random.default_rng(3)
    u, p = rng.uniform(1, 2, 60), rng.uniform(0.1, 0.9, 60)
    y, levels, classes = u * rng.normal(size=60), np.linspace(0.05, 0.95, 7), np.column_stack([p, (1 - p) / 3, 2 * (1 - p) / 3])
    for what, made in ((y, MeanStd(0, u)), (y, Intervals(-1.6 * u, 1.6 * u, level=0.9)), (y, Quantiles(np.outer(u, stats.norm.ppf(levels)), levels=levels)),
                       (y, Samples(u[:, None] * rng.normal(size=(60, 8)))), (y, Distribution(stats.norm(0, u))), ((rng.uniform(size=60) < p).astype(int), Probabilities(p)),
                       ((rng.uniform(size=(60, 1)) > classes.cumsum(axis=1)).sum(axis=1).clip(0, 2), Probabilities(classes))):
        assert "<img" in verbs.monitor(what, made).to_html(), type(made)
