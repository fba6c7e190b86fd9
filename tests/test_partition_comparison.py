"""Two groups of a table in parts give the graph's numbers in memory, however rows are dealt out, cut into ranges, tied or weighted."""
import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
import dask.array as da
import dask.dataframe as dd

from uqcal._subgroups.counted_rows import Going, Rows, walk_after
from uqcal.subgroups import partition_comparison
from uqcal.subgroups.two_groups import comparison_graph
from uqcal.subgroups.against_everyone import subpopulation_graph
from uqcal.subgroups.partition_comparison import _comparison_of_partitions, _comparisons_of_partitions
from uqcal.subgroups.screening import screen

rng = np.random.default_rng(12)
N = 400


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"): yield


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr(partition_comparison, "_IN_RANGE", 50)
    monkeypatch.setattr(partition_comparison, "_SAMPLED", 4)


def dealt(table, places):
    "Parts between these places."
    return dd.from_delayed([dask.delayed(table.iloc[start:stop]) for start, stop in zip([0, *places], [*places, len(table)])], meta=table.iloc[:0])


def in_memory(table, a="a", b="b"):
    one, other = (table[table["group"] == label] for label in (a, b))
    more = {"sample_weight_a": one["weight"], "sample_weight_b": other["weight"]} if "weight" in table else {}
    return comparison_graph(one["response"], one["score"], other["response"], other["score"], method="asymptotic", **more)


def assert_same(found, graph):
    average = graph.slope(graph.score[0], graph.score[-1])
    np.testing.assert_allclose(
        [found.kuiper, found.kolmogorov_smirnov, found.null_scale, found.scale, found.n_steps, found.average_difference, *found.confidence_interval, found.average_pvalue],
        [graph.kuiper, graph.kolmogorov_smirnov, graph.null_scale, graph.scale, graph.n_steps, average.value, *average.confidence_interval, average.pvalue],
        rtol=1e-10, atol=1e-13)
    if found.kuiper_pvalue is not None: assert found.kuiper_pvalue == pytest.approx(graph.kuiper_pvalue, rel=1e-8)


SCORES = {"plain": rng.normal(size=N), "ties": np.round(rng.random(N), 1), "mixed": np.where(rng.random(N) < 0.5, rng.random(N), 0.25), "constant": np.full(N, 0.4)}
GROUPS = {"halves": rng.random(N) < 0.5, "rare": np.isin(np.arange(N), rng.choice(N, 6, replace=False)), "clumps": np.argsort(np.argsort(SCORES["plain"])) // 90 % 2 == 0}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize(("score", "group", "response"), [("plain", "halves", "real"), ("plain", "rare", "binary"), ("plain", "clumps", "binary"), ("ties", "halves", "binary"),
                                                          ("mixed", "halves", "real"), ("mixed", "rare", "real"), ("constant", "halves", "binary"), ("ties", "rare", "one class")])
def test_all_numbers_are_those_in_memory(score, group, response, weighted, small_ranges):
    """Mutations: neighbours forgotten at the border of a range, a block begun anew there, the last step taken too early, noise added twice, ties cut apart."""
    made = {"binary": (rng.random(N) < 0.4) * 1.0, "real": 1e6 + rng.normal(size=N), "one class": np.ones(N)}[response]
    table = pd.DataFrame({"response": made, "score": SCORES[score], "group": np.where(GROUPS[group], "a", "b")})
    if weighted: table["weight"] = rng.exponential(size=N)
    assert_same(_comparison_of_partitions(dealt(table, [0, 1, 1, 90, 399]), "a", "b", sample_weight="weight" if weighted else None), in_memory(table))


def test_pairs_share_the_passes_and_are_adjusted_as_in_memory(small_ranges):
    "Whole numbers for labels, equal weights for two of three groups, and a group of one row. Mutation: the weights of another group looked at."
    table = pd.DataFrame({"response": (rng.random(N) < 0.5) * 1.0, "score": rng.random(N), "group": rng.integers(1, 4, N), "weight": 2.0})
    table.loc[table["group"] == 3, "weight"] = rng.exponential(size=(table["group"] == 3).sum())
    found = _comparisons_of_partitions(dealt(pd.concat([table, table[:1].assign(group=9)]), [100, 333]), sample_weight="weight")
    assert found.skipped == (("1", "9"), ("2", "9"), ("3", "9")) and found.n == N + 1 and len(found.to_frame("comparisons")) == 3
    for one in found.comparisons: assert_same(one, in_memory(table, int(one.a), int(one.b)))
    assert found.conclusion.startswith("3 pairs are not tested") and found.to_frame("comparisons")["kuiper_pvalue_holm"].isna().all()


