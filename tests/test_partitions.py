"""A table in parts gives the numbers of the table as a whole, however its rows are dealt out, and says where a bad value is."""
import os
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask", reason="dask is not installed")
import dask.array as da
import dask.dataframe as dd

from uqcal import validate
from uqcal.large import Parts
from uqcal.parts import errors_in_parts, partitions
from uqcal.probabilities.differences import brier_decomposition
from uqcal.probabilities.calibration_tests import binary_calibration_tests
from uqcal.statistics.consistency import consistency_test
from uqcal.intervals.intervals import coverage_test
from uqcal.parts.partitions import _calibration_of_partitions, _coverage_of_partitions
from uqcal.parts.errors_in_parts import _errors_of_partitions
from uqcal.probabilities.calibration_errors import calibration_error_interval
from uqcal.probabilities.reliability import reliability_diagram
from uqcal.statistics.statistics import zms
from uqcal.probabilities.walk import _as_seen

rng = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"): yield


def drawn(score, tilt=1.0):
    return (rng.random(score.size) < score**tilt).astype(float)


def dealt(table, places):
    "Parts between these places."
    return dd.from_delayed([dask.delayed(table.iloc[start:stop]) for start, stop in zip([0, *places], [*places, len(table)])], meta=table.iloc[:0])


TABLES = {
    "plain": rng.random(3000),
    "ties": np.round(rng.random(3000), 1),
    "mixed": np.where(rng.random(3000) < 0.5, rng.random(3000), 0.25),
    "last bits": 0.3 + np.spacing(0.3) * rng.integers(0, 5, 3000),
    "near zero": 1e-6 * rng.random(3000),
    "near one": 1 - 1e-9 * rng.random(3000),
    "constant": np.full(3000, 0.4),
    "sorted": np.sort(rng.random(3000)),
    "falling": np.sort(rng.random(3000))[::-1],
}


