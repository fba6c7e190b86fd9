"""What functions of probabilities take: one answer for each kind of column, wherever it comes in, and refusals that say what to type."""
import json

import numpy as np
import pandas as pd
from every_case import every_case
import pytest

from uqcal.comparison.model_comparison import compare_scores
from uqcal.conformal import ConformalSets
from uqcal.corrections.probability_recalibration import recalibrate_probabilities
from uqcal.groups import calibration_graph, comparison_graph, rate_difference, screen, subpopulation_graph
from uqcal.metrics import expected_calibration_error, reliability_diagram, top_label_ece
from uqcal.probabilities.calibration import calibration_report
from uqcal.streams import OnlineMixture
from uqcal.tests import ece_test, kuiper_test
from uqcal.probabilities.differences import brier_decomposition, largest_difference
from uqcal.probabilities.calibration_tests import binary_calibration_tests, kolmogorov_smirnov_test, spiegelhalter_test
from uqcal._command.cli import main
from uqcal._base.outcomes import check_multiclass, check_outcomes, check_probabilities
from uqcal.subgroups.partition_comparison import _comparison_of_partitions
from uqcal.probabilities.calibration_errors import (calibration_error_interval,
                                                    debiased_squared_error)
from uqcal.probabilities.reliability import classwise_ece
from uqcal.comparison.scores import brier_score, log_score
from uqcal.online import calibeating
from uqcal.online.calibeating import refinement, running_calibration_error, running_sharpness, sharpness, tops
from uqcal.online.monitor import CalibrationMonitor
from uqcal.parts.partitions import _calibration_of_partitions
from uqcal.probabilities.recalibration import BetaScaling, HistogramBinning, IsotonicCalibration, PeriodicRefit, PlattScaling
from uqcal.subgroups.partition_comparison import _comparisons_of_partitions
from uqcal.probabilities.walk import cumulative_differences


def cases(seed=0, n=300):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(3)
    return rng, p, (rng.random(n) < p) * 1, rng.choice(["a", "b"], n), rng.integers(0, 3, n).astype(float)


def in_parts(frame):
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(frame.drop(columns="some", errors="ignore"), npartitions=3)


DRAWN = dict(n_resamples=99, rng=0)
OF_TWO = {  # functions of outcomes and probabilities, each with a number that it finds
    "calibration_report": lambda y, p, **more: calibration_report(y, p, n_boot=99, **DRAWN, **more).to_dict(),
    "expected_calibration_error": expected_calibration_error, "reliability_diagram": lambda y, p, **more: reliability_diagram(y, p, **more).ece,
    "calibration_error_interval": lambda y, p, **more: calibration_error_interval(y, p, n_boot=99, rng=0, **more).ece_limit,
    "debiased_squared_error": debiased_squared_error, "ece_test": lambda y, p, **more: ece_test(y, p, **DRAWN, **more).statistic,
    "kuiper_test": lambda y, p, **more: kuiper_test(y, p, **DRAWN, **more).statistic,
    "kolmogorov_smirnov_test": lambda y, p, **more: kolmogorov_smirnov_test(y, p, **DRAWN, **more).pvalue,
    "spiegelhalter_test": lambda y, p, **more: spiegelhalter_test(y, p, **DRAWN, **more).statistic,
    "binary_calibration_tests": lambda y, p, **more: binary_calibration_tests(y, p, **DRAWN, **more).kuiper.pvalue,
    "brier_decomposition": lambda y, p, **more: brier_decomposition(y, p, **more).brier,
    "largest_difference": lambda y, p, **more: largest_difference(y, p, **more).limit,
    "calibration_graph": lambda y, p, **more: calibration_graph(y, p, **DRAWN, **more).kuiper_pvalue,
    "cumulative_differences": lambda y, p, **more: cumulative_differences(y, p, **more).tolist(),
}
FITS = {kind.__name__: lambda y, p, kind=kind, **more: kind().fit(p, y, **more).predict(p).tolist()
        for kind in (PlattScaling, BetaScaling, HistogramBinning, IsotonicCalibration)}
