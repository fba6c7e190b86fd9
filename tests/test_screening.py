"""Screens of many groups: they agree with the graphs, p-values that no floor decides, and a stated rate of false alarms."""
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import statsmodels.api

import uqcal
from uqcal._chance.brownian import kuiper_null
from uqcal.subgroups.screening import _compared_by_group
from uqcal._subgroups.designs import least_scale
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal._chance.resampling import shuffle_state
from uqcal.subgroups.screening import _tail_pvalue, screen



def population(rng, n_groups=6, n=60):
    s = rng.uniform(size=n_groups * n)
    g = np.repeat([f"group {k}" for k in range(n_groups)], n)
    y = (rng.uniform(size=s.size) < np.where(g == "group 2", 0.3, 0.0) + 0.6 * s).astype(float)
    return pd.DataFrame({"outcome": y, "score": np.round(s, 2), "county": g, "w": rng.exponential(size=s.size) + 0.1})


@pytest.mark.parametrize("against", ["pairs", "all"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_screen_agrees_with_the_graphs(against, weight):
    frame = population(np.random.default_rng(2))
    found = screen(frame, y_true="outcome", score="score", by="county", sample_weight=weight, reference=against, method="asymptotic", n_jobs=2)
    table = found.to_frame("comparisons")
    assert len(table) == (15 if against == "pairs" else 6) and table["kuiper_scaled"].is_monotonic_decreasing
    for row in range(len(table)):
        graph = found.graph(row, method="asymptotic")
        for name in ("kuiper", "kolmogorov_smirnov", "average_difference", "null_scale", "scale", "n_steps", "kuiper_scaled", "kuiper_pvalue", "kolmogorov_smirnov_pvalue"):
            np.testing.assert_allclose(table[name][row], getattr(graph, name), rtol=1e-9, err_msg=name)
    assert "group 2" in table.loc[0, ["a", "b"] if against == "pairs" else ["a"]].tolist()
    holm, bh = table["kuiper_pvalue_holm"] * (1 + 1e-12), table["kuiper_pvalue_bh"] * (1 + 1e-12)          # p·m/1 by two orders of the operations
    assert (holm >= table["kuiper_pvalue_bh"]).all() and (bh >= table["kuiper_pvalue"]).all()
    jobs = screen(frame, y_true="outcome", score="score", by="county", sample_weight=weight, reference=against, method="asymptotic", n_jobs=1).to_frame("comparisons")
    pd.testing.assert_frame_equal(table, jobs)


def test_small_rows_that_seem_significant_are_shuffled_and_alike_for_any_number_of_jobs():
    frame = population(np.random.default_rng(2), n=30)
    names = dict(y_true="outcome", score="score", by="county", n_resamples=99, rng=1)
    found = screen(frame, **names).to_frame("comparisons")
    shuffled = found["method"] != "asymptotic"
    assert shuffled.any() and (found["n_resamples"].where(~shuffled, 0) == 0).all() and (found["n_resamples"][shuffled] >= 99).all()
    assert set(found["method"]) <= {"asymptotic", "permutation", "tail"} and (found["n_resamples"] <= 9900).all()
    direct = found[found["method"] == "permutation"]
    assert (direct["kuiper_pvalue"] >= 1 / (direct["n_resamples"] + 1)).all()
    pd.testing.assert_frame_equal(found, screen(frame, **names, n_jobs=2).to_frame("comparisons"))


def test_names_of_groups_are_text_and_no_html():
    frame = population(np.random.default_rng(2), n_groups=3)
    frame["county"] = frame["county"].map({"group 0": "<script>alert(1)</script>", "group 1": "$x$", "group 2": "c"})
    found = screen(frame, y_true="outcome", score="score", by="county", method="asymptotic")
    assert "<script>" not in found._repr_html_() and "&lt;script&gt;" in found._repr_html_()
    ax = found.plot()
    ax.figure.canvas.draw()
    assert any(r"\$x\$" in label.get_text() for label in ax.get_yticklabels())
    plt.close(ax.figure)


def wards(rates, members, seed=1):
    "Groups of so many members, one rate each."
    rng, rates = np.random.default_rng(seed), np.asarray(rates, float)
    g = np.repeat(np.arange(rates.size), members)
    return {"y": (rng.uniform(size=g.size) < rates[g]).astype(float), "s": rng.uniform(size=g.size), "g": g}


def of_wards(rates, members, seed=1, **options):
    return screen(wards(rates, members, seed), y_true="y", score="s", by="g", **{"rng": 1} | options)


@pytest.mark.parametrize("n_resamples", [499, 9999])
@pytest.mark.parametrize("rate", [0.95, 1.0])          # with noise in the ward that differs, and without: an infinite statistic
def test_twelve_groups_one_of_which_differs(n_resamples, rate):
    found = of_wards([rate] + [0.05] * 11, 100, n_resamples=n_resamples)
    differ = found.table[found.table["kuiper_pvalue_holm"] <= 0.05]
    assert len(differ) == 11 and ((differ["a"] == 0) | (differ["b"] == 0)).all() and (differ["method"] == "tail").all()
    assert found.table["decided"].all() and found.conclusion.startswith("11 of 66 pairs of groups differ at equal scores.") and found.outcome == "differ"
    assert (differ["kuiper_pvalue"] > 0).all()


def test_one_class_of_many_differs_from_everyone():
    found = of_wards([0.95] + [0.05] * 149, 20, reference="all", n_resamples=499, n_jobs=2)
    assert found.table.loc[found.table["kuiper_pvalue_holm"] <= 0.05, "a"].tolist() == [0] and found.table["decided"].all()


def test_a_small_group_without_an_event_among_very_many_is_no_fault():
    "From 20,000 points on members alone are drawn: the mean of the others has noise all the same, which decides where no member has an event."
    rng, found = np.random.default_rng(5), []
    for k in range(80):
        n, members, s = 21_000, (5, 15)[k % 2], rng.uniform(size=21_000)
        y = (rng.uniform(size=n) < 0.02).astype(float)
        found.append(subpopulation_graph(y, s, np.arange(n) < members, n_resamples=199, rng=rng).kuiper_pvalue)
    assert np.mean(np.array(found) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 80)
    y[:15] = np.arange(15) % 2
    assert subpopulation_graph(y, s, np.arange(n) < 15, n_resamples=999, rng=1).kuiper_pvalue <= 0.002


def test_without_the_odd_group_the_others_do_not_differ():
    found = of_wards([0.7] + [0.3] * 4, 400, reference="all", n_resamples=499)
    assert (found.table["kuiper_pvalue_holm"] <= 0.05).all() and found.table["a"][0] == 0 and found.cautions[0].code == "everyone_includes_each"
    rest = found.without(0, rng=1, n_resamples=499)
    assert rest.reference == "all" and set(rest.table["a"]) == {1, 2, 3, 4} and (rest.table["kuiper_pvalue_holm"] > 0.05).all() and not rest.cautions and rest.outcome == "no difference found"
    with pytest.raises(ValueError, match="labels must be groups, got 7"): found.without(7)
    with pytest.raises(ValueError, match="at least two"): found.without(0, 1, 2, 3)


def test_groups_too_small_to_differ_are_not_called_equal():
    "Three against three have twenty orders, six pairs ask for 120; fifteen against fifteen have enough."
    for members, said in ((3, True), (15, False)):
        frame = {"y": np.repeat([1, 0, 0, 0], members), "s": np.random.default_rng(1).uniform(size=4 * members), "g": np.repeat(np.arange(4), members)}
        found = screen(frame, y_true="y", score="s", by="g", n_resamples=999, rng=1)
        few = [caution.facts["count"] for caution in found.cautions if caution.code == "few_members"]
        assert few == [6] * said and (few == []) == (found["groups 0 and 1"].reason != "few") and said == (not (found.table["kuiper_pvalue_holm"] <= 0.05).any())
        weighted = screen(frame | {"w": np.ones(4 * members)}, y_true="y", score="s", by="g", sample_weight="w", n_resamples=99, rng=1)
        assert "few_members" not in {caution.code for caution in weighted.cautions}


def test_what_the_number_of_shuffles_leaves_open_is_not_called_equal():
    found = of_wards([1] + [0] * 11, 15, n_resamples=9)
    assert "11 pairs are inconclusive with 900 shuffles." in found.conclusion and sum(finding.reason == "shuffles" for finding in found.findings) == 11
    assert found.step.verb == "repeat" and found.step.arguments == {"n_resamples": 90}
    assert (~found.table["decided"]).sum() == 11 and (found.table["kuiper_pvalue_holm"][~found.table["decided"]] > 0.05).all()
    assert of_wards([1] + [0] * 11, 15, n_resamples=99).table["decided"].all()
    plain = of_wards([0.5] * 12, 15, n_resamples=99)
    assert plain.conclusion.startswith("No difference at equal scores is shown in 66 pairs of groups. Average differences up to ") and plain.table["decided"].all()


@pytest.mark.slow
def test_the_seed_does_not_choose_between_the_two_answers():
    "Pairs of the page's voters lie at the level: of none does one seed say that it differs and another that it doesn't."
    voters = statsmodels.api.datasets.anes96.load_pandas().data.astype({"educ": int})
    found = [screen(voters, y_true="vote", score="selfLR", by="educ", n_resamples=499, rng=seed) for seed in range(3)]
    said = pd.concat([one.table.assign(differ=one.differ)[["a", "b", "decided", "differ"]] for one in found])
    closed = said[said["decided"]].groupby(["a", "b"])["differ"].nunique()
    assert closed.max() == 1 and len(closed) >= 18 and not said["decided"].all()
    for one in found: assert one.conclusion.startswith(f"{one.differ.sum()} of 21 pairs of groups ") and ("inconclusive" in one.conclusion) == (not one.table["decided"].all())


@pytest.mark.slow
def test_the_tail_is_no_thinner_than_what_many_shuffles_find():
    "The share of shuffles whose own continued tail, from 999 others, is below 0.001 or 0.0001 stays below that, for data of any kind."
    rng = np.random.default_rng(7)
    for members, other in ((10, 10), (20, 200), (60, 60)):
        s, g = rng.uniform(size=members + other), np.repeat([0, 1], [members, other])
        for y in ((rng.uniform(size=s.size) < 0.1), (rng.uniform(size=s.size) < s), rng.standard_normal(s.size), np.exp(2 * rng.standard_normal(s.size))):
            drawn = _compared_by_group(y.astype(float), s, g, np.empty(0)).shuffles(0)(shuffle_state(rng), 40_999)
            least = least_scale(drawn[:999, 4])
            few = drawn[:999, 2] / np.maximum(drawn[:999, 4], least)
            size = drawn[999:, 2] / np.maximum(drawn[999:, 4], 2 * least)
            largest = np.sort(size)[::-1][:200]
            for alpha in (1e-3, 1e-4):
                false = sum(_tail_pvalue(value, few, kuiper_null) <= alpha for value in largest)
                assert false <= alpha * 40_000 + 3 * np.sqrt(alpha * 40_000), (members, other, alpha, false)


@pytest.mark.slow
def test_false_alarms_of_whole_screens_are_as_rare_as_stated():
    "At most 5 % of screens of 28 pairs without a difference; 400 screens: two standard errors are 2.2 %."
    alarms = [(of_wards([0.3] * 8, 30, seed=seed, n_resamples=499).table["kuiper_pvalue_holm"] <= 0.05).any() for seed in range(400)]
    assert np.mean(alarms) <= 0.072


@pytest.mark.slow
def test_five_hundred_groups_take_minutes():
    "124,750 pairs, a dozen groups of which differ from all others: within 600 seconds of processor time, five minutes on two cores."
    start = time.process_time()
    found = of_wards([0.95] * 12 + [0.05] * 488, 100, n_jobs=2)
    assert time.process_time() - start < 600
    differ = found.table["kuiper_pvalue_holm"] <= 0.05
    assert differ.sum() == 12 * 488 and ((found.table["a"] < 12) != (found.table["b"] < 12))[differ].all()


def test_screen_names_pairs_that_never_interleave():
    frame = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0.], "s": [1, 2, 3, 1.5, 2.5, 9], "g": [1, 1, 1, 2, 2, 3]})
    found = screen(frame, y_true="y", score="s", by="g", n_resamples=19, rng=0)
    assert set(found.skipped) == {(1, 3), (2, 3)} and len(found.to_frame("comparisons")) == 1
    with pytest.raises(ValueError, match="interleave"): screen(frame[frame.g != 2], y_true="y", score="s", by="g")