@pytest.mark.parametrize("few", [False, True], ids=["fetched at once", "cut first"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TABLES)
def test_all_numbers_are_those_in_memory(name, weighted, few, monkeypatch):
    """Mutations: an offset of a cell taken from its own end, steps down forgotten in the bound, a tie that straddles cells, weights divided by the part's largest."""
    score = TABLES[name]
    table = pd.DataFrame({"outcome": drawn(score), "score": score, "weight": np.where(rng.random(3000) < 0.1, 0, rng.exponential(size=3000))})
    if few:
        monkeypatch.setattr(partitions, "_MOST_ROWS", 3)
        monkeypatch.setattr(partitions, "_EDGES", np.array([0.3, 1.0]))
    monkeypatch.setattr(partitions, "_FEWEST_BETS", 0)
    found = _calibration_of_partitions(dealt(table, [1, 1, 2, 900, 2999]), sample_weight="weight" if weighted else None, rng=1, n_boot=200)
    y, p, more = table["outcome"], table["score"], {"sample_weight": table["weight"]} if weighted else {}
    whole = binary_calibration_tests(y, p, method="asymptotic", **more)
    assert [one.name for one in found.tests] == [one.name for one in whole._tests()] and found.n == whole.walk.n
    for one, other in zip(found.tests, whole._tests()):
        if one.method == "signs":
            steps = (table["weight"] / table["weight"].max() * (y - p) * ((1 - 2 * p) if one.name == "spiegelhalter" else 1)).to_numpy()
            other = _as_seen(other, one.name, np.sqrt(steps @ steps) / whole.walk.deviation(one.name))
        np.testing.assert_allclose([one.statistic, one.pvalue, one.scale], [other.statistic, other.pvalue, other.scale], rtol=1e-10, atol=1e-12)
    error = calibration_error_interval(y, p, rng=1, n_boot=200, **more)
    np.testing.assert_allclose(found.error.to_frame().astype(float), error.to_frame().astype(float), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found.diagram.bins, reliability_diagram(y, p, n_bins=15, **more).bins, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.brier, brier_decomposition(y, p, **more).brier, rtol=1e-10)


def test_weights_that_go_with_outcomes_are_taken_as_in_memory():
    """One of five cases is kept, and counts five times: p-values are those of `binary_calibration_tests`, and the limit is wider. Weights of rare events, for which signs
    would not serve, change nothing. Caught: the ratio of variances for that of deviations, (1 - 2p) left out, the skewness not asked, an unweighted table touched."""
    rng = np.random.default_rng(3)
    score = rng.beta(2, 3, 40_000)
    outcome = drawn(score)
    kept = (outcome == 0) | (rng.random(score.size) < 0.2)
    table = pd.DataFrame({"outcome": outcome, "score": score, "weight": np.where(outcome == 1, 5.0, 1.0)})[kept]
    found, plain = (_calibration_of_partitions(dealt(table, [9000, 20_000]), sample_weight=name, rng=1, n_boot=99) for name in ("weight", None))
    whole = binary_calibration_tests(table["outcome"], table["score"], sample_weight=table["weight"])
    stated = [one.pvalue for one in binary_calibration_tests(table["outcome"], table["score"], sample_weight=table["weight"], method="asymptotic")._tests()]
    assert {one.method for one in found.tests} == {"signs"} and {one.method for one in plain.tests} == {"asymptotic"}
    for one, other in zip(found.tests, whole._tests()):
        assert other.method == "signs" and abs(one.pvalue - other.pvalue) < (0.03 if other.n_resamples else 1e-9)
        assert one.pvalue > 1.05 * dict(zip(("kolmogorov_smirnov", "kuiper", "spiegelhalter"), stated))[one.name]
    rare = table.assign(score=0.004 * table["score"], outcome=(rng.random(len(table)) < 0.004 * table["score"]).astype(float))
    assert {one.method for one in _calibration_of_partitions(dealt(rare, [9000]), sample_weight="weight", rng=1, n_boot=99).tests} <= {"asymptotic"}


def test_any_number_of_rows_in_a_part_gives_the_same():
    "Parts of one row, and all rows in one."
    table = pd.DataFrame({"outcome": drawn(TABLES["mixed"][:60]), "score": TABLES["mixed"][:60]})
    one, many = (_calibration_of_partitions(dealt(table, places), rng=1, n_boot=99) for places in ([], range(1, 60)))
    assert many.n_partitions == 60 and one.n_partitions == 1
    pd.testing.assert_frame_equal(one.to_frame("statistics"), many.to_frame("statistics"), rtol=1e-12)


def test_a_walk_that_hardly_moves_is_fetched_lot_by_lot(monkeypatch):
    "Outcomes dealt out evenly: the bound excludes nothing. Mutation: cutting for ever."
    score = np.sort(rng.random(2000))
    outcome = np.diff(np.floor(np.cumsum(score)), prepend=0)
    monkeypatch.setattr(partitions, "_MOST_ROWS", 200)
    monkeypatch.setattr(partitions, "_EDGES", np.array([0.5, 1.0]))
    found = _calibration_of_partitions({"outcome": da.from_array(outcome, chunks=300), "score": da.from_array(score, chunks=300)}, rng=1, n_boot=99)
    whole = binary_calibration_tests(outcome, score, method="asymptotic")
    assert found.n_passes < 40
    np.testing.assert_allclose([one.statistic for one in found.tests[:2]], [whole.kolmogorov_smirnov.statistic, whole.kuiper.statistic], rtol=1e-10)


def test_processes_give_the_same_and_may_send_what_cannot_be_written(monkeypatch):
    "Workers in processes of their own hand back arrays that are read-only."
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    score = rng.random(2000)
    table = {"outcome": da.from_array(drawn(score), chunks=600), "score": da.from_array(score, chunks=600)}
    monkeypatch.setattr(partitions, "_MOST_ROWS", 3)
    monkeypatch.setattr(partitions, "_EDGES", np.array([0.5, 1.0]))
    here = _calibration_of_partitions(table, rng=1, n_boot=99)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as made, distributed.Client(made), \
            dask.config.set(scheduler=None):
        there = _calibration_of_partitions(table, rng=1, n_boot=99)
    np.testing.assert_allclose([one.statistic for one in there.tests], [one.statistic for one in here.tests], rtol=1e-12)


@pytest.mark.slow
def test_workers_that_are_killed_in_mid_run_change_nothing(tmp_path):
    "Two of them, each while parts are read; Dask reads again what they held."
    distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

    def part(k):
        "Rows that are the same whenever they are read, and a mark that they were."
        (tmp_path / f"{k}-{time.time_ns()}").touch()
        draws = np.random.default_rng(k)
        score = draws.random(200_000)
        return pd.DataFrame({"outcome": (draws.random(score.size) < score).astype(float), "score": score})

    def judged(kills):
        "The report, while a worker is killed after each of these numbers of parts."
        killed = []
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50) as made, distributed.Client(made), \
                dask.config.set(scheduler=None):
            def kill():
                for marks in kills:
                    while len(list(tmp_path.iterdir())) < marks: time.sleep(0.01)
                    worker = next(iter(made.workers.values())).process.pid
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
            thread = threading.Thread(target=kill, daemon=True)
            thread.start()
            found = validate(Parts(frame=dd.from_map(part, range(12), meta=part(0).iloc[:0]), observed="outcome", prob="score"))
            thread.join(60)
        return found, killed

    plain, _ = judged([])
    for mark in tmp_path.iterdir(): mark.unlink()
    found, killed = judged([4, 14])
    assert len(set(killed)) == 2 and len(list(tmp_path.iterdir())) > 24  # two passes, and what was lost
    assert str(found) == str(plain)