OVER_TIME = {find.__name__: lambda y, p, find=find, **more: np.ravel(find(y, p, **more)).tolist()
             for find in (calibeating.calibration_error, sharpness, refinement, running_calibration_error, running_sharpness)}
WHOLE = {"recalibrate_probabilities": lambda y, p, **more: recalibrate_probabilities(y, p, n_boot=99, **DRAWN, **more).recalibrated.tolist(),
         "compare_models": lambda y, p, **more: compare_scores(y, {"a": p, "b": [0.5] * len(p)}, score="brier", n_boot=99, rng=0, **more).sentence}
UNWEIGHTED = FITS | OVER_TIME | WHOLE | {"brier_score": lambda y, p, **more: brier_score(y, p, **more).sum(), "log_score": lambda y, p, **more: log_score(y, p, **more).sum()}


@pytest.mark.parametrize("name", [*OF_TWO, *UNWEIGHTED])
def test_two_labels_are_outcomes_once_the_positive_one_is_named(name):
    _, p, y, _, _ = cases()
    p = p.clip(0.01, 0.99)
    find = (OF_TWO | UNWEIGHTED)[name]
    truth = find(y, p)
    for labels, pos_label in ((np.where(y == 1, "spam", "ham"), "spam"), (np.where(y == 1, "no", "yes").tolist(), "no"), (y + 1, 2), (2 * y - 1, 1), (y == 1, True),
                              (pd.Series(np.where(y == 1, "x", "w"), dtype="category"), "x")):
        assert find(labels, p, pos_label=pos_label) == truth
    with pytest.raises(TypeError, match="of 'ham', 'spam'.* y_true == 'spam', or pos_label='spam'"): find(np.where(y == 1, "spam", "ham"), p)
    if name != "calibration_graph":  # whose outcomes may be any numbers
        with pytest.raises(ValueError, match="y_true == 2, or pos_label=2"): find(y + 1, p)
    with pytest.raises(ValueError, match=r"pos_label must be a label of y_true \('ham', 'spam'\), got 'eggs'"):
        find(np.where(y == 1, "spam", "ham"), p, pos_label="eggs")
    with pytest.raises(ValueError, match="holds 3 .*type y_true == 'c'"): find(np.array(["a", "b", "c"] * 100), p, pos_label="c")


def test_graphs_and_screens_take_labels_and_truth_values():
    rng, s, r, g, _ = cases(8)
    words, at = np.where(r == 1, "yes", "no"), g == "a"
    frame = pd.DataFrame(dict(g=g, s=s, r=r, true=r == 1, words=words, some=pd.array(r == 1, dtype="boolean")))
    truth = screen(frame, y_true="r", score="s", by="g", **DRAWN).table
    for name, more in (("true", {}), ("some", {}), ("words", dict(pos_label="yes"))):
        pd.testing.assert_frame_equal(screen(frame, y_true=name, score="s", by="g", **DRAWN, **more).table, truth)
    with pytest.raises(TypeError, match="words == 'yes', or pos_label='yes'"): screen(frame, y_true="words", score="s", by="g")
    for draw in (lambda y, **more: comparison_graph(y[at], s[at], y[~at], s[~at], **DRAWN, **more), lambda y, **more: subpopulation_graph(y, s, at, **DRAWN, **more)):
        truth = draw(r).kuiper_pvalue
        assert draw(r == 1).kuiper_pvalue == draw((r == 1).tolist() if draw(r).kind == "subpopulation" else r == 1).kuiper_pvalue == truth
        assert draw(words, pos_label="yes").kuiper_pvalue == truth
    none = comparison_graph(words[at], s[at], ["no"] * int((~at).sum()), s[~at], pos_label="yes", **DRAWN)
    assert none.average_difference == comparison_graph(r[at], s[at], np.zeros((~at).sum()), s[~at], **DRAWN).average_difference
    assert rate_difference(r[at] == 1, r[~at] == 1).estimate == rate_difference(r[at], r[~at]).estimate
    assert rate_difference(words[at], words[~at], pos_label="yes") == rate_difference(r[at], r[~at])
    assert rate_difference(words[at], ["no"] * 9, pos_label="yes").rate_b == 0 and rate_difference(r[at] + 1, pd.Series([1, 2, 1]), pos_label=2).rate_b == 1 / 3
    with pytest.raises(TypeError, match="y_true_a == 'yes', or pos_label='yes'"): rate_difference(words[at], words[~at])
    with pytest.raises(ValueError, match=r"pos_label must be a label of y_true_a and y_true_b \('no', 'yes'\)"): rate_difference(words[at], words[~at], pos_label="x")
    one, other = (_comparison_of_partitions(in_parts(frame), "a", "b", y_true=name, score="s", by="g") for name in ("r", "true"))
    assert one.kuiper == other.kuiper
    with pytest.raises(ValueError, match="pos_label is for score='brier' or 'log loss'"): compare_scores(r, {"a": (s, s + 1), "b": (s, s + 2)}, pos_label=1)