def test_screen_reads_mappings_and_polars():
    polars = pytest.importorskip("polars")
    frame = population(np.random.default_rng(2), n_groups=3)
    names = dict(y_true="outcome", score="score", by="county", method="asymptotic")
    expected = screen(frame, **names).to_frame("comparisons")
    pd.testing.assert_frame_equal(screen({name: frame[name].to_numpy() for name in frame}, **names).to_frame("comparisons"), expected)
    pd.testing.assert_frame_equal(screen(polars.from_pandas(frame), **names).to_frame("comparisons"), expected)


@pytest.mark.parametrize("call, match", [
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 1]}, y_true="y", score="s", by="g"), "two different"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, None]}, y_true="y", score="s", by="g"), "missing"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 2]}, y_true="z", score="s", by="g"), "'y'"),
    (lambda: screen({"y": [0, 1], "s": [1, 2], "g": [1, 2]}, y_true="y", score="s", by="g", reference="some"), "reference"),
])
def test_bad_input_is_named(call, match):
    with pytest.raises((ValueError, TypeError), match=match): call()


@pytest.mark.parametrize("against", ["pairs", "all"])
def test_the_sentence_names_who_differs_most_and_who_is_in_every_pair(against):
    rng = np.random.default_rng(3)
    score, group = rng.uniform(size=3000), rng.choice(list("abcd"), 3000)
    response = (rng.uniform(size=3000) < 0.7 * score + 0.2 * (group == "b")).astype(float)
    found = screen({"y": response, "s": score, "g": group}, y_true="y", score="s", by="g", reference=against, n_resamples=999, rng=1)
    first = found.table.iloc[0]
    side = "b against" if against == "all" or first["a"] == "b" else "against b"
    if against == "pairs": assert side in found.conclusion
    assert found.findings[0].facts["a"] == first["a"] and found.findings[0].estimate == first["average_difference"] and found.findings[0].pvalue == first["kuiper_pvalue_holm"]
    assert ("b is in all 3 of these pairs" in found.conclusion) == (against == "pairs")
    even = screen({"y": (rng.uniform(size=3000) < score) * 1.0, "s": score, "g": group}, y_true="y", score="s", by="g", reference=against, n_resamples=999, rng=1)
    assert "Most clearly" not in even.conclusion