def arrays(outcome, score, chunks=3, **more):
    return {name: da.from_array(np.asarray(values), chunks=chunks) for name, values in {"outcome": outcome, "score": score, **more}.items()}


@pytest.mark.parametrize(("table", "says"), [
    (arrays([1.0] * 7, [0.5] * 5 + [np.nan, 0.5]), r"score must not hold missing values.*position 2 \(in partition 1,"),
    (arrays([1.0] * 7, [0.5] * 6 + [1.5]), r"score must lie in \[0, 1\].*position 0 \(1.5\) \(in partition 2,"),
    (arrays([1.0, 2.0, 0.0], [0.5] * 3), r"outcome must hold only 0 and 1.*partition 0"),
    (arrays(["a", "b"], [0.5] * 2), "outcome must hold numbers"),
    (arrays([1.0] * 7, [0.5] * 7) | {"score": da.from_array(np.full(7, 0.5), chunks=4)}, "must have the same chunks"),
    (arrays([1.0] * 7, [0.5] * 7) | {"score": da.from_array(np.full(8, 0.5), chunks=(3, 3, 2))}, "must have the same length: 1 and 2"),
    (arrays([1.0] * 4, np.full((4, 2), 0.5)), "score must be 1-D"),
    (arrays([1.0], [0.5]) | {"score": np.full(1, 0.5)}, "score must be a Dask array or Series, got ndarray"),
    (pd.DataFrame({"outcome": [1.0], "score": [0.5]}), "frame must be a Dask DataFrame"),
    (arrays([], []), "at least one row"),
    ({"outcome": da.zeros(3)}, "frame must have a column 'score'"),
])
def test_refusals_name_the_part_and_the_place(table, says):
    with pytest.raises((ValueError, TypeError), match=says): _calibration_of_partitions(table)


@pytest.mark.parametrize(("weight", "says"), [([1.0, -1, 1], "weight must not be negative.*position 1"), ([0.0] * 3, "weight must be positive somewhere"),
                                              ([1e-160, 1, 1], "weight must be zero or within a factor 1e150"), ([1.0, np.nan, 1], "weight must not hold missing")])
def test_weights_are_refused_as_in_memory(weight, says):
    with pytest.raises(ValueError, match=says): _calibration_of_partitions(arrays([1.0, 0, 1], [0.5] * 3, weight=weight), sample_weight="weight")