@pytest.mark.parametrize("made", [OnlineMixture, tops, CalibrationMonitor, lambda: PeriodicRefit(PlattScaling())])
def test_streams_learn_truth_values_and_say_what_makes_them_of_labels(made):
    _, p, y, _, _ = cases(3)
    words = np.where(y == 1, "spam", "ham")
    taught, truth = made().partial_fit(p, words == "spam"), made().partial_fit(p, y)
    if hasattr(taught, "predict"): assert np.array_equal(taught.predict(p), truth.predict(p))
    with pytest.raises(TypeError, match="which label is 1, of 'ham', 'spam'. type y_true == 'spam'$"): made().partial_fit(p, words)
    with pytest.raises(TypeError, match="which label is 1. type y_true == LABEL, with this label"): made().partial_fit(0.3, "ham")
    with pytest.raises(ValueError, match="which label is 1. type y_true == LABEL"): made().partial_fit(0.3, 2)


@pytest.mark.parametrize("kind", ["words", pytest.param("two", marks=pytest.mark.slow), pytest.param("true", marks=pytest.mark.slow)])
def test_a_table_in_parts_has_a_positive_label_though_a_part_may_hold_the_other_alone(kind, tmp_path, capsys):
    _, p, y, g, _ = cases(5)
    frame = pd.DataFrame(dict(words=np.where(y == 1, "spam", "ham"), two=y + 1, true=y == 1, y=y, score=p, q=p**1.2, group=g)).sort_values("y", ignore_index=True)
    table, label = in_parts(frame), {"words": "spam", "two": 2, "true": True}[kind]
    found, truth = _calibration_of_partitions(table, kind, pos_label=label, rng=0, n_boot=99), _calibration_of_partitions(table, "y", rng=0, n_boot=99)
    assert found.sentence == truth.sentence and found.n_passes == truth.n_passes + 1
    found, truth = (_comparisons_of_partitions(table, y_true=name, **more) for name, more in ((kind, dict(pos_label=label)), ("y", {})))
    assert found.sentence == truth.sentence and found.n_passes == truth.n_passes + 1
    with pytest.raises(ValueError, match=f"pos_label must be a label of {kind}"): _calibration_of_partitions(table, kind, pos_label="eggs")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    commands = (["validate", "--prob", "score", "--observed"], ["compare-groups", "--by", "group", "--score", "score", "--observed"],
                ["compare-models", "--score", "brier", "--model", "a=prob:score", "--model", "b=prob:q", "--observed"])
    for file in ("t.csv", "t.parquet")[:1 + (kind == "words")]:
        for command in commands:
            said = []
            for column, more in (("y", []), (kind, ["--positive", str(label)])):
                in_part = [] if command[0] == "compare-models" else ["--dask"]
                with pytest.raises(SystemExit) as ended: main([command[0], str(tmp_path / file), *command[1:], column, *more, *in_part])
                assert not ended.value.code
                said.append(capsys.readouterr().out.split("\n\n")[1:3])
            assert said[0] == said[1]


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    rng, s, r, g, w = cases(1)
    keep, at, cluster = w > 0, g == "a", np.arange(300) // 3
    x = rng.standard_normal(300) + s
    for find in OF_TWO.values(): assert find(r, s.clip(0.01, 0.99), sample_weight=w) == find(r[keep], s[keep].clip(0.01, 0.99), sample_weight=w[keep])
    for y in (r, x):
        for more in ({}, dict(groups=cluster)):
            held = {name: values[keep] for name, values in more.items()}
            assert calibration_graph(y, s, sample_weight=w, **DRAWN, **more) == calibration_graph(y[keep], s[keep], sample_weight=w[keep], **DRAWN, **held)
            assert (subpopulation_graph(y, s, at, sample_weight=w, **DRAWN, **more).kuiper_pvalue
                    == subpopulation_graph(y[keep], s[keep], at[keep], sample_weight=w[keep], **DRAWN, **held).kuiper_pvalue)
    a, b = at & keep, ~at & keep
    for more in (lambda a, b: {}, lambda a, b: dict(groups_a=cluster[a], groups_b=cluster[b])):
        found = comparison_graph(r[at], s[at], r[~at], s[~at], sample_weight_a=w[at], sample_weight_b=w[~at], **DRAWN, **more(at, ~at))
        assert found.kuiper_pvalue == comparison_graph(r[a], s[a], r[b], s[b], sample_weight_a=w[a], sample_weight_b=w[b], **DRAWN, **more(a, b)).kuiper_pvalue
    frame = pd.DataFrame(dict(r=r, s=s, g=g, w=w, c=cluster))
    options = dict(y_true="r", score="s", by="g", sample_weight="w", **DRAWN)
    for more in ({}, dict(groups="c")):
        pd.testing.assert_frame_equal(screen(frame, **options, **more).table, screen(frame[keep], **options, **more).table)
    options = dict(y_true="r", score="s", by="g", sample_weight="w")
    for b in ("b", None):
        found, truth = (_comparison_of_partitions(in_parts(one), "a", b, **options) for one in (frame, frame[keep]))
        assert (found.kuiper, found.average_difference, found.n_a) == (truth.kuiper, truth.average_difference, truth.n_a)
    for bad, words in ((-w, "not be negative"), (0 * w, "positive somewhere")):
        for find in (lambda bad: calibration_graph(r, s, sample_weight=bad), lambda bad: subpopulation_graph(r, s, at, sample_weight=bad),
                     lambda bad: screen(frame.assign(w=bad), y_true="r", score="s", by="g", sample_weight="w")):
            with pytest.raises(ValueError, match=words): find(bad)