def against_everyone(table, a="a"):
    return subpopulation_graph(table["response"], table["score"], table["group"] == a, sample_weight=table["weight"] if "weight" in table else None, method="asymptotic")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize(("score", "group", "response"), [("plain", "halves", "real"), ("plain", "rare", "binary"), ("plain", "clumps", "binary"), ("ties", "halves", "binary"), ("plain", "gap", "real"),
                                                          ("mixed", "halves", "probability"), ("mixed", "rare", "real"), ("constant", "halves", "binary"), ("ties", "rare", "one class"), ("close", "halves", "real")])
def test_a_group_and_everyone_have_the_numbers_of_memory(score, group, response, weighted, small_ranges):
    """Mutations: a bin that ends at the range instead of at the middle between members, the middle given to the wrong side, a bin left before its noise is known,
    the rows before the first member forgotten, members left out of everyone, a middle that rounds up to the next member."""
    made = {"binary": (rng.random(N) < 0.4) * 1.0, "real": 1e6 + rng.normal(size=N), "one class": np.ones(N), "probability": 0.2 + 0.7 * rng.random(N)}[response]
    scores = SCORES | {"close": 1 + rng.integers(0, 40, N) * np.finfo(float).eps}
    groups = GROUPS | {"gap": np.isin(np.argsort(np.argsort(SCORES["plain"])), [3, 5, 20, 21, 300, 304, 380])}
    table = pd.DataFrame({"response": made, "score": scores[score], "group": np.where(groups[group], "a", "b")})
    if weighted: table["weight"] = rng.exponential(size=N)
    found = _comparison_of_partitions(dealt(table, [0, 1, 1, 90, 399]), "a", sample_weight="weight" if weighted else None)
    assert_same(found, against_everyone(table))
    assert found.n == N and found.n_a == groups[group].sum() and found.n_passes == 3 and found.b is None


def test_each_group_against_everyone_is_the_screening(small_ranges):
    "P-values too, and a group of one row that counts among everyone. Mutation: the others' weights not looked at, the lonely one left out of everyone."
    n = 6000
    table = pd.DataFrame({"response": (rng.random(n) < 0.5) * 1.0, "score": rng.random(n), "group": rng.choice(["p", "q", "r"], n), "weight": 1.0})
    table.loc[0, "group"] = "lonely"
    table["response"] = np.where(table["group"] == "q", (rng.random(n) < 0.58) * 1.0, table["response"])
    found = _comparisons_of_partitions(dealt(table, [2500]), sample_weight="weight", reference="all")
    whole = screen(table, y_true="response", score="score", by="group", method="asymptotic", reference="all").to_frame("comparisons").set_index("a")
    rows = found.to_frame("comparisons").set_index("a").sort_index()
    names = ["kuiper_pvalue", "average_difference", "null_scale", "n_steps"]
    np.testing.assert_allclose(rows[names].astype(float), whole.loc[rows.index, names].astype(float), rtol=1e-8)
    assert found.skipped == (("lonely", None),) and found.n == n
    assert "of 3 groups differ from everyone at equal scores." in found.conclusion and found.cautions[0].sentence == "1 group is not compared: a single row."
    assert "everyone_includes_each" in {caution.code for caution in found.cautions}


def test_p_values_of_pairs_are_those_of_the_screening():
    table = pd.DataFrame({"response": (rng.random(6000) < 0.5) * 1.0, "score": rng.random(6000), "group": rng.choice(["p", "q", "r"], 6000)})
    table["response"] = np.where(table["group"] == "q", (rng.random(6000) < 0.56) * 1.0, table["response"])
    found = _comparisons_of_partitions(dealt(table, [2500])).to_frame("comparisons").set_index(["a", "b"]).sort_index()
    whole = screen(table, y_true="response", score="score", by="group", method="asymptotic").to_frame("comparisons").set_index(["a", "b"]).sort_index()
    names = ["kuiper_pvalue", "kuiper_pvalue_holm", "kuiper_pvalue_bh", "average_difference"]
    np.testing.assert_allclose(found[names].astype(float), whole[names].astype(float), rtol=1e-8)


def test_few_numbers_are_carried_from_range_to_range():
    "A member of the rare group in 2,000 rows. Mutation: rows of a long block kept."
    n = 40_000
    parts = partition_comparison._counted(Rows(rng.random(n), (rng.random(n) > 5e-4).astype(int), rng.integers(0, 2, n) * 1.0, np.ones((n, 4))))
    for weighted, following in ((False, None), (True, None), (False, 2.0), (True, 2.0)):
        going = Going.begin()
        for start in range(0, n, 2000):
            going = walk_after(going, parts.where(slice(start, start + 2000)), 0, 5, weighted, False, following)
            assert going.kind.size < 150 and sum(one.score.size for one in going.rows) < 150