@pytest.mark.parametrize("option", [{"local_tolerance": 0}, {"confidence": 95}, {"n_bins": 0}, {"n_boot": 2.5}])
def test_options_are_refused(option):
    with pytest.raises((ValueError, TypeError), match=next(iter(option))): _calibration_of_partitions(arrays([1.0], [0.5]), **option)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"uqcal\[dask\]"): _calibration_of_partitions({"outcome": 1, "score": 1})


def test_sentences_are_true():
    "One point, one class only, few events, an impossible event, only certain statements, a fault, rare events."
    one = _calibration_of_partitions(arrays([1.0], [0.5]), n_boot=99)
    assert one.verdict == "inconclusive" and not one.tests and one.n == 1
    zeros = _calibration_of_partitions(arrays(np.zeros(2000), np.full(2000, 0.5), 700), n_boot=99)
    assert zeros.verdict == "invalid" and "Predictions are too high by 0.5 on average" in zeros.conclusion and zeros.is_rounded
    few = _calibration_of_partitions(arrays(np.zeros(2000), np.full(2000, 0.01), 700), n_boot=99)
    assert few.verdict == "inconclusive" and "19.8 events" in few.conclusion and few.step.why == "memory"
    outcome = np.zeros(2000)
    outcome[1500] = 1
    never = _calibration_of_partitions(arrays(outcome, np.where(outcome, 0.0, 0.01), 700), n_boot=99)
    assert never.verdict == "invalid" and "once, first in row 100 of partition 2" in never.conclusion and never.step.verb == "check" and never.first_contradiction == (2, 100)
    certain = _calibration_of_partitions(arrays(outcome, outcome, 700), n_boot=99)
    assert certain.verdict == "inconclusive" and certain.drift == 0
    score = np.full(200_000, 0.01)
    rare = _calibration_of_partitions(arrays(drawn(score), score, 70_000), n_boot=99, rng=1)
    assert rare.verdict == "valid" and rare["calibration"].facts["rare"] == rare.predicted
    tilted = rng.random(100_000)
    wrong = _calibration_of_partitions(arrays(drawn(tilted, 1.1), tilted, 30_000), n_boot=99, rng=1)
    assert wrong.verdict == "invalid" and "too high by" in wrong.conclusion and not wrong.is_rounded
    assert wrong.plot_walk().get_ylabel() == "cumulative outcome − probability"


def test_limits_are_calibrated_with_ties():
    "Right probabilities of eleven values: 60 tables, each rejected at 5 % in fewer than 20 % of sets (P < 1e-4 for a level of 5 %)."
    level = np.linspace(0.05, 0.95, 11)
    rejected = 0
    for _ in range(60):
        score = rng.choice(level, 3000)
        rejected += _calibration_of_partitions(arrays(drawn(score), score, 2000), n_boot=9).verdict == "invalid"
    assert rejected <= 11


@pytest.mark.parametrize("columns", ["frame", "arrays"])
def test_coverage_is_that_in_memory(columns):
    value = rng.standard_normal(900)
    table = pd.DataFrame({"value": value, "lower": -1.5, "upper": 1.4})
    parts = dealt(table, [0, 5]) if columns == "frame" else {name: da.from_array(table[name].to_numpy(), chunks=400) for name in table}
    assert _coverage_of_partitions(parts, level=0.85, n_calibration=200) == coverage_test(value, table[["lower", "upper"]].to_numpy(), 0.85, n_calibration=200)
    with pytest.raises(ValueError, match=r"lower must not exceed upper.*partition [01]"): _coverage_of_partitions(dealt(table.assign(upper=-2.0), [9]), level=0.9)