def test_replicate_weights_lose_the_rows_of_weight_zero():
    rng, s, r, g, w = cases(2)
    keep, at = w > 0, g == "a"
    replicates = w[:, None] * rng.choice([0.0, 2.0], (300, 12)) + 0.01
    found = subpopulation_graph(r, s, at, sample_weight=w, replicate_weights=replicates, replicate_factor=0.1, **DRAWN)
    assert found.kuiper_pvalue == subpopulation_graph(r[keep], s[keep], at[keep], sample_weight=w[keep], replicate_weights=replicates[keep],
                                                      replicate_factor=0.1, **DRAWN).kuiper_pvalue


@every_case("name", [*OF_TWO, *UNWEIGHTED, "top_label_ece", "classwise_ece", "ConformalSets"])
def test_a_single_column_is_told_to_be_flattened(name):
    _, p, y, _, _ = cases()
    find = (OF_TWO | UNWEIGHTED | dict(top_label_ece=top_label_ece, classwise_ece=classwise_ece, ConformalSets=lambda y, p: ConformalSets(0.9).fit(y, p))).get(name)
    for column in (p[:, None], np.ones((300, 1)), p[:, None].tolist()):
        with pytest.raises(ValueError, match=r"flatten it with \.ravel\(\)"): find(y, column)
    if name != "calibration_graph":
        with pytest.raises(ValueError): find(y[:, None], p)