def test_groups_at_unequal_scores_are_not_counted_as_differing():
    "All calibrated, b at one score. Mutation: every significant row counts as one at equal scores."
    rng = np.random.default_rng(7)
    score = np.r_[rng.beta(2, 5, 600), np.full(600, 0.5)]
    frame = pd.DataFrame({"y": (rng.random(1200) < score).astype(float), "s": score, "g": np.repeat(["a", "b"], 600)})
    found = screen(frame, y_true="y", score="s", by="g", reference="all", rng=1, n_resamples=999)
    row = found.table.set_index("a").loc["b"]
    assert row["kuiper_pvalue_holm"] < 0.05 and not row["scores_alike"] and not found.differ[found.table["a"] == "b"].any()
    assert found["group b"].reason == "scores" and "differs, but scores are not equal, which may explain it. It is b (" in found.conclusion


def test_copies_of_members_count_once():
    "Groups that do not differ, each member five times: all twenty such files differed. As labelled by hand; another group's copy is another member. Mutation: labels without the group."
    from uqcal._sample.repeats import repeated_members
    differ = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 61])
        score, group = rng.random(200), rng.integers(2, size=200)
        response = (rng.random(200) < 0.2 + 0.6 * score) * 1.0
        rows = rng.permutation(np.repeat(np.arange(200), 5))
        frame = pd.DataFrame({"y": response[rows], "x": score[rows], "g": group[rows], "who": rows})
        found = screen(frame, y_true="y", score="x", by="g", n_resamples=199, rng=1)
        named = screen(frame, y_true="y", score="x", by="g", groups="who", n_resamples=199, rng=1)
        assert [caution.code for caution in found.cautions] == ["repeated_members"] and found.cautions[0].facts == {"repeated": 800, "n": 1000} and not named.cautions
        kept = [name for name in found.table if "pvalue" not in name and found.table[name].dtype == float]
        pd.testing.assert_frame_equal(found.table[kept], named.table[kept])
        assert len(kept) > 5
        differ += found.differ.any()
    assert differ <= 3
    both = np.tile(response, 2), np.tile(score, 2), np.repeat([0, 1], 200)
    assert repeated_members(*both) == (None, None) and repeated_members(response, score, group) == (None, None)
    value = rng.standard_normal(200)
    labels, caution = repeated_members(value[rows], score[rows], group[rows])
    assert np.unique(labels).size == 200 and len({*zip(labels, rows)}) == 200 and "800 of 1,000" in caution.sentence