@pytest.mark.parametrize("few", [False, True])
def test_errors_have_the_statistics_of_the_whole(few, monkeypatch):
    "Mutations: z scaled by the part's own ZMS, ties in u that straddle cells, an offset that is wrong by a cell."
    draw = np.random.default_rng(21)
    u = np.round(draw.gamma(2, 1, 100_000) + 0.1, 2)
    table = pd.DataFrame({"error": u**1.1 * draw.standard_normal(100_000), "uncertainty": u})
    if few: monkeypatch.setattr(partitions, "_MOST_ROWS", 300)
    found = _errors_of_partitions(dealt(table, [0, 1, 40, 9000]))
    z = table["error"] / u
    np.testing.assert_allclose([found.zms, found.mean, found.kuiper],
                               [zms(table["error"], u), z.mean(), consistency_test(table["error"], u, n_resamples=1).statistic], rtol=1e-10)
    assert found.verdict == "invalid" and "error size varies along u" in found.conclusion and set(found.pvalues) == {"bias", "average", "consistency"}


def test_sentences_of_errors_are_true():
    "Right uncertainties, a bias, a wrong size, a row that outweighs all others, one uncertainty for all."
    def told(error, uncertainty): return _errors_of_partitions({name: da.from_array(one, chunks=7000) for name, one in (("error", error), ("uncertainty", uncertainty))})
    e, u = rng.standard_normal(20_000), rng.gamma(2, 1, 20_000) + 0.1
    right = told(u * (e - e.mean()) / e.std(), u)
    assert right.verdict == "inconclusive" and right["on average"].status == "valid" and right.zms_interval.holds(1)
    assert told(u * (e + 0.3), u).conclusion.startswith("Biased by +0.") and "overconfident on average (errors 1." in told(1.3 * u * e, u).conclusion
    heavy = told(np.append(u * e, 1e4), np.append(u, 1.0))
    assert not heavy.pvalues and {finding.reason for finding in heavy.findings} == {"single_row"} and heavy.conclusion == "Inconclusive: nothing could be tested."
    even = told((e - e.mean()) / e.std(), np.ones(20_000))
    assert {*even.not_asked.values()} == {"equal_uncertainties"} and even["along u"].reason == "equal_uncertainties"
    assert told(u / 2, u)["on average"].facts["as_is"] == pytest.approx(0.5) and told(u / 2, u)["bias"].status == "invalid"
    with pytest.raises(ValueError, match="error must not be zero"): told(0 * e, u)
    with pytest.raises(ValueError, match="uncertainty must be positive.*partition 0"): told(e, np.append(0.0, u[1:]))


