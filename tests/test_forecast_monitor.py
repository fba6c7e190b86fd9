"""Monitors of quantiles, ensembles and densities: fair bets, alarms, directions, streams of rows, verbs and the command line."""
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

import uqcal
from uqcal import Distribution, Quantiles, Samples
from uqcal._command.cli import app
from uqcal.predictive.forecast_monitor import ForecastMonitor, _member_bets, _pit_bets, _table_bets
from uqcal.predictive.forecast_streams import _HUB_LEVELS, _MovedDensity, _density_quantiles, recalibrate_forecast_rows

LEVELS = np.array([0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.95])
Z = stats.norm.ppf(LEVELS)
SHIFTS = {"too low": lambda z: z + 0.8, "too high": lambda z: z - 0.8, "too narrow": lambda z: 2 * z, "too wide": lambda z: z / 2}


def forecasts(kind, n, rng, mean=None):
    "A standard normal in three forms."
    mean = np.zeros(n) if mean is None else mean
    if kind == "quantiles": return Quantiles(mean[:, None] + Z, LEVELS)
    if kind == "samples": return Samples(mean[:, None] + rng.standard_normal((n, 20)))
    return Distribution(stats.norm(mean, 1))


KINDS = pytest.mark.parametrize("kind", ["quantiles", "samples", "distribution"])


def test_bets_are_fair_over_cells_and_at_most_so_over_ties():
    "Mutations: a cell's probability left out; the mean over ties of a table in place of the least."
    ranks = _member_bets(np.arange(21) - 0.5, np.tile(np.arange(20.0), (21, 1)))[2]
    np.testing.assert_allclose(ranks.mean(axis=0), 1, rtol=1e-9)
    edge = np.r_[0, LEVELS, 1]
    cells = _table_bets(np.arange(10) - 0.5, np.tile(np.arange(9.0), (10, 1)), LEVELS)[2]
    np.testing.assert_allclose(np.diff(edge) @ cells, 1, rtol=1e-9)
    tied = _member_bets(np.zeros(1), np.array([[-1.0, 0, 0, 1]]))[2][0]
    own = _member_bets(np.array([-0.5, 0.2, 0.7]), np.tile([-1.0, 0, 0.5, 1], (3, 1)))[2]
    np.testing.assert_allclose(tied, own.mean(axis=0), rtol=1e-9)          # three ranks, each as likely
    for atom in (0.02, 0.07, 0.3, 0.62, 0.9, 0.97):
        chance = np.r_[atom, np.diff(np.r_[atom, edge[edge > atom]])]
        quantiles = np.searchsorted(np.cumsum(chance), LEVELS, side="left")
        won = _table_bets(np.r_[0.0, np.arange(1, chance.size) - 0.5], np.tile(quantiles, (chance.size, 1)), LEVELS)[2]
        assert (chance @ won).max() < 1 + 1e-9
    low, high = np.array([0.0, 0.6, 0.8]), np.array([0.6, 0.8, 1.0])        # a cdf with jumps
    np.testing.assert_allclose((high - low) @ _pit_bets(low, high)[2], 1, rtol=1e-9)


@KINDS
@pytest.mark.parametrize("way", SHIFTS)
def test_faults_are_heard_dated_and_named(kind, way):
    rng, n = np.random.default_rng(3), 1500
    z = rng.standard_normal(n)
    z[800:] = SHIFTS[way](z[800:])
    monitor = ForecastMonitor()
    at = monitor.until_alarm(z, forecasts(kind, n, rng))
    assert at is not None and 800 < at < 1150 and monitor.alarm_.direction == way and abs(monitor.alarm_.since - 800) < 60
    assert way in monitor.alarm_.sentence and "1,000,000 outcomes" in monitor.alarm_.sentence and monitor.statistic == 0


def test_right_forecasts_ring_as_seldom_as_promised():
    "30,000 outcomes of each form with a run length of 1,000: 30 alarms allowed. Expected 22; at most 30 + 2.5 √30."
    rng = np.random.default_rng(4)
    for kind in ("quantiles", "samples", "distribution"):
        monitor = ForecastMonitor(run_length=1000)
        monitor.prequential(rng.standard_normal(30_000), forecasts(kind, 30_000, rng))
        assert 5 < monitor.alarms_ < 44
    z = np.convolve(rng.standard_normal(30_003), np.ones(4) / 2, "valid")
    plain, four = ForecastMonitor(run_length=1000), ForecastMonitor(run_length=1000, horizon=4)
    for one in (plain, four): one.prequential(z, forecasts("quantiles", 30_000, rng))
    assert plain.alarms_ > 300 and four.alarms_ < 44


@pytest.mark.parametrize("horizon", [1, 3])
def test_a_monitor_goes_on_bit_for_bit(horizon):
    rng = np.random.default_rng(5)
    z, of = rng.standard_normal(400), Quantiles(np.tile(Z, (400, 1)), LEVELS)
    whole = ForecastMonitor(run_length=50, horizon=horizon)
    total = whole.prequential(z, of).total
    one = ForecastMonitor(run_length=50, horizon=horizon)
    first = one.prequential(z[:133], of.take(slice(133))).total
    other = ForecastMonitor.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(np.r_[first, other.prequential(z[133:], of.take(slice(133, None))).total], total)
    assert other.alarms_ == whole.alarms_ > 0 and json.dumps(other.to_dict()) == json.dumps(whole.to_dict())