def told(response, score, group, chunks=7000, **more):
    return _comparison_of_partitions({name: da.from_array(np.asarray(one), chunks=chunks) for name, one in {"response": response, "score": score, "group": group}.items()}, "a", "b", **more)


def test_sentences_are_true():
    "A difference, none, one that cancels, few scores, one class, few events."
    n = 20_000
    s, g = rng.random(n), np.where(rng.random(n) < 0.5, "a", "b")
    level = np.round(np.ceil(10 * s) / 10, 1)
    def y(ahead): return (rng.random(n) < 0.4 + ahead * (g == "a")) * 1.0
    ahead = told(y(0.1), s, g)
    assert ahead.conclusion.startswith("At equal scores groups a and b differ. On average a minus b is +0.") and [one.status for one in ahead.findings] == ["invalid"] * 2 and ahead.kuiper_pvalue < 1e-6 and not ahead.is_rounded
    crossing = told(y(np.where(s < 0.5, 0.1, -0.1)), s, g)
    assert crossing.kuiper_pvalue < 1e-6 and abs(crossing.average_difference) < 0.03
    rounded = told(y(0.1), level, g)
    assert rounded.is_rounded and rounded.kuiper_pvalue < 1e-6 and rounded.cautions[1].code == "few_scores"
    zeros = told(np.zeros(n), s, g)
    assert zeros.kuiper_pvalue is None and zeros["along the score"].reason == "steps" and zeros.confidence_interval.holds(0.0)
    rare = told((np.arange(n) % 5000 == 7) * 1.0, level, g)
    assert rare.kuiper_pvalue is None and rare.average_pvalue > 0.05
    assert told(y(0), s, g).plot().get_xlabel() == "score (its own unit)"


def arrays(group=("a", "b", "a", "b"), chunks=3, **columns):
    made = {"response": [0.0, 1, 1, 0], "score": [1.0, 2, 3, 4], "group": list(group)} | columns
    return {name: da.from_array(np.asarray(one), chunks=chunks) for name, one in made.items()}


@pytest.mark.parametrize(("table", "says"), [
    (arrays(score=[1.0, 2, 3, np.nan]), r"score must not hold missing values.*position 0 \(in partition 1,"),
    (arrays(response=["x"] * 4), "response must hold numbers.*in partition [01]"),
    (arrays(group=np.array(["a", "b", None, "b"], object)), r"group must not hold missing labels.*position 2 \(in partition 0"),
    (arrays(group=["b", "a", "b", "b"]), "group 'a' must hold more than one row"),
    (arrays(group=["a"] * 4), "b must be one of 'a', got 'b'"),
    (arrays(group=["a", "a", "b", "b"]), "never interleave"),
    (arrays(group=[], response=[], score=[]), "at least one row"),
    (arrays(weight=[1.0, -1, 1, 1]), r"weight must not be negative.*position 1 \(-1.0\) \(in partition 0"),
    (arrays(weight=[1e-160, 1, 1, 1]), "within a factor 1e150"),
    ({"response": da.zeros(3), "score": da.zeros(3)}, "frame must have a column 'group'"),
])
def test_refusals_name_the_part_and_the_place(table, says):
    with pytest.raises((ValueError, TypeError), match=says): _comparison_of_partitions(table, "a", "b", sample_weight="weight" if "weight" in table else None)


def test_pairs_need_groups_that_can_be_compared():
    with pytest.raises(ValueError, match="reference must be"): _comparisons_of_partitions(arrays(), reference="some")
    with pytest.raises(ValueError, match="two different labels or more, got 'a' alone"): _comparison_of_partitions(arrays(group=["a"] * 4), "a")
    with pytest.raises(ValueError, match="group 'b' must hold more than one row"): _comparison_of_partitions(arrays(group=["a", "a", "a", "b"]), "a")
    with pytest.raises(ValueError, match="2 to 50 different labels, got 1 .'a'"): _comparisons_of_partitions(arrays(group=["a"] * 4))
    with pytest.raises(ValueError, match="no two groups have scores that interleave"): _comparisons_of_partitions(arrays(group=["a", "a", "b", "b"]))


@pytest.mark.slow
def test_a_million_rows_of_parquet_are_those_in_memory(tmp_path):
    n = 1_200_000
    table = pd.DataFrame({"score": rng.random(n), "group": rng.choice(["a", "b"], n), "response": rng.normal(size=n)})
    for k in range(4): table.iloc[k * n // 4:(k + 1) * n // 4].to_parquet(tmp_path / f"part-{k}.parquet")
    with dask.config.set(scheduler="threads"): found = _comparison_of_partitions(dd.read_parquet(str(tmp_path / "part-*.parquet")), "a", "b")
    assert_same(found, in_memory(table))