def test_rounded_rows_are_rows():
    rng = np.random.default_rng(0)
    for n_classes, decimals in ((4, 3), (4, 2), (3, 1), (30, 2), (100, 3)):
        P = rng.dirichlet(np.ones(n_classes), 400)
        y = [rng.choice(n_classes, p=p) for p in P]
        Q = P.round(decimals)
        assert np.isfinite(top_label_ece(y, Q)) and np.isfinite(classwise_ece(y, Q)) and ConformalSets(0.9).fit(y, Q).predict(Q).shape == Q.shape
        assert check_multiclass(y, Q.astype(np.float32))[1].shape == Q.shape
    with pytest.raises(ValueError, match=r"to 0.02 \(what 2 decimals of 4 classes explain\): 1 of 2 values is further off, the first at position 1 \(0.94\).*divide it by its sum"):
        check_multiclass([0, 1], [[0.25, 0.25, 0.25, 0.25], [0.24, 0.25, 0.25, 0.20]])
    with pytest.raises(ValueError, match="to 0.001: 2 of 2"): check_multiclass([0, 1], np.tile([1, 0, 0, 1], (2, 1)))
    check_multiclass([0], [[0.3331, 0.3329, 0.333]])  # 0.999 is 1 to 1e-3


def test_refusals_say_what_one_line_brings():
    for values, words in (([20.0, 30.0], "divide by 100"), ([-2.0, 3.0], r"take scipy.special.expit"), ([-2.0, -0.1], "take np.exp"), ([1.0000001, 0.2], "np.clip")):
        with pytest.raises(ValueError, match=words): check_probabilities(values)
    with pytest.raises(ValueError, match=r"take scipy.special.softmax\(y_prob, axis=1\)"): check_multiclass([0, 1], [[2.0, -1.0], [0.3, 0.4]])
    with pytest.raises(ValueError, match=r"\[:, 1\]"): calibration_report([0, 1], [[0.2, 0.8], [0.3, 0.7]])
    with pytest.raises(ValueError, match="multiclass_calibration_tests, classwise_ece or top_label_ece"): calibration_report([0, 1, 2], np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match="multiclass_calibration_tests"): check_outcomes([0, 1, 2])
    with pytest.raises(ValueError, match=r"argmax\(axis=1\)"): top_label_ece(np.eye(3), np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"neither, the first at position 0 \(0.5\)$"): check_outcomes([0.5, 1])


