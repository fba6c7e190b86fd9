"""Screens of many groups: they agree with the graphs, p-values that no floor decides, and a stated rate of false alarms."""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from uqcal.screening import screen



def population(rng, n_groups=6, n=60):
    s = rng.uniform(size=n_groups * n)
    g = np.repeat([f"group {k}" for k in range(n_groups)], n)
    y = (rng.uniform(size=s.size) < np.where(g == "group 2", 0.3, 0.0) + 0.6 * s).astype(float)
    return pd.DataFrame({"outcome": y, "score": np.round(s, 2), "county": g, "w": rng.exponential(size=s.size) + 0.1})


@pytest.mark.parametrize("against", ["pairs", "all"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_screen_agrees_with_the_graphs(against, weight):
    frame = population(np.random.default_rng(2))
    found = screen(frame, response="outcome", score="score", groups="county", weight=weight, against=against, method="asymptotic", n_jobs=2)
    table = found.to_frame()
    assert len(table) == (15 if against == "pairs" else 6) and table["kuiper_scaled"].is_monotonic_decreasing
    for row in range(len(table)):
        graph = found.graph(row, method="asymptotic")
        for name in ("kuiper", "kolmogorov_smirnov", "average_difference", "null_scale", "scale", "n_steps", "kuiper_scaled", "kuiper_pvalue", "kolmogorov_smirnov_pvalue"):
            np.testing.assert_allclose(table[name][row], getattr(graph, name), rtol=1e-9, err_msg=name)
    assert "group 2" in table.loc[0, ["a", "b"] if against == "pairs" else ["a"]].tolist()
    holm, bh = table["kuiper_pvalue_holm"] * (1 + 1e-12), table["kuiper_pvalue_bh"] * (1 + 1e-12)          # p·m/1 by two orders of the operations
    assert (holm >= table["kuiper_pvalue_bh"]).all() and (bh >= table["kuiper_pvalue"]).all()
    jobs = screen(frame, response="outcome", score="score", groups="county", weight=weight, against=against, method="asymptotic", n_jobs=1).to_frame()
    pd.testing.assert_frame_equal(table, jobs)


def test_screen_takes_permutations_where_rows_are_small():
    frame = population(np.random.default_rng(2), n=30)
    found = screen(frame, response="outcome", score="score", groups="county", n_resamples=99, rng=1)
    assert (found.to_frame()["n_resamples"] == np.where(found.to_frame()["method"] == "permutation", 99, 0)).all()
    assert (found.to_frame()["method"] == "permutation").any()
    assert found.to_frame()["kuiper_pvalue"].min() >= 0.01
    pd.testing.assert_frame_equal(found.to_frame(), screen(frame, response="outcome", score="score", groups="county", n_resamples=99, rng=1, n_jobs=2).to_frame())


def test_names_of_groups_are_text_and_no_html():
    frame = population(np.random.default_rng(2), n_groups=3)
    frame["county"] = frame["county"].map({"group 0": "<script>alert(1)</script>", "group 1": "$x$", "group 2": "c"})
    found = screen(frame, response="outcome", score="score", groups="county", method="asymptotic")
    assert "<script>" not in found._repr_html_() and "&lt;script&gt;" in found._repr_html_()
    ax = found.plot()
    ax.figure.canvas.draw()
    assert any(r"\$x\$" in label.get_text() for label in ax.get_yticklabels())
    plt.close(ax.figure)


def test_a_screen_of_many_small_rows_shuffles_each_less_often():
    found = screen(population(np.random.default_rng(3), n_groups=40, n=40), response="outcome", score="score", groups="county", rng=1).to_frame()
    few = screen(population(np.random.default_rng(2), n_groups=3, n=30), response="outcome", score="score", groups="county", rng=1).to_frame()
    drawn = found[found["method"] == "permutation"]
    work = (drawn["n_resamples"] * (drawn["n_a"] + drawn["n_b"])).sum()
    assert drawn["n_resamples"].nunique() == 1 and (work <= 1e8 or drawn["n_resamples"].max() == 999)
    assert set(few["n_resamples"]) <= {0, 9999}


def test_screen_names_pairs_that_never_interleave():
    frame = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0.], "s": [1, 2, 3, 1.5, 2.5, 9], "g": [1, 1, 1, 2, 2, 3]})
    found = screen(frame, response="y", score="s", groups="g", n_resamples=19, rng=0)
    assert set(found.skipped) == {(1, 3), (2, 3)} and len(found.to_frame()) == 1
    with pytest.raises(ValueError, match="interleave"): screen(frame[frame.g != 2], response="y", score="s", groups="g")


def test_screen_reads_mappings_and_polars():
    polars = pytest.importorskip("polars")
    frame = population(np.random.default_rng(2), n_groups=3)
    names = dict(response="outcome", score="score", groups="county", method="asymptotic")
    expected = screen(frame, **names).to_frame()
    pd.testing.assert_frame_equal(screen({name: frame[name].to_numpy() for name in frame}, **names).to_frame(), expected)
    pd.testing.assert_frame_equal(screen(polars.from_pandas(frame), **names).to_frame(), expected)


@pytest.mark.parametrize("call, match", [
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 1]}, response="y", score="s", groups="g"), "two different"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, None]}, response="y", score="s", groups="g"), "missing"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 2]}, response="z", score="s", groups="g"), "'y'"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 2]}, response="y", score="s", groups="g", against="some"), "against"),
])
def test_bad_input_is_named(call, match):
    with pytest.raises((ValueError, TypeError), match=match): call()