def test_what_can_not_be_is_refused():
    of = Quantiles(np.tile(Z, (3, 1)), LEVELS)
    with pytest.raises(ValueError, match="horizon"): ForecastMonitor(horizon=0).prequential([0, 0, 0], of)
    with pytest.raises(ValueError, match="run_length"): ForecastMonitor(run_length=0).prequential([0, 0, 0], of)
    with pytest.raises(TypeError, match="statement"): ForecastMonitor().prequential([0.0], uqcal.MeanStd([0.0], [1.0]))
    with pytest.raises(ValueError, match="one value for each row"): ForecastMonitor().prequential([0, 0], of)
    with pytest.raises(ValueError, match="at least two levels"): uqcal.monitor([0.0, 1], Quantiles([[0.0], [1.0]], [0.5]))


def rising(n=900, seed=12):
    "A load that rises from day 600 on, and its mean."
    rng, t = np.random.default_rng(seed), np.arange(n)
    mean = 10 * np.sin(t / 58)
    return mean + rng.standard_normal(n) + 1.5 * (t >= 600), mean


@KINDS
def test_the_verb_says_since_when_and_corrects_each_row_from_earlier_ones(kind):
    y, mean = rising()
    of = forecasts(kind, y.size, np.random.default_rng(1), mean)
    found = uqcal.monitor(y, of)
    assert found.outcome == "alarm" and found.alarms[0].direction == "too low" and 590 < found.alarms[0].since < 615
    assert [one.name for one in found.findings] == ["as predicted", "corrected", "gain"] and found["gain"].status == "valid"
    assert type(found.statement) is type(of) and "too low" in str(found) and "too low" in found.conclusion
    other = y.copy()
    other[700] += 30
    again = uqcal.monitor(other, of).statement
    low, high = found.statement.interval(0.9), again.interval(0.9)
    np.testing.assert_array_equal(low.lower[:701], high.lower[:701])
    assert low.upper[701] != high.upper[701]
    watch, parts = uqcal.Monitor(), []
    for rows in (slice(0, 450), slice(450, 900)):
        part = Distribution(stats.norm(mean[rows], 1)) if kind == "distribution" else of.take(rows)
        parts.append(watch.predict(part).interval(0.9).upper[0])
        reading = watch.update(y[rows], part)
    assert reading.status == "alarm" and reading.since == found.alarms[0].since and watch.alarms[0].since == found.alarms[0].since
    np.testing.assert_allclose(parts[1], found.statement.interval(0.9).upper[450], rtol=1e-12)


def test_a_saved_monitor_books_what_comes_later(tmp_path):
    y, mean = rising(100)
    of = forecasts("quantiles", 100, None, mean)
    watch = uqcal.Monitor(horizon=2)
    watch.update(y[:60], of.take(slice(60)))
    given = watch.predict(of.take(slice(60, 63)), key=["a", "b", "c"])
    watch.save(tmp_path / "watch.json")
    again = uqcal.load(tmp_path / "watch.json")
    for one in (watch, again): one.update(y[[62, 60]], key=["c", "a"])
    assert json.dumps(watch.to_dict()) == json.dumps(again.to_dict()) and again.rows_.forecaster_.open_keys == ["b"] and again.horizon == 2
    assert given.values.shape == (3, 9) and any("No share is guaranteed" in one.sentence for one in again.report().cautions)


def test_a_density_is_moved_by_its_quantiles():
    "With a ppf and without; a mixture with a jump; and taken apart. Mutation: shifts at the wrong ends."
    mean = np.linspace(-1, 1, 7)
    normal, levels = stats.norm(mean, 2), np.array(_HUB_LEVELS)
    class Bare: cdf = staticmethod(normal.cdf)
    exact = mean[:, None] + 2 * stats.norm.ppf(levels)
    for one in (normal, Bare()): np.testing.assert_allclose(_density_quantiles(Distribution(one)), exact, atol=1e-9)
    moved = _MovedDensity(Distribution(normal), exact, 1 + 1.5 * exact)
    np.testing.assert_allclose(moved.cdf(0.3), stats.norm.cdf((0.3 - 1 - 1.5 * mean) / 3), atol=1e-9)
    np.testing.assert_allclose(moved.cdf(moved.ppf(0.37)), 0.37, atol=1e-9)
    assert moved.cdf(0.0).shape == (7,) and (np.diff([moved.cdf(v) for v in np.linspace(-30, 30, 50)], axis=0) >= 0).all()


def table(y, mean, kind="quantiles"):
    "A CSV file as text, and the names of its columns."
    rows = mean[:, None] + (Z if kind == "quantiles" else np.random.default_rng(2).standard_normal((y.size, 8)))
    names = [f"q{round(100 * one):02d}" for one in LEVELS] if kind == "quantiles" else [f"m{k}" for k in range(8)]
    frame = pd.DataFrame(rows.round(4), columns=names).assign(load=y.round(4), day=np.arange(y.size))
    return frame.to_csv(index=False, lineterminator="\n"), tuple(names)