def test_edges_of_bins_are_decimals():
    rng = np.random.default_rng(0)
    for n_bins, strategy in ((10, "uniform"), (10, np.arange(11) / 10)):
        k = rng.integers(0, 11, 2000)
        y = (rng.random(2000) < (k / 10)**1.2) * 1
        bins = np.maximum(k - 1, 0)
        truth = sum(abs((k[bins == j] / 10 - y[bins == j]).sum()) for j in range(10)) / 2000
        cluster = np.arange(2000) // 2
        for p in (k / 10, 0.1 * k, 1 - (10 - k) / 10, np.cumsum(np.full(11, 0.1))[k - 1] * (k > 0)):
            p = p.clip(0, 1)
            assert abs(expected_calibration_error(y, p, n_bins=n_bins, strategy=strategy) - truth) < 1e-9
            found = reliability_diagram(y, p, n_bins=n_bins, strategy=strategy, groups=cluster).to_frame()
            assert found["count"].tolist() == np.bincount(bins).tolist()
            assert ece_test(y, p, n_bins=n_bins, strategy=strategy, n_resamples=19, rng=0, groups=cluster).statistic == pytest.approx(truth, abs=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_single_precision_is_binned_as_its_decimals(kind):
    rng = np.random.default_rng(0)
    for n_bins in (10, 5, 20):
        p = rng.integers(0, n_bins + 1, 2000) / n_bins
        y = (rng.random(2000) < p**1.2) * 1
        assert expected_calibration_error(y, p.astype(kind), n_bins=n_bins) == pytest.approx(expected_calibration_error(y, p, n_bins=n_bins), abs=1e-6)
        assert len(reliability_diagram(y, p.astype(kind), n_bins=n_bins).to_frame()) == len(reliability_diagram(y, p, n_bins=n_bins).to_frame())


def test_labels_in_another_order_are_refused_whatever_pair_they_are_of():
    rng, s, r, g, w = cases(3)
    weight, cluster = pd.Series(w + 1), pd.Series(np.arange(300) // 3).sample(frac=1, random_state=1)
    for find in (lambda **more: calibration_report(r, s, **more), lambda **more: kuiper_test(r, s, **more), lambda **more: ece_test(r, s, **more),
                 lambda **more: reliability_diagram(r, s, **more), lambda **more: calibration_error_interval(r, s, **more),
                 lambda **more: largest_difference(r, s, **more), lambda **more: calibration_graph(r, s, **more),
                 lambda **more: subpopulation_graph(r, s, g == "a", **more)):
        with pytest.raises(ValueError, match="same order"): find(sample_weight=weight, groups=cluster)
    at = g == "a"
    with pytest.raises(ValueError, match="same order"):
        comparison_graph(r[at], s[at], r[~at], s[~at], sample_weight_a=weight[at], sample_weight_b=weight[~at], groups_a=cluster[cluster.index.isin(np.flatnonzero(at))],
                         groups_b=pd.Series(np.arange((~at).sum())))


def on_screen(capsys, *args):
    with pytest.raises(SystemExit) as ended: main(list(args))
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def test_the_command_line_takes_labels_truth_values_and_rows_of_weight_zero(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, s, r, g, w = cases(8)
    table = pd.DataFrame(dict(g=g, s=s, r=r, true=np.where(r == 1, "yes", "no"), word=np.where(r == 1, "spam", "ham"), two=r + 1, w=w, flag=r == 1))
    table.to_csv("all.csv", index=False)
    table.to_parquet("all.parquet")
    table[w > 0].to_csv("kept.csv", index=False)
    for command, role, more in (("validate", "--observed", ["--prob", "s", "--n-boot", "19"]), ("compare-groups", "--observed", ["--score", "s", "--by", "g"])):
        def numbers(file, *args, command=command, role=role, more=more):
            code, out, err = on_screen(capsys, command, file, role, *args, *more, "--n-resamples", "99", "--json", "-")
            assert code == 0, err
            found = json.loads(out)
            return found.get("numbers") or [found[name] for name in ("kuiper", "kuiper_pvalue", "n", "average_interval")]
        truth = numbers("all.csv", "r")
        for column, given in (("true", []), ("word", ["--positive", "spam"]), ("two", ["--positive", "2"])): assert numbers("all.csv", column, *given) == truth
        for column, given in (("flag", []), ("word", ["--positive", "spam"]), ("two", ["--positive", "2"])): assert numbers("all.parquet", column, *given) == truth
        assert numbers("all.csv", "r", "--weight", "w") == numbers("kept.csv", "r", "--weight", "w")
        code, _, err = on_screen(capsys, command, "all.csv", role, "word", "--positive", "eggs", *more)
        assert code == 2 and "--positive must be a label of word ('ham', 'spam'), got 'eggs'" in err
    code, _, err = on_screen(capsys, "validate", "all.csv", "--observed", "word", "--prob", "s")
    assert code == 2 and "--positive names the label of 1" in err
    code, out, _ = on_screen(capsys, "recalibrate", "all.csv", "--observed", "word", "--positive", "spam", "--prob", "s", "--out", "recalibrated.csv")
    assert code == 0 and len(pd.read_csv("recalibrated.csv")) == 300


@pytest.mark.parametrize("shape", [None, 3, lambda self: (3,)])
def test_a_distribution_in_the_place_of_probabilities_is_refused_whatever_its_shape_is(shape):
    from scipy import stats
    made = stats.norm(0, 1) if shape is None else type("Distribution", (), {"shape": shape})()
    for find in (expected_calibration_error, top_label_ece):
        with pytest.raises((TypeError, ValueError), match="y_prob must (be a 1-D array of numbers, got|have shape)"): find(np.array([0, 1, 0]), made)
