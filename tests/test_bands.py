"""Bands of plots: the whole graph of data without a fault stays inside in 95 % of sets, and the p-value that decides stands beside."""
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from uqcal.groups import calibration_graph, comparison_graph, subpopulation_graph
from uqcal.probabilities.calibration import calibration_report
from uqcal.tests import bias_test, consistency_test
from uqcal._chance.brownian import kolmogorov_smirnov_null

SETS = 300
FEWEST, MOST = stats.binom.ppf(5e-4, SETS, 0.95), stats.binom.ppf(1 - 5e-4, SETS, 0.95)  # one true band in a thousand fails


def stays(graph, half):
    return bool((np.abs(graph) <= half + 1e-12).all())


def draws(seed, n, tails):
    rng = np.random.default_rng(seed)
    u = np.exp(0.4 * rng.standard_normal(n))
    return u * (rng.standard_normal(n) if tails == "normal" else rng.standard_t(4, n)), u, rng


@pytest.mark.slow
@pytest.mark.parametrize("tails", ["normal", "t4"])
def test_whole_graphs_of_unbiased_errors_stay_in_the_band(tails):
    inside = 0
    for k in range(SETS):
        test = bias_test(*draws([k, 1], 150, tails)[:2], rng=k, n_resamples=199)
        inside += stays(test.graph["cumulative"], np.interp(test.graph["share"], test.band["share"], test.band["half"]))
    assert FEWEST <= inside <= MOST


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rows", "repeats", "names"])
def test_whole_graphs_of_consistent_errors_stay_in_the_band(kind):
    inside = 0
    for k in range(SETS):
        error, u, rng = draws([k, 2], 150, "t4")
        options = {"rows": {}, "repeats": dict(groups=np.arange(150) // 3), "names": dict(by=rng.choice(list("abcdefgh"), 150))}[kind]
        graph = consistency_test(error, u, rng=k, n_resamples=9, **options).graph
        inside += stays(graph["excess" if kind == "names" else "cumulative"], graph["null_high"])
    assert FEWEST <= inside <= SETS


@pytest.mark.parametrize("kind", ["comparison", "subpopulation", "calibration"])
@pytest.mark.slow
def test_whole_graphs_stay_in_the_band_that_is_drawn(kind):
    inside, unit = 0, kolmogorov_smirnov_null.isf(0.05)
    for k in range(SETS):
        rng = np.random.default_rng([k, 3])
        s, g = rng.random(150), rng.random(150) < 0.4
        y = 1.0 * (rng.random(150) < s)
        graph = (comparison_graph(y[g], s[g], y[~g], s[~g], method="asymptotic") if kind == "comparison" else
                 subpopulation_graph(y, s, g, method="asymptotic") if kind == "subpopulation" else calibration_graph(y, s, method="asymptotic"))
        inside += stays(graph.ordinate, unit * graph.null_scale)
    assert FEWEST <= inside <= MOST


@pytest.mark.slow
def test_the_pvalue_that_decides_stands_beside_the_band():
    error, u, rng = draws(5, 200, "normal")
    score = rng.random(200)
    y, g = 1.0 * (rng.random(200) < score), rng.random(200) < 0.5
    bias, along, named = bias_test(error, u, rng=1, n_resamples=99), consistency_test(error, u, rng=1, n_resamples=99), consistency_test(
        error, u, by=np.where(g, "a", "b"), rng=1, n_resamples=99)
    graph, report = comparison_graph(y[g], score[g], y[~g], score[~g], rng=1), calibration_report(y, score, n_boot=99, n_resamples=99, rng=1)
    drawn = report.tests.by_itself("kolmogorov_smirnov")
    for pvalue, draw in ((bias.pvalue, bias.plot), (along.pvalue, along.plot_graph), (named.pvalue, named.plot_graph), (graph.kuiper_pvalue, graph.plot),
                         (drawn, lambda: report.plot(finding="locally"))):
        ax = draw()
        words = " ".join(text.get_text() for text in ax.texts) + ax.get_xlabel()
        assert f"p = {pvalue:.2g}" in words and "95 %" in words
        plt.close(ax.figure)


def test_a_band_that_few_draws_cannot_tell_is_left_out():
    error, u, _ = draws(6, 60, "normal")
    test = bias_test(error, u, rng=1, n_resamples=9)
    assert np.isinf(test.band["half"]).all()
    ax = test.plot()
    assert "grey" not in ax.texts[-1].get_text() and np.isfinite(ax.get_ylim()).all()
    plt.close(ax.figure)