@pytest.mark.parametrize("kind", ["quantiles", "samples"])
def test_a_file_cut_in_two_gives_the_same_rows_and_the_same_state(kind, tmp_path):
    text, names = table(*rising(200), kind)
    head, *lines = text.splitlines()
    levels = tuple(LEVELS) if kind == "quantiles" else None
    def run(lines, state):
        out = []
        recalibrate_forecast_rows(io.BytesIO("\n".join([head, *lines, ""]).encode()), out.append, columns=names, y_true="load", levels=levels, state=state, every=17)
        return "".join(out).splitlines()[1:]
    whole = run(lines, tmp_path / "whole.json")
    assert run(lines[:77], tmp_path / "cut.json") + run(lines[77:], tmp_path / "cut.json") == whole
    held = [json.loads((tmp_path / name).read_text())["content"]["state"]["forecaster_"] for name in ("whole.json", "cut.json")]
    assert held[0] == held[1] and [line.rsplit(",", len(names))[0] for line in whole] == lines


WORKER = """
import sys
from uqcal.predictive.forecast_streams import recalibrate_forecast_rows
names, levels = sys.argv[1].split(","), [float(one) for one in sys.argv[2].split(",")]
recalibrate_forecast_rows(sys.stdin.buffer, lambda text: None, columns=tuple(names), y_true="load", levels=tuple(levels), state="s.json", every=20)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path):
    "kill -9 between two writings of the state; resume passes over what the state knows."
    text, names = table(*rising(300))
    head, *lines = text.splitlines(True)
    live = subprocess.Popen([sys.executable, "-c", WORKER, ",".join(names), ",".join(map(str, LEVELS))], stdin=subprocess.PIPE, cwd=tmp_path)
    live.stdin.write("".join([head, *lines[:150]]).encode())
    live.stdin.flush()
    for _ in range(1200):
        if (tmp_path / "s.json").exists(): break
        time.sleep(0.05)
    os.kill(live.pid, signal.SIGKILL)
    live.wait()
    held = []
    for state, resume in (("s.json", True), ("whole.json", False)):
        recalibrate_forecast_rows(io.BytesIO(text.encode()), lambda text: None, columns=names, y_true="load", levels=tuple(LEVELS), state=tmp_path / state, resume=resume)
        held.append(json.loads((tmp_path / state).read_text())["content"]["state"])
    assert held[0]["forecaster_"] == held[1]["forecaster_"] and held[0]["taken_"] == 300


@pytest.mark.parametrize("kind, pattern", [("quantiles", "q*"), ("samples", "m*")])
def test_the_command_line_says_what_python_says(kind, pattern, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, mean = rising()
    text, names = table(y, mean, kind)
    (tmp_path / "load.csv").write_text(text)
    done = CliRunner().invoke(app, ["monitor", "load.csv", "--observed", "load", f"--{kind}", pattern, "--out", "out.csv", "--json", "found.json", "--fail-on", "alarm"])
    assert done.exit_code == 1 and "too low since about outcome" in " ".join(done.output.split())
    frame = pd.read_csv("load.csv")
    of = Quantiles.from_frame(frame, "q*") if kind == "quantiles" else Samples.from_frame(frame, "m*")
    found = uqcal.monitor(frame["load"], of)
    np.testing.assert_allclose(pd.read_csv("out.csv")[[f"recalibrated_{name}" for name in names]], found.statement.values, rtol=1e-8, atol=1e-8)
    assert json.loads((tmp_path / "found.json").read_text())["alarms"] == len(found.alarms)
    assert f"--{kind} '{pattern}'" in done.output
    for more, fault in ((["--level", "0.9"], "--level is for intervals"), (["--horizon", "0"], "--horizon")):
        refused = CliRunner().invoke(app, ["monitor", "load.csv", "--observed", "load", f"--{kind}", pattern, *more])
        assert fault in f"{refused.exception} {refused.output}"
    refused = CliRunner().invoke(app, ["monitor", "load.csv", "--observed", "load", f"--{kind}", "x*"])
    assert "no column fits 'x*'" in str(refused.exception)


def test_crossing_quantiles_are_refused_with_their_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "load.csv").write_text("y,q10,q50,q90\n1,0,1,2\n1,0,2,1\n")
    done = CliRunner().invoke(app, ["monitor", "load.csv", "--observed", "y", "--quantiles", "q*"])
    assert "line 3: column 'q90' must not be below column 'q50'" in str(done.exception)


def test_a_million_rows_of_nine_levels_take_seconds():
    rng = np.random.default_rng(8)
    of, y = Quantiles(np.tile(Z, (200_000, 1)), LEVELS), rng.standard_normal(200_000)
    uqcal.monitor(y[:50], of.take(slice(50)))
    begun = time.process_time()
    uqcal.monitor(y, of)
    assert time.process_time() - begun < 6                                 # 200,000 rows: corrected, and watched twice
