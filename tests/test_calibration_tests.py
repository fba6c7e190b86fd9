"""Tests of calibration: their formulas, their level, ties and weights, and whatever may come in."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from statsmodels.stats.multitest import multipletests

from uqcal.probabilities import calibration_tests as ct
from uqcal.probabilities import walk as wk
from uqcal._chance.brownian import kolmogorov_smirnov_null, kuiper_null
from uqcal.probabilities.calibration import calibration_report
from uqcal.subgroups.cumulative import calibration_graph

Y, P = [1, 0, 1, 0, 1, 0], [0.8, 0.3, 0.5, 0.5, 0.7, 0.1]
THREE = {"kolmogorov_smirnov": ct.kolmogorov_smirnov_test, "kuiper": ct.kuiper_test, "spiegelhalter": ct.spiegelhalter_test}
FUNCTIONS = {
    **{name: lambda y, p, w=None, f=f: f(y, p, sample_weight=w, n_resamples=19, rng=1) for name, f in THREE.items()},
    "calibration_tests": lambda y, p, w=None: ct.binary_calibration_tests(y, p, sample_weight=w, n_resamples=19, rng=1),
    "cumulative_differences": lambda y, p, w=None: wk.cumulative_differences(y, p, sample_weight=w),
}


def slow(y, p, w):
    "Cumulative differences at the ends of groups, scale, and the three statistics, by the document's formulas with weights."
    y, p, w = (list(map(float, v)) for v in (y, p, w))
    total = sum(w)
    c = [sum(wi * (yi - pi) for yi, pi, wi in zip(y, p, w) if pi <= s) / total for s in sorted(p)]
    sigma = sum(wi * wi * pi * (1 - pi) for pi, wi in zip(p, w))**0.5 / total
    brier = sum(wi * (yi - pi)**2 for yi, pi, wi in zip(y, p, w)) / total
    expected = sum(wi * pi * (1 - pi) for pi, wi in zip(p, w)) / total
    spread = sum((wi * (1 - 2 * pi))**2 * pi * (1 - pi) for pi, wi in zip(p, w))**0.5 / total
    return c, sigma, (max(map(abs, c)) / sigma, (max([0, *c]) - min([0, *c])) / sigma, (brier - expected) / spread)


def calibrated(seed, n, digits=None, weighted=False):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n) if digits is None else rng.uniform(size=n).round(digits)
    return (rng.uniform(size=n) < p).astype(float), p, rng.exponential(size=n) if weighted else np.ones(n), rng


@pytest.mark.parametrize("digits", [None, 2, 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [7, 150])
def test_statistics_agree_with_the_slow_twin(n, digits, weighted):
    y, p, w, _ = calibrated(1, n, digits, weighted)
    c, sigma, statistics = slow(y, p, w)
    np.testing.assert_allclose(wk.cumulative_differences(y, p, sample_weight=w), c, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(wk.length_scale(p, sample_weight=w), sigma, rtol=1e-12)
    found = ct.binary_calibration_tests(y, p, sample_weight=w, n_resamples=9, rng=1)
    np.testing.assert_allclose(found.to_frame()["statistic"], statistics, rtol=1e-12)
    np.testing.assert_allclose(found.kuiper.scale, sigma, rtol=1e-12)
    for name, test in THREE.items():
        one, same = test(y, p, sample_weight=w, n_resamples=99, rng=3), getattr(ct.binary_calibration_tests(y, p, sample_weight=w, n_resamples=99, rng=3), name)
        assert one == same


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_every_shape_are_sorted_and_ties_stay_in_the_order_of_their_rows(weighted):
    rng = np.random.default_rng(2)
    shapes = (rng.uniform(size=5000), rng.beta(0.01, 0.01, 5000), rng.uniform(size=5000) * 1e-9, rng.uniform(size=5000).round(1), np.full(500, 0.3),
              np.sort(rng.uniform(size=500)), np.sort(rng.uniform(size=500))[::-1].copy(), np.array([0.0, 1.0]), np.array([1.0]), 1 - rng.uniform(size=3000) * 1e-12,
              rng.lognormal(0, 5, 3000), np.where(rng.uniform(size=3000) < 0.5, 0.3, rng.uniform(size=3000)), rng.uniform(size=3000) * 5e-324 * 100,
              rng.choice([-1e150, 0.0, 1e-150, 1e150], 3000))
    for score in shapes:
        row, weight = np.arange(float(score.size)), rng.uniform(size=score.size) if weighted else np.empty(0)
        order = np.argsort(score, kind="stable")
        s, r, w = wk._sort_by_score(score, row, weight)
        np.testing.assert_array_equal(s, score[order])
        np.testing.assert_array_equal(r, order)
        np.testing.assert_array_equal(w, weight[order] if weighted else weight)


@pytest.mark.parametrize("n", [1, 2, 20, 1000, 6000])
@pytest.mark.parametrize("weighted, digits", [(False, None), (False, 1), (True, None), (True, 1)])
@pytest.mark.parametrize("method", ["auto", "asymptotic", "exact"])
def test_one_statistic_has_one_pvalue_whichever_page_is_asked(n, weighted, digits, method):
    y, p, w, _ = calibrated(20, n, digits, weighted)
    p, settings_ = p.clip(0.05, 0.95), dict(sample_weight=w, method=method, n_resamples=199, rng=3)
    graph = calibration_graph(y, p, **settings_)
    kuiper, largest = ct.kuiper_test(y, p, **settings_), ct.kolmogorov_smirnov_test(y, p, **settings_)
    assert (graph.kuiper_pvalue, graph.kolmogorov_smirnov_pvalue) == (kuiper.pvalue, largest.pvalue)
    assert (graph.method, graph.n_resamples) == (kuiper.method, kuiper.n_resamples)
    np.testing.assert_allclose([graph.kuiper / graph.null_scale, graph.kolmogorov_smirnov / graph.null_scale], [kuiper.statistic, largest.statistic], rtol=1e-12)
    np.testing.assert_allclose(graph.null_scale, kuiper.scale, rtol=1e-12)
    if n in (20, 6000):
        report = calibration_report(y, p, n_bins=4, n_boot=9, **settings_)
        np.testing.assert_allclose(report.tests.statistics[:2], [largest.statistic, kuiper.statistic], rtol=1e-9)


def test_asymptotic_pvalues_are_those_of_the_limits():
    y, p, _, _ = calibrated(3, 300)
    found = ct.binary_calibration_tests(y, p, method="asymptotic")
    assert found.kolmogorov_smirnov.pvalue == kolmogorov_smirnov_null.sf(found.kolmogorov_smirnov.statistic)
    assert found.kuiper.pvalue == kuiper_null.sf(found.kuiper.statistic)
    sides = [ct.spiegelhalter_test(y, p, alternative=a, method="asymptotic").pvalue for a in ("two-sided", "greater", "less")]
    np.testing.assert_allclose([2 * min(sides[1:]), sides[1] + sides[2]], [sides[0], 1])


def test_exact_pvalues_are_those_of_all_outcomes():
    "With eight points all 256 outcomes can be weighed by their probabilities."
    p, w = np.array([0.1, 0.2, 0.2, 0.35, 0.5, 0.5, 0.7, 0.9]), np.array([1, 2, 2, 1, 1, 3, 1, 1.0])
    y = np.array([1, 0, 1, 0, 1, 1, 1, 0.0])
    outcomes = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(float)
    chance = np.where(outcomes == 1, p, 1 - p).prod(axis=1)
    statistics = np.array([slow(o, p, w)[2] for o in outcomes])
    observed = np.array(slow(y, p, w)[2])
    found = ct.binary_calibration_tests(y, p, sample_weight=w, method="exact", n_resamples=200_000, rng=4).to_frame()["pvalue"]
    true = [chance[np.abs(statistics[:, k]) >= abs(observed[k]) - 1e-9].sum() for k in range(3)]
    np.testing.assert_allclose(found, true, atol=4 * 0.5 / 200_000**0.5)
    less = ct.spiegelhalter_test(y, p, sample_weight=w, alternative="less", method="exact", n_resamples=200_000, rng=5).pvalue
    np.testing.assert_allclose(less, chance[statistics[:, 2] <= observed[2] + 1e-9].sum(), atol=4 * 0.5 / 200_000**0.5)


def test_auto_draws_where_steps_are_few():
    y, p, _, _ = calibrated(5, 20_000)
    assert {t.method for t in (ct.kuiper_test(y, p), ct.kolmogorov_smirnov_test(y, p), ct.spiegelhalter_test(y, p))} == {"asymptotic"}
    rounded = ct.binary_calibration_tests(y, p.round(1).clip(0.05, 0.95), n_resamples=19, rng=1)
    assert (rounded.kuiper.method, rounded.kolmogorov_smirnov.method, rounded.spiegelhalter.method) == ("exact", "exact", "asymptotic")
    assert ct.kuiper_test(y[:2000], p[:2000], n_resamples=19).method == "exact"
    assert ct.kuiper_test(np.zeros(20_000), p * 1e-5, n_resamples=19).method == "exact"


def test_seeds_and_jobs():
    y, p, w, _ = calibrated(6, 30_000, 2, True)
    results = [ct.binary_calibration_tests(y, p, sample_weight=w, method="exact", n_resamples=200, rng=7, n_jobs=k).to_frame()["pvalue"].tolist() for k in (1, 2)]
    assert results[0] == results[1] != ct.binary_calibration_tests(y, p, sample_weight=w, method="exact", n_resamples=200, rng=8).to_frame()["pvalue"].tolist()


def test_weights_of_zero_do_not_count():
    y, p, w, _ = calibrated(9, 40, 1, True)
    more = ct.binary_calibration_tests([*y, 1, 0], [*p, 0.0, 1.0], sample_weight=[*w, 0, 0], n_resamples=99, rng=1)
    assert more == ct.binary_calibration_tests(y, p, sample_weight=w, n_resamples=99, rng=1)
    assert more.kuiper.n == 40


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("method", ["auto", "asymptotic", "exact"])
def test_the_impossible_has_no_probability(name, method):
    one = THREE[name]([1, 0, 1], [0.0, 0.4, 0.7], method=method)
    assert one.pvalue == 0 and one.method == "contradiction" and one.contradicted == 1
    np.testing.assert_allclose(one.statistic, slow([1, 0, 1], [0.0, 0.4, 0.7], [1, 1, 1])[2][list(THREE).index(name)])
    assert THREE[name]([0, 0, 1, 1], [0.0, 0.4, 0.7, 1.0], method=method, rng=1).pvalue > 0.1


def test_what_has_no_variance_is_refused():
    for test in THREE.values():
        with pytest.raises(ValueError, match="variance"): test([0, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="1/2"): ct.spiegelhalter_test([0, 1, 1], [0.5, 0.5, 1.0])
    with pytest.raises(ValueError, match="variance"): ct.binary_calibration_tests([0, 1], [0.0, 1.0])
    halves = ct.binary_calibration_tests([0, 1, 1], [0.5, 0.5, 1.0], rng=1)
    assert halves.spiegelhalter is None and list(halves.to_frame().index) == ["kolmogorov_smirnov", "kuiper"] and "Spiegelhalter" not in halves.sentence and "nan" not in halves.sentence
    assert ct.kuiper_test([0, 1, 1], [0.5, 0.5, 1.0], rng=1).pvalue > 0.5


@pytest.mark.parametrize(("stretched", "says"), [
    (1.175, "none of 3 tests rejects at 5 % (corrected by Holm)"), (1.2, ": Kolmogorov–Smirnov and Kuiper reject calibration"),
    (1.35, "Kolmogorov–Smirnov, Kuiper and Spiegelhalter reject calibration")])
def test_three_tests_together_say_what_they_found(stretched, says):
    p = np.random.default_rng(1).random(500)
    y = np.random.default_rng(2).random(500) < p
    found = ct.binary_calibration_tests(y, p**stretched, method="asymptotic")
    raw = [found.kolmogorov_smirnov.pvalue, found.kuiper.pvalue, found.spiegelhalter.pvalue]
    assert says in found.sentence and found.sentence.startswith("500 rows: ") and f"Kuiper {raw[1]:.2g}" in found.sentence
    assert min(raw) < 0.05 and multipletests(raw, method="holm")[0].sum() == sum(name in says for name in ct.TITLES.values())


@pytest.mark.parametrize(("call", "named"), [
    (lambda: ct.kuiper_test(Y, P, method="fast"), "method"),
    (lambda: wk.Walk.of(Y, P).statistic("range"), "name"),
    (lambda: ct.spiegelhalter_test(Y, P, alternative="both"), "alternative"),
])
def test_bad_settings_are_refused(call, named):
    with pytest.raises((ValueError, TypeError), match=named): call()


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_input_gives_a_result_without_nan_or_a_clear_error(name, data):
    n = data.draw(st.integers(0, 9))
    p = data.draw(arrays(float, n, elements=st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 0.3, 1e-300, 5e-324, 1 - 1e-16]))))
    y = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0])))
    w = data.draw(st.one_of(st.none(), arrays(float, n, elements=st.one_of(st.floats(0, 1e150), st.sampled_from([0.0, 1.0, 1e-150])))))
    with np.errstate(all="raise", under="ignore"):
        try: result = FUNCTIONS[name](y, p, w)
        except (ValueError, TypeError) as error: assert str(error)
        else:
            numbers = result if isinstance(result, np.ndarray) else result.to_frame()[["statistic", "pvalue", "scale"]].to_numpy(float)
            assert np.isfinite(numbers).all()


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), digits=st.sampled_from([None, 2, 1]))
def test_order_and_scale_of_weights_do_not_matter(seed, digits):
    y, p, w, rng = calibrated(seed, 30, digits, True)
    order = rng.permutation(30)
    one = ct.binary_calibration_tests(y, p, sample_weight=w, n_resamples=1, rng=1).to_frame()["statistic"]
    other = ct.binary_calibration_tests(y[order], p[order], sample_weight=1e30 * w[order], n_resamples=1, rng=1).to_frame()["statistic"]
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)


def test_top_label_and_classes():
    rng = np.random.default_rng(10)
    prob = rng.dirichlet(np.ones(4), size=400)
    label = (prob.cumsum(axis=1) < rng.uniform(size=(400, 1))).sum(axis=1).clip(0, 3)
    result = ct.multiclass_calibration_tests(label, prob, n_resamples=199, rng=1)
    table = result.to_frame()
    assert (result.n, result.n_classes) == (400, 4) and list(table.index.unique("statement")) == ["top label", 0, 1, 2, 3]
    for name in THREE:
        one = table.xs(name, level="test")
        np.testing.assert_allclose(one.loc[2, "statistic"], getattr(ct.binary_calibration_tests(label == 2, prob[:, 2], n_resamples=1), name).statistic)
    np.testing.assert_allclose(table["adjusted"], multipletests(table["pvalue"], method="holm")[1], rtol=1e-12)
    top = ct.kuiper_test(label == prob.argmax(axis=1), prob.max(axis=1), n_resamples=1)
    assert table.loc[("top label", "kuiper"), "statistic"] == top.statistic
    for y, p, named in ((label, prob[:, 0], "y_prob"), (label, prob * 0.9, "y_prob"), (label + 1, prob, "y_true"), (label[1:], prob, "length"), (label + 0.5, prob, "y_true"),
                        (label, prob - 0.5, "y_prob")):
        with pytest.raises(ValueError, match=named): ct.multiclass_calibration_tests(y, p)
    assert result.plot().get_xlabel() and ct.binary_calibration_tests(Y, P, rng=1, n_resamples=9).plot().get_xlabel() and "Kuiper" in ct.kuiper_test(Y, P, rng=1)._repr_html_()


def classes_of(n, n_classes, seed, more=25.0):
    "Labels and stated probabilities, of which those of class 7 are too small by a factor of odds."
    rng = np.random.default_rng(seed)
    prob = np.exp(rng.standard_normal((n, n_classes)))
    prob /= prob.sum(axis=1, keepdims=True)
    true = prob * np.where(np.arange(n_classes) == 7, more, 1.0)
    true /= true.sum(axis=1, keepdims=True)
    return (rng.random(n)[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1), prob


def test_a_fault_of_one_class_is_seen_however_many_classes_there_are():
    "Catches p-values of 199 sets that a correction for 123 tests can never bring below 5 %, and all tests drawn anew."
    found = ct.multiclass_calibration_tests(*classes_of(300, 40, 0), n_resamples=199, rng=0)
    assert "rejected at 5 % for class 7" in found.sentence and "cannot" not in found.sentence
    drawn = found.table["n_resamples"]
    assert drawn[7, "kuiper"] == 12300 and drawn["top label", "kuiper"] == 199 and (drawn == 199).mean() > 0.8
    right = ct.multiclass_calibration_tests(*classes_of(300, 40, 1, 1.0), n_resamples=199, rng=0)
    assert right.sentence.startswith("300 rows, 40 classes: ") and "class 7" not in right.sentence


def test_what_no_draws_could_reject_is_said_to_be_inconclusive(monkeypatch):
    "Catches 'no test rejects' where more sets are not affordable."
    monkeypatch.setattr(ct, "_FURTHER", 0)
    found = ct.multiclass_calibration_tests(*classes_of(300, 40, 0), n_resamples=199, rng=0)
    assert found.sentence.startswith("300 rows, 40 classes: inconclusive at 5 % with 199 draws for ") and "class 7" in found.sentence
    assert found.sentence.endswith("; no other test rejects at 5 %")


@pytest.mark.parametrize("names", [["x", "Y <b>", "$z", "w"], [1, 2, 3, 4], [2.5, 0.5, -1.0, 7.0], np.array(["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"], dtype="datetime64[ns]")])
def test_classes_have_names_of_any_kind(names):
    "Labels in an order of their own: numbers, p-values and rows are those of the columns."
    rng = np.random.default_rng(11)
    prob = rng.dirichlet(np.ones(4), size=300)
    label = (prob.cumsum(axis=1) < rng.uniform(size=(300, 1))).sum(axis=1).clip(0, 3)
    prob[7] = [0.5, 0.5, 0, 0]
    label[7] = 3
    plain, named = (ct.multiclass_calibration_tests(y, prob, classes=c, n_resamples=99, rng=1) for y, c in ((label, None), (np.asarray(names)[label], names)))
    shown = [str(one) if hasattr(one, "astype") and np.asarray(names).dtype.kind == "M" else one for one in names]
    assert [str(one)[:10] for one in named.table.index.unique("statement")[1:]] == [str(one)[:10] for one in shown]
    for column in ("statistic", "pvalue", "adjusted"): np.testing.assert_array_equal(named.table[column], plain.table[column])
    assert list(named.impossible.values()) == [(7,)] and f"class {str(shown[3])[:10]}" in named.sentence
    assert "<b>" not in named._repr_html_().replace("<b>class", "") and named.plot().figure.canvas.draw() is None
    with pytest.raises(ValueError, match="y_true must hold labels that are in classes"): ct.multiclass_calibration_tests(np.asarray(names)[label], prob[:, [0, 1, 2]] / prob[:, :3].sum(axis=1, keepdims=True), classes=names[:3])


def test_outcome_and_probability_are_sorted_as_one_number():
    "Zeros of both signs, the smallest doubles, one, ties and neighbours of a tie: the order and every bit are those of numpy's stable sort; within a tie outcomes may change places."
    rng = np.random.default_rng(14)
    p = np.r_[0.0, -0.0, 5e-324, 1e-300, 1.0, np.nextafter(1, 0), np.repeat(0.3, 40), np.nextafter(0.3, 1), np.nextafter(0.3, 0), rng.uniform(size=200), rng.beta(0.02, 0.02, 200)]
    y = (rng.uniform(size=p.size) < 0.5).astype(float)
    walk, order = wk.Walk.of(y, p), np.argsort(p, kind="stable")
    np.testing.assert_array_equal(walk.score, p[order])
    np.testing.assert_array_equal(np.add.reduceat(walk.outcome, np.r_[0, walk.end[:-1]]), np.add.reduceat(y[order], np.r_[0, walk.end[:-1]]))


def test_spiegelhalter_sorts_nothing_and_agrees_with_the_sorted():
    rng = np.random.default_rng(15)
    p = rng.uniform(size=3000)
    y = (rng.uniform(size=3000) < p).astype(float)
    walk = wk.Walk.unsorted(y, p)
    alone = wk._significance_of(walk, ("spiegelhalter",))["spiegelhalter"]
    assert alone.method == "asymptotic" and walk.given
    assert wk._significance_of(walk)["spiegelhalter"] == alone and not walk.given
    before = wk.Walk.of(y, p.copy()).statistic("kuiper")
    kept = wk.Walk.of(y, p)
    p[:] = 0.5
    assert kept.statistic("kuiper") == before == walk.statistic("kuiper")


def test_no_class_may_be_called_as_the_first_statement_is():
    with pytest.raises(ValueError, match="classes must not hold 'top label'"): ct.multiclass_calibration_tests(["top label", "b"] * 5, np.full((10, 2), 0.5), classes=["top label", "b"])


def test_a_class_never_stated_stops_nothing():
    rng = np.random.default_rng(12)
    prob = np.column_stack([rng.dirichlet(np.ones(3), size=300), np.zeros(300)])
    label = (prob.cumsum(axis=1) < rng.uniform(size=(300, 1))).sum(axis=1).clip(0, 2)
    absent = ct.multiclass_calibration_tests(label, prob, n_resamples=99, rng=1)
    alone = ct.multiclass_calibration_tests(label, prob[:, :3], n_resamples=99, rng=1)
    table = absent.to_frame()
    assert table.loc[3]["pvalue"].isna().all() and (table.loc[3]["method"] == "nothing to test").all() and "nothing to test for class 3" in absent.sentence and not absent.impossible
    np.testing.assert_array_equal(table[table.index.get_level_values(0) != 3]["adjusted"], alone.to_frame()["adjusted"])
    label[[5, 17]] = 3
    occurred = ct.multiclass_calibration_tests(label, prob, n_resamples=99, rng=1)
    assert (occurred.to_frame().loc[3]["pvalue"] == 0).all() and occurred.impossible == {3: (5, 17)} and "rows 5 and 17" in occurred.sentence and occurred.plot().get_xlabel()


def rates(n, digits, weighted, n_sets, n_resamples=399):
    "Shares of p-values ≤ 5 % of the three tests over calibrated sets."
    rejected = np.zeros(3)
    for seed in range(n_sets):
        y, p, w, rng = calibrated([n, digits or 0, weighted, seed], n, digits, weighted)
        found = ct.binary_calibration_tests(y, p, sample_weight=w if weighted else None, n_resamples=n_resamples, rng=rng)
        rejected += [t.pvalue <= 0.05 for t in (found.kolmogorov_smirnov, found.kuiper, found.spiegelhalter)]
    return rejected / n_sets


@pytest.mark.parametrize(("weighted", "digits"), [(False, None), (True, 1), pytest.param(False, 1, marks=pytest.mark.slow), pytest.param(True, None, marks=pytest.mark.slow)])
def test_level_on_few_sets(digits, weighted):
    found = rates(100, digits, weighted, 600, 199)
    assert (found < 0.08).all() and (found > 0.025).all(), found


@pytest.mark.slow
@pytest.mark.parametrize("digits", [None, 2, 1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 200, 2000, 20_000])
def test_level_is_five_percent(n, digits, weighted):
    found = rates(n, digits, weighted, 2000 if n == 20_000 else 10_000)
    low, high = (0.035, 0.065) if n == 20_000 else (0.043, 0.057)
    print(f"n = {n}, digits {digits}, weights {weighted}: rejected {100 * found}")
    assert (found <= high).all() and (n == 20 or (found >= low).all()), found


def test_nearly_certain_is_not_certain():
    one = ct.kuiper_test([1, 0, 1], [1e-17, 0.4, 0.7], rng=1)
    assert one.contradicted == 0 and one.method == "exact" and 0 < one.pvalue < 1


def test_the_result_says_how_much_was_drawn():
    one = ct.kuiper_test(Y, P, n_resamples=99, rng=1)
    assert one.n_resamples == 99 == one.null_distribution.size and ct.kuiper_test(Y, P, method="asymptotic").n_resamples is None
    assert one.plot().get_xlabel()


def test_the_walk_of_a_result_cannot_be_changed():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.7, 0.9, 0.4])
    walk = ct.binary_calibration_tests(y, p, rng=0).walk
    for column in (walk.score, walk.outcome, walk.weight, walk.end, walk.total):
        with pytest.raises(ValueError, match="read-only"): column[0] = 0
        assert not np.shares_memory(column, y) and not np.shares_memory(column, p)


@pytest.mark.slow
def test_whole_tables_of_classes_are_rejected_in_five_percent():
    "Three tests of four statements each, corrected together: 59 of 600 when within each test alone. Mutation: Holm within a test."
    rejected = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 17])
        prob = rng.dirichlet([0.3] * 3, 200)
        y = (prob.cumsum(axis=1) < rng.random(200)[:, None]).sum(axis=1).clip(0, 2)
        found = ct.multiclass_calibration_tests(y, prob, method="asymptotic")
        rejected += "rejected at 5 %" in found.sentence
        if seed < 5: np.testing.assert_allclose(found.table["adjusted"].dropna(), multipletests(found.table["pvalue"].dropna(), method="holm")[1])
    assert rejected <= 13