@pytest.mark.slow
def test_clustered_members_make_no_differences():
    "Five visits of each member in succession, groups alike: all twenty such files differed when rows were taken as independent. Mutation: note without clusters."
    differ = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 63])
        who = np.repeat(np.arange(200), 5)
        group, score = rng.integers(2, size=200)[who], rng.random(1000)
        response = (rng.random(1000) < 1 / (1 + np.exp(-2 * score - 3 * rng.standard_normal(200)[who]))) * 1.0
        found = screen({"y": response, "x": score, "g": group}, y_true="y", score="x", by="g", n_resamples=199, rng=1)
        assert found.cautions[-1].code == "members_correlated"
        differ += found.differ.any()
    assert differ <= 3
    plain = screen({"y": response, "x": score, "g": group}, y_true="y", score="x", by="g", method="asymptotic")
    assert plain.cautions[-1].code == "members_may_be_clustered"


@pytest.mark.parametrize("cluster", [None, pytest.param("who", marks=pytest.mark.slow)])
def test_a_screen_that_finds_nothing_says_what_is_not_excluded(cluster):
    "In 32 screens of six groups without any difference, one pair of which has no event, the true differences lie within what is said. Mutation: the largest average that was seen."
    beyond, said = 0, []
    for seed in range(16):
        rng = np.random.default_rng([seed, 91])
        group = rng.integers(6, size=600)
        score = rng.random(600)
        response = (rng.random(600) < np.where(group < 2, 0.0, 0.3 + 0.02 * group)) * 1.0
        kept = group >= 2 if seed % 2 else group < 2
        frame = pd.DataFrame({"y": response, "x": score, "g": group, "who": np.arange(600) // 2})[kept]
        found = screen(frame, y_true="y", score="x", by="g", groups=cluster, n_resamples=199, rng=1)
        if found.differ.any(): continue
        number = found.excluded_beyond
        said.append(number)
        beyond += number < (0.06 if seed % 2 else 0.0)
        assert number > found.table["average_difference"].abs().max() and found.outcome == "no difference found"
    assert len(said) > 10 and beyond == 0 and 0.02 < min(said) and max(said) < 0.6


@pytest.mark.parametrize("reference", ["all", "pairs"])
def test_groups_with_scores_of_their_own_are_not_compared(reference):
    rng = np.random.default_rng(1)
    p, g = rng.uniform(0.1, 0.9, 300), np.repeat(["a", "b", "c"], 100)
    with pytest.raises(ValueError, match="interleave"): uqcal.compare_groups(p, p + 2 * np.repeat([0, 1, 2], 100), by=g, reference=reference, rng=1)
    assert uqcal.compare_groups(p, p + 2 * np.repeat([0, 0, 1], 100), by=g, reference="all", rng=1).findings        # two of them do
    assert uqcal.compare_groups((p > 0.5) * 1, np.ones(300), by=g, reference="all", rng=1).findings                    # at one score, all do