def errors_in_three(error, uncertainty, **more):
    return _errors_of_partitions({name: da.from_array(one, chunks=-(-one.size // 3)) for name, one in (("error", error), ("uncertainty", uncertainty))}, **more)


@pytest.mark.parametrize("n, factor, draw", [(3000, 1.2, "standard_normal"), (3000, 1.4, "standard_normal"), (3000, 0.8, "standard_normal"), (20_000, 1.4, "laplace")])
def test_a_size_that_memory_finds_is_found(n, factor, draw):
    "Mutation: a limit that is asked only where no row has more than a hundredth of the variance."
    r = np.random.default_rng(41)
    u, z = np.exp(0.4 * r.standard_normal(n)), getattr(r, draw)(size=n)
    found = errors_in_three(factor * u * z / z.std(), u)
    assert found.verdict == "invalid" and not found.not_asked and found["on average"].direction == ("too small" if factor > 1 else "too large")


def test_limits_of_heavy_errors_hold():
    """Right uncertainties, t4 errors, whose squares have no variance: their size is called wrong no more often than
    chance allows. Mutations: no correction of skewness, one for the wrong side, the sample's own skewness in place of its bound."""
    r, wrong = np.random.default_rng(42), 0
    for _ in range(1500):
        square = r.standard_t(4, 1000)**2 / 2
        mean = errors_in_parts._mean_of(square.mean(), square.var(), square.max() - square.mean(), 1000)
        wrong += mean.share <= 0.5 and errors_in_parts._of_average(mean) < 0.05
    assert 20 < wrong < 66  # 2.9 % of sets; 11 % by the normal limit, 7 % by the sample's skewness
    for p, share in ((0.025, 1e-12), (0.025, 0.1), (0.005, 0.5)):
        np.testing.assert_allclose(errors_in_parts._lower_tail(errors_in_parts._lower_end(p, share), share), p, rtol=1e-6)


def test_what_is_not_tested_has_no_limits_and_its_own_reason():
    "Too few rows, a row that outweighs, errors of one size. Mutations: one reason for all, \"no fault\" beside what was left out, an interval for it."
    r = np.random.default_rng(43)
    u, z = np.exp(0.4 * r.standard_normal(3000)), r.standard_normal(3000)
    few, one, even = errors_in_three((u * z)[:50], u[:50]), errors_in_three(u * np.append(z[1:], 100), u), errors_in_three(0.5 * u * np.sign(z), u)
    assert {*few.not_asked.values()} == {"few"} and "its limits take 100 rows, not 50" in few["bias"].line
    assert one.not_asked["average"] == "single_row" and {*even.not_asked.values()} == {"same_size"}
    for found in (few, one, even):
        assert found.verdict == "inconclusive" and "×" not in found.conclusion
        assert found.zms_interval == (0, np.inf) and found["on average"].confidence_interval is None
    assert even["bias"].confidence_interval == even.mean_interval and len(few.findings) == 3


@pytest.mark.parametrize("error", ["0.5 u", "0.3", "0.3 + 0.2 u"])
def test_a_bias_that_is_all_of_the_errors_leaves_no_size(error):
    "Mutation: rounding that is left when the bias is taken away has a size, 0.00 times what is stated."
    u = np.exp(0.4 * np.random.default_rng(44).standard_normal(3000))
    found = errors_in_three({"0.5 u": 0.5 * u, "0.3": 0.3 + 0 * u, "0.3 + 0.2 u": 0.3 + 0.2 * u}[error], u)
    assert found["bias"].status == "invalid" and found["on average"].status == "inconclusive"
    assert {*found.not_asked.values()} == {"nothing_left"} and found["on average"].reason == "nothing_left"


def test_an_interval_that_leaves_out_what_is_right_is_not_called_right():
    """Mutation: "no fault was found", or valid, where only Holm's correction keeps a fault from being shown and limits
    don't exclude one beyond the tolerance. Where they do, it is valid, as in memory."""
    r = np.random.default_rng(45)
    u, z = np.exp(0.4 * r.standard_normal(3000)), r.standard_normal(3000)
    z = (z - z.mean()) / z.std()
    found = errors_in_three(0.97 * u * z, u, tolerance=1.04)  # p = 0.03, 0.09 adjusted
    assert found.verdict == "inconclusive" and not found.zms_interval.holds(1) and found["on average"].status == "inconclusive"
    assert found["on average"].reason == "adjusted" and "by chance" in found["on average"].sentence and "average inconclusive" in found.conclusion
    assert errors_in_three(0.97 * u * z, u)["on average"].status == "valid"


def test_answers_on_errors_have_the_statuses_of_a_validation():
    "The average can be valid, within a tolerance; the errors as a difference. Mutations: the tolerance not looked at, a difference the other way round."
    e, u = rng.standard_normal(60_000), rng.gamma(2, 1, 60_000) + 0.1
    table = {name: da.from_array(one, chunks=25_000) for name, one in (("y", 5 + u * (e + 0.05)), ("yhat", np.full(60_000, 5.0)), ("u", u))}
    found = _errors_of_partitions(table, ("y", "yhat"), "u")
    assert {finding.name: finding.status for finding in found.findings} == {"bias": "minor", "on average": "valid", "along u": "inconclusive"}
    assert found.mean > 0 and "beyond the tolerance of 1.25 is excluded" in found["on average"].sentence and found.verdict == "minor"
    strict = _errors_of_partitions(table, ("y", "yhat"), "u", tolerance=1.001)["on average"]
    assert strict.status == "inconclusive" and "beyond the tolerance of 1.001 is not excluded" in strict.sentence
    with pytest.raises(ValueError, match="tolerance must be a factor above 1"): _errors_of_partitions(table, ("y", "yhat"), "u", tolerance=1)


@pytest.mark.parametrize("shift, factor", [(0.3, 1), (0.3, 1.3), (0, 1.3), ("sides", 1)])
def test_a_bias_is_not_blamed_on_uncertainties(shift, factor):
    "Mutations: sizes as they are, one line for all uncertainties, a line without its slope, a bias asked of the mean alone."
    draw = np.random.default_rng(31)
    u, e = np.exp(0.4 * draw.standard_normal(40_000)), draw.standard_normal(40_000)
    e = u * e * factor + (np.where(u < 1, 0.5, -0.5) * u if shift == "sides" else shift)
    found = _errors_of_partitions({name: da.from_array(one, chunks=9000) for name, one in (("error", e), ("uncertainty", u))})
    status = {finding.name: finding.status for finding in found.findings}
    assert (status["bias"] == "invalid") == (shift != 0) == found.conclusion.startswith("Biased") == (found.without_bias is not None)
    assert (status["on average"] == "invalid") == (factor != 1) == ("overconfident" in found.conclusion)
    assert status["along u"] == "inconclusive" and abs(found["on average"].estimate - factor) < 0.02


def test_the_bias_along_uncertainties_is_that_in_memory():
    "Mutations: the walk of signs does not come back to zero, each row has the same share of the mean, its range not over n."
    draw = np.random.default_rng(32)
    u = np.round(draw.gamma(2, 1, 30_000) + 0.1, 2)
    z = draw.standard_normal(30_000) + 0.05 * u
    found = _errors_of_partitions({name: da.from_array(one, chunks=7000) for name, one in (("error", z * u), ("uncertainty", u))})
    z = (z * u) / u
    order = np.argsort(u, kind="stable")
    walk = np.append(0, np.cumsum(z[order] - z[order]**2 * z.mean() / np.mean(z**2)))[np.append(np.flatnonzero(np.diff(u[order], prepend=0)), u.size)]
    np.testing.assert_allclose(found.bias_kuiper, np.ptp(walk) / u.size, rtol=1e-10)


def test_copies_count_once():
    "In parts of any size; rounded values are no copies. Mutations: a sample by rows, numbers of one part only, chance taken for copies."
    draw = np.random.default_rng(33)
    u, e = draw.gamma(2, 1, 6000) + 0.1, draw.standard_normal(6000)
    number = draw.integers(1, 8, 6000)
    rows = draw.permutation(np.repeat(np.arange(6000), number))
    table = pd.DataFrame({"error": (u * e)[rows], "uncertainty": u[rows]})
    exact = np.sum(number**2) / number.sum()
    found = [_errors_of_partitions(dealt(table, places)) for places in ([0, 1, 40, 9000], [0, 12_000])]
    assert found[0].copies == found[1].copies and abs(found[0].copies / exact - 1) < 0.03 and found[0].cautions[0].code == "copies_in_parts"
    one = _errors_of_partitions(dealt(table.drop_duplicates(), [0, 1, 40, 3000]))
    wide, narrow = ((f.zms_interval.high - f.zms_interval.low) * np.sqrt(f.n / f.copies) for f in (found[0], one))
    assert one.copies == 1 and one.cautions[0].code != "copies_in_parts" and abs(wide / narrow - 1) < 0.1
    rounded = _errors_of_partitions(dealt(table.drop_duplicates().round(1) + {"error": 0, "uncertainty": 0.1}, [0, 3000]))
    assert rounded.copies == 1


@pytest.mark.slow
def test_two_million_rows_of_parquet_are_those_in_memory(tmp_path):
    score = 1 / (1 + np.exp(rng.standard_normal(2_000_000)))
    table = pd.DataFrame({"outcome": drawn(score), "score": score})
    for k in range(4): table.iloc[500_000 * k:500_000 * (k + 1)].to_parquet(tmp_path / f"part-{k}.parquet")
    with dask.config.set(scheduler="threads"):
        found = _calibration_of_partitions(dd.read_parquet(str(tmp_path / "part-*.parquet")), rng=1)
    whole = binary_calibration_tests(table["outcome"], score, method="asymptotic")
    np.testing.assert_allclose([one.statistic for one in found.tests], [one.statistic for one in whole._tests()], rtol=1e-10)
